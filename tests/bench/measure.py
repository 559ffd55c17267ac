"""Interleaved rounds and what a table says of them: median, spread, ratio and verdict."""

import gc
import statistics
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

Run = Callable[[], Awaitable[object]]

MICROSECONDS = ("us", 1e6)
MILLISECONDS = ("ms", 1e3)
SECONDS = ("s", 1.0)


@dataclass(frozen=True, slots=True)
class Sample:
    """One value a round."""

    values: tuple[float, ...]

    @property
    def median(self) -> float:
        """The value that half of the rounds stay below."""
        return statistics.median(self.values)

    @property
    def spread(self) -> tuple[float, float]:
        """The bounds of the middle half of the rounds."""
        if len(self.values) < 2:
            return self.median, self.median
        low, _, high = statistics.quantiles(self.values, n=4, method="inclusive")
        return low, high

    def per(self, other: "Sample") -> "Sample":
        """Return this divided by the other, each ratio inside one round."""
        return Sample(tuple(mine / theirs for mine, theirs in zip(self.values, other.values, strict=True)))

    def shared_among(self, count: int) -> "Sample":
        """Return what each of ``count`` pieces of work took of it."""
        return Sample(tuple(value / count for value in self.values))

    def shown(self, unit: tuple[str, float] = ("", 1.0)) -> str:
        """Return the median and, in brackets, the spread."""
        name, factor = unit
        low, high = self.spread
        digits = 2 if max(self.median, high) * factor < 100 else 0
        figures = [f"{value * factor:,.{digits}f}" for value in (self.median, low, high)]
        return f"{figures[0]} {name} [{figures[1]} to {figures[2]}]".replace("  ", " ")


@dataclass(frozen=True, slots=True)
class Goal:
    """A bound that a median keeps or misses."""

    bound: float
    at_least: bool
    unit: tuple[str, float] = ("", 1.0)

    def met_by(self, sample: Sample) -> bool:
        """Return whether the median of the rounds keeps the bound."""
        return sample.median >= self.bound if self.at_least else sample.median <= self.bound

    def __str__(self) -> str:
        name, factor = self.unit
        return f"{'>=' if self.at_least else '<='} {self.bound * factor:g} {name}".rstrip()


@dataclass(frozen=True, slots=True)
class Line:
    """
    One line of the table.

    ``ratio`` is how it compares with the reference, as ``ratio_says``; the goal is about the ratio, or about what was
    measured where ``goal`` has a unit. ``goal`` None: shown for comparison only.
    """

    figure: str
    measured: Sample
    reference: Sample
    reference_name: str
    ratio: Sample
    goal: Goal | None = None
    unit: tuple[str, float] = MILLISECONDS
    reference_unit: tuple[str, float] | None = None

    @property
    def verdict(self) -> str:
        """``met`` or ``MISSED``, or nothing where no goal stands."""
        if self.goal is None:
            return ""
        judged = self.measured if self.goal.unit[0] else self.ratio
        return "met" if self.goal.met_by(judged) else "MISSED"

    def cells(self) -> tuple[str, ...]:
        """Return the line as the table shows it."""
        return (
            self.figure,
            str(self.goal or ""),
            self.measured.shown(self.unit),
            f"{self.reference_name}: {self.reference.shown(self.reference_unit or self.unit)}",
            self.ratio.shown(),
            self.verdict,
        )


async def interleaved(contenders: Mapping[str, Run], *, rounds: int) -> dict[str, Sample]:
    """
    Time each contender once a round, in an order that turns with the rounds; return seconds, round by round.

    A round before them warms up and does not count.
    """
    names = list(contenders)
    taken: dict[str, list[float]] = {name: [] for name in names}
    for count in range(rounds + 1):
        start = count % len(names)
        for name in names[start:] + names[:start]:
            gc.collect()
            begin = time.perf_counter()
            await contenders[name]()
            elapsed = time.perf_counter() - begin
            if count:
                taken[name].append(elapsed)
    return {name: Sample(tuple(values)) for name, values in taken.items()}


HEADINGS = ("figure", "goal", "measured", "reference", "ratio", "verdict")


def table(rows: Sequence[Sequence[str]]) -> str:
    """Return rows under the headings, each column as wide as its widest cell."""
    everything = [HEADINGS, *rows]
    widths = [max(len(row[place]) for row in everything) for place in range(len(HEADINGS))]

    def _line(cells: Sequence[str]) -> str:
        return "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip()

    return "\n".join([_line(HEADINGS), "  ".join("-" * width for width in widths), *map(_line, rows)])
