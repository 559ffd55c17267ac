"""
Move one event to another time: shown first, then made exactly as shown or refused.

A one-off simply moves. An occurrence of a series keeps its slot, is marked as moved, and its day is never generated
again; moved back to the time that its series gives it, it is an occurrence like any other again. What was sent stays
sent; those who signed up may be told the new time, once. Source: 02-reminders.md, "Generation and exceptions".
"""

import datetime as dt
from dataclasses import dataclass, field
from functools import partial

import structlog

from bot.changes.already_sent import sent_lines
from bot.changes.asked_again import asked_again
from bot.changes.edited_event import Editor, follow_edit
from bot.changes.extras import refuse_taken
from bot.changes.stale import StaleError, held_event, held_series, refuse_unless_ahead
from bot.errors import BotError
from bot.events import browse
from bot.events.admin_wording import named
from bot.events.exceptions import date_of, exception_on, has_slot, is_own_time, note_moved, occurrence_at
from bot.events.lifecycle import wake_after_change
from bot.events.own_zone import zone_for
from bot.leases.event_rows import forget_fan_outs
from bot.message import timestamps
from bot.message.proposal import Proposal, Reply, Way, leave
from bot.scheduling.agenda import Agenda
from bot.scheduling.bodies import TELL_TIME_CHANGES
from bot.times.when import Ambiguous, read_moment
from bot.times.which_was_meant import ask_which_time
from bot.transactions import atomic
from models.event import Event
from models.event_repeater import EventRepeater
from models.states import MAY_COME, EventState

_log = structlog.get_logger(__name__)

_SCHEDULED_AT = "scheduled_at"


class SameTimeError(BotError):
    """The event is at that time already."""

    def __init__(self, event: Event) -> None:
        super().__init__(f"{named(event)} is on {timestamps.full(event.scheduled_at)} already.")
        self.event_id = event.id


class NewTimePassedError(BotError):
    """The new time has passed while it was asked about."""

    def __init__(self, event: Event, moment: dt.datetime) -> None:
        super().__init__(f"{timestamps.full(moment)} has passed meanwhile; move {named(event)} to a later time.")
        self.event_id = event.id


@dataclass(frozen=True, slots=True)
class _Asked:
    """How a move was asked for, and by whom; ``notes`` are sentences to read before it is made."""

    tell: bool | None
    actor: int
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Move:
    """
    One move as it is shown and then made; two are equal where they do the same.

    ``is_noted``: its series has its slot, so that the date is noted as moved; one that was kept from an older schedule
    is not in the way of what the series makes now. ``again``: the sources of reminders that asked nobody and are due
    anew. ``text`` is what the admin reads: how many are told may differ by the time they are.
    """

    event: Event = field(compare=False)
    series: EventRepeater | None = field(compare=False)
    stood: tuple[object, ...]
    to: dt.datetime
    opens_at: dt.datetime | None
    overridden: tuple[str, ...]
    is_back: bool
    is_noted: bool
    tells: bool
    again: tuple[str, ...]
    sent: tuple[str, ...]
    text: str = field(compare=False)


class EventTimes:
    """Moves events; ``debounce`` after a move the event's post is edited, ``instance`` signs the audit."""

    def __init__(
        self, agenda: Agenda, *, debounce: dt.timedelta, default_timezone: str, instance: str | None = None
    ) -> None:
        self._agenda = agenda
        self._debounce = debounce
        self._default_timezone = default_timezone
        self._instance = instance

    async def propose(
        self, typed: str, when: str, *, tell: bool | None, guild_id: int, actor: int, now: dt.datetime
    ) -> Reply:
        """
        Return what the move would do, or which of several times was meant; nothing is stored.

        ``tell`` None: those who signed up are told, if there are any.

        Raises:
            NoSuchEventError, NotAheadError, WhenError, SameTimeError, ExtraTakenError: it cannot be.
        """
        event = await browse.find_event(typed, guild_id=guild_id)
        refuse_unless_ahead(event, now=now, cannot="moved")
        clock = await zone_for(guild_id, actor, default=self._default_timezone)
        reading = read_moment(when, timezone=clock.timezone, now=now)
        preview = partial(self._preview, event, _Asked(tell, actor, tuple(clock.notes)))
        if isinstance(reading, Ambiguous):
            return ask_which_time(reading, preview)
        return await preview(reading.moment, now)

    async def _preview(self, event: Event, asked: _Asked, moment: dt.datetime, now: dt.datetime) -> Reply:
        fresh = await Event.get_or_none(id=event.id, guild_id=event.guild_id)
        if fresh is None:
            raise StaleError(event)
        series = await _series_of(fresh)
        shown = await _planned(fresh, series, moment, asked, now=now)
        apply = partial(self._apply, shown, asked)
        return Proposal(shown.text, (Way("Move the event", apply), leave("Back")))

    async def _apply(self, shown: _Move, asked: _Asked, now: dt.datetime) -> Reply:
        async def _unit() -> Event:
            series = await held_series(shown.series) if shown.series is not None else None
            event = await held_event(shown.event)
            if await _planned(event, series, shown.to, asked, now=now) != shown:
                raise StaleError(event)
            await self._make(event, shown, actor=asked.actor, now=now)
            return event

        event = await atomic(_unit)
        _log.info("event_rescheduled", guild=event.guild_id, event_id=event.id, actor=asked.actor, tells=shown.tells)
        wake_after_change(self._agenda, now=now, debounce=self._debounce)
        self._agenda.wake(TELL_TIME_CHANGES, now)
        told = " Those who signed up are told by direct message." if shown.tells else ""
        return f"{named(event)} was moved to {timestamps.full_and_relative(event.scheduled_at)}.{told}"

    async def _make(self, event: Event, move: _Move, *, actor: int, now: dt.datetime) -> None:
        before = event.scheduled_at
        event.scheduled_at, event.signups_open_at = move.to, move.opens_at
        event.overridden_fields = list(move.overridden)
        event.time_changes += move.tells
        changed = [_SCHEDULED_AT, "signups_open_at", "overridden_fields", "time_changes"]
        await event.save(update_fields=changed)
        await forget_fan_outs(event.id, move.again)
        if move.is_noted and event.series_id is not None and event.slot is not None:
            await note_moved(event.series_id, date_of(event.slot), is_back=move.is_back)
        await follow_edit(
            event,
            by=Editor(actor, self._instance),
            before={_SCHEDULED_AT: before.isoformat()},
            after={_SCHEDULED_AT: move.to.isoformat()},
            now=now,
            debounce=self._debounce,
        )


