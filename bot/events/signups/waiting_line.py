"""
Who moves up from the waiting list of an event: at once, or by an offer of a place with a time limit.

A person in line waits (``offered_until`` null), holds an offer (a moment ahead), or let one pass (:data:`PASSED`). An
offer holds its place. Whoever lets one pass goes to the end of the line and is asked again only once another place
becomes free, so that one free place asks nobody twice; until then it is there for whoever signs up. Whoever moves up is
counted in ``promotions``, which says that they are to be told. Source: 02-reminders.md, "Sign-ups".
"""

import datetime as dt
from dataclasses import dataclass
from functools import partial
from typing import Final

import structlog
from tortoise.expressions import F

from bot.events.posts import mark_changed
from bot.scheduling.agenda import Agenda
from bot.scheduling.bodies import OPEN_SCHEDULED_SIGNUPS, SYNC_ATTENDEE_ROLES, SYNC_DISCORD_EVENTS, TELL_PROMOTIONS
from bot.transactions import atomic, fetch, integer, moment
from models.event import Event
from models.event_signup import EventSignup
from models.states import OPEN_FOR_PEOPLE, SignupStatus

_log = structlog.get_logger(__name__)

PASSED: Final = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
"""``offered_until`` of somebody in line who let an offer pass."""

_AT_ONCE: Final = 500


@dataclass(frozen=True, slots=True)
class Room:
    """
    How an event is filled: places given and offered, those in line who wait, and those who let an offer pass.

    ``last`` is the highest stored position of the line.
    """

    attending: int
    offered: int
    waiting: int
    passed: int
    last: int

    @property
    def has_line(self) -> bool:
        """Whether anybody is in the line, whatever they were offered."""
        return bool(self.waiting or self.offered or self.passed)

    def free(self, limit: int) -> int:
        """Return how many of ``limit`` places nobody holds, below zero where too many are held."""
        return limit - self.attending - self.offered

    def is_taken(self, limit: int | None) -> bool:
        """Return whether somebody new has to go to the end of the line: those who wait in it come first."""
        return limit is not None and self.free(limit) - self.waiting <= 0


def offer_of(row: EventSignup) -> dt.datetime | None:
    """Return until when a place is held for somebody in line, None where none is."""
    return row.offered_until if row.offered_until is not None and row.offered_until > PASSED else None


def has_offer_at(row: EventSignup, now: dt.datetime) -> bool:
    """Return whether a place is held for somebody in line at ``now``."""
    return row.offered_until is not None and row.offered_until > now


async def room_of(event_id: int) -> Room:
    """Return how an event is filled."""
    rows = await fetch(
        "SELECT COUNT(CASE WHEN status <> 'waitlisted' THEN 1 END) AS attending,"
        " COUNT(CASE WHEN status = 'waitlisted' AND offered_until > $2 THEN 1 END) AS offered,"
        " COUNT(CASE WHEN status = 'waitlisted' AND offered_until IS NULL THEN 1 END) AS waiting,"
        " COUNT(position) AS line, COALESCE(MAX(position), 0) AS last FROM event_signup"
        " WHERE event_id = $1 AND status IN ('signed_up', 'confirmed', 'waitlisted')",
        [event_id, PASSED],
    )
    row = {name: integer(value) for name, value in rows[0].items()}
    passed = row["line"] - row["offered"] - row["waiting"]
    return Room(row["attending"], row["offered"], row["waiting"], passed, row["last"])


async def promote(event_id: int, *, was: int | None, now: dt.datetime) -> tuple[int, ...]:
    """
    Bring a line in order with a limit that was ``was``; return whom a place was given or offered, in order.

    Who frees a place calls :func:`fill_places`. Call this inside the transaction of the change, and
    :func:`wake_after_promotion` once that is committed. Where the limit was lowered below what is held, the latest
    offers are taken back; places that were given stay given. Only a limit that rose, or went, makes places free.
    """
    event = await Event.filter(id=event_id).select_for_update(no_key=True).first()
    if event is None:
        return ()
    if event.max_players is not None:
        await _take_back(event, -(await room_of(event_id)).free(event.max_players))
    rose = was is not None and (event.max_players is None or event.max_players > was)
    return await fill_places(event, now=now, is_freed=rose)


async def _take_back(event: Event, too_many: int) -> None:
    if too_many > 0:
        held = EventSignup.filter(event_id=event.id, status=SignupStatus.WAITLISTED, offered_until__gt=PASSED)
        ids = [row.id for row in await held.order_by("-position").limit(too_many)]
        await EventSignup.filter(id__in=ids).update(offered_until=None)


