"""
Understand a calendar file: series and events in our own terms, and by entry whatever has no place here.

Pure: nothing is stored and nobody is asked. An entry of which anything has no exact form is refused with the reason;
the others are not touched by it. Nothing is expanded: a rule stays a rule.
"""

import datetime as dt
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from dateutil.relativedelta import relativedelta

from bot.calendars.entries import Changed, Extra
from bot.calendars.entry import (
    MAX_UID,
    Defaults,
    Entry,
    ImportedEvent,
    ImportedSeries,
    change_of,
    events_of,
    series_of,
)
from bot.calendars.lines import CalendarFileError, CalendarText, EntryRefusedError, read_calendars
from bot.calendars.moments import Moment, Zones, instants_and_dates
from bot.calendars.overrides import newest
from bot.calendars.rule import first_return
from bot.calendars.zones import places_of, zone_of
from bot.events.series_fields import MAX_DESCRIPTION, MAX_NAME
from bot.message.limits import length
from bot.times.recurrence import local_today
from bot.times.when_refused import MOST_YEARS_AHEAD

MOST_FAULTS: Final = 20
"""How many refusals are told one by one; the rest are counted."""

MOST_SERIES: Final = 200
MOST_EVENTS: Final = 300
MOST_LEFT_OUT: Final = 5_000
MOST_LISTED: Final = 10_000
"""How many series, single events and dates without one are stored of a file, and how many dates it may list."""


@dataclass(frozen=True, slots=True)
class Ground:
    """
    What a file is read against: the moment, the server's zone, and the settings of whatever says none itself.

    ``most_bytes`` is how large it may be.
    """

    now: dt.datetime
    timezone: str
    most_bytes: int
    series: Defaults
    events: Defaults


@dataclass(slots=True)
class CalendarFile:
    """
    What a file holds: what can be stored, the first 20 refusals, and how many there are.

    ``past`` counts entries that were over, ``notes`` are sentences on how it was read.
    """

    series: list[ImportedSeries] = field(default_factory=list)
    events: list[ImportedEvent] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    refusals: int = 0
    past: int = 0
    notes: list[str] = field(default_factory=list)

    def refuse(self, entry: Entry, why: str) -> None:
        """Note that an entry has no place here."""
        self.refusals += 1
        if len(self.refused) < MOST_FAULTS:
            title = f" ({entry.title})" if entry.title else ""
            self.refused.append(_printable(f"Entry {entry.number}{title}: {why}."))


def read_calendar(raw: bytes, ground: Ground) -> CalendarFile:
    """
    Return what a calendar file holds, whatever its bytes are.

    Raises:
        CalendarFileError: it is no calendar, or too large to be read.
    """
    found = CalendarFile()
    entries = list(_entries(read_calendars(raw, most_bytes=ground.most_bytes), ground, found))
    # Before anything is understood, which takes far longer than reading its line.
    _refuse_more_than(MOST_SERIES, sum(1 for entry in entries if entry.returns), "series")
    _refuse_more_than(MOST_LISTED, sum(entry.listed for entry in entries), "dates in lists")
    for group in _by_uid(entries, found):
        _read_group(group, ground, found)
    _refuse_too_many(found)
    cut = sum(1 for entry in entries if _is_cut(entry))
    if cut:
        found.notes.append(f"{_counted(cut, 'entry has', 'entries have')} more text than fits here, and it was cut.")
    return found


def _entries(calendars: Sequence[CalendarText], ground: Ground, found: CalendarFile) -> Iterator[Entry]:
    number = 0
    for calendar in calendars:
        named = calendar.head.text("X-WR-TIMEZONE")
        floating = zone_of(named, {}) or ground.timezone
        zones = Zones(places_of(calendar.timezones), floating)
        entries = [Entry(number + place, one, zones) for place, one in enumerate(calendar.events, start=1)]
        number += len(entries)
        found.notes += _zone_notes(entries, floating)
        others = ", ".join(f"{count} {kind[:40]}" for kind, count in sorted(calendar.others.items()))
        if others:
            found.notes.append(_printable(f"What is no event was left out: {others[:200]}."))
        yield from entries


def _zone_notes(entries: Iterable[Entry], floating: str) -> Iterator[str]:
    """Yield a sentence for each zone that is not called here as it is in the file."""
    read = {}
    for entry in entries:
        start = entry.component.first("DTSTART")
        tzid = start.parameters.get("TZID") if start is not None else None
        if tzid is not None:
            read[tzid] = zone_of(tzid, entry.zones.places)
    for tzid, known in sorted(read.items()):
        if known not in {None, tzid}:
            yield _printable(f"The zone {tzid[:60]} is read as {known}.")
    if zone_of(floating, {}) is not None and any(_floats(entry) for entry in entries):
        yield f"Times without a zone are read in {floating}."


def _floats(entry: Entry) -> bool:
    start = entry.component.first("DTSTART")
    return start is not None and "T" in start.value and not start.value.endswith("Z") and "TZID" not in start.parameters


