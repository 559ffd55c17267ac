"""
Skip one occurrence of a series, and let it return: shown first, then made exactly as shown or refused.

A skipped date is never generated. Its event, if there is one, goes: deleted where nobody was told of it, else
cancelled. Source: 02-reminders.md, "Generation and exceptions".
"""

import datetime as dt
from collections.abc import Awaitable
from dataclasses import dataclass
from functools import partial
from typing import Final, Protocol

import structlog

from bot import audit
from bot.changes.series_state import ZoneGoneError
from bot.changes.skip_plan import A_YEAR, DateChange, NoOccurrenceError, plan_return, plan_skip
from bot.changes.stale import StaleError, held_series
from bot.changes.withdrawal import Removal, revive, withdraw
from bot.events import browse
from bot.events.admin_wording import named
from bot.events.exceptions import (
    cancelled_columns,
    forget_skipped,
    note_moved,
    note_skipped,
    occurrences_on,
    skipped_dates,
)
from bot.events.generate import generate_events_for_repeater
from bot.events.lifecycle import Also, transition, wake_after_change
from bot.message.choice import Found
from bot.message.limits import CHOICES
from bot.message.outgoing import ButtonStyle
from bot.message.proposal import Proposal, Reply, Way, leave
from bot.scheduling.agenda import Agenda
from bot.times.known_timezones import known_timezones
from bot.times.recurrence import local_today
from bot.times.typed_date import AmbiguousDate, in_words, read_date
from bot.times.typed_time import WhenError
from bot.times.which_was_meant import ask_which_date
from bot.transactions import atomic
from models.event import Event
from models.event_repeater import EventRepeater
from models.states import AHEAD, EventState

_log = structlog.get_logger(__name__)

# As what the audit has what becomes of an event by this.
_SKIPPED: Final = "event.skip"
_UNSKIPPED: Final = "event.unskip"


class _Planner(Protocol):
    def __call__(self, series: EventRepeater, date: dt.date, *, now: dt.datetime) -> Awaitable[DateChange]: ...


@dataclass(frozen=True, slots=True)
class _Question:
    """What may be done about a date: how it is worked out, and the button that does it."""

    plan: _Planner
    label: str
    style: ButtonStyle


_SKIP: Final = _Question(plan_skip, "Skip it", ButtonStyle.DANGER)
_RETURN: Final = _Question(plan_return, "Let it return", ButtonStyle.SUCCESS)


