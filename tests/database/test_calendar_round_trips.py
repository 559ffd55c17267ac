"""Calendar files that others wrote: into one server, out of it, into another and out of that, and still the same."""

import datetime as dt
from typing import Any
from zoneinfo import ZoneInfo

import pytest
import recurring_ical_events  # type: ignore[import-untyped]
from dateutil import rrule
from icalendar import Calendar
from icalendar import Event as VEvent

from bot.calendars.desk import exported
from bot.calendars.file import CalendarFile
from bot.calendars.rows import _calendar
from bot.calendars.storing import plan_of, read_for, store
from bot.times.recurrence import occurrences
from models.event import Event
from models.event_repeater import EventRepeater
from tests.builders import DAY, GUILD, OTHER_GUILD, event_row, make_event, make_guild
from tests.program_calendars import EXPECTED, NOW, program_file, seen_by_another_library
from tests.schedules import Entry, community_or_skip

MARA = 11
YEAR_BEGINS, YEAR_ENDS = dt.datetime(2026, 1, 1, tzinfo=dt.UTC), dt.datetime(2027, 1, 1, tzinfo=dt.UTC)


async def read(raw: bytes, guild_id: int, now: dt.datetime) -> CalendarFile:
    return await read_for(raw, guild_id=guild_id, most_bytes=5_000_000, default_timezone="Europe/London", now=now)


async def moved_in(raw: bytes, guild_id: int, *, now: dt.datetime = NOW) -> bytes:
    """Import a file into a server of its own, and return what that server exports then."""
    await make_guild(guild_id, timezone="Europe/London")
    found = await read(raw, guild_id, now)
    plan = await plan_of(found, guild_id=guild_id, now=now)
    assert (plan.known, plan.taken) == (0, ())
    await store(found, plan, guild_id=guild_id, actor=MARA, timezone="UTC", now=now)
    return (await exported("ICS", None, guild_id=guild_id, title="Hall", now=now)).content


async def rows_of(guild_id: int) -> list[tuple[Any, ...]]:
    """Return what a server's events are, whatever they are called in a file."""
    found = await Event.filter(guild_id=guild_id)
    return sorted(
        (one.scheduled_at, one.name, one.description, one.duration_minutes, one.is_off_schedule, one.slot or "")
        for one in found
    )


@pytest.mark.parametrize("program", EXPECTED)
async def test_a_programs_file_is_the_same_after_two_servers(database: str, program: str) -> None:
    first = await moved_in(program_file(program), GUILD)
    second = await moved_in(first, OTHER_GUILD)

    assert seen_by_another_library(first) == EXPECTED[program].seen
    assert seen_by_another_library(second) == EXPECTED[program].seen
    assert len(await rows_of(GUILD)) > 0
    assert await rows_of(OTHER_GUILD) == await rows_of(GUILD)


async def test_an_extra_event_is_stored_with_the_words_of_its_override(database: str) -> None:
    await moved_in(program_file("nextcloud"), GUILD)

    series = await EventRepeater.get(guild_id=GUILD, name="Plenum")
    extras = await Event.filter(series_id=series.id, is_off_schedule=True).order_by("scheduled_at")
    assert [(one.scheduled_at.isoformat(), one.name, one.description, one.duration_minutes) for one in extras] == [
        ("2026-03-23T17:30:00+00:00", "Plenum", "Jeder willkommen.", 90),
        ("2026-03-30T17:00:00+00:00", "Plenum mit Gästen", "Mit Kuchen.", 180),
    ]
    assert [sorted(one.overridden_fields) for one in extras] == [[], ["description", "duration_minutes", "name"]]


def community_calendar(entries: list[Entry]) -> bytes:
    """Return the meetings of a community as a calendar of another library, each from its first meeting on."""
    calendar = Calendar()
    calendar.add("prodid", "-//Tests//A community//EN")
    calendar.add("version", "2.0")
    for number, entry in enumerate(entries):
        event = VEvent()
        event.add("uid", f"meeting-{number}@tests")
        event.add("summary", entry["name"])
        parts = {"FREQ": entry["frequency"], "INTERVAL": entry["interval"], "BYDAY": entry["day_of_week"].split(",")}
        event.add("rrule", parts | {"WKST": "MO"})
        event.add("dtstart", first_meeting(entry))
        event.add("duration", dt.timedelta(minutes=60))
        calendar.add_component(event)
    calendar.add_missing_timezones()
    written: bytes = calendar.to_ical()
    return written


