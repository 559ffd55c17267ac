"""
Bring the events of a series in line with its row: realign them, make what is missing, hand its values down.

All of it in one transaction, the caller's if there is one, with the series held before its events. Source:
02-reminders.md, "Realign-on-edit"; event-reminder-scheduling.md, "Realign-on-edit".
"""

import datetime as dt
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

import structlog
from tortoise.queryset import QuerySet

from bot import audit
from bot.changes.realign import RealignPlan, StoredEvent, plan
from bot.changes.stale import StaleError, held_series
from bot.changes.withdrawal import known_of, revive, withdraw_all
from bot.events.exceptions import date_of, note_moved
from bot.events.generate import CASCADED_FIELDS, excepted_dates, make_events, rule_of, signups_open_at
from bot.events.posts import mark_all_changed
from bot.scheduling import due_rows
from bot.transactions import atomic
from models.event import Event
from models.event_repeater import EventRepeater
from models.states import EventState

_log = structlog.get_logger(__name__)

HANDED_DOWN: Final = ("name", "description", *CASCADED_FIELDS)
"""What an upcoming event has from its series, unless an admin edited it there."""

_OPENS: Final = "signup_opens_hours"


@dataclass(frozen=True, slots=True)
class _Hand:
    """Who changes a series, and when."""

    now: dt.datetime
    debounce: dt.timedelta
    actor_user_id: int | None
    instance: str | None


async def plan_of(series: EventRepeater, *, now: dt.datetime, ticked: Collection[int] = ()) -> RealignPlan:
    """
    Return what realigning the events of a series to its fields, as they stand in ``series``, would do.

    ``ticked``: edited events that may go. Nothing is stored, and the fields need not be.
    """
    rows = await Event.filter(series_id=series.id, guild_id=series.guild_id, scheduled_at__gt=now).order_by("id")
    return await plan_for(series, rows, await excepted_dates(series.id), now=now, ticked=ticked)


async def followers(series: EventRepeater, *, now: dt.datetime) -> frozenset[int]:
    """Return the ids of the events ahead that take on what their series says."""
    return frozenset([event.id for event in await _followers(series, now).only("id")])


def _followers(series: EventRepeater, now: dt.datetime) -> QuerySet[Event]:
    return Event.filter(
        series_id=series.id,
        guild_id=series.guild_id,
        state=EventState.UPCOMING,
        is_off_schedule=False,
        scheduled_at__gt=now,
    )


async def sync_future_events(
    series: EventRepeater,
    *,
    realign_schedule: bool = False,
    now: dt.datetime,
    debounce: dt.timedelta,
    actor_user_id: int | None = None,
    instance: str | None = None,
    ticked: Collection[int] = (),
    expected: RealignPlan | None = None,
) -> list[Event]:
    """
    Hand the stored fields of a series down to its upcoming events, and realign them first if asked to.

    A paused series realigns nothing. ``ticked``: edited events that may go. ``debounce`` after ``now`` the posts are
    edited. Return the events that were touched and still stand; the caller wakes the agenda after commit.

    Raises:
        StaleError: the series is gone, or realigning is not what was ``expected``; nothing was done.
    """
    hand = _Hand(now, debounce, actor_user_id, instance)

    async def _unit() -> list[Event]:
        fresh = await held_series(series)
        query = Event.filter(series_id=fresh.id, guild_id=fresh.guild_id, scheduled_at__gt=hand.now)
        rows = await query.order_by("id").select_for_update(no_key=True)
        touched: list[Event] = []
        if realign_schedule and fresh.is_active:
            wanted = await plan_for(fresh, rows, await excepted_dates(fresh.id), now=hand.now, ticked=ticked)
            if expected is not None and wanted != expected:
                raise StaleError(fresh)
            touched = await _realign(fresh, rows, wanted, hand)
        return _each_once(touched + await _hand_down(fresh, hand))

    return await atomic(_unit)


async def plan_for(
    series: EventRepeater,
    rows: Sequence[Event],
    excepted: Collection[dt.date],
    *,
    now: dt.datetime,
    ticked: Collection[int] = (),
) -> RealignPlan:
    """Return what realigning these events to the fields of ``series``, which need not be stored, would do."""
    known = await known_of(rows)
    stored = [_as_planned(event, known.get(event.id, frozenset())) for event in rows]
    return plan(
        rule_of(series), stored, now=now, days_ahead=series.generate_days_ahead, excepted=excepted, ticked=ticked
    )


