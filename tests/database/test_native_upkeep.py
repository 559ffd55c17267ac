"""An event has one scheduled event in its server's list, whatever fails; it follows its row to the end."""

import asyncio
import datetime as dt
from itertools import pairwise

import pytest

from bot.bootstrap import ServiceOptions
from bot.clock import ManualClock
from bot.events.guild_sync import NOWHERE, native_event
from bot.events.lifecycle import transition
from bot.events.posts import mark_changed
from bot.leases.failures import ErrorClass
from bot.message.native_event import NativeChange, NativeEvent, NativeStatus
from bot.operations.guild_settings import Clearable, SettingsChange, change_settings
from bot.scheduling.bodies import SYNC_DISCORD_EVENTS
from bot.transactions import atomic
from models.event import Event
from models.ops_note import OpsNote
from models.states import EventState, SignupStatus
from tests.builders import (
    CHANNEL,
    DAY,
    GUILD,
    HOUR,
    MINUTE,
    OPS_CHANNEL,
    OTHER_CHANNEL,
    OTHER_GUILD,
    SECOND,
    FakeDiscord,
    Process,
    log_rows,
    make_event,
    make_guild,
    process,
    utc,
)
from tests.fake_calendar import FakeCalendar, Native, native_refused
from tests.people import sign_up

NOW = utc("2026-03-01 12:00")
DEBOUNCE = 3 * SECOND


class KilledError(BaseException):
    """The process ends here."""


@pytest.fixture
def discord(clock: ManualClock) -> FakeDiscord:
    return FakeDiscord(clock)


@pytest.fixture
def calendar(discord: FakeDiscord) -> FakeCalendar:
    return discord.calendar


async def stored(**fields: object) -> Event:
    """Store an event that asks for a place in its server's list, as making it would; it is announced nowhere."""
    wanted = {"now": NOW, "discord_create_event": True, "discord_announcement": False, "native_due_at": NOW}
    return await make_event(**(wanted | fields))  # type: ignore[arg-type]


async def listed(discord: FakeDiscord, clock: ManualClock, **fields: object) -> tuple[Process, Event, Native]:
    """Return a process, an event that it put into the list, and what stands there."""
    await make_guild()
    event = await stored(**fields)
    bot = await process(discord, clock)
    await bot.tick()
    return bot, event, discord.calendar.live(GUILD)[0]


async def change(event: Event, clock: ManualClock, **fields: object) -> None:
    """Change an event as the bot itself would."""

    async def _unit() -> None:
        await Event.filter(id=event.id).update(**fields)
        await mark_changed(event.id, now=clock.now(), debounce=DEBOUNCE)

    await atomic(_unit)


async def go_to(state: EventState, event: Event, clock: ManualClock) -> None:
    """Move an event to a state as the bot itself would."""
    fresh = await Event.get(id=event.id)
    assert await transition(fresh, allowed={fresh.state}, to=state, now=clock.now(), debounce=DEBOUNCE)


async def synced(bot: Process, clock: ManualClock, after: dt.timedelta = DEBOUNCE) -> None:
    """Let the body run once more, a debounce later."""
    clock.advance(after)
    await bot.run(SYNC_DISCORD_EVENTS)
    clock.advance(SECOND)
    await bot.run(SYNC_DISCORD_EVENTS)


async def notes() -> list[str]:
    """Return what the servers are told, whether it was posted or not."""
    return [note.says for note in await OpsNote.all().order_by("id") if note.says]


async def outcomes() -> list[bool | None]:
    return [row.success for row in await log_rows("native_event")]


# ----------------------------------------------------------------------------------------------------- made, and once


async def test_an_event_that_asks_for_it_stands_in_its_servers_list_once(
    database: str, clock: ManualClock, discord: FakeDiscord, calendar: FakeCalendar
) -> None:
    bot, event, native = await listed(discord, clock, name="Raid night", description="Bring a torch.")

    await bot.run_until(NOW + HOUR)

    assert (calendar.count("create"), len(calendar.live(GUILD))) == (1, 1)
    assert native.shows.name == "Raid night"
    assert native.shows.description == f"Bring a torch.\n\n#{event.id}"
    assert (native.shows.starts_at, native.shows.ends_at) == (NOW + 6 * HOUR, NOW + 8 * HOUR)
    fresh = await Event.get(id=event.id)
    assert fresh.discord_scheduled_event_id == native.native_id
    assert fresh.native_due_at is not None
    assert NOW + HOUR < fresh.native_due_at <= NOW + HOUR + 10 * MINUTE
    assert await outcomes() == [True]
    assert [row.discord_message_id for row in await log_rows("native_event")] == [native.native_id]


