"""The dates and instants of series, against values worked out by hand and a day-by-day oracle."""

import calendar
import datetime as dt
import itertools
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.times.recurrence import (
    ByDay,
    Occurrence,
    SeriesRule,
    local_today,
    occurrences,
    parse_by_day,
    resolve_wall_time,
    slot_text,
)
from models.states import Frequency, MonthEnd

DAILY, WEEKLY, MONTHLY, YEARLY = Frequency
MINUTE = dt.timedelta(minutes=1)
DAY = dt.timedelta(days=1)


def rule(
    frequency: Frequency,
    time: str = "19:00",
    timezone: str = "UTC",
    starts: str = "2026-01-01",
    *,
    every: int = 1,
    on: str | None = None,
    ends: str | None = None,
    month_end: MonthEnd = MonthEnd.LAST_DAY,
) -> SeriesRule:
    return SeriesRule(
        frequency=frequency,
        interval=every,
        day_of_week=on,
        time_of_day=dt.time.fromisoformat(time),
        timezone=timezone,
        starts_at=dt.date.fromisoformat(starts),
        ends_at=None if ends is None else dt.date.fromisoformat(ends),
        month_end=month_end,
    )


def window(series: SeriesRule, first: str, last: str) -> list[Occurrence]:
    return occurrences(series, dt.date.fromisoformat(first), dt.date.fromisoformat(last))


def utc(found: list[Occurrence]) -> list[str]:
    assert all(one.starts_at.tzinfo is dt.UTC for one in found)
    return [one.starts_at.strftime("%Y-%m-%d %H:%M") for one in found]


def dates(found: list[Occurrence]) -> list[str]:
    return [one.local_date.isoformat() for one in found]


# ---------------------------------------------------------------------------------- reported faults: cases.md, part E


def test_a_london_sunday_stays_at_seven_in_the_evening_over_both_changes() -> None:
    sundays = rule(WEEKLY, "19:00", "Europe/London", "2026-03-01", on="SU")

    assert utc(window(sundays, "2026-03-22", "2026-03-29")) == ["2026-03-22 19:00", "2026-03-29 18:00"]
    assert utc(window(sundays, "2026-10-18", "2026-10-25")) == ["2026-10-18 18:00", "2026-10-25 19:00"]


def test_a_berlin_morning_follows_the_clock_not_the_day_of_24_hours() -> None:
    found = window(rule(DAILY, "08:00", "Europe/Berlin"), "2026-10-24", "2026-10-26")

    assert utc(found) == ["2026-10-24 06:00", "2026-10-25 07:00", "2026-10-26 07:00"]


def test_noon_on_the_day_the_clock_goes_back_comes_once() -> None:
    assert utc(window(rule(DAILY, "12:00", "Europe/Berlin"), "2026-10-25", "2026-10-25")) == ["2026-10-25 11:00"]


def test_the_first_morning_after_the_clock_went_forward_is_on_time() -> None:
    found = window(rule(DAILY, "09:00", "Europe/London"), "2026-03-28", "2026-03-30")

    assert utc(found) == ["2026-03-28 09:00", "2026-03-29 08:00", "2026-03-30 08:00"]


def test_a_time_in_the_repeated_hour_is_the_first_of_the_two() -> None:
    assert utc(window(rule(DAILY, "01:30", "Europe/London"), "2026-10-25", "2026-10-25")) == ["2026-10-25 00:30"]


def test_a_skipped_midnight_is_one_in_the_morning_of_the_same_date() -> None:
    # Sao Paulo skipped 00:00 to 01:00 on 4 November 2018, going from -3 to -2.
    found = window(rule(DAILY, "00:00", "America/Sao_Paulo", "2018-11-01"), "2018-11-03", "2018-11-05")

    assert utc(found) == ["2018-11-03 03:00", "2018-11-04 03:00", "2018-11-05 02:00"]
    assert found[1] == Occurrence(found[1].starts_at, dt.date(2018, 11, 4), "2018-11-04T00:00[America/Sao_Paulo]")


def test_a_monthly_date_after_a_skipped_midnight_is_not_lost() -> None:
    found = window(rule(MONTHLY, "09:00", "America/Sao_Paulo", "2018-10-10"), "2018-10-17", "2018-12-31")

    assert utc(found) == ["2018-11-10 11:00", "2018-12-10 11:00"]