def _by_uid(entries: Sequence[Entry], found: CalendarFile) -> list[list[Entry]]:
    """Return the entries that belong together, a series before its overrides."""
    groups: dict[str, list[Entry]] = {}
    for entry in entries:
        uid = entry.uid
        if not uid or len(uid) > MAX_UID or not uid.isprintable():
            found.refuse(entry, "it has no UID that tells it from others" if not uid else "its UID cannot be kept")
            continue
        groups.setdefault(uid, []).append(entry)
    return [sorted(group, key=lambda one: one.is_override) for group in groups.values()]


def _read_group(group: Sequence[Entry], ground: Ground, found: CalendarFile) -> None:
    masters = [entry for entry in group if not entry.is_override]
    overrides = [entry for entry in group if entry.is_override]
    for twin in masters[1:]:
        found.refuse(twin, f"it has the same UID as entry {masters[0].number}")
    if masters and masters[0].returns:
        _read_series(masters[0], overrides, ground, found)
        return
    events, named = list[ImportedEvent](), list[Moment | dt.date]()
    for entry in newest(overrides, None):
        try:
            name = entry.named()
            if not (masters and entry.is_cancelled):
                events += _events_ahead(entry, (), ground, found)
            named.append(name)
        except EntryRefusedError as error:
            found.refuse(entry, str(error))
    for entry in masters[:1]:
        try:
            events = [*_events_ahead(entry, named, ground, found), *events]
        except EntryRefusedError as error:
            found.refuse(entry, str(error))
    found.events += events


def _events_ahead(
    entry: Entry, besides: Sequence[Moment | dt.date], ground: Ground, found: CalendarFile
) -> list[ImportedEvent]:
    events = list(events_of(entry, ground.events, now=ground.now, besides=besides))
    _refuse_too_far([one.spec.scheduled_at for one in events], ground.now)
    found.past += not events and not besides
    return events


def _refuse_too_far(moments: Iterable[dt.datetime], now: dt.datetime) -> None:
    far = [one for one in moments if one > now + relativedelta(years=MOST_YEARS_AHEAD)]
    if far:
        raise EntryRefusedError(
            f"it takes place on {min(far):%Y-%m-%d}, more than {MOST_YEARS_AHEAD} years ahead, which cannot be"
            " represented here"
        )


def _read_series(master: Entry, overrides: Sequence[Entry], ground: Ground, found: CalendarFile) -> None:
    try:
        series = series_of(master, ground.series)
        _refuse_too_far([one.starts_at for one in series.extras], ground.now)
    except EntryRefusedError as error:
        found.refuse(master, str(error))
        for entry in overrides:
            found.refuse(entry, f"it belongs to entry {master.number}, which is refused")
        return
    series = _with_overrides(series, overrides, ground.now, found)
    if series.changed or series.extras or first_return(series.spec.rule, after=ground.now):
        found.series.append(series)
    else:
        found.past += 1


def _with_overrides(
    series: ImportedSeries, overrides: Sequence[Entry], now: dt.datetime, found: CalendarFile
) -> ImportedSeries:
    left_out, listed = set(series.left_out), [one for one in series.extras if one.starts_at > now]
    changed: dict[dt.date, Changed] = {}
    own, added = set[dt.date](), set[Extra]()
    for entry in newest(overrides, series.spec.rule):
        try:
            change = change_of(entry, series)
            named = entry.named()
            _refuse_too_far(_moments_of(change, named), now)
        except EntryRefusedError as error:
            found.refuse(entry, f"{error}; its series has that date as any other")
            continue
        own |= set(instants_and_dates([named]))
        match change:
            case Changed() if change.starts_at > now:
                changed[change.local_date] = change
            case Changed():
                left_out.add(change.local_date)
            case Extra():
                added |= {change} if change.starts_at > now else set()
            case dt.date():
                left_out.add(change)
            case None:
                pass
    timezone = series.spec.rule.timezone
    extras = added | {
        one for one in listed if one.starts_at not in own and local_today(one.starts_at, timezone) not in own
    }
    return replace(
        series,
        left_out=frozenset(left_out - changed.keys()),
        changed=tuple(changed.values()),
        extras=tuple(sorted(extras)),
    )


def _moments_of(change: Changed | Extra | dt.date | None, named: Moment | dt.date) -> Iterator[dt.datetime]:
    """Yield the moments at which an override has or had an event."""
    match change:
        case Changed():
            yield change.starts_at
            if isinstance(named, Moment):
                yield named.instant
        case Extra():
            yield change.starts_at
        case _:
            pass


def _refuse_too_many(found: CalendarFile) -> None:
    singles = len(found.events) + sum(len(one.changed) + len(one.extras) for one in found.series)
    left_out = sum(len(one.left_out) for one in found.series)
    _refuse_more_than(MOST_EVENTS, singles, "single events")
    _refuse_more_than(MOST_LEFT_OUT, left_out, "dates that are left out")


def _refuse_more_than(most: int, count: int, what: str) -> None:
    if count > most:
        raise CalendarFileError(f"The file has {count:,} {what}; at most {most:,} are taken at once: split it.")


def _is_cut(entry: Entry) -> bool:
    sizes = (("SUMMARY", MAX_NAME), ("DESCRIPTION", MAX_DESCRIPTION), ("LOCATION", MAX_DESCRIPTION))
    return any(length(entry.component.text(name)) > most for name, most in sizes)


def _printable(text: str) -> str:
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text)


def _counted(count: int, one: str, many: str) -> str:
    return f"{count} {one if count == 1 else many}"
