"""
The dates and instants of a series: a pure function of its rule and the zone database.

The grid of a rule is laid out in local dates, anchored to the rule's own start, and each date's wall time is then
resolved to an instant. So a window never changes what falls inside it, and no offset is ever added to an instant.
Source: 02-reminders.md, "Occurrences".
"""

import bisect
import calendar
import datetime as dt
import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass, fields
from zoneinfo import ZoneInfo

from dateutil.rrule import MONTHLY, rrule

from models.states import Frequency, MonthEnd

WEEKDAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
"""The weekdays as RFC 5545 writes them; the index is ``date.weekday()``."""

_DAYS_A_WEEK = 7
_MONTHS_A_YEAR = 12
_BY_DAY = re.compile(r"(-?[1-5])?(MO|TU|WE|TH|FR|SA|SU)")


@dataclass(frozen=True, slots=True)
class SeriesRule:
    """
    When a series returns: the schedule fields of a series and nothing else.

    ``interval`` counts days, weeks (from Monday), months or years and is at least 1. ``day_of_week`` is BYDAY as RFC
    5545 writes it: ``TU`` or ``TU,TH`` with weekly, ``2WE`` or ``-1FR`` with monthly, None with daily and yearly; None
    with weekly means the weekday of ``starts_at``, with monthly its day of the month. ``timezone`` is an IANA key.
    ``starts_at`` and ``ends_at`` are local dates, both inclusive; ``ends_at`` None means without end.
    """

    frequency: Frequency
    interval: int
    day_of_week: str | None
    time_of_day: dt.time
    timezone: str
    starts_at: dt.date
    ends_at: dt.date | None
    month_end: MonthEnd


RULE_FIELDS = tuple(one.name for one in fields(SeriesRule))
"""What a stored series, and a spec of one, call the fields of a rule likewise."""


@dataclass(frozen=True, slots=True)
class Occurrence:
    """
    One return of a series.

    ``starts_at`` is aware UTC. ``local_date`` and ``slot`` name the wall time that was wanted, also where the zone's
    clock skips it, so that they stay the same when the zone data changes.
    """

    starts_at: dt.datetime
    local_date: dt.date
    slot: str


@dataclass(frozen=True, slots=True)
class ByDay:
    """
    One weekday of a BYDAY list.

    ``nth`` counts within the month, from 1, or from -1 at its end; None means every one. ``weekday`` is 0 for Monday.
    """

    nth: int | None
    weekday: int


@functools.lru_cache(maxsize=1024)
def parse_by_day(text: str) -> tuple[ByDay, ...]:
    """
    Read a BYDAY list such as ``TU,TH`` or ``2WE``, in the order given.

    Raises:
        ValueError: a part is no weekday with an optional number from -5 to -1 or 1 to 5.
    """
    days = []
    for part in text.split(","):
        match = _BY_DAY.fullmatch(part)
        if match is None:
            raise ValueError(f"{part!r} is not a weekday as RFC 5545 writes it")
        days.append(ByDay(int(match[1]) if match[1] else None, WEEKDAYS.index(match[2])))
    return tuple(days)


def occurrences(rule: SeriesRule, start: dt.date, end: dt.date) -> list[Occurrence]:
    """
    Return the occurrences of ``rule`` on the local dates ``start`` to ``end``, both inclusive, in order.

    The wall time is the same on every date. One that the zone's clock skips becomes the first valid instant after it,
    one that comes twice the first of the two. The grid is anchored to ``rule.starts_at``, so that windows laid end to
    end give what one long window gives. A month without the day follows ``rule.month_end``: with ``last_day`` the
    31st becomes the last day, 29 February the 28th, the fifth Monday the last (and the fifth from the end the first);
    with ``skip`` there is no occurrence. Instants never decrease; they repeat only where a zone skipped a whole day.

    Raises:
        ValueError: ``day_of_week`` cannot be read.
        zoneinfo.ZoneInfoNotFoundError: the zone database does not have ``timezone``.
    """
    first = max(start, rule.starts_at)
    last = end if rule.ends_at is None else min(end, rule.ends_at)
    if first > last:
        return []
    zone = _zone(rule.timezone)
    # Built once here, not per date: with them a date costs one combine, which keeps this within bare rrule's time.
    early = rule.time_of_day.replace(tzinfo=zone, fold=0)
    late = early.replace(fold=1)
    combine = dt.datetime.combine
    slot_tail = slot_text(combine(first, rule.time_of_day), rule.timezone).removeprefix(first.isoformat())
    return [
        Occurrence(_first_valid(combine(day, early), combine(day, late)), day, day.isoformat() + slot_tail)
        for day in _dates(rule, first, last)
    ]


def resolve_wall_time(local: dt.datetime, zone: ZoneInfo) -> dt.datetime:
    """
    Return the UTC instant at which the clock of ``zone`` shows the naive time ``local``.

    A time in a gap gives the first valid instant after it (02:30 in a gap from 02:00 to 03:00 is 03:00 local), a time
    that comes twice the first of the two, whatever ``local.fold`` says.

    Raises:
        ValueError: ``local`` is aware.
    """
    if local.tzinfo is not None:
        raise ValueError("a wall time has no zone of its own")
    return _first_valid(local.replace(tzinfo=zone, fold=0), local.replace(tzinfo=zone, fold=1))


def local_today(now: dt.datetime, timezone: str) -> dt.date:
    """
    Return the date that the clock of ``timezone`` shows at the aware instant ``now``.

    Raises:
        ValueError: ``now`` is naive.
        zoneinfo.ZoneInfoNotFoundError: the zone database does not have ``timezone``.
    """
    if now.tzinfo is None:
        raise ValueError("an instant needs a zone")
    return now.astimezone(_zone(timezone)).date()


