"""
Calendar files as well-known programs write them, and what is to become of each: written by hand, every name invented.

The times of ``SEEN`` are worked out by hand from each file, in UTC, over six weeks in which the clocks of New York, Los
Angeles, London and Berlin go forward and those of Sydney go back.
"""

import datetime as dt
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import recurring_ical_events  # type: ignore[import-untyped]
from icalendar import Calendar

from bot.calendars.entry import ImportedSeries
from bot.calendars.file import CalendarFile

NOW = dt.datetime(2026, 3, 1, 12, tzinfo=dt.UTC)
UNTIL = dt.datetime(2026, 4, 15, tzinfo=dt.UTC)
"""From when to when the occurrences of ``SEEN`` are."""

BOARD = "Where the new board is read aloud , once a month.\n\nThe long table"
WHOLE_DAYS = "it lasts whole days (its DTSTART is a date); an event here begins at a time."
FIRST_WORKDAY = "FREQ=MONTHLY;INTERVAL=1;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=1"
UNKNOWN = "which is not known; a zone is named such as Europe/London."

_FOLDER = Path(__file__).parent / "unit" / "calendar_files"


@dataclass(frozen=True, slots=True)
class Expected:
    """What a file is to give: the series and single events taken, each entry refused, what else is said, when it is."""

    series: list[str]
    events: list[str]
    refused: list[str]
    seen: list[str]
    past: int = 0
    notes: list[str] = field(default_factory=list)


EXPECTED = {
    "google": Expected(
        series=[
            "2 Guild raid: weekly/1 TU 21:00 America/New_York 2026-02-24 to None, 150 min",
            "  without 2026-03-31",
            "  2026-03-24 -> 2026-03-26 00:30 Guild raid, on Wednesday (A day late.), 120 min",
            "5 Officers meet: monthly/1 -1FR 18:00 America/New_York 2026-01-30 to None, 60 min",
        ],
        events=["4 0mapnight9@google.com 2026-03-14 19:00 Map night, 150 min"],
        refused=[
            f"Entry 6 (Founders' day): {WHOLE_DAYS}",
            "Entry 7 (Guild bank opens): no series returns by its rule FREQ=MONTHLY;BYMONTHDAY=1,15.",
        ],
        seen=[
            "2026-03-04 02:00 Guild raid, 150 min",
            "2026-03-11 01:00 Guild raid, 150 min",
            "2026-03-14 19:00 Map night, 150 min",
            "2026-03-18 01:00 Guild raid, 150 min",
            "2026-03-26 00:30 Guild raid, on Wednesday, 120 min",
            "2026-03-27 22:00 Officers meet, 60 min",
            "2026-04-08 01:00 Guild raid, 150 min",
        ],
        past=1,
    ),
    "exchange": Expected(
        series=[
            "1 Würfelabend: weekly/1 TH 19:00 Europe/Berlin 2026-01-15 to 2026-04-23, 210 min",
            "  without 2026-04-02",
            "  2026-03-19 -> 2026-03-20 19:00 Würfelabend (), 210 min",
            "3 Kassensturz: monthly/1 None 18:00 Europe/Berlin 2026-01-31 to None, 30 min",
        ],
        events=[],
        refused=[
            f"Entry 4 (Erster Werktag): no series returns by its rule {FIRST_WORKDAY}.",
            f"Entry 5 (Fernrunde): its DTSTART is in the zone tzone://Microsoft/Custom, {UNKNOWN}",
        ],
        seen=[
            "2026-03-05 18:00 Würfelabend, 210 min",
            "2026-03-12 18:00 Würfelabend, 210 min",
            "2026-03-20 19:00 Würfelabend, 210 min",
            "2026-03-26 18:00 Würfelabend, 210 min",
            "2026-03-31 16:00 Kassensturz, 30 min",
            "2026-04-09 17:00 Würfelabend, 210 min",
        ],
        notes=["The zone W. Europe Standard Time is read as Europe/Berlin."],
    ),
    "outlook": Expected(
        series=[
            "1 Board evening: monthly/1 1TU 18:00 America/Los_Angeles 2026-03-03 to 2026-07-07, 120 min",
            f"  2026-04-07 -> 2026-04-08 02:30 Board evening ({BOARD}), 120 min",
            "3 Handover: weekly/1 MO,TU,WE,TH,FR 09:30 America/Los_Angeles 2026-03-12 to 2026-03-16, 30 min",
        ],
        events=[],
        refused=[f"Entry 4 (Away): {WHOLE_DAYS}"],
        seen=[
            "2026-03-04 02:00 Board evening, 120 min",
            "2026-03-12 16:30 Handover, 30 min",
            "2026-03-13 16:30 Handover, 30 min",
            "2026-03-16 16:30 Handover, 30 min",
            "2026-04-08 02:30 Board evening, 120 min",
        ],
        notes=["The zone Pacific Standard Time is read as America/Los_Angeles."],
    ),
    "apple": Expected(
        series=[
            "1 Rehearsal: weekly/2 None 19:30 Europe/London 2026-01-05 to 2026-04-30, 120 min",
            "  without 2026-01-19 2026-03-30",
            "  2026-03-16 -> 2026-03-16 18:30 Dress rehearsal (), 210 min",
        ],
        events=["3 7A2D3C4B-1E5F-4061-9C7D-8E9F0A1B2C3D 2026-03-18 18:00 Costume fitting, 60 min"],
        refused=[
            f"Entry 4 (Call from abroad): its DTSTART is in the zone GMT+0200, {UNKNOWN}",
            f"Entry 5 (Opening week): {WHOLE_DAYS}",
        ],
        seen=[
            "2026-03-02 19:30 Rehearsal, 120 min",
            "2026-03-16 18:30 Dress rehearsal, 210 min",
            "2026-03-18 18:00 Costume fitting, 60 min",
            "2026-04-13 18:30 Rehearsal, 120 min",
        ],
        notes=["Times without a zone are read in Europe/London."],
    ),
    "nextcloud": Expected(
        series=[
            "1 Plenum: monthly/1 2MO 18:30 Europe/Berlin 2026-01-12 to None, 90 min",
            "  and 2026-03-23 17:30 Plenum (Jeder willkommen.), 90 min",
            "  and 2026-03-30 17:00 Plenum mit Gästen (Mit Kuchen.), 180 min",
            "3 Werkstatt: weekly/1 TH 17:00 Europe/Berlin 2026-03-05 to 2026-04-02, 120 min",
            "  without 2026-03-19 2026-03-26",
        ],
        events=[],
        refused=[
            "Entry 5 (Lüften): it returns by FREQ=HOURLY; a series returns daily, weekly, monthly or yearly.",
        ],
        seen=[
            "2026-03-05 16:00 Werkstatt, 120 min",
            "2026-03-09 17:30 Plenum, 90 min",
            "2026-03-12 16:00 Werkstatt, 120 min",
            "2026-03-23 17:30 Plenum, 90 min",
            "2026-03-30 17:00 Plenum mit Gästen, 180 min",
            "2026-04-02 15:00 Werkstatt, 120 min",
            "2026-04-13 16:30 Plenum, 90 min",
        ],
        notes=["What is no event was left out: 1 VTODO."],
    ),
    "meetup": Expected(
        series=[],
        events=[
            "2 event_300000002@meetup.com 2026-04-03 07:00 Long games, short queue, 180 min",
            "3 event_300000003@meetup.com 2026-04-10 08:00 Long games, short queue, 180 min",
        ],
        refused=["Entry 4 (Picnic): it is cancelled."],
        seen=[
            "2026-04-03 07:00 Long games, short queue, 180 min",
            "2026-04-10 08:00 Long games, short queue, 180 min",
        ],
        past=1,
    ),
}


