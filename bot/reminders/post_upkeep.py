"""
Bring the one post of an event in line with its row: edited, debounced, or posted again once it was deleted.

What lags behind is kept in the row, so that a crash forgets no edit. An edit that races a change is followed by
another: the mark is cleared only where nothing changed since it was read.
"""

import asyncio
import datetime as dt
from collections.abc import Callable
from typing import Protocol

import structlog

from bot.events.lifecycle import ends_at
from bot.events.posts import bring_forward
from bot.events.signups.people import people_of
from bot.leases.failures import ErrorClass, SendError, Verdict
from bot.leases.keys import EVENT_REPOST, MessageKey
from bot.leases.ports import ChannelTarget
from bot.leases.reports import WithdrawnError
from bot.leases.send_once import OneWayOut
from bot.message.outgoing import OutgoingMessage
from bot.ops_notes import mend_faults, post_fault, post_fault_sentence, raise_fault
from bot.reminders import content
from bot.reminders.tasks import announcement_target
from bot.scheduling.agenda import Agenda
from bot.scheduling.bodies import TELL_OPS_NOTES
from bot.transactions import DATABASE_ERRORS, atomic
from models.event import Event
from models.states import AHEAD

_log = structlog.get_logger(__name__)

_AT_ONCE = 100
_EVER = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_SIDE_BY_SIDE = 10
_RETRY_AFTER = dt.timedelta(seconds=30)
_RETRY_PERMANENT_AFTER = dt.timedelta(hours=1)


class PostEditor(Protocol):
    """Discord, as the upkeep of posts uses it."""

    async def edit(self, target: ChannelTarget, message_id: int, message: OutgoingMessage) -> None:
        """
        Make a post of the bot's own say ``message``; nobody is pinged by it.

        Raises:
            SendError: it could not be edited; class ``gone`` where the post or its channel is not there any more.
        """
        ...


