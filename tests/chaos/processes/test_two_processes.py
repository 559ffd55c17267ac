"""R4 in small: several real processes on one PostgreSQL, and that it fails where what it rests on is taken out."""

import pytest

from bot.transactions import Dialect
from tests.chaos.processes import contended, rolling_restart, suspended
from tests.chaos.processes.suspended import Where
from tests.chaos.proof import Share, unmet
from tests.throwaway import Databases

pytestmark = [pytest.mark.postgres, pytest.mark.timeout(240)]


def share(databases: Databases, *seeds: int) -> Share:
    return Share(seeds, Dialect.POSTGRES, databases)


def test_two_and_four_processes_that_want_the_same_keys_send_each_once(databases: Databases) -> None:
    figures = contended.run(share(databases, 0, 4), count=150)

    assert unmet(figures, contended.judge(figures)) == []
    assert figures.ok == 300


def test_with_the_lease_out_every_process_sends_every_key(databases: Databases) -> None:
    figures = contended.run(share(databases, 0), count=30, broken="no lease")

    assert unmet(figures, contended.judge(figures))
    assert (figures.duplicated, figures.lost) == (30, 0)


def test_a_process_that_stood_still_in_the_middle_of_a_send_doubles_nothing(databases: Databases) -> None:
    figures = suspended.run(share(databases, 0))

    assert unmet(figures, suspended.judge(figures)) == []
    assert (figures.ok, figures.recovered) == (11, 7)


def test_without_a_check_after_the_suspension_its_late_request_goes_out(databases: Databases) -> None:
    figures = suspended.run(
        share(databases, 0),
        broken="no check after a suspension",
        wanted=lambda stop: stop.where is Where.CLAIMED and stop.is_taken_over,
    )

    assert unmet(figures, suspended.judge(figures))
    assert figures.duplicated == figures.unexpected == figures.runs == 2


def test_without_the_fence_whoever_was_followed_sends_or_records_all_the_same(databases: Databases) -> None:
    figures = suspended.run(share(databases, 0), broken="no fence", wanted=lambda stop: stop.wakes_inside)

    assert unmet(figures, suspended.judge(figures))
    assert figures.duplicated == figures.runs == 3


def test_a_rolling_restart_announces_each_event_once(databases: Databases) -> None:
    figures = rolling_restart.run(share(databases, 0))

    assert unmet(figures, rolling_restart.judge(figures)) == []
    assert figures.recovered > 0


def test_with_the_lease_out_two_processes_announce_events_again(databases: Databases) -> None:
    figures = rolling_restart.run(share(databases, 0), broken="no lease")

    assert unmet(figures, rolling_restart.judge(figures))
    assert figures.duplicated > 0