def program_file(program: str) -> bytes:
    """Return the file of a program, with the line endings that calendars write."""
    return (_FOLDER / f"{program}.ics").read_bytes().replace(b"\n", b"\r\n")


def series_lines(found: CalendarFile) -> list[str]:
    """Return the series that were read as ``Expected`` writes them."""
    return [line for one in found.series for line in _series(one)]


def _series(one: ImportedSeries) -> Iterator[str]:
    rule, minutes = one.spec.rule, one.spec.duration_minutes
    grid = f"{rule.frequency.value}/{rule.interval} {rule.day_of_week} {rule.time_of_day:%H:%M} {rule.timezone}"
    yield f"{one.number} {one.spec.name}: {grid} {rule.starts_at} to {rule.ends_at}, {minutes} min"
    if one.left_out:
        yield f"  without {' '.join(map(str, sorted(one.left_out)))}"
    for changed in one.changed:
        details = changed.details
        words = f"{details.name} ({details.description}), {details.duration_minutes} min"
        yield f"  {changed.local_date} -> {changed.starts_at:%Y-%m-%d %H:%M} {words}"
    for extra in one.extras:
        details = extra.details
        words = f"{details.name} ({details.description}), {details.duration_minutes} min"
        yield f"  and {extra.starts_at:%Y-%m-%d %H:%M} {words}"


def event_lines(found: CalendarFile) -> list[str]:
    """Return the single events that were read as ``Expected`` writes them."""
    return [
        f"{one.number} {one.uid} {spec.scheduled_at:%Y-%m-%d %H:%M} {spec.name}, {spec.duration_minutes} min"
        for one in found.events
        for spec in (one.spec,)
    ]


def seen_by_another_library(raw: bytes, first: dt.datetime = NOW, last: dt.datetime = UNTIL) -> list[str]:
    """Return what takes place of a file and when, for how long and under what name, as another library reads it."""
    found = recurring_ical_events.of(Calendar.from_ical(raw)).between(first, last)
    return sorted(
        f"{one.start.astimezone(dt.UTC):%Y-%m-%d %H:%M} {one['SUMMARY']}, {(one.end - one.start).seconds // 60} min"
        for one in found
    )
