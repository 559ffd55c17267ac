"""
The one way out: every message that must not be doubled is sent here, and nowhere else.

Claim, send, finalize. The claim is durable before anything leaves; the nonce is the same for every attempt; what nobody
knows stays open until :mod:`bot.leases.sweep` has read the channel's history. What this promises: a message is resent
only when the history, read at least a minute after the claim, does not show it, under a nonce by which Discord drops a
second copy within its unpublished few minutes. Source: event-reminder-scheduling.md, "Send sequence"; 03-delivery.md,
"One way out".
"""

import asyncio
import datetime as dt
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass, field, replace

import structlog

from bot.clock import Clock, LeaseClock
from bot.leases.blocks import Blocks
from bot.leases.failed_attempts import FailedAttempts
from bot.leases.failures import Backoff, ErrorClass, SendError
from bot.leases.handover import Handover
from bot.leases.keys import MessageKey
from bot.leases.lease_taker import LeaseTaker
from bot.leases.ledger import HeldRow, Lease
from bot.leases.ports import (
    AnyTarget,
    Attempt,
    Delivered,
    DiscordTime,
    LeaseLostError,
    MessagePort,
    NativePort,
    OutcomeObserver,
    Sendable,
)
from bot.leases.recorder import Outcome, OutcomeRecorder
from bot.leases.reports import SendReport, SendResult, WithdrawnError
from bot.leases.request_guard import RequestGuard
from bot.leases.turns import Turns
from bot.leases.under_way import UnderWay
from bot.scheduling.agenda import DATABASE_AGAIN, Agenda
from bot.scheduling.bodies import SENDERS, SWEEP_STALE_DISCORD_LEASES
from bot.transactions import DATABASE_ERRORS

_log = structlog.get_logger(__name__)

Renderer = Callable[[], Awaitable[Sendable]]

# A resend comes no earlier than this after its claim: what is still on its way has then arrived or never will.
RESEND_AFTER = dt.timedelta(seconds=60)


@dataclass(frozen=True, slots=True)
class SendOptions:
    """``concurrent_sends``: posts under way at once; ``backoff``: how long failures wait."""

    concurrent_sends: int = 50
    backoff: Backoff = field(default_factory=Backoff)
    cdn_block_pause: dt.timedelta = dt.timedelta(minutes=10)


