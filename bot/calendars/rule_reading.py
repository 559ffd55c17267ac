"""
Read a recurrence rule of RFC 5545 as that of a series, exactly, or say what of it a series does not have.

A candidate is taken only if it returns on the very dates that the rule has as RFC 5545 reads it.
"""

import datetime as dt
import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final
from zoneinfo import ZoneInfo

from dateutil.rrule import DAILY, WEEKLY, rrule

from bot.calendars.lines import EntryRefusedError
from bot.calendars.months import MonthDays, in_months
from bot.calendars.rule import LATEST
from bot.times.recurrence import WEEKDAYS, ByDay, SeriesRule, occurrences, parse_by_day
from models.states import Frequency, MonthEnd

Parts = Mapping[str, Sequence[str]]
"""A recurrence rule by its parts, such as ``{"FREQ": ["WEEKLY"], "BYDAY": ["TU", "TH"]}``."""

_Dates = Callable[[], Iterator[dt.datetime]]

MOST_COUNTED: Final = 1_000
MOST_INTERVAL: Final = 52

_MONTHS_A_YEAR: Final = 12
# As many occurrences as two rules are compared by; both are periodic well within.
_COMPARED: Final = 60
_A_CENTURY: Final = dt.timedelta(days=36_525)
_MONTHS_A_CENTURY: Final = 1_200
_EARLIEST: Final = dt.date(1970, 1, 1)
_OF_MONTHS: Final = frozenset({"MONTHLY", "YEARLY"})
_FREQUENCIES: Final = frozenset({"DAILY", "WEEKLY", *_OF_MONTHS})
_KNOWN: Final = frozenset({"FREQ", "INTERVAL", "COUNT", "UNTIL", "WKST", "BYDAY"})
_KNOWN_OF_MONTHS: Final = frozenset({"BYMONTHDAY", "BYSETPOS"})
_MOST_VALUES: Final = 31
_SHOWN: Final = 60
_NUMBER: Final = re.compile(r"[+-]?[0-9]{1,9}")
_CLOCK: Final = MappingProxyType({"BYHOUR": "%H", "BYMINUTE": "%M", "BYSECOND": "%S"})


@dataclass(frozen=True, slots=True)
class ReadRule:
    """A rule that was read: ``before`` are the dates of its grid that lie before the first one that was meant."""

    rule: SeriesRule
    before: tuple[dt.date, ...] = ()


def read_rule(parts: Parts, start: dt.datetime, timezone: str) -> ReadRule:
    """
    Return the rule of a series that begins at the naive wall time ``start`` and returns by ``parts``.

    Raises:
        EntryRefusedError: no series returns so.
    """
    _refuse_unknown(parts, start)
    frequency = parts["FREQ"][0]
    interval = _number(parts, "INTERVAL", default=1)
    until = _until(parts, start, timezone)
    meant = _meant(parts, start, frequency, interval, until)
    first = next(meant(), None)
    if first is None:
        raise EntryRefusedError("its rule never comes round")
    count = _number(parts, "COUNT", default=0)
    ends = until.date() if until is not None and until.date() < LATEST else None
    if "COUNT" in parts:
        ends = list(itertools.islice(meant(), count))[-1].date()
    for rule in _candidates(parts, first, frequency, interval, timezone):
        if _same(rule, meant, first):
            return ReadRule(replace(rule, ends_at=ends), _before(rule, first.date()))
    raise EntryRefusedError(f"no series returns by its rule {written(parts)}")


def written(parts: Parts) -> str:
    """Return a rule as it stands in a file, cut."""
    text = ";".join(f"{name}={','.join(values)}" for name, values in parts.items())
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"


def _of(parts: Parts, name: str) -> str:
    return ",".join(parts[name])[:_SHOWN]


def _refuse_unknown(parts: Parts, start: dt.datetime) -> None:
    frequency = ",".join(parts.get("FREQ", ()))
    if frequency not in _FREQUENCIES:
        raise EntryRefusedError(
            f"it returns by FREQ={frequency or '(nothing)'}; a series returns daily, weekly, monthly or yearly"
        )
    known = _KNOWN | (_KNOWN_OF_MONTHS if frequency in _OF_MONTHS else frozenset())
    known |= {"BYMONTH"} if frequency == "YEARLY" else frozenset()
    for name, values in parts.items():
        if name in _CLOCK and [one.zfill(2) for one in values] == [start.strftime(_CLOCK[name])]:
            continue
        if name not in known or len(values) > _MOST_VALUES:
            raise EntryRefusedError(f"its rule has {name}={_of(parts, name)}, which a series does not have")
    _refuse_bounds(parts)


