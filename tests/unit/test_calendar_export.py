"""A calendar file of ours: other libraries read from it exactly our own occurrences, and reading it gives the rule."""

import datetime as dt
from dataclasses import replace

import pytest
from hypothesis import example, given, settings
from icalendar import Calendar

from bot.calendars.entries import Details, EventEntry, SeriesEntry
from bot.calendars.export import calendar_file
from bot.events.series_spec import SeriesSpec
from bot.times.recurrence import SeriesRule, occurrences
from models.states import Frequency, MonthEnd
from tests.calendars import DETAILS, FROM, NOW, TO, own_instants, read, read_instants, series, within
from tests.schedules import community_or_skip, mixed_schedule

UNTIL = dt.date(2030, 12, 31)
SUNDAY = SeriesRule(
    frequency=Frequency.WEEKLY,
    interval=1,
    day_of_week="SU",
    time_of_day=dt.time(19),
    timezone="Europe/London",
    starts_at=dt.date(2026, 1, 1),
    ends_at=None,
    month_end=MonthEnd.LAST_DAY,
)
EVENT = EventEntry("event-1@tests", Details("One, two; \\ three\nfour", "", 45), NOW, NOW, {})


def exported(*entries: SeriesEntry) -> bytes:
    return calendar_file("Hall", entries, [], until=UNTIL)


def entry_of(rule: SeriesRule) -> SeriesEntry:
    return SeriesEntry("series-1@tests", DETAILS, rule, NOW, {})


@settings(max_examples=60, deadline=None)
@given(series())
@example(entry_of(replace(SUNDAY, time_of_day=dt.time(1, 30))))
def test_another_library_reads_exactly_our_own_occurrences(one: SeriesEntry) -> None:
    assert within(read_instants(exported(one))) == within(own_instants(one))


@settings(max_examples=60, deadline=None)
@given(series())
def test_what_is_exported_and_read_again_takes_place_at_the_same_moments(one: SeriesEntry) -> None:
    found = read(exported(one))

    assert found.refused == []
    if own_instants(one):
        (again,) = found.series
        left_out = SeriesEntry("", DETAILS, again.spec.rule, NOW, {}, again.left_out, again.changed)
        assert own_instants(left_out) == own_instants(one)
        assert again.extras == ()


@pytest.mark.parametrize("entry", mixed_schedule()["series"], ids=lambda entry: entry["name"])
def test_every_kind_of_series_is_read_as_we_mean_it(entry: dict[str, object]) -> None:
    one = entry_of(SeriesSpec.model_validate(entry).rule)

    assert within(read_instants(exported(one))) == within(own_instants(one))


def test_a_real_communitys_meetings_are_read_as_we_mean_them() -> None:
    schedule = community_or_skip()
    specs = [SeriesSpec.model_validate(entry) for entry in schedule["series"]]
    entries = [
        SeriesEntry(f"{number}@tests", Details(spec.name, "", 60), spec.rule, NOW, {})
        for number, spec in enumerate(specs)
    ]

    found = read(exported(*entries))

    assert [one.spec.rule for one in found.series] != []
    assert found.refused == []
    for entry, again in zip(entries, found.series, strict=True):
        assert occurrences(again.spec.rule, FROM, TO) == occurrences(entry.rule, FROM, TO)


def test_two_exports_of_the_same_rows_are_equal() -> None:
    assert exported(entry_of(SUNDAY)) == exported(entry_of(SUNDAY))


def test_what_is_left_out_has_the_type_and_the_zone_of_the_start() -> None:
    text = exported(replace(entry_of(SUNDAY), left_out=frozenset({dt.date(2026, 3, 29)}))).decode()

    assert "DTSTART;TZID=Europe/London:20260104T190000" in text
    assert "EXDATE;TZID=Europe/London:20260329T190000" in text


def test_a_date_left_out_that_is_none_of_its_own_is_not_written() -> None:
    assert b"EXDATE" not in exported(replace(entry_of(SUNDAY), left_out=frozenset({dt.date(2026, 3, 30)})))


def test_the_zone_is_written_beside_for_calendars_that_know_none() -> None:
    calendar = Calendar.from_ical(exported(entry_of(SUNDAY)))

    assert [zone.tz_name for zone in calendar.timezones] == ["Europe/London"]


def test_an_event_keeps_every_character_of_its_name() -> None:
    raw = calendar_file("Hall", [], [EVENT], until=UNTIL)

    (event,) = Calendar.from_ical(raw).events
    assert str(event["SUMMARY"]) == EVENT.details.name
    assert event.DTSTART == NOW
    assert event.DURATION.total_seconds() == 45 * 60


def test_a_series_that_never_returns_is_left_out() -> None:
    never = replace(SUNDAY, ends_at=dt.date(2026, 1, 2))

    assert b"VEVENT" not in exported(entry_of(never))
