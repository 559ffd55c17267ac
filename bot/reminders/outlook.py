"""
What becomes of one reminder of one event as things stand: when it goes out, or why it does not.

A pure decision made of what fires it (:mod:`bot.scheduling.due`) and of the states that time brings
(:mod:`bot.events.course`).
"""

import datetime as dt
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from bot.events.course import stays
from bot.scheduling.due import NOT_TRIED, Stay, Tried, due_during, is_wanted
from bot.scheduling.registry import ScheduledReminder
from models.states import AHEAD, EventState

if TYPE_CHECKING:
    from models.event import Event


class Reason(StrEnum):
    """Why something is not sent; the values are what ``tocsin forecast`` prints."""

    OFF = "off"
    NO_CHANNEL = "no channel"
    NO_PERMISSION = "no permission"
    NOBODY = "nobody to tell"
    OPTED_OUT = "opted out"
    ALREADY_SENT = "already sent"
    UNDER_WAY = "under way"
    GIVEN_UP = "given up"
    NOT_IN_STATE = "not in its state in time"
    BEGUN = "event would have begun"
    SERIES_PAUSED = "series paused"
    CANCELLED = "cancelled"
    GUILD_UNAVAILABLE = "guild unavailable"


@dataclass(frozen=True, slots=True)
class Known:
    """What the message log says of one reminder; ``is_open``: it is being sent, or its fate is not known yet."""

    tried: Tried = NOT_TRIED
    is_open: bool = False


@dataclass(frozen=True, slots=True)
class Outlook:
    """``at``: when it goes out, or would have; ``reason``: why it does not, None: it does."""

    at: dt.datetime
    reason: Reason | None = None


UNKNOWN = Known()


def outlook(event: "Event", entry: ScheduledReminder, known: Known = UNKNOWN, *, now: dt.datetime) -> Outlook:
    """Return what becomes of a reminder from ``now`` on, if nobody changes anything."""
    hours: int | None = getattr(event, entry.hours_field)
    planned = event.scheduled_at - dt.timedelta(hours=max(hours or 0, 0))
    if not is_wanted(event, entry) or (entry.requires_repeater and event.series_id is None):
        return Outlook(planned, Reason.OFF)
    if (reason := _settled(event, known)) is not None:
        return Outlook(planned if reason is not Reason.UNDER_WAY else now, reason)
    ahead = stays(event, now=now)
    due = due_during(event, entry, ahead, known.tried)
    if due is not None:
        return Outlook(max(due, now))
    return Outlook(max(planned, now), _why_never(event, entry, ahead, known.tried, now))


def _settled(event: "Event", known: Known) -> Reason | None:
    if known.tried.sent:
        return Reason.ALREADY_SENT
    if known.is_open:
        return Reason.UNDER_WAY
    return Reason.CANCELLED if event.state is EventState.CANCELLED else None


def _why_never(
    event: "Event", entry: ScheduledReminder, ahead: tuple[Stay, ...], tried: Tried, now: dt.datetime
) -> Reason:
    if event.scheduled_at <= now or event.state not in AHEAD:
        return Reason.BEGUN
    if tried.gave_up_at is not None and event.scheduled_at <= tried.gave_up_at:
        return Reason.GIVEN_UP
    return Reason.BEGUN if any(stay.state in entry.required_states for stay in ahead) else Reason.NOT_IN_STATE
