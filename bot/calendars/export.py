"""
Write series and events as one calendar file: the bytes that calendars read into exactly our own occurrences.

A series is one VEVENT with its rule. Where a calendar would read the rule otherwise than we do, at a wall time that the
clock skips, that one date is taken out and listed by its own instant. A moved occurrence is an override under the
series' UID, never a second entry beside it. Nothing depends on the clock: two exports of the same rows are equal.
"""

import datetime as dt
import functools
from collections.abc import Iterable, Iterator
from typing import Final
from zoneinfo import ZoneInfo

from icalendar import Calendar
from icalendar import Event as VEvent

from bot.calendars.entries import SETTINGS, Changed, Details, EventEntry, SeriesEntry, settings_text
from bot.calendars.rule import first_return, rule_parts
from bot.times.recurrence import Occurrence, SeriesRule, occurrences

PRODUCT: Final = "-//Tocsin//Tocsin//EN"

_DAY: Final = dt.timedelta(days=1)


def calendar_file(title: str, series: Iterable[SeriesEntry], events: Iterable[EventEntry], *, until: dt.date) -> bytes:
    """
    Return a calendar file named ``title``; a series that never returns is left out.

    Wall times that a clock skips are seen to up to ``until``; later ones are as each calendar reads them.
    """
    calendar = Calendar()
    calendar.add("prodid", PRODUCT)
    calendar.add("version", "2.0")
    calendar.add("x-wr-calname", title)
    for one in series:
        for component in _of_series(one, until):
            calendar.add_component(component)
    for event in events:
        calendar.add_component(_of_event(event))
    calendar.add_missing_timezones()
    written: bytes = calendar.to_ical()
    return written


def _of_series(one: SeriesEntry, until: dt.date) -> Iterator[VEvent]:
    first = first_return(one.rule)
    if first is None:
        return
    zone = ZoneInfo(one.rule.timezone)
    skipped_by_clock = {each.local_date: each for each in _in_gaps(one.rule, until)}
    extra = [each for date, each in skipped_by_clock.items() if date not in one.left_out]
    out = sorted({*_on_grid(one.rule, one.left_out), *skipped_by_clock})
    component = _described(one.uid, one.details, one.made_at)
    component.add("dtstart", _wall(one.rule, first.local_date, zone))
    component.add("rrule", rule_parts(one.rule))
    if out:
        component.add("exdate", [_wall(one.rule, date, zone) for date in out])
    if extra:
        component.add("rdate", [each.starts_at.astimezone(zone) for each in extra])
    component.add(SETTINGS, settings_text(one.settings))
    yield component
    for changed in one.changed:
        yield _override(one, changed, zone)


def _override(one: SeriesEntry, changed: Changed, zone: ZoneInfo) -> VEvent:
    component = _described(one.uid, changed.details, one.made_at)
    (slot,) = occurrences(one.rule, changed.local_date, changed.local_date)
    component.add("recurrence-id", slot.starts_at.astimezone(zone))
    local = changed.starts_at.astimezone(zone)
    # The second of two equal wall times has no name of its own; in UTC it has.
    component.add("dtstart", changed.starts_at if local.fold else local)
    return component


def _of_event(event: EventEntry) -> VEvent:
    component = _described(event.uid, event.details, event.made_at)
    component.add("dtstart", event.starts_at)
    component.add("sequence", event.version)
    component.add("status", "CONFIRMED" if event.is_sure else "TENTATIVE")
    if event.series_uid is not None:
        component.add("related-to", event.series_uid)
    if event.settings is not None:
        component.add(SETTINGS, settings_text(event.settings))
    return component


def _described(uid: str, details: Details, made_at: dt.datetime) -> VEvent:
    component = VEvent()
    component.add("uid", uid)
    component.add("dtstamp", made_at.replace(microsecond=0))
    component.add("summary", details.name)
    component.add("duration", dt.timedelta(minutes=details.duration_minutes))
    if details.description:
        component.add("description", details.description.replace("\r\n", "\n").replace("\r", "\n"))
    return component


def _wall(rule: SeriesRule, date: dt.date, zone: ZoneInfo) -> dt.datetime:
    return dt.datetime.combine(date, rule.time_of_day, tzinfo=zone)


def _on_grid(rule: SeriesRule, dates: Iterable[dt.date]) -> list[dt.date]:
    return [date for date in dates if occurrences(rule, date, date)]


def _in_gaps(rule: SeriesRule, until: dt.date) -> Iterator[Occurrence]:
    """
    Yield the occurrences up to ``until`` whose wall time the clock skips, where calendars read another instant.

    They read it with the offset before the change: 02:30 in a gap from 02:00 to 03:00 as 03:30, which we read as 03:00.
    """
    zone = ZoneInfo(rule.timezone)
    for date in clock_changes(rule.timezone, rule.starts_at.year, until.year):
        for one in occurrences(rule, date, date):
            if _wall(rule, date, zone).astimezone(dt.UTC) != one.starts_at:
                yield one


@functools.lru_cache(maxsize=1024)
def clock_changes(timezone: str, first_year: int, last_year: int) -> tuple[dt.date, ...]:
    """Return the dates of these years on which the clock of a zone is changed."""
    zone = ZoneInfo(timezone)
    day, end = dt.date(first_year, 1, 1), dt.date(last_year, 12, 31)
    found = []
    midnight = dt.datetime.combine(day, dt.time.min, tzinfo=zone)
    while day < end:
        after = dt.datetime.combine(day + _DAY, dt.time.min, tzinfo=zone)
        if after.utcoffset() != midnight.utcoffset():
            found.append(day)
        day, midnight = day + _DAY, after
    return tuple(found)
