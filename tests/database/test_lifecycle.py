"""Events move from state to state as the specification's table says, one winner a move, each with its audit row."""

import asyncio
import datetime as dt

import pytest
from tortoise.exceptions import OperationalError

from bot.clock import ManualClock
from bot.events.lifecycle import Lifecycle, transition
from bot.events.posts import mark_changed
from bot.scheduling.agenda import Agenda
from bot.scheduling.bodies import (
    CHECK_EVENT_REMINDERS,
    CLEANUP_STALE_EVENTS,
    OPEN_SCHEDULED_SIGNUPS,
    SYNC_DISCORD_EVENTS,
)
from models.audit_log import AuditLog
from models.event import Event
from models.states import EventState
from tests.builders import (
    CHANNEL,
    DAY,
    GUILD,
    HOUR,
    MINUTE,
    SECOND,
    FakeDiscord,
    audit_actions,
    derived_due,
    make_event,
    make_guild,
    process,
    state_of,
    stored_due,
    utc,
)

NOW = utc("2026-03-01 12:00")
DEBOUNCE = 3 * SECOND
MICROSECOND = dt.timedelta(microseconds=1)
UPCOMING, SIGNUPS_OPEN, ROLL_CALL, IN_PROGRESS, COMPLETED, CANCELLED = EventState


def a_lifecycle(agenda: Agenda | None = None) -> Lifecycle:
    return Lifecycle(agenda or Agenda(), instance="test", debounce=DEBOUNCE, cleanup_every=HOUR)


async def moved_by_time(fields: dict[str, object], starts_in: dt.timedelta, *, cleanup: bool = False) -> EventState:
    event = await make_event(now=NOW, starts_in=starts_in, **fields)
    body = a_lifecycle().cleanup_stale_events if cleanup else a_lifecycle().open_scheduled_signups
    await body(NOW)
    return await state_of(event)


# -------------------------------------------------------------------------------------------------- what time brings


async def test_sign_ups_open_at_their_time_and_not_before(database: str) -> None:
    states = [
        await moved_by_time({"signups_open_at": NOW + MICROSECOND}, HOUR),
        await moved_by_time({"signups_open_at": NOW}, HOUR),
        await moved_by_time({"signups_open_at": NOW - DAY}, HOUR),
        await moved_by_time({"signups_open_at": None}, HOUR),
    ]

    assert states == [UPCOMING, SIGNUPS_OPEN, SIGNUPS_OPEN, UPCOMING]


async def test_sign_ups_never_open_once_the_event_has_begun(database: str) -> None:
    states = [
        await moved_by_time({"signups_open_at": NOW - HOUR}, MICROSECOND),
        await moved_by_time({"signups_open_at": NOW - HOUR}, dt.timedelta(0)),
        await moved_by_time({"signups_open_at": NOW - HOUR}, -HOUR),
    ]

    assert states == [SIGNUPS_OPEN, UPCOMING, UPCOMING]


async def test_an_event_that_people_could_sign_up_for_begins_at_its_time(database: str) -> None:
    states = [
        await moved_by_time({"state": SIGNUPS_OPEN}, MICROSECOND),
        await moved_by_time({"state": SIGNUPS_OPEN}, dt.timedelta(0)),
        await moved_by_time({"state": ROLL_CALL}, MICROSECOND),
        await moved_by_time({"state": ROLL_CALL}, dt.timedelta(0)),
        await moved_by_time({"state": UPCOMING}, dt.timedelta(0)),
        await moved_by_time({"state": CANCELLED}, dt.timedelta(0)),
    ]

    assert states == [SIGNUPS_OPEN, IN_PROGRESS, ROLL_CALL, IN_PROGRESS, UPCOMING, CANCELLED]


async def test_an_event_is_over_at_the_end_of_its_duration(database: str) -> None:
    running: dict[str, object] = {"state": IN_PROGRESS, "duration_minutes": 90}

    states = [
        await moved_by_time(running, -90 * MINUTE + MICROSECOND),
        await moved_by_time(running, -90 * MINUTE),
        await moved_by_time(running, -DAY),
    ]

    assert states == [IN_PROGRESS, COMPLETED, COMPLETED]


async def test_an_event_missed_as_a_whole_is_begun_and_ended_in_one_pass(database: str) -> None:
    assert await moved_by_time({"state": SIGNUPS_OPEN, "duration_minutes": 60}, -2 * HOUR) is COMPLETED
    assert [(row.before, row.after) for row in await AuditLog.all().order_by("id")] == [
        ({"state": "signups_open"}, {"state": "in_progress"}),
        ({"state": "in_progress"}, {"state": "completed"}),
    ]


async def test_cleanup_cancels_what_nobody_could_sign_up_for_a_day_past_its_time(database: str) -> None:
    states = [
        await moved_by_time({}, -DAY + MICROSECOND, cleanup=True),
        await moved_by_time({}, -DAY, cleanup=True),
        await moved_by_time({}, HOUR, cleanup=True),
    ]

    assert states == [UPCOMING, CANCELLED, UPCOMING]


