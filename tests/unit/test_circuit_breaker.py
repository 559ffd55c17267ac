"""When the DMs rest since Discord does not answer: which failure opens the breaker, and which moment closes it."""

import datetime as dt
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.dm_queue.circuit_breaker import BreakerOptions, CircuitBreaker
from tests.conftest import START

NOTHING = dt.timedelta(0)
SECOND = dt.timedelta(seconds=1)
MINUTE = dt.timedelta(minutes=1)
HOUR = dt.timedelta(hours=1)
TICK = dt.timedelta(microseconds=1)
OPEN_FOR = 5 * MINUTE


def fail(breaker: CircuitBreaker, times: int, *, now: dt.datetime = START) -> list[bool]:
    """Tell of so many failures at one moment; return what each call answered."""
    return [breaker.failed(now=now) for _ in range(times)]


def opened(options: BreakerOptions | None = None) -> CircuitBreaker:
    """A breaker that opened at noon."""
    breaker = CircuitBreaker(options)
    assert fail(breaker, (options or BreakerOptions()).failures)[-1]
    return breaker


# ------------------------------------------------------------------------------------------------------------ opening


def test_it_is_closed_from_the_start_and_closes_nothing() -> None:
    breaker = CircuitBreaker()

    assert (breaker.open_until, breaker.failures, breaker.close_if_due(now=START)) == (None, 0, False)


def test_exactly_the_fiftieth_failure_opens_it() -> None:
    breaker = CircuitBreaker()

    answers = fail(breaker, 49)
    still_closed = breaker.open_until
    answers += fail(breaker, 1)

    assert (still_closed, answers) == (None, [False] * 49 + [True])
    assert breaker.open_until == START + OPEN_FOR


def test_forty_nine_never_open_it() -> None:
    breaker = CircuitBreaker()

    assert fail(breaker, 49) == [False] * 49
    assert (breaker.open_until, breaker.failures) == (None, 49)


def test_a_success_between_begins_the_count_anew() -> None:
    breaker = CircuitBreaker()
    fail(breaker, 49)

    breaker.succeeded()
    answers = fail(breaker, 49)

    assert (answers, breaker.open_until) == ([False] * 49, None)
    assert fail(breaker, 1) == [True]


@pytest.mark.parametrize(
    ("span", "opens"),
    [
        pytest.param(MINUTE - TICK, True, id="just within 60 s"),
        pytest.param(MINUTE, True, id="exactly 60 s"),
        pytest.param(MINUTE + TICK, False, id="just past 60 s"),
    ],
)
def test_the_first_and_the_last_of_them_are_at_most_a_minute_apart(span: dt.timedelta, opens: bool) -> None:
    breaker = CircuitBreaker()
    fail(breaker, 49)

    assert breaker.failed(now=START + span) is opens


def test_older_failures_make_room_for_younger_ones() -> None:
    breaker = CircuitBreaker()
    fail(breaker, 1)
    late = START + MINUTE + SECOND

    answers = fail(breaker, 49, now=late)
    one_more = breaker.failed(now=late + MINUTE)

    # The first has left the minute; the 49 and the next are the fifty.
    assert (answers, one_more) == ([False] * 49, True)


def test_fifty_failures_that_trickle_in_do_not_open_it() -> None:
    breaker = CircuitBreaker()

    # 49 steps of a little more than a 49th of a minute.
    answers = [breaker.failed(now=START + turn * (MINUTE / 49 + TICK)) for turn in range(500)]

    assert not any(answers)
    assert breaker.failures == 50


# ---------------------------------------------------------------------------------------------------------- while open


def test_failures_and_successes_of_what_was_under_way_change_nothing_while_it_is_open() -> None:
    breaker = opened()

    answers = fail(breaker, 200, now=START + SECOND)
    breaker.succeeded()

    assert (any(answers), breaker.open_until, breaker.failures) == (False, START + OPEN_FOR, 0)


def test_what_failed_before_and_while_it_was_open_does_not_count_afterwards() -> None:
    breaker = opened()
    fail(breaker, 50, now=START + OPEN_FOR - TICK)
    assert breaker.close_if_due(now=START + OPEN_FOR)

    answers = fail(breaker, 49, now=START + OPEN_FOR)

    assert not any(answers)
    assert fail(breaker, 1, now=START + OPEN_FOR) == [True]
    assert breaker.open_until == START + 2 * OPEN_FOR