@pytest.mark.parametrize(("ahead_by", "made"), [(HOUR, 0), (DAY, 1)], ids=["within an hour", "by a day"])
async def test_a_clock_that_was_ahead_by_a_day_keeps_nothing_out_of_the_list(
    database: str,
    clock: ManualClock,
    discord: FakeDiscord,
    calendar: FakeCalendar,
    *,
    ahead_by: dt.timedelta,
    made: int,
) -> None:
    await make_guild()
    await stored(native_due_at=NOW + ahead_by)
    bot = await process(discord, clock)

    await bot.run(SYNC_DISCORD_EVENTS)

    assert calendar.count("create") == made


async def test_one_that_does_not_ask_stands_in_no_list(
    database: str, clock: ManualClock, discord: FakeDiscord, calendar: FakeCalendar
) -> None:
    await make_guild()
    event = await stored(discord_create_event=False, native_due_at=None)
    bot = await process(discord, clock)

    await change(event, clock, name="Renamed")
    await bot.run_until(NOW + DAY)

    assert calendar.asked == []


async def test_what_has_begun_is_not_put_into_the_list(
    database: str, clock: ManualClock, discord: FakeDiscord, calendar: FakeCalendar
) -> None:
    await make_guild()
    event = await stored(starts_in=-MINUTE, state=EventState.SIGNUPS_OPEN)
    bot = await process(discord, clock)

    await bot.run_until(NOW + HOUR)

    assert (calendar.asked, (await Event.get(id=event.id)).native_due_at) == ([], None)


@pytest.mark.parametrize("refused", [ErrorClass.OUTAGE, ErrorClass.RATE_LIMITED, ErrorClass.FORBIDDEN])
async def test_refused_before_it_was_taken_it_is_made_later_and_once(
    database: str, clock: ManualClock, discord: FakeDiscord, calendar: FakeCalendar, refused: ErrorClass
) -> None:
    calendar.next_creates = [native_refused(refused)]
    await make_guild()
    await stored()
    bot = await process(discord, clock)

    await bot.run_until(NOW + 2 * HOUR)

    assert (calendar.count("create"), len(calendar.live(GUILD))) == (2, 1)


async def test_taken_without_an_answer_it_is_found_in_the_list_and_not_made_again(
    database: str, clock: ManualClock, discord: FakeDiscord, calendar: FakeCalendar
) -> None:
    calendar.next_creates = [native_refused(ErrorClass.OUTAGE, arrived=True)]
    await make_guild()
    event = await stored()
    bot = await process(discord, clock)

    await bot.run_until(NOW + 5 * MINUTE)

    assert (calendar.count("create"), calendar.count("find"), calendar.count("change")) == (1, 1, 0)
    native = calendar.live(GUILD)[0]
    assert (await Event.get(id=event.id)).discord_scheduled_event_id == native.native_id
    assert await outcomes() == [True]


async def test_lost_on_its_way_it_is_made_again_a_minute_later(
    database: str, clock: ManualClock, discord: FakeDiscord, calendar: FakeCalendar
) -> None:
    async def _lose(_native: NativeEvent) -> None:
        calendar.before_create = None
        raise native_refused(ErrorClass.OUTAGE, arrived=True)

    calendar.before_create = _lose
    await make_guild()
    await stored()
    bot = await process(discord, clock)

    await bot.run_until(NOW + MINUTE - SECOND)
    early = calendar.count("create")
    await bot.run_until(NOW + 3 * MINUTE)

    assert (early, calendar.count("create"), len(calendar.live(GUILD))) == (1, 2, 1)


async def test_while_the_list_cannot_be_read_nothing_is_made_and_admins_are_told(
    database: str, clock: ManualClock, discord: FakeDiscord, calendar: FakeCalendar
) -> None:
    calendar.next_creates = [native_refused(ErrorClass.OUTAGE, arrived=True)]
    calendar.unreadable.add(GUILD)
    await make_guild()
    await stored()
    bot = await process(discord, clock)

    await bot.run_until(NOW + 10 * MINUTE)
    told = await notes()
    calendar.unreadable.clear()
    await bot.run_until(NOW + 12 * MINUTE)

    assert calendar.count("create") == 1
    assert len(told) == 1
    assert told[0].startswith("I cannot tell whether an event arrived in this server's list of scheduled events")
    assert await notes() == []
    assert await outcomes() == [True]