def _refuse_bounds(parts: Parts) -> None:
    if "WKST" in parts and _of(parts, "WKST") not in WEEKDAYS:
        raise EntryRefusedError(f"its rule has WKST={_of(parts, 'WKST')}, which is no weekday")
    if "COUNT" in parts and "UNTIL" in parts:
        raise EntryRefusedError("its rule has both COUNT and UNTIL, of which only one can hold")
    for name, least, most in (("INTERVAL", 1, MOST_INTERVAL), ("COUNT", 1, MOST_COUNTED)):
        if not least <= _number(parts, name, default=least) <= most:
            raise EntryRefusedError(f"its rule has {name}={_of(parts, name)}; {least} to {most:,} is possible")


def _number(parts: Parts, name: str, *, default: int) -> int:
    values = parts.get(name)
    if values is None:
        return default
    found = _numbers(parts, name)
    if len(found) != 1:
        raise EntryRefusedError(f"its rule has {name}={_of(parts, name)}, which is no whole number")
    return found[0]


def _numbers(parts: Parts, name: str) -> list[int]:
    values = parts.get(name, ())
    if not all(_NUMBER.fullmatch(one) for one in values):
        raise EntryRefusedError(f"its rule has {name}={_of(parts, name)}, which is no list of whole numbers")
    return [int(one) for one in values]


def _until(parts: Parts, start: dt.datetime, timezone: str) -> dt.datetime | None:
    """Return the last wall time that is possible: UNTIL may be a date, a wall time or an instant in UTC."""
    if "UNTIL" not in parts:
        return None
    text = "".join(parts["UNTIL"])
    try:
        if len(text) == len("20260329"):
            found = dt.datetime.combine(_date(text), dt.time.max)
        elif text.endswith("Z"):
            instant = dt.datetime.strptime(text, "%Y%m%dT%H%M%SZ").replace(tzinfo=dt.UTC)
            found = instant.astimezone(ZoneInfo(timezone)).replace(tzinfo=None, fold=0)
        else:
            found = dt.datetime.strptime(text, "%Y%m%dT%H%M%S")  # noqa: DTZ007 -- a wall time
        on_that_day = dt.datetime.combine(found.date(), start.time())
        return on_that_day if on_that_day <= found else on_that_day - dt.timedelta(days=1)
    except ValueError:
        raise EntryRefusedError(f"its rule ends at UNTIL={text[:_SHOWN]}, which is no date") from None
    except OverflowError:
        # At the end of all dates, as many calendars write "never"; or at their beginning, before any start.
        return None if text.startswith("9") else start - dt.timedelta(days=1)


def _date(text: str) -> dt.date:
    return dt.datetime.strptime(text, "%Y%m%d").date()  # noqa: DTZ007 -- a date


def _meant(parts: Parts, start: dt.datetime, frequency: str, interval: int, until: dt.datetime | None) -> _Dates:
    """Return the wall times that are meant, of a century at most."""
    last = min(until, start + _A_CENTURY) if until is not None else start + _A_CENTURY
    if frequency in _OF_MONTHS:
        months = _grid_months(parts, start, frequency, interval)
        by_day, of_month = _by_days(parts), _numbers(parts, "BYMONTHDAY")
        days = MonthDays(by_day, of_month or ([] if by_day else [start.day]), _numbers(parts, "BYSETPOS"))
        return lambda: (one for one in in_months(months, days, start.time()) if start <= one <= last)
    if frequency == "DAILY" and "BYDAY" in parts and interval > 1:
        raise EntryRefusedError(f"no series returns by its rule {written(parts)}")
    found = rrule(
        DAILY if frequency == "DAILY" else WEEKLY,
        dtstart=start,
        interval=interval,
        wkst=WEEKDAYS.index(parts["WKST"][0]) if "WKST" in parts else None,
        until=last,
        byweekday=[day.weekday for day in _by_days(parts)] or None,
    )
    return lambda: iter(found)


