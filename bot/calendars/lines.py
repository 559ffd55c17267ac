"""
Take a calendar file apart: its calendars, their events line by line, and what names a zone; nothing is understood yet.

Whatever the bytes are, they give calendars or one clear refusal, in time that grows with their number alone.
"""

import codecs
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from bot.errors import BotError

MAX_ENTRIES: Final = 2_000
"""How many events, moved and changed occurrences among them, are read of one file."""

_BEGIN: Final = "BEGIN:VCALENDAR"
_PROPERTY: Final = re.compile(
    r'([A-Za-z0-9-]+)((?:;[A-Za-z0-9-]+=(?:"[^"]*"|[^";:,]*)(?:,(?:"[^"]*"|[^";:,]*))*)*):(.*)', re.DOTALL
)
_PARAMETER: Final = re.compile(r';([A-Za-z0-9-]+)=("[^"]*"|[^;]*)')
_INSIDE: Final = 2
"""How many components are open where an event's own properties stand."""

# Their values have no colon of their own, while many a zone's name in front of them has one, and no quotes.
_MOMENTS: Final = frozenset({"DTSTART", "DTEND", "EXDATE", "RDATE", "RECURRENCE-ID"})
_WANTED: Final = frozenset({
    *_MOMENTS,
    *("UID", "SUMMARY", "DESCRIPTION", "LOCATION", "DURATION", "RRULE", "EXRULE", "STATUS", "SEQUENCE", "RELATED-TO"),
    *("TZID", "X-LIC-LOCATION", "X-WR-TIMEZONE", "X-TOCSIN-SETTINGS"),
})  # fmt: skip


class CalendarFileError(BotError):
    """The file is no calendar that can be read; nothing of it was taken."""


class EntryRefusedError(BotError):
    """One entry of a file has no place here; ``str()`` is what follows its number and name, without a full stop."""


@dataclass(frozen=True, slots=True)
class Property:
    """One property of a component, its value as it stands in the file."""

    name: str
    parameters: Mapping[str, str]
    value: str


@dataclass(slots=True)
class Component:
    """One component of a calendar, such as VEVENT; of a component within it nothing is kept."""

    kind: str
    properties: dict[str, list[Property]] = field(default_factory=dict)

    def first(self, name: str) -> Property | None:
        """Return the first property of a name, None if there is none."""
        return next(iter(self.properties.get(name, ())), None)

    def text(self, name: str) -> str:
        """Return the first property of a name as text, empty if there is none."""
        found = self.first(name)
        return _unescaped(found.value) if found is not None else ""


@dataclass(slots=True)
class CalendarText:
    """One calendar of a file; ``others`` counts what is no event, by kind."""

    head: Component
    events: list[Component] = field(default_factory=list)
    timezones: list[Component] = field(default_factory=list)
    others: Counter[str] = field(default_factory=Counter)


def looks_like_calendar(raw: bytes) -> bool:
    """Return whether a file begins as a calendar does, whatever its name says."""
    return raw.removeprefix(codecs.BOM_UTF8).lstrip()[: len(_BEGIN)].upper() == _BEGIN.encode()


def read_calendars(raw: bytes, *, most_bytes: int) -> list[CalendarText]:
    """
    Return the calendars of a file, in order.

    Raises:
        CalendarFileError: it has too many bytes or events, is no text or no calendar, or is cut off.
    """
    reader = _Reader()
    for number, line in _lines(_body(raw, most_bytes)):
        name, _, value = line.partition(":")
        match name.strip().upper():
            case "BEGIN":
                reader.begin(value.strip().upper(), number)
            case "END":
                reader.end(value.strip().upper(), number)
            case name:
                reader.keep(name.partition(";")[0], line, number)
    reader.finish()
    return reader.calendars


