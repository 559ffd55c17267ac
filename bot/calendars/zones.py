"""The zone that a calendar file means, by the many names that calendars give to one."""

import functools
from collections.abc import Iterable, Mapping
from typing import Final

from icalendar.timezone.windows_to_olson import WINDOWS_TO_OLSON

from bot.calendars.lines import Component
from bot.times.known_timezones import known_timezones

# An IANA key has three parts at most; some calendars put it behind a path of their own.
_MOST_PARTS: Final = 3


def zone_of(tzid: str, places: Mapping[str, str]) -> str | None:
    """
    Return the IANA key that a TZID means, None if none is known.

    ``places`` is what the file's own definitions say of where their zones are, by TZID.
    """
    return _known(tzid) or _known(places.get(tzid, ""))


def places_of(timezones: Iterable[Component]) -> dict[str, str]:
    """Return the places that the zones of a calendar name, by their TZID."""
    return {one.text("TZID"): one.text("X-LIC-LOCATION") for one in timezones}


@functools.lru_cache(maxsize=1024)
def _known(name: str) -> str | None:
    text = name.strip()
    parts = text.split("/")
    spelled = [text, WINDOWS_TO_OLSON.get(text, ""), *("/".join(parts[-count:]) for count in range(_MOST_PARTS, 1, -1))]
    keys = _by_lower()
    return next((keys[one.lower()] for one in spelled if one.lower() in keys), None)


@functools.cache
def _by_lower() -> Mapping[str, str]:
    return {key.lower(): key for key in sorted(known_timezones())}