def test_casablanca_keeps_its_evening_through_ramadan() -> None:
    # +1 but for Ramadan, 15 February to 22 March 2026: the zone database calls that a negative summer time.
    found = window(rule(WEEKLY, "21:00", "Africa/Casablanca", "2026-02-01", on="SU"), "2026-02-08", "2026-03-29")

    hours = [one.starts_at.hour for one in found]
    assert dates(found)[::7] == ["2026-02-08", "2026-03-29"]
    assert hours == [20, 21, 21, 21, 21, 21, 20, 20]


@pytest.mark.parametrize(
    ("starts", "month_end", "expected"),
    [
        pytest.param("2026-01-31", MonthEnd.LAST_DAY, "01-31 02-28 03-31 04-30 05-31 06-30", id="31st or last"),
        pytest.param("2026-01-31", MonthEnd.SKIP, "01-31 03-31 05-31", id="31st or none"),
        pytest.param("2026-01-30", MonthEnd.LAST_DAY, "01-30 02-28 03-30 04-30 05-30 06-30", id="30th or last"),
        pytest.param("2026-01-30", MonthEnd.SKIP, "01-30 03-30 04-30 05-30 06-30", id="30th or none"),
        pytest.param("2026-01-29", MonthEnd.LAST_DAY, "01-29 02-28 03-29 04-29 05-29 06-29", id="29th or last"),
        pytest.param("2026-01-29", MonthEnd.SKIP, "01-29 03-29 04-29 05-29 06-29", id="29th or none"),
        pytest.param("2026-01-28", MonthEnd.SKIP, "01-28 02-28 03-28 04-28 05-28 06-28", id="28th"),
    ],
)
def test_a_month_without_the_day_follows_month_end(starts: str, month_end: MonthEnd, expected: str) -> None:
    found = window(rule(MONTHLY, starts=starts, month_end=month_end), "2026-01-01", "2026-06-30")

    assert dates(found) == [f"2026-{day}" for day in expected.split()]


def test_the_29th_of_february_is_the_last_day_only_where_it_is_missing() -> None:
    found = window(rule(MONTHLY, starts="2027-10-31"), "2028-02-01", "2028-04-30")

    assert dates(found) == ["2028-02-29", "2028-03-31", "2028-04-30"]


@pytest.mark.parametrize(
    ("month_end", "expected"),
    [
        (MonthEnd.LAST_DAY, ["2026-03-31", "2026-09-30", "2027-03-31", "2027-09-30"]),
        (MonthEnd.SKIP, ["2026-03-31", "2027-03-31"]),
    ],
)
def test_every_six_months_from_31_march_is_twice_a_year_unless_it_skips(
    month_end: MonthEnd, expected: list[str]
) -> None:
    found = window(rule(MONTHLY, starts="2026-03-31", every=6, month_end=month_end), "2026-01-01", "2027-12-31")

    assert dates(found) == expected


@pytest.mark.parametrize(
    ("month_end", "expected"),
    [
        (MonthEnd.LAST_DAY, ["2024-02-29", "2025-02-28", "2026-02-28", "2027-02-28", "2028-02-29"]),
        (MonthEnd.SKIP, ["2024-02-29", "2028-02-29"]),
    ],
)
def test_a_yearly_29_february_follows_month_end(month_end: MonthEnd, expected: list[str]) -> None:
    found = window(rule(YEARLY, starts="2024-02-29", month_end=month_end), "2024-01-01", "2028-12-31")

    assert dates(found) == expected


# ------------------------------------------------------------------------------------------- clock changes everywhere