@pytest.mark.parametrize("arrives", [True, False])
async def test_killed_in_the_middle_of_a_create_the_next_process_ends_with_one(
    database: str, clock: ManualClock, discord: FakeDiscord, calendar: FakeCalendar, arrives: bool
) -> None:
    async def _die(native: NativeEvent) -> None:
        calendar.before_create = None
        if arrives:
            calendar.natives.append(Native(1 << 62, GUILD, native))
        raise KilledError

    calendar.before_create = _die
    await make_guild()
    event = await stored()
    bot = await process(discord, clock)
    with pytest.raises(KilledError):
        await bot.tick()
    await bot.crash()

    next_one = await process(discord, clock)
    await next_one.run_until(NOW + 5 * MINUTE)

    assert len(calendar.live(GUILD)) == 1
    assert calendar.count("create") == (1 if arrives else 2)
    assert (await Event.get(id=event.id)).discord_scheduled_event_id == calendar.live(GUILD)[0].native_id


async def test_an_admin_who_writes_another_events_marker_confuses_nobody(
    database: str, clock: ManualClock, discord: FakeDiscord, calendar: FakeCalendar
) -> None:
    await make_guild()
    victim = await stored(name="Victim")
    await stored(name="Mimic", description=f"#{victim.id}")
    calendar.next_creates = [native_refused(ErrorClass.OUTAGE, arrived=True)]
    bot = await process(discord, clock)

    await bot.run_until(NOW + 5 * MINUTE)

    ids = {one.shows.name: one.native_id for one in calendar.live(GUILD)}
    assert (await Event.get(id=victim.id)).discord_scheduled_event_id == ids["Victim"]
    assert len(calendar.live(GUILD)) == 2


async def test_of_two_processes_that_run_at_once_one_makes_it(
    database: str, clock: ManualClock, discord: FakeDiscord, calendar: FakeCalendar
) -> None:
    await make_guild()
    events = [await stored(starts_in=6 * HOUR + n * MINUTE) for n in range(4)]
    one, other = await process(discord, clock), await process(discord, clock, name="other")

    async def _slow(_native: NativeEvent) -> None:
        await asyncio.sleep(0)

    calendar.before_create = _slow
    for _ in range(3):
        await asyncio.gather(one.run(SYNC_DISCORD_EVENTS), other.run(SYNC_DISCORD_EVENTS))
        await Event.filter(discord_scheduled_event_id=None).update(native_due_at=clock.now())

    assert calendar.count("create") == len(events)
    assert sorted(one.shows.marker for one in calendar.live(GUILD)) == [f"#{event.id}" for event in events]


async def test_a_second_process_that_reads_an_event_before_it_was_made_makes_no_second(
    database: str, clock: ManualClock, discord: FakeDiscord, calendar: FakeCalendar
) -> None:
    await make_guild()
    event = await stored()
    one, other = await process(discord, clock), await process(discord, clock, name="other")

    async def _meanwhile(_native: NativeEvent) -> None:
        # As if the first had stood still since its claim, and its hold on the row had passed.
        calendar.before_create = None
        await Event.filter(id=event.id).update(native_due_at=clock.now())
        await other.run(SYNC_DISCORD_EVENTS)

    calendar.before_create = _meanwhile
    await one.run(SYNC_DISCORD_EVENTS)

    assert (calendar.count("create"), len(calendar.live(GUILD))) == (1, 1)


# ------------------------------------------------------------------------------------------------- it follows the row


async def test_a_changed_event_is_edited_once_with_what_differs(
    database: str, clock: ManualClock, discord: FakeDiscord, calendar: FakeCalendar
) -> None:
    bot, event, native = await listed(discord, clock)
    seen: list[NativeChange] = []

    async def _see(what: NativeChange) -> None:
        seen.append(what)

    calendar.before_change = _see
    await change(event, clock, name="One")
    await change(event, clock, name="Two", scheduled_at=NOW + DAY)
    await synced(bot, clock)

    assert seen == [NativeChange(name="Two", starts_at=NOW + DAY, ends_at=NOW + DAY + 2 * HOUR)]
    assert (native.shows.name, native.shows.starts_at) == ("Two", NOW + DAY)


async def test_a_change_of_the_channel_shows_as_its_place(
    database: str, clock: ManualClock, discord: FakeDiscord, calendar: FakeCalendar
) -> None:
    bot, event, native = await listed(discord, clock)

    await change(event, clock, discord_announcement_channel_id=OTHER_CHANNEL)
    await synced(bot, clock)

    assert native.shows.location.endswith(f"/{OTHER_CHANNEL}")


