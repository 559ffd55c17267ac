"""
One VEVENT of a calendar file in our own terms: its words, its time, its settings, and its series if it returns.

What is read here is :class:`ImportedEvent` or :class:`ImportedSeries`; what is written stands in
:mod:`bot.calendars.entries`, with what both ways share.
"""

import datetime as dt
import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final, TypeVar

from pydantic import BaseModel, ValidationError

from bot.calendars.entries import CARRIED, DAYS_AHEAD, SETTINGS, Changed, Details, Extra
from bot.calendars.lines import Component, EntryRefusedError
from bot.calendars.moments import Moment, Zones, instants_and_dates, slot_of
from bot.calendars.rule_reading import read_rule
from bot.calendars.values import duration_of, parts_of
from bot.events.one_off import EventSpec
from bot.events.series_fields import MAX_DESCRIPTION, MAX_NAME
from bot.events.series_spec import SeriesSpec, each_fault
from bot.message.limits import cut
from bot.times.recurrence import Occurrence, SeriesRule, local_today

Spec = TypeVar("Spec", bound=BaseModel)
Defaults = Mapping[str, object]

MAX_UID: Final = 255
_DEFAULT_MINUTES: Final = 120
_MINUTES: Final = "duration_minutes"
_SIGNUP_REMINDER: Final = "discord_signup_reminder"
# What a cut text may be made of; no more of a huge one is looked at.
_LOOKED_AT: Final = 4_000
_PROPERTIES: Final[Mapping[str, str]] = {
    "name": "SUMMARY",
    "description": "DESCRIPTION",
    _MINUTES: "DURATION in minutes",
    "scheduled_at": "DTSTART",
    "starts_at": "DTSTART",
    "ends_at": "UNTIL",
}


@dataclass(frozen=True, slots=True)
class Entry:
    """One VEVENT with its number in the file, from 1, and the zones of its calendar."""

    number: int
    component: Component
    zones: Zones

    @property
    def uid(self) -> str:
        """What the calendar calls it, and its overrides with it."""
        return self.component.text("UID").strip()

    @property
    def title(self) -> str:
        """Its name, on one line, as long as ours may be."""
        return cut(" ".join(self.component.text("SUMMARY")[:_LOOKED_AT].split()), MAX_NAME)

    @property
    def sequence(self) -> int:
        """How often its author changed it."""
        text = self.component.text("SEQUENCE").strip()
        return int(text) if text.isascii() and text.isdigit() and len(text) < MAX_UID else 0

    @property
    def is_cancelled(self) -> bool:
        """Whether it does not take place."""
        return self.component.text("STATUS").strip().upper() == "CANCELLED"

    @property
    def is_override(self) -> bool:
        """Whether it is one occurrence of a series, by itself."""
        return "RECURRENCE-ID" in self.component.properties

    def named(self) -> Moment | dt.date:
        """Return which occurrence an override says it is; an EntryRefusedError: that cannot be read."""
        found = self.component.properties["RECURRENCE-ID"][0]
        return self.zones.moment("RECURRENCE-ID", found.parameters, found.value)

    @property
    def listed(self) -> int:
        """How many dates it lists beside its rule."""
        found = self.component.properties
        return sum(one.value.count(",") + 1 for name in ("EXDATE", "RDATE") for one in found.get(name, ()))

    @property
    def returns(self) -> bool:
        """Whether it has a rule."""
        return bool(self.component.properties.keys() & {"RRULE", "EXRULE"})


@dataclass(frozen=True, slots=True)
class ImportedEvent:
    """
    A single event that was read; ``series_uid`` is the series that it says it belongs to.

    ``asks``: whether the series' subscribers are asked to sign up, as its own settings say; None: it has none, so that
    those of its series hold.
    """

    number: int
    uid: str
    spec: EventSpec
    series_uid: str | None = None
    asks: bool | None = None


