"""
Drain the DM queue: a steady rate of starts, channels opened slowly, nothing taken while the breaker is open.

Each DM goes through the one way out. Its lease is taken only when its turn has come, and its channel is open before
that, so that a lease always says where its message may be. Source: 03-delivery.md, "DM queue"; dm-queue.txt.
"""

import asyncio
import datetime as dt
from collections import Counter, deque
from collections.abc import Coroutine
from dataclasses import dataclass, field
from functools import partial

import structlog

from bot.clock import Clock
from bot.dm_queue.breaker_record import BreakerRecord
from bot.dm_queue.channel_book import DmChannelBook
from bot.dm_queue.channel_opening import ChannelOpening, DmOpener
from bot.dm_queue.circuit_breaker import BreakerOptions, CircuitBreaker
from bot.dm_queue.job import DmJob, JobEnd
from bot.dm_queue.pace import Pace
from bot.dm_queue.queue import DmQueue
from bot.dm_queue.recent_failures import RecentFailure, why_it_failed
from bot.dm_queue.rests import DmRests, OnTooFast
from bot.leases.failures import ErrorClass
from bot.leases.ports import DmTarget
from bot.leases.reports import SendReport, SendResult
from bot.leases.send_once import OneWayOut
from bot.scheduling.agenda import DATABASE_AGAIN, Agenda
from bot.scheduling.bodies import DRAIN_DM_QUEUE
from bot.transactions import DATABASE_ERRORS

_log = structlog.get_logger(__name__)

_SORT_AT_ONCE = 500
# Of all servers; each is shown its own.
_RECENT_FAILURES = 100


@dataclass(frozen=True, slots=True)
class DmQueueOptions:
    """
    ``drain_rate``: starts a second; ``open_channels_rate``: channels opened a second; ``max_in_flight``: DMs under way
    at once; ``opening_pause``: how long everything rests when Discord finds channels opened too fast.
    """  # noqa: D205 -- the options are the summary

    max_depth: int = 10_000
    drain_rate: float = 5.0
    max_in_flight: int = 32
    open_channels_rate: float = 1.0
    opening_pause: dt.timedelta = dt.timedelta(minutes=5)
    breaker: BreakerOptions = field(default_factory=BreakerOptions)