async def test_what_changes_nothing_in_the_list_costs_no_request(
    database: str, clock: ManualClock, discord: FakeDiscord, calendar: FakeCalendar
) -> None:
    bot, event, _ = await listed(discord, clock, state=EventState.SIGNUPS_OPEN)
    before = list(calendar.asked)

    await sign_up(await Event.get(id=event.id), [1], SignupStatus.SIGNED_UP)
    await change(event, clock, max_players=5)
    await synced(bot, clock)

    assert calendar.asked == before
    again = (await Event.get(id=event.id)).native_due_at
    assert again is not None
    assert again > clock.now()


async def test_a_change_that_races_an_edit_is_followed_by_another(
    database: str, clock: ManualClock, discord: FakeDiscord, calendar: FakeCalendar
) -> None:
    bot, event, native = await listed(discord, clock)

    async def _change_again(_what: NativeChange) -> None:
        calendar.before_change = None
        await change(event, clock, name="Last")

    calendar.before_change = _change_again
    await change(event, clock, name="First")
    await synced(bot, clock)
    await synced(bot, clock)

    assert native.shows.name == "Last"


async def test_a_change_while_it_is_being_made_is_edited_afterwards(
    database: str, clock: ManualClock, discord: FakeDiscord, calendar: FakeCalendar
) -> None:
    await make_guild()
    event = await stored()
    bot = await process(discord, clock)

    async def _change(_native: NativeEvent) -> None:
        await change(event, clock, name="Renamed")

    calendar.before_create = _change
    await bot.run_until(NOW + MINUTE)

    assert [one.shows.name for one in calendar.live(GUILD)] == ["Renamed"]


async def test_it_starts_and_ends_with_its_event(
    database: str, clock: ManualClock, discord: FakeDiscord, calendar: FakeCalendar
) -> None:
    bot, event, native = await listed(discord, clock, state=EventState.SIGNUPS_OPEN)

    await bot.run_until(NOW + 6 * HOUR + MINUTE)
    running = native.status
    await bot.run_until(NOW + 8 * HOUR + MINUTE)

    assert (running, native.status) == (NativeStatus.ACTIVE, NativeStatus.COMPLETED)
    fresh = await Event.get(id=event.id)
    assert (fresh.discord_scheduled_event_id, fresh.native_due_at) == (None, None)
    assert calendar.count("create") == 1


async def test_what_discord_started_and_ended_by_itself_is_taken_as_done(
    database: str, clock: ManualClock, discord: FakeDiscord, calendar: FakeCalendar
) -> None:
    bot, event, native = await listed(discord, clock, state=EventState.SIGNUPS_OPEN)
    await bot.run_until(NOW + 6 * HOUR - SECOND)
    clock.set(NOW + 6 * HOUR)
    calendar.by_itself()

    await bot.run_until(NOW + 7 * HOUR)
    clock.set(NOW + 8 * HOUR)
    calendar.by_itself()
    await bot.run_until(NOW + 9 * HOUR)

    assert native.status is NativeStatus.COMPLETED
    assert calendar.count("change") == 0
    assert (await Event.get(id=event.id)).discord_scheduled_event_id is None


async def test_one_that_was_over_before_anybody_started_it_is_completed(
    database: str, clock: ManualClock, discord: FakeDiscord, calendar: FakeCalendar
) -> None:
    bot, event, native = await listed(discord, clock, state=EventState.SIGNUPS_OPEN)

    clock.set(NOW + 9 * HOUR)
    await Event.filter(id=event.id).update(state=EventState.COMPLETED)
    await change(event, clock)
    await synced(bot, clock)

    assert native.status is NativeStatus.COMPLETED


async def test_a_start_before_its_time_shows(
    database: str, clock: ManualClock, discord: FakeDiscord, calendar: FakeCalendar
) -> None:
    bot, event, native = await listed(discord, clock, state=EventState.SIGNUPS_OPEN)

    await go_to(EventState.IN_PROGRESS, event, clock)
    await synced(bot, clock)

    assert native.status is NativeStatus.ACTIVE


@pytest.mark.parametrize("runs", [False, True])
async def test_a_cancelled_event_leaves_the_list(
    database: str, clock: ManualClock, discord: FakeDiscord, calendar: FakeCalendar, runs: bool
) -> None:
    bot, event, native = await listed(discord, clock)
    if runs:
        native.status = NativeStatus.ACTIVE

    await go_to(EventState.CANCELLED, event, clock)
    await synced(bot, clock)

    # Discord lets nobody cancel what runs.
    assert native.status is (NativeStatus.COMPLETED if runs else NativeStatus.CANCELED)
    assert (await Event.get(id=event.id)).discord_scheduled_event_id is None
    assert calendar.count("create") == 1


