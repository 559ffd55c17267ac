"""The due rows always say what the pure function would: after any sequence of edits, moves, sends and failures."""

import asyncio
import datetime as dt

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bot.clock import ManualClock
from bot.events.lifecycle import transition
from bot.leases.failures import ErrorClass
from bot.scheduling import due_rows
from bot.scheduling.bodies import (
    CHECK_EVENT_REMINDERS,
    GENERATE_UPCOMING_EVENTS,
    OPEN_SCHEDULED_SIGNUPS,
    SWEEP_STALE_DISCORD_LEASES,
)
from bot.transactions import Dialect, atomic, dialect, fetch
from models.discord_message_log import DiscordMessageLog
from models.event import Event
from models.event_repeater import EventRepeater
from models.instance import Instance
from models.leader_lease import LeaderLease
from models.reminder_due import ReminderDue
from models.states import EventState, Frequency
from tests.builders import (
    DAY,
    GUILD,
    HOUR,
    SECOND,
    FakeDiscord,
    Process,
    derived_due,
    log_rows,
    make_event,
    make_guild,
    make_series,
    process,
    refused,
    stored_due,
    utc,
)

NOW = utc("2026-03-01 12:00")


class Story:
    """A few events of a daily series and whatever happens to them; each public method is one step."""

    def __init__(self, discord: FakeDiscord, clock: ManualClock, bot: Process) -> None:
        self._discord = discord
        self._clock = clock
        self._bot = bot

    async def advance(self, seconds: int) -> None:
        self._clock.advance(dt.timedelta(seconds=seconds))

    async def run_pass(self, body: str) -> None:
        await self._bot.run(body)

    async def fail_next(self, error_class: ErrorClass) -> None:
        self._discord.next_sends.append(refused(error_class))

    async def lose_next_answer(self) -> None:
        self._discord.next_sends.append(refused(ErrorClass.OUTAGE, arrived=True))

    async def transition(self, number: int, to: EventState) -> None:
        event = await self._event(number)
        await transition(event, allowed=set(EventState), to=to, now=self._clock.now(), debounce=3 * SECOND)

    async def edit_hours(self, number: int, hours: int | None) -> None:
        await self._edit(number, discord_announcement_hours=hours)

    async def switch(self, number: int, wanted: bool) -> None:
        await self._edit(number, discord_announcement=wanted)

    async def put_off(self, number: int, hours: int) -> None:
        event = await self._event(number)
        await self._edit(number, scheduled_at=event.scheduled_at + hours * HOUR)

    async def _event(self, number: int) -> Event:
        events = await Event.all().order_by("-id").limit(4)
        return events[number % len(events)]

    async def _edit(self, number: int, **fields: object) -> None:
        event = await self._event(number)

        async def _unit() -> None:
            await Event.filter(id=event.id).update(**fields)
            await due_rows.refresh([event.id])

        await atomic(_unit)

    async def ahead(self, rows: dict[tuple[int, str], dt.datetime]) -> dict[tuple[int, str], dt.datetime]:
        """Of an event that has begun, a row only waits to be recorded as missed."""
        begun = {event.id for event in await Event.filter(scheduled_at__lte=self._clock.now())}
        return {row: due for row, due in rows.items() if row[0] not in begun}


NUMBERS = st.integers(0, 3)
PASSES = [CHECK_EVENT_REMINDERS, OPEN_SCHEDULED_SIGNUPS, GENERATE_UPCOMING_EVENTS, SWEEP_STALE_DISCORD_LEASES]
FAILURES = [ErrorClass.FORBIDDEN, ErrorClass.RATE_LIMITED, ErrorClass.OUTAGE]
STEPS: st.SearchStrategy[tuple[str, tuple[object, ...]]] = st.one_of(
    st.tuples(st.just("advance"), st.tuples(st.sampled_from([1, 30, 60, 3600, 6 * 3600, 86_400]))),
    st.tuples(st.just("run_pass"), st.tuples(st.sampled_from(PASSES))),
    st.tuples(st.just("run_pass"), st.tuples(st.just(CHECK_EVENT_REMINDERS))),
    st.tuples(st.just("fail_next"), st.tuples(st.sampled_from(FAILURES))),
    st.tuples(st.just("lose_next_answer"), st.tuples()),
    st.tuples(st.just("transition"), st.tuples(NUMBERS, st.sampled_from(EventState))),
    st.tuples(st.just("edit_hours"), st.tuples(NUMBERS, st.sampled_from([None, 0, 1, 5, 24, 60]))),
    st.tuples(st.just("switch"), st.tuples(NUMBERS, st.booleans())),
    st.tuples(st.just("put_off"), st.tuples(NUMBERS, st.sampled_from([-5, 2, 30]))),
)


