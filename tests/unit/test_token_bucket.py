"""A steady rate of starts: what is achieved, what is never saved up, and what a moved clock costs."""

import datetime as dt
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.dm_queue.token_bucket import TokenBucket
from tests.conftest import START

NOTHING = dt.timedelta(0)
SECOND = dt.timedelta(seconds=1)
TICK = dt.timedelta(microseconds=1)
INTERVAL = SECOND / 5
HOUR = dt.timedelta(hours=1)
LATENESS = st.timedeltas(NOTHING, INTERVAL - TICK)


def most_within(span: dt.timedelta, starts: list[dt.timedelta]) -> int:
    """The most starts of any span of that length, which includes its begin and not its end."""
    return max(sum(begin <= start < begin + span for start in starts) for begin in starts)


def test_it_begins_with_one_token_and_holds_no_second() -> None:
    bucket = TokenBucket(5)

    waits = [bucket.take(now=START, wanted_since=START) for _ in range(3)]

    assert waits == [NOTHING, INTERVAL, INTERVAL]


def test_waiting_as_long_as_told_is_exactly_enough() -> None:
    bucket = TokenBucket(5)
    bucket.take(now=START, wanted_since=START)

    early = bucket.take(now=START + INTERVAL - TICK, wanted_since=START)
    due = bucket.take(now=START + INTERVAL, wanted_since=START)

    assert (early, due) == (TICK, NOTHING)


def test_asking_spends_nothing_where_the_caller_has_to_wait() -> None:
    bucket = TokenBucket(5)
    bucket.take(now=START, wanted_since=START)

    for _ in range(100):
        bucket.take(now=START + INTERVAL / 2, wanted_since=START)

    assert bucket.take(now=START + INTERVAL, wanted_since=START) == NOTHING


@pytest.mark.parametrize("late", [TICK, INTERVAL / 4, INTERVAL / 2, INTERVAL - TICK], ids=str)
def test_a_caller_that_is_late_by_the_same_part_of_an_interval_each_time_keeps_the_rate(late: dt.timedelta) -> None:
    bucket = TokenBucket(5)

    bucket.take(now=START, wanted_since=START)

    # Late for every token, not behind the last start: that would add up.
    waits = [bucket.take(now=START + turn * INTERVAL + late, wanted_since=START) for turn in range(1, 1_501)]

    assert waits == [NOTHING] * 1_500
    assert bucket.take(now=START + 300 * SECOND + late, wanted_since=START) == INTERVAL - late


@pytest.mark.parametrize("late", [INTERVAL, 3 * INTERVAL, HOUR], ids=str)
def test_a_caller_that_is_late_by_more_makes_up_for_one_token_alone(late: dt.timedelta) -> None:
    bucket = TokenBucket(5)
    bucket.take(now=START, wanted_since=START)
    now = START + INTERVAL + late

    waits = [bucket.take(now=now, wanted_since=START) for _ in range(3)]

    assert waits == [NOTHING, NOTHING, INTERVAL]


@pytest.mark.parametrize("idle", [INTERVAL, SECOND, HOUR], ids=str)
def test_idle_time_saves_nothing_up(idle: dt.timedelta) -> None:
    bucket = TokenBucket(5)
    bucket.take(now=START, wanted_since=START)
    now = START + idle

    waits = [bucket.take(now=now, wanted_since=now) for _ in range(2)]

    assert waits == [NOTHING, INTERVAL]


def test_the_interval_counts_from_when_somebody_wanted_it_after_an_idle_time() -> None:
    bucket = TokenBucket(5)
    bucket.take(now=START, wanted_since=START)
    wanted = START + HOUR
    late = wanted + INTERVAL / 2

    waits = [bucket.take(now=late, wanted_since=wanted) for _ in range(2)]

    assert waits == [NOTHING, INTERVAL / 2]