def slot_text(local: dt.datetime, timezone: str) -> str:
    """Return the slot of a naive wall time, to the minute: ``2026-03-29T19:00[Europe/London]``."""
    return f"{local.isoformat(timespec='minutes')}[{timezone}]"


# ZoneInfo itself keeps only the eight zones used last; a guild's series use more, and each miss reads a file.
@functools.lru_cache(maxsize=1024)
def _zone(key: str) -> ZoneInfo:
    return ZoneInfo(key)


def _first_valid(early: dt.datetime, late: dt.datetime) -> dt.datetime:
    """Resolve one wall time, given aware as ``fold=0`` and ``fold=1``."""
    first, second = early.astimezone(dt.UTC), late.astimezone(dt.UTC)
    # PEP 495: only in a gap does fold=0 name the later instant, since it counts with the offset before the change.
    return first if first <= second else _end_of_gap(early, second, first)


def _end_of_gap(wanted: dt.datetime, before: dt.datetime, after: dt.datetime) -> dt.datetime:
    """Return the instant between the two at which the clock jumps past ``wanted``; a change is on a whole second."""
    begin = before.replace(microsecond=0)

    def shown(second: int) -> dt.datetime:
        return (begin + dt.timedelta(seconds=second)).astimezone(wanted.tzinfo).replace(tzinfo=None)

    seconds = range((after - begin) // dt.timedelta(seconds=1) + 1)
    return begin + dt.timedelta(seconds=bisect.bisect_right(seconds, wanted.replace(tzinfo=None), key=shown))


def _dates(rule: SeriesRule, first: dt.date, last: dt.date) -> Iterator[dt.date]:
    """Yield the dates of the grid from ``first`` to ``last``; neither may lie outside the rule's own dates."""
    if rule.frequency is Frequency.DAILY:
        return _daily(rule, first, last)
    if rule.frequency is Frequency.WEEKLY:
        return _weekly(rule, first, last)
    months = _MONTHS_A_YEAR if rule.frequency is Frequency.YEARLY else 1
    return _monthly(rule, first, last, step=rule.interval * months)


# Daily and weekly grids are a plain stride of days and are walked as one: rrule alone spends on such a date more than
# everything here together. Months are uneven, so there rrule does the stepping.
def _daily(rule: SeriesRule, first: dt.date, last: dt.date) -> Iterator[dt.date]:
    low = first.toordinal()
    on_grid = low + (rule.starts_at.toordinal() - low) % rule.interval
    return map(dt.date.fromordinal, range(on_grid, last.toordinal() + 1, rule.interval))


def _weekly(rule: SeriesRule, first: dt.date, last: dt.date) -> Iterator[dt.date]:
    weekdays = {day.weekday for day in parse_by_day(rule.day_of_week)} if rule.day_of_week else None
    wanted = sorted(weekdays or {rule.starts_at.weekday()})
    stride = rule.interval * _DAYS_A_WEEK
    low, high = first.toordinal(), last.toordinal()
    anchor_monday = rule.starts_at.toordinal() - rule.starts_at.weekday()
    for monday in range(_last_on_grid(anchor_monday, low, stride), high + 1, stride):
        for weekday in wanted:
            if low <= monday + weekday <= high:
                yield dt.date.fromordinal(monday + weekday)


def _monthly(rule: SeriesRule, first: dt.date, last: dt.date, *, step: int) -> Iterator[dt.date]:
    anchor = rule.starts_at.year * _MONTHS_A_YEAR + rule.starts_at.month - 1
    year, month = divmod(_last_on_grid(anchor, first.year * _MONTHS_A_YEAR + first.month - 1, step), _MONTHS_A_YEAR)
    months = rrule(
        MONTHLY,
        interval=step,
        dtstart=dt.datetime(year, month + 1, 1),  # noqa: DTZ001 - the grid is laid in local dates
        until=dt.datetime.combine(last, dt.time.min),
    )
    for begin in months:
        for number in _days_of_month(rule, begin.year, begin.month):
            day = dt.date(begin.year, begin.month, number)
            if first <= day <= last:
                yield day


def _last_on_grid(anchor: int, target: int, step: int) -> int:
    """Return the last point of the grid ``anchor + n * step`` that is not past ``target``."""
    return target - (target - anchor) % step


def _days_of_month(rule: SeriesRule, year: int, month: int) -> list[int]:
    """Return the days of one month that the rule asks for, in order; empty where it has none and skips."""
    first_weekday, length = calendar.monthrange(year, month)
    falls_back = rule.month_end is MonthEnd.LAST_DAY
    if rule.day_of_week is None:
        wanted = rule.starts_at.day
        return [min(wanted, length)] if wanted <= length or falls_back else []
    days: set[int] = set()
    for by_day in parse_by_day(rule.day_of_week):
        having = range(1 + (by_day.weekday - first_weekday) % _DAYS_A_WEEK, length + 1, _DAYS_A_WEEK)
        days.update(_nth_of(having, by_day.nth, falls_back=falls_back))
    return sorted(days)


def _nth_of(having: range, nth: int | None, *, falls_back: bool) -> range:
    """Pick the nth of the days of one weekday (None: all); past either end, the nearest or none."""
    if nth is None:
        return having
    index = nth - 1 if nth > 0 else len(having) + nth
    if falls_back:
        index = min(max(index, 0), len(having) - 1)
    return having[index : index + 1] if index >= 0 else having[:0]
