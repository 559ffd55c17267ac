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
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

import structlog

from bot.clock import Clock, LeaseClock
from bot.leases import ledger
from bot.leases.failures import Backoff, ErrorClass, SendError, Verdict
from bot.leases.keys import MessageKey, nonce
from bot.leases.ledger import Claim, Lease
from bot.leases.ports import (
    Attempt,
    ChannelTarget,
    Delivered,
    DiscordTime,
    LeaseLostError,
    MessagePort,
    OutcomeObserver,
)
from bot.message.outgoing import OutgoingMessage
from bot.scheduling.agenda import Agenda
from bot.scheduling.bodies import SWEEP_STALE_DISCORD_LEASES
from bot.transactions import DATABASE_ERRORS, atomic

_log = structlog.get_logger(__name__)

Renderer = Callable[[], Awaitable[OutgoingMessage]]

_DISCORD_EPOCH = dt.datetime(2015, 1, 1, tzinfo=dt.UTC)
_HISTORY_SLACK = dt.timedelta(seconds=5)
# Past this the lease is asked for once more before the request: a throttle or a suspended host came between.
_TRUSTED_AGE = dt.timedelta(seconds=5)
# A resend comes no earlier than this after its claim: what is still on its way has then arrived or never will.
RESEND_AFTER = dt.timedelta(seconds=60)


class SendResult(StrEnum):
    """What became of one call."""

    SENT = "sent"
    ALREADY_CLAIMED = "already_claimed"
    FAILED_TRANSIENT = "failed_transient"
    FAILED_PERMANENT = "failed_permanent"
    UNKNOWN = "unknown"
    WITHDRAWN = "withdrawn"


class WithdrawnError(Exception):
    """Raised by a renderer whose message is no longer to be sent: nothing is claimed."""


@dataclass(frozen=True, slots=True)
class SendOptions:
    """``concurrent_sends``: attempts under way at once; ``backoff``: how long failures wait."""

    concurrent_sends: int = 50
    backoff: Backoff = field(default_factory=Backoff)
    cdn_block_pause: dt.timedelta = dt.timedelta(minutes=10)


@dataclass(frozen=True, slots=True)
class _Outcome:
    """What an attempt ended in, kept until the database took it."""

    attempt: Attempt
    lease: Lease
    result: Delivered | SendError
    next_attempt_at: dt.datetime | None = None


