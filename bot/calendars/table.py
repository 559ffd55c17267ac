"""The events of a server or a series as a table for a spreadsheet: how many said what, and when it is."""

import datetime as dt
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


async def event_table(guild_id: int, *, now: dt.datetime, series_id: int | None = None) -> tuple[bytes, int]:
    """Return the events of a server, or of one series of it, from a year back on as CSV, and how many they are."""
    query = Event.filter(guild_id=guild_id, scheduled_at__gt=now - LOOKED_BACK)
    if series_id is not None:
        query = query.filter(series_id=series_id)
    events = await query.order_by("scheduled_at", "id").limit(MOST_ROWS)
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
    return csv_file(HEADER, rows), len(rows)


def _moment(moment: dt.datetime) -> str:
    return f"{moment.astimezone(dt.UTC):%Y-%m-%d %H:%M}"
