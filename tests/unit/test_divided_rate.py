"""A rate that is divided among processes and changes with them: no burst, nothing lost, and all together keep it."""

import datetime as dt
import itertools
import math
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.dm_queue.status import status_of
from bot.dm_queue.token_bucket import TokenBucket
from bot.scheduling.bodies import DRAIN_DM_QUEUE
from tests.builders import GUILD
from tests.conftest import START
from tests.dm_world import NOTHING, DmWorld

SECOND = dt.timedelta(seconds=1)
TICK = dt.timedelta(microseconds=1)
RATES = st.sampled_from([0.1, 0.5, 1.0, 1.25, 5 / 3, 2.5, 5.0, 20.0])
# Moments are whole microseconds: each change and each token may be off by one.
SLACK = 0.01


def most_within(span: dt.timedelta, moments: list[dt.datetime]) -> int:
    """The most of any span of that length, which includes its begin and not its end."""
    return max(sum(begin <= moment < begin + span for moment in moments) for begin in moments)


@pytest.mark.parametrize(
    ("gained", "left"), [(0.0, 1.0), (0.25, 0.75), (0.5, 0.5), (1.0, 0.0)], ids=lambda part: f"{part:g}"
)
@pytest.mark.parametrize(("before", "after"), [(5.0, 2.5), (2.5, 5.0), (5.0, 5.0), (20.0, 0.1)])
def test_what_there_is_of_the_next_token_stays(before: float, after: float, gained: float, left: float) -> None:
    bucket = TokenBucket(before)
    bucket.take(now=START, wanted_since=START)
    now = START + gained * dt.timedelta(seconds=1 / before)

    bucket.change(after, now=now)

    assert bucket.take(now=now, wanted_since=START) == pytest.approx(left * dt.timedelta(seconds=1 / after), abs=TICK)


def test_a_bucket_that_was_full_for_long_holds_one_token_after_a_change_too() -> None:
    bucket = TokenBucket(20)
    bucket.take(now=START, wanted_since=START)
    now = START + 60 * SECOND

    bucket.change(1, now=now)

    waits = [bucket.take(now=now, wanted_since=now) for _ in range(2)]
    assert waits == [NOTHING, SECOND]


def test_a_change_before_the_first_token_leaves_the_first_token() -> None:
    bucket = TokenBucket(5)

    bucket.change(2.5, now=START)

    assert [bucket.take(now=START, wanted_since=START) for _ in range(2)] == [NOTHING, SECOND / 2.5]


@pytest.mark.parametrize("rate", [0, -1, -math.inf, math.nan])
def test_a_change_to_a_rate_that_is_not_more_than_zero_is_refused_and_changes_nothing(rate: float) -> None:
    bucket = TokenBucket(5)
    bucket.take(now=START, wanted_since=START)

    with pytest.raises(ValueError, match="a rate is more than zero, not"):
        bucket.change(rate, now=START)

    assert bucket.take(now=START, wanted_since=START) == SECOND / 5


@settings(deadline=None)
@given(
    steps=st.lists(
        st.tuples(RATES, st.timedeltas(NOTHING, 3 * SECOND), st.integers(1, 6), st.booleans()), min_size=1, max_size=80
    )
)
def test_however_the_rate_changes_no_more_start_than_it_gives(
    steps: list[tuple[float, dt.timedelta, int, bool]],
) -> None:
    bucket, now, wanted, given_so_far = TokenBucket(5), START, START, 0.0
    taken: list[float] = []
    for rate, idle, asks, is_idle in steps:
        bucket.change(rate, now=now)
        now += idle
        given_so_far += rate * idle.total_seconds()
        wanted = now if is_idle else wanted
        started = sum(not bucket.take(now=now, wanted_since=wanted) for _ in range(asks))
        taken += [given_so_far] * started

    # Within any span: what it gives, the token at its begin, and one that is made up for.
    for (first, begin), (last, end) in itertools.combinations(enumerate(taken), 2):
        assert last - first + 1 <= end - begin + 2 + SLACK


@settings(deadline=None)
@given(steps=st.lists(st.tuples(RATES, st.timedeltas(NOTHING, 3 * SECOND)), min_size=1, max_size=60))
def test_however_the_rate_changes_whoever_always_wants_gets_all_that_it_gives(
    steps: list[tuple[float, dt.timedelta]],
) -> None:
    bucket, now, taken, given_so_far = TokenBucket(5), START, 0, 0.0
    for rate, span in steps:
        bucket.change(rate, now=now)
        end = now + span
        given_so_far += rate * span.total_seconds()
        while (wait := bucket.take(now=now, wanted_since=START)) <= end - now:
            taken += not wait
            now += wait
        now = end

    assert given_so_far - SLACK < taken <= given_so_far + 1 + SLACK