async def _series_of(event: Event) -> EventRepeater | None:
    if event.series_id is None:
        return None
    return await EventRepeater.get_or_none(id=event.series_id, guild_id=event.guild_id)


async def _planned(
    event: Event, series: EventRepeater | None, moment: dt.datetime, asked: _Asked, *, now: dt.datetime
) -> _Move:
    """Return what moving the event to ``moment`` does as things stand, or raise why it cannot be."""
    refuse_unless_ahead(event, now=now, cannot="moved")
    if moment == event.scheduled_at:
        raise SameTimeError(event)
    if moment <= now:
        raise NewTimePassedError(event, moment)
    if series is not None and event.is_off_schedule:
        await refuse_taken(series, moment, now=now, but=event)
    opens = event.signups_open_at
    if opens is not None and event.signup_opens_hours is not None:
        opens += moment - event.scheduled_at  # without hours it is the moment of creation, which does not move
    counts = (await browse.answer_counts([event.id]))[event.id]
    # An upcoming event holds no sign-ups: what a revived one has left of its first life does not count.
    people = sum(counts[status] for status in MAY_COME) if event.state is not EventState.UPCOMING else 0
    is_back = series is not None and event.slot is not None and is_own_time(series, event.slot, moment)
    others = [name for name in event.overridden_fields if name != _SCHEDULED_AT]
    marked = series is not None and event.slot is not None and not is_back
    overridden = (*others, _SCHEDULED_AT) if marked else tuple(others)
    tells = asked.tell is not False and people > 0
    again = await asked_again(event, starts_at=moment, now=now)
    sent = await sent_lines(event.id, again=again)
    lines = [
        f"Move {named(event)} from {timestamps.full(event.scheduled_at)} to {timestamps.full_and_relative(moment)}?",
        *_opening(event, opens, now),
        *_belonging(event, series, is_back=is_back),
        *sent,
        *_telling(people, tells=tells),
        *await _twins(event, series, moment),
        *asked.notes,
    ]
    stood = (event.state, event.scheduled_at, event.signups_open_at, event.name, event.series_id, event.time_changes)
    is_noted = series is not None and event.slot is not None and has_slot(series, event.slot)
    due_anew = tuple(entry.log_source for entry in again)
    return _Move(
        event, series, stood, moment, opens, overridden, is_back, is_noted, tells, due_anew, sent, "\n".join(lines)
    )


def _opening(event: Event, opens: dt.datetime | None, now: dt.datetime) -> list[str]:
    if event.state is not EventState.UPCOMING or opens is None:
        return []
    return ["Sign-ups open at once." if opens <= now else f"Sign-ups open {timestamps.full(opens)}."]


def _belonging(event: Event, series: EventRepeater | None, *, is_back: bool) -> list[str]:
    if series is None or event.slot is None:
        return []
    if is_back:
        return [f"That is the time that {named(series)} gives it, so that it follows the series again."]
    return [f"It stays part of {named(series)}, which makes no other event in its place and moves it no more."]


def _telling(people: int, *, tells: bool) -> list[str]:
    if not people:
        return ["Nobody has signed up, so nobody is told."]
    if not tells:
        return ["Nobody is told by direct message, so tell those who signed up yourself."]
    who = "the 1 person who signed up" if people == 1 else f"those who signed up, {people} people now,"
    return [f"The new time goes once to {who} by direct message."]


async def _twins(event: Event, series: EventRepeater | None, moment: dt.datetime) -> list[str]:
    """Return what an admin is to know of other events at that time: it is theirs to say whether two are too many."""
    at_once = Event.filter(guild_id=event.guild_id, scheduled_at=moment).exclude(id=event.id)
    others = at_once.exclude(state=EventState.CANCELLED)
    stands = series is not None and await others.filter(series_id=series.id).exists()
    if series is not None and (stands or await _comes(event, series, moment)):
        two = f"{named(series)} has an event of its own at that time, so that there will be two"
        return [f"{two}: skip that date, or cancel one of the two, if one is enough."]
    if await others.filter(name=event.name).exists():
        return ["There is another event of this name at that time already."]
    return []


async def _comes(event: Event, series: EventRepeater, moment: dt.datetime) -> bool:
    """Return whether a series is still to make an event at that time."""
    one = occurrence_at(series, moment)
    if one is None or one.slot == event.slot or not series.is_active:
        return False
    is_held = await Event.filter(series_id=series.id, slot=one.slot).exists()
    return not is_held and await exception_on(series.id, one.local_date) is None
