"""The loops themselves: they survive whatever their bodies do, sleep as told, and are looked after."""

import asyncio
import datetime as dt
import errno
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import aiohttp
import discord
import pytest
import structlog

from bot import loops as loops_module
from bot.clock import ManualClock
from bot.loops import Before, BodyLoop, LoopSet
from bot.scheduling.agenda import Agenda, Body

if TYPE_CHECKING:
    from structlog.typing import EventDict

NOON = dt.datetime(2026, 3, 1, 12, 0, tzinfo=dt.UTC)
PERIOD = dt.timedelta(hours=1)
NAME = "tend_the_lamp"


class LampError(Exception):
    """What nobody knows."""


class Steps:
    """A body that does as told, pass by pass: raises, or waits for what it is given; afterwards it is content."""

    def __init__(self, *told: BaseException | asyncio.Event | None) -> None:
        self.passes = 0
        self.cancelled = 0
        self._told = list(told)
        self._changed = asyncio.Condition()

    async def __call__(self, _now: dt.datetime) -> dt.datetime | None:
        async with self._changed:
            self.passes += 1
            self._changed.notify_all()
        order = self._told.pop(0) if self._told else None
        if isinstance(order, BaseException):
            raise order
        if order is not None:
            try:
                await order.wait()
            except asyncio.CancelledError:
                self.cancelled += 1
                raise
        return None

    async def reached(self, passes: int) -> None:
        """Wait until that many passes began."""
        async with asyncio.timeout(10), self._changed:
            await self._changed.wait_for(lambda: self.passes >= passes)


class Monotonic:
    """A monotonic clock that moves by hand."""

    def __init__(self) -> None:
        self.seconds = 1_000.0

    def monotonic(self) -> float:
        return self.seconds

    def advance(self, by: dt.timedelta) -> None:
        self.seconds += by.total_seconds()


@pytest.fixture
def monotonic(monkeypatch: pytest.MonkeyPatch) -> Monotonic:
    clock = Monotonic()
    monkeypatch.setattr(loops_module, "time", clock)
    return clock


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> "list[EventDict]":
    """Return what the loops log."""
    capture = structlog.testing.LogCapture()
    monkeypatch.setattr(loops_module, "_log", structlog.wrap_logger(structlog.testing.ReturnLogger(), [capture]))
    return capture.entries


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loops_module, "_SHORTEST_SECONDS", 0.0)


async def ready_at_once() -> None:
    """Wait for nothing."""


@asynccontextmanager
async def running(
    *steps: Steps, before: Before = ready_at_once
) -> AsyncIterator[tuple[LoopSet, Agenda, list[BodyLoop]]]:
    agenda = Agenda()
    loops = LoopSet(agenda, ManualClock(NOON), before=before)
    loops.add(Body(f"{NAME}_{place}" if place else NAME, PERIOD, step) for place, step in enumerate(steps))
    try:
        yield loops, agenda, list(loops._loops.values())
    finally:
        await loops.stop()


async def at_rest(loop: BodyLoop) -> None:
    """Wait until no pass is under way: nothing tells of it, but a turn of the event loop or two."""
    while loop._passing:  # noqa: ASYNC110
        await asyncio.sleep(0)


async def test_a_second_loop_for_the_same_body_is_refused() -> None:
    step = Steps()
    async with running(step) as (loops, _, _):
        with pytest.raises(ValueError, match=NAME):
            loops.add([Body(NAME, PERIOD, Steps())])

        await step.reached(1)
        assert list(loops.ages()) == [NAME]


async def test_the_first_pass_waits_until_the_guilds_are_known() -> None:
    step, known, asked = Steps(), asyncio.Event(), asyncio.Event()

    async def _until_known() -> None:
        asked.set()
        await known.wait()

    async with running(step, before=_until_known) as (_, agenda, _):
        await asked.wait()
        agenda.wake(NAME, NOON)
        assert step.passes == 0

        known.set()
        await step.reached(1)