@pytest.mark.parametrize(
    ("after", "closes"),
    [
        pytest.param(NOTHING, False, id="at once"),
        pytest.param(OPEN_FOR - TICK, False, id="just before five minutes"),
        pytest.param(OPEN_FOR, True, id="exactly five minutes"),
        pytest.param(OPEN_FOR + TICK, True, id="just past five minutes"),
        pytest.param(24 * HOUR, True, id="a clock set forward a day"),
    ],
)
def test_it_closes_once_its_time_is_over_and_only_then(after: dt.timedelta, closes: bool) -> None:
    breaker = opened()

    assert breaker.close_if_due(now=START + after) is closes
    assert (breaker.open_until is None) is closes


def test_only_one_call_closes_it() -> None:
    breaker = opened()

    assert [breaker.close_if_due(now=START + OPEN_FOR) for _ in range(2)] == [True, False]


# ------------------------------------------------------------------------------------------------------- moved clocks


@pytest.mark.parametrize("back", [SECOND, HOUR, 24 * HOUR], ids=str)
def test_a_clock_set_back_while_it_is_open_does_not_hold_it_longer_than_its_time(back: dt.timedelta) -> None:
    breaker = opened()
    now = START - back

    first = breaker.close_if_due(now=now)
    early = breaker.close_if_due(now=now + OPEN_FOR - TICK)
    due = breaker.close_if_due(now=now + OPEN_FOR)

    assert (first, early, due) == (False, False, True)


def test_failures_from_before_the_clock_was_set_back_count_as_just_now() -> None:
    breaker = CircuitBreaker()
    fail(breaker, 49)

    assert breaker.failed(now=START - HOUR)
    assert breaker.open_until == START - HOUR + OPEN_FOR


def test_a_clock_set_forward_makes_earlier_failures_old() -> None:
    breaker = CircuitBreaker()
    fail(breaker, 49)

    assert fail(breaker, 49, now=START + HOUR) == [False] * 49
    assert breaker.failed(now=START + HOUR)


# -------------------------------------------------------------------------------------------------------- its figures


def test_the_figures_are_those_of_the_specification() -> None:
    assert BreakerOptions() == BreakerOptions(failures=50, within=MINUTE, open_for=5 * MINUTE)


@pytest.mark.parametrize("failures", [1, 2, 3])
def test_the_figures_can_be_set(failures: int) -> None:
    breaker = opened(BreakerOptions(failures=failures, within=SECOND, open_for=HOUR))

    assert breaker.open_until == START + HOUR
    assert breaker.close_if_due(now=START + HOUR)


def test_a_window_of_nothing_counts_what_comes_at_one_moment() -> None:
    breaker = CircuitBreaker(BreakerOptions(failures=2, within=NOTHING))

    answers = [breaker.failed(now=START), breaker.failed(now=START + TICK), breaker.failed(now=START + TICK)]

    assert answers == [False, False, True]


# -------------------------------------------------------------------------------------------------- against plain words

OPTIONS = BreakerOptions(failures=4, within=10 * SECOND, open_for=30 * SECOND)


@dataclass
class PlainBreaker:
    """The rule as a sentence, with every failure kept: what is under test must answer the same."""

    failures: list[dt.datetime] = field(default_factory=list)
    until: dt.datetime | None = None

    def failed(self, now: dt.datetime) -> bool:
        if self.until is not None:
            return False
        self.failures.append(now)
        last = self.failures[-OPTIONS.failures :]
        if len(last) == OPTIONS.failures and last[-1] - last[0] <= OPTIONS.within:
            self.failures, self.until = [], now + OPTIONS.open_for
            return True
        return False

    def succeeded(self) -> None:
        self.failures = []

    def close_if_due(self, now: dt.datetime) -> bool:
        if self.until is None:
            return False
        self.until = min(self.until, now + OPTIONS.open_for)
        if self.until > now:
            return False
        self.until = None
        return True


STEPS = st.sampled_from([-HOUR, -SECOND, NOTHING, TICK, SECOND, 3 * SECOND, 10 * SECOND, 30 * SECOND, HOUR])
ACTIONS = st.sampled_from(["fail"] * 6 + ["succeed"] + ["close"] * 2)


@settings(deadline=None, max_examples=300)
@given(story=st.lists(st.tuples(STEPS, ACTIONS), max_size=80))
def test_it_answers_as_the_rule_in_plain_words(story: list[tuple[dt.timedelta, str]]) -> None:
    breaker, plain, now = CircuitBreaker(OPTIONS), PlainBreaker(), START

    for step, action in story:
        now += step
        match action:
            case "fail":
                assert breaker.failed(now=now) is plain.failed(now)
            case "succeed":
                breaker.succeeded()
                plain.succeeded()
            case _:
                assert breaker.close_if_due(now=now) is plain.close_if_due(now)
        assert breaker.open_until == plain.until
        assert breaker.failures == min(len(plain.failures), OPTIONS.failures)
