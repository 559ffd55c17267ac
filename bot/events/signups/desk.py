"""
What an admin does about who comes to an event: add, remove, note who did not show up, look, and take the list along.

Each change locks the event as a press does, and shares its transaction with its audit row, whoever moves up by it and
the mark on the event's post. Source: 02-reminders.md, "Sign-ups"; 05-commands.md, "/signups".
"""

import datetime as dt
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial

import structlog

from bot import audit
from bot.errors import BotError
from bot.events import browse
from bot.events.admin_wording import STANDS, named
from bot.events.posts import mark_changed
from bot.events.signups.lists import Entry, csv_of, list_of
from bot.events.signups.people import rank
from bot.events.signups.sign_up import locked_event, store
from bot.events.signups.waiting_line import (
    Room,
    fill_places,
    has_offer_at,
    offer_of,
    room_of,
    tells_who_moves_up,
    wake_after_promotion,
)
from bot.message.outgoing import ButtonStyle
from bot.message.proposal import Proposal, Reply, Way, leave
from bot.scheduling.agenda import Agenda
from bot.scheduling.bodies import SYNC_ATTENDEE_ROLES, SYNC_DISCORD_EVENTS
from bot.transactions import atomic
from models.event import Event
from models.event_signup import EventSignup
from models.states import ATTENDING, OPEN_FOR_PEOPLE, EventState, SignupStatus

_log = structlog.get_logger(__name__)

_CHANGEABLE = frozenset({*OPEN_FOR_PEOPLE, EventState.IN_PROGRESS})


class NotNowError(BotError):
    """Who comes to the event cannot be changed where it stands."""

    def __init__(self, event: Event) -> None:
        todo = {
            EventState.UPCOMING: " Open them first, with /event open-signups.",
            EventState.COMPLETED: " Who did not come is noted with /signups no-show.",
        }
        super().__init__(
            f"Nobody can be added to or taken off {named(event)}: {STANDS[event.state]}.{todo.get(event.state, '')}"
        )
        self.event_id = event.id


class NotBegunError(BotError):
    """Who did not show up is known only once the event has begun."""

    def __init__(self, event: Event) -> None:
        super().__init__(f"{named(event)} has not begun: who did not show up can be noted from its start on.")
        self.event_id = event.id


class NoPlaceError(BotError):
    """The person has no place in the event, or said nothing about it at all."""

    def __init__(self, event: Event, user_id: int) -> None:
        super().__init__(f"<@{user_id}> has no place in {named(event)}, so nothing was changed.")
        self.event_id, self.user_id = event.id, user_id


class FullError(BotError):
    """No place is free, and the admin said nothing of what is to be done then."""

    def __init__(self, event: Event, room: Room, *, waits: bool) -> None:
        super().__init__(f"{named(event)} is full.")
        self.event, self.room, self.waits = event, room, waits


@dataclass(frozen=True, slots=True)
class _Done:
    """What became of a change: ``says`` is read by the admin; ``action`` None: nothing changed."""

    says: str
    action: str | None = None
    promoted: tuple[int, ...] = ()


_Work = Callable[[Event, EventSignup | None], Awaitable[_Done]]


