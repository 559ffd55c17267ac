"""The announcement's text, word by word, and that no user text pings, hides or breaks a limit."""

import datetime as dt

import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.message import limits
from bot.message.outgoing import OutgoingMessage
from bot.reminders.content import announcement, announcement_marker, duration, role_pings
from models.event import Event
from models.states import EventState
from tests.builders import event_row, utc

NOW = utc("2026-03-01 12:00")
START = utc("2026-03-08 19:00")  # 1772996400
OPENS = utc("2026-03-01 19:00")  # 1772391600
MENTION = regex.compile(r"<(@[!&]?|#)\d+>|@everyone|@here")


def an_event(**fields: object) -> Event:
    event = event_row(now=NOW)
    wanted = {"id": 7, "scheduled_at": START, "signups_open_at": OPENS, "created_by": 42}
    return event.update_from_dict(wanted | fields)


def as_text(message: OutgoingMessage) -> str:
    """The message as a reader would copy it."""
    assert message.embed is not None
    lines = [message.content, message.embed.title, message.embed.description]
    lines += [f"{one.name}: {one.value}" for one in message.embed.fields]
    return "\n".join([*lines, message.embed.footer])


WHEN = "When: <t:1772996400:F> (<t:1772996400:R>)\nLasts: 2 h\nPlaces: No limit\nHost: <@42>"


@pytest.mark.parametrize(
    ("state", "title", "signups", "color"),
    [
        (EventState.UPCOMING, "Raid night", "Open <t:1772391600:F> (<t:1772391600:R>)", 0x5865F2),
        (EventState.SIGNUPS_OPEN, "Raid night", "Open", 0x2E9E5B),
        (EventState.ROLL_CALL, "Raid night", "Closed for the roll call", 0xE0A030),
        (EventState.IN_PROGRESS, "Raid night", "Closed: it is running", 0x2E9E5B),
        (EventState.COMPLETED, "Raid night", "Closed: it is over", 0x80848E),
        (EventState.CANCELLED, "Cancelled: Raid night", "Closed: it was cancelled", 0xC03C3C),
    ],
)
def test_the_announcement_says_where_the_event_stands(state: EventState, title: str, signups: str, color: int) -> None:
    event = an_event(state=state, description="Bring a torch.", discord_announcement_role_ids=[11, 12], post_version=3)

    message = announcement(event)

    assert as_text(message) == f"<@&11> <@&12>\n{title}\nBring a torch.\n{WHEN}\nSign-ups: {signups}\n#7"
    assert message.embed is not None
    assert message.embed.color == color
    assert message.version == 3


def test_an_event_that_only_an_admin_opens_says_not_open_yet() -> None:
    assert "Sign-ups: Not open yet\n" in as_text(announcement(an_event(signups_open_at=None)))


def test_places_and_length_are_told_and_no_host_where_there_is_none() -> None:
    text = as_text(announcement(an_event(max_players=12, duration_minutes=90, created_by=None)))

    assert "Lasts: 1 h 30 min\nPlaces: 12\nSign-ups" in text


@pytest.mark.parametrize(
    ("minutes", "words"),
    [(0, "0 min"), (1, "1 min"), (59, "59 min"), (60, "1 h"), (61, "1 h 1 min"), (120, "2 h"), (10_080, "168 h")],
)
def test_a_duration_is_never_an_empty_field(minutes: int, words: str) -> None:
    assert duration(minutes) == words


