"""
Who comes to an event, by their own word: the buttons. With the modules beside it the only writer of ``EventSignup``.

Every press is one transaction that locks the event first, as whoever writes its due rows does, so that the last place
goes to one of any number who press at once, and nobody waits for each other in a circle. The change, everybody it moves
up and the mark on the event's post share it. Source: 02-reminders.md, "Sign-ups".
"""

import datetime as dt
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import structlog

from bot.events.posts import mark_changed
from bot.events.signups import wording
from bot.events.signups.people import rank
from bot.events.signups.rules import (
    WANTED,
    EventGoneError,
    OfferOverError,
    Press,
    changes_nothing,
    refuse_by_person,
    refuse_by_state,
    refuse_closed,
)
from bot.events.signups.waiting_line import fill_places, has_offer_at, room_of, wake_after_promotion
from bot.scheduling.agenda import Agenda
from bot.scheduling.bodies import SYNC_ATTENDEE_ROLES, SYNC_DISCORD_EVENTS
from bot.transactions import atomic, integer
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
            BotError: it is refused and nothing is stored; see :mod:`bot.events.signups.rules`.
        """

        async def _unit() -> tuple[SignupAnswer, Event]:
            event = await locked_event(event_id, guild_id)
            row = await EventSignup.get_or_none(event_id=event_id, user_id=user_id)
            status = row.status if row is not None else None
            refuse_closed(event, now=now)
            # An upcoming event holds no sign-ups: what a revived one has left of its first life does not count.
            is_settled = event.state is not EventState.UPCOMING and changes_nothing(press, status)
            # Who has an offer, or let one pass, asks for the place by signing up again.
            if row is not None and is_settled and not (press is Press.SIGN_UP and row.offered_until is not None):
                return await _again(event, row.status, user_id=user_id), event
            refuse_by_state(press, event, status, now=now)
            refuse_by_person(press, event, status, role_ids=role_ids)
            return await _apply(press, event, row or _new_row(event, user_id, now), before=status, now=now), event

        return await self._carry_out(_unit, user_id=user_id, now=now)

    async def answer_offer(
        self,
        event_id: int,
        *,
        accepts: bool,
        guild_id: int,
        user_id: int,
        role_ids: frozenset[int] | None,
        now: dt.datetime,
    ) -> SignupAnswer:
        """
        Take the place that one person was offered, or pass it on to the next in line; again changes nothing.

        Raises:
            BotError: there is no offer, or not any more, or it is refused; nothing is stored.
        """
        press = Press.SIGN_UP if accepts else Press.CANT

        async def _unit() -> tuple[SignupAnswer, Event]:
            event = await locked_event(event_id, guild_id)
            row = await EventSignup.get_or_none(event_id=event_id, user_id=user_id)
            refuse_closed(event, now=now)
            has_offer = row is not None and row.status is SignupStatus.WAITLISTED and has_offer_at(row, now)
            if row is None or event.state is EventState.UPCOMING or not has_offer:
                if row is not None and row.status is not SignupStatus.WAITLISTED and changes_nothing(press, row.status):
                    return await _again(event, row.status, user_id=user_id), event
                refuse_by_person(press, event, row.status if row is not None else None, role_ids=role_ids)
                raise OfferOverError(event)
            # Also at the roll call: the place was given back by somebody, and held for this one.
            refuse_by_person(press, event, row.status, role_ids=role_ids)
            return await _apply(press, event, row, before=row.status, now=now), event

        return await self._carry_out(_unit, user_id=user_id, now=now)

    async def let_go(self, event_id: int, *, guild_id: int, user_id: int, now: dt.datetime) -> None:
        """Offer the place that is held for somebody who left the server to the next in line; nobody is told of it."""

        async def _unit() -> tuple[SignupAnswer, Event]:
            event = await locked_event(event_id, guild_id)
            row = await EventSignup.get_or_none(event_id=event_id, user_id=user_id)
            if row is None or row.status is not SignupStatus.WAITLISTED or not has_offer_at(row, now):
                return SignupAnswer("", changed=False, status=row.status if row else SignupStatus.DECLINED), event
            return await _apply(Press.CANT, event, row, before=row.status, now=now), event

        await self._carry_out(_unit, user_id=user_id, now=now)

    async def _carry_out(
        self, unit: Callable[[], Awaitable[tuple[SignupAnswer, Event]]], *, user_id: int, now: dt.datetime
    ) -> SignupAnswer:
        async def _marked() -> tuple[SignupAnswer, Event]:
            answer, event = await unit()
            if answer.changed:
                await mark_changed(event.id, now=now, debounce=self._debounce)
            return answer, event

        answer, event = await atomic(_marked)
        if answer.changed:
            self._agenda.wake(SYNC_DISCORD_EVENTS, now + self._debounce)
            if event.attendee_role_id is not None:
                self._agenda.wake(SYNC_ATTENDEE_ROLES, now)
            if answer.promoted:
                wake_after_promotion(self._agenda, now=now)
            _log.info(
                "signup_changed",
                guild=event.guild_id,
                event_id=event.id,
                user=user_id,
                status=answer.status.value,
                promoted=len(answer.promoted),
            )
        return answer


async def locked_event(event_id: int, guild_id: int) -> Event:
    """
    Lock an event of a server, in the transaction that changes who comes to it; return it.

    Raises:
        EventGoneError: the server has no such event.
    """
    # In the mode in which due rows lock it: a foreign key may still be checked against it.
    event = await Event.filter(id=event_id, guild_id=guild_id).select_for_update(no_key=True).first()
    if event is None:
        raise EventGoneError(event_id)
    return event


def _new_row(event: Event, user_id: int, now: dt.datetime) -> EventSignup:
    return EventSignup(event_id=event.id, user_id=user_id, created_at=now)


async def _again(event: Event, status: SignupStatus, *, user_id: int) -> SignupAnswer:
    position = await rank(event.id, user_id) if status is SignupStatus.WAITLISTED else None
    sentence = wording.already(event, status, position=position)
    return SignupAnswer(sentence, changed=False, status=status, position=position)


async def _apply(
    press: Press, event: Event, row: EventSignup, *, before: SignupStatus | None, now: dt.datetime
) -> SignupAnswer:
    room = await room_of(event.id)
    has_offer = before is SignupStatus.WAITLISTED and has_offer_at(row, now)
    row.status, row.position, row.offered_until = WANTED[press], None, None
    if row.status is SignupStatus.SIGNED_UP and not has_offer and room.is_taken(event.max_players):
        row.status, row.position = SignupStatus.WAITLISTED, room.last + 1
    if row.status is SignupStatus.CONFIRMED:
        row.confirmed_at = now
    else:
        # Those with a place are listed as they came, so that confirming leaves them where they are.
        row.changed_at, row.confirmed_at = now, None
    await store(row)
    is_freed = before in ATTENDING and row.status not in ATTENDING
    promoted = await fill_places(event, now=now, is_freed=is_freed) if room.has_line else ()
    position = await rank(event.id, row.user_id) if row.status is SignupStatus.WAITLISTED else None
    sentence = wording.changed(event, before, row.status, position=position)
    return SignupAnswer(sentence, changed=True, status=row.status, position=position, promoted=promoted)


async def store(row: EventSignup) -> None:
    """Store what somebody said; whether they have the role is somebody else's to write, at the same time."""
    fields = ("status", "position", "offered_until", "changed_at", "confirmed_at", "promotions")
    await row.save(update_fields=fields if row.pk is not None else None)


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
