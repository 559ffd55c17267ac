"""The values of a calendar file's properties: moments with their zone, durations, rules; each is read or refused."""

import datetime as dt
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final
from zoneinfo import ZoneInfo

from bot.calendars.lines import Component, EntryRefusedError, Property
from bot.calendars.rule_reading import Parts
from bot.calendars.zones import zone_of
from bot.times.recurrence import resolve_wall_time

MOST_DATES: Final = 2_000
"""How many dates one property's lines may list."""

_DATE: Final = re.compile(r"[0-9]{8}")
_MOMENT: Final = re.compile(r"([0-9]{8}T[0-9]{6})(Z?)")
_DURATION: Final = re.compile(r"\+?P(?:(\d{1,6})W)?(?:(\d{1,6})D)?(?:T(?:(\d{1,6})H)?(?:(\d{1,6})M)?(?:(\d{1,6})S)?)?")
_FIRST_YEAR, _LAST_YEAR = 1970, 2999
_SHOWN: Final = 60


@dataclass(frozen=True, slots=True)
class Moment:
    """A moment as a file writes it: the naive wall time, the zone that it is in, and the instant, in UTC."""

    local: dt.datetime
    timezone: str
    instant: dt.datetime


@dataclass(frozen=True, slots=True)
class Zones:
    """What the TZIDs of one calendar mean; ``floating`` is the zone of times without one."""

    places: Mapping[str, str]
    floating: str

    def moment(self, name: str, parameters: Mapping[str, str], text: str) -> Moment | dt.date:
        """
        Return the moment, or the date where it is one, that a property holds.

        Raises:
            EntryRefusedError: it is neither, or in a zone that nobody knows.
        """
        try:
            if _DATE.fullmatch(text):
                return dt.datetime.strptime(text, "%Y%m%d").date()  # noqa: DTZ007 -- a date
            match = _MOMENT.fullmatch(text)
            if match is None:
                raise EntryRefusedError(f"its {name} {text[:_SHOWN]} is no date and time")
            local = dt.datetime.strptime(match[1], "%Y%m%dT%H%M%S")  # noqa: DTZ007 -- a wall time
            if not _FIRST_YEAR <= local.year <= _LAST_YEAR:
                raise EntryRefusedError(f"its {name} {text} is not from {_FIRST_YEAR} to {_LAST_YEAR}")
            timezone = "UTC" if match[2] else self._named(name, parameters)
            return Moment(local, timezone, resolve_wall_time(local, ZoneInfo(timezone)))
        except ValueError:
            raise EntryRefusedError(f"its {name} {text[:_SHOWN]} is not in the calendar") from None

    def _named(self, name: str, parameters: Mapping[str, str]) -> str:
        tzid = parameters.get("TZID")
        if tzid is None:
            return self.floating
        found = zone_of(tzid, self.places)
        if found is None:
            raise EntryRefusedError(
                f"its {name} is in the zone {tzid[:_SHOWN]}, which is not known; a zone is named such as Europe/London"
            )
        return found

    def all_of(self, component: Component, name: str) -> Iterator[Moment | dt.date]:
        """
        Yield every moment or date that the properties of a name list.

        Raises:
            EntryRefusedError: one cannot be read, or there are too many.
        """
        listed = [(one, text) for one in component.properties.get(name, ()) for text in one.value.split(",")]
        if len(listed) > MOST_DATES:
            raise EntryRefusedError(f"its {name} lists {len(listed):,} dates; at most {MOST_DATES:,} are read")
        for one, text in listed:
            if one.parameters.get("VALUE", "").upper() == "PERIOD":
                raise EntryRefusedError(f"its {name} lists periods, each of a length of its own")
            yield self.moment(name, one.parameters, text.strip())


def duration_of(component: Component, start: Moment, zones: Zones) -> int | None:
    """
    Return how many minutes an event lasts, rounded up; None where it says nothing, or no time at all.

    Raises:
        EntryRefusedError: it ends before it begins, or cannot be read.
    """
    ends, lasts = component.first("DTEND"), component.first("DURATION")
    if ends is not None:
        end = zones.moment("DTEND", ends.parameters, ends.value)
        if not isinstance(end, Moment):
            raise EntryRefusedError(f"its DTEND {end} has no time, while it begins at one")
        length = end.instant - start.instant
        if length < dt.timedelta(0):
            raise EntryRefusedError("it ends before it begins")
    elif lasts is not None:
        length = _duration(lasts)
    else:
        return None
    return -(-length // dt.timedelta(minutes=1)) or None


def _duration(found: Property) -> dt.timedelta:
    match = _DURATION.fullmatch(found.value.strip().upper())
    if match is None or not any(match.groups()):
        raise EntryRefusedError(f"its DURATION {found.value[:_SHOWN]} is none")
    weeks, days, hours, minutes, seconds = (int(one or 0) for one in match.groups())
    return dt.timedelta(weeks=weeks, days=days, hours=hours, minutes=minutes, seconds=seconds)


def parts_of(rule: Property) -> Parts:
    """
    Return the parts of a recurrence rule.

    Raises:
        EntryRefusedError: it cannot be read.
    """
    found: dict[str, list[str]] = {}
    for part in rule.value.strip().strip(";").upper().split(";"):
        name, equals, values = part.partition("=")
        if not equals or name.strip() in found:
            raise EntryRefusedError(f"its rule {rule.value[:_SHOWN]} cannot be read")
        found[name.strip()] = [one.strip() for one in values.split(",")]
    return found
