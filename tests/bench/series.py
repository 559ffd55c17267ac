"""P11: the occurrences of many series over a year, against bare dateutil."""

import datetime as dt
import itertools
from dataclasses import dataclass

from dateutil.rrule import rrule

from bot.times.recurrence import SeriesRule, occurrences
from models.states import Frequency, MonthEnd
from tests.bench.measure import MILLISECONDS, Goal, Line, interleaved
from tests.schedules import Entry, _rule, mixed_schedule

FIRST, LAST = dt.date(2026, 1, 1), dt.date(2026, 12, 31)


@dataclass(frozen=True, slots=True)
class Sizes:
    """How many series, and how many rounds."""

    series: int = 1_000
    rounds: int = 15


async def occurrences_of_series(sizes: Sizes) -> list[Line]:
    """P11: the instants of each series in UTC, against the naive local dates that bare rrule gives."""
    entries = list(itertools.islice(itertools.cycle(mixed_schedule()["series"]), sizes.series))
    rules = [_series_rule(entry) for entry in entries]
    bare = [_rule(entry) for entry in entries]

    async def _ours() -> None:
        assert sum(len(occurrences(rule, FIRST, LAST)) for rule in rules) > len(rules)

    async def _bare() -> None:
        assert sum(len(_dates(rule)) for rule in bare) > len(bare)

    taken = await interleaved({"ours": _ours, "bare": _bare}, rounds=sizes.rounds)
    title = f"P11 occurrences of {sizes.series:,} series over a year"
    ratio, goal = taken["bare"].per(taken["ours"]), Goal(0.8, at_least=True)
    return [Line(title, taken["ours"], taken["bare"], "bare rrule", ratio, goal, unit=MILLISECONDS)]


def _dates(rule: rrule) -> list[dt.datetime]:
    first = dt.datetime.combine(FIRST, dt.time.min)
    return rule.between(first, dt.datetime.combine(LAST, dt.time.max), inc=True)


def _series_rule(entry: Entry) -> SeriesRule:
    ends = entry.get("ends_at")
    return SeriesRule(
        frequency=Frequency(entry["frequency"]),
        interval=entry["interval"],
        day_of_week=entry.get("day_of_week"),
        time_of_day=dt.time.fromisoformat(entry["time_of_day"]),
        timezone=entry["timezone"],
        starts_at=dt.date.fromisoformat(entry["starts_at"]),
        ends_at=dt.date.fromisoformat(ends) if ends else None,
        month_end=MonthEnd(entry.get("month_end", "last_day")),
    )