@pytest.mark.parametrize(
    "raised",
    [
        Exception("plain"),
        LampError("of our own"),
        KeyError("id"),
        AssertionError("never"),
        RecursionError("deep"),
        MemoryError(),
        StopAsyncIteration(),
        OSError(errno.ENOSPC, "disk full"),
        ConnectionResetError(errno.ECONNRESET, "reset"),
        TimeoutError(),
        sqlite3.OperationalError("database is locked"),
        aiohttp.ClientError("odd"),
        aiohttp.ServerDisconnectedError(),
        discord.GatewayNotFound(),  # type: ignore[no-untyped-call]
        discord.ClientException("odd"),
        discord.RateLimited(60.0),
        asyncio.InvalidStateError(),
        asyncio.IncompleteReadError(b"", 1),
        asyncio.QueueFull(),
        asyncio.CancelledError("of somebody's inner task"),
        ExceptionGroup("several", [ValueError("one"), OSError("two")]),
    ],
    ids=lambda raised: type(raised).__name__,
)
@pytest.mark.parametrize("first", [True, False], ids=["in the first pass", "in a later pass"])
async def test_a_loop_survives_what_its_body_raises_and_counts_it(
    raised: BaseException, first: bool, told: "list[EventDict]"
) -> None:
    step = Steps(raised) if first else Steps(None, raised)
    after = 2 if first else 3
    async with running(step) as (_, agenda, (loop,)):
        for passes in range(1, after):
            await step.reached(passes)
            agenda.wake(NAME, NOON)
        await step.reached(after)
        assert loop.is_running
        assert loop.failures == 1

    (entry,) = told
    assert entry["event"] == "loop_pass_failed"
    assert entry["log_level"] == "error"
    assert (entry["loop"], entry["failures"]) == (NAME, 1)
    assert entry["exc_info"]


def full_disk() -> sqlite3.OperationalError:
    error = sqlite3.OperationalError("full")
    error.sqlite_errorcode = sqlite3.SQLITE_FULL
    return error


async def test_an_outage_of_the_database_is_one_error_of_a_loop_and_its_failures_count(
    told: "list[EventDict]",
) -> None:
    step = Steps(*(full_disk() for _ in range(3)), LampError(), full_disk(), None, full_disk())
    async with running(step) as (_, agenda, (loop,)):
        for passes in range(1, 8):
            await step.reached(passes)
            await at_rest(loop)
            agenda.wake(NAME, NOON)
        await step.reached(8)
        assert loop.failures == 6

    # The first of each outage, and whatever else it is.
    assert [entry["log_level"] for entry in told] == ["error", "debug", "debug", "error", "error", "error"]


async def test_one_loop_that_fails_for_ever_leaves_the_others_alone(told: "list[EventDict]") -> None:
    bad, good = Steps(*(LampError(str(number)) for number in range(5))), Steps()
    async with running(bad, good) as (_, agenda, (failing, working)):
        for passes in range(1, 5):
            await bad.reached(passes)
            await good.reached(passes)
            agenda.wake(NAME, NOON)
            agenda.wake(f"{NAME}_1", NOON)
        await bad.reached(5)
        await good.reached(5)
        assert failing.is_running
        assert (failing.failures >= 4, working.failures) == (True, 0)

    assert {entry["loop"] for entry in told} == {NAME}
    assert [entry["failures"] for entry in told] == list(range(1, len(told) + 1))


async def test_a_wake_shortens_the_sleep_of_an_hour() -> None:
    step = Steps()
    async with running(step) as (_, agenda, (loop,)):
        await step.reached(1)
        await at_rest(loop)
        asleep_until = loop._loop.next_iteration

        agenda.wake(NAME, NOON)
        await step.reached(2)

    assert asleep_until is not None
    assert asleep_until > discord.utils.utcnow() + PERIOD / 2  # noqa: TID251 -- the clock that the library counts by


async def test_a_wake_during_a_pass_is_kept_for_the_next() -> None:
    gate = asyncio.Event()
    step = Steps(gate)
    async with running(step) as (_, agenda, _):
        await step.reached(1)
        agenda.wake(NAME, NOON)
        gate.set()

        await step.reached(2)