async def empty() -> None:
    for table in (ReminderDue, DiscordMessageLog, Event, EventRepeater, Instance, LeaderLease):
        await table.all().delete()


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(STEPS, min_size=4, max_size=25))
async def test_stored_equals_derived_whatever_happens(
    database: str, steps: list[tuple[str, tuple[object, ...]]]
) -> None:
    await empty()
    clock = ManualClock(NOW)
    discord = FakeDiscord(clock)
    bot = await process(discord, clock)
    await make_series(
        now=NOW,
        guild_id=5,
        frequency=Frequency.DAILY,
        day_of_week=None,
        timezone="UTC",
        discord_announcement_channel_id=6,
    )
    story = Story(discord, clock, bot)
    await bot.run(GENERATE_UPCOMING_EVENTS)

    for step, what in steps:
        await getattr(story, step)(*what)

        assert await story.ahead(await stored_due()) == await story.ahead(await derived_due()), (step, what)


async def test_hours_edited_while_the_message_is_on_its_way_count_after_its_failure(
    database: str, clock: ManualClock
) -> None:
    await make_guild()
    discord = FakeDiscord(clock)
    bot = await process(discord, clock)
    event = await make_event(now=NOW, starts_in=6 * HOUR)
    discord.next_sends = [refused(ErrorClass.RATE_LIMITED)]

    async def _edit(message: object) -> None:
        await Event.filter(id=event.id).update(discord_announcement_hours=1)
        await atomic(lambda: due_rows.refresh([event.id]))

    discord.before_send = _edit
    await bot.run(CHECK_EVENT_REMINDERS)

    assert await stored_due() == await derived_due() == {(event.id, "announcement"): NOW + 5 * HOUR}


@pytest.mark.parametrize(
    ("error_class", "starts_in", "due_in"),
    [
        pytest.param(ErrorClass.RATE_LIMITED, HOUR, 30 * SECOND, id="transient: half a minute"),
        pytest.param(ErrorClass.FORBIDDEN, HOUR + SECOND, HOUR, id="permanent: an hour, a second before the start"),
        pytest.param(ErrorClass.FORBIDDEN, HOUR, None, id="permanent: an hour, which is the start"),
    ],
)
async def test_a_failed_attempt_moves_the_row_to_its_next_one(
    database: str, clock: ManualClock, error_class: ErrorClass, starts_in: dt.timedelta, due_in: dt.timedelta | None
) -> None:
    await make_guild()
    discord = FakeDiscord(clock)
    bot = await process(discord, clock)
    event = await make_event(now=NOW, starts_in=starts_in)
    discord.next_sends = [refused(error_class)]

    await bot.run(CHECK_EVENT_REMINDERS)

    assert await stored_due() == ({} if due_in is None else {(event.id, "announcement"): NOW + due_in})
    assert bot.next(CHECK_EVENT_REMINDERS) == (NOW + due_in if due_in is not None else NOW + HOUR)


async def test_a_failure_that_nothing_tries_again_counts_for_its_own_start_alone(database: str) -> None:
    async def failed(event: Event, error_class: str, finished_at: dt.datetime) -> None:
        await DiscordMessageLog.create(
            source="event_announcement",
            source_id=event.id,
            success=False,
            error_class=error_class,
            claimed_at=finished_at,
            created_at=finished_at,
            finished_at=finished_at,
        )

    for_an_earlier_start = await make_event(now=NOW, starts_in=HOUR)
    await failed(for_an_earlier_start, "forbidden", NOW - DAY)
    for_this_start = await make_event(now=NOW, starts_in=HOUR)
    await failed(for_this_start, "event_started", NOW + HOUR)
    may_have_arrived = await make_event(now=NOW, starts_in=HOUR)
    await failed(may_have_arrived, "unknown_outcome", NOW - DAY)

    await atomic(lambda: due_rows.refresh([for_an_earlier_start.id, for_this_start.id, may_have_arrived.id]))

    assert await stored_due() == await derived_due() == {(for_an_earlier_start.id, "announcement"): NOW}
    assert may_have_arrived.id not in await due_rows.missing(now=NOW)


