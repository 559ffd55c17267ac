"""The events of a server or a series as a table for a spreadsheet: how many said what, and when it is."""

import datetime as dt
from dataclasses import dataclass
from typing import Final

from bot.calendars.rows import LOOKED_BACK
from bot.events.browse import answer_counts
from bot.message.spreadsheet import csv_file
from models.event import Event
from models.event_repeater import EventRepeater
from models.states import SignupStatus

MOST_ROWS: Final = 10_000
_AT_ONCE: Final = 500

HEADER: Final = (
    *("event_id", "series", "name", "starts_at_utc", "ends_at_utc", "state", "places"),
    *(status.value for status in SignupStatus),
)


@dataclass(frozen=True, slots=True)
class Table:
    """Events as CSV, how many they are, and sentences on what it does not hold."""

    content: bytes
    count: int
    notes: tuple[str, ...]


async def event_table(guild_id: int, *, now: dt.datetime, series_id: int | None = None) -> Table:
    """Return the events of a server, or of one series of it, from a year back on; the first 10,000 of them."""
    query = Event.filter(guild_id=guild_id, scheduled_at__gt=now - LOOKED_BACK)
    if series_id is not None:
        query = query.filter(series_id=series_id)
    found = await query.order_by("scheduled_at", "id").limit(MOST_ROWS + 1)
    events = found[:MOST_ROWS]
    notes = [f"There are more than {MOST_ROWS:,} events; the latest are left out."] if len(found) > MOST_ROWS else []
    names = dict(await EventRepeater.filter(guild_id=guild_id).values_list("id", "name"))
    rows: list[list[object]] = []
    for start in range(0, len(events), _AT_ONCE):
        batch = events[start : start + _AT_ONCE]
        counts = await answer_counts([event.id for event in batch])
        rows += [
            [
                event.id,
                names.get(event.series_id),
                event.name,
                _moment(event.scheduled_at),
                _moment(event.scheduled_at + dt.timedelta(minutes=event.duration_minutes)),
                event.state.value,
                event.max_players,
                *(counts[event.id][status] for status in SignupStatus),
            ]
            for event in batch
        ]
    return Table(csv_file(HEADER, rows), len(rows), tuple(notes))


def _moment(moment: dt.datetime) -> str:
    return f"{moment.astimezone(dt.UTC):%Y-%m-%d %H:%M}"