async def test_a_withdrawn_event_is_deleted_from_the_list_and_stands_there_anew_once_it_returns(
    database: str, clock: ManualClock, discord: FakeDiscord, calendar: FakeCalendar
) -> None:
    bot, event, native = await listed(discord, clock)
    await Event.filter(id=event.id).update(is_withdrawn=True)
    await go_to(EventState.CANCELLED, event, clock)
    await synced(bot, clock)
    gone = native.deleted

    await Event.filter(id=event.id).update(is_withdrawn=False)
    await go_to(EventState.UPCOMING, event, clock)
    await synced(bot, clock)

    assert gone
    assert [one.shows.marker for one in calendar.live(GUILD)] == [f"#{event.id}.1"]


async def test_switched_off_it_leaves_the_list(
    database: str, clock: ManualClock, discord: FakeDiscord, calendar: FakeCalendar
) -> None:
    bot, event, native = await listed(discord, clock)

    await change(event, clock, discord_create_event=False)
    await synced(bot, clock)

    assert native.deleted
    assert (await Event.get(id=event.id)).discord_scheduled_event_id is None


async def test_one_put_off_after_discord_started_it_is_made_anew(
    database: str, clock: ManualClock, discord: FakeDiscord, calendar: FakeCalendar
) -> None:
    bot, event, native = await listed(discord, clock)
    native.status = NativeStatus.ACTIVE

    await change(event, clock, scheduled_at=NOW + DAY)
    await synced(bot, clock)

    assert native.deleted
    assert [one.shows.starts_at for one in calendar.live(GUILD)] == [NOW + DAY]


async def test_one_that_somebody_deleted_is_made_again_once(
    database: str, clock: ManualClock, discord: FakeDiscord, calendar: FakeCalendar
) -> None:
    bot, event, native = await listed(discord, clock)

    calendar.delete(native)
    await change(event, clock, name="Second")
    await synced(bot, clock)
    again = [one.shows.marker for one in calendar.live(GUILD)]
    calendar.delete(calendar.live(GUILD)[0])
    await change(event, clock, name="Third")
    await synced(bot, clock)
    await bot.run_until(NOW + HOUR)

    assert again == [f"#{event.id}.1"]
    assert (calendar.live(GUILD), calendar.count("create")) == ([], 2)
    assert (await Event.get(id=event.id)).native_due_at is None


async def test_one_that_somebody_ended_before_its_time_is_made_again_once(
    database: str, clock: ManualClock, discord: FakeDiscord, calendar: FakeCalendar
) -> None:
    bot, event, native = await listed(discord, clock)

    native.status = NativeStatus.CANCELED
    await change(event, clock, name="Second")
    await synced(bot, clock)

    assert [one.shows.name for one in calendar.live(GUILD)] == ["Second"]


@pytest.mark.parametrize("arrives", [False, True])
async def test_a_step_without_an_answer_is_taken_again(
    database: str, clock: ManualClock, discord: FakeDiscord, calendar: FakeCalendar, arrives: bool
) -> None:
    bot, event, native = await listed(discord, clock)
    calendar.next_steps = [None, native_refused(ErrorClass.OUTAGE, arrived=arrives)]

    await change(event, clock, name="Renamed")
    await bot.run_until(NOW + 2 * MINUTE)

    assert (native.shows.name, calendar.count("change")) == ("Renamed", 2)


async def test_killed_between_two_steps_the_next_process_goes_on(
    database: str, clock: ManualClock, discord: FakeDiscord, calendar: FakeCalendar
) -> None:
    bot, event, native = await listed(discord, clock)

    async def _die(_what: NativeChange) -> None:
        calendar.before_change = None
        raise KilledError

    calendar.before_change = _die
    await change(event, clock, name="Renamed")
    clock.advance(DEBOUNCE)
    with pytest.raises(KilledError):
        await bot.run(SYNC_DISCORD_EVENTS)
    await bot.crash()
    next_one = await process(discord, clock)
    await next_one.run_until(NOW + 5 * MINUTE)

    assert native.shows.name == "Renamed"


# -------------------------------------------------------------------------------------- limits, permissions, servers


