"""When each reminder of an event is due: a pure function of the event and of what was already tried."""

import datetime as dt
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

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
