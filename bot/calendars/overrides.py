"""Of the overrides of one entry those that hold: the last word on each occurrence, however it is spelled."""

from collections.abc import Hashable, Iterable

from bot.calendars.entry import Entry
from bot.calendars.lines import EntryRefusedError
from bot.calendars.moments import Moment, slot_of
from bot.times.recurrence import SeriesRule


def newest(overrides: Iterable[Entry], rule: SeriesRule | None) -> list[Entry]:
    """
    Return of the overrides of one occurrence the one that was changed last, in the order of the file.

    A cancellation is an override as any other. The highest SEQUENCE holds, of equal ones the last in the file. One of
    which the occurrence cannot be read stands for itself, to be refused with its reason.
    """
    found: dict[Hashable, Entry] = {}
    for entry in sorted(overrides, key=lambda one: (one.sequence, one.number)):
        found[_occurrence(entry, rule)] = entry
    return sorted(found.values(), key=lambda one: one.number)


def _occurrence(entry: Entry, rule: SeriesRule | None) -> Hashable:
    try:
        named = entry.named()
    except EntryRefusedError:
        return entry.number
    slot = slot_of(named, rule) if rule is not None else None
    if slot is not None:
        return slot.local_date
    return named.instant if isinstance(named, Moment) else named
