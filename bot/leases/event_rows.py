"""What the message log holds of an event, read and let go of as a whole: for whoever removes one."""

from collections.abc import Collection, Mapping, Sequence
from typing import Final

from bot.leases.keys import EVENT_REPOST, NATIVE_EVENT, PROMOTION, SIDE_POSTS, TIME_CHANGED, MessageKey
from bot.scheduling.registry import registered
from bot.transactions import Dialect, dialect, fetch, in_list, integer
from models.states import ATTENDING, MAY_COME, EventState, SignupStatus

# Sources beside the registry's whose id is an event's. One that is not named here would let go of an event of which
# a message is out, or on its way.
_BESIDE = (EVENT_REPOST, NATIVE_EVENT, PROMOTION, TIME_CHANGED, *SIDE_POSTS)
# Whose direct message about an event, beside the registry's, is for those alone who said one of these about it.
_ONLY_FOR: Final[Mapping[str, Collection[SignupStatus]]] = {
    PROMOTION: (*ATTENDING, SignupStatus.WAITLISTED),
    TIME_CHANGED: MAY_COME,
}


def event_sources() -> tuple[str, ...]:
    """Return every source whose id is an event's."""
    return (*(entry.log_source for entry in registered()), *_BESIDE)


async def sources_sent(event_ids: Collection[int]) -> dict[int, frozenset[str]]:
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


async def forget_fan_outs(event_id: int, sources: Sequence[str]) -> None:
    """Let go of finished fan-outs about an event that asked nobody, so that they are due anew; hold the event first."""
    if not sources:
        return
    await fetch(
        "DELETE FROM discord_message_log WHERE success AND source_id = $1 AND recipient_id = 0 AND part = 0"  # noqa: S608
        f" AND source IN {in_list(sources, first=2)}",
        [event_id, *sources],
    )


async def still_stands(key: MessageKey) -> bool:
    """
    Return whether the event of a message is still there and not cancelled, and the message still for its recipient.

    True where it is about no event. Ask it once the key is claimed and before the request: between its rendering and
    its claim an event may have been removed, as nothing was on its way, and somebody may have given their place back.
    Whoever removes an event just now is waited for; who comes later sees the claim.
    """
    if key.source not in event_sources():
        return True
    waits = "" if dialect() is Dialect.SQLITE else " FOR SHARE"
    rows = await fetch(f"SELECT state, time_changes FROM event WHERE id = $1{waits}", [key.source_id])  # noqa: S608
    if not rows or rows[0]["state"] == EventState.CANCELLED.value:
        return False
    if key.source == TIME_CHANGED and integer(rows[0]["time_changes"]) != key.part:
        return False  # there is a newer time to tell
    only_for = _only_for(key.source)
    if key.recipient_id == 0 or not only_for:
        return True
    said = await fetch(
        "SELECT status FROM event_signup WHERE event_id = $1 AND user_id = $2", [key.source_id, key.recipient_id]
    )
    return bool(said) and said[0]["status"] in only_for


def _only_for(source: str) -> Collection[SignupStatus]:
    return next((entry.only_for for entry in registered() if entry.log_source == source), _ONLY_FOR.get(source, ()))