class SignupDesk:
    """The admins' ``/signups``; ``debounce`` after a change a post is edited, ``instance`` signs the audit."""

    def __init__(self, agenda: Agenda, *, debounce: dt.timedelta, instance: str | None = None) -> None:
        self._agenda = agenda
        self._debounce = debounce
        self._instance = instance

    async def add(self, typed: str, user_id: int, *, guild_id: int, actor: int, now: dt.datetime) -> Reply:
        """
        Give somebody a place; where none is free, ask whether they wait or the limit is gone over.

        Who was in line is told by direct message, as anybody who moves up; who was not hears of it from the admin.

        Raises:
            BotError: the server has no such event, or it is not possible as it stands.
        """
        event = await browse.find_event(typed, guild_id=guild_id)

        async def _go_on(now: dt.datetime, *, when_full: SignupStatus | None) -> Reply:
            work = partial(_add, user_id=user_id, now=now, when_full=when_full)
            return await self._change(event.id, user_id, work, guild_id=guild_id, actor=actor, now=now)

        try:
            return await _go_on(now, when_full=None)
        except FullError as full:
            over = Way("Go over the limit", partial(_go_on, when_full=SignupStatus.SIGNED_UP), ButtonStyle.DANGER)
            wait = Way("Put on the wait-list", partial(_go_on, when_full=SignupStatus.WAITLISTED), ButtonStyle.PRIMARY)
            question = _question(full, user_id, now=now)
            return Proposal(question, (over, leave()) if full.waits else (wait, over, leave()))

    async def remove(self, typed: str, user_id: int, *, guild_id: int, actor: int, now: dt.datetime) -> str:
        """
        Take somebody off an event; no button brings them back, and whoever is next moves up.

        Raises:
            BotError: the server has no such event, or it is not possible as it stands.
        """
        event = await browse.find_event(typed, guild_id=guild_id)
        work = partial(_remove, user_id=user_id, now=now)
        return await self._change(event.id, user_id, work, guild_id=guild_id, actor=actor, now=now)

    async def no_show(self, typed: str, user_id: int, *, guild_id: int, actor: int, now: dt.datetime) -> str:
        """
        Note that somebody with a place did not show up, or take that back.

        Raises:
            BotError: the server has no such event, it has not begun, or the person had no place.
        """
        event = await browse.find_event(typed, guild_id=guild_id)
        work = partial(_no_show, user_id=user_id, now=now)
        return await self._change(event.id, user_id, work, guild_id=guild_id, actor=actor, now=now)

    async def listing(self, typed: str, *, guild_id: int) -> str:
        """
        Return who said what about an event.

        Raises:
            NoSuchEventError: the server has no such event.
        """
        event = await browse.find_event(typed, guild_id=guild_id)
        return list_of(event, await _entries(event, lambda _: None))

    async def export(
        self, typed: str, *, guild_id: int, name_of: Callable[[int], str | None]
    ) -> tuple[str, tuple[str, bytes]]:
        """
        Return a sentence, and the name and bytes of a file with everybody who said something about an event.

        Raises:
            NoSuchEventError: the server has no such event.
        """
        event = await browse.find_event(typed, guild_id=guild_id)
        entries = await _entries(event, name_of)
        count = f"{len(entries)} {'person' if len(entries) == 1 else 'people'}"
        return f"{named(event)}: {count}, times in UTC.", (f"signups-{event.id}.csv", csv_of(entries))

    async def _change(
        self, event_id: int, user_id: int, work: _Work, *, guild_id: int, actor: int, now: dt.datetime
    ) -> str:
        async def _unit() -> tuple[_Done, Event]:
            event = await locked_event(event_id, guild_id)
            row = await EventSignup.get_or_none(event_id=event_id, user_id=user_id)
            before = _audited(row, user_id)
            done = await work(event, row)
            if done.action is not None:
                after = _audited(await EventSignup.get(event_id=event_id, user_id=user_id), user_id)
                await audit.record(
                    done.action,
                    guild_id=guild_id,
                    actor_user_id=actor,
                    subject_id=event_id,
                    now=now,
                    before=before,
                    after=after,
                    instance=self._instance,
                )
                await mark_changed(event_id, now=now, debounce=self._debounce)
            return done, event

        done, event = await atomic(_unit)
        if done.action is not None:
            self._agenda.wake(SYNC_DISCORD_EVENTS, now + self._debounce)
            self._agenda.wake(SYNC_ATTENDEE_ROLES, now)
            _log.info(
                "signup_changed_by_admin", guild=guild_id, event_id=event.id, user=user_id, actor=actor, did=done.action
            )
        if done.promoted:
            wake_after_promotion(self._agenda, now=now)
        return done.says


def _audited(row: EventSignup | None, user_id: int) -> dict[str, object]:
    """Return what the audit keeps of a sign-up."""
    status = row.status.value if row is not None else None
    return {"user": user_id, "status": status, "no_show": row is not None and row.is_no_show}


