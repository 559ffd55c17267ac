"""What the rows know of scheduled events in their servers' lists: what lags behind, what was told, who has a place."""

import datetime as dt
from typing import Final

from bot.events.guild_sync import lost
from bot.events.posts import mark_changed
from bot.leases.failures import SendError
from bot.leases.keys import NATIVE_EVENT
from bot.leases.ports import Attempt, Delivered
from bot.message.native_event import NativeStatus
from bot.scheduling.agenda import Agenda
from bot.scheduling.bodies import SYNC_DISCORD_EVENTS
from bot.transactions import atomic, fetch, integer
from models.event import Event
from models.states import AHEAD, EventState

COUNT_EVERY: Final = dt.timedelta(minutes=10)
"""How often a server's list is read at most: for who is interested, and whether everything still stands there."""

LEAVING: Final = "leaving"
"""The status in ``native_told`` of one that is being taken off the list: whether it is there, nobody knows."""

_EVER = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_AT_ONCE = 500
_OF_ONE_GUILD = 100
_MOST_READ = 10_000
# A step that ends in a crash is taken up again after this. One that takes longer is taken twice, which does no harm.
_TAKEN_FOR = dt.timedelta(seconds=30)
# The longest event lasts a week; whatever began earlier has ended in its server's list too.
_LONGEST = dt.timedelta(days=31)


async def due_natives(now: dt.datetime) -> list[tuple[int, int]]:
    """Return the servers and ids of events that lag behind, the nearest first; no server keeps others out."""
    rows = await fetch(
        "SELECT id, guild_id FROM (SELECT id, guild_id, scheduled_at,"
        " ROW_NUMBER() OVER (PARTITION BY guild_id ORDER BY scheduled_at, id) AS place"
        # Read by its moment first: SQLite would else walk through every event in the order of the servers.
        " FROM (SELECT id, guild_id, scheduled_at FROM event WHERE native_due_at <= $1"
        " ORDER BY native_due_at LIMIT $4) due) behind"
        " WHERE place <= $2 ORDER BY place, scheduled_at, id LIMIT $3",
        [now, _OF_ONE_GUILD, _AT_ONCE, _MOST_READ],
    )
    return [(integer(row["guild_id"]), integer(row["id"])) for row in rows]


async def watch_all(now: dt.datetime) -> None:
    """Let everything that stands in a list be looked at: an earlier version looked at what has a post alone."""
    unwatched = Event.filter(native_due_at=None, state__in=(*AHEAD, EventState.IN_PROGRESS))
    await unwatched.exclude(discord_scheduled_event_id=None).update(native_due_at=now)


async def next_due() -> dt.datetime | None:
    """Return when the next event lags behind, None: none does."""
    # Asked for what is not null, SQLite would walk through every event that has no such moment first.
    ahead = await Event.filter(native_due_at__gt=_EVER).order_by("native_due_at").limit(1)
    return ahead[0].native_due_at if ahead else None


async def take(event_id: int, *, guild_id: int, now: dt.datetime) -> Event | None:
    """Return an event to bring in line, as it stands now; None: another process is at it, or it is in line."""
    behind = Event.filter(id=event_id, guild_id=guild_id, native_due_at__lte=now)
    if not await behind.update(native_due_at=now + _TAKEN_FOR):
        return None
    return await Event.get_or_none(id=event_id, guild_id=guild_id)


async def live_natives(guild_id: int, *, now: dt.datetime) -> int:
    """Return how many events of a server stand in its list."""
    known = Event.filter(guild_id=guild_id, scheduled_at__gt=now - _LONGEST)
    return await known.exclude(discord_scheduled_event_id=None).count()


async def parts_before(event_id: int) -> int:
    """Return how often an event was put into its server's list already."""
    rows = await fetch(
        "SELECT MAX(part) AS last FROM discord_message_log WHERE source = $1 AND source_id = $2 AND recipient_id = 0"
        " AND (success IS NULL OR success) AND success",
        [NATIVE_EVENT, event_id],
    )
    return integer(rows[0]["last"]) + 1 if rows[0]["last"] is not None else 0


async def put_off(guild_id: int, until: dt.datetime, *, now: dt.datetime, only_unmade: bool = False) -> None:
    """Let the events of a server that lag behind wait, or those of them alone that are not in its list."""
    behind = Event.filter(guild_id=guild_id, native_due_at__lte=now)
    if only_unmade:
        behind = behind.filter(discord_scheduled_event_id=None)
    await behind.update(native_due_at=until)


async def settle(
    event: Event,
    *,
    now: dt.datetime,
    again: dt.datetime | None,
    debounce: dt.timedelta,
    told: dict[str, object] | None = None,
) -> None:
    """
    Note that an event is in line as it was read, and what Discord was ``told``; it is looked at ``again`` then.

    Where it changed meanwhile it still lags behind, and nobody knows which of two steps Discord took last.
    """
    same = Event.filter(id=event.id, discord_scheduled_event_id=event.discord_scheduled_event_id)
    news = {"native_told": told} if told is not None else {}
    if await same.filter(post_version=event.post_version).update(native_due_at=again, **news):
        return
    doubt = {"native_told": _kept(told)} if told is not None else {}
    await same.update(native_due_at=now + debounce, **doubt)


