"""A table as a file that a spreadsheet opens: no cell is taken for a formula, whatever somebody typed."""

import csv
import io
from collections.abc import Iterable, Sequence
from typing import Final

# What a spreadsheet takes for the beginning of a formula, also after what it passes over.
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r", "\n", "\0", "\uff1d", "\uff0b", "\uff0d", "\uff20")


def csv_file(header: Sequence[str], rows: Iterable[Sequence[object]]) -> bytes:
    """Return a table in CSV, in UTF-8 with the mark by which spreadsheets know it; None is an empty cell."""
    written = io.StringIO()
    table = csv.writer(written, lineterminator="\r\n")
    table.writerow(header)
    table.writerows([_cell(one) for one in row] for row in rows)
    return written.getvalue().encode("utf-8-sig", "replace")


def _cell(value: object) -> object:
    """Return a text that could be a formula behind an apostrophe, which spreadsheets do not show; a number as it is."""
    if not isinstance(value, str):
        return value
    return f"'{value}" if value.lstrip(" ").startswith(_FORMULA) else value
