"""R12 and R13 in small, and that they fail where what they rest on is taken out."""

import datetime as dt

import pytest

from bot.dm_queue import circuit_breaker
from bot.dm_queue.circuit_breaker import CircuitBreaker
from bot.dm_queue.job import DmJob, JobEnd
from bot.dm_queue.queue import DmQueue
from bot.dm_queue.worker import DmWorker
from bot.leases.failures import ErrorClass
from bot.leases.reports import SendReport
from bot.transactions import Dialect
from tests.chaos.dm_queue import breaker, dm_conservation
from tests.chaos.dm_queue.breaker import FAILURES, OPEN_FOR, Answered, openings
from tests.chaos.proof import Figures, Share, unmet
from tests.conftest import START
from tests.throwaway import Databases

SECOND = dt.timedelta(seconds=1)
BACKENDS = [Dialect.SQLITE, pytest.param(Dialect.POSTGRES, marks=pytest.mark.postgres)]


def conserved(databases: Databases, *, seeds: int = 2) -> bool:
    figures = dm_conservation.run(Share(range(seeds), None, databases), operations=4_000)
    return not unmet(figures, dm_conservation.judge(figures))


def broken(databases: Databases, dialect: Dialect = Dialect.SQLITE, *, seeds: int = 2) -> Figures:
    figures = breaker.run(Share(range(seeds), dialect, databases))
    assert unmet(figures, breaker.judge(figures))
    return figures


def test_no_dm_is_lost_or_counted_twice(databases: Databases) -> None:
    assert conserved(databases)


def test_a_queue_that_drops_what_it_has_no_room_for_in_silence_is_found(
    databases: Databases, monkeypatch: pytest.MonkeyPatch
) -> None:
    really = DmQueue.offer

    monkeypatch.setattr(DmQueue, "offer", lambda self, job: really(self, job) or True)

    assert not conserved(databases)


def test_a_job_that_is_not_put_back_is_found(databases: Databases, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(DmQueue, "put_back", lambda self, job: None)

    assert not conserved(databases)


def test_fewer_operations_than_were_asked_for_are_found() -> None:
    few = Figures(samples={"operations": [9_999.0], "asked": [10_000.0]})

    assert unmet(few, dm_conservation.judge(few))


def test_a_dm_that_ends_twice_is_found_where_it_ends(databases: Databases, monkeypatch: pytest.MonkeyPatch) -> None:
    really = DmWorker._end

    def _twice(self: DmWorker, job: DmJob, report: SendReport | JobEnd) -> None:
        really(self, job, report)
        really(self, job, report)

    monkeypatch.setattr(DmWorker, "_end", _twice)
    figures = dm_conservation.run(Share([0], None, databases), operations=4_000)

    assert "missing within operation" in " ".join(figures.faults)


@pytest.mark.parametrize("dialect", BACKENDS)
def test_the_breaker_follows_its_rule(databases: Databases, dialect: Dialect) -> None:
    figures = breaker.run(Share(range(2), dialect, databases))

    assert not unmet(figures, breaker.judge(figures)), figures.faults


@pytest.mark.parametrize("failures", [FAILURES - 1, FAILURES + 1])
def test_a_breaker_that_trips_one_off_is_found(
    databases: Databases, monkeypatch: pytest.MonkeyPatch, failures: int
) -> None:
    options = circuit_breaker.BreakerOptions(failures=failures)
    monkeypatch.setattr(CircuitBreaker, "__init__", _with(options))

    assert broken(databases).faults


def _with(options: circuit_breaker.BreakerOptions) -> object:
    really = CircuitBreaker.__init__

    def _made(self: CircuitBreaker, _options: object = None) -> None:
        really(self, options)

    return _made


def test_a_breaker_that_is_off_is_found(databases: Databases, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CircuitBreaker, "failed", lambda self, *, now: False)

    assert broken(databases).unexpected > 0


def test_the_oracle_counts_only_outages_in_a_row_within_a_minute() -> None:
    def _row(count: int, apart: float, error: ErrorClass | None = ErrorClass.OUTAGE) -> list[Answered]:
        return [Answered(START + turn * apart * SECOND, error) for turn in range(count)]

    fifty = _row(50, 0.2)
    broken_row = [*fifty[:20], Answered(fifty[20].at, None), *fifty[21:]]

    assert openings(fifty[:49]) == []
    assert openings(fifty) == [START + 49 * 0.2 * SECOND]
    assert openings(broken_row) == []
    assert openings(_row(50, 60 / 49)) == [START + 60 * SECOND]
    assert openings(_row(50, 1.3)) == []
    assert openings(_row(60, 0.2, ErrorClass.RECIPIENT_UNREACHABLE)) == []
    # While it is open none counts; the next row of fifty begins after it.
    again = [Answered(one.at + OPEN_FOR + 10 * SECOND, one.error) for one in fifty]
    assert openings([*fifty, *_row(60, 0.2)[50:], *again]) == [fifty[-1].at, again[-1].at]
