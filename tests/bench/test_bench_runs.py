"""That every figure can be measured at all; how fast anything is, the tests do not ask."""

import math

import pytest

from tests.bench.__main__ import FIGURES, QUICK, main
from tests.bench.measure import HEADINGS, MILLISECONDS, Goal, Line, Sample, interleaved, table
from tests.throwaway import Databases


@pytest.mark.postgres
@pytest.mark.parametrize("name", FIGURES)
async def test_figure_yields_numbers(name: str, databases: Databases) -> None:
    lines = await FIGURES[name](databases, QUICK)

    assert lines
    for line in lines:
        for sample in (line.measured, line.reference, line.ratio):
            assert len(sample.values) >= 2
            assert all(math.isfinite(value) and value > 0 for value in sample.values)
    assert table([line.cells() for line in lines]).count("\n") == len(lines) + 1


@pytest.mark.postgres
def test_the_command_starts_its_databases_and_prints_a_table(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("tests.bench.__main__.FIGURES", {"P11": FIGURES["P11"]})

    main(["--quick"])

    heading, _, figure, *rest = capsys.readouterr().out.splitlines()
    assert heading.split() == list(HEADINGS)
    assert figure.startswith("P11 occurrences of 40 series over a year")
    assert rest[-1] == "Quick sizes: the figures mean nothing."


async def test_contenders_take_turns_and_the_first_round_does_not_count() -> None:
    order: list[str] = []

    async def _a() -> None:
        order.append("a")

    async def _b() -> None:
        order.append("b")

    taken = await interleaved({"a": _a, "b": _b}, rounds=3)

    assert "".join(order) == "abbaabba"
    assert {name: len(sample.values) for name, sample in taken.items()} == {"a": 3, "b": 3}


def test_ratio_is_taken_inside_a_round() -> None:
    ours, theirs = Sample((1.0, 2.0, 10.0)), Sample((2.0, 4.0, 5.0))

    ratio = ours.per(theirs)

    assert ratio.values == (0.5, 0.5, 2.0)
    assert (ratio.median, ratio.spread) == (0.5, (0.5, 1.25))


@pytest.mark.parametrize(
    ("goal", "verdict"),
    [
        (Goal(0.5, at_least=True), "met"),
        (Goal(0.51, at_least=True), "MISSED"),
        (Goal(0.010, at_least=False, unit=MILLISECONDS), "met"),
        (Goal(0.009, at_least=False, unit=MILLISECONDS), "MISSED"),
        (None, ""),
    ],
    ids=["exactly the ratio", "just short of it", "exactly the time", "just past it", "no goal"],
)
def test_goal_is_about_the_ratio_or_with_a_unit_about_what_was_measured(goal: Goal | None, verdict: str) -> None:
    line = Line("P0", Sample((0.010,)), Sample((0.005,)), "bare", Sample((0.5,)), goal)

    assert line.verdict == verdict
