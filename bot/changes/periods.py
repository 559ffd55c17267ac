"""The day, week, month or year of a rule in which an event that goes gets another in its place."""

import datetime as dt

from models.states import Frequency

_WEEK = dt.timedelta(days=7)
_DAY = dt.timedelta(days=1)
_DECEMBER = 12


def begin_of_period(frequency: Frequency, date: dt.date) -> dt.date:
    """Return the first date of the period in which a date lies, by which a period is known."""
    match frequency:
        case Frequency.DAILY:
            return date
        case Frequency.WEEKLY:
            return date - dt.timedelta(days=date.weekday())
        case Frequency.MONTHLY:
            return date.replace(day=1)
        case Frequency.YEARLY:
            return dt.date(date.year, 1, 1)


def end_of_period(frequency: Frequency, date: dt.date) -> dt.date:
    """Return the last date of the period in which a date lies."""
    match frequency:
        case Frequency.DAILY:
            return date
        case Frequency.WEEKLY:
            return date - dt.timedelta(days=date.weekday()) + _WEEK - _DAY
        case Frequency.MONTHLY:
            return _first_of_next_month(date) - _DAY
        case Frequency.YEARLY:
            return dt.date(date.year, _DECEMBER, 31)


def _first_of_next_month(date: dt.date) -> dt.date:
    years, month = divmod(date.month, _DECEMBER)
    return dt.date(date.year + years, month + 1, 1)