@pytest.mark.parametrize(
    ("name", "title"),
    [
        pytest.param("@everyone party", r"\@everyone party", id="everyone"),
        pytest.param("@here now", r"\@here now", id="here"),
        pytest.param("<@&5> <@6> <#7>", r"\<\@&5\> \<\@6\> \<\#7\>", id="mentions"),
        pytest.param("**bold** _it_ ~~s~~", r"\*\*bold\*\* \_it\_ \~\~s\~\~", id="markdown"),
        pytest.param("||spoiler|| `code`", r"\|\|spoiler\|\| \`code\`", id="spoiler and code"),
        pytest.param("[free](http://x.y)", r"\[free\]\(http\://x.y\)", id="link"),
        pytest.param("# big\n> quote", r"\# big \> quote", id="heading and quote, on one line"),
        pytest.param("a\\*b", r"a\\\*b", id="what was escaped already"),
        pytest.param("ليلة الغارة", "ليلة الغارة", id="written from the right"),
        pytest.param("🐉🏴‍☠️ 🧙", "🐉🏴‍☠️ 🧙", id="four bytes a character"),
    ],
)
def test_a_name_is_shown_as_typed_and_pings_nobody(name: str, title: str) -> None:
    message = announcement(an_event(name=name, description=name))

    assert message.embed is not None
    assert message.embed.title == title
    assert (message.content, message.mention_role_ids, message.mention_user_ids) == ("", (), ())


def test_only_the_configured_roles_are_in_the_content_each_once() -> None:
    message = announcement(an_event(name="<@&99> @everyone", discord_announcement_role_ids=[11, 12, 11]))

    assert message.content == "<@&11> <@&12>"
    assert message.mention_role_ids == (11, 12)
    assert message.mention_user_ids == ()


@pytest.mark.parametrize(
    ("count", "shown", "ending"),
    [
        pytest.param(1, 1, "<@&1000000000000000001>", id="one"),
        # 83 mentions of 23 characters and 82 spaces are 1,991; the 84th does not fit.
        pytest.param(83, 83, "<@&1000000000000000083>", id="as many as fit"),
        pytest.param(84, 83, "<@&1000000000000000083> +1 more", id="one more than fit"),
        pytest.param(100, 83, "<@&1000000000000000083> +17 more", id="as many as a series may name"),
    ],
)
def test_roles_past_the_limit_are_counted_and_not_pinged(count: int, shown: int, ending: str) -> None:
    roles, text = role_pings([10**18 + number for number in range(1, count + 1)])

    assert len(roles) == shown
    assert text.endswith(ending)
    assert len(text) <= limits.CONTENT


def test_the_marker_names_the_event_and_how_often_it_was_posted_again() -> None:
    assert announcement_marker(7) == "#7"
    assert announcement_marker(7, reposts=2) == "#7.2"

    again = announcement(an_event(reposts=2))

    assert again.marker == "#7.2"
    assert again.embed is not None
    assert again.embed.footer == "#7.2"


def test_the_longest_name_of_a_cancelled_event_is_shown_whole() -> None:
    message = announcement(an_event(name="*" * 100, state=EventState.CANCELLED))

    assert message.embed is not None
    assert message.embed.title == "Cancelled: " + r"\*" * 100


NASTY = st.text(alphabet=st.one_of(st.characters(), st.sampled_from("*_~`|<>[]()#@:-\\&!\u202e\u200d\u0301🐉\n ")))


@settings(deadline=None)
@given(
    name=NASTY.map(lambda text: text[:100]),
    description=NASTY.map(lambda text: text[:1000]),
    roles=st.lists(st.integers(1, 2**63 - 1), max_size=100),
    state=st.sampled_from(EventState),
    minutes=st.integers(0, 10_080),
)
def test_no_text_breaks_a_limit_or_puts_a_ping_into_the_content(
    name: str, description: str, roles: list[int], state: EventState, minutes: int
) -> None:
    event = an_event(
        name=name,
        description=description,
        discord_announcement_role_ids=roles,
        state=state,
        duration_minutes=minutes,
    )

    message = announcement(event)  # the message itself checks Discord's limits

    pinged = {int(found[3:-1]) for found in regex.findall(r"<@&\d+>", message.content)}
    assert pinged == set(message.mention_role_ids) <= set(roles)
    assert len(MENTION.findall(message.content)) == len(pinged)
    assert message.embed is not None
    assert all(one.value.strip() for one in message.embed.fields)
    assert message.embed.footer == message.marker


def test_a_time_is_shown_in_whole_seconds() -> None:
    message = announcement(an_event(scheduled_at=START + dt.timedelta(microseconds=999_999)))

    assert "When: <t:1772996400:F>" in as_text(message)
