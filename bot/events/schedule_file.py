"""
Read a schedule file: a JSON document of many series, taken whole or refused whole.

    {"source": "where it comes from, optional", "series": [{"name": "Raid night", "frequency": "weekly", ...}, ...]}

An entry has the fields of :class:`bot.events.series_spec.SeriesSpec`. Nothing here reads a disk or writes a row.
"""

import codecs
import itertools
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final, NoReturn

from pydantic import ValidationError

from bot.errors import BotError
from bot.events.series_spec import SeriesSpec, each_fault
from bot.message.folding import folded
from bot.message.quoting import MOST_SHOWN, did_you_mean, quoted

MAX_BYTES: Final = 1_000_000
MAX_SERIES: Final = 1_000
MOST_FAULTS: Final = 20
"""How many faults are told one by one; the rest are counted."""

_KEYS = ("source", "series")
# A Discord id has 19 digits at most; the time to read a number grows with the square of its digits.
_MAX_DIGITS = 40


class ScheduleFileError(BotError):
    """
    The schedule file is refused; nothing of it was taken.

    ``faults`` holds the first 20 sentences, by entry; ``omitted`` counts the faults beyond them.
    """

    def __init__(self, *faults: str, omitted: int = 0) -> None:
        super().__init__("\n".join([*faults, *([f"and {omitted:,} more"] if omitted else [])]))
        self.faults = faults
        self.omitted = omitted


@dataclass(slots=True)
class _Tally:
    """
    Faults in the order found, of which the first 20 are listed.

    A file may hold a fault every ten bytes, and a search for the name that was meant takes up to milliseconds.
    """

    listed: list[str] = field(default_factory=list)
    total: int = 0

    def add(self, sentences: Iterable[str], *, count: int = 1) -> None:
        """Count faults; ``sentences`` is worked out only as far as they are still listed."""
        self.listed.extend(itertools.islice(sentences, MOST_FAULTS - len(self.listed)))
        self.total += count

    def refuse_any(self) -> None:
        """
        Do nothing when no fault was counted.

        Raises:
            ScheduleFileError: some were.
        """
        if self.total:
            raise ScheduleFileError(*self.listed, omitted=self.total - len(self.listed))


def read_schedule(raw: bytes) -> tuple[SeriesSpec, ...]:
    """
    Return every series of a schedule file, in its order.

    ``raw`` is UTF-8, with or without a byte-order mark, at most 1,000,000 bytes and 1,000 entries; whatever else it
    holds, it gives series or a ScheduleFileError. No two names may be the same to a reader: letter case, character
    width and space around them do not count.

    Raises:
        ScheduleFileError: with the faults of all entries.
    """
    entries = _entries(_document(_text(raw)))
    tally = _Tally()
    series: list[SeriesSpec] = []
    first_numbers: dict[str, int] = {}
    for number, entry in enumerate(entries, start=1):
        name = _name_of(entry)
        first = number if name is None else first_numbers.setdefault(folded(name), number)
        if first != number:
            tally.add([f"Entries {first} and {number} have the same name{_title(name)}; each series needs its own."])
        try:
            series.append(SeriesSpec.model_validate(entry))
        except ValidationError as error:
            tally.add(_by_entry(number, name, each_fault(error)), count=error.error_count())
    tally.refuse_any()
    return tuple(series)


def _text(raw: bytes) -> str:
    if len(raw) > MAX_BYTES:
        raise ScheduleFileError(f"The file has {len(raw):,} bytes; at most {MAX_BYTES:,} (1 MB) are read.")
    mark = codecs.BOM_UTF8 if raw.startswith(codecs.BOM_UTF8) else b""
    try:
        text = raw.removeprefix(mark).decode()
    except UnicodeDecodeError as error:
        raise ScheduleFileError(
            f"The file is not UTF-8 text: byte {len(mark) + error.start} (counted from 0) cannot be read."
        ) from None
    if not text.strip():
        raise ScheduleFileError("The file is empty.")
    return text


def _document(text: str) -> object:
    try:
        document: object = json.loads(
            text, object_pairs_hook=_members, parse_constant=_refuse_constant, parse_int=_whole_number
        )
    except json.JSONDecodeError as error:
        reason = error.msg[:1].lower() + error.msg[1:].removesuffix(" at")
        raise ScheduleFileError(f"The file is not JSON: line {error.lineno}, column {error.colno}: {reason}.") from None
    except RecursionError:
        raise ScheduleFileError("The file is nested too deeply; a schedule is a list of plain objects.") from None
    return document


def _members(pairs: list[tuple[str, object]]) -> dict[str, object]:
    members: dict[str, object] = {}
    for key, value in pairs:
        if key in members:
            raise ScheduleFileError(f"The key {quoted(key)} stands twice in one object; only one value can hold.")
        members[key] = value
    return members


def _refuse_constant(word: str) -> NoReturn:
    raise ScheduleFileError(f"The file has the value {word}, which is not JSON.")


def _whole_number(digits: str) -> int:
    if len(digits) > _MAX_DIGITS:
        raise ScheduleFileError(f"The file has a number of {len(digits):,} digits, which no field takes.")
    return int(digits)


def _entries(document: object) -> list[object]:
    """Return the entries, unchecked, of a document that is otherwise as it must be."""
    if not isinstance(document, dict):
        raise ScheduleFileError(f'The file must be an object such as {{"series": [...]}}, not {quoted(document)}.')
    tally = _Tally()
    unknown = [key for key in document if key not in _KEYS]
    tally.add(
        (f"{quoted(key)} is not a key of a schedule file{did_you_mean(key, _KEYS)}" for key in unknown),
        count=len(unknown),
    )
    source, entries = document.get("source"), document.get("series")
    if not isinstance(source, str | None):
        tally.add([f"source {quoted(source)} is not allowed; it must be text."])
    if not isinstance(entries, list):
        found = quoted(entries) + " is not allowed" if "series" in document else "is missing"
        tally.add([f"series {found}; it must be a list of objects, one for each series."])
    elif not 1 <= len(entries) <= MAX_SERIES:
        tally.add([f"series has {len(entries):,} entries; it must have 1 to {MAX_SERIES:,}."])
    tally.refuse_any()
    return list(entries or ())


def _name_of(entry: object) -> str | None:
    """Return the name that an entry, right or wrong, gives itself; None when it gives none."""
    name = entry.get("name") if isinstance(entry, dict) else None
    return name if isinstance(name, str) else None


def _title(name: str | None) -> str:
    """Return `` ("Raid night")`` in printable characters, at most 60 of the name; nothing for an entry without one."""
    if name is None:
        return ""
    shown = "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in name.strip()[:MOST_SHOWN])
    return f' ("{shown}")'


def _by_entry(number: int, name: str | None, faults: Iterable[str]) -> Iterator[str]:
    return (f"Entry {number}{_title(name)}: {fault}" for fault in faults)