@dataclass(frozen=True, slots=True)
class ImportedSeries:
    """A series that was read, with the dates that it leaves out, what is changed, and when it takes place besides."""

    number: int
    uid: str
    spec: SeriesSpec
    left_out: frozenset[dt.date]
    changed: tuple[Changed, ...]
    extras: tuple[Extra, ...]

    @property
    def details(self) -> Details:
        """What a reader sees of every occurrence that says nothing else."""
        return Details(self.spec.name, self.spec.description, self.spec.duration_minutes)


def events_of(
    entry: Entry, defaults: Defaults, *, now: dt.datetime, besides: Collection[Moment | dt.date] = ()
) -> Iterator[ImportedEvent]:
    """
    Yield the event of an entry without a rule, and one more for each further date that it lists, if they are ahead.

    ``besides`` are the moments and dates of it that have an entry of their own. Of what is over nothing is looked at
    but when it was.

    Raises:
        EntryRefusedError: it has no place here.
    """
    start = _start_of(entry)
    left_out = {one.instant for one in _moments(entry, "EXDATE")}
    instants = {start.instant, *(one.instant for one in _moments(entry, "RDATE"))} - left_out
    own = set(instants_and_dates(besides))
    ahead = [one for one in instants if one > now and one not in own and local_today(one, start.timezone) not in own]
    if not ahead:
        # Most of a calendar is over, and its long texts are what takes time.
        return
    details = _details(entry, start, defaults.get(_MINUTES))
    related = entry.component.text("RELATED-TO").strip() or None
    settings = dict(_settings(entry, defaults))
    asks = None
    if related is not None:
        # A single event cannot ask the subscribers of a series; as an extra of one it can.
        asks = settings.pop(_SIGNUP_REMINDER, False) is True if SETTINGS in entry.component.properties else None
    for instant in sorted(ahead):
        # A listed date has no UID of its own.
        has_suffix = entry.is_override or instant != start.instant
        uid = f"{entry.uid}/{instant:%Y%m%dT%H%M%SZ}" if has_suffix else entry.uid
        if len(uid) > MAX_UID:
            raise EntryRefusedError(f"its UID has more than {MAX_UID} characters with the date")
        spec = _checked(EventSpec, {**settings, **_words(details), "scheduled_at": instant})
        yield ImportedEvent(entry.number, uid, spec, related, asks)


def series_of(entry: Entry, defaults: Defaults) -> ImportedSeries:
    """
    Return the series of an entry with a rule, without what its overrides say.

    Raises:
        EntryRefusedError: it has no place here.
    """
    start = _start_of(entry)
    rules = entry.component.properties.get("RRULE", [])
    if len(rules) != 1 or "EXRULE" in entry.component.properties:
        raise EntryRefusedError("it has several rules, or one of what to leave out; a series has one rule")
    if start.local.second:
        raise EntryRefusedError(f"it begins at {start.local.time()}; a series begins on a whole minute")
    read = read_rule(parts_of(rules[0]), start.local, start.timezone)
    left_out, moments = _besides(entry, read.rule)
    rule = read.rule
    schedule = {
        "frequency": rule.frequency,
        "interval": rule.interval,
        "day_of_week": rule.day_of_week,
        "time_of_day": rule.time_of_day,
        "timezone": rule.timezone,
        "starts_at": rule.starts_at,
        "ends_at": rule.ends_at,
        "month_end": rule.month_end,
    }
    details = _details(entry, start, defaults.get(_MINUTES))
    spec = _checked(SeriesSpec, {**_settings(entry, defaults), **_words(details), **schedule})
    series = ImportedSeries(entry.number, entry.uid, spec, left_out | frozenset(read.before), (), ())
    return replace(series, extras=tuple(Extra(moment, series.details) for moment in moments))


