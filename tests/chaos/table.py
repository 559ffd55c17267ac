"""The table of figures in docs/promises.md: what ran is renewed, the other rows stay as they were."""

from collections.abc import Mapping
from pathlib import Path

from tests.chaos.proof import COUNTS, Figures, Finding

PROMISES = Path(__file__).resolve().parents[2] / "docs" / "promises.md"
BEGIN, END = "<!-- figures: written by make chaos -->", "<!-- end of figures -->"
_HEAD = ("row", "database", *COUNTS, "also measured", "verdict", "seeds", "on")

Row = tuple[str, ...]


def row_of(row: str, database: str, figures: Figures, findings: list[Finding], *, seeds: str, on: str) -> Row:
    """Return one row's cells."""
    told = "; ".join(one.words for one in findings)
    verdict = "holds" if all(one.is_met for one in findings) and not figures.faults else "BROKEN"
    return row, database, *(str(getattr(figures, name)) for name in COUNTS), told, verdict, seeds, on


def renewed(text: str, rows: Mapping[tuple[str, str], Row]) -> str:
    """
    Return the page with these rows in its table, by promise and database; the others are kept.

    Raises:
        ValueError: the page has no place for the table.
    """
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        message = f"the page has no {BEGIN} ... {END}"
        raise ValueError(message)
    kept = _read(rest.partition(END)[0]) | dict(rows)
    ordered = [kept[key] for key in sorted(kept, key=lambda one: (int(one[0].removeprefix("R")), one[1]))]
    lines = [_line(_HEAD), _line(["---"] * len(_HEAD)), *(_line(cells) for cells in ordered)]
    return before + BEGIN + "\n\n" + "\n".join(lines) + "\n\n" + END + after


def _line(cells: list[str] | Row) -> str:
    return "| " + " | ".join(cells) + " |"


def _read(table: str) -> dict[tuple[str, str], Row]:
    rows = [tuple(cell.strip() for cell in line.strip("|").split("|")) for line in table.splitlines() if line]
    return {(cells[0], cells[1]): cells for cells in rows if cells[0].startswith("R") and len(cells) == len(_HEAD)}