async def test_a_wake_for_later_does_not_wake_now() -> None:
    step = Steps()
    async with running(step) as (_, agenda, (loop,)):
        await step.reached(1)
        agenda.wake(NAME, NOON + PERIOD / 2)
        await at_rest(loop)

        assert loop._seconds_to_wait() == (PERIOD / 2).total_seconds()
        assert step.passes == 1


async def test_a_wake_of_a_body_without_a_loop_is_no_error() -> None:
    async with running(Steps()) as (_, agenda, _):
        agenda.wake("somebody_else", NOON)


# --------------------------------------------------------------------------------------------------------------- a stop


async def test_a_pass_under_way_ends_well_within_the_grace() -> None:
    gate = asyncio.Event()
    step = Steps(gate)
    async with running(step) as (loops, _, _):
        await step.reached(1)
        stopping = asyncio.create_task(loops.stop(grace=dt.timedelta(seconds=10)))
        await asyncio.sleep(0)
        gate.set()
        await stopping

    assert (step.passes, step.cancelled) == (1, 0)


async def test_a_pass_that_outlasts_the_grace_is_cancelled() -> None:
    step = Steps(asyncio.Event())
    async with running(step) as (loops, _, (loop,)):
        await step.reached(1)
        await loops.stop(grace=dt.timedelta(0))
        assert not loop.is_running

    assert (step.passes, step.cancelled) == (1, 1)


async def test_after_a_stop_a_wake_starts_nothing() -> None:
    step = Steps()
    async with running(step) as (loops, agenda, _):
        await step.reached(1)
        await loops.stop()
        agenda.wake(NAME, NOON)
        await asyncio.sleep(0)

    assert step.passes == 1
    assert loops.ages() == {}


# ------------------------------------------------------------------------------------------------------- the supervisor


@pytest.mark.parametrize(
    ("age", "restarted"),
    [(3 * PERIOD, False), (3 * PERIOD + dt.timedelta(seconds=1), True)],
    ids=["exactly three periods", "just past"],
)
async def test_a_loop_without_a_good_pass_for_three_periods_is_started_over(
    age: dt.timedelta, restarted: bool, monotonic: Monotonic, told: "list[EventDict]"
) -> None:
    step = Steps()
    async with running(step) as (_, _, (loop,)):
        await step.reached(1)
        await at_rest(loop)
        first = loop.task
        monotonic.advance(age)

        loop.restart_if_overdue()

        assert (loop.task is not first) is restarted
        assert loop.age == age
        if restarted:
            await step.reached(2)
            assert first is not None
            assert first.done()

    said = [(entry["event"], entry["loop"], entry["age_seconds"]) for entry in told]
    assert said == ([("loop_overdue", NAME, round(age.total_seconds()))] if restarted else [])


async def test_a_good_pass_makes_a_loop_young_again(monotonic: Monotonic) -> None:
    step = Steps(LampError("once"))
    async with running(step) as (loops, agenda, (loop,)):
        await step.reached(1)
        monotonic.advance(PERIOD)
        assert loops.ages() == {NAME: PERIOD}

        agenda.wake(NAME, NOON)
        await step.reached(2)
        await at_rest(loop)
        assert loops.ages() == {NAME: dt.timedelta(0)}


async def test_a_loop_that_stays_bad_is_started_over_once_in_three_periods(
    monotonic: Monotonic, told: "list[EventDict]"
) -> None:
    step = Steps(*(LampError(str(number)) for number in range(100)))
    async with running(step) as (_, _, (loop,)):
        await step.reached(1)
        await at_rest(loop)
        monotonic.advance(3 * PERIOD + dt.timedelta(seconds=1))
        for _ in range(5):
            loop.restart_if_overdue()
            await step.reached(2)
            await at_rest(loop)
            monotonic.advance(dt.timedelta(seconds=10))

    assert [entry["event"] for entry in told].count("loop_overdue") == 1
    assert step.passes == 2