async def test_what_was_sent_has_no_row_and_another_source_touches_none(database: str, clock: ManualClock) -> None:
    event = await make_event(now=NOW)

    await due_rows.remove(event.id, "event_repost")
    assert await due_rows.postpone(event.id, "event_repost") is False
    kept = await stored_due()
    await due_rows.remove(event.id, "event_announcement")

    assert (len(kept), await stored_due()) == (1, {})


async def test_the_next_due_moment_is_the_earliest_one_ahead(database: str) -> None:
    await make_event(now=NOW, starts_in=24 * HOUR)  # due now, and so not ahead
    await make_event(now=NOW, starts_in=30 * HOUR)
    await make_event(now=NOW, starts_in=27 * HOUR)

    assert await due_rows.next_due(after=NOW) == NOW + 3 * HOUR
    assert await due_rows.next_due(after=NOW + 3 * HOUR) == NOW + 6 * HOUR
    assert await due_rows.next_due(after=NOW + 6 * HOUR) is None


async def test_more_events_than_one_statement_takes_are_derived(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(due_rows, "_CHUNK", 3)
    events = [await make_event(now=NOW) for _ in range(8)]
    await ReminderDue.all().delete()

    await atomic(lambda: due_rows.refresh(event.id for event in events))

    assert await stored_due() == await derived_due()
    assert len(await stored_due()) == 8


async def test_a_row_goes_with_its_event(database: str) -> None:
    event = await make_event(now=NOW)

    await Event.filter(id=event.id).delete()

    assert await stored_due() == {}


async def test_moves_and_outcomes_at_one_time_do_not_wait_for_each_other(
    database: str, clock: ManualClock, caplog: pytest.LogCaptureFixture
) -> None:
    await make_guild()
    discord = FakeDiscord(clock)
    bots = [await process(discord, clock, name=name) for name in ("one", "two")]
    for _ in range(40):
        await make_event(now=NOW, signups_open_at=NOW)

    await asyncio.gather(*(bot.run(body) for bot in bots for body in (CHECK_EVENT_REMINDERS, OPEN_SCHEDULED_SIGNUPS)))

    assert [record.message for record in caplog.records if "deadlock" in record.message] == []
    assert len(discord.posts) == 40
    assert await stored_due() == await derived_due() == {}
    assert {event.state for event in await Event.all()} == {EventState.SIGNUPS_OPEN}


async def _somebody_waits_for_a_lock() -> None:
    """Return once the second transaction waits for the first; on SQLite it waits before it begins."""
    for _ in range(10_000 if dialect() is Dialect.POSTGRES else 0):
        if await fetch("SELECT 1 AS one FROM pg_stat_activity WHERE wait_event_type = 'Lock'"):
            return


async def test_a_row_is_derived_from_what_another_transaction_is_about_to_record(database: str) -> None:
    """On PostgreSQL two transactions meet: the second derives only after the first is done."""
    event = await make_event(now=NOW)
    recorded, go_on = asyncio.Event(), asyncio.Event()

    async def _sending() -> None:
        await fetch(
            "INSERT INTO discord_message_log (source, source_id, recipient_id, part, guild_id, success, history_after,"
            " attempts, claimed_at, created_at) VALUES ('event_announcement', $1, 0, 0, $2, TRUE, 0, 1, $3, $3)",
            [event.id, GUILD, NOW],
        )
        await due_rows.remove(event.id, "event_announcement")
        recorded.set()
        await go_on.wait()

    sending = asyncio.create_task(atomic(_sending))
    await recorded.wait()
    deriving = asyncio.create_task(atomic(lambda: due_rows.refresh([event.id])))
    await _somebody_waits_for_a_lock()
    go_on.set()
    await asyncio.gather(sending, deriving)

    assert await stored_due() == await derived_due() == {}
    assert len(await log_rows()) == 1
