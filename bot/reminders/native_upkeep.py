"""
Bring the scheduled event of an event in its server's own list in line with its row: made, edited, started, ended.

What lags behind is kept in the row (``native_due_at``), so that a crash forgets no step. It is made through the one way
out, once; every other step may be repeated. A step that races a change is followed by another: the mark is cleared only
where nothing changed since it was read. Source: 02-reminders.md, "Loops".
"""

import asyncio
import datetime as dt
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

import structlog

from bot.events import guild_sync
from bot.events.posts import bring_forward
from bot.leases.failures import ErrorClass, SendError
from bot.leases.keys import NATIVE_EVENT, MessageKey
from bot.leases.ports import NativeTarget
from bot.leases.reports import SendResult, WithdrawnError
from bot.leases.send_once import OneWayOut
from bot.leases.snowflakes import made_at
from bot.message.native_event import NativeEvent
from bot.reminders import native_notes, native_rows
from bot.reminders.native_rows import COUNT_EVERY
from bot.reminders.native_steps import NativeEditor, NativeSteps, wanted
from bot.scheduling.agenda import Agenda
from bot.scheduling.bodies import TELL_OPS_NOTES
from bot.transactions import DATABASE_ERRORS
from models.event import Event

_log = structlog.get_logger(__name__)

MOST_LIVE: Final = 100
"""Discord's limit of scheduled events that have not ended, per server."""

# So many requests a server gets per pass: the posts, which share the loop, are not to wait for hundreds.
_STEPS_A_PASS = 10
_SIDE_BY_SIDE = 10
_EVER = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_SECOND = dt.timedelta(seconds=1)
_AGAIN = dt.timedelta(seconds=30)
_ROOM_AGAIN = dt.timedelta(minutes=10)
_PERMANENT_AGAIN = dt.timedelta(hours=1)


@dataclass(slots=True)
class _Pass:
    """One pass over the events of one server: how many steps it took, and which are to be looked up in its list."""

    guild_id: int
    now: dt.datetime
    steps: int = 0
    is_made: bool = False
    to_count: list[Event] = field(default_factory=list)


