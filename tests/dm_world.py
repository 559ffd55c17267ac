"""
The DM queue and its worker without a database.

What the one way out answers is scripted, time moves from one moment to the next, and every job is accounted for.
"""

import asyncio
import datetime as dt
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, cast

from bot.clock import ManualClock
from bot.dm_queue.job import DmJob, JobEnd, JobKind
from bot.dm_queue.queue import DmQueue
from bot.dm_queue.worker import DmQueueOptions, DmWorker
from bot.leases.failures import ErrorClass, SendError
from bot.leases.keys import MessageKey
from bot.leases.ports import DmTarget
from bot.leases.reports import SendReport, SendResult
from bot.message.outgoing import OutgoingMessage
from bot.scheduling.agenda import Agenda
from bot.scheduling.bodies import DRAIN_DM_QUEUE
from tests.builders import GUILD, dm_channel
from tests.conftest import START

if TYPE_CHECKING:
    from bot.dm_queue.breaker_record import BreakerRecord
    from bot.dm_queue.channel_book import DmChannelBook
    from bot.leases.send_once import OneWayOut

NOTHING = dt.timedelta(0)


def failed(error_class: ErrorClass, result: SendResult = SendResult.FAILED_TRANSIENT) -> SendReport:
    """What the one way out reports of a failure."""
    return SendReport(result, SendError(error_class, error_class.value))


class ScriptedBlocks:
    """What the answers ask of the whole process, with a pause that a test may set."""

    def __init__(self, clock: ManualClock) -> None:
        self.clock = clock
        self.paused_until: dt.datetime | None = None
        self.dms_pause_until: dt.datetime | None = None
        self.listeners: list[Callable[[int | None], None]] = []

    def on_flagged(self, listener: Callable[[int | None], None]) -> None:
        self.listeners.append(listener)

    def heed(self, error_class: ErrorClass | None, *, guild_id: int | None = None) -> None:
        if error_class is ErrorClass.CDN_BLOCK:
            self.paused_until = self.clock.now() + dt.timedelta(minutes=10)
        if error_class is ErrorClass.OPENING_TOO_FAST:
            for listener in self.listeners:
                listener(guild_id)


class ScriptedOut:
    """Answers each DM as the script says, after as long as it says; sends nothing."""

    def __init__(self, clock: ManualClock) -> None:
        self.clock = clock
        self.starts: list[tuple[dt.datetime, int]] = []
        self.open_calls = 0
        self.takes: Callable[[], dt.timedelta] = lambda: NOTHING
        self.answer: Callable[[int], SendReport] = lambda _: SendReport(SendResult.SENT)
        self.record_fails: Callable[[], bool] = lambda: False
        self.pending: list[tuple[dt.datetime, int, asyncio.Future[None]]] = []
        self.in_hand = 0
        self.blocks = ScriptedBlocks(clock)
        self._turn = 0

    async def report_once(
        self,
        key: MessageKey,
        *,
        guild_id: int | None,
        target: DmTarget,
        render: Callable[[], Awaitable[OutgoingMessage]],
        not_after: dt.datetime | None = None,
    ) -> SendReport:
        self.starts.append((self.clock.now(), key.recipient_id))
        self.in_hand += 1
        try:
            await self.wait(self.takes())
        finally:
            self.in_hand -= 1
        report = self.answer(key.recipient_id)
        self.blocks.heed(report.error.error_class if report.error is not None else None, guild_id=guild_id)
        return report

    async def fail_once(self, key: MessageKey, *, guild_id: int | None, error: SendError) -> SendReport:
        self.in_hand += 1
        try:
            await asyncio.sleep(0)
            if self.record_fails():
                raise OSError
        finally:
            self.in_hand -= 1
        return SendReport(SendResult.FAILED_PERMANENT, error)

    async def wait(self, span: dt.timedelta) -> None:
        """Wait by the world's clock."""
        if span:
            self._turn += 1
            answered = asyncio.get_running_loop().create_future()
            self.pending.append((self.clock.now() + span, self._turn, answered))
            await answered

    def answer_due(self) -> None:
        """Let go whoever has waited long enough, in the order of their moments."""
        now = self.clock.now()
        for moment, _, answered in sorted(self.pending, key=lambda one: one[:2]):
            if moment <= now and not answered.done():
                answered.set_result(None)
        self.pending = [one for one in self.pending if not one[2].done()]


class MemoryBook:
    """Which channels are open, without a table."""

    def __init__(self) -> None:
        self.channels: dict[int, int] = {}

    async def load(self, recipients: object) -> None: ...

    def channel_of(self, recipient_id: int) -> int | None:
        return self.channels.get(recipient_id)

    async def opened(self, recipient_id: int, channel_id: int, *, now: dt.datetime) -> None:
        self.channels[recipient_id] = channel_id

    async def forget(self, recipient_id: int) -> None:
        self.channels.pop(recipient_id, None)