def snowflake_at(moment: dt.datetime) -> int:
    """Return the smallest Discord id of that moment."""
    return max(0, int((moment - _DISCORD_EPOCH).total_seconds() * 1000)) << 22


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
        options: SendOptions | None = None,
    ) -> None:
        self.instance = instance
        self.lease_clock = lease_clock
        self._port = port
        self._clock = clock
        self._discord_time = discord_time
        self._agenda = agenda
        self._observers = observers
        self._stop = stop
        self._options = options or SendOptions()
        self._slots = asyncio.Semaphore(self._options.concurrent_sends)
        # Discord's bucket for messages is per channel: one at a time there, so that a lease begins at its attempt.
        self._channels: defaultdict[int, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._held: dict[int, asyncio.Task[object]] = {}
        self._asked: set[int] = set()
        self._unrecorded: list[_Outcome] = []
        self._paused_until: dt.datetime | None = None

    async def send_once(  # noqa: PLR0911 -- one return per result
        self,
        key: MessageKey,
        *,
        guild_id: int | None,
        target: ChannelTarget | None,
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
        if self._is_paused():
            return SendResult.FAILED_TRANSIENT
        async with self._channels[target.channel_id if target else 0], self._slots:
            attempt = Attempt(key, guild_id, target.channel_id if target else None)
            try:
                message = await render()
            except WithdrawnError:
                return SendResult.WITHDRAWN
            except DATABASE_ERRORS:
                raise
            except Exception as error:  # noqa: BLE001 -- whatever a renderer raises is that one message's fault
                _log.exception("message_not_rendered", key=str(key), guild=guild_id)
                return await self._fail_unsent(attempt, SendError(ErrorClass.INVALID, f"cannot be rendered: {error}"))
            if target is None:
                return await self._fail_unsent(attempt, SendError(ErrorClass.NO_CHANNEL, "no channel is set"))
            attempt = replace(attempt, version=message.version)
            lease = await self._claim(attempt, message.as_data())
            if lease is None:
                return SendResult.ALREADY_CLAIMED
            return await self._deliver(attempt, lease, target, message, not_after)

    def _is_paused(self) -> bool:
        return self._paused_until is not None and self._clock.now() < self._paused_until

    async def _claim(self, attempt: Attempt, embed_data: dict[str, object] | None) -> Lease | None:
        after = snowflake_at(self._discord_time.now() - _HISTORY_SLACK)
        claim = Claim(attempt.key, attempt.guild_id, attempt.channel_id, embed_data, after)
        lease = await ledger.claim_lease(claim, instance=self.instance, lease_clock=self.lease_clock)
        return lease or await self._adopt(attempt)

    async def _adopt(self, attempt: Attempt) -> Lease | None:
        """Go on under a row that was handed back, or that this instance claimed without seeing the answer."""
        for row in await ledger.held_rows(attempt.key):
            handed_back = row.lease.token == ""
            mine = row.instance == self.instance
            unseen = mine and not self.is_under_way(row.lease) and row.lease.id not in self._asked
            if handed_back or unseen:
                return await ledger.take_over(
                    row.lease, instance=self.instance, lease_clock=self.lease_clock, channel_id=attempt.channel_id
                )
        return None

    async def _fail_unsent(self, attempt: Attempt, error: SendError) -> SendResult:
        lease = await self._claim(attempt, None)
        if lease is None:
            return SendResult.ALREADY_CLAIMED
        return await self._failed(attempt, lease, error)

    async def _deliver(
        self,
        attempt: Attempt,
        lease: Lease,
        target: ChannelTarget,
        message: OutgoingMessage,
        not_after: dt.datetime | None,
    ) -> SendResult:
        claimed = self._clock.now()

        async def _recheck() -> None:
            now = self._clock.now()
            if not_after is not None and now >= not_after and lease.id not in self._asked:
                raise SendError(ErrorClass.EVENT_STARTED, "the event began before the message could leave")
            if abs(now - claimed) > _TRUSTED_AGE and not await ledger.is_held(lease):
                raise LeaseLostError
            self._asked.add(lease.id)

        task = asyncio.current_task()
        assert task is not None  # noqa: S101 -- a coroutine runs in a task
        self._held[lease.id] = task
        try:
            delivered = await self._port.send(
                target, message, nonce=nonce(attempt.key, target_id=target.channel_id), before_request=_recheck
            )
        except LeaseLostError:
            _log.warning("lease_lost_before_send", key=str(attempt.key), guild=attempt.guild_id)
            return SendResult.ALREADY_CLAIMED
        except SendError as error:
            return await self._failed(attempt, lease, error)
        except asyncio.CancelledError:
            self._agenda.wake(SWEEP_STALE_DISCORD_LEASES, lease.claimed_at + RESEND_AFTER)
            raise
        finally:
            self._held.pop(lease.id, None)
        await self._record(_Outcome(attempt, lease, delivered))
        _log.info("message_sent", key=str(attempt.key), guild=attempt.guild_id, message=delivered.message_id)
        return SendResult.SENT

    async def _failed(self, attempt: Attempt, lease: Lease, error: SendError) -> SendResult:
        verdict = error.verdict
        _log.warning(
            "message_not_sent",
            key=str(attempt.key),
            guild=attempt.guild_id,
            error_class=error.error_class.value,
            verdict=verdict.value,
            error=error.text,
        )
        self._heed(error)
        if verdict is Verdict.UNKNOWN:
            await ledger.note_unknown(lease, error)
            self._agenda.wake(SWEEP_STALE_DISCORD_LEASES, lease.claimed_at + RESEND_AFTER)
            return SendResult.UNKNOWN
        next_attempt_at = None
        if error.error_class is not ErrorClass.EVENT_STARTED:
            wait = self._options.backoff.wait(verdict, attempts=lease.attempts, told=error.retry_after)
            next_attempt_at = await self.lease_clock.now() + wait
        await self._record(_Outcome(attempt, lease, error, next_attempt_at))
        return SendResult.FAILED_PERMANENT if verdict is Verdict.PERMANENT else SendResult.FAILED_TRANSIENT

    def _heed(self, error: SendError) -> None:
        if error.error_class is ErrorClass.CDN_BLOCK:
            self._paused_until = self._clock.now() + self._options.cdn_block_pause
        if error.error_class is ErrorClass.UNAUTHORIZED:
            self._stop("Discord refuses the bot's token: set DISCORD_TOKEN to the current one and start again.")

    async def _record(self, outcome: _Outcome) -> bool:
        """Finalize; where the database does not take it, keep it for :meth:`settle`."""
        try:
            recorded = await self.finalize(outcome.attempt, outcome.lease, outcome.result, outcome.next_attempt_at)
        except DATABASE_ERRORS:
            _log.exception("outcome_not_recorded", key=str(outcome.attempt.key), guild=outcome.attempt.guild_id)
            self._unrecorded.append(outcome)
            return False
        if not recorded:
            _log.warning("lease_lost_before_record", key=str(outcome.attempt.key), guild=outcome.attempt.guild_id)
        self._asked.discard(outcome.lease.id)
        return recorded

    async def finalize(
        self, attempt: Attempt, lease: Lease, result: Delivered | SendError, next_attempt_at: dt.datetime | None = None
    ) -> bool:
        """Record an outcome and tell its observers in one transaction; False: the lease was taken away."""
        observers = self._observers.get(attempt.key.source, ())

        async def _unit() -> bool:
            if isinstance(result, Delivered):
                done = await ledger.finalize_sent(lease, result, lease_clock=self.lease_clock)
            else:
                done = await ledger.finalize_failed(
                    lease, result, next_attempt_at=next_attempt_at, lease_clock=self.lease_clock
                )
            for observer in observers if done else ():
                await _tell(observer, attempt, result, next_attempt_at, self._clock.now())
            return done

        return await (atomic(_unit) if observers else _unit())

    async def release(self, attempt: Attempt, lease: Lease, *, delete: bool) -> bool:
        """Give up an open row of which nothing arrived: removed, or handed back to its sender. False: it was lost."""

        async def _unit() -> bool:
            done = await (ledger.delete_held(lease) if delete else ledger.hand_back(lease))
            for observer in self._observers.get(attempt.key.source, ()) if done else ():
                await observer.on_released(attempt, now=self._clock.now())
            return done

        released = await atomic(_unit)
        self._asked.discard(lease.id)
        return released

    async def settle(self) -> None:
        """Try again to record what the database did not take; called by every pass that reads the log."""
        waiting, self._unrecorded = self._unrecorded, []
        for outcome in waiting:
            await self._record(outcome)

    def is_under_way(self, lease: Lease) -> bool:
        """Return whether a running task of this process holds the lease, or its outcome waits to be recorded."""
        return lease.id in self._held or any(outcome.lease.id == lease.id for outcome in self._unrecorded)

    def abandon(self, lease: Lease) -> None:
        """Cancel the running task that holds a lease for far too long: its call never returned."""
        if (task := self._held.get(lease.id)) is not None:
            task.cancel()

    async def find(self, target: ChannelTarget, *, marker: str, after: int) -> Delivered | None:
        """
        Look a message up in the history of its channel.

        Raises:
            HistoryUnreadableError: the channel could not be read to that point.
        """
        return await self._port.find(target, marker=marker, after=after)


async def _tell(
    observer: OutcomeObserver,
    attempt: Attempt,
    result: Delivered | SendError,
    next_attempt_at: dt.datetime | None,
    now: dt.datetime,
) -> None:
    if isinstance(result, Delivered):
        await observer.on_sent(attempt, result, now=now)
    else:
        await observer.on_failed(attempt, result, next_attempt_at=next_attempt_at, now=now)