class SeriesSkips:
    """Takes dates out of series and puts them back; ``instance`` signs the audit."""

    def __init__(self, agenda: Agenda, *, debounce: dt.timedelta, instance: str | None = None) -> None:
        self._agenda = agenda
        self._debounce = debounce
        self._instance = instance

    async def propose_skip(self, typed: str, date: str, *, guild_id: int, actor: int, now: dt.datetime) -> Reply:
        """
        Return what skipping a date would do, or which of two dates was meant; nothing is stored.

        Raises:
            NoSuchSeriesError, WhenError, NoOccurrenceError, ZoneGoneError: it cannot be.
        """
        return await self._read(await browse.find_series(typed, guild_id=guild_id), date, _SKIP, actor, now)

    async def propose_return(self, typed: str, date: str, *, guild_id: int, actor: int, now: dt.datetime) -> Reply:
        """
        Return what letting a skipped date return would do, or which of two dates was meant; nothing is stored.

        Raises:
            NoSuchSeriesError, WhenError, NoOccurrenceError, ZoneGoneError: it cannot be.
        """
        return await self._read(await browse.find_series(typed, guild_id=guild_id), date, _RETURN, actor, now)

    async def _read(
        self, series: EventRepeater, typed: str, question: _Question, actor: int, now: dt.datetime
    ) -> Reply:
        if series.timezone not in known_timezones():
            raise ZoneGoneError(series)
        reading = read_date(typed, option="date", today=local_today(now, series.timezone))
        show = partial(self._show, series, question, actor)
        if isinstance(reading, AmbiguousDate):
            return ask_which_date(reading, show)
        return await show(reading.date, now)

    async def _show(
        self, series: EventRepeater, question: _Question, actor: int, date: dt.date, now: dt.datetime
    ) -> Reply:
        shown = await question.plan(series, date, now=now)
        apply = partial(self._apply, shown, question, actor)
        return Proposal(shown.text, (Way(question.label, apply, question.style), leave("Back")))

    async def _apply(self, shown: DateChange, question: _Question, actor: int, now: dt.datetime) -> Reply:
        make = self._skip if question is _SKIP else self._let_return

        async def _unit() -> str:
            series = await held_series(shown.series)
            try:
                fresh = await question.plan(series, shown.date, now=now)
            except (NoOccurrenceError, ZoneGoneError):
                raise StaleError(series) from None  # it could be when it was shown
            if fresh != shown:
                raise StaleError(series)
            return await make(fresh, actor=actor, now=now)

        says = await atomic(_unit)
        series, date = shown.series, shown.date.isoformat()
        _log.info("series_date_changed", guild=series.guild_id, series=series.id, date=date, actor=actor)
        wake_after_change(self._agenda, now=now, debounce=self._debounce)
        return says

    async def _skip(self, change: DateChange, *, actor: int, now: dt.datetime) -> str:
        await note_skipped(change.series.id, change.date)
        for event in change.events:
            if not await self._take_away(event, actor=actor, now=now):
                raise StaleError(change.series)
        await self._record(change, "skipped", actor=actor, now=now)
        return f"{named(change.series)} skips {in_words(change.date)}."

    async def _take_away(self, event: Event, *, actor: int, now: dt.datetime) -> bool:
        if event.state is EventState.UPCOMING:
            done = await withdraw(
                event,
                now=now,
                debounce=self._debounce,
                actor_user_id=actor,
                instance=self._instance,
                action=_SKIPPED,
            )
            return done is not Removal.LOST
        return await transition(
            event,
            allowed=AHEAD,
            to=EventState.CANCELLED,
            now=now,
            debounce=self._debounce,
            actor_user_id=actor,
            instance=self._instance,
            also=Also(_SKIPPED, await cancelled_columns(event)),
        )

    async def _let_return(self, change: DateChange, *, actor: int, now: dt.datetime) -> str:
        series = change.series
        if not await forget_skipped(series.id, change.date):
            raise StaleError(series)
        for event in change.events:
            stands = await revive(
                event,
                now=now,
                debounce=self._debounce,
                actor_user_id=actor,
                instance=self._instance,
                action=_UNSKIPPED,
            )
            if not stands:
                raise StaleError(series)
            if "scheduled_at" in event.overridden_fields:
                await note_moved(series.id, change.date, is_back=False)
        await generate_events_for_repeater(series, now=now)
        await self._record(change, "returns", actor=actor, now=now)
        if change.stays_cancelled:
            day = in_words(change.date)
            return f"{named(series)} does not skip {day} any more; the event that it had stays cancelled."
        return f"{named(series)} returns on {in_words(change.date)} after all."

    async def _record(self, change: DateChange, what: str, *, actor: int, now: dt.datetime) -> None:
        await audit.record(
            "series.edit",
            guild_id=change.series.guild_id,
            actor_user_id=actor,
            subject_id=change.series.id,
            now=now,
            after={what: change.date.isoformat()},
            instance=self._instance,
        )


async def search_dates(series: str, typed: str, *, guild_id: int, now: dt.datetime, skipped: bool) -> list[Found]:
    """
    Return at most 25 dates of the next year on which a series returns, or those that it skips, soonest first.

    Until a series is chosen it is the date that was typed, as it is read.
    """
    series_id = browse.row_id(series)
    chosen = await EventRepeater.get_or_none(id=series_id, guild_id=guild_id) if series_id is not None else None
    if chosen is None or chosen.timezone not in known_timezones():
        return _as_typed(typed, now.date())
    today = local_today(now, chosen.timezone)
    out = await skipped_dates(chosen.id, since=today)
    grid = [one.local_date for one in occurrences_on(chosen, today, today + A_YEAR) if one.starts_at > now]
    dates = out if skipped else [one for one in grid if one not in set(out)]
    found = [Found(f"{date:%a} {in_words(date)}", date.isoformat()) for date in dates]
    wanted = typed.strip().lower()
    return [one for one in found if wanted in one.label.lower() or wanted in one.value][:CHOICES]


def _as_typed(typed: str, today: dt.date) -> list[Found]:
    try:
        reading = read_date(typed, option="date", today=today)
    except WhenError:
        return []
    dates = reading.dates if isinstance(reading, AmbiguousDate) else (reading.date,)
    return [Found(in_words(date), date.isoformat()) for date in dates]