async def test_a_pass_that_hangs_is_told_and_not_cut_off(monotonic: Monotonic, told: "list[EventDict]") -> None:
    gate = asyncio.Event()
    step = Steps(gate)
    async with running(step) as (_, _, (loop,)):
        await step.reached(1)
        monotonic.advance(4 * PERIOD)

        loop.restart_if_overdue()
        loop.restart_if_overdue()
        gate.set()
        await at_rest(loop)

    assert [entry["event"] for entry in told] == ["loop_pass_hangs"]
    assert (step.passes, step.cancelled) == (1, 0)


async def test_a_loop_that_died_before_its_first_pass_is_told_and_started_over(
    monotonic: Monotonic, told: "list[EventDict]"
) -> None:
    step, faults = Steps(), [RuntimeError("not logged in")]

    async def _fails_once() -> None:
        if faults:
            raise faults.pop()

    async with running(step, before=_fails_once) as (_, _, (loop,)):
        assert loop.task is not None
        await asyncio.wait({loop.task})
        monotonic.advance(4 * PERIOD)

        loop.restart_if_overdue()
        await step.reached(1)

    assert [(entry["event"], entry["loop"]) for entry in told] == [("loop_ended", NAME), ("loop_overdue", NAME)]


async def test_the_supervisor_looks_at_every_loop(monotonic: Monotonic, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loops_module, "_SUPERVISE_SECONDS", 0.0)
    one, other = Steps(), Steps()
    async with running(one, other):
        await one.reached(1)
        await other.reached(1)
        monotonic.advance(4 * PERIOD)

        await one.reached(2)
        await other.reached(2)


def _stumble() -> None:
    raise LampError


async def test_a_supervisor_that_stumbles_over_one_loop_looks_after_the_others(
    monotonic: Monotonic, monkeypatch: pytest.MonkeyPatch, told: "list[EventDict]"
) -> None:
    monkeypatch.setattr(loops_module, "_SUPERVISE_SECONDS", 0.0)
    one, other = Steps(), Steps()
    async with running(one, other) as (_, _, (stumbling, _)):
        await one.reached(1)
        await other.reached(1)
        monkeypatch.setattr(stumbling, "restart_if_overdue", _stumble)
        monotonic.advance(4 * PERIOD)

        await other.reached(2)

    assert "loop_not_looked_after" in {entry["event"] for entry in told}


# ------------------------------------------------------------------------------------------- a clock that is set back


class WallClock(dt.datetime):
    """The clock that the library counts by, set back by hand."""

    behind = dt.timedelta(0)

    @classmethod
    def now(cls, tz: dt.tzinfo | None = None) -> "WallClock":
        return super().now(tz) - cls.behind


@pytest.fixture
def wall_clock(monkeypatch: pytest.MonkeyPatch) -> type[WallClock]:
    monkeypatch.setattr(WallClock, "behind", dt.timedelta(0))
    monkeypatch.setattr(dt, "datetime", WallClock)
    return WallClock


async def test_a_clock_that_is_set_back_while_a_loop_sleeps_does_not_stall_it(
    wall_clock: type[WallClock], told: "list[EventDict]"
) -> None:
    step = Steps()
    async with running(step) as (_, agenda, (loop,)):
        await step.reached(1)
        await at_rest(loop)
        wall_clock.behind = 10 * PERIOD

        for passes in range(2, 6):
            agenda.wake(NAME, NOON)
            await step.reached(passes)
            await at_rest(loop)

        assert loop.is_running

    assert [entry["event"] for entry in told] == ["clock_set_back"]


async def test_a_clock_that_is_set_back_at_a_stop_starts_nothing_anew(wall_clock: type[WallClock]) -> None:
    gate = asyncio.Event()
    step = Steps(gate)
    async with running(step) as (loops, _, _):
        await step.reached(1)
        wall_clock.behind = 10 * PERIOD
        stopping = asyncio.create_task(loops.stop(grace=dt.timedelta(seconds=10)))
        await asyncio.sleep(0)
        gate.set()
        await stopping
        await asyncio.sleep(0)

    assert step.passes == 1
