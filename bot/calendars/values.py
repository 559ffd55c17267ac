"""The values of a calendar file's properties beside its moments: durations and rules; each is read or refused."""

import datetime as dt
import re
from typing import Final

from bot.calendars.lines import Component, EntryRefusedError, Property
from bot.calendars.moments import Moment, Zones
from bot.calendars.rule_reading import Parts

_DURATION: Final = re.compile(r"\+?P(?:(\d{1,6})W)?(?:(\d{1,6})D)?(?:T(?:(\d{1,6})H)?(?:(\d{1,6})M)?(?:(\d{1,6})S)?)?")
_SHOWN: Final = 60


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
