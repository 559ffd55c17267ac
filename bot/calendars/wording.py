"""What people read of a calendar file before anything of it is stored: on Discord, or at a terminal."""

import datetime as dt
import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from bot.calendars.entry import ImportedEvent, ImportedSeries
from bot.calendars.file import MOST_FAULTS, CalendarFile
from bot.calendars.rule import first_return
from bot.calendars.storing import Plan
from bot.message import timestamps
from bot.message.escaping import escape
from bot.message.limits import CONTENT, length
from bot.times.rule_words import rule_in_words, span_in_words

_MORE: Final = "…"


@dataclass(frozen=True, slots=True)
class _Place:
    """How a text that somebody typed, a name and a moment are shown where the lines are read, and how many of each."""

    most: int
    typed: Callable[[str], str]
    named: Callable[[str], str]
    when: Callable[[dt.datetime], str]


_DISCORD: Final = _Place(8, escape, lambda name: f"**{escape(name)}**", timestamps.full)
_TERMINAL: Final = _Place(MOST_FAULTS, str, str, lambda moment: f"{moment:%Y-%m-%d %H:%M} UTC")


def preview(found: CalendarFile, plan: Plan, *, now: dt.datetime) -> list[str]:
    """Return what an import would store, and what not and why, in lines that are ready for Discord."""
    return list(_lines(found, plan, now, _DISCORD))


def plain_preview(found: CalendarFile, plan: Plan, *, now: dt.datetime) -> list[str]:
    """Return the same for a terminal."""
    return list(_lines(found, plan, now, _TERMINAL))


def fitting(lines: Sequence[str]) -> str:
    """Return as many whole lines as one message holds."""
    text = ""
    for line in lines:
        if length(text) + length(line) + length(_MORE) + 2 > CONTENT:
            return f"{text}\n{_MORE}"
        text = f"{text}\n{line}" if text else line
    return text


def refused_lines(found: CalendarFile, plan: Plan) -> list[str]:
    """Return a sentence for each entry that has no place here, 20 of a file at most."""
    taken = [
        f"Entry {one.number} ({one.spec.name}): a series of this name is here, or stands earlier in the file; rename"
        " one of them."
        for one in plan.taken
    ]
    return [*found.refused, *taken]


def _lines(found: CalendarFile, plan: Plan, now: dt.datetime, place: _Place) -> Iterator[str]:
    if plan.is_empty:
        yield "Nothing of this file would be stored."
    else:
        yield f"Import {len(plan.series)} series and {_counted(len(plan.events), 'single event', 'single events')}?"
    if plan.known:
        yield f"Here already, and left as {'it is' if plan.known == 1 else 'they are'}: {plan.known}."
    if found.past:
        yield f"Over by now, and left out: {found.past}."
    yield from (place.typed(note) for note in found.notes)
    refusals = found.refusals + len(plan.taken)
    if refusals:
        yield f"Refused: {_counted(refusals, 'entry', 'entries')}."
    yield from _first((place.typed(line) for line in refused_lines(found, plan)), refusals, place.most)
    yield from _first((_series_line(one, now, place) for one in plan.series), len(plan.series), place.most)
    yield from _first((_event_line(one, place) for one in plan.events), len(plan.events), place.most)


def _series_line(one: ImportedSeries, now: dt.datetime, place: _Place) -> str:
    ahead = first_return(one.spec.rule, after=now)
    said = [f"{place.named(one.spec.name)}, {rule_in_words(one.spec.rule)}, {span_in_words(one.spec.rule)}"]
    said += [f"next {place.when(ahead.starts_at)}"] if ahead is not None else []
    said += [f"{count} {what}" for count, what in _besides(one) if count]
    return f"- {', '.join(said)}."


def _besides(one: ImportedSeries) -> Iterator[tuple[int, str]]:
    yield len(one.left_out), "left out"
    yield len(one.changed), "moved or changed"
    yield len(one.extras), "extra"


def _event_line(one: ImportedEvent, place: _Place) -> str:
    return f"- {place.named(one.spec.name)}, {place.when(one.spec.scheduled_at)}."


def _first(lines: Iterator[str], total: int, most: int) -> Iterator[str]:
    shown = list(itertools.islice(lines, most))
    yield from shown
    if total > len(shown):
        yield f"+{total - len(shown)} more"


def _counted(count: int, one: str, many: str) -> str:
    return f"{count} {one if count == 1 else many}"
