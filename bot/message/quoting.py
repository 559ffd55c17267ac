"""How a sentence quotes what was found where something else was wanted, and suggests what is near."""

import datetime as dt
import difflib
from collections.abc import Iterable
from typing import Final

MOST_SHOWN: Final = 60
"""How many characters of a faulty value a sentence quotes."""


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return ``; did you mean X?`` for the nearest of ``known``, or a full stop when none is near."""
    near = difflib.get_close_matches(word[:MOST_SHOWN], list(known), n=1)
    return f"; did you mean {near[0]}?" if near else "."


def quoted(value: object) -> str:
    """Return a value as a fault quotes it: printable, cut to 60 characters, a list or object by its kind alone."""
    match value:
        case None:
            text = "null"
        case bool():
            text = str(value).lower()
        case str():
            text = repr(value[: MOST_SHOWN + 1])
        case int() | float() | dt.date() | dt.time():
            text = _number_or_time(value)
        case list():
            text = f"(a list of {len(value)})"
        case dict():
            text = "(an object)"
        case _:
            text = f"(a {type(value).__name__})"
    return text if len(text) <= MOST_SHOWN else f"{text[: MOST_SHOWN - 1]}…"


def _number_or_time(value: float | dt.date | dt.time) -> str:
    try:
        return str(value)
    except ValueError:
        # Python writes no whole number of more than 4,300 digits.
        return "(a number of thousands of digits)"
