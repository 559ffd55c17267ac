"""The steps of a scheduled event that stands in its server's list: edited, started, ended, removed; each repeatable."""

import datetime as dt
from typing import Protocol

import structlog

from bot.events import guild_sync
from bot.leases.failures import ErrorClass, SendError
from bot.message.native_event import LIVE, NativeChange, NativeEvent, NativeState, NativeStatus
from bot.reminders.native_rows import COUNT_EVERY, LEAVING, end, note_leaving, settle
from bot.reminders.tasks import announcement_target
from models.event import Event

_log = structlog.get_logger(__name__)


class NativeEditor(Protocol):
    """A server's list of scheduled events, as their upkeep uses it; each step may be repeated."""

    async def look(self, guild_id: int, native_id: int) -> NativeState:
        """
        Return where one stands.

        Raises:
            SendError: Discord did not say; class ``gone`` where there is none of that id.
        """
        ...

    async def interested(self, guild_id: int) -> dict[int, int]:
        """
        Return how many members are interested in each live one, by its id.

        Raises:
            SendError: Discord did not say.
        """
        ...

    async def change(self, guild_id: int, native_id: int, change: NativeChange) -> None:
        """
        Change what one says or where it stands.

        Raises:
            SendError: it was not changed; class ``gone`` where there is none of that id, or it has ended.
        """
        ...

    async def remove(self, guild_id: int, native_id: int) -> None:
        """
        Take one off the list.

        Raises:
            SendError: it was not taken off; class ``gone`` where there is none of that id.
        """
        ...


async def wanted(event: Event, marker: str) -> NativeEvent:
    """Return the event as its server's list should show it."""
    target = await announcement_target(event)
    return guild_sync.native_event(event, channel_id=target.channel_id if target is not None else None, marker=marker)


class NativeSteps:
    """Takes the steps that one scheduled event lacks, as its row was read."""

    def __init__(self, editor: NativeEditor, *, debounce: dt.timedelta) -> None:
        self._editor = editor
        self._debounce = debounce

    async def bring_in_line(self, event: Event, native_id: int, *, now: dt.datetime) -> bool:
        """
        Tell Discord what differs from what it was told; False: nothing does.

        Raises:
            SendError: a step failed; what Discord was told is still what the row says.
        """
        told, want = event.native_told or {}, guild_sync.goal(event)
        if want is None:
            await self._remove(event, native_id, now)
            return True
        native = await wanted(event, str(told.get("marker") or guild_sync.marker_of(event.id, part=0)))
        if not guild_sync.lags(told, native, want):
            return False
        try:
            is_there = await self._go(event, native_id, native, want, now)
        except SendError as error:
            if error.error_class is not ErrorClass.GONE:
                raise
            is_there = False
        _log.info("native_event_synced", guild=event.guild_id, event_id=event.id, native=native_id, status=want.value)
        if not is_there:
            is_lost = want in LIVE and told.get("status") != LEAVING
            await end(event, native_id, now=now, status=want.value, debounce=self._debounce, is_lost=is_lost)
        return True

    async def _go(
        self, event: Event, native_id: int, native: NativeEvent, want: NativeStatus, now: dt.datetime
    ) -> bool:
        """Go the way from where it stands at Discord; False: it ends there, or had ended before."""
        told = event.native_told or {}
        state = await self._editor.look(event.guild_id, native_id)
        runs = state.status is NativeStatus.ACTIVE
        if runs and want is NativeStatus.SCHEDULED and guild_sync.was_put_off(told, native, now=now):
            # What runs cannot be set back: it goes, and another is made.
            await self._remove(event, native_id, now)
            return True
        steps = guild_sync.way(state.status, want)
        for status in steps:
            step = NativeChange(status=status)
            if want in LIVE:
                step = guild_sync.change(told, native, status, runs=runs, now=now)
            if not step.is_empty:
                await self._editor.change(event.guild_id, native_id, step)
        if not steps or want not in LIVE:
            return False
        told_now = {**native.as_data(), "status": want.value}
        if "counted_at" in told:
            told_now["counted_at"] = told["counted_at"]
        await settle(event, now=now, again=now + COUNT_EVERY, debounce=self._debounce, told=told_now)
        return True

    async def _remove(self, event: Event, native_id: int, now: dt.datetime) -> None:
        await note_leaving(event, native_id)
        try:
            await self._editor.remove(event.guild_id, native_id)
        except SendError as error:
            if error.error_class is not ErrorClass.GONE:
                raise
        await end(event, native_id, now=now, status="removed", debounce=self._debounce)
        _log.info("native_event_removed", guild=event.guild_id, event_id=event.id, native=native_id)
