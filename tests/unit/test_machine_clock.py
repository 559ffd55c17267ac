"""The clock of a machine that somebody sets, and that of a process there which goes by its database."""

import datetime as dt

import pytest

from bot.demo.machine_clock import FollowingClock, Machine, MachineClock
from tests.builders import HOUR, SECOND, utc

NOW = utc("2026-03-01 12:00")


def test_a_clock_that_was_set_is_off_for_all_its_processes() -> None:
    machine = Machine(lambda: NOW)
    clocks = [MachineClock(machine), FollowingClock(machine)]

    machine.off_by = HOUR

    assert [clock.now() for clock in clocks] == [NOW + HOUR] * 2


@pytest.mark.parametrize("off_by", [HOUR, -HOUR, dt.timedelta(days=1)])
def test_a_process_that_follows_its_database_is_right_again_and_says_how_far_it_was_off(off_by: dt.timedelta) -> None:
    machine = Machine(lambda: NOW)
    clock = FollowingClock(machine)
    machine.off_by = off_by

    assert clock.follow(NOW) == off_by

    assert clock.now() == NOW
    machine.off_by = dt.timedelta(0)
    assert clock.follow(NOW) == dt.timedelta(0)
    assert clock.now() == NOW


async def test_nothing_sleeps_there() -> None:
    with pytest.raises(RuntimeError, match="nothing sleeps in a simulated world"):
        await MachineClock(Machine(lambda: NOW)).sleep(SECOND.total_seconds())
