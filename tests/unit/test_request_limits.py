"""The arithmetic of Discord's limits: invalid requests, the rate of all requests, and what a 429 told to wait."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.delivery.request_bucket import RequestBucket
from bot.delivery.request_budget import WINDOW_SECONDS, InvalidRequests
from bot.delivery.request_pauses import Pauses, route_of
from tests.wire.faults import most_within

SECONDS = st.floats(0, 2_000, allow_nan=False)
SEND, OTHER = "POST /channels/1/messages", "POST /channels/2/messages"

# ----------------------------------------------------------------------------------------------------- invalid requests


@given(st.lists(SECONDS, max_size=60), st.integers(1, 20))
def test_nothing_rests_exactly_while_the_window_is_not_full(moments: list[float], limit: int) -> None:
    counted = InvalidRequests()
    now = 0.0

    for number, now in enumerate(sorted(moments), 1):
        in_window = sum(at + WINDOW_SECONDS - now > 0 for at in sorted(moments)[:number])
        assert counted.count(SEND, now) == in_window
        assert (counted.rest(limit, now) > 0) == (in_window >= limit)


@given(st.lists(SECONDS, min_size=1, max_size=60), st.integers(1, 20))
def test_after_the_rest_there_is_room_for_one_more(moments: list[float], limit: int) -> None:
    counted = InvalidRequests()
    for at in sorted(moments):
        counted.count(SEND, at)

    later = max(moments) + counted.rest(limit, max(moments)) + 0.001

    assert counted.rest(limit, later) == 0
    assert sum(at + WINDOW_SECONDS > later for at in moments) < limit


@given(st.lists(st.tuples(st.floats(0, 20), st.floats(0, 5)), max_size=300), st.integers(1, 30))
def test_whoever_heeds_the_rest_never_has_more_than_the_limit_in_a_window(
    wishes: list[tuple[float, float]], limit: int
) -> None:
    counted, sent, now = InvalidRequests(), [], 0.0

    for pause, _ in wishes:
        now += pause
        if not counted.rest(limit, now):
            counted.count(SEND, now)
            sent.append(now)

    assert most_within(WINDOW_SECONDS, sent) <= limit


def test_one_falls_out_of_the_window_after_exactly_ten_minutes() -> None:
    counted = InvalidRequests()
    counted.count(SEND, 5)

    assert counted.rest(1, 604.5) == 0.5
    assert counted.rest(1, 605) == 0


def test_a_route_is_suspect_from_its_refusal_until_it_is_taken_or_forgotten() -> None:
    counted = InvalidRequests()
    counted.count(SEND, 10)

    assert counted.is_suspect(SEND, 11)
    assert not counted.is_suspect(OTHER, 11)
    assert not counted.is_suspect(SEND, 610)
    counted.forgive(SEND)
    assert not counted.is_suspect(SEND, 11)


def test_routes_that_were_refused_long_ago_take_no_room() -> None:
    counted = InvalidRequests()
    for number in range(5_000):
        counted.count(f"route {number}", number)

    assert len(counted._last) <= 2 * 601


# ----------------------------------------------------------------------------------------------------- the rate of all


def departures(bucket: RequestBucket, wanted: int, *, begin: float = 0.0, late: float = 0.0) -> list[float]:
    """When so many requests leave that all want to at once; each waiter comes ``late`` to its turn."""
    now = begin
    left: list[float] = []
    while len(left) < wanted:
        wait = bucket.take(now)
        if wait:
            now += wait + late
        else:
            left.append(now)
    return left


@given(
    st.lists(st.tuples(st.floats(0, 3), st.integers(1, 80)), min_size=1, max_size=8),
    st.floats(0, 0.05),
    st.integers(1, 8),
)
@settings(max_examples=60)
def test_no_second_has_more_than_forty_nine_whatever_comes_when(
    rushes: list[tuple[float, int]], late: float, instances: int
) -> None:
    bucket, now = RequestBucket(), 0.0
    left: list[float] = []
    bucket.divide(instances)

    for pause, wanted in rushes:
        left += departures(bucket, wanted, begin=now + pause, late=late)
        now = left[-1]

    # A second more or less of rounding is no request.
    share = max(49 / instances, 1 + 1 / 60)
    assert most_within(1 - 1e-6, left) <= share + 1e-6


@pytest.mark.parametrize("instances", [1, 2, 3, 7, 48])
def test_all_processes_together_keep_the_limit(instances: int) -> None:
    left = []
    for _ in range(instances):
        bucket = RequestBucket()
        bucket.divide(instances)
        left += departures(bucket, max(2, 200 // instances))

    assert most_within(1, left) <= 50


def test_a_thousand_at_once_leave_at_more_than_forty_five_a_second() -> None:
    left = departures(RequestBucket(), 1_000, late=0.002)

    assert 1_000 / 50 <= left[-1] <= 1_000 / 45


def test_a_process_that_slept_lets_no_bunch_go() -> None:
    bucket = RequestBucket()
    departures(bucket, 50)

    assert most_within(0.001, departures(bucket, 100, begin=3_600)) <= 3


def test_after_the_global_limit_was_hit_it_begins_with_one_a_second_and_doubles() -> None:
    bucket = RequestBucket()
    departures(bucket, 10)
    bucket.begin_slowly(100)

    left = departures(bucket, 200, begin=100)

    counts = [sum(100 + second <= at < 101 + second for at in left) for second in range(7)]
    assert counts[0] <= 2
    assert all(after <= 2 * before + 2 for before, after in itertools.pairwise(counts))
    assert max(counts) >= 45
    assert bucket.rest_of_slowness(107) == 0


def test_how_long_it_is_slow_is_known_from_the_start() -> None:
    bucket = RequestBucket()
    assert bucket.rest_of_slowness(50) == 0

    bucket.begin_slowly(100)

    assert bucket.rest_of_slowness(90) == pytest.approx(10 + 5.52, abs=0.01)


def test_an_answer_that_was_not_wanted_spends_nothing() -> None:
    bucket = RequestBucket()
    departures(bucket, 3)

    first, second = bucket.take(0.0), bucket.take(0.0)

    assert first == second > 0


# -------------------------------------------------------------------------------------------------- what a 429 told


def test_a_route_waits_as_long_as_told_and_the_others_do_not() -> None:
    pauses = Pauses()
    pauses.refused(SEND, 5.5, 100)

    assert pauses.rest(SEND, 103) == 2.5
    assert pauses.rest(SEND, 105.5) == 0
    assert pauses.rest(OTHER, 103) == 0
    assert pauses.rest_everywhere(103) == 0


def test_a_shorter_wait_does_not_cut_a_longer_one() -> None:
    pauses = Pauses()
    pauses.refused(None, 20, 100)
    pauses.refused(None, 1, 101)

    assert pauses.rest_everywhere(101) == 19


def test_each_refusal_in_a_row_doubles_the_wait_up_to_a_minute() -> None:
    pauses, now, waits = Pauses(), 0.0, []

    for _ in range(9):
        pauses.refused(SEND, 0.5, now)
        waits.append(pauses.rest(SEND, now))
        now += waits[-1]

    assert waits == [0.5, 2, 4, 8, 16, 32, 60, 60, 60]


def test_however_many_are_refused_in_a_row_the_wait_stays_a_minute() -> None:
    pauses, now = Pauses(), 0.0

    for _ in range(1_200):
        pauses.refused(SEND, 0, now)
        now += pauses.rest(SEND, now)
    pauses.refused(SEND, 0, now)

    assert pauses.rest(SEND, now) == 60


def test_those_refused_together_are_one_refusal() -> None:
    pauses = Pauses()
    for _ in range(50):
        pauses.refused(None, 1, 10)
    pauses.refused(None, 1, 11)

    assert pauses.rest_everywhere(11) == 2


def test_an_answer_after_the_wait_ends_the_row_and_one_from_before_does_not() -> None:
    pauses = Pauses()
    pauses.refused(SEND, 1, 0)
    pauses.accepted(SEND, 0.5)
    pauses.refused(SEND, 1, 1)
    assert pauses.rest(SEND, 1) == 2

    pauses.accepted(SEND, 3)
    pauses.refused(SEND, 1, 3)

    assert pauses.rest(SEND, 3) == 1


def test_routes_that_wait_for_nothing_take_no_room() -> None:
    pauses = Pauses()
    for number in range(5_000):
        pauses.refused(f"route {number}", 1, number)

    assert len(pauses._routes) <= 1_000


@pytest.mark.parametrize(
    ("method", "path", "route"),
    [
        ("POST", "/api/v10/channels/12/messages", "POST /api/v10/channels/12/messages"),
        ("PATCH", "/api/v10/channels/12/messages/34", "PATCH /api/v10/channels/12/messages/{}"),
        ("GET", "/api/v10/guilds/5/members/6", "GET /api/v10/guilds/5/members/{}"),
        ("POST", "/api/v10/users/@me/channels", "POST /api/v10/users/@me/channels"),
        ("PATCH", "/api/v10/webhooks/7/tok/messages/@original", "PATCH /api/v10/webhooks/7/tok/messages/@original"),
    ],
)
def test_a_route_keeps_the_ids_that_its_limit_is_counted_by(method: str, path: str, route: str) -> None:
    assert route_of(method, path) == route