# Zone, instant of the change in UTC, minutes from UTC before and after it; read from `zdump -v`, where the zone data
# of 2025b and 2026f agree.
CHANGES_OF_2026 = [
    ("Africa/Cairo", "2026-04-23 22:00", 120, 180),
    ("Africa/Cairo", "2026-10-29 21:00", 180, 120),
    ("Africa/Casablanca", "2026-02-15 02:00", 60, 0),
    ("Africa/Casablanca", "2026-03-22 02:00", 0, 60),
    ("America/Los_Angeles", "2026-03-08 10:00", -480, -420),
    ("America/Los_Angeles", "2026-11-01 09:00", -420, -480),
    ("America/New_York", "2026-03-08 07:00", -300, -240),
    ("America/New_York", "2026-11-01 06:00", -240, -300),
    ("America/Nuuk", "2026-03-29 01:00", -120, -60),
    ("America/Nuuk", "2026-10-25 01:00", -60, -120),
    ("America/Santiago", "2026-04-05 03:00", -180, -240),
    ("America/Santiago", "2026-09-06 04:00", -240, -180),
    ("America/St_Johns", "2026-03-08 05:30", -210, -150),
    ("America/St_Johns", "2026-11-01 04:30", -150, -210),
    ("Antarctica/Troll", "2026-03-29 01:00", 0, 120),
    ("Antarctica/Troll", "2026-10-25 01:00", 120, 0),
    ("Asia/Beirut", "2026-03-28 22:00", 120, 180),
    ("Asia/Beirut", "2026-10-24 21:00", 180, 120),
    ("Asia/Gaza", "2026-03-28 00:00", 120, 180),
    ("Asia/Gaza", "2026-10-23 23:00", 180, 120),
    ("Asia/Jerusalem", "2026-03-27 00:00", 120, 180),
    ("Asia/Jerusalem", "2026-10-24 23:00", 180, 120),
    ("Atlantic/Azores", "2026-03-29 01:00", -60, 0),
    ("Atlantic/Azores", "2026-10-25 01:00", 0, -60),
    ("Australia/Adelaide", "2026-04-04 16:30", 630, 570),
    ("Australia/Adelaide", "2026-10-03 16:30", 570, 630),
    ("Australia/Lord_Howe", "2026-04-04 15:00", 660, 630),
    ("Australia/Lord_Howe", "2026-10-03 15:30", 630, 660),
    ("Australia/Sydney", "2026-04-04 16:00", 660, 600),
    ("Australia/Sydney", "2026-10-03 16:00", 600, 660),
    ("Europe/Berlin", "2026-03-29 01:00", 60, 120),
    ("Europe/Berlin", "2026-10-25 01:00", 120, 60),
    ("Europe/Kyiv", "2026-03-29 01:00", 120, 180),
    ("Europe/Kyiv", "2026-10-25 01:00", 180, 120),
    ("Europe/Lisbon", "2026-03-29 01:00", 0, 60),
    ("Europe/Lisbon", "2026-10-25 01:00", 60, 0),
    ("Europe/London", "2026-03-29 01:00", 0, 60),
    ("Europe/London", "2026-10-25 01:00", 60, 0),
    ("Pacific/Auckland", "2026-04-04 14:00", 780, 720),
    ("Pacific/Auckland", "2026-09-26 14:00", 720, 780),
    ("Pacific/Chatham", "2026-04-04 14:00", 825, 765),
    ("Pacific/Chatham", "2026-09-26 14:00", 765, 825),
    ("Pacific/Easter", "2026-04-05 03:00", -300, -360),
    ("Pacific/Easter", "2026-09-06 04:00", -360, -300),
    ("Pacific/Norfolk", "2026-04-04 15:00", 720, 660),
    ("Pacific/Norfolk", "2026-10-03 15:00", 660, 720),
]
# The first, a middle and the last minute that the clock skips or repeats, and the minutes beside them.
PLACES = ["before", "first", "middle", "last", "after"]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(("timezone", "change", "before", "after"), CHANGES_OF_2026)
def test_a_daily_wall_time_survives_the_change(timezone: str, change: str, before: int, after: int, place: str) -> None:
    instant = dt.datetime.fromisoformat(change)
    low, high = sorted([instant + before * MINUTE, instant + after * MINUTE])
    wanted = {
        "before": low - MINUTE, "first": low, "middle": low + (high - low) / 2, "last": high - MINUTE, "after": high
    }[place]  # fmt: skip
    skipped, repeated = after > before and low <= wanted < high, after < before and low <= wanted < high
    # What the clock shows twice counts with the offset before the change; what it skips is the change itself.
    on_the_day = wanted - (before if repeated or wanted < low else after) * MINUTE

    found = occurrences(rule(DAILY, f"{wanted:%H:%M}", timezone), wanted.date() - DAY, wanted.date() + DAY)

    expected = [wanted - DAY - before * MINUTE, instant if skipped else on_the_day, wanted + DAY - after * MINUTE]
    assert [one.starts_at.replace(tzinfo=None) for one in found] == expected
    assert found[1].slot == f"{wanted:%Y-%m-%dT%H:%M}[{timezone}]"


