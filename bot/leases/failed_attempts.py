"""
What becomes of an attempt that Discord did not take: unknown, for another time, or for good.

Whoever asked hears of it whatever the database does. Source: 03-delivery.md, "Retries" and "Error classes".
"""

import datetime as dt
from collections.abc import Callable

import structlog

from bot.clock import Clock, LeaseClock
from bot.leases import ledger
from bot.leases.blocks import Blocks
from bot.leases.failures import Backoff, ErrorClass, SendError, Verdict
from bot.leases.ledger import Lease
from bot.leases.ports import Attempt
from bot.leases.recorder import Outcome, OutcomeRecorder
from bot.leases.reports import SendReport, SendResult
from bot.transactions import DATABASE_ERRORS

_log = structlog.get_logger(__name__)


class FailedAttempts:
    """
    Settles the failed attempts of one process.

    ``backoff``: how long failures wait. ``look_later``: called where the sweep has to find out what became of a row.
    """

    def __init__(
        self,
        recorder: OutcomeRecorder,
        blocks: Blocks,
        *,
        clock: Clock,
        lease_clock: LeaseClock,
        backoff: Backoff,
        look_later: Callable[[], None],
    ) -> None:
        self._recorder = recorder
        self._blocks = blocks
        self._clock = clock
        self._lease_clock = lease_clock
        self._backoff = backoff
        self._look_later = look_later

    async def settle(self, attempt: Attempt, lease: Lease, error: SendError) -> SendReport:
        """Do what the error asks of the whole process, record it, and return what to tell of it."""
        verdict = error.verdict
        _log.warning(
            "message_not_sent",
            key=str(attempt.key),
            guild=attempt.guild_id,
            error_class=error.error_class.value,
            verdict=verdict.value,
            error=error.text,
        )
        self._blocks.heed(error.error_class, guild_id=attempt.guild_id)
        if verdict is Verdict.UNKNOWN:
            self._look_later()
            await self._note_unknown(attempt, lease, error)
            return SendReport(SendResult.UNKNOWN, error)
        if error.error_class is ErrorClass.OPENING_TOO_FAST and attempt.key.recipient_id:
            # Whoever was to get it did nothing wrong: the key is as if it had never been tried. Its queue rests; a post
            # has none, and would be tried again at each poll.
            await self._release_untried(attempt, lease)
            return SendReport(SendResult.FAILED_TRANSIENT, error)
        next_attempt_at = None
        if error.error_class is not ErrorClass.EVENT_STARTED:
            wait = self._backoff.wait(verdict, attempts=lease.attempts, retry_after=error.retry_after)
            next_attempt_at = await self._lease_now() + wait
        await self._recorder.record(Outcome(attempt, lease, error, next_attempt_at))
        result = SendResult.FAILED_PERMANENT if verdict is Verdict.PERMANENT else SendResult.FAILED_TRANSIENT
        return SendReport(result, error, next_attempt_at)

    async def _release_untried(self, attempt: Attempt, lease: Lease) -> None:
        try:
            await self._recorder.release(attempt, lease, delete=True)
        except DATABASE_ERRORS:
            # Whoever asked must hear all the same that everything has to rest; the sweep releases the row.
            _log.exception("untried_not_released", key=str(attempt.key), guild=attempt.guild_id)
            self._look_later()

    async def _note_unknown(self, attempt: Attempt, lease: Lease, error: SendError) -> None:
        try:
            await ledger.note_unknown(lease, error)
        except DATABASE_ERRORS:
            # The open row says enough: the sweep looks the message up in any case.
            _log.exception("unknown_not_noted", key=str(attempt.key), guild=attempt.guild_id)

    async def _lease_now(self) -> dt.datetime:
        """Return the lease clock's moment, this process's own where the database cannot tell."""
        try:
            return await self._lease_clock.now()
        except DATABASE_ERRORS:
            return self._clock.now()