async def test_a_server_has_a_hundred_at_most_the_nearest_first_and_is_told_once(
    database: str, clock: ManualClock, discord: FakeDiscord, calendar: FakeCalendar
) -> None:
    await make_guild()
    for n in range(94):
        event = await stored(starts_in=(20 + n) * HOUR, native_due_at=None)
        native = native_event(event, channel_id=CHANNEL, marker=f"#{event.id}")
        calendar.natives.append(Native(n + 1, GUILD, native))
        await Event.filter(id=event.id).update(discord_scheduled_event_id=n + 1, native_told=native.as_data())
    # The farthest is stored first, so that the order of the rows is not the order of the times.
    new = [await stored(starts_in=(16 - n) * HOUR, state=EventState.SIGNUPS_OPEN) for n in range(11)]
    bot = await process(discord, clock)

    await bot.run_until(NOW + 2 * MINUTE)
    first = {one.shows.starts_at for one in calendar.live(GUILD)[94:]}
    await bot.run_until(NOW + 6 * HOUR - MINUTE, at_most_apart=HOUR)
    waiting = calendar.count("create")
    await bot.run_until(NOW + 9 * HOUR - MINUTE)

    assert (len(calendar.live(GUILD)), waiting) == (100, 6)
    assert first == {event.scheduled_at for event in new[5:]}
    # The nearest is over, and the nearest of those that waited stands in its place.
    last = {one.shows.starts_at for one in calendar.live(GUILD)[94:]}
    assert last == {event.scheduled_at for event in new[4:10]}
    assert len(discord.in_channel(OPS_CHANNEL)) == 1


async def test_a_list_that_others_filled_is_asked_once_an_hour_and_the_admins_are_told_once(
    database: str, clock: ManualClock, discord: FakeDiscord, calendar: FakeCalendar
) -> None:
    await make_guild()
    for n in range(5):
        await stored(starts_in=DAY + n * HOUR)
    calendar.foreign[GUILD] = 100
    bot = await process(discord, clock)

    await bot.run_until(NOW + 3 * HOUR - MINUTE)
    asked = calendar.count("create")
    told = len(discord.in_channel(OPS_CHANNEL))
    calendar.foreign[GUILD] = 0
    await bot.run_until(NOW + 5 * HOUR)

    assert asked <= 3
    assert told == 1
    assert len(calendar.live(GUILD)) == 5
    assert await notes() == []


async def test_a_server_that_forbids_it_costs_an_attempt_an_hour_and_one_note_while_others_go_on(
    database: str, clock: ManualClock, discord: FakeDiscord, calendar: FakeCalendar
) -> None:
    await make_guild()
    await make_guild(OTHER_GUILD, ops_channel_id=None)
    for n in range(4):
        await stored(starts_in=DAY + n * HOUR)
    await stored(starts_in=2 * DAY, guild_id=OTHER_GUILD)
    calendar.forbidden.add(GUILD)
    bot = await process(discord, clock)

    await bot.run_until(NOW + 3 * HOUR - MINUTE)
    asked = calendar.count("create") - len(calendar.live(OTHER_GUILD))
    told = [post.shown.embed.description for post in discord.in_channel(OPS_CHANNEL) if post.shown.embed]
    calendar.forbidden.clear()
    await bot.run_until(NOW + 5 * HOUR)

    assert asked <= 3
    assert len(told) == 1
    assert "grant me Create Events and Manage Events" in told[0]
    assert (len(calendar.live(GUILD)), len(calendar.live(OTHER_GUILD))) == (4, 1)
    assert await notes() == []


async def test_presses_in_a_server_that_forbids_it_cost_no_further_attempt(
    database: str, clock: ManualClock, discord: FakeDiscord, calendar: FakeCalendar
) -> None:
    bot, event, _ = await listed(discord, clock)
    calendar.forbidden.add(GUILD)

    for n in range(5):
        await change(event, clock, name=f"Name {n}")
        await synced(bot, clock)

    assert calendar.count("look") == 1


async def test_one_that_discord_finds_invalid_does_not_stop_the_others_and_is_told(
    database: str, clock: ManualClock, discord: FakeDiscord, calendar: FakeCalendar
) -> None:
    await make_guild()
    await stored(name="Never")
    await stored(name="Well", starts_in=DAY)
    calendar.next_creates = [native_refused(ErrorClass.INVALID)]
    bot = await process(discord, clock)

    await bot.run_until(NOW + MINUTE)

    assert [one.shows.name for one in calendar.live(GUILD)] == ["Well"]
    assert [note.split(" as invalid")[0] for note in await notes()] == ["Discord refused the scheduled event of Never"]


async def test_a_server_that_is_away_only_waits(
    database: str, clock: ManualClock, discord: FakeDiscord, calendar: FakeCalendar
) -> None:
    discord.unavailable.add(GUILD)
    await make_guild()
    await stored()
    bot = await process(discord, clock)

    await bot.run_until(NOW + 5 * MINUTE)
    while_away = list(calendar.asked)
    discord.unavailable.clear()
    await bot.run_until(NOW + 6 * MINUTE)

    assert (while_away, len(calendar.live(GUILD))) == ([], 1)