@pytest.mark.parametrize(
    ("timezone", "minutes"), [("Pacific/Apia", 780), ("Asia/Kathmandu", 345), ("Asia/Kolkata", 330), ("UTC", 0)]
)
def test_a_zone_without_changes_keeps_its_offset_all_year(timezone: str, minutes: int) -> None:
    found = window(rule(DAILY, "02:30", timezone), "2026-01-01", "2026-12-31")

    assert len(found) == 365
    assert {dt.datetime.combine(one.local_date, dt.time(2, 30), dt.UTC) - one.starts_at for one in found} == {
        minutes * MINUTE
    }


def test_a_day_that_a_zone_left_out_becomes_the_first_instant_after_it() -> None:
    # Samoa crossed the date line: 29 December 2011 (-10) was followed by the 31st (+14).
    found = window(rule(DAILY, "08:00", "Pacific/Apia", "2011-12-01"), "2011-12-29", "2011-12-31")

    assert utc(found) == ["2011-12-29 18:00", "2011-12-30 10:00", "2011-12-30 18:00"]
    assert dates(found) == ["2011-12-29", "2011-12-30", "2011-12-31"]
    assert found[1].slot == "2011-12-30T08:00[Pacific/Apia]"


@pytest.mark.parametrize(
    ("timezone", "local", "expected"),
    [
        pytest.param("Europe/Paris", "2026-03-29T02:30", "2026-03-29T01:00", id="gap: 03:00 local, not 03:30"),
        pytest.param("Europe/Paris", "2026-03-29T02:00", "2026-03-29T01:00", id="gap: its first minute"),
        pytest.param("Europe/Paris", "2026-03-29T02:59:59.999999", "2026-03-29T01:00", id="gap: its last instant"),
        pytest.param("Europe/Paris", "2026-03-29T03:00", "2026-03-29T01:00", id="just past the gap"),
        pytest.param("Europe/Paris", "2026-03-29T01:59:59", "2026-03-29T00:59:59", id="just before the gap"),
        pytest.param("Europe/Paris", "2026-10-25T02:30", "2026-10-25T00:30", id="fold: the first pass"),
        pytest.param("Australia/Lord_Howe", "2026-10-04T02:15", "2026-10-03T15:30", id="gap of half an hour"),
        pytest.param("Asia/Beirut", "2026-03-29T00:00", "2026-03-28T22:00", id="midnight in Beirut"),
        pytest.param("Africa/Cairo", "2026-04-24T00:30", "2026-04-23T22:00", id="midnight in Cairo"),
        pytest.param("Pacific/Apia", "2011-12-30T00:00", "2011-12-30T10:00", id="the first minute of no day"),
        pytest.param("Pacific/Apia", "2011-12-30T23:59", "2011-12-30T10:00", id="the last minute of no day"),
        pytest.param("Pacific/Kwajalein", "1993-08-21T12:00", "1993-08-21T12:00", id="Kwajalein's missing day"),
        pytest.param("Asia/Kathmandu", "2026-06-01T12:15", "2026-06-01T06:30", id="three quarters of an hour"),
    ],
)
def test_a_wall_time_is_resolved(timezone: str, local: str, expected: str) -> None:
    found = resolve_wall_time(dt.datetime.fromisoformat(local), ZoneInfo(timezone))

    assert found == dt.datetime.fromisoformat(expected).replace(tzinfo=dt.UTC)
    assert found.tzinfo is dt.UTC


def test_the_fold_of_a_wall_time_is_not_asked() -> None:
    second = dt.datetime.fromisoformat("2026-10-25T02:30").replace(fold=1)

    assert resolve_wall_time(second, ZoneInfo("Europe/Paris")).hour == 0


