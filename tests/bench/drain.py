"""
P5: the rate at which a full queue of DMs leaves, against "send, then sleep", under answers that take 60 to 900 ms.

Through the real services on SQLite: once in virtual time, where nothing but the arithmetic of the queue counts, and
once in real time through the real loops.
"""

import asyncio
import datetime as dt
import heapq
import itertools
import random
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

import structlog.testing

from bot.bootstrap import Ports, ServiceOptions, Services, build_services
from bot.clock import Clock, InjectedLeaseClock, LeaseClock, ManualClock, SystemClock
from bot.database import DatabaseLeaseClock
from bot.dm_queue.job import DmJob, JobEnd, JobKind
from bot.leases.keys import MessageKey
from bot.leases.ports import ChannelTarget, Delivered, Target
from bot.leases.reports import SendReport
from bot.loops import LoopSet
from bot.message.outgoing import OutgoingMessage
from bot.scheduling.bodies import DRAIN_DM_QUEUE
from bot.transactions import Dialect
from models.dm_channel import DmChannel
from tests.bench.databases import Bind, on
from tests.bench.measure import Goal, Line, Sample
from tests.throwaway import Databases

NOW = dt.datetime(2026, 3, 1, 12, 0, tzinfo=dt.UTC)
RATE, WITHIN = 5.0, 0.005
FASTEST, SLOWEST = 0.060, 0.900
FEW_SECONDS = 30
A_SECOND = ("/s", 1.0)

