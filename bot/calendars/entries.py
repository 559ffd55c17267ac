"""
What a calendar file holds of this bot's: series, single events, and what of them is not the name and the time.

Settings travel in a property of our own, so that what is exported here and imported elsewhere reminds alike. Channels
and roles do not: they are of one server.
"""

import datetime as dt
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from bot.events.series_spec import ConfigSpec
from bot.times.recurrence import SeriesRule

SETTINGS: Final = "X-TOCSIN-SETTINGS"
"""The property that carries the settings, as one JSON object."""

DAYS_AHEAD: Final = "generate_days_ahead"

CARRIED: Final[tuple[str, ...]] = tuple(
    name for name in ConfigSpec.model_fields if not name.endswith(("_id", "_ids")) and name != "duration_minutes"
)
"""The settings that travel: all but those of one server, and the duration, which the times say."""


@dataclass(frozen=True, slots=True, order=True)
class Details:
    """What a reader sees of an entry."""

    name: str
    description: str
    duration_minutes: int


@dataclass(frozen=True, slots=True)
class Changed:
    """
    One occurrence that is not as the series has it: moved, or with words of its own.

    ``local_date`` is the date of its slot, ``starts_at`` when it takes place.
    """

    local_date: dt.date
    starts_at: dt.datetime
    details: Details


@dataclass(frozen=True, slots=True, order=True)
class Extra:
    """An event of a series at a moment that its rule does not have, with its own words where it is told of in such."""

    starts_at: dt.datetime
    details: Details


@dataclass(frozen=True, slots=True)
class SeriesEntry:
    """A series of a file; ``made_at`` is when its row was made, ``left_out`` the dates on which it does not return."""

    uid: str
    details: Details
    rule: SeriesRule
    made_at: dt.datetime
    settings: Mapping[str, object]
    left_out: frozenset[dt.date] = frozenset()
    changed: tuple[Changed, ...] = ()


@dataclass(frozen=True, slots=True)
class EventEntry:
    """
    A single event of a file.

    ``series_uid`` is the series that it is an extra of. ``version`` counts its changes. ``settings`` None: whoever
    gets the file has no business with them. ``is_sure`` False: the person whose file it is may come, or waits.
    """

    uid: str
    details: Details
    starts_at: dt.datetime
    made_at: dt.datetime
    settings: Mapping[str, object] | None
    series_uid: str | None = None
    version: int = 0
    is_sure: bool = True


def settings_text(settings: Mapping[str, object]) -> str:
    """Return settings as the property holds them; the same settings give the same text."""
    return json.dumps(dict(settings), sort_keys=True, separators=(",", ":"))