def test_an_aware_time_is_no_wall_time() -> None:
    with pytest.raises(ValueError, match="no zone of its own"):
        resolve_wall_time(dt.datetime.fromisoformat("2026-10-25T02:30Z"), ZoneInfo("Europe/Paris"))


# ------------------------------------------------------------------------------------------------ grids and their ends


@pytest.mark.parametrize(
    ("on", "starts", "expected"),
    [
        pytest.param("TU", "2026-01-05", "01-06 01-20 02-03", id="from a Monday"),
        pytest.param("TU", "2026-01-07", "01-20 02-03", id="from the Wednesday of that week"),
        pytest.param("MO", "2026-01-11", "01-19 02-02", id="from the Sunday, whose week began on Monday the 5th"),
        pytest.param("SU", "2026-01-11", "01-11 01-25", id="from the Sunday, on Sundays"),
        pytest.param("TH,TU", "2026-01-08", "01-08 01-20 01-22 02-03 02-05", id="two days, in order of date"),
        pytest.param(None, "2026-01-08", "01-08 01-22 02-05", id="the weekday of its start"),
    ],
)
def test_every_two_weeks_is_counted_in_weeks_from_monday(on: str | None, starts: str, expected: str) -> None:
    found = window(rule(WEEKLY, starts=starts, every=2, on=on), "2026-01-01", "2026-02-06")

    assert dates(found) == [f"2026-{day}" for day in expected.split()]


@pytest.mark.parametrize("first", [dt.date(2026, 6, 1) + offset * DAY for offset in range(14)], ids=str)
def test_the_grid_is_the_same_wherever_the_window_begins(first: dt.date) -> None:
    found = occurrences(rule(WEEKLY, starts="2026-01-05", every=2, on="TU"), first, dt.date(2026, 6, 30))

    assert dates(found) == [day for day in ("2026-06-09", "2026-06-23") if day >= first.isoformat()]


@pytest.mark.parametrize(
    ("frequency", "expected"),
    [
        (DAILY, ["2026-02-22", "2026-04-15", "2026-06-06", "2026-07-28", "2026-09-18", "2026-11-09", "2026-12-31"]),
        (WEEKLY, ["2026-12-31"]),
        (MONTHLY, ["2030-05-01"]),
        (YEARLY, ["2078-01-01"]),
    ],
)
def test_an_interval_of_52_is_kept(frequency: Frequency, expected: list[str]) -> None:
    last = max("2026-12-31", expected[-1])

    found = window(rule(frequency, every=52), "2026-01-02", last)

    assert dates(found) == expected


@pytest.mark.parametrize(
    ("series", "expected"),
    [
        (rule(DAILY, every=3, starts="1996-01-01"), ["2026-01-02", "2026-01-05", "2026-01-08"]),
        (rule(WEEKLY, every=2, on="TU", starts="1996-01-01"), ["2026-01-06"]),
        (rule(MONTHLY, every=5, on="1TU", starts="1996-01-01"), ["2026-01-06"]),
        (rule(YEARLY, every=3, starts="1996-01-05"), ["2026-01-05"]),
    ],
    ids=["daily", "weekly", "monthly", "yearly"],
)
def test_a_start_thirty_years_back_keeps_its_grid(series: SeriesRule, expected: list[str]) -> None:
    assert dates(window(series, "2026-01-01", "2026-01-10")) == expected


@pytest.mark.parametrize(
    ("on", "month_end", "expected"),
    [
        pytest.param("2WE", MonthEnd.LAST_DAY, "01-14 02-11 03-11 04-08", id="second Wednesday"),
        pytest.param("-1FR", MonthEnd.LAST_DAY, "01-30 02-27 03-27 04-24", id="last Friday"),
        pytest.param("1MO,3MO", MonthEnd.LAST_DAY, "01-05 01-19 02-02 02-16 03-02 03-16 04-06 04-20", id="two"),
        pytest.param("5MO", MonthEnd.LAST_DAY, "01-26 02-23 03-30 04-27", id="fifth or last Monday"),
        pytest.param("5MO", MonthEnd.SKIP, "03-30", id="fifth Monday or none"),
        pytest.param("-5MO", MonthEnd.LAST_DAY, "01-05 02-02 03-02 04-06", id="fifth from the end or first"),
        pytest.param("-5MO", MonthEnd.SKIP, "03-02", id="fifth from the end or none"),
        pytest.param("5MO,-1MO", MonthEnd.LAST_DAY, "01-26 02-23 03-30 04-27", id="the same day once"),
        pytest.param("-2SU", MonthEnd.SKIP, "01-18 02-15 03-22 04-19", id="last but one"),
        pytest.param("1TH", MonthEnd.SKIP, "01-01 02-05 03-05 04-02", id="on the first of the month"),
    ],
)
def test_a_monthly_weekday_is_counted_within_its_month(on: str, month_end: MonthEnd, expected: str) -> None:
    found = window(rule(MONTHLY, on=on, month_end=month_end), "2026-01-01", "2026-04-30")

    assert dates(found) == [f"2026-{day}" for day in expected.split()]