class DmWorker:
    """Sends what waits in one queue, for one process; ``ended`` counts what became of the jobs."""

    def __init__(
        self,
        queue: DmQueue,
        out: OneWayOut,
        opener: DmOpener,
        *,
        clock: Clock,
        agenda: Agenda,
        record: BreakerRecord,
        on_too_fast: OnTooFast,
        options: DmQueueOptions,
    ) -> None:
        self.queue = queue
        self.options = options
        self.ended: Counter[SendResult | JobEnd] = Counter()
        self.recent_failures: deque[RecentFailure] = deque(maxlen=_RECENT_FAILURES)
        self._out = out
        self._clock = clock
        self._agenda = agenda
        self._rests = DmRests(
            out,
            clock=clock,
            agenda=agenda,
            record=record,
            on_too_fast=on_too_fast,
            breaker=options.breaker,
            opening_pause=options.opening_pause,
        )
        self._opening = ChannelOpening(queue, out, opener, clock=clock, rests=self._rests, end=self._end)
        self._sends = Pace(options.drain_rate)
        self._openings = Pace(options.open_channels_rate)
        self._sharers = 1
        self._book = DmChannelBook()
        self._in_flight: set[asyncio.Task[None]] = set()
        self._being_opened: set[int] = set()

    @property
    def breaker(self) -> CircuitBreaker:
        """Whether Discord answers, as far as the DMs go."""
        return self._rests.breaker

    @property
    def in_flight(self) -> int:
        """How many DMs and openings are under way."""
        return len(self._in_flight)

    @property
    def rate(self) -> float:
        """How many DMs this process starts a second at most: its part of the bot's rate."""
        return self.options.drain_rate / self._sharers

    def divide(self, instances: int) -> None:
        """Start and open this process's part of what the bot may, among so many that live."""
        now, self._sharers = self._clock.now(), instances
        self._sends.change(self.rate, now)
        self._openings.change(self.options.open_channels_rate / instances, now)
        self._agenda.wake(DRAIN_DM_QUEUE, now)

    @property
    def is_held_back(self) -> bool:
        """Whether Discord refused so much of late, whatever was asked, that no DM is started."""
        return self._out.blocks.dms_pause_until is not None

    def resumes_at(self) -> dt.datetime | None:
        """Return until when nothing is taken from the queue, None: it drains."""
        return max(self._rests.ends(), default=None)

    async def drain_dm_queue(self, now: dt.datetime) -> dt.datetime | None:
        """Start what may be started at ``now``; return the next moment at which more may, or the breaker closes."""
        await self._rests.close_breaker_if_due(now)
        if ends := self._rests.ends():
            self._sends.want_none()
            self._openings.want_none()
            return min(ends)  # the breaker closes at its time, whatever else lasts longer
        await self._sort()
        waits = [wait for wait in (self._start_sends(now), self._start_openings(now)) if wait is not None]
        if self.queue.arrived(1):
            waits.append(dt.timedelta(0))
        return now + min(waits) if waits else None

    async def _sort(self) -> None:
        jobs = self.queue.arrived(_SORT_AT_ONCE)
        await self._book.load({job.recipient_id for job in jobs if job.recipient_id is not None})
        self.queue.sort(jobs, is_open=lambda recipient: self._book.channel_of(recipient) is not None)

    def _start_sends(self, now: dt.datetime) -> dt.timedelta | None:
        """Start DMs as fast as the rate allows; return how long the next must wait, None: none waits for its token."""
        while self.queue.has_ready:
            self._sends.want(now)
            if len(self._in_flight) >= self.options.max_in_flight:
                return None  # whoever ends wakes the body
            if wait := self._sends.take(now):
                return wait
            self._start(self._send(self.queue.take()))
        self._sends.want_none()
        return None

    def _start_openings(self, now: dt.datetime) -> dt.timedelta | None:
        while (recipient := self.queue.unopened(besides=self._being_opened)) is not None:
            self._openings.want(now)
            if len(self._in_flight) >= self.options.max_in_flight:
                return None
            if wait := self._openings.take(now):
                return wait
            self._being_opened.add(recipient)
            self._start(self._open(recipient))
        self._openings.want_none()
        return None

    def _start(self, work: Coroutine[object, object, None]) -> None:
        task = asyncio.create_task(work)
        self._in_flight.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: "asyncio.Task[None]") -> None:
        self._in_flight.discard(task)
        # What is no Exception ends the process elsewhere.
        if not task.cancelled() and isinstance(error := task.exception(), Exception):
            _log.error("dm_task_failed", exc_info=error)
        if len(self.queue):
            self._agenda.wake(DRAIN_DM_QUEUE, self._clock.now())

    async def _open(self, recipient: int) -> None:
        try:
            await self._opening.open(recipient, self._book)
        finally:
            self._being_opened.discard(recipient)

    async def _send(self, job: DmJob) -> None:
        recipient = job.recipient_id
        if recipient is None:
            self._end(job, JobEnd.MISSING_RECIPIENT)
            return
        try:
            await self._book.load([recipient])
            channel_id = self._book.channel_of(recipient)
            if channel_id is None:
                self.queue.open_again(job)
                return
            report = await self._out.report_once(
                job.key,
                guild_id=job.guild_id,
                target=DmTarget(recipient, channel_id),
                render=partial(job.letter.render, recipient),
                not_after=job.not_after,
            )
        except DATABASE_ERRORS:
            # No durable claim, nothing sent: the job has lost nothing but its turn.
            _log.exception("dm_not_claimed", key=str(job.key), guild=job.guild_id)
            self._rests.pause(DATABASE_AGAIN)
            self.queue.put_back(job)
            return
        except Exception:  # noqa: BLE001 -- whoever owns the job must hear of its end
            _log.exception("dm_job_failed", key=str(job.key), guild=job.guild_id)
            report = SendReport(SendResult.UNKNOWN)
        except BaseException:
            # Cut off where it stood: what became of it is found out under its lease.
            self._end(job, SendReport(SendResult.UNKNOWN))
            raise
        await self._conclude(job, recipient, report)

    async def _conclude(self, job: DmJob, recipient: int, report: SendReport) -> None:
        error_class = report.error.error_class if report.error is not None else None
        if error_class is ErrorClass.OPENING_TOO_FAST or (
            error_class is None and report.result is SendResult.FAILED_TRANSIENT
        ):
            self.queue.put_back(job)  # nothing was tried, or as good as nothing
            return
        if report.result is SendResult.SENT:
            self.breaker.succeeded()
        self._end(job, report)  # before anything that may fail: its owner waits for it
        if error_class is ErrorClass.OUTAGE:
            await self._rests.count_failure()
        elif error_class is ErrorClass.GONE:
            await self._forget_channel(recipient)

    async def _forget_channel(self, recipient: int) -> None:
        try:
            await self._book.forget(recipient)
        except DATABASE_ERRORS:
            # It is forgotten in memory; whoever reads it again finds it gone again.
            _log.exception("dm_channel_not_forgotten", recipient=recipient)

    def _end(self, job: DmJob, report: SendReport | JobEnd) -> None:
        self.ended[report if isinstance(report, JobEnd) else report.result] += 1
        why = why_it_failed(report)
        if why is not None:
            self.recent_failures.append(RecentFailure(self._clock.now(), job.guild_id, job.recipient_id, why))
        job.letter.ended(job, report)

    async def settle(self) -> None:
        """Wait until nothing is under way; what waits stays."""
        while self._in_flight:
            await asyncio.gather(*self._in_flight, return_exceptions=True)
            await asyncio.sleep(0)  # for those who take what has ended off the list

    async def stop(self) -> None:
        """Cancel what is under way and end what waits as lost; its owners decide what becomes of it."""
        for task in list(self._in_flight):
            task.cancel()
        await self.settle()
        for job in self.queue.remove(lambda _: True):
            self.ended[JobEnd.LOST_ON_RESTART] += 1
            job.letter.ended(job, JobEnd.LOST_ON_RESTART)
