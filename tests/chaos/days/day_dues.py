"""When each kind of message about an event is due, by the event's row and state at each moment."""

import datetime as dt
from collections.abc import Iterator

from bot.leases.keys import PROMOTION, TIME_CHANGED
from tests.chaos.days.day_course import Course
from tests.chaos.days.day_record import Seen
from tests.chaos.days.day_rows import EventRow
from tests.chaos.days.day_troubles import CLOCKS_APART

Span = tuple[dt.datetime, dt.datetime]
"""From when on, and until when."""

_HOUR = dt.timedelta(hours=1)
_LONG_AGO = dt.datetime(2000, 1, 1, tzinfo=dt.UTC)
_SWITCHES = {
    "announcement": "discord_announcement",
    "signup_reminder": "discord_signup_reminder",
    "attendance_reminder": "discord_confirm_attendance",
    "attendance_post": "discord_confirm_attendance",
    "profile_reminder": "discord_profile_reminder",
    "profile_unreachable": "discord_profile_reminder",
    "event_repost": None,
}
STATES = {
    "announcement": {"upcoming", "signups_open"},
    "signup_reminder": {"signups_open"},
    "attendance_reminder": {"signups_open", "roll_call"},
    "attendance_post": {"signups_open", "roll_call"},
    "profile_reminder": {"signups_open", "roll_call"},
    "profile_unreachable": {"signups_open", "roll_call"},
    "event_repost": {"upcoming", "signups_open", "roll_call"},
    PROMOTION: {"signups_open", "roll_call"},
    TIME_CHANGED: {"signups_open", "roll_call"},
}
"""The states of an event in which each kind of message goes."""


def due_spans(event: Course, kind: str) -> Iterator[Span]:
    """Return each stretch in which a kind of message is due, whomever it is for."""

    def _is_due(at: dt.datetime) -> bool:
        row = event.row(at)
        due = due_of(row, kind) if row is not None else None
        return (
            row is not None
            and due is not None
            and max(due, row.created_at) <= at < row.starts_at
            and event.state(at, at) in STATES[kind]
        )

    moments = {since for since, _ in event.rows}
    for _, row in event.versions:
        moments |= {due_of(row, kind) or row.created_at, row.created_at, row.opens_at, row.starts_at}
    begins: dt.datetime | None = None
    for at in sorted(moments):
        is_due = _is_due(at)
        if is_due and begins is None:
            begins = at
        elif not is_due and begins is not None:
            yield begins, at
            begins = None


def at_wrong_time(row: EventRow, one: Seen) -> str | None:
    """Return why a message went before or after its time, None: it did not."""
    due = due_of(row, one.kind)
    if due is None:
        return "it is not switched on"
    if one.left_by_bot >= row.starts_at:
        return "the event had begun"
    return f"it is due at {due}" if one.left_by_bot < due - CLOCKS_APART else None


def due_of(row: EventRow, kind: str) -> dt.datetime | None:
    """Return the start less the hours of a kind of message; None: it is off, or there is nobody whom it is for."""
    switch = _SWITCHES[kind]
    if switch is None:
        return _LONG_AGO
    hours = row.values[switch]
    is_on = hours is not None and (kind != "signup_reminder" or row.series_id is not None)
    return row.starts_at - hours * _HOUR if is_on else None
