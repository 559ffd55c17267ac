"""The table of figures in docs/promises.md: what ran is renewed, the other rows stay as they were."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from tests.chaos.proof import COUNTS, Figures, Finding, Proof

PROMISES = Path(__file__).resolve().parents[2] / "docs" / "promises.md"
BEGIN, END = "<!-- figures: written by make chaos -->", "<!-- end of figures -->"
_HEAD = ("row", "tried", "database", *COUNTS, "found", "verdict", "seeds", "on")
# A row, what was tried and the database tell one line from every other.
_KEY = 3

Row = tuple[str, ...]


def row_of(proof: Proof, database: str, figures: Figures, findings: list[Finding], *, seeds: range, on: str) -> Row:
    """Return the cells of one proof on one database; ``on`` is the day."""
    told = "; ".join(one.words for one in findings)
    verdict = "holds" if all(one.is_met for one in findings) and not figures.faults else "BROKEN"
    counts = [f"{getattr(figures, name):,}" for name in COUNTS]
    return proof.row, proof.promise, database, *counts, told, verdict, f"{seeds.start}-{seeds.stop - 1}", on


def renewed(text: str, rows: Iterable[Row]) -> str:
    """
    Return the page with these rows in its table; those that were not tried again are kept.

    Raises:
        ValueError: the page has no place for the table.
    """
    before, begin, rest = text.partition(BEGIN)
    table, end, after = rest.partition(END)
    if not begin or not end:
        message = f"the page has no {BEGIN} ... {END}"
        raise ValueError(message)
    kept = {cells[:_KEY]: cells for cells in (*_read(table), *rows)}
    ordered = sorted(kept.values(), key=lambda cells: (int(cells[0].removeprefix("R")), cells[1:_KEY]))
    lines = [_line(_HEAD), _line(["---"] * len(_HEAD)), *(_line(cells) for cells in ordered)]
    return "\n".join((before + BEGIN + "\n", *lines, "\n" + END + after))


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _read(table: str) -> list[Row]:
    rows = [tuple(cell.strip() for cell in line.strip("|").split("|")) for line in table.splitlines() if line]
    return [cells for cells in rows if cells[0].startswith("R") and len(cells) == len(_HEAD)]
