"""The moments of a calendar file: a wall time and the zone that it is in, each read or refused."""

import datetime as dt
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final
from zoneinfo import ZoneInfo

from bot.calendars.lines import Component, EntryRefusedError
from bot.calendars.zones import zone_of
from bot.times.recurrence import Occurrence, SeriesRule, occurrences, resolve_wall_time

MOST_DATES: Final = 2_000
"""How many dates one property's lines may list."""

_DATE: Final = re.compile(r"[0-9]{8}")
_MOMENT: Final = re.compile(r"([0-9]{8}T[0-9]{6})(Z?)")
_FIRST_YEAR, _LAST_YEAR = 1970, 2999
_SHOWN: Final = 60


@dataclass(frozen=True, slots=True)
class Moment:
    """A moment as a file writes it: the naive wall time, the zone that it is in, and the instant, in UTC."""

    local: dt.datetime
    timezone: str
    instant: dt.datetime


def instants_and_dates(named: Iterable[Moment | dt.date]) -> Iterator[dt.date]:
    """Yield of what names an occurrence the instant, or the date where it is no more."""
    return (one.instant if isinstance(one, Moment) else one for one in named)


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
            if zone_of(self.floating, {}) is None:
                raise EntryRefusedError(
                    f"its {name} has no zone of its own, and this server's, {self.floating[:_SHOWN]}, is not known any"
                    " more; an admin sets one that is"
                )
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


def slot_of(named: Moment | dt.date, rule: SeriesRule) -> Occurrence | None:
    """Return the occurrence that a moment names, by its instant or by its wall time, or that a mere date names."""
    if not isinstance(named, Moment):
        return next(iter(occurrences(rule, named, named)), None)
    own_zone = named.timezone == rule.timezone
    own_wall = own_zone and named.local.time() == rule.time_of_day
    # Whatever its zone, the local date is at most a day off.
    for days in (0,) if own_zone else (0, -1, 1):
        date = named.local.date() + dt.timedelta(days=days)
        for one in occurrences(rule, date, date):
            if own_wall or one.starts_at == named.instant:
                return one
    return None
