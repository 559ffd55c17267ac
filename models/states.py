"""The named states and choices of the tables; imports no ORM, so that anything may import it."""

from enum import StrEnum


class EventState(StrEnum):
    """Where an event stands; only :mod:`bot.events.lifecycle` moves it."""

    UPCOMING = "upcoming"
    SIGNUPS_OPEN = "signups_open"
    ROLL_CALL = "roll_call"
    IN_PROGRESS = "in_progress"
    COMPLETED = "completed"
    CANCELLED = "cancelled"


AHEAD: tuple[EventState, ...] = (EventState.UPCOMING, EventState.SIGNUPS_OPEN, EventState.ROLL_CALL)
"""The states of an event that has not begun and was not cancelled."""

OPEN_FOR_PEOPLE: tuple[EventState, ...] = (EventState.SIGNUPS_OPEN, EventState.ROLL_CALL)
"""The states ahead in which people may have said something about an event."""


class Frequency(StrEnum):
    """How often a series returns, as RFC 5545 names it."""

    DAILY = "daily"
    WEEKLY = "weekly"
    MONTHLY = "monthly"
    YEARLY = "yearly"


class MonthEnd(StrEnum):
    """What a series does in a month that lacks its day: the last day instead, or no occurrence."""

    LAST_DAY = "last_day"
    SKIP = "skip"


class ExceptionKind(StrEnum):
    """Why an occurrence of a series is never generated again."""

    SKIP = "skip"
    MOVED = "moved"


class SignupStatus(StrEnum):
    """What a person said about an event; ``removed``: an admin took them off it."""

    SIGNED_UP = "signed_up"
    CONFIRMED = "confirmed"
    TENTATIVE = "tentative"
    WAITLISTED = "waitlisted"
    DECLINED = "declined"
    REMOVED = "removed"


ATTENDING: frozenset[SignupStatus] = frozenset({SignupStatus.SIGNED_UP, SignupStatus.CONFIRMED})
"""Those who have a place."""

MAY_COME: tuple[SignupStatus, ...] = (
    SignupStatus.SIGNED_UP,
    SignupStatus.CONFIRMED,
    SignupStatus.TENTATIVE,
    SignupStatus.WAITLISTED,
)
"""Everybody who may come, with a place or not."""