class Opener:
    """Opens channels as the script says."""

    def __init__(self, out: ScriptedOut) -> None:
        self.out = out
        self.opened: list[tuple[dt.datetime, int]] = []
        self.refuses: Callable[[int], SendError | None] = lambda _: None

    async def open_dm(self, recipient_id: int) -> int:
        self.opened.append((self.out.clock.now(), recipient_id))
        await self.out.wait(self.out.takes())
        if (error := self.refuses(recipient_id)) is not None:
            raise error
        return dm_channel(recipient_id)


class Record:
    """What the breaker had to say."""

    def __init__(self) -> None:
        self.said: list[tuple[str, dt.datetime]] = []

    async def opened(self, *, failures: int, until: dt.datetime, now: dt.datetime) -> None:
        await asyncio.sleep(0)
        self.said.append(("opened", now))

    async def closed(self, *, now: dt.datetime) -> bool:
        await asyncio.sleep(0)
        self.said.append(("closed", now))
        return True


class Letter:
    """Counts how its jobs ended."""

    def __init__(self) -> None:
        self.ends: Counter[SendResult | JobEnd] = Counter()
        self.order: list[int] = []

    async def render(self, recipient_id: int) -> OutgoingMessage:
        raise AssertionError("nothing is sent here")

    def ended(self, job: DmJob, report: SendReport | JobEnd) -> None:
        self.ends[report if isinstance(report, JobEnd) else report.result] += 1
        self.order.append(job.key.recipient_id)


class DmWorld:
    """One worker on its queue; ``known`` people have an open channel already."""

    def __init__(self, options: DmQueueOptions | None = None) -> None:
        options = options or DmQueueOptions()
        self.clock = ManualClock(START)
        self.agenda = Agenda()
        self.letter = Letter()
        self.out = ScriptedOut(self.clock)
        self.opener = Opener(self.out)
        self.record = Record()
        self.book = MemoryBook()
        self.told_too_fast: list[tuple[int, dt.datetime]] = []
        self.enqueued = self.withdrawn = self.refused = 0
        self.queue = DmQueue(
            max_depth=options.max_depth, on_offer=lambda: self.agenda.wake(DRAIN_DM_QUEUE, self.clock.now())
        )
        self.worker = DmWorker(
            self.queue,
            cast("OneWayOut", self.out),
            self.opener,
            clock=self.clock,
            agenda=self.agenda,
            record=cast("BreakerRecord", self.record),
            on_too_fast=self._too_fast,
            options=options,
        )
        self.worker._book = cast("DmChannelBook", self.book)

    async def _too_fast(self, guild_id: int, until: dt.datetime) -> None:
        self.told_too_fast.append((guild_id, until))

    def offer(
        self, recipient: int | None, *, kind: JobKind = JobKind.APPROVAL, known: bool = True, number: int = 0
    ) -> bool:
        """Offer one job; return whether there was room."""
        if known and recipient is not None:
            self.book.channels[recipient] = dm_channel(recipient)
        key = MessageKey("approval_dm", number, recipient or 0)
        taken = self.queue.offer(DmJob(kind, key, GUILD, recipient, self.letter, self.clock.now()))
        self.enqueued += taken
        self.refused += not taken
        return taken

    async def quiet(self) -> None:
        """Let everything go on that waits for nothing but its turn."""
        while True:
            for _ in range(4):
                await asyncio.sleep(0)
            if self.worker.in_flight <= len(self.out.pending):
                return

    async def drain(self) -> None:
        """Run the body as long as it is due at this moment."""
        for _ in range(1_000):
            at = self.agenda.next(DRAIN_DM_QUEUE)
            if at is None or at > self.clock.now():
                return
            self.agenda._moments.pop(DRAIN_DM_QUEUE, None)
            self.agenda.wake(DRAIN_DM_QUEUE, await self.worker.drain_dm_queue(self.clock.now()))
            await self.quiet()
        raise AssertionError("the body asks to run again and again at one moment")

    def next_moment(self) -> dt.datetime | None:
        """When something happens next."""
        moments = [self.agenda.next(DRAIN_DM_QUEUE), *(moment for moment, _, _ in self.out.pending)]
        return min((moment for moment in moments if moment is not None), default=None)

    async def run_until(self, end: dt.datetime) -> None:
        """Go from moment to moment, up to ``end`` inclusive."""
        while True:
            self.out.answer_due()
            await self.quiet()
            await self.drain()
            upcoming = self.next_moment()
            if upcoming is None or upcoming > end:
                break
            self.clock.set(max(upcoming, self.clock.now()))
        self.clock.set(max(end, self.clock.now()))

    async def run_for(self, span: dt.timedelta) -> None:
        await self.run_until(self.clock.now() + span)

    @property
    def accounted(self) -> int:
        """How many jobs have ended, were taken back, wait, or are in somebody's hand."""
        return self.letter.ends.total() + self.withdrawn + len(self.queue) + self.out.in_hand

    def check(self) -> None:
        assert self.accounted == self.enqueued, (self.letter.ends, len(self.queue), self.out.in_hand)
        assert len(self.queue) == sum(1 for _ in self.queue) == sum(self.queue.waiting().values())
