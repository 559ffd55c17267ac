"""What a visitor's commands do in the demo's world: time, faults, restarts and the page."""

from collections.abc import AsyncIterator

import pytest

from bot.demo import terminal
from bot.demo.live import LiveDemo
from bot.transactions import fetch
from tests.builders import utc

_ANNOUNCEMENT = 'Thu 05 Mar 18:30:00 UTC  #announcements  announcement: "Friday raid" on Fri 06 Mar 18:30 UTC'


class Visit:
    """A visitor in the demo, and everything that they read in the terminal since they last looked."""

    def __init__(self) -> None:
        self._read: list[str] = []
        self.demo = LiveDemo(say=self._read.append)

    async def types(self, *lines: str) -> list[str]:
        visitor = self.demo.visitor()
        for line in lines:
            await visitor.do(line)
        read, self._read[:] = [*self._read], []
        return read


@pytest.fixture
async def visit(sqlite_database: str) -> AsyncIterator[Visit]:
    """Begin a visit: the guild is founded, its page open, nothing announced yet."""
    visit = Visit()
    try:
        await visit.demo.begin()
        yield visit
    finally:
        await visit.demo.end()


def kinds(lines: list[str], kind: str) -> list[str]:
    """Return to whom or where the messages of a kind went."""
    return [line.split("UTC  ")[1].split("  ")[0] for line in lines if f"  {kind}: " in line]


async def test_time_passes_at_a_word_and_what_is_sent_is_told(visit: Visit) -> None:
    lines = await visit.types("+1m")

    assert lines == [_ANNOUNCEMENT, "Thu 05 Mar 18:30:56 UTC  -- One message was sent until now."]
    assert visit.demo.life.now() == utc("2026-03-05 18:30:56")


async def test_where_nothing_is_due_nothing_is_sent(visit: Visit) -> None:
    lines = await visit.types("+1m", "+1h")

    assert lines[2:] == ["Thu 05 Mar 19:30:56 UTC  -- Nothing was sent until now."]


async def test_next_goes_from_reminder_to_reminder_and_waits_for_their_direct_messages(visit: Visit) -> None:
    announced = await visit.types("next")
    asked = await visit.types("next")
    profiled = await visit.types("next")
    called = await visit.types("next")
    week_after = await visit.types("next")

    assert announced == [_ANNOUNCEMENT, "Thu 05 Mar 18:30:01 UTC  -- One message was sent until now."]
    assert kinds(asked, "signup_reminder") == ["DM to brook", "DM to ember"]
    assert kinds(profiled, "profile_reminder") == ["DM to cyan", "DM to dale"]
    assert kinds(called, "attendance_post") == ["#announcements"]
    assert kinds(called, "attendance_reminder") == ["DM to cyan", "DM to dale"]
    assert called[-1] == "Fri 06 Mar 16:30:01 UTC  -- 3 messages were sent until now."
    assert week_after[0].startswith("Thu 12 Mar 18:30:00 UTC  #announcements  announcement:")


async def test_who_takes_no_direct_messages_is_named_in_the_channel(visit: Visit) -> None:
    lines = await visit.types("close cyan", "close cyan", "next", "next", "next")

    assert lines[:2] == [
        "Thu 05 Mar 18:29:56 UTC  -- cyan takes no direct messages.",
        "Thu 05 Mar 18:29:56 UTC  -- cyan takes no direct messages already.",
    ]
    assert kinds(lines, "profile_reminder") == ["DM to dale"]
    (named,) = [line for line in lines if "profile_unreachable" in line]
    assert named.endswith(", pings cyan")


async def test_who_takes_direct_messages_again_gets_the_next_one(visit: Visit) -> None:
    lines = await visit.types("close cyan", "next", "next", "open cyan", "open cyan", "next")

    assert "Fri 06 Mar 06:30:02 UTC  -- cyan takes direct messages." in lines
    assert "Fri 06 Mar 06:30:02 UTC  -- cyan takes direct messages already." in lines
    assert kinds(lines, "profile_reminder") == ["DM to cyan", "DM to dale"]


async def test_an_outage_puts_a_reminder_off_and_doubles_and_loses_nothing(visit: Visit) -> None:
    lines = await visit.types("next", "down next", "down", "next", "next")

    assert "Thu 05 Mar 18:30:01 UTC  -- Discord answers nothing but 503 from Fri 06:30:00 to 06:31:00 UTC." in lines
    assert (
        "Thu 05 Mar 18:30:01 UTC  -- Discord answers nothing but 503 from Fri 06:30:00 to 06:31:00 UTC already."
        in lines
    )
    assert kinds(lines, "signup_reminder") == ["DM to brook", "DM to ember"]
    assert all("06:31" in line for line in lines if "signup_reminder" in line)
    assert visit.demo.life.faults.outage is None


async def test_an_outage_that_begins_at_once_is_over_after_a_minute(visit: Visit) -> None:
    lines = await visit.types("down", "+5m")

    # Nobody knows of the first attempt whether it arrived: it is looked into a minute later, and sent again.
    assert kinds(lines, "announcement") == ["#announcements"]
    assert lines[-1] == "Thu 05 Mar 18:34:56 UTC  -- One message was sent until now."
    assert "18:31" in lines[1]


async def test_a_killed_bot_goes_on_where_it_was_and_the_page_keeps_its_address(visit: Visit) -> None:
    address = visit.demo.page.address

    lines = await visit.types("next", "restart", "next", "restart", "+5m", "view brook", "restart")

    assert len(kinds(lines, "announcement")) == 1
    assert kinds(lines, "signup_reminder") == ["DM to brook", "DM to ember"]
    assert lines.count("Thu 05 Mar 18:30:06 UTC  -- The bot was killed and started again. Reload the page.") == 1
    assert (visit.demo.page.address, visit.demo.page.shown) == (address, "brook")
    rows = await fetch("SELECT COUNT(*) AS open FROM discord_message_log WHERE success IS NULL")
    assert rows == [{"open": 0}]


@pytest.mark.parametrize(
    ("name", "what"),
    [("brook", "brook's direct messages"), ("bot-ops", "#bot-ops"), ("announcements", "#announcements")],
)
async def test_the_page_shows_another_place_at_the_same_address(visit: Visit, name: str, what: str) -> None:
    address = visit.demo.page.address

    (line,) = await visit.types(f"view {name}")

    assert line == f"Thu 05 Mar 18:29:56 UTC  -- The page shows {what}; reload it: {address}"


async def test_wrong_input_is_a_sentence_and_changes_nothing(visit: Visit) -> None:
    now = visit.demo.life.now()

    lines = await visit.types("dance", "close zoe", "+0m", "", "   ")

    assert len(lines) == 3
    assert all(line.endswith((".", "all.")) for line in lines)
    assert visit.demo.life.now() == now


async def test_help_tells_the_commands_and_quit_leaves(visit: Visit) -> None:
    lines = await visit.types("help")

    assert lines == [terminal.HELP]
    assert not visit.demo.is_stopped

    await visit.types("quit")

    assert visit.demo.is_stopped


async def test_a_visit_told_to_stop_stops_in_the_middle_of_a_travel(visit: Visit) -> None:
    visit.demo.say = lambda _line: visit.demo.stop()

    await visit.types("+30d")

    assert visit.demo.life.now() == utc("2026-03-05 18:30:00")


async def test_the_closing_count_is_of_what_was_told(visit: Visit) -> None:
    await visit.types("next", "next")

    assert visit.demo.told.closing() == "3 messages became visible, 0 of them twice."
