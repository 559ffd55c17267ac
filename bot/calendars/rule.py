"""
A series' rule as RFC 5545 writes it: the way out; :mod:`bot.calendars.rule_reading` is the way in.

What a rule of ours means beside RFC 5545, its last day of the month and the fifth weekday that becomes the last, has an
exact form there; only a wall time that the clock skips has none, and is listed date by date by whoever writes a file.
"""

import datetime as dt
from typing import Final
from zoneinfo import ZoneInfo

from bot.times.recurrence import (
    WEEKDAYS,
    ByDay,
    Occurrence,
    SeriesRule,
    local_today,
    occurrences,
    parse_by_day,
    resolve_wall_time,
)
from models.states import Frequency, MonthEnd

LATEST: Final = dt.date(2999, 12, 31)
"""A rule that ends then, or later, has no end."""

_SURE_DAY: Final = 28
"""The last day that every month has."""

_FEBRUARY: Final = 2
_LEAP_DAY: Final = 29
_FIFTH: Final = 5
# Where the next return of a rule is looked for; two leap days of its may lie 208 years apart.
_SPANS: Final = tuple(dt.timedelta(days=days) for days in (60, 4_000, 80_000))


def rule_parts(rule: SeriesRule) -> dict[str, list[object]]:
    """
    Return the parts of a rule in RFC 5545's own values, exact for every date on which the wall time exists.

    UNTIL is the instant of the last date's wall time, in UTC.
    """
    parts: dict[str, list[object]] = {"FREQ": [rule.frequency.name]}
    if rule.interval > 1:
        parts["INTERVAL"] = [rule.interval]
    parts |= _grid(rule)
    if rule.ends_at is not None and rule.ends_at < LATEST:
        last = dt.datetime.combine(rule.ends_at, rule.time_of_day)
        parts["UNTIL"] = [resolve_wall_time(last, ZoneInfo(rule.timezone))]
    return parts


def _grid(rule: SeriesRule) -> dict[str, list[object]]:
    falls_back = rule.month_end is MonthEnd.LAST_DAY
    match rule.frequency:
        case Frequency.DAILY:
            return {}
        case Frequency.WEEKLY:
            days = rule.day_of_week.split(",") if rule.day_of_week else [WEEKDAYS[rule.starts_at.weekday()]]
            return {"BYDAY": [*days], "WKST": ["MO"]}
        case Frequency.MONTHLY if rule.day_of_week is not None:
            nths = [_nth(one, falls_back=falls_back) for one in parse_by_day(rule.day_of_week)]
            return {"BYDAY": [*dict.fromkeys(nths)]}
        case Frequency.MONTHLY:
            return _month_days(rule.starts_at.day, falls_back=falls_back)
        case Frequency.YEARLY:
            is_leap_day = (rule.starts_at.month, rule.starts_at.day) == (_FEBRUARY, _LEAP_DAY)
            days_of_month = _month_days(rule.starts_at.day, falls_back=falls_back and is_leap_day)
            return {"BYMONTH": [rule.starts_at.month], **days_of_month}


def _nth(day: ByDay, *, falls_back: bool) -> str:
    nth = day.nth
    if falls_back and nth is not None and abs(nth) == _FIFTH:
        # The fifth, or else the last, is the last; the fifth from the end, or else the first, is the first.
        nth = -1 if nth > 0 else 1
    return f"{nth or ''}{WEEKDAYS[day.weekday]}"


def _month_days(day: int, *, falls_back: bool) -> dict[str, list[object]]:
    if falls_back and day > _SURE_DAY:
        return {"BYMONTHDAY": [*range(_SURE_DAY, day + 1)], "BYSETPOS": [-1]}
    return {"BYMONTHDAY": [day]}


def first_return(rule: SeriesRule, *, after: dt.datetime | None = None) -> Occurrence | None:
    """Return the first return of a rule, or the first after a moment; None if it never returns."""
    start = rule.starts_at if after is None else max(local_today(after, rule.timezone), rule.starts_at)
    for span in _SPANS:
        found = occurrences(rule, start, start + min(span, dt.date.max - start))
        if ahead := [one for one in found if after is None or one.starts_at > after]:
            return ahead[0]
    return None