async def test_a_hundred_events_leave_room_for_the_posts_between_them(
    database: str, clock: ManualClock, discord: FakeDiscord, calendar: FakeCalendar
) -> None:
    await make_guild()
    for n in range(25):
        await stored(starts_in=DAY + n * HOUR)
    bot = await process(discord, clock)

    await bot.run(SYNC_DISCORD_EVENTS)
    first = calendar.count("create")
    for _ in range(2):
        clock.advance(SECOND)
        await bot.run(SYNC_DISCORD_EVENTS)

    assert (first, calendar.count("create")) == (10, 25)


# ------------------------------------------------------------------------------------------------------- interested


async def test_who_is_interested_is_counted_every_ten_minutes_in_one_request_and_shown_in_the_post(
    database: str, clock: ManualClock, discord: FakeDiscord, calendar: FakeCalendar
) -> None:
    bot, event, native = await listed(discord, clock, discord_announcement=True)
    await stored(starts_in=7 * HOUR, discord_announcement=True)
    await bot.run_until(NOW + SECOND)
    native.interested = 3

    await bot.run_until(NOW + 59 * MINUTE)

    assert calendar.count("interested") <= 6
    assert (await Event.get(id=event.id)).native_interested == 3
    fields = discord.in_channel()[0].shown.embed.fields  # type: ignore[union-attr]
    assert [field.value for field in fields if field.name == "Interested"] == ["3"]
    assert discord.edit_attempts == 1


async def test_a_storm_of_presses_counts_no_more_often(
    database: str, clock: ManualClock, discord: FakeDiscord, calendar: FakeCalendar
) -> None:
    bot, event, _ = await listed(discord, clock, discord_announcement=True)
    one_more = await process(discord, clock, name="other")

    while clock.now() < NOW + 9 * MINUTE:
        await change(event, clock, max_players=clock.now().minute + 1)
        await synced(bot, clock, 40 * SECOND)
        await one_more.run(SYNC_DISCORD_EVENTS)

    assert calendar.count("interested") <= 1


async def test_without_a_post_the_list_is_read_and_nobody_counted(
    database: str, clock: ManualClock, discord: FakeDiscord, calendar: FakeCalendar
) -> None:
    bot, event, native = await listed(discord, clock, discord_announcement=True, starts_in=3 * DAY)
    native.interested = 3

    await bot.run_until(NOW + 2 * HOUR)

    fresh = await Event.get(id=event.id)
    assert (fresh.native_interested, fresh.post_version) == (None, event.post_version)
    assert (calendar.count("create"), calendar.count("look"), calendar.count("change")) == (1, 0, 0)


async def test_a_count_finds_one_that_somebody_deleted(
    database: str, clock: ManualClock, discord: FakeDiscord, calendar: FakeCalendar
) -> None:
    bot, event, native = await listed(discord, clock, discord_announcement=True)

    calendar.delete(native)
    await bot.run_until(NOW + 12 * MINUTE)

    assert [one.shows.marker for one in calendar.live(GUILD)] == [f"#{event.id}.1"]


async def test_one_without_a_post_or_a_change_that_somebody_deleted_is_made_again_once(
    database: str, clock: ManualClock, discord: FakeDiscord, calendar: FakeCalendar
) -> None:
    bot, event, native = await listed(discord, clock)

    calendar.delete(native)
    await bot.run_until(NOW + 11 * MINUTE)
    again = [one.shows.marker for one in calendar.live(GUILD)]
    calendar.delete(calendar.live(GUILD)[0])
    await bot.run_until(NOW + HOUR)

    assert again == [f"#{event.id}.1"]
    assert (calendar.live(GUILD), calendar.count("create")) == ([], 2)
    assert (await Event.get(id=event.id)).native_due_at is None