@pytest.mark.parametrize("back", [TICK, INTERVAL, SECOND, HOUR, 400 * 24 * HOUR], ids=str)
def test_a_clock_set_back_costs_one_interval_at_most(back: dt.timedelta) -> None:
    bucket = TokenBucket(5)
    bucket.take(now=START, wanted_since=START)
    now = START - back

    first = bucket.take(now=now, wanted_since=START)
    # It is asked again before the time is over, as a loop does that something else woke.
    half = bucket.take(now=now + INTERVAL / 2, wanted_since=START)
    due = bucket.take(now=now + first, wanted_since=START)
    after = bucket.take(now=now + first, wanted_since=START)

    assert first == INTERVAL
    assert (half, due, after) == (INTERVAL / 2, NOTHING, INTERVAL)


def test_a_clock_set_forward_gives_one_token_more_at_most() -> None:
    bucket = TokenBucket(5)
    bucket.take(now=START, wanted_since=START)

    waits = [bucket.take(now=START + 24 * HOUR, wanted_since=START) for _ in range(3)]

    assert waits == [NOTHING, NOTHING, INTERVAL]


@pytest.mark.parametrize(("rate", "interval"), [(0.1, 10.0), (1, 1.0), (2.5, 0.4), (20, 0.05)])
def test_the_rate_is_in_tokens_a_second(rate: float, interval: float) -> None:
    bucket = TokenBucket(rate)

    waits = [bucket.take(now=START, wanted_since=START) for _ in range(2)]

    assert waits == [NOTHING, dt.timedelta(seconds=interval)]


@pytest.mark.parametrize("rate", [0, -0.0, -1, -math.inf, math.nan])
def test_a_rate_that_is_not_more_than_zero_is_refused(rate: float) -> None:
    with pytest.raises(ValueError, match="a rate is more than zero, not"):
        TokenBucket(rate)


@settings(deadline=None)
@given(lateness=st.lists(LATENESS, min_size=1, max_size=120))
def test_any_lateness_below_the_interval_keeps_the_rate_and_its_bounds(lateness: list[dt.timedelta]) -> None:
    bucket = TokenBucket(5)
    taken = [bucket.take(now=START, wanted_since=START)]
    for late in lateness:
        wait = bucket.take(now=START + taken[-1], wanted_since=START)
        taken.append(taken[-1] + wait + late)
        assert bucket.take(now=START + taken[-1], wanted_since=START) == NOTHING

    assert most_within(SECOND, taken) <= 6
    assert most_within(10 * SECOND, taken) <= 51
    for place, start in enumerate(taken):
        assert place * INTERVAL <= start < (place + 1) * INTERVAL


@settings(deadline=None)
@given(
    waits=st.lists(st.timedeltas(NOTHING, 3 * SECOND) | LATENESS, min_size=1, max_size=120),
    idle=st.sets(st.integers(0, 119)),
)
def test_no_lateness_and_no_idling_breaks_the_bounds(waits: list[dt.timedelta], idle: set[int]) -> None:
    bucket = TokenBucket(5)
    now = wanted = START
    taken: list[dt.timedelta] = []
    for turn, late in enumerate(waits):
        now += late
        wanted = now if turn in idle else wanted
        if wait := bucket.take(now=now, wanted_since=wanted):
            now += wait
            assert bucket.take(now=now, wanted_since=wanted) == NOTHING
        taken.append(now - START)

    assert most_within(SECOND, taken) <= 6
    assert most_within(10 * SECOND, taken) <= 51
    assert all(later - earlier >= INTERVAL for earlier, later in zip(taken, taken[2:], strict=False))


@settings(deadline=None)
@given(moves=st.lists(st.timedeltas(-HOUR, HOUR), max_size=60))
def test_however_the_clock_is_moved_nobody_waits_longer_than_an_interval(moves: list[dt.timedelta]) -> None:
    bucket, now = TokenBucket(5), START

    for move in moves:
        now += move
        wait = bucket.take(now=now, wanted_since=START)
        assert wait <= INTERVAL
        assert bucket.take(now=now + wait, wanted_since=START) <= INTERVAL