class _Reader:
    """Puts lines where they belong; a component within an event, such as its alarm, is passed over."""

    def __init__(self) -> None:
        self.calendars: list[CalendarText] = []
        self._open: list[Component] = []
        self._entries = 0

    def begin(self, kind: str, number: int) -> None:
        component = Component(kind)
        if not self._open and kind != "VCALENDAR":
            raise CalendarFileError(f"Line {number} begins {_shown(kind)} outside of a calendar.")
        if not self._open:
            self.calendars.append(CalendarText(component))
        elif len(self._open) == 1:
            self._add(component)
        self._open.append(component)

    def end(self, kind: str, number: int) -> None:
        if not self._open or self._open.pop().kind != kind:
            raise CalendarFileError(f"Line {number} ends {_shown(kind)}, which does not stand open there.")

    def keep(self, name: str, line: str, number: int) -> None:
        if not self._open:
            raise CalendarFileError(f"Line {number} stands outside of a calendar: {_shown(line)}.")
        if len(self._open) <= _INSIDE and name in _WANTED:
            found = _property(line, number)
            self._open[-1].properties.setdefault(found.name, []).append(found)

    def finish(self) -> None:
        if self._open:
            raise CalendarFileError(f"The file ends within {_shown(self._open[-1].kind)}: it was cut off.")

    def _add(self, component: Component) -> None:
        calendar = self.calendars[-1]
        match component.kind:
            case "VEVENT":
                calendar.events.append(component)
                self._entries += 1
            case "VTIMEZONE":
                calendar.timezones.append(component)
            case _:
                calendar.others[component.kind] += 1
        if self._entries > MAX_ENTRIES:
            raise CalendarFileError(
                f"The file has more than {MAX_ENTRIES:,} events; export fewer days or calendars at once."
            )


def _body(raw: bytes, most_bytes: int) -> bytes:
    if len(raw) > most_bytes:
        raise CalendarFileError(f"The file has more than {most_bytes:,} bytes, which are read at most.")
    if not raw.strip():
        raise CalendarFileError("The file is empty.")
    if not looks_like_calendar(raw):
        raise CalendarFileError(f"The file is no calendar (ICS): it does not begin with {_BEGIN}.")
    return raw.removeprefix(codecs.BOM_UTF8).replace(b"\r\n", b"\n").replace(b"\r", b"\n")


def _lines(body: bytes) -> Iterator[tuple[int, str]]:
    """
    Yield the unfolded lines that are not empty, each with the number of the line of the file in which it begins.

    Before the first of them nothing is folded: whatever stands in front of it is passed over. A line may be folded
    within a character, so that bytes are joined before they are read as text.
    """
    begins, parts = 0, list[bytes]()
    for number, line in enumerate(body.split(b"\n"), start=1):
        if begins and line.startswith((b" ", b"\t")):
            parts.append(line[1:])
            continue
        yield from _unless_empty(begins, b"".join(parts))
        if begins:
            begins, parts = number, [line]
        elif line.strip():
            begins, parts = number, [line.lstrip()]
    yield from _unless_empty(begins, b"".join(parts))


def _unless_empty(number: int, unfolded: bytes) -> Iterator[tuple[int, str]]:
    try:
        line = unfolded.decode()
    except UnicodeDecodeError:
        raise CalendarFileError(f"The file is not UTF-8 text: line {number} cannot be read.") from None
    if line.strip():
        yield number, line


def _property(line: str, number: int) -> Property:
    name = re.split("[;:]", line, maxsplit=1)[0].strip().upper()
    if name in _MOMENTS:
        head, _, value = line.rpartition(":")
        return Property(name, _parameters(head), value.strip())
    match = _PROPERTY.fullmatch(line)
    if match is None:
        raise CalendarFileError(f"Line {number} cannot be read: {_shown(line)}.")
    return Property(name, _parameters(match[2]), match[3])


def _parameters(text: str) -> dict[str, str]:
    return {found[1].upper(): found[2].strip('"') for found in _PARAMETER.finditer(text)}


def _unescaped(value: str) -> str:
    return re.sub(r"\\([\\;,nN])", lambda found: "\n" if found[1] in "nN" else found[1], value)


def _shown(text: str) -> str:
    """Return what stood in the file as a refusal quotes it: printable, and short."""
    return repr("".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text[:60]))
