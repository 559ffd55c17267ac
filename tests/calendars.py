"""Calendar files for tests: series by chance as this bot may have them, and what another library reads of a file."""

import datetime as dt
from collections.abc import Iterable

import recurring_ical_events  # type: ignore[import-untyped]
from hypothesis import strategies as st
from icalendar import Calendar

from bot.calendars.entries import Changed, Details, SeriesEntry
from bot.calendars.file import CalendarFile, Ground, read_calendar
from bot.times.recurrence import WEEKDAYS, SeriesRule, occurrences
from models.states import Frequency, MonthEnd

FROM, TO = dt.date(2026, 1, 1), dt.date(2027, 12, 31)
"""Two years, with four changes of most clocks."""

NOW = dt.datetime(2025, 12, 31, tzinfo=dt.UTC)
DETAILS = Details("Raid night", "Bring a lamp.", 90)
ZONES = (
    *("UTC", "Europe/London", "Europe/Paris", "America/New_York", "Australia/Lord_Howe", "Africa/Casablanca"),
    *("America/Sao_Paulo", "Asia/Gaza", "Pacific/Apia", "America/Santiago", "Africa/Cairo", "Asia/Kathmandu"),
)
_NTHS = ("1", "2", "3", "4", "5", "-1", "-2", "-4", "-5")
# Where a month or a year lacks the day, where a clock skips the time, and any day at all.
_STARTS = st.one_of(
    st.dates(dt.date(2025, 1, 1), dt.date(2026, 12, 31)),
    st.sampled_from([dt.date(2024, 2, 29), dt.date(2026, 1, 29), dt.date(2026, 1, 31), dt.date(2026, 3, 29)]),
)
_WEEKLY = st.lists(st.sampled_from(WEEKDAYS), min_size=1, max_size=4, unique=True).map(",".join)
_MONTHLY = st.lists(
    st.builds("{}{}".format, st.sampled_from(_NTHS), st.sampled_from(WEEKDAYS)), min_size=1, max_size=3, unique=True
).map(",".join)
_DAYS = {Frequency.WEEKLY: st.none() | _WEEKLY, Frequency.MONTHLY: st.none() | _MONTHLY}


@st.composite
def rules(draw: st.DrawFn) -> SeriesRule:
    """Draw any rule that a series may have."""
    frequency = draw(st.sampled_from(list(Frequency)))
    starts_at = draw(_STARTS)
    return SeriesRule(
        frequency=frequency,
        interval=draw(st.sampled_from([1, 1, 2, 3, 4, 12, 24, 52])),
        day_of_week=draw(_DAYS.get(frequency, st.none())),
        time_of_day=dt.time(draw(st.sampled_from([0, 1, 2, 2, 3, 19])), draw(st.sampled_from([0, 30]))),
        timezone=draw(st.sampled_from(ZONES)),
        starts_at=starts_at,
        ends_at=draw(st.none() | st.integers(0, 900).map(lambda days: starts_at + dt.timedelta(days=days))),
        month_end=draw(st.sampled_from(list(MonthEnd))),
    )


@st.composite
def series(draw: st.DrawFn) -> SeriesEntry:
    """Draw a series with dates that it leaves out, moves, and tells of in other words."""
    rule = draw(rules())
    dates = [one.local_date for one in occurrences(rule, FROM, TO)]
    picked = draw(st.lists(st.sampled_from(dates), max_size=6, unique=True)) if dates else []
    changed = tuple(_changed(rule, date, draw(st.integers(-700, 700))) for date in picked[3:])
    return SeriesEntry("series-1@tests", DETAILS, rule, NOW, {}, frozenset(picked[:3]), changed)


def _changed(rule: SeriesRule, date: dt.date, minutes: int) -> Changed:
    (slot,) = occurrences(rule, date, date)
    return Changed(date, slot.starts_at + dt.timedelta(minutes=minutes), Details("Moved raid", "", 60))


def own_instants(one: SeriesEntry) -> list[dt.datetime]:
    """Return when a series takes place in the two years, by our own occurrences."""
    moved = {change.local_date: change.starts_at for change in one.changed}
    found = occurrences(one.rule, FROM, TO)
    return sorted(moved.get(slot.local_date, slot.starts_at) for slot in found if slot.local_date not in one.left_out)


def read_instants(raw: bytes) -> list[dt.datetime]:
    """Return when anything of a file takes place, a week around the two years, by another library."""
    week = dt.timedelta(days=7)
    window = (FROM - week, TO + week)
    found = recurring_ical_events.of(Calendar.from_ical(raw)).between(*window)
    return sorted(event["DTSTART"].dt.astimezone(dt.UTC) for event in found)


def within(instants: Iterable[dt.datetime]) -> set[dt.datetime]:
    """Return the instants that are surely in both lists: not within three days of an end."""
    edge = dt.timedelta(days=3)
    first, last = (dt.datetime.combine(day, dt.time.min, tzinfo=dt.UTC) for day in (FROM, TO))
    return {one for one in instants if first + edge < one < last - edge}


def vcalendar(*lines: str, head: str = "") -> bytes:
    """Return a calendar of one event that has these properties, beside a UID and a name."""
    event = "\r\n".join(["BEGIN:VEVENT", "UID:one@tests", "SUMMARY:Raid night", *lines, "END:VEVENT"])
    return f"BEGIN:VCALENDAR\r\nVERSION:2.0\r\n{head}{event}\r\nEND:VCALENDAR\r\n".encode()


def ground(**fields: object) -> Ground:
    """Return what a file is read against: a server in London at the end of 2025."""
    plain = {"now": NOW, "timezone": "Europe/London", "most_bytes": 5_000_000, "series": {}, "events": {}}
    return Ground(**(plain | fields))  # type: ignore[arg-type]


def read(raw: bytes, **fields: object) -> CalendarFile:
    """Read a file against that ground."""
    return read_calendar(raw, ground(**fields))