def _as_planned(event: Event, known: frozenset[str]) -> StoredEvent:
    return StoredEvent(
        event_id=event.id,
        slot=event.slot,
        scheduled_at=event.scheduled_at,
        state=event.state,
        known=known,
        is_off_schedule=event.is_off_schedule,
        is_edited=bool(event.overridden_fields),
        is_withdrawn=event.is_withdrawn,
        is_moved="scheduled_at" in event.overridden_fields,
    )


async def _realign(series: EventRepeater, rows: Sequence[Event], wanted: RealignPlan, hand: _Hand) -> list[Event]:
    by_id = {event.id: event for event in rows}
    went = await withdraw_all(
        [by_id[one.event_id] for one in wanted.leaving],
        now=hand.now,
        debounce=hand.debounce,
        moved_to={one.event.event_id: one.to.occurrence.starts_at for one in wanted.replaced},
        actor_user_id=hand.actor_user_id,
        instance=hand.instance,
    )
    revived = [by_id[one.revives.event_id] for one in wanted.arrivals if one.revives is not None]
    for event in revived:
        await revive(
            event,
            now=hand.now,
            debounce=hand.debounce,
            actor_user_id=hand.actor_user_id,
            instance=hand.instance,
        )
    for date in wanted.freed:
        await note_moved(series.id, date, is_back=True)
    for event in revived:
        if "scheduled_at" in event.overridden_fields and event.slot is not None:
            await note_moved(series.id, date_of(event.slot), is_back=False)
    for one in wanted.renamed:
        await Event.filter(id=one.event.event_id).update(slot=one.to.occurrence.slot)
    new = [one.occurrence for one in wanted.arrivals if one.revives is None]
    made = await make_events(series, new, now=hand.now) if new else []
    if wanted.leaving or revived:  # to make what is missing alone is no realigning
        await _record(series, wanted, hand)
    return [*await Event.filter(id__in=[*went, *(event.id for event in revived)]), *made]


async def _record(series: EventRepeater, wanted: RealignPlan, hand: _Hand) -> None:
    leaving = [one.slot for one in wanted.leaving]
    arriving = [one.occurrence.slot for one in wanted.arrivals]
    await audit.record(
        "series.realign",
        guild_id=series.guild_id,
        actor_user_id=hand.actor_user_id,
        subject_id=series.id,
        now=hand.now,
        before={"slots": leaving},
        after={"slots": arriving},
        instance=hand.instance,
    )
    _log.info("series_realigned", guild=series.guild_id, series=series.id, gone=len(leaving), came=len(arriving))


async def _hand_down(series: EventRepeater, hand: _Hand) -> list[Event]:
    """Give the upcoming events ahead the values of the series, but for what an admin edited there."""
    groups: dict[tuple[str, ...], list[Event]] = defaultdict(list)
    for event in await _followers(series, hand.now).order_by("id").select_for_update(no_key=True):
        if fields := _behind(event, series):
            groups[fields].append(event)
    for fields, events in groups.items():
        values = {name: getattr(series, name) for name in fields}
        await Event.filter(id__in=[event.id for event in events]).update(**values)
        if _OPENS in fields:
            await _open_anew(series, events)
    ids = sorted(event.id for events in groups.values() for event in events)
    if not ids:
        return []
    await due_rows.refresh(ids)
    await mark_all_changed(ids, now=hand.now, debounce=hand.debounce)
    return await Event.filter(id__in=ids)


def _behind(event: Event, series: EventRepeater) -> tuple[str, ...]:
    own = set(event.overridden_fields)
    return tuple(name for name in HANDED_DOWN if name not in own and getattr(event, name) != getattr(series, name))


async def _open_anew(series: EventRepeater, events: Sequence[Event]) -> None:
    """Let sign-ups open by the new hours; without hours at the moment of creation, as for a new event."""
    for event in events:
        opens = signups_open_at(series, scheduled_at=event.scheduled_at, now=event.created_at)
        await Event.filter(id=event.id).update(signups_open_at=opens)


def _each_once(events: Sequence[Event]) -> list[Event]:
    return list({event.id: event for event in events}.values())
