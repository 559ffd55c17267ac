"""
Who comes to an event: the only writer of ``EventSignup``.

Every press is one transaction that locks the event first, as whoever writes its due rows does, so that the last place
goes to one of any number who press at once, and nobody waits for each other in a circle. The change, everybody it moves
up and the mark on the event's post share it. Source: 02-reminders.md, "Sign-ups".
"""

import datetime as dt
from collections.abc import Iterable
from dataclasses import dataclass

import structlog

from bot.events import signup_wording as wording
from bot.events.posts import mark_changed
from bot.events.signup_rules import (
    WANTED,
    EventGoneError,
    Press,
    changes_nothing,
    refuse_by_person,
    refuse_by_state,
    refuse_closed,
)
from bot.scheduling.agenda import Agenda
from bot.scheduling.bodies import SYNC_DISCORD_EVENTS
from bot.transactions import atomic, fetch, integer
from models.event import Event
from models.event_signup import EventSignup
from models.states import ATTENDING, EventState, SignupStatus

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class SignupAnswer:
    """
    What became of one press: ``sentence`` is what the person reads, privately.

    ``position`` is the rank in line, 1 for the first, None off the line. ``promoted`` names who moved up from the line
    by it, in that order.
    """

    sentence: str
    changed: bool
    status: SignupStatus
    position: int | None = None
    promoted: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Person:
    """One person and what they said."""

    user_id: int
    status: SignupStatus


@dataclass(frozen=True, slots=True)
class People:
    """Everybody who said something about an event: those with a place as they came, the line as it waits."""

    attending: tuple[Person, ...] = ()
    waitlisted: tuple[Person, ...] = ()
    tentative: tuple[Person, ...] = ()
    declined: tuple[Person, ...] = ()


@dataclass(frozen=True, slots=True)
class _Room:
    """How an event is filled; ``last`` is the highest stored position of its line."""

    attending: int
    waiting: int
    last: int

    def is_taken(self, limit: int | None) -> bool:
        """Return whether somebody new has to go to the end of the line: those in it come first."""
        return limit is not None and self.attending + self.waiting >= limit


class Signups:
    """The buttons of events; ``debounce`` after a change their posts are edited."""

    def __init__(self, agenda: Agenda, *, debounce: dt.timedelta) -> None:
        self._agenda = agenda
        self._debounce = debounce

    async def press(
        self,
        press: Press,
        event_id: int,
        *,
        guild_id: int,
        user_id: int,
        role_ids: frozenset[int] | None,
        now: dt.datetime,
    ) -> SignupAnswer:
        """
        Do what one person asks for by a button; pressing again changes nothing and says so.

        ``role_ids``: the person's roles in the guild, None where Discord did not say.

        Raises:
            BotError: it is refused and nothing is stored; see :mod:`bot.events.signup_rules`.
        """

        async def _unit() -> SignupAnswer:
            event = await _locked(event_id, guild_id)
            row = await EventSignup.get_or_none(event_id=event_id, user_id=user_id)
            status = row.status if row is not None else None
            refuse_closed(event, now=now)
            # An upcoming event holds no sign-ups: what a revived one has left of its first life does not count.
            if status is not None and event.state is not EventState.UPCOMING and changes_nothing(press, status):
                return await _again(event, status, user_id=user_id)
            refuse_by_state(press, event, status, now=now)
            refuse_by_person(press, event, status, role_ids=role_ids)
            answer = await _apply(press, event, row or _new_row(event, user_id, now), before=status, now=now)
            await mark_changed(event_id, now=now, debounce=self._debounce)
            return answer

        answer = await atomic(_unit)
        if answer.changed:
            self._agenda.wake(SYNC_DISCORD_EVENTS, now + self._debounce)
            _log.info(
                "signup_changed",
                guild=guild_id,
                event_id=event_id,
                user=user_id,
                status=answer.status.value,
                promoted=len(answer.promoted),
            )
        return answer


async def _locked(event_id: int, guild_id: int) -> Event:
    # In the mode in which due rows lock it: a foreign key may still be checked against it.
    event = await Event.filter(id=event_id, guild_id=guild_id).select_for_update(no_key=True).first()
    if event is None:
        raise EventGoneError(event_id)
    return event


