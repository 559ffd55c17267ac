"""
Extra events of a series, off its schedule: never realigned, never cascaded to.

Source: 02-reminders.md, "Generation and exceptions".
"""

import datetime as dt
from collections.abc import Sequence
from functools import partial

import structlog

from bot import audit
from bot.changes.stale import StaleError, held_series
from bot.errors import BotError
from bot.events import browse
from bot.events.admin_wording import config_lines, named
from bot.events.exceptions import occurrence_at
from bot.events.generate import CASCADED_FIELDS, event_as_series, rule_of, signups_open_at
from bot.events.lifecycle import wake_after_move
from bot.message import timestamps
from bot.message.outgoing import ButtonStyle
from bot.message.proposal import Proposal, Reply, Way, leave
from bot.scheduling import due_rows
from bot.scheduling.agenda import Agenda
from bot.times.when import Ambiguous, read_moment
from bot.transactions import atomic
from models.event import Event
from models.event_repeater import EventRepeater
from models.states import EventState

_log = structlog.get_logger(__name__)


class ExtraTakenError(BotError):
    """The series is at that time anyway."""

    def __init__(self, series: EventRepeater, moment: dt.datetime, why: str) -> None:
        super().__init__(f"{named(series)} {why} {timestamps.full(moment)}; choose another time for the extra event.")
        self.series_id, self.moment = series.id, moment


class ExtraPassedError(BotError):
    """The extra event was to begin at a moment that has passed."""

    def __init__(self, series: EventRepeater, moment: dt.datetime) -> None:
        super().__init__(
            f"{timestamps.full(moment)} has passed meanwhile; give {named(series)} an extra event at a later time."
        )
        self.series_id, self.moment = series.id, moment


class ExtraEvents:
    """Adds events to series off their schedule; ``instance`` signs the audit."""

    def __init__(
        self, agenda: Agenda, *, debounce: dt.timedelta, default_timezone: str, instance: str | None = None
    ) -> None:
        self._agenda = agenda
        self._debounce = debounce
        self._default_timezone = default_timezone
        self._instance = instance

    async def propose(self, typed: str, when: str, *, guild_id: int, actor: int, now: dt.datetime) -> Reply:
        """
        Return what would be added, or which of several times was meant; nothing is stored.

        Raises:
            NoSuchSeriesError, WhenError, ExtraTakenError: it cannot be.
        """
        series = await browse.find_series(typed, guild_id=guild_id)
        clock = await browse.zone_for(guild_id, actor, default=self._default_timezone)
        reading = read_moment(when, timezone=clock.timezone, now=now)
        notes = tuple(clock.notes)
        if isinstance(reading, Ambiguous):
            ways = [
                Way(option.label, partial(self._preview, series, option.moment, notes, actor))
                for option in reading.options
            ]
            return Proposal(reading.question, (*ways, leave()))
        return await self._preview(series, reading.moment, notes, actor, now)

    async def _preview(
        self, series: EventRepeater, moment: dt.datetime, notes: Sequence[str], actor: int, now: dt.datetime
    ) -> Reply:
        fresh = await EventRepeater.get_or_none(id=series.id, guild_id=series.guild_id)
        if fresh is None:
            raise StaleError(series)
        await _refuse_taken(fresh, moment, now=now)
        add = partial(self._add, fresh, moment, actor)
        return Proposal(_shown(fresh, moment, notes, now=now), (Way("Add", add, ButtonStyle.SUCCESS), leave()))

    async def _add(self, shown: EventRepeater, moment: dt.datetime, actor: int, now: dt.datetime) -> Reply:
        async def _unit() -> Event:
            # Held, so that of two at once the second sees the first one's event.
            series = await held_series(shown)
            if _stands(series) != _stands(shown):
                raise StaleError(series)
            await _refuse_taken(series, moment, now=now)
            event = _row(series, moment, actor=actor, now=now)
            await event.save(force_create=True)
            await due_rows.refresh([event.id])
            after = {"name": event.name, "scheduled_at": moment.isoformat(), "series": series.id}
            await audit.record(
                "event.create",
                guild_id=series.guild_id,
                actor_user_id=actor,
                subject_id=event.id,
                now=now,
                after=after,
                instance=self._instance,
            )
            return event

        event = await atomic(_unit)
        _log.info("event_created", guild=event.guild_id, event_id=event.id, series=shown.id, actor=actor)
        wake_after_move(self._agenda, now=now, debounce=self._debounce)
        return f"An extra event of {named(event)} was added: {timestamps.full_and_relative(moment)}."


async def _refuse_taken(series: EventRepeater, moment: dt.datetime, *, now: dt.datetime) -> None:
    if moment <= now:
        raise ExtraPassedError(series, moment)
    if occurrence_at(series, moment) is not None:
        raise ExtraTakenError(series, moment, "returns by its own rule on")
    there = Event.filter(series_id=series.id, guild_id=series.guild_id, scheduled_at=moment)
    if await there.exclude(state=EventState.CANCELLED).exists():
        raise ExtraTakenError(series, moment, "has an event already on")


def _stands(series: EventRepeater) -> tuple[object, ...]:
    """Return everything of a series that an extra event takes over, and what decides when it may be."""
    return (series.name, series.description, rule_of(series), *(getattr(series, name) for name in CASCADED_FIELDS))


def _row(series: EventRepeater, moment: dt.datetime, *, actor: int, now: dt.datetime) -> Event:
    event = event_as_series(series, moment, now=now)
    event.is_off_schedule, event.created_by = True, actor
    event.signups_open_at = max(now, signups_open_at(series, scheduled_at=moment, now=now))
    return event


def _shown(series: EventRepeater, moment: dt.datetime, notes: Sequence[str], *, now: dt.datetime) -> str:
    ends_at = moment + dt.timedelta(minutes=series.duration_minutes)
    places = "without limit" if series.max_players is None else str(series.max_players)
    opens = signups_open_at(series, scheduled_at=moment, now=now)
    return "\n".join(
        [
            f"Add an extra event to {named(series)}?",
            f"Begins {timestamps.full_and_relative(moment)}, ends {timestamps.full(ends_at)}.",
            f"Places: {places}. Sign-ups open {timestamps.full(opens) if opens > now else 'at once'}.",
            *config_lines(series, has_series=True),
            "It is as the series is now; later edits of the series leave it alone.",
            *notes,
        ]
    )