class PostUpkeep:
    """The body of the ``sync_discord_events`` loop, as far as posts go."""

    def __init__(
        self,
        editor: PostEditor,
        out: OneWayOut,
        *,
        is_available: Callable[[int], bool],
        agenda: Agenda,
        debounce: dt.timedelta,
    ) -> None:
        self._editor = editor
        self._out = out
        self._is_available = is_available
        self._agenda = agenda
        self._debounce = debounce
        self._side_by_side = asyncio.Semaphore(_SIDE_BY_SIDE)

    async def sync_discord_events(self, now: dt.datetime) -> dt.datetime | None:
        """Edit the posts that lag behind; return the next moment at which one does."""
        await bring_forward("post_due_at", now=now)
        behind = await Event.filter(post_due_at__lte=now).order_by("post_due_at", "id").limit(_AT_ONCE)
        await asyncio.gather(*(self._sync_one(event, now) for event in behind))
        # Asked for what is not null, SQLite would walk through every event that has no such moment first.
        ahead = await Event.filter(post_due_at__gt=_EVER).order_by("post_due_at").limit(1)
        upcoming = ahead[0].post_due_at if ahead else None
        return max(upcoming, now + dt.timedelta(seconds=1)) if upcoming is not None else None

    async def _sync_one(self, event: Event, now: dt.datetime) -> None:
        async with self._side_by_side:
            try:
                if self._out.blocks.is_paused() or not self._is_available(event.guild_id):
                    await Event.filter(id=event.id).update(post_due_at=now + _RETRY_AFTER)
                elif event.announcement_message_id is None or event.announcement_channel_id is None:
                    await self._repost(event, now)
                else:
                    await self._edit(event, event.announcement_channel_id, event.announcement_message_id, now)
            except DATABASE_ERRORS:
                _log.exception("post_not_synced", guild=event.guild_id, event_id=event.id)
            except Exception:  # noqa: BLE001 -- logged; the other posts go on
                # One that cannot be rendered must not stop the rest, nor stand before them at every pass.
                _log.exception("post_not_synced", guild=event.guild_id, event_id=event.id)
                await self._put_aside(event, now)

    async def _put_aside(self, event: Event, now: dt.datetime) -> None:
        try:
            await Event.filter(id=event.id).update(post_due_at=now + _RETRY_PERMANENT_AFTER)
        except DATABASE_ERRORS:
            # Raised, it would end the pass while the other posts are still being edited.
            _log.exception("post_not_put_aside", guild=event.guild_id, event_id=event.id)

    async def _edit(self, event: Event, channel_id: int, message_id: int, now: dt.datetime) -> None:
        target = ChannelTarget(event.guild_id, channel_id)
        try:
            await self._editor.edit(target, message_id, content.announcement(event, await people_of(event.id)))
        except SendError as error:
            await self._edit_failed(event, error, now)
            return
        await mend_faults(event.guild_id, post_fault(channel_id), now=now)
        unchanged = await Event.filter(id=event.id, post_version=event.post_version).update(post_due_at=None)
        if not unchanged:
            await Event.filter(id=event.id).update(post_due_at=now + self._debounce)
        _log.info("post_edited", guild=event.guild_id, event_id=event.id, message=message_id)

    async def _edit_failed(self, event: Event, error: SendError, now: dt.datetime) -> None:
        _log.warning("post_not_edited", guild=event.guild_id, event_id=event.id, error_class=error.error_class.value)
        self._out.blocks.heed(error.error_class, guild_id=event.guild_id)
        if error.error_class is ErrorClass.GONE:
            await self._forget_post(event, now, repost=event.state in AHEAD and event.scheduled_at > now)
        elif error.verdict is not Verdict.PERMANENT:
            await Event.filter(id=event.id).update(post_due_at=now + _RETRY_AFTER)
        else:
            # Whatever its state: that an event is cancelled is what its post must say most of all.
            await self._put_off(event, error, now, again=ends_at(event) > now)

    async def _forget_post(self, event: Event, now: dt.datetime, *, repost: bool) -> None:
        changed = await Event.filter(id=event.id, announcement_message_id=event.announcement_message_id).update(
            announcement_channel_id=None,
            announcement_message_id=None,
            post_due_at=now if repost else None,
            reposts=event.reposts + 1 if repost else event.reposts,
        )
        if changed and repost:
            await event.refresh_from_db()
            await self._repost(event, now)

    async def _put_off(self, event: Event, error: SendError, now: dt.datetime, *, again: bool) -> None:
        says = post_fault_sentence(event.announcement_channel_id, error)

        async def _unit() -> None:
            await Event.filter(id=event.id).update(post_due_at=now + _RETRY_PERMANENT_AFTER if again else None)
            if says is not None and again:
                await raise_fault(event.guild_id, post_fault(event.announcement_channel_id), says, now=now)

        await atomic(_unit)
        self._agenda.wake(TELL_OPS_NOTES, now)

    async def _repost(self, event: Event, now: dt.datetime) -> None:
        """Post again what was deleted; once the event is no longer ahead the mark is cleared instead."""
        if event.state not in AHEAD or event.scheduled_at <= now or event.reposts == 0:
            await Event.filter(id=event.id, announcement_message_id=None).update(post_due_at=None)
            return

        async def _render() -> OutgoingMessage:
            fresh = await Event.get_or_none(id=event.id)
            if fresh is None or fresh.state not in AHEAD or fresh.reposts != event.reposts:
                raise WithdrawnError
            return content.announcement(fresh, await people_of(fresh.id))

        await self._out.send_once(
            MessageKey(EVENT_REPOST, event.id, part=event.reposts),
            guild_id=event.guild_id,
            target=await announcement_target(event),
            render=_render,
            not_after=event.scheduled_at,
        )
        # Sent, its observer cleared the mark; else the pass looks again, and the claim keeps the backoff.
        await Event.filter(id=event.id, announcement_message_id=None).update(post_due_at=now + _RETRY_AFTER)