def _grid_months(parts: Parts, start: dt.datetime, frequency: str, interval: int) -> range:
    """Return the months of a century in which a rule may have dates, counted from the year 0."""
    first, step = start.year * _MONTHS_A_YEAR + start.month - 1, interval
    if frequency == "YEARLY":
        # One month of each year is every twelfth month; a rule of several months, or of none, is no series'.
        months = _numbers(parts, "BYMONTH") or ([] if "BYDAY" in parts else [start.month])
        if len(months) != 1 or not 1 <= months[0] <= _MONTHS_A_YEAR:
            raise EntryRefusedError(f"no series returns by its rule {written(parts)}")
        first, step = start.year * _MONTHS_A_YEAR + months[0] - 1, interval * _MONTHS_A_YEAR
    return range(first, first + _MONTHS_A_CENTURY, step)


def _by_days(parts: Parts) -> list[ByDay]:
    try:
        return [one for text in parts.get("BYDAY", ()) for one in parse_by_day(text.removeprefix("+").upper())]
    except ValueError:
        raise EntryRefusedError(f"its rule has BYDAY={_of(parts, 'BYDAY')}, which a series does not have") from None


def _candidates(parts: Parts, first: dt.datetime, frequency: str, interval: int, timezone: str) -> Iterator[SeriesRule]:
    """Yield the rules of ours that may be meant, the likeliest first."""
    skips = SeriesRule(
        frequency=Frequency(frequency.lower()),
        interval=interval,
        day_of_week=None,
        time_of_day=first.time(),
        timezone=timezone,
        starts_at=first.date(),
        ends_at=None,
        month_end=MonthEnd.SKIP,
    )
    by_day = ",".join(one.removeprefix("+").upper() for one in parts.get("BYDAY", ()))
    match frequency:
        case "DAILY" if by_day:
            yield replace(skips, frequency=Frequency.WEEKLY, day_of_week=by_day)
        case "WEEKLY":
            yield replace(skips, day_of_week=by_day or None)
        case "MONTHLY" | "YEARLY" if by_day:
            yield from _by_weekday(skips, by_day, parts)
        case "DAILY":
            yield skips
        case _:
            yield skips
            yield from _last_days(skips)


def _by_weekday(skips: SeriesRule, by_day: str, parts: Parts) -> Iterator[SeriesRule]:
    if skips.frequency is Frequency.YEARLY:
        # The second Sunday of a May, each year: that of every twelfth month.
        skips = replace(skips, frequency=Frequency.MONTHLY, interval=skips.interval * _MONTHS_A_YEAR)
    if skips.interval > MOST_INTERVAL:
        return
    position = ",".join(parts.get("BYSETPOS", ()))
    if not position:
        yield replace(skips, day_of_week=by_day)
    elif by_day in WEEKDAYS and position.removeprefix("-") in {"1", "2", "3", "4", "5"}:
        yield replace(skips, day_of_week=position + by_day)


def _last_days(skips: SeriesRule) -> Iterator[SeriesRule]:
    """Yield rules that fall back to a month's last day; they may begin before the first date, in a longer month."""
    step = skips.interval * (_MONTHS_A_YEAR if skips.frequency is Frequency.YEARLY else 1)
    months = skips.starts_at.year * _MONTHS_A_YEAR + skips.starts_at.month - 1
    for day in (31, 30, 29):
        for month in range(months, _EARLIEST.year * _MONTHS_A_YEAR, -step):
            year, index = divmod(month, _MONTHS_A_YEAR)
            try:
                yield replace(skips, starts_at=dt.date(year, index + 1, day), month_end=MonthEnd.LAST_DAY)
            except ValueError:
                continue
            break


def _same(rule: SeriesRule, meant: _Dates, first: dt.datetime) -> bool:
    if rule.day_of_week is not None and any(
        (one.nth is None) is not (rule.frequency is Frequency.WEEKLY) for one in parse_by_day(rule.day_of_week)
    ):
        return False
    wanted = [one.date() for one in itertools.islice(meant(), _COMPARED)]
    found = occurrences(replace(rule, timezone="UTC"), first.date(), wanted[-1])
    return [one.local_date for one in found] == wanted


def _before(rule: SeriesRule, first: dt.date) -> tuple[dt.date, ...]:
    early = occurrences(rule, rule.starts_at, first - dt.timedelta(days=1))
    return tuple(one.local_date for one in early)