def first_meeting(entry: Entry) -> dt.datetime:
    begins = dt.datetime.fromisoformat(f"{entry['starts_at']}T{entry['time_of_day']}")
    grid = f"FREQ={entry['frequency']};INTERVAL={entry['interval']};BYDAY={entry['day_of_week']};WKST=MO".upper()
    first: dt.datetime = rrule.rrulestr(grid, dtstart=begins)[0]
    return first.replace(tzinfo=ZoneInfo(entry["timezone"]))


def by_another_library(raw: bytes) -> list[tuple[dt.datetime, str]]:
    """Return when what takes place in the year, each name on one line and with single spaces, as names are here."""
    found = recurring_ical_events.of(Calendar.from_ical(raw)).between(YEAR_BEGINS, YEAR_ENDS)
    return sorted((one.start.astimezone(dt.UTC), " ".join(one["SUMMARY"].split())) for one in found)


def by_us(found: CalendarFile) -> list[tuple[dt.datetime, str]]:
    slots = (
        (slot.starts_at, one.spec.name)
        for one in found.series
        for slot in occurrences(one.spec.rule, YEAR_BEGINS.date(), YEAR_ENDS.date())
        if slot.local_date not in one.left_out
    )
    return sorted(one for one in slots if YEAR_BEGINS <= one[0] < YEAR_ENDS)


async def test_a_real_communitys_calendar_is_the_same_for_a_year_as_it_comes_and_as_it_goes(database: str) -> None:
    schedule = community_or_skip()
    raw = community_calendar(schedule["series"])

    ours = await moved_in(raw, GUILD, now=YEAR_BEGINS)

    meant = by_another_library(raw)
    read_in, read_again = await read(raw, OTHER_GUILD, YEAR_BEGINS), await read(ours, OTHER_GUILD, YEAR_BEGINS)
    assert (len(read_in.series), read_in.refused, read_again.refused) == (len(schedule["series"]), [], [])
    assert by_us(read_in) == meant
    assert by_another_library(ours) == meant
    assert by_us(read_again) == meant
    hours = {f"{at:%m-%d %H:%M}" for at, name in meant if name == "API Machinery: Kubebuilder Meeting"}
    # 11:00 in Los Angeles every other Thursday: its clock goes forward on March 8, and back on November 1.
    assert hours >= {"03-05 19:00", "03-19 18:00", "10-29 18:00", "11-12 19:00"}


@pytest.mark.parametrize(("stored", "said"), [(2, False), (3, False), (4, True)])
async def test_a_calendar_that_does_not_hold_everything_says_so(
    database: str, monkeypatch: pytest.MonkeyPatch, stored: int, *, said: bool
) -> None:
    monkeypatch.setattr("bot.calendars.rows.MOST_EVENTS", 3)
    for days in range(1, stored + 1):
        await make_event(now=NOW, starts_in=days * DAY, name=f"Night {days}")

    done = await exported("ICS", None, guild_id=GUILD, title="Hall", now=NOW)

    assert done.content.count(b"BEGIN:VEVENT") == min(stored, 3)
    assert (b"Night 4" in done.content, "Night 4" in done.text) == (False, False)
    assert ("The server has more than 3 events; the latest are left out." in done.text) is said


@pytest.mark.parametrize(("stored", "held", "said"), [(19_999, 19_999, 0), (20_000, 20_000, 0), (20_001, 20_000, 1)])
async def test_it_holds_twenty_thousand_and_says_so_from_the_next_one_on(
    database: str, stored: int, held: int, said: int
) -> None:
    # Rows that stand nowhere: reading so many of them is what a file of this size spends its time with.
    calendar = _calendar([], [event_row(now=NOW, id=1)] * stored, {}, NOW)

    assert len(calendar.events) == held
    assert calendar.notes == ("The server has more than 20,000 events; the latest are left out.",) * said