@settings(deadline=None)
@given(
    rate=RATES,
    moves=st.lists(st.tuples(RATES, st.timedeltas(-dt.timedelta(hours=1), dt.timedelta(hours=1))), max_size=40),
)
def test_however_the_clock_is_moved_between_changes_nobody_waits_longer_than_an_interval(
    rate: float, moves: list[tuple[float, dt.timedelta]]
) -> None:
    bucket, now = TokenBucket(rate), START

    for rate_now, move in moves:
        now += move
        bucket.change(rate_now, now=now)
        wait = bucket.take(now=now, wanted_since=START)
        assert wait <= dt.timedelta(seconds=1 / rate_now) + TICK


@settings(deadline=None)
@given(gained=st.timedeltas(NOTHING, 2 * SECOND), there=st.lists(RATES, min_size=1, max_size=20), is_idle=st.booleans())
def test_changes_at_one_moment_and_back_change_nothing(gained: dt.timedelta, there: list[float], is_idle: bool) -> None:
    def wait(changed: bool) -> tuple[dt.timedelta, dt.timedelta]:
        bucket = TokenBucket(5)
        bucket.take(now=START, wanted_since=START)
        now = START + gained
        for rate in there if changed else ():
            bucket.change(rate, now=now)
        bucket.change(5, now=now)
        wanted = now if is_idle else START
        return bucket.take(now=now + 200 * TICK, wanted_since=wanted), bucket.take(
            now=now + SECOND / 5, wanted_since=wanted
        )

    changed, unchanged = wait(changed=True), wait(changed=False)

    assert changed == pytest.approx(unchanged, abs=50 * TICK)


# ---------------------------------------------------------------------------------------------------------- the worker


async def together(worlds: list[DmWorld], span: dt.timedelta, *, on: Callable[[dt.datetime], None]) -> None:
    """Let processes with queues of their own run side by side, moment by moment."""
    begin = worlds[0].clock.now()
    for tick in range(int(span / (50_000 * TICK)) + 1):
        moment = begin + tick * 50_000 * TICK
        on(moment)
        for world in worlds:
            await world.run_until(moment)
            world.clock.set(moment)


@pytest.mark.parametrize("instances", [1, 2, 4])
async def test_processes_with_full_queues_keep_the_bots_rate_together(instances: int) -> None:
    worlds = [DmWorld() for _ in range(instances)]
    for number, world in enumerate(worlds):
        for who in range(1, 400):
            world.offer(1_000 * number + who)
        for who in range(400, 500):
            world.offer(1_000 * number + who, known=False)
        world.worker.divide(instances)

    await together(worlds, 60 * SECOND, on=lambda _: None)

    starts = sorted(at for world in worlds for at, _ in world.out.starts)
    opened = sorted(at for world in worlds for at, _ in world.opener.opened)
    # Each has one token at the begin; from then on it is the rate.
    assert len(starts) == 60 * 5 + instances
    assert len(opened) == 60 + instances
    assert most_within(10 * SECOND, starts) <= 50 + max(1, instances - 1)


async def test_two_processes_start_six_in_any_second_and_51_in_any_ten_at_most() -> None:
    worlds = [DmWorld(), DmWorld()]
    for number, world in enumerate(worlds):
        for who in range(1, 700):
            world.offer(1_000 * number + who)
        world.worker.divide(2)

    await together(worlds, 120 * SECOND, on=lambda _: None)

    starts = sorted(at for world in worlds for at, _ in world.out.starts)
    assert (most_within(SECOND, starts), most_within(10 * SECOND, starts)) == (6, 50)


async def test_with_the_division_out_two_processes_start_ten_a_second() -> None:
    worlds = [DmWorld(), DmWorld()]
    for number, world in enumerate(worlds):
        for who in range(1, 400):
            world.offer(1_000 * number + who)

    await together(worlds, 20 * SECOND, on=lambda _: None)

    starts = sorted(at for world in worlds for at, _ in world.out.starts)
    assert (most_within(SECOND, starts), most_within(10 * SECOND, starts)) == (10, 100)


async def test_one_that_is_left_alone_takes_up_the_whole_rate_without_a_burst() -> None:
    world = DmWorld()
    for who in range(1, 400):
        world.offer(who)
    world.worker.divide(2)
    await world.run_for(10 * SECOND)
    before = len(world.out.starts)

    world.worker.divide(1)
    woken = world.agenda.next(DRAIN_DM_QUEUE)
    await world.run_for(10 * SECOND)

    starts = [at for at, _ in world.out.starts]
    assert woken == START + 10 * SECOND
    assert (before, len(starts)) == (26, 76)
    assert starts[before] - starts[before - 1] == SECOND / 5
    assert most_within(SECOND, starts[before:]) == 5


async def test_changes_of_the_division_while_the_breaker_is_open_start_nothing() -> None:
    world = DmWorld()
    world.out.blocks.paused_until = None
    world.offer(1)
    world.worker._rests.pause(60 * SECOND)

    for instances in (2, 4, 1, 3):
        world.worker.divide(instances)
        await world.run_for(SECOND)

    assert world.out.starts == []


async def test_the_status_names_this_processs_part_of_the_rate() -> None:
    world = DmWorld()

    world.worker.divide(4)

    assert status_of(world.worker, guild_id=GUILD).rate == 1.25
