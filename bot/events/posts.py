"""Mark what Discord shows of an event, its post and its scheduled event, as behind its row; others bring it in line."""

import datetime as dt
from collections.abc import Sequence
from typing import Final, Literal

from bot.transactions import Dialect, dialect, fetch, in_list
from models.states import AHEAD, EventState

_SHOWN: Final = ", ".join(f"'{state.value}'" for state in (*AHEAD, EventState.IN_PROGRESS))
# The longest that anything of this is put off, and as much as two clocks may differ in good order.
_FARTHEST: Final = dt.timedelta(hours=1, minutes=5)


async def mark_changed(event_id: int, *, now: dt.datetime, debounce: dt.timedelta) -> None:
    """
    Count a change of what the post shows, and let it be edited ``debounce`` after the first change not yet shown.

    Call it in the transaction of the change. An event that was not announced only counts: its post will show it. Its
    scheduled event is looked at by then too, also where the next look was to come later.
    """
    await mark_all_changed([event_id], now=now, debounce=debounce)


async def mark_all_changed(event_ids: Sequence[int], *, now: dt.datetime, debounce: dt.timedelta) -> None:
    """Count a change of each of several events, at least one, as :func:`mark_changed` does."""
    await fetch(
        "UPDATE event SET post_version = post_version + 1, post_due_at = CASE WHEN announcement_message_id IS NULL"  # noqa: S608
        " AND reposts = 0 THEN post_due_at ELSE COALESCE(post_due_at, $1) END,"
        " native_due_at = CASE WHEN (discord_create_event OR discord_scheduled_event_id IS NOT NULL)"
        " AND (native_due_at IS NULL OR native_due_at > $1) THEN $1 ELSE native_due_at END"
        f" WHERE id IN {in_list(event_ids, first=2)}",
        [now + debounce, *event_ids],
    )


async def mark_places_changed(guild_id: int, *, now: dt.datetime) -> None:
    """
    Let the scheduled events of a server be looked at now: the channel where it announces changed, which is their place.

    Call it in the transaction of the change. Events that have a channel of their own are left out, and no post is
    edited: it stays where it is. Whatever is being told of one at this moment is seen to have been overtaken.
    """
    # Those that are still being made are counted too, and keep whatever they wait for.
    which = (
        "guild_id = $1 AND (discord_create_event OR discord_scheduled_event_id IS NOT NULL)"
        f" AND discord_announcement_channel_id IS NULL AND state IN ({_SHOWN})"
    )
    await fetch(
        "UPDATE event SET post_version = post_version + 1,"  # noqa: S608 -- our own words
        " native_due_at = CASE WHEN discord_scheduled_event_id IS NOT NULL THEN COALESCE($2, scheduled_at)"
        f" ELSE native_due_at END WHERE {_in_order(which)}",
        [guild_id, now],
    )


async def bring_forward(mark: Literal["post_due_at", "native_due_at"], *, now: dt.datetime) -> None:
    """Let what is put off farther than anything is be looked at now: a clock that was ahead wrote that moment."""
    far = _in_order(f"{mark} > $2")
    await fetch(f"UPDATE event SET {mark} = $1 WHERE {far}", [now, now + _FARTHEST])  # noqa: S608 -- our own words


def _in_order(which: str) -> str:
    """Return a condition on events that holds those it finds by their ids, as everybody does who holds several."""
    if dialect() is Dialect.SQLITE:
        return which  # the transaction itself is alone
    return f"id IN (SELECT id FROM event WHERE {which} ORDER BY id FOR NO KEY UPDATE)"  # noqa: S608 -- our own words
