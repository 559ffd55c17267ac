"""
Write down what became of an attempt: in the message log, and in the same transaction with whoever keeps rows beside it.

What the database does not take is kept and tried again, so that a known outcome is never looked up in a history.
"""

import datetime as dt
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import structlog

from bot.clock import Clock, LeaseClock
from bot.leases import fan_out_rows, ledger
from bot.leases.failures import SendError
from bot.leases.fan_out_rows import FanOutCounts
from bot.leases.ledger import Lease
from bot.leases.ports import Attempt, Delivered, OutcomeObserver
from bot.transactions import DATABASE_ERRORS, atomic

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an attempt ended in, kept until the database took it; ``next_attempt_at`` None: never again by itself."""

    attempt: Attempt
    lease: Lease
    result: Delivered | SendError | FanOutCounts
    next_attempt_at: dt.datetime | None = None


class OutcomeRecorder:
    """
    Finalizes and releases the rows of one instance.

    ``observers``: by source, whoever keeps rows beside the log. ``on_kept``: called when an outcome has to wait for the
    database. ``on_closed``: called with the id of a row that is open no more.
    """

    def __init__(
        self,
        *,
        clock: Clock,
        lease_clock: LeaseClock,
        observers: Mapping[str, tuple[OutcomeObserver, ...]],
        on_kept: Callable[[], None],
        on_closed: Callable[[int], None],
    ) -> None:
        self._clock = clock
        self._lease_clock = lease_clock
        self._observers = observers
        self._on_kept = on_kept
        self._on_closed = on_closed
        self._kept: list[Outcome] = []

    async def record(self, outcome: Outcome) -> bool:
        """Finalize; where the database does not take it, keep it for :meth:`settle`. False: not recorded (yet)."""
        try:
            recorded = await self.finalize(outcome)
        except DATABASE_ERRORS:
            _log.exception("outcome_not_recorded", key=str(outcome.attempt.key), guild=outcome.attempt.guild_id)
            if outcome not in self._kept:
                self._kept.append(outcome)
            self._on_kept()
            return False
        if not recorded:
            _log.warning("lease_lost_before_record", key=str(outcome.attempt.key), guild=outcome.attempt.guild_id)
        if outcome in self._kept:
            self._kept.remove(outcome)
        return recorded

    async def finalize(self, outcome: Outcome) -> bool:
        """Record an outcome and tell its observers in one transaction; False: the lease was taken away."""
        attempt, lease, result = outcome.attempt, outcome.lease, outcome.result
        observers = self._observers.get(attempt.key.source, ())

        async def _unit() -> bool:
            if isinstance(result, Delivered):
                done = await ledger.finalize_sent(lease, result, lease_clock=self._lease_clock)
            elif isinstance(result, FanOutCounts):
                done = await fan_out_rows.finish_parent(lease, result, lease_clock=self._lease_clock)
            else:
                done = await ledger.finalize_failed(
                    lease, result, next_attempt_at=outcome.next_attempt_at, lease_clock=self._lease_clock
                )
            for observer in observers if done else ():
                await _tell(observer, outcome, self._clock.now())
            return done

        done = await (atomic(_unit) if observers else _unit())
        if done:
            self._on_closed(lease.id)
        return done

    async def release(self, attempt: Attempt, lease: Lease, *, delete: bool) -> bool:
        """Give up an open row of which nothing arrived: removed, or handed back to its sender. False: it was lost."""

        async def _unit() -> bool:
            done = await (ledger.delete_held(lease) if delete else ledger.hand_back(lease))
            for observer in self._observers.get(attempt.key.source, ()) if done else ():
                await observer.on_released(attempt, now=self._clock.now())
            return done

        released = await atomic(_unit)
        # Lost, the row is still open, and somebody of this process may have asked under it meanwhile.
        if released:
            self._on_closed(lease.id)
        return released

    async def settle(self) -> None:
        """Try again to record what the database did not take; called by every pass that reads the log."""
        # Each stays in the list until it is recorded: a pass that is cancelled forgets none.
        for outcome in list(self._kept):
            await self.record(outcome)

    def awaits_record(self, lease: Lease) -> bool:
        """Return whether the outcome of a lease is known here and waits for the database."""
        return any(outcome.lease.id == lease.id for outcome in self._kept)


async def _tell(observer: OutcomeObserver, outcome: Outcome, now: dt.datetime) -> None:
    result = outcome.result
    if isinstance(result, SendError):
        await observer.on_failed(outcome.attempt, result, next_attempt_at=outcome.next_attempt_at, now=now)
    else:
        # The parent of a fan-out has no message of its own.
        delivered = result if isinstance(result, Delivered) else None
        await observer.on_sent(outcome.attempt, delivered, now=now)