def wake_after_promotion(agenda: Agenda, *, now: dt.datetime) -> None:
    """Let those who moved up be told, and offers end in time, which the body that opens sign-ups does; after commit."""
    for body in (TELL_PROMOTIONS, OPEN_SCHEDULED_SIGNUPS, SYNC_ATTENDEE_ROLES):
        agenda.wake(body, now)


def tells_who_moves_up(event: Event, *, now: dt.datetime) -> bool:
    """Return whether whoever gets a place is told of it by direct message: not once the event has begun."""
    return event.state in OPEN_FOR_PEOPLE and event.scheduled_at > now


async def fill_places(event: Event, *, now: dt.datetime, is_freed: bool = False) -> tuple[int, ...]:
    """
    Give, or offer, every free place to the first in line; return their user ids, in that order, of both kinds alike.

    Call it inside the transaction that locked the event. ``is_freed``: a place became free, so that those who let an
    offer pass are asked again.
    """
    if not tells_who_moves_up(event, now=now):
        return ()
    line = EventSignup.filter(event_id=event.id, status=SignupStatus.WAITLISTED)
    if is_freed:
        await line.filter(offered_until=PASSED).update(offered_until=None)
    first = line.order_by("position")
    if event.max_players is not None:
        free = (await room_of(event.id)).free(event.max_players)
        if free <= 0:
            return ()
        line = line.filter(offered_until__isnull=True)
        first = line.order_by("position").limit(free)
    rows = await first
    if rows:
        # By their place in line, not by their ids: of those a statement takes only so many.
        await line.filter(position__lte=rows[-1].position).update(
            promotions=F("promotions") + 1, **_moved_up(event, now=now)
        )
    return tuple(row.user_id for row in rows)


def _moved_up(event: Event, *, now: dt.datetime) -> dict[str, object]:
    """Return what moving up makes of a row: a place, or the offer of one where there is a limit."""
    if not is_asked_first(event.max_players, event.signup_offer_minutes):
        return {"status": SignupStatus.SIGNED_UP, "position": None, "offered_until": None, "changed_at": now}
    held_for = dt.timedelta(minutes=event.signup_offer_minutes or 0)
    return {"offered_until": min(now + held_for, event.scheduled_at)}


def is_asked_first(max_players: int | None, offer_minutes: int | None) -> bool:
    """Return whether the next in line is asked for a place, and holds none until they accept; else it is theirs."""
    return max_players is not None and offer_minutes is not None


async def end_offers(agenda: Agenda, *, now: dt.datetime, debounce: dt.timedelta) -> dt.datetime | None:
    """End the offers whose time ran out, and ask the next in line; return when the next offer ends."""
    rows = await fetch(
        "SELECT DISTINCT event_id FROM event_signup WHERE offered_until > $1 AND offered_until <= $2 LIMIT $3",
        [PASSED, now, _AT_ONCE],
    )
    for row in rows:
        event_id = integer(row["event_id"])
        try:
            await atomic(partial(_end_offers_of, event_id, now=now, debounce=debounce))
        except Exception:  # noqa: BLE001 -- one event must not keep the others' offers open; it is tried at the next pass
            _log.exception("offers_not_ended", event_id=event_id)
            continue
        wake_after_promotion(agenda, now=now)
        agenda.wake(SYNC_DISCORD_EVENTS, now + debounce)
    found = await fetch("SELECT MIN(offered_until) AS ends FROM event_signup WHERE offered_until > $1", [now])
    return moment(found[0]["ends"]) if found[0]["ends"] is not None else None


async def _end_offers_of(event_id: int, *, now: dt.datetime, debounce: dt.timedelta) -> None:
    event = await Event.filter(id=event_id).select_for_update(no_key=True).first()
    over = await EventSignup.filter(event_id=event_id, offered_until__gt=PASSED, offered_until__lte=now).order_by(
        "position"
    )
    if event is None or not over:
        return  # another process was faster
    last = (await room_of(event_id)).last
    for place, row in enumerate(over, last + 1):
        await EventSignup.filter(id=row.id).update(offered_until=PASSED, position=place)
    asked = await fill_places(event, now=now)
    await mark_changed(event_id, now=now, debounce=debounce)
    _log.info("offers_ended", guild=event.guild_id, event_id=event_id, ended=len(over), asked=len(asked))