def test_a_weekday_without_a_number_is_every_one_of_the_month() -> None:
    found = window(rule(MONTHLY, on="MO", every=2), "2026-02-20", "2026-03-31")

    assert dates(found) == ["2026-03-02", "2026-03-09", "2026-03-16", "2026-03-23", "2026-03-30"]


def test_a_rule_that_never_comes_gives_nothing() -> None:
    # Every fourth February, and never that of a leap year: it has no fifth Monday.
    never = rule(MONTHLY, starts="2026-02-01", every=48, on="5MO", month_end=MonthEnd.SKIP)

    assert window(never, "2026-01-01", "2126-12-31") == []


@pytest.mark.parametrize(
    ("series", "first", "last", "expected"),
    [
        pytest.param(rule(DAILY, starts="2026-05-03"), "2026-05-01", "2026-05-04", ["03", "04"], id="start"),
        pytest.param(rule(DAILY, ends="2026-05-03"), "2026-05-02", "2026-05-09", ["02", "03"], id="end inclusive"),
        pytest.param(rule(DAILY, starts="2026-05-03", ends="2026-05-03"), "2026-05-01", "2026-05-09", ["03"], id="one"),
        pytest.param(rule(DAILY, starts="2026-06-01"), "2026-05-01", "2026-05-31", [], id="not yet"),
        pytest.param(rule(DAILY, ends="2026-04-30"), "2026-05-01", "2026-05-31", [], id="no more"),
        pytest.param(rule(DAILY), "2026-05-02", "2026-05-01", [], id="window turned round"),
        pytest.param(rule(MONTHLY, starts="2026-05-15", on="1FR"), "2026-05-01", "2026-05-31", [], id="month begun"),
    ],
)
def test_nothing_comes_before_the_start_or_after_the_end(
    series: SeriesRule, first: str, last: str, expected: list[str]
) -> None:
    assert dates(window(series, first, last)) == [f"2026-05-{day}" for day in expected]


def test_the_last_days_of_the_calendar_are_within_reach() -> None:
    assert dates(window(rule(MONTHLY, every=5, starts="9999-10-31"), "9999-11-01", "9999-12-30")) == []
    assert dates(window(rule(WEEKLY, starts="9999-12-01"), "9999-12-20", "9999-12-30")) == ["9999-12-22", "9999-12-29"]


def test_an_unknown_zone_is_the_callers_to_know() -> None:
    with pytest.raises(ZoneInfoNotFoundError):
        window(rule(DAILY, timezone="Europe/Lodnon"), "2026-01-01", "2026-01-02")


# ------------------------------------------------------------------------------------------------------ small answers


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("TU", (ByDay(None, 1),)),
        ("SU,MO", (ByDay(None, 6), ByDay(None, 0))),
        ("2WE", (ByDay(2, 2),)),
        ("-1FR,5SA,-5TH", (ByDay(-1, 4), ByDay(5, 5), ByDay(-5, 3))),
    ],
)
def test_by_day_is_read(text: str, expected: tuple[ByDay, ...]) -> None:
    assert parse_by_day(text) == expected


@pytest.mark.parametrize("text", ["", "XX", "TU,", ",TU", "0MO", "6MO", "-6MO", "--1MO", "+1MO", "1", "tu", "TU TH"])
def test_by_day_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="RFC 5545"):
        parse_by_day(text)


