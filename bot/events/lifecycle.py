"""
Let events go from state to state: the only place that does.

Every transition is one compare-and-set UPDATE; its audit row, what is due and the mark on the post go with it in the
same transaction. A lost race is an answer. Source: 01-domain.md, "Event states".
"""

import datetime as dt
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

import structlog
from tortoise.queryset import QuerySet

from bot import audit
from bot.events.posts import mark_changed
from bot.events.signups.waiting_line import end_offers
from bot.scheduling import due_rows
from bot.scheduling.agenda import Agenda
from bot.scheduling.bodies import (
    CHECK_EVENT_REMINDERS,
    OPEN_SCHEDULED_SIGNUPS,
    SYNC_ATTENDEE_ROLES,
    SYNC_DISCORD_EVENTS,
)
from bot.transactions import atomic, fetch, moment
from models.event import Event
from models.states import OPEN_FOR_PEOPLE, EventState

_log = structlog.get_logger(__name__)

_STALE_AFTER = dt.timedelta(hours=24)
_AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class Also:
    """What belongs to a transition beside its state: as what the audit has it, and further columns that it sets."""

    action: str
    columns: Mapping[str, object] = field(default_factory=dict)


async def transition(
    event: Event,
    *,
    allowed: Collection[EventState],
    to: EventState,
    now: dt.datetime,
    debounce: dt.timedelta,
    actor_user_id: int | None = None,
    instance: str | None = None,
    also: Also | None = None,
) -> bool:
    """
    Let one event go to a state, from the state and times it was read in.

    False: they changed meanwhile, and nothing is done.

    ``actor_user_id`` None: time did it. ``instance``: the process that did, for the audit. ``also`` None: the
    audit has it as what the state says.
    """
    if event.state not in allowed:
        return False

    async def _unit() -> bool:
        # The times too: an event that was just put off must not be opened or started by its old ones.
        moved = await Event.filter(
            id=event.id,
            guild_id=event.guild_id,
            state=event.state,
            scheduled_at=event.scheduled_at,
            signups_open_at=event.signups_open_at,
        ).update(state=to, state_since=now, **(also.columns if also is not None else {}))
        if not moved:
            return False
        if event.scheduled_at > now:
            await due_rows.refresh([event.id])
        # Else what is still due was missed: its rows stay for the clerk, which records and tells it.
        await mark_changed(event.id, now=now, debounce=debounce)
        await audit.record(
            also.action if also is not None else _action(to),
            guild_id=event.guild_id,
            actor_user_id=actor_user_id,
            subject_id=event.id,
            now=now,
            before={"state": event.state.value},
            after={"state": to.value},
            instance=instance,
        )
        return True

    return await atomic(_unit)


def _action(to: EventState) -> str:
    return "event.cancel" if to is EventState.CANCELLED else "event.edit"


class Lifecycle:
    """The transitions that time brings."""

    def __init__(self, agenda: Agenda, *, instance: str, debounce: dt.timedelta, cleanup_every: dt.timedelta) -> None:
        self._agenda = agenda
        self._instance = instance
        self._debounce = debounce
        self._cleanup_every = cleanup_every

    async def open_scheduled_signups(self, now: dt.datetime) -> dt.datetime | None:
        """Open, start and complete what is to be, and end offers; return the next moment at which there is more."""
        opening = Event.filter(state=EventState.UPCOMING, signups_open_at__lte=now, scheduled_at__gt=now)
        # In the order of the index that finds them; by any other SQLite walks through every event still ahead.
        await self._transition_all(opening.order_by("signups_open_at", "id"), EventState.SIGNUPS_OPEN, now)
        starting = Event.filter(state__in=OPEN_FOR_PEOPLE, scheduled_at__lte=now)
        await self._transition_all(starting.order_by("scheduled_at", "id"), EventState.IN_PROGRESS, now)
        running = [event for event in await Event.filter(state=EventState.IN_PROGRESS) if ends_at(event) <= now]
        for event in running:
            await self._transition_one(event, EventState.COMPLETED, now)
        ends = await end_offers(self._agenda, now=now, debounce=self._debounce)
        return min((at for at in (ends, await _next_transition(now)) if at is not None), default=None)

    async def cleanup_stale_events(self, now: dt.datetime) -> dt.datetime | None:
        """End what stayed behind a day past its time: completed where people could sign up, else cancelled."""
        stale = now - _STALE_AFTER
        behind = (*OPEN_FOR_PEOPLE, EventState.IN_PROGRESS)
        overdue = Event.filter(state__in=behind, scheduled_at__lte=stale)
        await self._transition_all(overdue.order_by("scheduled_at", "id"), EventState.COMPLETED, now)
        never_open = Event.filter(state=EventState.UPCOMING, scheduled_at__lte=stale)
        await self._transition_all(never_open.order_by("scheduled_at", "id"), EventState.CANCELLED, now)
        return now + self._cleanup_every

    async def _transition_all(self, candidates: QuerySet[Event], to: EventState, now: dt.datetime) -> None:
        for event in await candidates.limit(_AT_ONCE):
            if to is EventState.COMPLETED and ends_at(event) > now - _STALE_AFTER:
                continue
            await self._transition_one(event, to, now)

    async def _transition_one(self, event: Event, to: EventState, now: dt.datetime) -> None:
        """Let one event go to a state; one that fails does not stop the rest, and is tried again at the next pass."""
        try:
            done = await transition(
                event, allowed={event.state}, to=to, now=now, debounce=self._debounce, instance=self._instance
            )
        except Exception:  # noqa: BLE001 -- logged: one that cannot be read must not keep the others where they are
            _log.exception("event_state_not_changed", guild=event.guild_id, event_id=event.id, to=to.value)
            return
        if not done:
            _log.info("event_state_changed_meanwhile", guild=event.guild_id, event_id=event.id, to=to.value)
            return
        _log.info("event_state_changed", guild=event.guild_id, event_id=event.id, to=to.value)
        wake_after_change(self._agenda, now=now, debounce=self._debounce)


def wake_after_change(agenda: Agenda, *, now: dt.datetime, debounce: dt.timedelta) -> None:
    """Let the bodies run that a change of an event or series concerns, of whatever kind; call it after commit."""
    agenda.wake(CHECK_EVENT_REMINDERS, now)
    agenda.wake(OPEN_SCHEDULED_SIGNUPS, now)
    agenda.wake(SYNC_ATTENDEE_ROLES, now)
    agenda.wake(SYNC_DISCORD_EVENTS, now + debounce)


def wake_after_new(agenda: Agenda, *, now: dt.datetime) -> None:
    """Let the bodies run that something new concerns, an event or a series; call it after commit."""
    for body in (CHECK_EVENT_REMINDERS, OPEN_SCHEDULED_SIGNUPS, SYNC_DISCORD_EVENTS):
        agenda.wake(body, now)


def ends_at(event: Event) -> dt.datetime:
    """Return when the event is over by its own duration."""
    return event.scheduled_at + dt.timedelta(minutes=event.duration_minutes)


async def _next_transition(now: dt.datetime) -> dt.datetime | None:
    rows = await fetch(
        "SELECT MIN(signups_open_at) AS opens, (SELECT MIN(scheduled_at) FROM event"
        " WHERE state IN ('signups_open', 'roll_call') AND scheduled_at > $1) AS starts"
        " FROM event WHERE state = 'upcoming' AND signups_open_at > $1",
        [now],
    )
    found = [moment(value) for value in rows[0].values() if value is not None]
    found += [ends_at(event) for event in await Event.filter(state=EventState.IN_PROGRESS) if ends_at(event) > now]
    return min(found, default=None)