async def test_cleanup_completes_what_people_could_sign_up_for_a_day_past_its_end(database: str) -> None:
    ended_a_day_ago = -DAY - 120 * MINUTE

    states = [
        await moved_by_time({"state": state}, starts_in, cleanup=True)
        for state in (SIGNUPS_OPEN, ROLL_CALL, IN_PROGRESS)
        for starts_in in (ended_a_day_ago + MICROSECOND, ended_a_day_ago)
    ]

    assert states == [SIGNUPS_OPEN, COMPLETED, ROLL_CALL, COMPLETED, IN_PROGRESS, COMPLETED]


async def test_cleanup_comes_again_in_an_hour_and_touches_nothing_that_is_at_rest(database: str) -> None:
    events = [await make_event(now=NOW, starts_in=-30 * DAY, state=state) for state in (COMPLETED, CANCELLED)]

    assert await a_lifecycle().cleanup_stale_events(NOW) == NOW + HOUR
    assert [await state_of(event) for event in events] == [COMPLETED, CANCELLED]
    assert await audit_actions() == []


# ------------------------------------------------------------------------------------------------- what an admin does


async def test_an_admins_move_is_recorded_as_theirs(database: str) -> None:
    event = await make_event(now=NOW, state=SIGNUPS_OPEN)

    moved = await transition(event, allowed={SIGNUPS_OPEN}, to=ROLL_CALL, now=NOW, debounce=DEBOUNCE, actor_user_id=9)

    row = await AuditLog.get()
    assert moved
    assert (row.action, row.guild_id, row.actor_user_id, row.subject_id) == ("event.edit", GUILD, 9, event.id)
    assert (row.before, row.after, row.created_at) == ({"state": "signups_open"}, {"state": "roll_call"}, NOW)
    assert (await Event.get(id=event.id)).state_since == NOW


async def test_roll_call_is_called_off_again(database: str) -> None:
    event = await make_event(now=NOW - HOUR, starts_in=7 * HOUR, state=ROLL_CALL)

    assert await transition(event, allowed={ROLL_CALL}, to=SIGNUPS_OPEN, now=NOW, debounce=DEBOUNCE)
    assert await state_of(event) is SIGNUPS_OPEN
    # Announced from the moment that it can be announced again.
    assert await stored_due() == {(event.id, "announcement"): NOW}


async def test_cancelling_leaves_nothing_due_and_is_called_so(database: str) -> None:
    event = await make_event(now=NOW)

    assert await transition(event, allowed={UPCOMING}, to=CANCELLED, now=NOW, debounce=DEBOUNCE, actor_user_id=9)
    assert await stored_due() == {}
    assert await audit_actions() == ["event.cancel"]


async def test_a_revived_event_is_due_again_before_its_time(database: str) -> None:
    event = await make_event(now=NOW - DAY, starts_in=30 * HOUR, state=CANCELLED)

    assert await transition(event, allowed={CANCELLED}, to=UPCOMING, now=NOW, debounce=DEBOUNCE)
    assert await stored_due() == {(event.id, "announcement"): NOW}


async def test_a_move_that_is_not_allowed_from_there_changes_nothing(database: str) -> None:
    event = await make_event(now=NOW, state=IN_PROGRESS)

    assert not await transition(event, allowed={UPCOMING, SIGNUPS_OPEN}, to=CANCELLED, now=NOW, debounce=DEBOUNCE)
    assert await state_of(event) is IN_PROGRESS
    assert await audit_actions() == []


async def test_a_lost_race_is_told_and_nothing_is_changed(database: str) -> None:
    changes: list[dict[str, object]] = [
        {"state": CANCELLED},
        {"scheduled_at": NOW + DAY},
        {"signups_open_at": NOW + HOUR},
        {"guild_id": 5},
    ]
    events = [await make_event(now=NOW, signups_open_at=NOW) for _ in changes]
    for event, meanwhile in zip(events, changes, strict=True):
        await Event.filter(id=event.id).update(**meanwhile)
    before, due = await Event.all().order_by("id").values(), await stored_due()

    moved = [
        await transition(event, allowed={UPCOMING}, to=SIGNUPS_OPEN, now=NOW, debounce=DEBOUNCE) for event in events
    ]

    assert moved == [False] * 4
    assert await Event.all().order_by("id").values() == before
    assert await stored_due() == due
    assert await audit_actions() == []


async def test_of_two_processes_that_move_one_event_one_wins(database: str) -> None:
    event = await make_event(now=NOW, signups_open_at=NOW)
    twins = [await Event.get(id=event.id) for _ in range(8)]

    moved = await asyncio.gather(
        *(transition(twin, allowed={UPCOMING}, to=SIGNUPS_OPEN, now=NOW, debounce=DEBOUNCE) for twin in twins)
    )

    assert sorted(moved) == [False] * 7 + [True]
    assert await audit_actions() == ["event.edit"]
    assert (await Event.get(id=event.id)).post_version == 1