async def note_leaving(event: Event, native_id: int) -> None:
    """
    Note that an event is about to be taken off its server's list, before Discord is asked to.

    Whoever dies before the answer is noted leaves it to another, for whom the event may stand again: that one then
    looks whether it is there, instead of taking it for listed, and takes nobody for having deleted it.
    """
    told = {**(event.native_told or {}), "status": LEAVING}
    await Event.filter(id=event.id, discord_scheduled_event_id=native_id).update(native_told=told)


async def end(
    event: Event, native_id: int, *, now: dt.datetime, status: str, debounce: dt.timedelta, is_lost: bool = False
) -> None:
    """Note that an event stands in its server's list no more; whatever waits for a place there is looked at."""
    times = lost(event.native_told or {}) + is_lost
    keeps_count = status == NativeStatus.COMPLETED.value

    async def _unit() -> None:
        ended = await Event.filter(id=event.id, discord_scheduled_event_id=native_id).update(
            discord_scheduled_event_id=None,
            native_told={"status": status, "lost": times},
            native_interested=event.native_interested if keeps_count else None,
            native_due_at=now,
        )
        if ended and event.native_interested is not None and not keeps_count:
            await mark_changed(event.id, now=now, debounce=debounce)
        waiting = Event.filter(guild_id=event.guild_id, discord_scheduled_event_id=None, scheduled_at__gt=now)
        await waiting.filter(native_due_at__gt=now).update(native_due_at=now)

    await atomic(_unit)


async def store_interested(event: Event, count: int | None, *, now: dt.datetime, debounce: dt.timedelta) -> None:
    """
    Keep that an event was looked up in its server's list, and how many are interested where a post says so.

    The post is marked where that changed. ``count`` None: it is not in the list any more.
    """
    told: dict[str, object] = {**(event.native_told or {}), "counted_at": now.isoformat()}
    if count is None:
        await settle(event, now=now, again=now, debounce=debounce, told=_kept(told))
        return

    if event.announcement_message_id is None:
        await settle(event, now=now, again=now + COUNT_EVERY, debounce=debounce, told=told)
        return

    async def _unit() -> None:
        same = Event.filter(id=event.id, discord_scheduled_event_id=event.discord_scheduled_event_id)
        await same.update(native_interested=count)
        await settle(event, now=now, again=now + COUNT_EVERY, debounce=debounce, told=told)
        if count != (event.native_interested or 0):
            await mark_changed(event.id, now=now, debounce=debounce)

    await atomic(_unit)


def _kept(told: dict[str, object]) -> dict[str, object]:
    """Return what stays known of a scheduled event where nobody knows what it says."""
    return {name: told[name] for name in ("marker", "lost", "counted_at") if name in told}


class NativeObserver:
    """Keeps in the event which scheduled event of its server is its own, and what Discord was told of it."""

    def __init__(self, agenda: Agenda, *, debounce: dt.timedelta) -> None:
        self._agenda = agenda
        self._debounce = debounce

    async def on_sent(self, attempt: Attempt, delivered: Delivered | None, *, now: dt.datetime) -> None:
        """Store its id, and have it edited if the event changed since it was rendered."""
        if delivered is None:
            return
        await fetch(
            "UPDATE event SET discord_scheduled_event_id = $2, native_told = (SELECT l.embed_data"
            " FROM discord_message_log l WHERE l.source = $3 AND l.source_id = $1 AND l.recipient_id = 0"
            " AND l.part = $4 AND (l.success IS NULL OR l.success) AND l.success),"
            # COALESCE gives the parameters their type, which PostgreSQL asks for and SQLite's CAST would spoil.
            " native_due_at = CASE WHEN post_version <> $5 THEN COALESCE($6, scheduled_at)"
            " ELSE COALESCE($7, scheduled_at) END WHERE id = $1",
            [
                attempt.key.source_id,
                delivered.message_id,
                NATIVE_EVENT,
                attempt.key.part,
                attempt.version,
                now + self._debounce,
                now + COUNT_EVERY,
            ],
        )
        self._agenda.wake(SYNC_DISCORD_EVENTS, now + self._debounce)

    async def on_failed(
        self, attempt: Attempt, error: SendError, *, next_attempt_at: dt.datetime | None, now: dt.datetime
    ) -> None:
        """There is none: nothing to keep."""

    async def on_released(self, attempt: Attempt, *, now: dt.datetime) -> None:
        """There is none: it may be made now, whatever wait was set while nobody knew."""
        waiting = Event.filter(id=attempt.key.source_id, discord_scheduled_event_id=None, native_due_at__gt=now)
        await waiting.update(native_due_at=now)
