"""Pause a series, and let it go on: its events already made stay and remind. Source: 02-reminders.md, "Generation"."""

import datetime as dt
from functools import partial
from typing import Final

import structlog

from bot import audit
from bot.changes.realign import RealignPlan
from bot.changes.realign_wording import counted, fitted, plan_notes, plan_sections
from bot.changes.series_sync import plan_of, sync_future_events
from bot.changes.stale import StaleError, held_series
from bot.errors import BotError
from bot.events import browse
from bot.events.admin_wording import named
from bot.events.lifecycle import wake_after_change
from bot.message.outgoing import ButtonStyle
from bot.message.proposal import Proposal, Reply, Way, leave
from bot.scheduling.agenda import Agenda
from bot.times.known_timezones import known_timezones
from bot.times.recurrence import local_today
from bot.times.typed_date import in_words
from bot.times.typed_time import shown
from bot.transactions import atomic
from models.event import Event
from models.event_repeater import EventRepeater
from models.states import AHEAD

_log = structlog.get_logger(__name__)

DEBOUNCE: Final = dt.timedelta(seconds=3)
"""How long a post waits for further changes where nobody says otherwise."""


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
    made = Event.filter(series_id=series.id, guild_id=guild_id, state__in=AHEAD, scheduled_at__gt=now)
    stay = await made.count()
    events = "1 event that is made already stays" if stay == 1 else f"{stay} events that are made already stay"
    return f"{named(series)} is paused and makes no new events. Its {events}, with the reminders."


async def propose_resume(
    typed: str, *, guild_id: int, actor: int, now: dt.datetime, agenda: Agenda, debounce: dt.timedelta = DEBOUNCE
) -> Reply:
    """
    Let a paused series go on where none of its events goes, else return what becomes of them, to be confirmed.

    Raises:
        NoSuchSeriesError: the server has no such series.
        ZoneGoneError: nobody knows when it returns.
    """
    series = await _resumable(typed, guild_id)
    wanted = await plan_of(series, now=now)

    async def _resume(expected: RealignPlan, now: dt.datetime) -> Reply:
        try:
            return await resume_series(
                typed, guild_id=guild_id, actor=actor, now=now, agenda=agenda, debounce=debounce, expected=expected
            )
        except StaleError:
            return await propose_resume(
                typed, guild_id=guild_id, actor=actor, now=now, agenda=agenda, debounce=debounce
            )

    if series.is_active or not wanted.leaving:
        return await _resume(wanted, now)
    head = [f"Resume the series {named(series)}? Its schedule was changed while it was paused."]
    confirm = Way("Resume the series", partial(_resume, wanted), ButtonStyle.DANGER)
    return Proposal(fitted(head, plan_sections(wanted), plan_notes(wanted)), (confirm, leave()))


async def resume_series(
    typed: str,
    *,
    guild_id: int,
    actor: int,
    now: dt.datetime,
    agenda: Agenda,
    debounce: dt.timedelta = DEBOUNCE,
    expected: RealignPlan | None = None,
) -> str:
    """
    Let a paused series go on, and bring its events in line at once; return what the admin reads. Twice is an answer.

    Raises:
        NoSuchSeriesError: the server has no such series.
        ZoneGoneError: nobody knows when it returns.
        StaleError: bringing its events in line is not what was ``expected``; nothing was done.
    """
    series = await _resumable(typed, guild_id)
    wanted = RealignPlan()

    async def _unit() -> bool:
        nonlocal wanted
        if not await _switch(series, active=True, actor=actor, now=now):
            return False
        fresh = await held_series(series)
        wanted = await plan_of(fresh, now=now)
        await sync_future_events(
            fresh,
            realign_schedule=True,
            now=now,
            debounce=debounce,
            actor_user_id=actor,
            expected=expected,
        )
        return True

    if not await atomic(_unit):
        return f"{named(series)} is not paused."
    wake_after_change(agenda, now=now, debounce=debounce)
    if series.ends_at is not None and is_over(series, now=now):
        ended = f"{named(series)} goes on, but it ended on {in_words(series.ends_at)}, so it makes no events"
        # Those of a later end that it had when it was paused.
        return f"{ended}; events: {counted(wanted)}." if wanted.leaving else f"{ended}."
    if wanted.leaving:
        return f"{named(series)} goes on; events: {counted(wanted)}."
    made = len(wanted.arrivals)
    return f"{named(series)} goes on; {made} {'event was' if made == 1 else 'events were'} made."


async def _resumable(typed: str, guild_id: int) -> EventRepeater:
    series = await browse.find_series(typed, guild_id=guild_id)
    if series.timezone not in known_timezones():
        raise ZoneGoneError(series)
    return series


def is_over(series: EventRepeater, *, now: dt.datetime) -> bool:
    """Return whether a series has ended by its own date; False where its zone is known no more, as nobody can tell."""
    if series.ends_at is None or series.timezone not in known_timezones():
        return False
    return series.ends_at < local_today(now, series.timezone)


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
