"""R15 in half a minute, and that it fails where the bot leaks, or is not there again after a drop."""

from dataclasses import replace

import pytest

from bot.transactions import Dialect
from tests.chaos.proof import Figures, Share, unmet
from tests.chaos.running import soak
from tests.throwaway import Databases

pytestmark = pytest.mark.timeout(300)


# A leak of one task a drop is 20; one that happens to be about at each look is none.
TASKS = 10.0


def test_twenty_drops_and_steady_work_lose_nothing_and_leave_no_task(databases: Databases) -> None:
    figures = soak.run(Share([0], Dialect.SQLITE, databases), soak.SHORT)

    # Memory, threads and descriptors settle in minutes, not in seconds: they are what `make soak` looks at.
    found = [*soak.worked(figures, soak.SHORT), soak.flat("tasks", figures.samples["tasks"], TASKS)]
    assert figures.faults == []
    assert [one.words for one in found if not one.is_met] == []


def test_a_bot_that_leaks_is_found(databases: Databases) -> None:
    plan = replace(soak.SHORT, seconds=12, drops=4, lost=0, silent=0, mechanism="leaks")

    figures = soak.run(Share([0], Dialect.SQLITE, databases), plan)

    growing = {one.words.split(" from")[0] for one in soak.judge(figures, plan) if not one.is_met}
    assert growing == set(soak.MARGINS)
    assert not soak.flat("tasks", figures.samples["tasks"], TASKS).is_met


def test_a_soak_that_was_too_short_or_had_no_drops_or_presses_does_not_hold() -> None:
    level = {name: [5.0] * 40 for name in soak.MARGINS}

    def broken(*, minutes: float = 480.0, presses: float = 900.0, drops: int = 100, mended: int = 100) -> list[str]:
        samples = level | {"minutes": [minutes], "presses answered": [presses]}
        figures = Figures(attempted=drops, recovered=mended, acknowledged=640, samples=samples)
        return unmet(figures, soak.judge(figures))

    assert broken() == []
    assert broken(minutes=0.1) == ["0.1 min (at least 480)"]
    assert broken(drops=0, mended=0) == ["0 drops (at least 100)"]
    assert broken(mended=99) == ["99 of 100 drops mended"]
    assert broken(presses=0.0) == ["0 presses answered"]


def test_what_is_flat_and_what_grows_is_told_apart() -> None:
    level = [5.0, 9.0] * 20
    growing = [5.0 + turn / 4 for turn in range(40)]

    assert soak.flat("tasks", level, 3).is_met
    assert not soak.flat("tasks", growing, 3).is_met
    assert not soak.flat("tasks", [], 3).is_met
