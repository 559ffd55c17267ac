"""Which events a day's series should have made, reckoned by dateutil, and which they did."""

import datetime as dt
from collections.abc import Iterable, Iterator, Mapping

from tests.chaos.days.day_course import Course
from tests.chaos.days.day_plan import ActKind, Entry
from tests.chaos.days.day_record import DayRecord
from tests.chaos.days.day_rows import EventRow
from tests.chaos.days.day_troubles import QUIET, Troubles
from tests.schedules import expected_occurrences

_DAY = dt.timedelta(days=1)
# A series is looked at once an hour; twice that, since its days are those of its zone.
_MAKES_EVENTS_WITHIN = dt.timedelta(hours=2)


def wrong_events(record: DayRecord, events: Mapping[int, Course], troubles: Troubles) -> Iterator[tuple[str, str]]:
    """Return each event that is none of its series' occurrences, is there twice, or was never made: count and words."""
    for series_id, course in record.series.items():
        first = record.plan.start.date() - dt.timedelta(days=2)
        last = record.ended_at.date() + dt.timedelta(days=course.entry["generate_days_ahead"] + 4)
        ever = {at for _, entry in course.entries for at, _ in expected_occurrences(entry, first, last)}
        stored = [
            event.last
            for event in events.values()
            if event.last is not None
            and event.last.series_id == series_id
            and not event.last.is_extra
            and event.id not in record.moved
        ]
        stand = [row.starts_at for row in stored if row.state != "cancelled"]
        for at in stand:
            if at not in ever:
                yield "unexpected", f"an event of series {series_id} at {at}"
        if len(stand) != len(set(stand)):
            yield "duplicated", f"events of series {series_id}: {sorted(stand)}"
        if not course.is_whole:
            continue
        since, entry = course.entries[-1]
        called_off = _called_off(record, events.values())
        dates = {at: date for _, known in course.entries for at, date in expected_occurrences(known, first, last)}
        excepted = record.facts.excepted(series_id) | {
            dates[row.starts_at] for row in stored if row in called_off and row.starts_at in dates
        }
        there = {row.starts_at for row in stored}
        for at, date in expected_occurrences(entry, first, last):
            is_wanted = at not in there and date not in excepted
            if is_wanted and since + QUIET < at <= record.ended_at - QUIET and _could_make(at, since, entry, troubles):
                yield "lost", f"the event of series {series_id} at {at} was never made"


def _called_off(record: DayRecord, events: Iterable[Course]) -> list[EventRow]:
    """Return the events that somebody cancelled: an edit brings back what an edit took away, but none of these."""
    acts = {act.at for act in record.plan.acts if act.kind is ActKind.CANCEL}
    return [
        event.last
        for event in events
        if event.last is not None
        and event.last.state == "cancelled"
        and any(at in acts and row.state == "cancelled" for at, row in record.facts.history(event.fact) if row)
    ]


def _could_make(at: dt.datetime, created_at: dt.datetime, entry: Entry, troubles: Troubles) -> bool:
    """Return whether the time in which an event is to be made had a stretch with the right clock."""
    if not troubles.clock_was_off:
        return True
    opens = max(created_at, at - entry["generate_days_ahead"] * _DAY + _MAKES_EVENTS_WITHIN)
    return troubles.is_quiet(opens, at, least=_MAKES_EVENTS_WITHIN)