class OneWayOut:
    """Sends each key once, for one instance; keeps in memory what of its own leases is under way."""

    def __init__(  # noqa: PLR0913 -- the ports of the one way out, joined in bootstrap only
        self,
        port: MessagePort,
        *,
        clock: Clock,
        lease_clock: LeaseClock,
        discord_time: DiscordTime,
        instance: str,
        agenda: Agenda,
        observers: Mapping[str, tuple[OutcomeObserver, ...]],
        stop: Callable[[str], None],
        natives: NativePort | None = None,
        options: SendOptions | None = None,
    ) -> None:
        self.instance = instance
        self.lease_clock = lease_clock
        self._handover = Handover(port, natives)
        self._clock = clock
        self._agenda = agenda
        self._options = options or SendOptions()
        self._turns = Turns(at_once=self._options.concurrent_sends)
        self._database_listeners: list[Callable[[Exception, dt.datetime], None]] = []
        self.under_way = UnderWay()
        self.blocks = Blocks(clock=clock, stop=stop, pause=self._options.cdn_block_pause)
        self.recorder = OutcomeRecorder(
            clock=clock,
            lease_clock=lease_clock,
            observers=observers,
            on_kept=self._look_later,
            on_closed=self.under_way.forget_request,
        )
        self._taker = LeaseTaker(
            instance,
            lease_clock=lease_clock,
            discord_time=discord_time,
            under_way=self.under_way,
            recorder=self.recorder,
        )
        self._failures = FailedAttempts(
            self.recorder,
            self.blocks,
            clock=clock,
            lease_clock=lease_clock,
            backoff=self._options.backoff,
            look_later=self._look_later,
        )

    async def send_once(
        self,
        key: MessageKey,
        *,
        guild_id: int | None,
        target: AnyTarget | None,
        render: Renderer,
        not_after: dt.datetime | None = None,
    ) -> SendResult:
        """
        Send the message of ``key`` unless it was sent, is being sent, or its next attempt lies ahead.

        ``target`` None: there is nowhere to send it, which is recorded. ``render`` is awaited right before the claim.
        From ``not_after`` on no request is written any more, however long a throttle held it.

        Raises:
            DATABASE_ERRORS: the claim is not durable; nothing was sent.
        """
        report = await self.report_once(key, guild_id=guild_id, target=target, render=render, not_after=not_after)
        return report.result

    async def report_once(
        self,
        key: MessageKey,
        *,
        guild_id: int | None,
        target: AnyTarget | None,
        render: Renderer,
        not_after: dt.datetime | None = None,
    ) -> SendReport:
        """
        Send as :meth:`send_once` does, and tell why it failed.

        Raises:
            DATABASE_ERRORS: the claim is not durable; nothing was sent.
        """
        if self.blocks.is_paused():
            return SendReport(SendResult.FAILED_TRANSIENT)
        async with self._turns.turn(target):
            if self.blocks.is_paused():  # the block may have come while this one waited
                return SendReport(SendResult.FAILED_TRANSIENT)
            # Another call may send the key elsewhere at this moment; what it claims must not be taken for forgotten.
            if self.under_way.is_running(key):
                return SendReport(SendResult.ALREADY_CLAIMED)
            attempt = Attempt(key, guild_id, target.channel_id if target else None)
            return await self._run(attempt, self._render_and_send(attempt, target, render, not_after))

    async def fail_once(self, key: MessageKey, *, guild_id: int | None, error: SendError) -> SendReport:
        """
        Record that the message of ``key`` could not even be tried, as the way to its channel failed.

        Raises:
            DATABASE_ERRORS: it is not recorded.
        """
        if self.under_way.is_running(key):
            return SendReport(SendResult.ALREADY_CLAIMED)
        attempt = Attempt(key, guild_id, None)
        return await self._run(attempt, self._fail_unsent(attempt, error))

    async def _run(self, attempt: Attempt, work: Coroutine[object, object, SendReport]) -> SendReport:
        """Make one attempt as the running task of its key; however it ends, the sweep looks at what it leaves open."""
        task = self.under_way.begin(attempt.key)
        try:
            return await work
        except WithdrawnError:
            return SendReport(SendResult.WITHDRAWN)
        except BaseException as error:
            self._look_later()
            if isinstance(error, DATABASE_ERRORS):
                self.try_again_soon(error)
            was_abandoned = self.under_way.is_abandoned(attempt.key) and isinstance(error, asyncio.CancelledError)
            if not was_abandoned or task.uncancel() > 0:
                raise
            _log.warning("call_abandoned", key=str(attempt.key), guild=attempt.guild_id)
            return SendReport(SendResult.UNKNOWN)
        finally:
            self.under_way.end(attempt.key)

    async def _render_and_send(
        self, attempt: Attempt, target: AnyTarget | None, render: Renderer, not_after: dt.datetime | None
    ) -> SendReport:
        try:
            message = await render()
        except WithdrawnError:
            raise
        except DATABASE_ERRORS:
            raise
        except Exception as error:  # noqa: BLE001 -- whatever a renderer raises is that one message's fault
            _log.exception("message_not_rendered", key=str(attempt.key), guild=attempt.guild_id)
            return await self._fail_unsent(attempt, SendError(ErrorClass.INVALID, f"cannot be rendered: {error}"))
        if target is None:
            return await self._fail_unsent(attempt, SendError(ErrorClass.NO_CHANNEL, "no channel is set"))
        attempt = replace(attempt, version=message.version)
        # Asked before the claim: a host that is suspended until its answer must not trust the lease.
        asked = self._clock.now()
        lease = await self._taker.take_standing(attempt, message.as_data())
        if lease is None:
            return SendReport(SendResult.ALREADY_CLAIMED)
        guard = RequestGuard(
            lease,
            trusted=asked,
            not_after=not_after,
            clock=self._clock,
            lease_clock=self.lease_clock,
            under_way=self.under_way,
        )
        return await self._deliver(attempt, lease, target, message, guard.before_request)

    def on_database_error(self, listener: Callable[[Exception, dt.datetime], None]) -> None:
        """Tell ``listener`` of every error for which nothing could be claimed."""
        self._database_listeners.append(listener)

    def try_again_soon(self, error: Exception) -> None:
        """Let whoever sends come again in a few seconds: the database did not do, or not answer, what was asked."""
        for listener in self._database_listeners:
            listener(error, self._clock.now())
        # The sweep first: a claim of which only the answer was lost keeps the poll from seeing what is due.
        for body in (SWEEP_STALE_DISCORD_LEASES, *SENDERS):
            self._agenda.wake(body, self._clock.now() + DATABASE_AGAIN)

    def _look_later(self) -> None:
        self._agenda.wake(SWEEP_STALE_DISCORD_LEASES, self._clock.now() + RESEND_AFTER)

    async def claim(self, attempt: Attempt, embed_data: dict[str, object] | None) -> Lease | None:
        """
        Take the lease of a key for this instance; None: it is sent, held, or its next attempt lies ahead.

        Raises:
            DATABASE_ERRORS: the claim is not durable.
        """
        return await self._taker.take(attempt, embed_data)

    async def _fail_unsent(self, attempt: Attempt, error: SendError) -> SendReport:
        lease = await self._taker.take_standing(attempt, None)
        if lease is None:
            return SendReport(SendResult.ALREADY_CLAIMED)
        return await self._failures.settle(attempt, lease, error)

    async def _deliver(
        self,
        attempt: Attempt,
        lease: Lease,
        target: AnyTarget,
        message: Sendable,
        before_request: Callable[[], Awaitable[None]],
    ) -> SendReport:
        try:
            delivered = await self._handover.send(attempt.key, target, message, before_request=before_request)
        except LeaseLostError:
            _log.warning("lease_lost_before_send", key=str(attempt.key), guild=attempt.guild_id)
            return SendReport(SendResult.ALREADY_CLAIMED)
        except WithdrawnError:
            return await self._leave_off(attempt, lease)
        except SendError as error:
            return await self._failures.settle(attempt, lease, error)
        await self.recorder.record(Outcome(attempt, lease, delivered))
        _log.info("message_sent", key=str(attempt.key), guild=attempt.guild_id, message=delivered.message_id)
        return SendReport(SendResult.SENT)

    async def _leave_off(self, attempt: Attempt, lease: Lease) -> SendReport:
        """Give up a message whose event was removed while it was held back; what may have arrived is looked for."""
        if self.under_way.may_have_left(lease):
            self._look_later()
            return SendReport(SendResult.UNKNOWN)
        await self.recorder.release(attempt, lease, delete=True)
        return SendReport(SendResult.WITHDRAWN)

    def is_under_way(self, lease: Lease) -> bool:
        """Return whether a running task of this process holds the lease, or its outcome waits to be recorded."""
        return self.under_way.has(lease.key) or self.recorder.awaits_record(lease)

    async def fence(self, row: HeldRow) -> Lease | None:
        """Take an open row over to find out what became of it; None: somebody was faster, or it is finished."""
        return await self._taker.take_over(row)

    async def find(self, target: AnyTarget, *, marker: str, after: int) -> Delivered | None:
        """
        Look a message up in the history of its channel or DM, a scheduled event in its server's list.

        Raises:
            HistoryUnreadableError: the channel, or the list, could not be read to that point.
        """
        return await self._handover.find(target, marker=marker, after=after)
