"""Files as Google, Exchange, Outlook, Apple, Nextcloud and Meetup write them: what is taken of them, and what not."""

import datetime as dt
from collections.abc import Iterator

import pytest

from bot.calendars.entries import Details, EventEntry, SeriesEntry
from bot.calendars.entry import ImportedSeries
from bot.calendars.export import calendar_file
from bot.calendars.file import CalendarFile
from bot.times.recurrence import occurrences
from tests.calendars import FROM, TO, read
from tests.program_calendars import EXPECTED, NOW, event_lines, program_file, seen_by_another_library, series_lines


def written(found: CalendarFile) -> bytes:
    """Return what was read of a file as a file of ours, as a server's rows would give it."""
    singles = [
        EventEntry(one.uid, _details_of(one.spec), one.spec.scheduled_at, NOW, {}, one.series_uid)
        for one in found.events
    ]
    extras = [single for one in found.series for single in _extras(one)]
    series = [
        SeriesEntry(one.uid, one.details, one.spec.rule, NOW, {}, one.left_out, one.changed) for one in found.series
    ]
    return calendar_file("Hall", series, [*singles, *extras], until=dt.date(2030, 12, 31))


def kept(one: ImportedSeries) -> tuple[object, ...]:
    """Return what of a series is to be the same on its way back; a weekday may be named that was meant before."""
    return one.uid, one.details, occurrences(one.spec.rule, FROM, TO), one.left_out, one.changed


def _details_of(spec: object) -> Details:
    return Details(*(getattr(spec, name) for name in ("name", "description", "duration_minutes")))


def _extras(one: ImportedSeries) -> Iterator[EventEntry]:
    for number, extra in enumerate(one.extras):
        yield EventEntry(f"{one.uid}/{number}", extra.details, extra.starts_at, NOW, {}, one.uid)


@pytest.mark.parametrize("program", EXPECTED)
def test_every_entry_of_a_programs_file_is_taken_or_refused_exactly(program: str) -> None:
    found = read(program_file(program), now=NOW)

    expected = EXPECTED[program]
    assert series_lines(found) == expected.series
    assert event_lines(found) == expected.events
    assert (found.refused, found.refusals) == (expected.refused, len(expected.refused))
    assert (found.past, found.notes) == (expected.past, expected.notes)


@pytest.mark.parametrize("program", EXPECTED)
def test_another_library_reads_of_our_file_what_the_programs_file_says(program: str) -> None:
    raw = written(read(program_file(program), now=NOW))

    assert seen_by_another_library(raw) == EXPECTED[program].seen


@pytest.mark.parametrize("program", EXPECTED)
def test_our_own_file_of_it_is_read_without_a_loss(program: str) -> None:
    first = read(program_file(program), now=NOW)

    again = read(written(first), now=NOW)

    assert (again.refused, again.past, again.notes) == ([], 0, [])
    assert [kept(one) for one in again.series] == [kept(one) for one in first.series]
    assert seen_by_another_library(written(again)) == EXPECTED[program].seen
