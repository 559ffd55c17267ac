"""The fields of a stored series as a spec has them, and back; what of them is its schedule."""

import datetime as dt
from collections.abc import Mapping
from enum import Enum
from typing import Final

from bot.events.series_spec import SeriesSpec
from models.event_repeater import EventRepeater

SCHEDULE_FIELDS: Final = frozenset(
    {"day_of_week", "time_of_day", "timezone", "starts_at", "frequency", "interval", "ends_at", "month_end"}
)
"""What decides when a series returns: only a change of one of these realigns its events."""

Values = dict[str, object]

_HIDDEN: Final = "description"


def values_of(series: EventRepeater) -> Values:
    """Return every field of a stored series that a spec has."""
    values = {name: getattr(series, name) for name in SeriesSpec.model_fields}
    return values | {"time_of_day": dt.time.fromisoformat(series.time_of_day)}


def changes(before: Mapping[str, object], spec: SeriesSpec) -> Values:
    """Return the fields in which a spec differs from what is stored."""
    return {name: getattr(spec, name) for name in SeriesSpec.model_fields if getattr(spec, name) != before[name]}


def assign(series: EventRepeater, values: Mapping[str, object]) -> EventRepeater:
    """Set fields of a spec on a row, which is not stored by this; return the row."""
    for name, value in values.items():
        setattr(series, name, f"{value:%H:%M}" if isinstance(value, dt.time) else value)
    return series


def for_audit(values: Mapping[str, object]) -> Values:
    """Return fields as the audit takes them: JSON, and never what an announcement says."""
    return {name: _plain(name, value) for name, value in values.items()}


def _plain(name: str, value: object) -> object:
    if name == _HIDDEN:
        return f"{len(str(value))} characters"
    if isinstance(value, Enum):
        return value.value
    return value.isoformat() if isinstance(value, (dt.date, dt.time)) else value
