"""
Take an event of a series back, and let it return: what "removed" means.

One of which nobody was told is deleted. One that was announced, or of which a message is on its way, stays as a
cancelled row that is marked as withdrawn: its post says so, and if its slot returns before its time, that very row is
upcoming again, with what was sent for it. Source: 02-reminders.md, "Realign-on-edit".
"""

import datetime as dt
from collections.abc import Collection, Mapping, Sequence
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from bot.events.lifecycle import Also, transition
from bot.leases.event_rows import forget_failures, sources_sent
from bot.transactions import atomic, fetch, in_list, integer
from models.event import Event
from models.states import EventState

_NOWHERE: Final[Mapping[int, dt.datetime]] = MappingProxyType({})

REALIGNED: Final = "event.realign"
"""As what the audit has it where an edit of the series takes an event back or lets it return."""

POST, NATIVE_EVENT, ANSWERS = "post", "native_event", "answers"
"""What beside the message log makes an event known."""


class Removal(StrEnum):
    """
    What became of an event that was to be removed.

    ``deleted``: the row is gone. ``cancelled``: it stays, withdrawn. ``lost``: it was not upcoming any more, and
    nothing was done.
    """

    DELETED = "deleted"
    CANCELLED = "cancelled"
    LOST = "lost"


async def withdraw(
    event: Event,
    *,
    now: dt.datetime,
    debounce: dt.timedelta,
    moved_to: dt.datetime | None = None,
    actor_user_id: int | None = None,
    instance: str | None = None,
    action: str = REALIGNED,
) -> Removal:
    """
    Remove one upcoming event; part of the caller's transaction, if there is one.

    ``moved_to``: where its place went, which its post names. ``action``: as what the audit has it if the row stays. The
    caller records in the audit why, and wakes the agenda (:func:`bot.events.lifecycle.wake_after_change`) after commit.
    """
    places = {event.id: moved_to} if moved_to is not None else _NOWHERE
    done = await withdraw_all(
        [event],
        now=now,
        debounce=debounce,
        moved_to=places,
        actor_user_id=actor_user_id,
        instance=instance,
        action=action,
    )
    return done[event.id]


async def withdraw_all(
    events: Sequence[Event],
    *,
    now: dt.datetime,
    debounce: dt.timedelta,
    moved_to: Mapping[int, dt.datetime] = _NOWHERE,
    actor_user_id: int | None = None,
    instance: str | None = None,
    action: str = REALIGNED,
) -> dict[int, Removal]:
    """Remove events of one server as :func:`withdraw` does, and return what became of each, by id."""

    async def _unit() -> dict[int, Removal]:
        held = await _held(events)
        ids = [event.id for event in held]
        told = await known_of(held)
        done = dict.fromkeys((event.id for event in events), Removal.LOST)
        done |= dict.fromkeys(await _delete([one for one in ids if one not in told]), Removal.DELETED)
        for event in (event for event in held if event.id in told):
            stays = await transition(
                event,
                allowed={EventState.UPCOMING},
                to=EventState.CANCELLED,
                now=now,
                debounce=debounce,
                actor_user_id=actor_user_id,
                instance=instance,
                also=Also(action, {"is_withdrawn": True, "moved_to": moved_to.get(event.id)}),
            )
            done[event.id] = Removal.CANCELLED if stays else Removal.LOST
        return done

    return await atomic(_unit)


async def revive(
    event: Event,
    *,
    now: dt.datetime,
    debounce: dt.timedelta,
    actor_user_id: int | None = None,
    instance: str | None = None,
    action: str = REALIGNED,
) -> bool:
    """
    Let a withdrawn event stand again before its time; part of the caller's transaction, if there is one.

    False: it is not withdrawn, or its time has passed, and nothing is done. What was sent for it is not sent again.
    """
    if not event.is_withdrawn or event.scheduled_at <= now:
        return False
    return await transition(
        event,
        allowed={EventState.CANCELLED},
        to=EventState.UPCOMING,
        now=now,
        debounce=debounce,
        actor_user_id=actor_user_id,
        instance=instance,
        also=Also(action, {"is_withdrawn": False, "moved_to": None}),
    )


async def _held(events: Sequence[Event]) -> list[Event]:
    """Return those of the events that are still upcoming, in the order of their ids, held until the end."""
    guilds = {event.guild_id for event in events}
    query = Event.filter(id__in=[event.id for event in events], guild_id__in=guilds, state=EventState.UPCOMING)
    return await query.order_by("id").select_for_update(no_key=True) if events else []


async def known_of(events: Collection[Event]) -> dict[int, frozenset[str]]:
    """
    Return which of the events people know of, by id, and by what: one of those is not deleted.

    That is the sources of the messages that are out or on their way, its post, its native event, and what somebody said
    about it: an upcoming event holds no such row, and none may be lost.
    """
    ids = [event.id for event in events]
    told, answered = await sources_sent(ids), await _answered(ids)
    by_row = {event.id: {*_shown_by(event), *({ANSWERS} if event.id in answered else ())} for event in events}
    return {
        event_id: told.get(event_id, frozenset()) | own for event_id, own in by_row.items() if own or event_id in told
    }


def _shown_by(event: Event) -> list[str]:
    post, native = event.announcement_message_id is not None, event.discord_scheduled_event_id is not None
    return [*([POST] if post else []), *([NATIVE_EVENT] if native else [])]


async def _answered(event_ids: Collection[int]) -> set[int]:
    if not event_ids:
        return set()
    rows = await fetch(
        f"SELECT DISTINCT event_id FROM event_signup WHERE event_id IN {in_list(list(event_ids), first=1)}",  # noqa: S608
        list(event_ids),
    )
    return {integer(row["event_id"]) for row in rows}


async def _delete(event_ids: Sequence[int]) -> list[int]:
    """Delete events of which nobody was told, with what failed for them and, by the tables' own rule, what is due."""
    if not event_ids:
        return []
    await forget_failures(event_ids)
    rows = await fetch(
        f"DELETE FROM event WHERE id IN {in_list(event_ids, first=1)} RETURNING id",  # noqa: S608 -- parameters only
        list(event_ids),
    )
    return [integer(row["id"]) for row in rows]
