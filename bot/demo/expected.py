"""
What a simulated guild's rows ask for: each message about an event, for whom and when; pure, and apart from what sends.

A run's counts compare what became visible with it. Sign-ups open, in this reckoning, when they are planned to: a
process that was dead at that moment is late.
"""

import datetime as dt
from collections.abc import Iterator
from dataclasses import dataclass

from bot.demo.people import Members
from bot.leases.keys import ATTENDANCE_POST, PROFILE_UNREACHABLE
from bot.reminders import markers
from bot.scheduling.due import is_wanted
from bot.scheduling.registry import REMINDERS
from models.event import Event
from models.states import EventState

_ENTRIES = {entry.key: entry for entry in REMINDERS} | {
    post: next(entry for entry in REMINDERS if entry.key == key)
    for post, key in (
        (ATTENDANCE_POST, markers.ATTENDANCE_REMINDER),
        (PROFILE_UNREACHABLE, markers.PROFILE_REMINDER),
    )
}


@dataclass(frozen=True, slots=True)
class Wanted:
    """One message that is to become visible once; ``recipient_id`` 0: a post."""

    kind: str
    event_id: int
    recipient_id: int
    due_at: dt.datetime


def due_moment(event: Event, kind: str) -> dt.datetime | None:
    """
    Return from when on a kind of message about an event is due; None: never, or it is no kind of the registry's.

    A post beside a reminder is due with it.
    """
    entry = _ENTRIES.get(kind)
    if entry is None or not is_wanted(event, entry) or (entry.requires_repeater and event.series_id is None):
        return None
    moments = [event.scheduled_at - dt.timedelta(hours=getattr(event, entry.hours_field)), event.created_at]
    if EventState.UPCOMING not in entry.required_states:
        if event.signups_open_at is None:
            return None  # an admin opens them, and nobody does
        moments.append(event.signups_open_at)
    due = max(moments)
    return due if due < event.scheduled_at else None


def wanted(event: Event, members: Members) -> Iterator[Wanted]:
    """Yield each message about an event that its rows and the members' ways ask for."""
    for kind, recipients in _recipients(event, members):
        due = due_moment(event, kind)
        if due is not None:
            yield from (Wanted(kind, event.id, recipient, due) for recipient in recipients)


def _recipients(event: Event, members: Members) -> Iterator[tuple[str, tuple[int, ...]]]:
    with_place = members.signing_up[: event.max_players]
    yield markers.ANNOUNCEMENT, (0,)
    yield markers.SIGNUP_REMINDER, members.only_subscribed
    yield ATTENDANCE_POST, (0,) if with_place else ()
    if event.discord_confirm_attendance_dm:
        yield markers.ATTENDANCE_REMINDER, with_place
    yield markers.PROFILE_REMINDER, tuple(one for one in with_place if one in members.without_profile)