class NativeUpkeep:
    """The body of the ``sync_discord_events`` loop, as far as scheduled events go."""

    def __init__(
        self,
        editor: NativeEditor,
        out: OneWayOut,
        *,
        is_available: Callable[[int], bool],
        agenda: Agenda,
        debounce: dt.timedelta,
    ) -> None:
        self._editor = editor
        self._steps = NativeSteps(editor, debounce=debounce)
        self._out = out
        self._is_available = is_available
        self._agenda = agenda
        self._debounce = debounce
        self._side_by_side = asyncio.Semaphore(_SIDE_BY_SIDE)
        # Servers in which Discord refuses: one attempt an hour there, whatever else changes meanwhile.
        self._rests: dict[int, dt.datetime] = {}
        # When each server's list was read last: everything in it is looked at together from then on.
        self._read: dict[int, dt.datetime] = {}
        self._watches_all = False

    async def sync_native_events(self, now: dt.datetime) -> dt.datetime | None:
        """Bring in line what lags behind, the nearest events first; return the next moment at which one does."""
        await bring_forward("native_due_at", now=now)
        if not self._watches_all:
            await native_rows.watch_all(now)
            self._watches_all = True
        by_guild: defaultdict[int, list[int]] = defaultdict(list)
        for guild_id, event_id in await native_rows.due_natives(now):
            by_guild[guild_id].append(event_id)
        await asyncio.gather(*(self._sync_guild(_Pass(guild_id, now), ids) for guild_id, ids in by_guild.items()))
        upcoming = await native_rows.next_due()
        return max(upcoming, now + _SECOND) if upcoming is not None else None

    async def _sync_guild(self, of: _Pass, event_ids: list[int]) -> None:
        """Bring the events of one server in line, one after the other; a server that fails stops no other."""
        async with self._side_by_side:
            try:
                for event_id in event_ids:
                    if (until := self._rest_of(of)) is not None:
                        await native_rows.put_off(of.guild_id, until, now=of.now)
                        break
                    if of.steps >= _STEPS_A_PASS:
                        break
                    await self._sync_one(of, event_id)
                if of.to_count:
                    await self._count(of)
                if of.is_made:
                    await native_notes.mend_full(of.guild_id, now=of.now)
            except DATABASE_ERRORS:
                _log.exception("natives_not_synced", guild=of.guild_id)

    def _rest_of(self, of: _Pass) -> dt.datetime | None:
        if self._out.blocks.is_paused() or not self._is_available(of.guild_id):
            return of.now + _AGAIN
        until = self._rests.get(of.guild_id)
        if until is None or until <= of.now:
            self._rests.pop(of.guild_id, None)
            return None
        # A clock that is set back must not make the rest longer than it was meant to be.
        return min(until, of.now + _PERMANENT_AGAIN)

    async def _sync_one(self, of: _Pass, event_id: int) -> None:
        event = await native_rows.take(event_id, guild_id=of.guild_id, now=of.now)
        if event is None:
            return
        try:
            await self._step(of, event)
        except SendError as error:
            await self._failed(of, event, error)
        except DATABASE_ERRORS:
            raise
        except Exception:  # noqa: BLE001 -- logged; the other events go on, and this one does not stand before them
            _log.exception("native_not_synced", guild=event.guild_id, event_id=event.id)
            await Event.filter(id=event.id).update(native_due_at=of.now + _PERMANENT_AGAIN)

    async def _step(self, of: _Pass, event: Event) -> None:
        native_id = event.discord_scheduled_event_id
        if native_id is None and guild_sync.may_be_made(event, now=of.now):
            await self._make(of, event)
        elif native_id is None:
            await native_rows.settle(event, now=of.now, again=None, debounce=self._debounce)
        elif await self._steps.bring_in_line(event, native_id, now=of.now):
            of.steps += 1
            await native_notes.mend(event, now=of.now)
        else:
            await self._is_in_line(of, event)

    async def _make(self, of: _Pass, event: Event) -> None:
        if await native_rows.live_natives(of.guild_id, now=of.now) >= MOST_LIVE:
            await self._has_no_room(of, event, of.now + _ROOM_AGAIN)
            return
        part = await native_rows.parts_before(event.id)
        of.steps += 1

        async def _render() -> NativeEvent:
            # Read after the part: whoever made it meanwhile took this part, or has stored its id by now.
            fresh = await Event.get_or_none(id=event.id)
            if fresh is None or fresh.discord_scheduled_event_id is not None:
                raise WithdrawnError
            if not guild_sync.may_be_made(fresh, now=of.now):
                raise WithdrawnError
            return await wanted(fresh, guild_sync.marker_of(fresh.id, part=part))

        report = await self._out.report_once(
            MessageKey(NATIVE_EVENT, event.id, part=part),
            guild_id=event.guild_id,
            target=NativeTarget(event.guild_id),
            render=_render,
            not_after=event.scheduled_at,
        )
        if report.result is SendResult.SENT:
            of.is_made = True
            await native_notes.mend(event, now=of.now)
            return
        # Made meanwhile, it is not waiting any more; else the claim keeps the backoff.
        again = self._debounce if report.result is SendResult.WITHDRAWN else _AGAIN
        await Event.filter(id=event.id, discord_scheduled_event_id=None).update(native_due_at=of.now + again)
        if report.error is not None and report.result is not SendResult.UNKNOWN:
            await self._failed(of, event, report.error)

    async def _is_in_line(self, of: _Pass, event: Event) -> None:
        """Have the interested counted, and what somebody deleted by hand noticed; no more often than said."""
        again = max(_last_seen(event), self._last_read(of)) + COUNT_EVERY
        if again <= of.now:
            of.to_count.append(event)
        else:
            # A clock that was set back must not make the wait longer than it was meant to be.
            again = min(again, of.now + COUNT_EVERY)
            await native_rows.settle(event, now=of.now, again=again, debounce=self._debounce)

    def _last_read(self, of: _Pass) -> dt.datetime:
        """Return when the server's list was read last, long ago where it never was."""
        return self._read.get(of.guild_id, _EVER)

    async def _count(self, of: _Pass) -> None:
        """Ask once for all events of the server."""
        self._read[of.guild_id] = of.now
        try:
            interested = await self._editor.interested(of.guild_id)
        except SendError as error:
            _log.warning("interested_not_counted", guild=of.guild_id, error_class=error.error_class.value)
            self._out.blocks.heed(error.error_class, guild_id=of.guild_id)
            for event in of.to_count:
                await Event.filter(id=event.id).update(native_due_at=of.now + COUNT_EVERY)
            return
        for event in of.to_count:
            count = interested.get(event.discord_scheduled_event_id or 0)
            await native_rows.store_interested(event, count, now=of.now, debounce=self._debounce)

    async def _failed(self, of: _Pass, event: Event, error: SendError) -> None:
        kind = error.error_class
        _log.warning("native_step_failed", guild=of.guild_id, event_id=event.id, error_class=kind.value)
        self._out.blocks.heed(kind, guild_id=of.guild_id)
        if kind is ErrorClass.NO_ROOM:
            await self._has_no_room(of, event, of.now + _PERMANENT_AGAIN)
            return
        is_own = kind in {ErrorClass.INVALID, ErrorClass.GONE, ErrorClass.EVENT_STARTED}
        is_permanent = is_own or kind is ErrorClass.FORBIDDEN
        until = of.now + (_PERMANENT_AGAIN if is_permanent else max(_AGAIN, error.retry_after or _AGAIN))
        if not is_own:
            self._rests[of.guild_id] = until
        await Event.filter(id=event.id).update(native_due_at=until)
        if await native_notes.raise_failed(event, error, now=of.now):
            self._agenda.wake(TELL_OPS_NOTES, of.now)

    async def _has_no_room(self, of: _Pass, event: Event, again: dt.datetime) -> None:
        """Let whatever waits for room in the server wait; what has its place there goes on."""
        await Event.filter(id=event.id, discord_scheduled_event_id=None).update(native_due_at=again)
        await native_rows.put_off(of.guild_id, again, now=of.now, only_unmade=True)
        await native_notes.raise_full(of.guild_id, most=MOST_LIVE, now=of.now)
        self._agenda.wake(TELL_OPS_NOTES, of.now)


def _last_seen(event: Event) -> dt.datetime:
    """Return when an event was seen in its server's list last, or else was put there."""
    seen = (event.native_told or {}).get("counted_at")
    return dt.datetime.fromisoformat(seen) if isinstance(seen, str) else made_at(event.discord_scheduled_event_id or 0)