async def _add(
    event: Event, row: EventSignup | None, *, user_id: int, now: dt.datetime, when_full: SignupStatus | None
) -> _Done:
    if event.state not in _CHANGEABLE:
        raise NotNowError(event)
    before = row.status if row is not None else None
    if before in ATTENDING:
        return _Done(f"<@{user_id}> is signed up for {named(event)} already.")
    room, waits = await room_of(event.id), before is SignupStatus.WAITLISTED
    held = row is not None and waits and has_offer_at(row, now)
    status = SignupStatus.SIGNED_UP
    if room.is_taken(event.max_players) and not held:
        if when_full is None or (waits and when_full is SignupStatus.WAITLISTED):
            raise FullError(event, room, waits=waits)
        status = when_full
    row = row or EventSignup(event_id=event.id, user_id=user_id, created_at=now)
    row.status, row.offered_until, row.changed_at, row.confirmed_at = status, None, now, None
    row.position = room.last + 1 if status is SignupStatus.WAITLISTED else None
    moves_up = waits and tells_who_moves_up(event, now=now)
    if moves_up:
        row.promotions += 1
    await store(row)
    place = f"on the wait-list of {named(event)} as number {await rank(event.id, user_id)}" if row.position else ""
    # What was held for them, they may have let pass a moment ago.
    promoted = await fill_places(event, now=now) if waits else ()
    told = ", and gets a direct message about it" if moves_up else ""
    says = f"<@{user_id}> is {place or f'signed up for {named(event)}'}{told}."
    return _Done(says, "event.signup_add", (user_id, *promoted) if moves_up else promoted)


async def _remove(event: Event, row: EventSignup | None, *, user_id: int, now: dt.datetime) -> _Done:
    if event.state not in _CHANGEABLE:
        raise NotNowError(event)
    if row is None:
        return _Done(f"<@{user_id}> has said nothing about {named(event)}, so nothing was changed.")
    if row.status is SignupStatus.REMOVED:
        return _Done(f"<@{user_id}> was taken off {named(event)} already.")
    is_freed = row.status in ATTENDING
    row.status, row.position, row.offered_until = SignupStatus.REMOVED, None, None
    row.changed_at, row.confirmed_at = now, None
    await store(row)
    promoted = await fill_places(event, now=now, is_freed=is_freed)
    moved = f" Next in line: {', '.join(f'<@{one}>' for one in promoted)}." if promoted else ""
    says = f"<@{user_id}> was taken off {named(event)}; no button brings them back, /signups add does.{moved}"
    return _Done(says, "event.signup_remove", promoted)


async def _no_show(event: Event, row: EventSignup | None, *, user_id: int, now: dt.datetime) -> _Done:
    begun = event.state in {EventState.IN_PROGRESS, EventState.COMPLETED}
    if not begun and (event.state not in _CHANGEABLE or event.scheduled_at > now):
        raise NotBegunError(event)
    if row is None or row.status not in ATTENDING:
        raise NoPlaceError(event, user_id)
    row.is_no_show = not row.is_no_show
    await row.save(update_fields=["is_no_show"])
    came = "did not come to" if row.is_no_show else "came to"
    return _Done(f"It is noted that <@{user_id}> {came} {named(event)}.", "event.no_show")


def _question(full: FullError, user_id: int, *, now: dt.datetime) -> str:
    room, event = full.room, full.event
    held = f", {room.offered} more held for offers" if room.offered else ""
    stands = f"{room.attending} of {event.max_players} places taken{held}, {room.waiting + room.passed} in its line"
    what = "waits there" if full.waits else "has to wait, unless you go over the limit"
    is_told = full.waits and tells_who_moves_up(event, now=now)
    told = " Given a place, they get a direct message about it." if is_told else ""
    return f"{named(event)} is full: {stands}. <@{user_id}> {what}.{told}"


async def _entries(event: Event, name_of: Callable[[int], str | None]) -> list[Entry]:
    rows = await EventSignup.filter(event_id=event.id).order_by("changed_at", "id")
    line = sorted((row for row in rows if row.status is SignupStatus.WAITLISTED), key=lambda row: row.position or 0)
    places = {row.id: place for place, row in enumerate(line, 1)}
    others = [row for row in rows if row.status is not SignupStatus.WAITLISTED]
    return [
        Entry(
            user_id=row.user_id,
            name=name_of(row.user_id),
            status=row.status,
            position=places.get(row.id),
            offered_until=offer_of(row),
            signed_up_at=row.created_at,
            confirmed_at=row.confirmed_at,
            is_no_show=row.is_no_show,
        )
        for row in [*others, *line]
    ]
