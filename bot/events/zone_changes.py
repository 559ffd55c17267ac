"""
Follow new zone data: an event whose slot has another instant since moves there, unless anything was sent for it.

Source: 02-reminders.md, "Generation and exceptions".
"""

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import structlog

from bot import audit
from bot.events.posts import mark_changed
from bot.scheduling import due_rows
from bot.scheduling.registry import registered
from bot.times.recurrence import Occurrence
from bot.transactions import atomic, fetch, in_list, integer, moment
from models.event import Event
from models.states import EventState

_log = structlog.get_logger(__name__)

# Every state is named for the sake of the index over state and time; without it each pass reads all events ever.
_EVERY_STATE = ", ".join(f"'{state.value}'" for state in EventState)
_MOVABLE = (EventState.UPCOMING, EventState.SIGNUPS_OPEN)


@dataclass(frozen=True, slots=True)
class Stored:
    """A stored event ahead, as generation compares it."""

    event_id: int
    scheduled_at: dt.datetime


async def stored_ahead(now: dt.datetime) -> dict[int, dict[str, Stored]]:
    """Return the stored events of all series from a day back on (a zone may move one over now), by series and slot."""
    rows = await fetch(
        "SELECT id, series_id, slot, scheduled_at FROM event WHERE slot IS NOT NULL AND series_id IS NOT NULL"  # noqa: S608
        f" AND state IN ({_EVERY_STATE}) AND scheduled_at > $1",
        [now - dt.timedelta(days=1)],
    )
    found: dict[int, dict[str, Stored]] = {}
    for row in rows:
        of_series = found.setdefault(integer(row["series_id"]), {})
        of_series[str(row["slot"])] = Stored(integer(row["id"]), moment(row["scheduled_at"]))
    return found


async def follow_zone(
    wanted: Mapping[str, Occurrence],
    known: Mapping[str, Stored],
    *,
    now: dt.datetime,
    debounce: dt.timedelta,
    instance: str,
) -> int:
    """
    Move the events of one series whose slot is another instant now; return how many.

    ``instance`` signs the audit; ``debounce`` after a move the event's post is edited.
    """
    off = [
        (known[slot], one)
        for slot, one in wanted.items()
        if slot in known and known[slot].scheduled_at != one.starts_at
    ]
    return sum([await _move_to_slot(stored, one, now=now, debounce=debounce, instance=instance) for stored, one in off])


async def _move_to_slot(
    stored: Stored, one: Occurrence, *, now: dt.datetime, debounce: dt.timedelta, instance: str
) -> bool:
    async def _unit() -> bool:
        event = await Event.get_or_none(id=stored.event_id)
        if event is None or not _may_follow(event) or await _anything_sent(event.id):
            return False
        shift = one.starts_at - event.scheduled_at
        opens = event.signups_open_at
        if opens is not None and event.signup_opens_hours is not None:
            opens += shift  # without hours it is the moment of creation, which does not move
        moved = await Event.filter(id=event.id, scheduled_at=event.scheduled_at, state=event.state).update(
            scheduled_at=one.starts_at, signups_open_at=opens
        )
        if not moved:
            return False
        await due_rows.refresh([event.id])
        await mark_changed(event.id, now=now, debounce=debounce)
        before, after = (
            {"scheduled_at": event.scheduled_at.isoformat()},
            {"scheduled_at": one.starts_at.isoformat()},
        )
        await audit.record(
            "event.realign",
            guild_id=event.guild_id,
            now=now,
            subject_id=event.id,
            before=before,
            after=after,
            instance=instance,
        )
        _log.warning("event_follows_zone_data", guild=event.guild_id, event_id=event.id, **after)
        return True

    return await atomic(_unit)


def _may_follow(event: Event) -> bool:
    return event.state in _MOVABLE and not event.is_off_schedule and "scheduled_at" not in event.overridden_fields


async def _anything_sent(event_id: int) -> bool:
    sources: Sequence[str] = [entry.log_source for entry in registered()]
    rows = await fetch(
        "SELECT 1 AS one FROM discord_message_log WHERE source_id = $1 AND (success IS NULL OR success)"  # noqa: S608
        f" AND source IN {in_list(sources, first=2)} LIMIT 1",
        [event_id, *sources],
    )
    return bool(rows)
