"""
The transitions of an event that an admin makes: open the sign-ups, call the roll, reopen, start, cancel.

Another time is not among them: that is :mod:`bot.changes.event_time`. Each says a wrong state or a lost race in one
sentence that names the state the event is in. Source: 01-domain.md, "Event states".
"""

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import structlog

from bot.events import browse
from bot.events.admin_wording import STANDS, named, people
from bot.events.exceptions import cancelled_columns
from bot.events.lifecycle import Also, transition, wake_after_change
from bot.message import timestamps
from bot.message.outgoing import ButtonStyle
from bot.message.proposal import Proposal, Reply, Way, leave
from bot.scheduling.agenda import Agenda
from models.event import Event
from models.states import AHEAD, ATTENDING, OPEN_FOR_PEOPLE, EventState

_log = structlog.get_logger(__name__)


class Transition(StrEnum):
    """What an admin may do with the state of an event, as its command is called."""

    OPEN_SIGNUPS = "open-signups"
    ROLL_CALL = "roll-call"
    REOPEN = "reopen"
    START = "start"
    CANCEL = "cancel"


@dataclass(frozen=True, slots=True)
class _Rule:
    """From where to where a transition leads; ``cannot`` and ``done`` are sentences about ``{name}``."""

    allowed: frozenset[EventState]
    to: EventState
    cannot: str
    done: str
    only_before_start: bool = True


_RULES: Final[Mapping[Transition, _Rule]] = {
    Transition.OPEN_SIGNUPS: _Rule(
        frozenset({EventState.UPCOMING}),
        EventState.SIGNUPS_OPEN,
        "Sign-ups for {name} cannot be opened",
        "Sign-ups for {name} are open now.",
    ),
    Transition.ROLL_CALL: _Rule(
        frozenset({EventState.SIGNUPS_OPEN}),
        EventState.ROLL_CALL,
        "The roll for {name} cannot be called",
        "The roll call for {name} is on: nobody new can sign up until you reopen it.",
    ),
    Transition.REOPEN: _Rule(
        frozenset({EventState.ROLL_CALL}),
        EventState.SIGNUPS_OPEN,
        "Sign-ups for {name} cannot be reopened",
        "Sign-ups for {name} are open again.",
    ),
    Transition.START: _Rule(
        frozenset(OPEN_FOR_PEOPLE),
        EventState.IN_PROGRESS,
        "{name} cannot be started",
        "{name} has begun; sign-ups are closed.",
        only_before_start=False,
    ),
    Transition.CANCEL: _Rule(
        frozenset(AHEAD),
        EventState.CANCELLED,
        "{name} cannot be cancelled",
        "{name} was cancelled.",
        only_before_start=False,
    ),
}


def states_that_allow(which: Transition) -> frozenset[EventState]:
    """Return the states from which a transition is possible."""
    return _RULES[which].allowed


class Transitions:
    """The admin's transitions; ``debounce`` after one the event's post is edited, ``instance`` signs the audit."""

    def __init__(self, agenda: Agenda, *, debounce: dt.timedelta, instance: str | None = None) -> None:
        self._agenda = agenda
        self._debounce = debounce
        self._instance = instance

    async def make(self, which: Transition, typed: str, *, guild_id: int, actor: int, now: dt.datetime) -> str:
        """
        Make a transition that needs no confirmation; return what the admin reads.

        Raises:
            NoSuchEventError: the server has no such event.
        """
        event = await browse.find_event(typed, guild_id=guild_id)
        refused = _refusal(_RULES[which], event, now=now)
        return refused or await self._apply(_RULES[which], event, actor=actor, now=now)

    async def propose_cancel(self, typed: str, *, guild_id: int, actor: int, now: dt.datetime) -> Reply:
        """
        Return what cancelling would do, to be confirmed, or why it cannot be done.

        Raises:
            NoSuchEventError: the server has no such event.
        """
        rule = _RULES[Transition.CANCEL]
        event = await browse.find_event(typed, guild_id=guild_id)
        if refused := _refusal(rule, event, now=now):
            return refused
        shown = await _cancel_question(event)

        async def _confirmed(now: dt.datetime) -> Reply:
            fresh = await Event.get_or_none(id=event.id, guild_id=guild_id)
            if fresh is not None and fresh.state in rule.allowed and await _cancel_question(fresh) != shown:
                # Somebody signed up, or moved it: what was confirmed is not what would happen now.
                return await self.propose_cancel(typed, guild_id=guild_id, actor=actor, now=now)
            return await self._apply(rule, event, actor=actor, now=now)

        return Proposal(shown, (Way("Cancel the event", _confirmed, ButtonStyle.DANGER), leave("Back")))

    async def _apply(self, rule: _Rule, event: Event, *, actor: int, now: dt.datetime) -> str:
        cancels = rule.to is EventState.CANCELLED
        made = await transition(
            event,
            allowed=rule.allowed,
            to=rule.to,
            now=now,
            debounce=self._debounce,
            actor_user_id=actor,
            instance=self._instance,
            also=Also("event.cancel", await cancelled_columns(event)) if cancels else None,
        )
        if not made:
            return await _lost(event)
        _log.info("event_state_changed", guild=event.guild_id, event_id=event.id, to=rule.to.value, actor=actor)
        wake_after_change(self._agenda, now=now, debounce=self._debounce)
        return rule.done.format(name=named(event))


def _refusal(rule: _Rule, event: Event, *, now: dt.datetime) -> str | None:
    """Return why the transition cannot be made as the event stands, None if it can."""
    cannot = rule.cannot.format(name=named(event))
    if event.state is rule.to:
        return f"{cannot}: {STANDS[event.state]} already."
    if event.state not in rule.allowed:
        return f"{cannot}: {STANDS[event.state]}."
    if rule.only_before_start and event.scheduled_at <= now:
        return f"{cannot}: {STANDS[event.state]}, and its start {timestamps.full(event.scheduled_at)} has passed."
    return None


async def _lost(event: Event) -> str:
    fresh = await Event.get_or_none(id=event.id, guild_id=event.guild_id)
    if fresh is None:
        return f"{named(event)} was deleted meanwhile."
    return f"{named(fresh)} was changed by somebody else just now: {STANDS[fresh.state]}. Look at it, then try again."


async def _cancel_question(event: Event) -> str:
    counts = (await browse.answer_counts([event.id]))[event.id]
    coming = sum(counts[status] for status in ATTENDING)
    posted = event.announcement_message_id is not None
    told = "Its post will say that it is cancelled" if posted else "It has not been announced and will not be"
    return "\n".join(
        [
            f"Cancel {named(event)} on {timestamps.full_and_relative(event.scheduled_at)}?",
            f"People: {people(event, counts)}.",
            f"{told}; nobody gets a direct message about it{', so tell them yourself' if coming else ''}.",
            "Its reminders stop." + (" The series goes on." if event.series_id is not None else ""),
        ]
    )
