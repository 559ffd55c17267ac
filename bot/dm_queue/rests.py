"""
When nothing is taken from the queue: the breaker is open, something asked for a pause, or too much was refused.

What made the DMs rest is written down once and in order, also where the database fails at that moment. Source:
03-delivery.md, "Breaker" and "Error classes".
"""

import asyncio
import datetime as dt
from collections import deque
from collections.abc import Awaitable, Callable
from functools import partial

import structlog

from bot.clock import Clock
from bot.dm_queue.breaker_record import BreakerRecord
from bot.dm_queue.circuit_breaker import BreakerOptions, CircuitBreaker
from bot.leases.send_once import OneWayOut
from bot.scheduling.agenda import Agenda
from bot.scheduling.bodies import DRAIN_DM_QUEUE
from bot.transactions import DATABASE_ERRORS

_log = structlog.get_logger(__name__)

OnTooFast = Callable[[int, dt.datetime], Awaitable[None]]
"""Told the guild of a DM for which Discord found channels opened too fast, and until when all DMs rest."""


class DmRests:
    """The rests of one process's DMs; ``opening_pause`` is the one after channels were opened too fast."""

    def __init__(
        self,
        out: OneWayOut,
        *,
        clock: Clock,
        agenda: Agenda,
        record: BreakerRecord,
        on_too_fast: OnTooFast,
        breaker: BreakerOptions,
        opening_pause: dt.timedelta,
    ) -> None:
        self.breaker = CircuitBreaker(breaker)
        self._failures = breaker.failures
        self._opening_pause = opening_pause
        self._out = out
        self._clock = clock
        self._agenda = agenda
        self._record = record
        self._on_too_fast = on_too_fast
        self._paused_until: dt.datetime | None = None
        self._pause_for = dt.timedelta(0)
        self._flagged_until: dt.datetime | None = None
        self._unrecorded: deque[Callable[[], Awaitable[object]]] = deque()
        self._recording = asyncio.Lock()
        out.blocks.on_flagged(self._rest_from_opening)

    def ends(self) -> list[dt.datetime]:
        """Return when each of the reasons to take nothing ends; empty: the queue drains."""
        now = self._clock.now()
        if self._paused_until is not None:
            # A clock that is set back must not make the pause longer than it was meant to be.
            self._paused_until = min(self._paused_until, now + self._pause_for)
        blocks = self._out.blocks
        ends = (self.breaker.open_until, self._paused_until, blocks.paused_until, blocks.dms_pause_until)
        return [end for end in ends if end is not None and end > now]

    async def close_breaker_if_due(self, now: dt.datetime) -> None:
        """Close the breaker once its time is over, whether anybody asks or not, and write down what is to be."""
        await self._write_records()
        if self.breaker.close_if_due(now=now):
            _log.info("dm_circuit_closed")
            self._unrecorded.append(partial(self._record.closed, now=now))
            await self._write_records()

    async def count_failure(self) -> None:
        """Count a failure of Discord itself; too many in a row open the breaker."""
        now = self._clock.now()
        if not self.breaker.failed(now=now):
            return
        until = self.breaker.open_until
        assert until is not None  # noqa: S101 -- it has just opened
        _log.error("dm_circuit_opened", failures=self._failures, until=until.isoformat())
        self._unrecorded.append(partial(self._record.opened, failures=self._failures, until=until, now=now))
        await self._write_records()
        self._agenda.wake(DRAIN_DM_QUEUE, until)

    def _rest_from_opening(self, guild_id: int | None) -> None:
        """Let all DMs rest: Discord flags a bot that goes on opening channels. It is told once a rest."""
        now = self._clock.now()
        is_news = self._flagged_until is None or now >= self._flagged_until
        self._flagged_until = now + self._opening_pause
        self.pause(self._opening_pause)
        if guild_id is not None and is_news:
            self._unrecorded.append(partial(self._on_too_fast, guild_id, self._flagged_until))
            # The next pass takes nothing from the queue, and writes it down.
            self._agenda.wake(DRAIN_DM_QUEUE, now)

    def pause(self, span: dt.timedelta | None) -> None:
        """Let everything rest for a while; None: nobody said how long."""
        span = span or self._opening_pause
        until = self._clock.now() + span
        if self._paused_until is None or until > self._paused_until:
            self._paused_until, self._pause_for = until, span
        self._agenda.wake(DRAIN_DM_QUEUE, until)

    async def _write_records(self) -> None:
        """Write down what made the DMs rest, in order; what the database does not take now is tried at a next pass."""
        async with self._recording:  # one at a time: each is written once
            while self._unrecorded:
                try:
                    await self._unrecorded[0]()
                except DATABASE_ERRORS:
                    _log.exception("dm_rest_not_recorded")
                    return
                self._unrecorded.popleft()
