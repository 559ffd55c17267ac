"""
The days of a month that a recurrence rule of RFC 5545 has.

Laid out month by month, of which there are so many and no more: a rule that never comes round ends all the same, while
the library that knows them all looks for its first date until the year 9999.
"""

import calendar
import datetime as dt
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from bot.times.recurrence import WEEKDAYS, ByDay

_MONTHS_A_YEAR = 12


@dataclass(frozen=True, slots=True)
class MonthDays:
    """BYDAY, BYMONTHDAY and BYSETPOS of one rule; at least one of the first two has values."""

    by_day: Sequence[ByDay]
    of_month: Sequence[int]
    positions: Sequence[int]

    def of(self, year: int, month: int) -> list[int]:
        """Return the days of one month, in order."""
        first_weekday, length = calendar.monthrange(year, month)
        days = set(range(1, length + 1))
        if self.of_month:
            days &= {day if day > 0 else length + 1 + day for day in self.of_month}
        if self.by_day:
            days &= {day for one in self.by_day for day in _weekdays_of(one, first_weekday, length)}
        ordered = sorted(days)
        places = {place - 1 if place > 0 else len(ordered) + place for place in self.positions}
        return [day for place, day in enumerate(ordered) if place in places] if self.positions else ordered


def in_months(months: Iterable[int], days: MonthDays, time: dt.time) -> Iterator[dt.datetime]:
    """Yield the wall times in these months, which are counted from January of the year 0."""
    for month in months:
        year, index = divmod(month, _MONTHS_A_YEAR)
        for day in days.of(year, index + 1):
            yield dt.datetime.combine(dt.date(year, index + 1, day), time)


def _weekdays_of(one: ByDay, first_weekday: int, length: int) -> range:
    having = range(1 + (one.weekday - first_weekday) % len(WEEKDAYS), length + 1, len(WEEKDAYS))
    if one.nth is None:
        return having
    index = one.nth - 1 if one.nth > 0 else len(having) + one.nth
    return having[index : index + 1] if index >= 0 else having[:0]
