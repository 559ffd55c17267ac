"""What admins see of their server's events and series: lists, and everything about one."""

import datetime as dt
from collections.abc import Mapping
from typing import Final

from bot.events import browse
from bot.events.admin_wording import event_details, event_line, listed, named, series_details, series_line
from bot.events.generate import rule_of
from bot.events.native_standing import list_lines
from bot.message import timestamps
from bot.message.escaping import escape
from bot.scheduling.registry import words_of
from bot.transactions import fetch, integer, moment
from models.event import Event
from models.event_repeater import EventRepeater
from models.states import AHEAD, EventState

# No more lines fit into one message, however short their names are.
_MOST_LINES: Final = 40
_NEXT: Final = 5
_AHEAD_OR_RUNNING: Final = (*AHEAD, EventState.IN_PROGRESS)


async def list_events(*, guild_id: int, now: dt.datetime) -> str:
    """Return the server's events that run or are ahead, soonest first."""
    ahead = Event.filter(guild_id=guild_id, state__in=_AHEAD_OR_RUNNING)
    total = await ahead.count()
    if not total:
        return "No event is ahead here. Create one with /event create, or a series of them with /series create."
    events = await ahead.order_by("scheduled_at", "id").limit(_MOST_LINES)
    counts = await browse.answer_counts([event.id for event in events])
    heading = f"Events ahead, as of {timestamps.full(now)}:"
    return listed(heading, [event_line(event, counts[event.id]) for event in events], total=total)


async def show_event(typed: str, *, guild_id: int, now: dt.datetime) -> str:
    """
    Return everything about one event.

    Raises:
        NoSuchEventError: the server has no such event.
    """
    event = await browse.find_event(typed, guild_id=guild_id)
    series = await EventRepeater.get_or_none(id=event.series_id) if event.series_id is not None else None
    counts = (await browse.answer_counts([event.id]))[event.id]
    return event_details(
        event,
        counts,
        series=named(series) if series is not None else None,
        due=await _still_to_come(event),
        listing=await list_lines(event, now=now),
    )


async def _still_to_come(event: Event) -> list[str]:
    if event.state not in AHEAD:
        # What it has left was missed, and waits for the clerk who records that.
        return []
    rows = await fetch("SELECT key, due_at FROM reminder_due WHERE event_id = $1 ORDER BY due_at, key", [event.id])
    return [f"{escape(words_of(str(row['key'])))} {timestamps.full(moment(row['due_at']))}" for row in rows]


async def list_series(*, guild_id: int) -> str:
    """Return the server's series by name, each with its next event."""
    total = await EventRepeater.filter(guild_id=guild_id).count()
    if not total:
        return "There is no series here. Create one with /series create."
    series = await EventRepeater.filter(guild_id=guild_id).order_by("name").limit(_MOST_LINES)
    upcoming = await _upcoming(guild_id)
    lines = [series_line(one, rule_of(one), upcoming=upcoming.get(one.id)) for one in series]
    return listed("Series:", lines, total=total)


async def show_series(typed: str, *, guild_id: int) -> str:
    """
    Return everything about one series.

    Raises:
        NoSuchSeriesError: the server has no such series.
    """
    series = await browse.find_series(typed, guild_id=guild_id)
    ahead = Event.filter(series_id=series.id, state__in=_AHEAD_OR_RUNNING).order_by("scheduled_at").limit(_NEXT)
    upcoming = [event.scheduled_at for event in await ahead]
    rows = await fetch("SELECT COUNT(*) AS people FROM repeater_subscription WHERE series_id = $1", [series.id])
    return series_details(series, rule_of(series), upcoming=upcoming, subscribers=integer(rows[0]["people"]))


async def _upcoming(guild_id: int) -> Mapping[int, dt.datetime]:
    rows = await fetch(
        "SELECT series_id, MIN(scheduled_at) AS next FROM event WHERE guild_id = $1 AND series_id IS NOT NULL"
        " AND state IN ('upcoming', 'signups_open', 'roll_call') GROUP BY series_id",
        [guild_id],
    )
    return {integer(row["series_id"]): moment(row["next"]) for row in rows}
