"""What a seed plans to go wrong: the same each time, of every kind, in its order and in its time."""

import datetime as dt
import random

from bot.demo.fault_plan import MET_BY_REQUESTS, Fault, FaultKind, plan_faults
from tests.builders import DAY, HOUR, utc

START = utc("2026-03-01 00:00")


def planned(seed: int, count: int = 500) -> list[Fault]:
    return plan_faults(count, chance=random.Random(seed), start=START, end=START + DAY)


def test_a_seed_plans_the_same_each_time_and_another_one_something_else() -> None:
    assert planned(1) == planned(1) != planned(2)


def test_every_kind_is_planned_in_order_and_in_time() -> None:
    found = planned(3)

    assert {one.kind for one in found} == set(FaultKind)
    assert [one.at for one in found] == sorted(one.at for one in found)
    assert found[0].at >= START
    assert found[-1].at < START + DAY


def test_a_process_dies_once_a_death_and_a_clock_is_set_by_ten_minutes_at_most() -> None:
    found = planned(4)

    assert {one.times for one in found if one.kind in {FaultKind.KILL, FaultKind.KILL_AFTER}} == {1}
    steps = {one.step for one in found if one.kind is FaultKind.CLOCK_STEP}
    assert min(steps) < dt.timedelta(0) < max(steps)
    assert max(abs(step) for step in steps) <= HOUR / 6
    assert {one.step for one in found if one.kind is not FaultKind.CLOCK_STEP} == {dt.timedelta(0)}


def test_a_fault_says_what_it_is() -> None:
    assert str(Fault(START, FaultKind.RESET_AFTER, times=2)) == "reset_after x2"
    assert str(Fault(START, FaultKind.CLOCK_STEP, lasts=HOUR, step=-HOUR)) == "clock_step for 1:00:00 by -3600 s"


def test_what_requests_meet_is_no_fault_of_a_moment() -> None:
    assert FaultKind.RESET in MET_BY_REQUESTS
    assert FaultKind.KILL not in MET_BY_REQUESTS
