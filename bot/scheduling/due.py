"""When each reminder of an event is due: a pure function of the event and of what was already tried."""

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from bot.scheduling.registry import ScheduledReminder
from models.states import EventState


class Schedulable(Protocol):
    """What of an event decides about its reminders; the registry's own fields are read by name."""

    @property
    def state(self) -> EventState: ...  # noqa: D102
    @property
    def scheduled_at(self) -> dt.datetime: ...  # noqa: D102
    @property
    def state_since(self) -> dt.datetime: ...  # noqa: D102
    @property
    def series_id(self) -> int | None: ...  # noqa: D102


@dataclass(frozen=True, slots=True)
class Tried:
    """
    What the message log says of one reminder: sent, failed until ``next_attempt_at``, or given up.

    ``gave_up_at`` stands for every start up to then: an event that is put off past it may be announced after all.
    """

    sent: bool = False
    next_attempt_at: dt.datetime | None = None
    gave_up_at: dt.datetime | None = None


NOT_TRIED = Tried()


def is_wanted(event: Schedulable, reminder: ScheduledReminder) -> bool:
    """Return whether the reminder is switched on: its switch is set and its hours are more than none."""
    hours: int | None = getattr(event, reminder.hours_field)
    return bool(getattr(event, reminder.enabled_field)) and hours is not None and hours > 0


def due_at(event: Schedulable, reminder: ScheduledReminder, tried: Tried = NOT_TRIED) -> dt.datetime | None:
    """
    Return from when on the reminder is to be sent, or None if it is not to be sent as things stand.

    It is the latest of: the start less its hours, the moment the event came into its state (for a new event its
    creation), and the moment a failed attempt may be repeated. None: sent already, given up, switched off, or not in
    this state.
    """
    hours: int | None = getattr(event, reminder.hours_field)
    wanted = is_wanted(event, reminder)
    eligible = event.state in reminder.required_states
    lacks_series = reminder.requires_repeater and event.series_id is None
    given_up = tried.gave_up_at is not None and event.scheduled_at <= tried.gave_up_at
    if tried.sent or given_up or not wanted or not eligible or lacks_series:
        return None
    moments = [event.scheduled_at - dt.timedelta(hours=hours or 0), event.state_since]
    if tried.next_attempt_at is not None:
        moments.append(tried.next_attempt_at)
    return max(moments)


def due_rows(
    event: Schedulable, reminders: Iterable[ScheduledReminder], tried: Mapping[str, Tried]
) -> dict[str, dt.datetime]:
    """Return every reminder of the event that is still to be sent, by key; ``tried`` is by log source."""
    found = {one.key: due_at(event, one, tried.get(one.log_source, NOT_TRIED)) for one in reminders}
    return {key: moment for key, moment in found.items() if moment is not None and moment < event.scheduled_at}


@dataclass(frozen=True, slots=True)
class Stay:
    """One stretch of an event's life: its ``state`` from ``since`` on, up to ``until`` exclusive."""

    state: EventState
    since: dt.datetime
    until: dt.datetime


class _During:
    """An event as it stands during a stay; everything else is its own."""

    def __init__(self, event: Schedulable, stay: Stay) -> None:
        self._event = event
        self.state = stay.state
        self.state_since = stay.since

    @property
    def scheduled_at(self) -> dt.datetime:
        return self._event.scheduled_at

    @property
    def series_id(self) -> int | None:
        return self._event.series_id

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 -- the registry's own fields, read by name
        return getattr(self._event, name)


def due_during(
    event: Schedulable, reminder: ScheduledReminder, stays: Sequence[Stay], tried: Tried = NOT_TRIED
) -> dt.datetime | None:
    """
    Return when the reminder is due in the course of an event's stays, None if in none of them.

    ``stays`` follow each other, the last one ends with the event's start. What is due before the first is due at once.
    """
    for stay in stays:
        due = due_at(_During(event, stay), reminder, tried)
        if due is not None and due < stay.until:
            return due
    return None
