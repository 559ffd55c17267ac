"""The table of figures in docs/promises.md: what ran is renewed, the other rows stay as they were."""

from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

from bot.transactions import Dialect
from tests.chaos.proof import COUNTS, Figures, Finding, Proof, unmet

PROMISES = Path(__file__).resolve().parents[2] / "docs" / "promises.md"
BEGIN, END = "<!-- figures: written by make chaos -->", "<!-- end of figures -->"
_HEAD = ("row", "tried", "database", *COUNTS, "found", "verdict", "seeds", "on")
# A row, what was tried and the database tell one line from every other.
_KEY = 3

_VERDICT = -3
_PART = "holds in part"

Row = tuple[str, ...]
Key = tuple[str, ...]


def row_of(proof: Proof, database: str, figures: Figures, findings: list[Finding], *, seeds: range, on: str) -> Row:
    """Return the cells of one proof on one database; ``on`` is the day. Fewer seeds than the proof's are a part."""
    told = "; ".join(one.words for one in findings)
    is_part = len(seeds) < proof.seeds
    verdict = "BROKEN" if unmet(figures, findings) else _PART if is_part else "holds"
    counts = [f"{getattr(figures, name):,}" for name in COUNTS]
    which = f"{seeds.start}-{seeds.stop - 1}" + (f" of {proof.seeds}" if is_part else "")
    return proof.row, proof.promise, database, *counts, told, verdict, which, on


def renewed(text: str, rows: Iterable[Row], *, known: Collection[Key] | None = None) -> str:
    """
    Return the page with these rows in its table.

    Those that were not tried again are kept, as far as such a proof (row, what, database) is ``known``, None: all are.
    One that holds in part takes no whole one's place.

    Raises:
        ValueError: the page has no place for the table.
    """
    before, begin, rest = text.partition(BEGIN)
    table, end, after = rest.partition(END)
    if not begin or not end:
        message = f"the page has no {BEGIN} ... {END}"
        raise ValueError(message)
    kept = {cells[:_KEY]: cells for cells in _read(table) if known is None or cells[:_KEY] in known}
    for cells in rows:
        if cells[_VERDICT] != _PART or kept.get(cells[:_KEY], cells)[_VERDICT] == _PART:
            kept[cells[:_KEY]] = cells
    ordered = sorted(kept.values(), key=lambda cells: (int(cells[0].removeprefix("R")), cells[1:_KEY]))
    lines = [_line(_HEAD), _line(["---"] * len(_HEAD)), *(_line(cells) for cells in ordered)]
    return "\n".join((before + BEGIN + "\n", *lines, "\n" + END + after))


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _read(table: str) -> list[Row]:
    rows = [tuple(cell.strip() for cell in line.strip("|").split("|")) for line in table.splitlines() if line]
    return [cells for cells in rows if cells[0].startswith("R") and len(cells) == len(_HEAD)]


def keys_of(proofs: Iterable[Proof]) -> set[Key]:
    """Return what tells the lines of these proofs apart."""
    return {(one.row, one.promise, name_of(dialect)) for one in proofs for dialect in one.dialects}


def name_of(dialect: Dialect | None) -> str:
    """Return what the table calls a database."""
    return dialect.value if dialect is not None else "none"


def renew(row: Row, *, known: Collection[Key] | None = None) -> None:
    """Put a row into the page, as soon as it is there: the next proof may take an hour, and break."""
    PROMISES.write_text(renewed(PROMISES.read_text(), [row], known=known))