@pytest.mark.parametrize(
    ("now", "timezone", "expected"),
    [
        ("2026-03-29T23:30+00:00", "Europe/London", "2026-03-30"),
        ("2026-03-28T23:30+00:00", "Europe/London", "2026-03-28"),
        ("2026-01-01T09:59+00:00", "Pacific/Apia", "2026-01-01"),
        ("2026-01-01T11:00+00:00", "Pacific/Apia", "2026-01-02"),
        ("2026-01-01T07:59+00:00", "America/Los_Angeles", "2025-12-31"),
        ("2026-01-01T01:00+02:00", "UTC", "2025-12-31"),
    ],
)
def test_today_is_the_series_own_date(now: str, timezone: str, expected: str) -> None:
    assert local_today(dt.datetime.fromisoformat(now), timezone) == dt.date.fromisoformat(expected)


def test_a_naive_now_is_refused() -> None:
    with pytest.raises(ValueError, match="needs a zone"):
        local_today(dt.datetime.fromisoformat("2026-01-01T00:00"), "UTC")


def test_a_slot_names_the_wall_time_and_the_zone() -> None:
    local = dt.datetime.fromisoformat("2026-03-29T19:00")

    assert slot_text(local, "Europe/London") == "2026-03-29T19:00[Europe/London]"


# --------------------------------------------------------------------------------------------------------- properties