Wait = Callable[[float], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Sizes:
    """How many seconds of each kind of time, and how many rounds of each."""

    virtual_seconds: float = 300.0
    virtual_rounds: int = 5
    real_seconds: float = 60.0
    real_rounds: int = 2


async def drain(databases: Databases, sizes: Sizes) -> list[Line]:
    """Drain more than can leave, in both kinds of time; what leaves is counted at the request itself."""
    lines = []
    async with databases.fresh(Dialect.SQLITE) as url, on(url) as bound:
        for kind, seconds, rounds, measure in (
            ("virtual time", sizes.virtual_seconds, sizes.virtual_rounds, _virtual_round),
            ("real time", sizes.real_seconds, sizes.real_rounds, _real_round),
        ):
            found = [await _bound(bound, measure, seconds, number) for number in range(rounds)]
            lines.append(_line(kind, seconds, found))
    return lines


Round = Callable[[float, int], Awaitable[tuple[float, float]]]


async def _bound(bound: Bind, measure: Round, seconds: float, number: int) -> tuple[float, float]:
    found: list[tuple[float, float]] = []

    async def _run() -> None:
        with structlog.testing.capture_logs():  # a line for each DM would bury the table
            found.append(await measure(seconds, number))

    await bound(_run)()
    return found[0]


def _line(kind: str, seconds: float, found: Sequence[tuple[float, float]]) -> Line:
    ours, theirs = Sample(tuple(one for one, _ in found)), Sample(tuple(other for _, other in found))
    # Faster than asked is as wrong as slower; over a few seconds one start more or less is already more than that.
    assert seconds < FEW_SECONDS or max(ours.values) <= RATE * (1 + WITHIN), ours.values
    return Line(
        f"P5 DMs at {RATE:g}/s, answers in 60 to 900 ms, {seconds:g} s of {kind}",
        ours,
        theirs,
        "send, then sleep",
        ours.per(theirs),
        Goal(RATE * (1 - WITHIN), at_least=True, unit=A_SECOND),
        unit=A_SECOND,
    )


def _rate(starts: Sequence[float]) -> float:
    """Return how many a second began, from the first to the last."""
    return (len(starts) - 1) / (starts[-1] - starts[0])


async def _virtual_round(seconds: float, seed: int) -> tuple[float, float]:
    virtual = VirtualTime()
    discord = AnsweringDiscord(virtual.wait, virtual.seconds, seed)
    services = _services(discord, virtual.clock, InjectedLeaseClock(virtual.clock))
    await _fill(services, seconds, seed)
    await virtual.run(services, seconds)
    await services.cut_off()
    behind = SendThenSleep(seed)
    while behind.at < seconds:
        behind.send()
    return _rate(discord.starts), _rate(behind.starts)


async def _real_round(seconds: float, seed: int) -> tuple[float, float]:
    clock = SystemClock()
    discord = AnsweringDiscord(asyncio.sleep, time.monotonic, seed)
    services = _services(discord, clock, DatabaseLeaseClock())
    await services.enter(clock.now())
    await _fill(services, seconds, seed)
    loops = LoopSet(services.agenda, clock, before=_at_once)
    loops.add(services.bodies)
    behind = SendThenSleep(seed)
    # Side by side, as both do little but wait.
    sleeper = asyncio.create_task(behind.run())
    await asyncio.sleep(seconds)
    await _until_there_is_a_rate(discord.starts, behind.starts)
    sleeper.cancel()
    await asyncio.gather(sleeper, return_exceptions=True)
    await loops.stop()
    await services.leave()
    return _rate(discord.starts), _rate(behind.starts)


async def _until_there_is_a_rate(*starts: Sequence[float]) -> None:
    """Wait for a second start of each, which a busy machine may take longer for than the shortest of rounds."""
    while True:
        if min(map(len, starts)) > 1:
            return
        await asyncio.sleep(0.05)


async def _at_once() -> None:
    """Let the loops begin."""


class SendThenSleep:
    """What throttles by a pause after each send, in either kind of time."""

    def __init__(self, seed: int) -> None:
        self.at = 0.0
        self.starts: list[float] = []
        self._answers = random.Random(seed)

    def send(self) -> None:
        """Send one and sleep, in virtual time."""
        self.starts.append(self.at)
        self.at += self._answers.uniform(FASTEST, SLOWEST) + 1 / RATE

    async def run(self) -> None:
        """Send one and sleep, again and again, in real time."""
        while True:
            self.starts.append(time.monotonic())
            await asyncio.sleep(self._answers.uniform(FASTEST, SLOWEST))
            await asyncio.sleep(1 / RATE)


class AnsweringDiscord:
    """Takes every DM and answers when its time has passed; ``starts`` holds when each request was written."""

    def __init__(self, wait: Wait, seconds: Callable[[], float], seed: int) -> None:
        self.starts: list[float] = []
        self._wait = wait
        self._seconds = seconds
        self._answers = random.Random(seed)

    async def send(
        self,
        target: Target,
        message: OutgoingMessage,
        *,
        nonce: str,
        before_request: Callable[[], Awaitable[None]],
    ) -> Delivered:
        """Take one DM."""
        await before_request()
        self.starts.append(self._seconds())
        await self._wait(self._answers.uniform(FASTEST, SLOWEST))
        return Delivered(len(self.starts), target.channel_id)

    async def find(self, target: Target, *, marker: str, after: int) -> Delivered | None:
        """Find nothing of what an earlier round left behind."""
        return None

    async def edit(self, target: ChannelTarget, message_id: int, message: OutgoingMessage) -> None:
        """Edit nothing."""
        raise AssertionError("there is no event whose post could be edited")

    async def open_dm(self, recipient_id: int) -> int:
        """Open nothing."""
        raise AssertionError("every channel is known")


class VirtualTime:
    """Time that goes from one answer, or one moment that the queue names, to the next."""

    def __init__(self) -> None:
        self.clock = ManualClock(NOW)
        self._order = itertools.count()
        self._waiting: list[tuple[float, int, asyncio.Future[None]]] = []

    def seconds(self) -> float:
        """Return how many seconds have passed."""
        return (self.clock.now() - NOW).total_seconds()

    async def wait(self, seconds: float) -> None:
        """Wait in this time."""
        passed = asyncio.get_running_loop().create_future()
        heapq.heappush(self._waiting, (self.seconds() + seconds, next(self._order), passed))
        await passed

    async def run(self, services: Services, end: float) -> None:
        """Drain the queue up to ``end`` inclusive."""
        body = services.body(DRAIN_DM_QUEUE)
        while True:
            await self._quiet(services)
            at = services.agenda.next(DRAIN_DM_QUEUE)
            named = (at - NOW).total_seconds() if at is not None else end + 1
            if named <= self.seconds():
                await services.agenda.run(body, self.clock.now())
                continue
            upcoming = min(named, self._waiting[0][0] if self._waiting else named)
            if upcoming > end:
                return
            self.clock.set(max(NOW + dt.timedelta(seconds=upcoming), self.clock.now()))
            while self._waiting and self._waiting[0][0] <= upcoming:
                heapq.heappop(self._waiting)[2].set_result(None)

    async def _quiet(self, services: Services) -> None:
        """Let the database do what it was asked: it takes none of this time."""
        while True:
            await asyncio.sleep(0)
            if services.dms.in_flight <= len(self._waiting):
                return


class Letter:
    """What every job says."""

    async def render(self, recipient_id: int) -> OutgoingMessage:
        """Return one DM."""
        return OutgoingMessage(marker=f"#{recipient_id}", content=f"Hello\n#{recipient_id}")

    def ended(self, job: DmJob, report: SendReport | JobEnd) -> None:
        """Note nothing: what left was counted when it did."""


def _services(discord: AnsweringDiscord, clock: Clock, lease_clock: LeaseClock) -> Services:
    ports = Ports(
        discord=discord,
        discord_time=clock,
        clock=clock,
        lease_clock=lease_clock,
        is_available=lambda _: True,
        stop=lambda _: None,
    )
    return build_services(ports, ServiceOptions(), instance_name="bench")


async def _fill(services: Services, seconds: float, seed: int) -> None:
    """Queue more than can leave in that time, to people whose channels are known."""
    people = range(1, int(seconds * RATE * 1.1) + 10)
    known = [DmChannel(user_id=who, channel_id=who, opened_at=NOW) for who in people]
    await DmChannel.bulk_create(known, ignore_conflicts=True)
    letter, now = Letter(), NOW
    for who in people:
        key = MessageKey("bench", int(now.timestamp()) + seed, who, part=int(seconds))
        assert services.dms.queue.offer(DmJob(JobKind.APPROVAL, key, 1, who, letter, now))
