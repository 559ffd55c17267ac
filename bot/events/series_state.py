"""Pause a series, and let it go on: its events already made stay and remind. Source: 02-reminders.md, "Generation"."""

import datetime as dt

import structlog

from bot import audit
from bot.errors import BotError
from bot.events import browse
from bot.events.admin_wording import named
from bot.events.generate import generate_events_for_repeater
from bot.events.recurrence import local_today
from bot.events.series_fields import known_timezones
from bot.events.typed_date import in_words
from bot.events.typed_time import shown
from bot.scheduling.agenda import Agenda
from bot.scheduling.bodies import CHECK_EVENT_REMINDERS, OPEN_SCHEDULED_SIGNUPS
from bot.transactions import atomic
from models.event import Event
from models.event_repeater import EventRepeater

_log = structlog.get_logger(__name__)


class ZoneGoneError(BotError):
    """The zone of a series is not in the zone database any more, so nobody knows when it returns."""

    def __init__(self, series: EventRepeater) -> None:
        super().__init__(
            f"{named(series)} cannot go on: the zone database does not have {shown(series.timezone)} any more; create"
            " another series in its place, in another time zone."
        )
        self.series_id = series.id


async def pause_series(typed: str, *, guild_id: int, actor: int, now: dt.datetime) -> str:
    """
    Let a series make no new events; return what the admin reads. Twice is an answer.

    Raises:
        NoSuchSeriesError: the server has no such series.
    """
    series = await browse.find_series(typed, guild_id=guild_id)
    if not await _switch(series, active=False, actor=actor, now=now):
        return f"{named(series)} is paused already."
    stay = await Event.filter(series_id=series.id, scheduled_at__gt=now).count()
    events = "1 event that is made already stays" if stay == 1 else f"{stay} events that are made already stay"
    return f"{named(series)} is paused and makes no new events. Its {events}, with the reminders."


async def resume_series(typed: str, *, guild_id: int, actor: int, now: dt.datetime, agenda: Agenda) -> str:
    """
    Let a paused series go on, and make its events at once; return what the admin reads. Twice is an answer.

    Raises:
        NoSuchSeriesError: the server has no such series.
        ZoneGoneError: nobody knows when it returns.
    """
    series = await browse.find_series(typed, guild_id=guild_id)
    if series.timezone not in known_timezones():
        raise ZoneGoneError(series)
    made = 0

    async def _unit() -> bool:
        nonlocal made
        if not await _switch(series, active=True, actor=actor, now=now):
            return False
        made = await generate_events_for_repeater(await EventRepeater.get(id=series.id), now=now)
        return True

    if not await atomic(_unit):
        return f"{named(series)} is not paused."
    for body in (CHECK_EVENT_REMINDERS, OPEN_SCHEDULED_SIGNUPS):
        agenda.wake(body, now)
    if series.ends_at is not None and series.ends_at < local_today(now, series.timezone):
        return f"{named(series)} goes on, but it ended on {in_words(series.ends_at)}, so it makes no events."
    return f"{named(series)} goes on; {made} {'event was' if made == 1 else 'events were'} made."


async def _switch(series: EventRepeater, *, active: bool, actor: int, now: dt.datetime) -> bool:
    """Switch a series, with its audit, unless it stands so already."""

    async def _unit() -> bool:
        switched = await EventRepeater.filter(id=series.id, guild_id=series.guild_id, is_active=not active).update(
            is_active=active
        )
        if not switched:
            return False
        await audit.record(
            "series.edit",
            guild_id=series.guild_id,
            actor_user_id=actor,
            subject_id=series.id,
            now=now,
            before={"is_active": not active},
            after={"is_active": active},
        )
        return True

    switched = await atomic(_unit)
    if switched:
        _log.info("series_switched", guild=series.guild_id, series=series.id, active=active, actor=actor)
    return switched