ZONES = sorted(
    {zone for zone, *_ in CHANGES_OF_2026}
    | {"UTC", "Pacific/Apia", "Asia/Kathmandu", "America/Sao_Paulo", "America/Caracas", "Asia/Pyongyang"}
)
DATES = st.dates(dt.date(2005, 1, 1), dt.date(2035, 12, 31))
TIMES = st.times().map(lambda time: time.replace(second=0, microsecond=0, fold=0))
# Most clock changes are at night: half of all tries fall there.
NIGHT_TIMES = st.integers(0, 4 * 60 - 1).map(lambda minutes: dt.time(minutes // 60, minutes % 60))
WEEKDAYS = st.sampled_from(["MO", "TU", "WE", "TH", "FR", "SA", "SU"])
NUMBERED = st.tuples(st.sampled_from([-5, -4, -3, -2, -1, 1, 2, 3, 4, 5]), WEEKDAYS).map(
    lambda day: f"{day[0]}{day[1]}"
)


def joined(days: st.SearchStrategy[str]) -> st.SearchStrategy[str | None]:
    return st.none() | st.lists(days, min_size=1, max_size=3, unique=True).map(",".join)


@st.composite
def rules(draw: st.DrawFn) -> SeriesRule:
    frequency = draw(st.sampled_from(Frequency))
    days = {WEEKLY: joined(WEEKDAYS), MONTHLY: joined(NUMBERED)}.get(frequency, st.none())
    starts_at = draw(DATES | st.sampled_from([dt.date(2024, 2, 29), dt.date(2025, 1, 31), dt.date(2025, 8, 30)]))
    return SeriesRule(
        frequency=frequency,
        interval=draw(st.integers(1, 4) | st.integers(1, 52)),
        day_of_week=draw(days),
        time_of_day=draw(TIMES | NIGHT_TIMES),
        timezone=draw(st.sampled_from(ZONES)),
        starts_at=starts_at,
        ends_at=draw(st.none() | st.integers(0, 4000).map(lambda days: starts_at + days * DAY)),
        month_end=draw(st.sampled_from(MonthEnd)),
    )


def is_on_grid(series: SeriesRule, day: dt.date) -> bool:
    """Whether the rule names the day, said as a definition and without stepping."""
    begin = series.starts_at
    if day < begin or (series.ends_at is not None and day > series.ends_at):
        return False
    mondays = (day - day.weekday() * DAY) - (begin - begin.weekday() * DAY)
    distance = {
        DAILY: (day - begin).days,
        WEEKLY: mondays.days // 7,
        MONTHLY: (day.year - begin.year) * 12 + day.month - begin.month,
        YEARLY: day.year - begin.year,
    }[series.frequency]
    return distance % series.interval == 0 and is_named(series, day)


def is_named(series: SeriesRule, day: dt.date) -> bool:
    begin = series.starts_at
    if series.frequency is DAILY:
        return True
    if series.frequency is WEEKLY:
        return weekday_of(day) in (series.day_of_week or weekday_of(begin)).split(",")
    if series.day_of_week is not None:
        return any(is_numbered(day, text, series.month_end) for text in series.day_of_week.split(","))
    return is_day_of_month(day, begin.day, series.month_end) and (
        series.frequency is MONTHLY or day.month == begin.month
    )


def weekday_of(day: dt.date) -> str:
    return calendar.day_name[day.weekday()][:2].upper()


def is_day_of_month(day: dt.date, wanted: int, month_end: MonthEnd) -> bool:
    is_last = (day + DAY).month != day.month
    return day.day == wanted or (month_end is MonthEnd.LAST_DAY and is_last and day.day < wanted)


def is_numbered(day: dt.date, text: str, month_end: MonthEnd) -> bool:
    number, name = int(text[:-2]), text[-2:]
    if weekday_of(day) != name:
        return False
    length = calendar.monthrange(day.year, day.month)[1]
    from_begin, from_end = (day.day - 1) // 7 + 1, (length - day.day) // 7 + 1
    here, other = (from_begin, from_end) if number > 0 else (from_end, from_begin)
    has_four = from_begin + from_end - 1 < 5
    return here == abs(number) or (month_end is MonthEnd.LAST_DAY and abs(number) == 5 and has_four and other == 1)


def first_instant_showing(local: dt.datetime, zone: ZoneInfo) -> dt.datetime:
    """The first instant at which the clock shows ``local`` or, where it never does, something later."""
    around = [local.replace(tzinfo=dt.UTC) + hours * dt.timedelta(hours=1) for hours in range(-50, 51)]
    offsets = {instant.astimezone(zone).utcoffset() or dt.timedelta() for instant in around}
    guesses = sorted((local - offset).replace(tzinfo=dt.UTC) for offset in offsets)
    exact = [guess for guess in guesses if guess.astimezone(zone).replace(tzinfo=None) == local]
    if exact:
        return exact[0]
    instant = guesses[0]
    while instant.astimezone(zone).replace(tzinfo=None) < local:
        instant += MINUTE
    return instant


@settings(deadline=None, max_examples=300)
@given(series=rules(), first=DATES, length=st.integers(0, 800))
def test_the_occurrences_are_those_of_a_walk_day_by_day(series: SeriesRule, first: dt.date, length: int) -> None:
    zone = ZoneInfo(series.timezone)
    days = [day for day in (first + offset * DAY for offset in range(length + 1)) if is_on_grid(series, day)]

    found = occurrences(series, first, first + length * DAY)

    assert [one.local_date for one in found] == days
    for one in found[:60]:
        wanted = dt.datetime.combine(one.local_date, series.time_of_day)
        assert one.starts_at == first_instant_showing(wanted, zone)
        assert one.slot == f"{wanted:%Y-%m-%dT%H:%M}[{series.timezone}]"


@settings(deadline=None)
@given(series=rules(), first=DATES, before=st.integers(0, 400), after=st.integers(1, 400))
def test_windows_laid_end_to_end_give_what_one_gives(
    series: SeriesRule, first: dt.date, before: int, after: int
) -> None:
    middle, last = first + before * DAY, first + (before + after) * DAY

    parts = occurrences(series, first, middle) + occurrences(series, middle + DAY, last)

    assert parts == occurrences(series, first, last)


@settings(deadline=None)
@given(series=rules(), first=DATES, length=st.integers(0, 3000))
def test_dates_rise_instants_never_fall_and_the_wall_time_is_kept(
    series: SeriesRule, first: dt.date, length: int
) -> None:
    found = occurrences(series, first, first + length * DAY)

    zone = ZoneInfo(series.timezone)
    assert all(first <= one.local_date <= first + length * DAY for one in found)
    assert all(one.local_date < other.local_date for one, other in itertools.pairwise(found))
    assert all(one.starts_at <= other.starts_at for one, other in itertools.pairwise(found))
    for one in found:
        wanted = dt.datetime.combine(one.local_date, series.time_of_day)
        shown = one.starts_at.astimezone(zone).replace(tzinfo=None)
        just_before = (one.starts_at - MINUTE).astimezone(zone).replace(tzinfo=None)
        assert shown == wanted or just_before < wanted < shown
