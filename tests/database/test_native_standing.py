"""``/event show`` says why an event that is to stand in its server's own list does not stand there."""

import datetime as dt

import pytest

from bot.clock import ManualClock
from bot.events.overview import show_event
from bot.leases.failures import ErrorClass
from bot.message import timestamps
from bot.scheduling.bodies import SYNC_DISCORD_EVENTS
from models.event import Event
from models.states import EventState
from tests.builders import DAY, GUILD, HOUR, MINUTE, FakeDiscord, make_event, make_guild, process, utc
from tests.fake_calendar import native_refused

NOW = utc("2026-03-01 12:00")
WANTED = "It is to stand in this server's list of scheduled events too."


async def stored(**fields: object) -> Event:
    """Store an event that asks for a place in its server's list; it is announced nowhere."""
    wanted = {"now": NOW, "discord_create_event": True, "discord_announcement": False, "native_due_at": NOW}
    return await make_event(**(wanted | fields))  # type: ignore[arg-type]


async def why(event: Event, *, now: dt.datetime = NOW) -> list[str]:
    """Return what is said of the server's list."""
    shown = await show_event(str(event.id), guild_id=GUILD, now=now)
    lines = [line for line in shown.splitlines() if "list" in line]
    return [line.removeprefix("It does not stand in that list: ") for line in lines if line != WANTED]


async def test_off_begun_and_over_are_told_apart(database: str) -> None:
    off = await stored(discord_create_event=False, native_due_at=None)
    begun = await stored(starts_in=-MINUTE, state=EventState.IN_PROGRESS)
    over = await stored(starts_in=-DAY, state=EventState.COMPLETED)

    assert await why(off) == ["It is not to stand in this server's list of scheduled events: that is off."]
    assert await why(begun) == ["it has begun, and Discord takes none that has."]
    assert await why(over) == []


async def test_one_that_waits_for_the_next_pass_comes_and_then_is_linked(database: str, clock: ManualClock) -> None:
    await make_guild()
    event = await stored()
    before = await why(event)
    bot = await process(FakeDiscord(clock), clock)

    await bot.run(SYNC_DISCORD_EVENTS)

    native_id = (await Event.get(id=event.id)).discord_scheduled_event_id
    assert before == ["I put it there within a minute or two."]
    assert await why(event) == [f"In this server's list: https://discord.com/events/{GUILD}/{native_id}"]


@pytest.mark.parametrize(
    ("error_class", "says"),
    [
        (ErrorClass.FORBIDDEN, "I lack Create Events or Manage Events; grant me both, I try again every hour."),
        (
            ErrorClass.INVALID,
            "Discord refused it as invalid, which is a fault of mine and in the log; I try again every hour.",
        ),
        (
            ErrorClass.NO_ROOM,
            "the list is full, as Discord takes 100 of a server; it gets its place once there is room.",
        ),
    ],
)
async def test_what_discord_refuses_is_said(
    database: str, clock: ManualClock, error_class: ErrorClass, says: str
) -> None:
    await make_guild()
    event = await stored()
    discord = FakeDiscord(clock)
    discord.calendar.next_creates = [native_refused(error_class)]
    bot = await process(discord, clock)

    await bot.run(SYNC_DISCORD_EVENTS)
    refused = await why(event)
    await bot.run_until(NOW + 3 * HOUR)

    assert refused == [says]
    assert [line.partition(":")[0] for line in await why(event)] == ["In this server's list"]


async def test_a_full_list_is_said_of_whoever_waits_for_it(
    database: str, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.reminders.native_upkeep.MOST_LIVE", 1)
    await make_guild()
    await stored(starts_in=DAY)
    waits = await stored(starts_in=2 * DAY)
    bot = await process(FakeDiscord(clock), clock)

    await bot.run(SYNC_DISCORD_EVENTS)

    assert await why(waits) == [
        "the list is full, as Discord takes 100 of a server; it gets its place once there is room."
    ]


async def test_while_discord_rests_the_next_try_is_named(database: str, clock: ManualClock) -> None:
    await make_guild()
    event = await stored(native_due_at=NOW + 10 * MINUTE)

    again = timestamps.relative(NOW + 10 * MINUTE)
    assert await why(event) == [f"Discord takes nothing from me just now; I try again {again}."]


async def test_a_request_whose_answer_was_lost_is_looked_into(database: str, clock: ManualClock) -> None:
    await make_guild()
    event = await stored()
    discord = FakeDiscord(clock)
    discord.calendar.next_creates = [native_refused(ErrorClass.OUTAGE, arrived=True)]
    bot = await process(discord, clock)

    await bot.run(SYNC_DISCORD_EVENTS)

    says = "I asked Discord for it and do not know yet whether that arrived; I look again every minute."
    assert await why(event) == [says]


@pytest.mark.parametrize(("lost", "comes"), [(1, True), (2, False)])
async def test_what_was_deleted_by_hand_is_made_again_once(database: str, lost: int, comes: bool) -> None:
    event = await stored(native_told={"lost": lost})

    by_hand = "somebody deleted it there by hand, and again when I made it anew; I do not make it a third time."
    assert await why(event) == ["I put it there within a minute or two." if comes else by_hand]


async def test_another_servers_fault_is_not_this_ones(database: str, clock: ManualClock) -> None:
    await make_guild()
    await make_guild(guild_id=GUILD + 1)
    other = await stored(guild_id=GUILD + 1)
    event = await stored(native_due_at=None)
    discord = FakeDiscord(clock)
    discord.calendar.next_creates = [native_refused(ErrorClass.FORBIDDEN)]
    bot = await process(discord, clock)

    await bot.run(SYNC_DISCORD_EVENTS)

    assert other.guild_id != event.guild_id
    assert await why(event) == ["I put it there within a minute or two."]
