"""
What a proof is made of: its units of work, the counts they come to, and what must be true of them.

A unit is what one seed stands for (a bot-day, a row of kills, a stop of the database): it depends on its seed and on
nothing else, so that one that fails is repeated alone. Source of the counts and rows: 08-quality.md.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields

from bot.transactions import Dialect
from tests.throwaway import Databases


@dataclass(slots=True)
class Figures:
    """
    The eight counts, how many runs they are of, and beside them measured samples by name, in seconds unless said.

    ``faults``: one line for each unit that broke a promise, with its seed.
    """

    runs: int = 0
    attempted: int = 0
    acknowledged: int = 0
    ok: int = 0
    lost: int = 0
    duplicated: int = 0
    unexpected: int = 0
    recovered: int = 0
    unknown: int = 0
    samples: dict[str, list[float]] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)

    def add(self, other: "Figures") -> None:
        """Add what another share of the same proof came to."""
        for name in COUNTS:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for name, values in other.samples.items():
            self.samples.setdefault(name, []).extend(values)
        self.faults.extend(other.faults)

    def sample(self, name: str, *values: float) -> None:
        """Keep measured values."""
        self.samples.setdefault(name, []).extend(values)


COUNTS: tuple[str, ...] = tuple(one.name for one in fields(Figures) if one.name not in {"samples", "faults"})


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that must be true of a proof's figures, in words with its value, and whether it is."""

    words: str
    is_met: bool


@dataclass(frozen=True, slots=True)
class Share:
    """
    A part of a proof's work: which seeds, on which database (None: the proof needs none), and where to get one.

    ``only``: of units with names those alone that have one of these words in it, between ``|``; all of them by default.
    """

    seeds: Sequence[int]
    dialect: Dialect | None
    databases: Databases
    only: str = ""


@dataclass(frozen=True, slots=True)
class Proof:
    """
    One promise and how it is tried; ``seeds`` is how many ``make chaos`` takes, on each of ``dialects``.

    ``run`` does one share in a process of its own, so it is a function of a module; ``judge`` reads what all came to.
    ``mostly_waits``: a unit waits for processes of its own more than it works, so that a core may have two of them.
    """

    row: str
    promise: str
    run: Callable[[Share], Figures]
    judge: Callable[[Figures], list[Finding]]
    seeds: int = 200
    dialects: tuple[Dialect | None, ...] = (Dialect.SQLITE, Dialect.POSTGRES)
    mostly_waits: bool = False


def unmet(figures: Figures, findings: Sequence[Finding]) -> list[str]:
    """Return all that speaks against a promise: the units that broke it, then the findings that are not met."""
    return [*figures.faults, *(one.words for one in findings if not one.is_met)]


def none_of(figures: Figures, *names: str) -> list[Finding]:
    """Return the findings that each of these counts is zero."""
    return [Finding(f"{getattr(figures, name)} {name}", getattr(figures, name) == 0) for name in names]


def at_most(words: str, value: float, limit: float, *, unit: str = "s") -> Finding:
    """Return the finding that a value keeps its limit."""
    return Finding(f"{words} {value:.4g} {unit} (at most {limit:g})".replace("  ", " "), value <= limit)


def percentile(values: Sequence[float], share: float) -> float:
    """Return the value below which ``share`` (0 to 1) of the values lie, 0 without any."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0