async def test_a_servers_list_is_read_once_in_ten_minutes_whenever_its_events_were_made(
    database: str, clock: ManualClock, discord: FakeDiscord, calendar: FakeCalendar, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads: list[dt.datetime] = []
    read = calendar.interested

    async def _noted(guild_id: int) -> dict[int, int]:
        reads.append(clock.now())
        return await read(guild_id)

    monkeypatch.setattr(calendar, "interested", _noted)
    await make_guild()
    bot = await process(discord, clock)
    for minute in range(1, 30, 2):
        await stored(starts_in=DAY, discord_announcement=minute % 4 == 1, native_due_at=clock.now())
        bot.services.wake_all(clock.now())
        await bot.run_until(NOW + minute * MINUTE)
    natives = calendar.live(GUILD)
    for native in natives[::2]:
        calendar.delete(native)
    await bot.run_until(NOW + 50 * MINUTE)

    assert len(natives) == len(calendar.live(GUILD)) == 15
    assert all(later - one >= 10 * MINUTE for one, later in pairwise(reads))
    assert len(reads) <= 5


async def test_what_an_earlier_version_left_unwatched_is_looked_at(
    database: str, clock: ManualClock, discord: FakeDiscord, calendar: FakeCalendar
) -> None:
    bot, event, native = await listed(discord, clock)
    await bot.services.leave()
    await Event.filter(id=event.id).update(native_due_at=None)
    calendar.delete(native)

    clock.advance(DAY // 8)
    await (await process(discord, clock, name="newer")).run_until(clock.now() + MINUTE)

    assert [one.shows.marker for one in calendar.live(GUILD)] == [f"#{event.id}.1"]


# ------------------------------------------------------------------------------------------------- the server's channel


async def set_channel(clock: ManualClock, channel_id: int | None, guild_id: int = GUILD) -> None:
    clear = Clearable.ANNOUNCEMENT_CHANNEL if channel_id is None else None
    change = SettingsChange(announcement_channel_id=channel_id, clear=clear)
    await change_settings(change, guild_id=guild_id, actor=1, default_timezone="UTC", now=clock.now())


async def test_the_place_follows_the_servers_channel_where_the_event_has_none_of_its_own(
    database: str, clock: ManualClock, discord: FakeDiscord, calendar: FakeCalendar
) -> None:
    await make_guild(OTHER_GUILD)
    bot, event, follows = await listed(discord, clock)
    await stored(discord_announcement_channel_id=CHANNEL)
    await stored(guild_id=OTHER_GUILD)
    bot.services.wake_all(clock.now())
    await bot.run_until(NOW + SECOND)
    own, theirs = calendar.live(GUILD)[1], calendar.live(OTHER_GUILD)[0]
    before = len(calendar.asked)

    await set_channel(clock, OTHER_CHANNEL)
    await synced(bot, clock)
    moved = [one.shows.location.rpartition("/")[2] for one in (follows, own, theirs)]
    steps = calendar.asked[before:]
    await set_channel(clock, None)
    await synced(bot, clock)

    assert moved == [str(OTHER_CHANNEL), str(CHANNEL), str(CHANNEL)]
    assert steps == ["look", "change"]
    assert follows.shows.location == NOWHERE
    assert (await Event.get(id=event.id)).post_due_at is None


async def test_another_setting_or_the_same_channel_again_costs_no_request(
    database: str, clock: ManualClock, discord: FakeDiscord, calendar: FakeCalendar
) -> None:
    bot, event, _ = await listed(discord, clock)
    before = len(calendar.asked)

    await set_channel(clock, CHANNEL)
    change = SettingsChange(ops_channel_id=OTHER_CHANNEL)
    await change_settings(change, guild_id=GUILD, actor=1, default_timezone="UTC", now=clock.now())
    await synced(bot, clock)

    assert calendar.asked[before:] == []
    assert (await Event.get(id=event.id)).post_version == event.post_version


@pytest.mark.parametrize("step", ["before_create", "before_change"])
async def test_a_channel_that_is_set_while_one_is_made_or_edited_shows_afterwards(
    database: str, clock: ManualClock, discord: FakeDiscord, calendar: FakeCalendar, step: str
) -> None:
    await make_guild()
    event = await stored()
    bot = await process(discord, clock)
    if step == "before_change":
        await bot.tick()
        await change(event, clock, name="Second")

    async def _meanwhile(_asked: object) -> None:
        setattr(calendar, step, None)
        await set_channel(clock, OTHER_CHANNEL)

    setattr(calendar, step, _meanwhile)
    await bot.run_until(NOW + 30 * SECOND)

    assert [one.shows.location.rpartition("/")[2] for one in calendar.live(GUILD)] == [str(OTHER_CHANNEL)]


async def test_posts_are_edited_although_the_lists_cannot_be_kept(
    database: str, clock: ManualClock, discord: FakeDiscord, calendar: FakeCalendar
) -> None:
    options = ServiceOptions()
    await make_guild()
    event = await stored(discord_announcement=True)
    calendar.next_creates = [RuntimeError("a bug")]
    bot = await process(discord, clock, options=options)
    await bot.tick()

    await change(event, clock, name="Renamed")
    await bot.run_until(NOW + MINUTE)

    assert discord.titles() == ["Renamed"]
