"""R16 in small, and that it fails where what it rests on is taken out."""

import pytest

from bot.transactions import Dialect
from tests.chaos.proof import Figures, Share, unmet
from tests.chaos.running import stops
from tests.chaos.running.broken_bot import command
from tests.chaos.running.stop_moments import Moment
from tests.chaos.running.stop_world import half
from tests.chaos.running.stops import DEFAULT_GRACE, STOP_SECONDS, Terms
from tests.throwaway import Databases

pytestmark = pytest.mark.timeout(300)

# How fast it ends beside everything else that a machine has to do is no matter here: see the module.
BUSY = Terms(beyond=60.0)
# Where it waits for an answer, this is what it waits for: longer than a process needs that does not, shorter than the
# grace.
PATIENT = Terms(beyond=60.0, grace=DEFAULT_GRACE, held=3.0)


def stopped(databases: Databases, moment: Moment, terms: Terms, dialect: Dialect = Dialect.SQLITE) -> Figures:
    seed = list(Moment).index(moment)
    return stops.run(Share([seed], dialect, databases), terms)


@pytest.mark.parametrize(
    ("moment", "dialect"),
    [
        (Moment.MIGRATION, Dialect.SQLITE),
        (Moment.MIGRATION_WAITS, Dialect.SQLITE),
        (Moment.POST_NEVER, Dialect.SQLITE),
        (Moment.TWICE, Dialect.SQLITE),
        pytest.param(Moment.FAN_OUT, Dialect.POSTGRES, marks=pytest.mark.postgres),
        pytest.param(Moment.DATABASE, Dialect.POSTGRES, marks=pytest.mark.postgres),
        pytest.param(Moment.RECONNECTING, Dialect.POSTGRES, marks=pytest.mark.postgres),
    ],
)
def test_told_to_stop_it_ends_and_the_next_process_finishes(
    databases: Databases, moment: Moment, dialect: Dialect
) -> None:
    figures = stopped(databases, moment, BUSY, dialect)

    assert unmet(figures, stops.judge(figures, BUSY)) == []


def test_with_the_grace_as_it_is_set_it_waits_for_an_answer_and_ends_in_ten_seconds(databases: Databases) -> None:
    terms = Terms(grace=DEFAULT_GRACE, held=1.0)

    figures = stopped(databases, Moment.POST_HELD, terms)

    assert figures.faults == []
    assert figures.unknown == 0
    assert 1.0 <= max(figures.samples["took"]) <= STOP_SECONDS


@pytest.mark.parametrize(
    ("mechanism", "moment", "fault"),
    [
        ("deaf", Moment.READY, "status -"),
        ("does-not-leave", Moment.FAN_OUT, "ended in order, and its row is there"),
        ("no-grace", Moment.POST_HELD, "rows open that have an answer"),
    ],
)
def test_a_copy_that_cannot_stop_is_found(
    databases: Databases, monkeypatch: pytest.MonkeyPatch, mechanism: str, moment: Moment, fault: str
) -> None:
    monkeypatch.setattr(stops, "arguments", command(mechanism))

    figures = stopped(databases, moment, PATIENT)

    assert any(fault in one for one in figures.faults), figures.faults


@pytest.mark.postgres
def test_a_stop_that_waits_for_a_hanging_database_is_found(
    databases: Databases, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stops, "arguments", command("no-watchdog"))

    # On SQLite nobody waits for a lock for longer than a stop may take. Here it would go on for ever.
    figures = stopped(databases, Moment.DATABASE, Terms(beyond=10.0, grace=1), Dialect.POSTGRES)

    assert any("not ended" in one for one in figures.faults), figures.faults


def test_a_stop_that_takes_longer_than_its_grace_and_three_seconds_is_found() -> None:
    figures = Figures(runs=1, acknowledged=1, samples={"took": [9.0], "beyond grace": [8.0]})

    assert unmet(figures, stops.judge(figures)) == ["the longest beyond its grace 8 s (at most 3)"]


def test_a_migration_that_was_done_in_part_is_found() -> None:
    every = {"event", "instance"}

    assert not half(set(), every, is_recorded=False)
    assert not half(every, every, is_recorded=True)
    assert "instance" in half({"event"}, every, is_recorded=True)
    assert "event" in half({"event"}, every, is_recorded=False)
    assert half(every, every, is_recorded=False)