def _new_row(event: Event, user_id: int, now: dt.datetime) -> EventSignup:
    return EventSignup(event_id=event.id, user_id=user_id, created_at=now)


async def _again(event: Event, status: SignupStatus, *, user_id: int) -> SignupAnswer:
    position = await _rank(event.id, user_id) if status is SignupStatus.WAITLISTED else None
    sentence = wording.already(event, status, position=position)
    return SignupAnswer(sentence, changed=False, status=status, position=position)


async def _apply(
    press: Press, event: Event, row: EventSignup, *, before: SignupStatus | None, now: dt.datetime
) -> SignupAnswer:
    room = await _room(event.id)
    row.status, row.position = WANTED[press], None
    if row.status is SignupStatus.SIGNED_UP and room.is_taken(event.max_players):
        row.status, row.position = SignupStatus.WAITLISTED, room.last + 1
    if row.status is SignupStatus.CONFIRMED:
        row.confirmed_at = now
    else:
        # Those with a place are listed as they came, so that confirming leaves them where they are.
        row.changed_at, row.confirmed_at = now, None
    await row.save()
    promoted = await fill_places(event, now=now) if room.waiting else ()
    position = await _rank(event.id, row.user_id) if row.status is SignupStatus.WAITLISTED else None
    sentence = wording.changed(event, before, row.status, position=position)
    return SignupAnswer(sentence, changed=True, status=row.status, position=position, promoted=promoted)


async def fill_places(event: Event, *, now: dt.datetime) -> tuple[int, ...]:
    """
    Give every free place to the first in line; return their user ids, in that order.

    Call it inside the transaction that locked the event and freed the places, or raised its limit.
    """
    line = EventSignup.filter(event_id=event.id, status=SignupStatus.WAITLISTED).order_by("position")
    if event.max_players is not None:
        free = event.max_players - (await _room(event.id)).attending
        if free <= 0:
            return ()
        line = line.limit(free)
    promoted = await line
    if promoted:
        await EventSignup.filter(
            event_id=event.id, status=SignupStatus.WAITLISTED, position__lte=promoted[-1].position
        ).update(status=SignupStatus.SIGNED_UP, position=None, changed_at=now)
    return tuple(row.user_id for row in promoted)


async def _room(event_id: int) -> _Room:
    rows = await fetch(
        "SELECT COUNT(CASE WHEN status <> 'waitlisted' THEN 1 END) AS attending, COUNT(position) AS waiting,"
        " COALESCE(MAX(position), 0) AS last FROM event_signup"
        " WHERE event_id = $1 AND status IN ('signed_up', 'confirmed', 'waitlisted')",
        [event_id],
    )
    return _Room(integer(rows[0]["attending"]), integer(rows[0]["waiting"]), integer(rows[0]["last"]))


async def places_taken(event_id: int) -> int:
    """Return how many people have a place."""
    return (await _room(event_id)).attending


async def _rank(event_id: int, user_id: int) -> int:
    rows = await fetch(
        "SELECT COUNT(*) AS rank FROM event_signup WHERE event_id = $1 AND status = 'waitlisted' AND position <="
        " (SELECT position FROM event_signup WHERE event_id = $1 AND user_id = $2)",
        [event_id, user_id],
    )
    return integer(rows[0]["rank"])


async def guild_of_event(event_id: int) -> int:
    """
    Return the server of an event, for a press in a DM, which says none.

    Raises:
        EventGoneError: there is no such event.
    """
    found = await Event.filter(id=event_id).values_list("guild_id", flat=True)
    if not found:
        raise EventGoneError(event_id)
    return integer(found[0])


async def people_of(event_id: int) -> People:
    """Return everybody who said something about an event, but for those whom an admin took off it."""
    rows = await EventSignup.filter(event_id=event_id).order_by("changed_at", "id")
    line = sorted((row for row in rows if row.status is SignupStatus.WAITLISTED), key=lambda row: row.position or 0)
    return People(
        attending=_persons(row for row in rows if row.status in ATTENDING),
        waitlisted=_persons(line),
        tentative=_persons(row for row in rows if row.status is SignupStatus.TENTATIVE),
        declined=_persons(row for row in rows if row.status is SignupStatus.DECLINED),
    )


def _persons(rows: Iterable[EventSignup]) -> tuple[Person, ...]:
    return tuple(Person(row.user_id, row.status) for row in rows)
