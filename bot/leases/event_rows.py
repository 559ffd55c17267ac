"""What the message log holds of an event, read and let go of as a whole: for whoever removes one."""

from collections.abc import Collection

from bot.leases.keys import EVENT_REPOST, NATIVE_EVENT, PROMOTION, SIDE_POSTS, TIME_CHANGED, MessageKey
from bot.scheduling.registry import registered
from bot.transactions import Dialect, dialect, fetch, in_list, integer
from models.states import EventState

# Sources beside the registry's whose id is an event's. One that is not named here would let go of an event of which
# a message is out, or on its way.
_BESIDE = (EVENT_REPOST, NATIVE_EVENT, PROMOTION, TIME_CHANGED, *SIDE_POSTS)


def event_sources() -> tuple[str, ...]:
    """Return every source whose id is an event's."""
    return (*(entry.log_source for entry in registered()), *_BESIDE)


async def told_of(event_ids: Collection[int]) -> dict[int, frozenset[str]]:
    """
    Return of which of the events anything was sent, or may be on its way, to whomever: the sources, by event.

    Hold the events in the same transaction: whoever sends asks for them once more after its claim.
    """
    if not event_ids:
        return {}
    sources, ids = event_sources(), list(event_ids)
    rows = await fetch(
        "SELECT DISTINCT source_id, source FROM discord_message_log WHERE (success IS NULL OR success)"  # noqa: S608
        f" AND source IN {in_list(sources, first=1)} AND source_id IN {in_list(ids, first=1 + len(sources))}",
        [*sources, *ids],
    )
    told: dict[int, set[str]] = {}
    for row in rows:
        told.setdefault(integer(row["source_id"]), set()).add(str(row["source"]))
    return {event_id: frozenset(of_event) for event_id, of_event in told.items()}


async def forget_failures(event_ids: Collection[int]) -> None:
    """Let go of what failed of events that are being deleted; what was sent, or is open, stays."""
    if not event_ids:
        return
    sources, ids = event_sources(), list(event_ids)
    await fetch(
        "DELETE FROM discord_message_log WHERE NOT success"  # noqa: S608 -- parameters only
        f" AND source IN {in_list(sources, first=1)} AND source_id IN {in_list(ids, first=1 + len(sources))}",
        [*sources, *ids],
    )


async def still_stands(key: MessageKey) -> bool:
    """
    Return whether the event of a message is still there and not cancelled; True where it is about no event.

    Ask it once the key is claimed and before the request: between its rendering and its claim an event may have been
    removed, as nothing was on its way. Whoever removes one just now is waited for; who comes later sees the claim.
    """
    # A person's message has a parent, which was asked for; that of somebody who moved up in line has none.
    has_parent = key.recipient_id != 0 and key.source != PROMOTION
    if has_parent or key.source not in event_sources():
        return True
    waits = "" if dialect() is Dialect.SQLITE else " FOR SHARE"
    rows = await fetch(f"SELECT state FROM event WHERE id = $1{waits}", [key.source_id])  # noqa: S608 -- our own words
    return bool(rows) and rows[0]["state"] != EventState.CANCELLED.value
