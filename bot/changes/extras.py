"""
Extra events of a series, off its schedule: never realigned, never cascaded to.

Source: 02-reminders.md, "Generation and exceptions".
"""

import datetime as dt
from collections.abc import Iterable, Sequence
from functools import partial

import structlog

from bot import audit
from bot.changes.stale import StaleError, held_series
from bot.errors import BotError
from bot.events import browse
from bot.events.admin_wording import config_lines, named
from bot.events.exceptions import occurrence_at
from bot.events.generate import CASCADED_FIELDS, event_as_series, opening_when_made, rule_of
from bot.events.lifecycle import wake_after_change
from bot.events.own_zone import zone_for
from bot.message import timestamps
from bot.message.outgoing import ButtonStyle
from bot.message.proposal import Proposal, Reply, Way, leave
from bot.scheduling import due_rows
from bot.scheduling.agenda import Agenda
from bot.times.when import Ambiguous, read_moment
from bot.times.which_was_meant import ask_which_time
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


class RuleOnExtraError(BotError):
    """The series would return at the time of one of its extra events."""

    def __init__(self, series: EventRepeater, event: Event) -> None:
        super().__init__(
            f"{named(series)} has an extra event on {timestamps.full(event.scheduled_at)}, at which the new schedule"
            " would have one too; choose another schedule, or move or cancel the extra event first."
        )
        self.event_id = event.id


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
        clock = await zone_for(guild_id, actor, default=self._default_timezone)
        reading = read_moment(when, timezone=clock.timezone, now=now)
        preview = partial(self._preview, series, tuple(clock.notes), actor)
        if isinstance(reading, Ambiguous):
            return ask_which_time(reading, preview)
        return await preview(reading.moment, now)

    async def _preview(
        self, series: EventRepeater, notes: Sequence[str], actor: int, moment: dt.datetime, now: dt.datetime
    ) -> Reply:
        fresh = await EventRepeater.get_or_none(id=series.id, guild_id=series.guild_id)
        if fresh is None:
            raise StaleError(series)
        await refuse_taken(fresh, moment, now=now)
        add = partial(self._add, fresh, moment, actor)
        return Proposal(_shown(fresh, moment, notes, now=now), (Way("Add", add, ButtonStyle.SUCCESS), leave()))

    async def _add(self, shown: EventRepeater, moment: dt.datetime, actor: int, now: dt.datetime) -> Reply:
        async def _unit() -> Event:
            # Held, so that of two at once the second sees the first one's event.
            series = await held_series(shown)
            if _stands(series) != _stands(shown):
                raise StaleError(series)
            await refuse_taken(series, moment, now=now)
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
        wake_after_change(self._agenda, now=now, debounce=self._debounce)
        return f"An extra event of {named(event)} was added: {timestamps.full_and_relative(moment)}."


async def refuse_taken(
    series: EventRepeater, moment: dt.datetime, *, now: dt.datetime, but: Event | None = None
) -> None:
    """
    Refuse a time for an extra event, ``but`` being the one that is moved there.

    Raises:
        ExtraPassedError, ExtraTakenError: it has passed, or the series is there anyway.
    """
    if moment <= now:
        raise ExtraPassedError(series, moment)
    if occurrence_at(series, moment) is not None:
        raise ExtraTakenError(series, moment, "returns by its own rule on")
    there = Event.filter(series_id=series.id, guild_id=series.guild_id, scheduled_at=moment)
    others = there.exclude(id=but.id) if but is not None else there
    if await others.exclude(state=EventState.CANCELLED).exists():
        raise ExtraTakenError(series, moment, "has an event already on")


async def extras_ahead(series: EventRepeater, *, now: dt.datetime) -> list[Event]:
    """Return the extra events of a series that are ahead, soonest first."""
    extras = Event.filter(series_id=series.id, guild_id=series.guild_id, is_off_schedule=True, scheduled_at__gt=now)
    return await extras.order_by("scheduled_at", "id")


def refuse_rule_on_extra(series: EventRepeater, events: Iterable[Event]) -> None:
    """
    Refuse a schedule that has an occurrence where one of its extra ``events`` is.

    Raises:
        RuleOnExtraError: it has.
    """
    for event in events:
        stands = event.is_off_schedule and event.state is not EventState.CANCELLED
        if stands and occurrence_at(series, event.scheduled_at) is not None:
            raise RuleOnExtraError(series, event)


def _stands(series: EventRepeater) -> tuple[object, ...]:
    """Return everything of a series that an extra event takes over, and what decides when it may be."""
    return (series.name, series.description, rule_of(series), *(getattr(series, name) for name in CASCADED_FIELDS))


def _row(series: EventRepeater, moment: dt.datetime, *, actor: int, now: dt.datetime) -> Event:
    event = event_as_series(series, moment, now=now)
    event.is_off_schedule, event.created_by = True, actor
    event.signups_open_at = opening_when_made(series, scheduled_at=moment, now=now)
    return event


def _shown(series: EventRepeater, moment: dt.datetime, notes: Sequence[str], *, now: dt.datetime) -> str:
    ends_at = moment + dt.timedelta(minutes=series.duration_minutes)
    places = "without limit" if series.max_players is None else str(series.max_players)
    opens = opening_when_made(series, scheduled_at=moment, now=now)
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