def change_of(entry: Entry, series: ImportedSeries) -> Changed | Extra | dt.date | None:
    """
    Return what an override does to its series: a change, a date that is left out, or one more event; None: nothing.

    Raises:
        EntryRefusedError: it has no place here.
    """
    if "RANGE" in entry.component.properties["RECURRENCE-ID"][0].parameters:
        raise EntryRefusedError("it changes all that follow (RANGE), which only a series of its own can")
    named = entry.named()
    slot = slot_of(named, series.spec.rule)
    if entry.is_cancelled:
        return slot.local_date if slot is not None else None
    start = _start_of(entry)
    details = _details(entry, start, series.details.duration_minutes)
    if slot is not None and (start.instant, details) == (slot.starts_at, series.details):
        return None
    _ = _checked(EventSpec, {**_words(details), "scheduled_at": start.instant})
    return Extra(start.instant, details) if slot is None else Changed(slot.local_date, start.instant, details)


def _start_of(entry: Entry) -> Moment:
    if entry.is_cancelled:
        raise EntryRefusedError("it is cancelled")
    found = entry.component.properties.get("DTSTART", [])
    if len(found) != 1:
        raise EntryRefusedError("it has no DTSTART" if not found else "it has more than one DTSTART")
    start = entry.zones.moment("DTSTART", found[0].parameters, found[0].value)
    if not isinstance(start, Moment):
        raise EntryRefusedError("it lasts whole days (its DTSTART is a date); an event here begins at a time")
    return start


def _details(entry: Entry, start: Moment, minutes_else: object) -> Details:
    minutes = duration_of(entry.component, start, entry.zones)
    description = entry.component.text("DESCRIPTION")[:_LOOKED_AT].replace("\r", "").strip()
    place = entry.component.text("LOCATION")[:_LOOKED_AT].strip()
    whole = "\n\n".join(part for part in (description, place) if part)
    otherwise = minutes_else if isinstance(minutes_else, int) else _DEFAULT_MINUTES
    return Details(entry.title, cut(whole, MAX_DESCRIPTION), minutes or otherwise)


def _words(details: Details) -> dict[str, object]:
    return {"name": details.name, "description": details.description, _MINUTES: details.duration_minutes}


def _settings(entry: Entry, defaults: Defaults) -> Defaults:
    text = entry.component.text(SETTINGS)
    if not text:
        return defaults
    try:
        found = json.loads(text[:_LOOKED_AT])
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict) or not found.keys() <= {*CARRIED, DAYS_AHEAD}:
        raise EntryRefusedError(f"its {SETTINGS} are not those of this version")
    return found


def _checked(spec: type[Spec], values: Mapping[str, object]) -> Spec:
    try:
        return spec.model_validate(dict(values))
    except ValidationError as error:
        raise EntryRefusedError("; ".join(_in_its_terms(each_fault(error, spec=spec)))) from None


def _in_its_terms(faults: Iterable[str]) -> Iterator[str]:
    for fault in faults:
        field, space, rest = fault.rstrip(".").partition(" ")
        yield f"its {_PROPERTIES.get(field, field)}{space}{rest}"


def _moments(entry: Entry, name: str) -> list[Moment]:
    return [one for one in entry.zones.all_of(entry.component, name) if isinstance(one, Moment)]


def _besides(entry: Entry, rule: SeriesRule) -> tuple[frozenset[dt.date], tuple[dt.datetime, ...]]:
    """Return the dates that a series leaves out, and the moments at which it takes place besides its rule."""
    slots = _slots(entry.zones.all_of(entry.component, "EXDATE"), rule)
    left_out = {one.starts_at: one.local_date for one in slots}
    extras: set[dt.datetime] = set()
    for one in _moments(entry, "RDATE"):
        # A wall time that the clock skips is left out as it is written, and listed by its instant.
        again = left_out.pop(one.instant, None)
        if again is None and slot_of(one, rule) is None:
            extras.add(one.instant)
    return frozenset(left_out.values()), tuple(sorted(extras))


def _slots(named: Iterable[Moment | dt.date], rule: SeriesRule) -> Iterator[Occurrence]:
    yield from (slot for one in named if (slot := slot_of(one, rule)) is not None)