async def test_a_move_whose_audit_row_fails_did_not_happen(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    event = await make_event(now=NOW, signups_open_at=NOW)
    due = await stored_due()

    async def _fails(*args: object, **fields: object) -> None:
        raise OperationalError("disk full")

    monkeypatch.setattr("bot.audit.record", _fails)

    with pytest.raises(OperationalError):
        await transition(event, allowed={UPCOMING}, to=SIGNUPS_OPEN, now=NOW + HOUR, debounce=DEBOUNCE)

    fresh = await Event.get(id=event.id)
    assert (fresh.state, fresh.state_since, fresh.post_version) == (UPCOMING, NOW, 0)
    assert await stored_due() == due


@pytest.mark.parametrize("error", [OperationalError("disk full"), ValueError("cannot be read")], ids=["row", "value"])
async def test_one_move_that_fails_does_not_stop_the_rest(
    database: str, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    events = [await make_event(now=NOW, starts_in=HOUR, signups_open_at=NOW) for _ in range(3)]

    async def _fails_for_one(event_id: int, *, now: dt.datetime, debounce: dt.timedelta) -> None:
        if event_id == events[1].id:
            raise error
        await mark_changed(event_id, now=now, debounce=debounce)

    monkeypatch.setattr("bot.events.lifecycle.mark_changed", _fails_for_one)
    await a_lifecycle().open_scheduled_signups(NOW)
    failed_once = [await state_of(event) for event in events]
    monkeypatch.undo()
    await a_lifecycle().open_scheduled_signups(NOW + MINUTE)

    assert failed_once == [SIGNUPS_OPEN, UPCOMING, SIGNUPS_OPEN]
    assert [await state_of(event) for event in events] == [SIGNUPS_OPEN] * 3


# ----------------------------------------------------------------------------------------------------- next moments


async def test_the_pass_names_the_next_moment_at_which_time_moves_an_event(database: str) -> None:
    body = a_lifecycle().open_scheduled_signups
    assert await body(NOW) is None

    await make_event(now=NOW, starts_in=DAY, state=CANCELLED, signups_open_at=NOW + MINUTE)
    await make_event(now=NOW, starts_in=-HOUR, state=IN_PROGRESS, duration_minutes=60 + 240)
    ends = await body(NOW)
    await make_event(now=NOW, starts_in=3 * HOUR, state=SIGNUPS_OPEN)
    starts = await body(NOW)
    await make_event(now=NOW, starts_in=DAY, signups_open_at=NOW + 2 * HOUR)
    opens = await body(NOW)

    assert (ends, starts, opens) == (NOW + 4 * HOUR, NOW + 3 * HOUR, NOW + 2 * HOUR)


async def test_a_move_wakes_reminders_the_post_and_the_moves_themselves(database: str) -> None:
    agenda = Agenda()
    await make_event(now=NOW, signups_open_at=NOW)

    await a_lifecycle(agenda).open_scheduled_signups(NOW)

    assert agenda.next(CHECK_EVENT_REMINDERS) == agenda.next(OPEN_SCHEDULED_SIGNUPS) == NOW
    assert agenda.next(SYNC_DISCORD_EVENTS) == NOW + DEBOUNCE


async def test_an_event_goes_through_its_whole_life_at_its_own_times(database: str, clock: ManualClock) -> None:
    await make_guild()
    discord = FakeDiscord(clock)
    bot = await process(discord, clock)
    event = await make_event(now=NOW, starts_in=30 * HOUR, signups_open_at=NOW + 2 * HOUR, duration_minutes=90)

    await bot.run_until(NOW + 3 * DAY)

    states = [row.after for row in await AuditLog.filter(subject_id=event.id).order_by("id")]
    moments = [row.created_at for row in await AuditLog.filter(subject_id=event.id).order_by("id")]
    assert states == [{"state": "signups_open"}, {"state": "in_progress"}, {"state": "completed"}]
    assert moments == [NOW + 2 * HOUR, NOW + 30 * HOUR, NOW + 31 * HOUR + 30 * MINUTE]
    (post,) = discord.in_channel(CHANNEL)
    assert post.sent_at == NOW + 6 * HOUR
    assert [edit.embed.fields[-1].value for edit in post.edits if edit.embed is not None] == [
        "Closed: it is running",
        "Closed: it is over",
    ]
    assert await stored_due() == await derived_due() == {}


async def test_an_event_that_never_opened_is_cancelled_by_the_hourly_cleanup(database: str, clock: ManualClock) -> None:
    await make_guild()
    bot = await process(FakeDiscord(clock), clock)
    event = await make_event(now=NOW, starts_in=30 * MINUTE, signups_open_at=None)

    await bot.run_until(NOW + 24 * HOUR)
    before_its_day_is_over = await state_of(event)
    await bot.run_until(NOW + 25 * HOUR)

    assert bot.next(CLEANUP_STALE_EVENTS) == NOW + 26 * HOUR
    assert [before_its_day_is_over, await state_of(event)] == [UPCOMING, CANCELLED]
