"""
Tables of right values: zones over both their changes of the clock, month ends, 29 February.

Every value was worked out by hand from the zone database's own transitions (`zdump -v`), and none is computed here. A
row whose year is not 2026 is of the last year in which the zone changed its clock twice.
"""

import datetime as dt

import pytest

from bot.times.recurrence import SeriesRule, occurrences
from models.states import Frequency, MonthEnd

DAILY, WEEKLY, MONTHLY, YEARLY = Frequency


def found(
    frequency: Frequency,
    wall: str,
    zone: str,
    starts: str,
    last: str,
    *,
    first: str | None = None,
    every: int = 1,
    on: str | None = None,
    month_end: MonthEnd = MonthEnd.LAST_DAY,
) -> list[str]:
    """Return each occurrence from ``first``, by default the start, to ``last`` as `local date > moment in UTC`."""
    rule = SeriesRule(
        frequency=frequency,
        interval=every,
        day_of_week=on,
        time_of_day=dt.time.fromisoformat(wall),
        timezone=zone,
        starts_at=dt.date.fromisoformat(starts),
        ends_at=None,
        month_end=month_end,
    )
    laid_out = occurrences(rule, dt.date.fromisoformat(first or starts), dt.date.fromisoformat(last))
    return [f"{one.local_date} > {one.starts_at:%Y-%m-%d %H:%M}" for one in laid_out]


# Zone, and seven in the evening of the last day before each change and of the first after it, in UTC.
EVENINGS = [
    ("Africa/Cairo", "04-23 > 04-23 17:00", "04-24 > 04-24 16:00", "10-29 > 10-29 16:00", "10-30 > 10-30 17:00"),
    ("Africa/Casablanca", "02-14 > 02-14 18:00", "02-15 > 02-15 19:00", "03-21 > 03-21 19:00", "03-22 > 03-22 18:00"),
    ("America/Los_Angeles", "03-07 > 03-08 03:00", "03-08 > 03-09 02:00", "10-31 > 11-01 02:00", "11-01 > 11-02 03:00"),
    ("America/New_York", "03-07 > 03-08 00:00", "03-08 > 03-08 23:00", "10-31 > 10-31 23:00", "11-01 > 11-02 00:00"),
    ("America/Nuuk", "03-28 > 03-28 21:00", "03-29 > 03-29 20:00", "10-24 > 10-24 20:00", "10-25 > 10-25 21:00"),
    ("America/Santiago", "04-04 > 04-04 22:00", "04-05 > 04-05 23:00", "09-05 > 09-05 23:00", "09-06 > 09-06 22:00"),
    ("America/St_Johns", "03-07 > 03-07 22:30", "03-08 > 03-08 21:30", "10-31 > 10-31 21:30", "11-01 > 11-01 22:30"),
    ("Antarctica/Troll", "03-28 > 03-28 19:00", "03-29 > 03-29 17:00", "10-24 > 10-24 17:00", "10-25 > 10-25 19:00"),
    ("Asia/Beirut", "03-28 > 03-28 17:00", "03-29 > 03-29 16:00", "10-24 > 10-24 16:00", "10-25 > 10-25 17:00"),
    ("Asia/Gaza", "03-27 > 03-27 17:00", "03-28 > 03-28 16:00", "10-23 > 10-23 16:00", "10-24 > 10-24 17:00"),
    ("Asia/Jerusalem", "03-26 > 03-26 17:00", "03-27 > 03-27 16:00", "10-24 > 10-24 16:00", "10-25 > 10-25 17:00"),
    ("Australia/Lord_Howe", "04-04 > 04-04 08:00", "04-05 > 04-05 08:30", "10-03 > 10-03 08:30", "10-04 > 10-04 08:00"),
    ("Australia/Sydney", "04-04 > 04-04 08:00", "04-05 > 04-05 09:00", "10-03 > 10-03 09:00", "10-04 > 10-04 08:00"),
    ("Europe/Berlin", "03-28 > 03-28 18:00", "03-29 > 03-29 17:00", "10-24 > 10-24 17:00", "10-25 > 10-25 18:00"),
    ("Europe/Dublin", "03-28 > 03-28 19:00", "03-29 > 03-29 18:00", "10-24 > 10-24 18:00", "10-25 > 10-25 19:00"),
    ("Europe/Kyiv", "03-28 > 03-28 17:00", "03-29 > 03-29 16:00", "10-24 > 10-24 16:00", "10-25 > 10-25 17:00"),
    ("Europe/London", "03-28 > 03-28 19:00", "03-29 > 03-29 18:00", "10-24 > 10-24 18:00", "10-25 > 10-25 19:00"),
    ("Pacific/Auckland", "04-04 > 04-04 06:00", "04-05 > 04-05 07:00", "09-26 > 09-26 07:00", "09-27 > 09-27 06:00"),
    ("Pacific/Chatham", "04-04 > 04-04 05:15", "04-05 > 04-05 06:15", "09-26 > 09-26 06:15", "09-27 > 09-27 05:15"),
]
EVENINGS_OF_OTHER_YEARS = [
    (2018, "America/Sao_Paulo", "02-17 > 02-17 21:00", "02-18 > 02-18 22:00", "11-03 > 11-03 22:00"),
    (2018, "America/Sao_Paulo", "11-04 > 11-04 21:00", "12-31 > 12-31 21:00"),
    (2022, "Asia/Tehran", "03-21 > 03-21 15:30", "03-22 > 03-22 14:30", "09-21 > 09-21 14:30", "09-22 > 09-22 15:30"),
    (2024, "America/Asuncion", "03-23 > 03-23 22:00", "03-24 > 03-24 23:00", "10-05 > 10-05 23:00"),
    (2024, "America/Asuncion", "10-06 > 10-06 22:00", "12-31 > 12-31 22:00"),
    (
        2025,
        "America/Havana",
        "03-08 > 03-09 00:00",
        "03-09 > 03-09 23:00",
        "11-01 > 11-01 23:00",
        "11-02 > 11-03 00:00",
    ),
    # Samoa went from one side of the date line to the other, and had no 30 December.
    (2011, "Pacific/Apia", "12-28 > 12-29 05:00", "12-29 > 12-30 05:00", "12-30 > 12-30 10:00", "12-31 > 12-31 05:00"),
]
# Nobody has changed the clock there for years.
EVENINGS_WITHOUT_A_CHANGE = [
    ("America/Asuncion", "22:00"),
    ("America/Sao_Paulo", "22:00"),
    ("Asia/Kathmandu", "13:15"),
    ("Asia/Kolkata", "13:30"),
    ("Asia/Tehran", "15:30"),
    ("Asia/Tokyo", "10:00"),
    ("Pacific/Apia", "06:00"),
]


@pytest.mark.parametrize("row", [*((2026, *row) for row in EVENINGS), *EVENINGS_OF_OTHER_YEARS])
def test_an_evening_stays_where_the_clock_says_over_each_change(row: tuple[int, str, *tuple[str, ...]]) -> None:
    year, zone, *evenings = row

    laid_out = found(DAILY, "19:00", zone, f"{year}-01-01", f"{year}-12-31")

    assert {f"{year}-{evening.replace(' > ', f' > {year}-')}" for evening in evenings} <= set(laid_out)


@pytest.mark.parametrize(("zone", "moment"), EVENINGS_WITHOUT_A_CHANGE)
def test_an_evening_is_at_one_time_where_the_clock_is_left_alone(zone: str, moment: str) -> None:
    laid_out = found(WEEKLY, "19:00", zone, "2026-01-04", "2026-12-27", on="SU")

    assert len(laid_out) == 52
    assert {evening[-5:] for evening in laid_out} == {moment}


# Zone, a date and a time that its clock skips that day, and the moment at which it does.
SKIPPED = [
    ("Africa/Cairo", "2026-04-24", "00:30", "2026-04-23 22:00"),
    ("Africa/Casablanca", "2026-03-22", "02:30", "2026-03-22 02:00"),
    ("America/Asuncion", "2024-10-06", "00:30", "2024-10-06 04:00"),
    ("America/Havana", "2025-03-09", "00:30", "2025-03-09 05:00"),
    ("America/Los_Angeles", "2026-03-08", "02:30", "2026-03-08 10:00"),
    ("America/New_York", "2026-03-08", "02:30", "2026-03-08 07:00"),
    ("America/Santiago", "2026-09-06", "00:30", "2026-09-06 04:00"),
    ("America/Sao_Paulo", "2018-11-04", "00:30", "2018-11-04 03:00"),
    ("Antarctica/Troll", "2026-03-29", "02:30", "2026-03-29 01:00"),
    ("Asia/Beirut", "2026-03-29", "00:30", "2026-03-28 22:00"),
    ("Asia/Gaza", "2026-03-28", "02:30", "2026-03-28 00:00"),
    ("Asia/Jerusalem", "2026-03-27", "02:30", "2026-03-27 00:00"),
    ("Asia/Tehran", "2022-03-22", "00:30", "2022-03-21 20:30"),
    ("Australia/Lord_Howe", "2026-10-04", "02:15", "2026-10-03 15:30"),
    ("Europe/Berlin", "2026-03-29", "02:30", "2026-03-29 01:00"),
    ("Europe/London", "2026-03-29", "01:30", "2026-03-29 01:00"),
    ("Pacific/Apia", "2011-12-30", "12:00", "2011-12-30 10:00"),
    ("Pacific/Auckland", "2026-09-27", "02:30", "2026-09-26 14:00"),
    ("Pacific/Chatham", "2026-09-27", "03:00", "2026-09-26 14:00"),
]
# Zone, a date and a time that its clock shows twice that day, and the first of the two moments.
REPEATED = [
    ("Africa/Cairo", "2026-10-29", "23:30", "2026-10-29 20:30"),
    ("Africa/Casablanca", "2026-02-15", "02:30", "2026-02-15 01:30"),
    ("America/Asuncion", "2024-03-23", "23:30", "2024-03-24 02:30"),
    ("America/Havana", "2025-11-02", "00:30", "2025-11-02 04:30"),
    ("America/Los_Angeles", "2026-11-01", "01:30", "2026-11-01 08:30"),
    ("America/New_York", "2026-11-01", "01:30", "2026-11-01 05:30"),
    ("America/Santiago", "2026-04-04", "23:30", "2026-04-05 02:30"),
    ("America/Sao_Paulo", "2018-02-17", "23:30", "2018-02-18 01:30"),
    ("Antarctica/Troll", "2026-10-25", "02:30", "2026-10-25 00:30"),
    ("Asia/Beirut", "2026-10-24", "23:30", "2026-10-24 20:30"),
    ("Asia/Gaza", "2026-10-24", "01:30", "2026-10-23 22:30"),
    ("Asia/Jerusalem", "2026-10-25", "01:30", "2026-10-24 22:30"),
    ("Asia/Tehran", "2022-09-21", "23:30", "2022-09-21 19:00"),
    ("Australia/Lord_Howe", "2026-04-05", "01:45", "2026-04-04 14:45"),
    ("Europe/Berlin", "2026-10-25", "02:30", "2026-10-25 00:30"),
    ("Europe/London", "2026-10-25", "01:30", "2026-10-25 00:30"),
    ("Pacific/Auckland", "2026-04-05", "02:30", "2026-04-04 13:30"),
    ("Pacific/Chatham", "2026-04-05", "03:00", "2026-04-04 13:15"),
]


@pytest.mark.parametrize(("zone", "date", "wall", "moment"), [*SKIPPED, *REPEATED])
def test_a_time_that_is_skipped_or_comes_twice_is_one_moment_of_its_date(
    zone: str, date: str, wall: str, moment: str
) -> None:
    assert found(DAILY, wall, zone, date, date) == [f"{date} > {moment}"]


def test_the_last_sunday_of_the_month_meets_the_skipped_and_the_repeated_hour() -> None:
    assert found(MONTHLY, "02:30", "Europe/Berlin", "2026-01-25", "2026-12-31", on="-1SU") == [
        "2026-01-25 > 2026-01-25 01:30",
        "2026-02-22 > 2026-02-22 01:30",
        "2026-03-29 > 2026-03-29 01:00",
        "2026-04-26 > 2026-04-26 00:30",
        "2026-05-31 > 2026-05-31 00:30",
        "2026-06-28 > 2026-06-28 00:30",
        "2026-07-26 > 2026-07-26 00:30",
        "2026-08-30 > 2026-08-30 00:30",
        "2026-09-27 > 2026-09-27 00:30",
        "2026-10-25 > 2026-10-25 00:30",
        "2026-11-29 > 2026-11-29 01:30",
        "2026-12-27 > 2026-12-27 01:30",
    ]


# ----------------------------------------------------------------------------------------------------------- month ends


def test_the_31st_or_the_last_day_in_berlin() -> None:
    assert found(MONTHLY, "19:00", "Europe/Berlin", "2026-01-31", "2026-12-31") == [
        "2026-01-31 > 2026-01-31 18:00",
        "2026-02-28 > 2026-02-28 18:00",
        "2026-03-31 > 2026-03-31 17:00",
        "2026-04-30 > 2026-04-30 17:00",
        "2026-05-31 > 2026-05-31 17:00",
        "2026-06-30 > 2026-06-30 17:00",
        "2026-07-31 > 2026-07-31 17:00",
        "2026-08-31 > 2026-08-31 17:00",
        "2026-09-30 > 2026-09-30 17:00",
        "2026-10-31 > 2026-10-31 18:00",
        "2026-11-30 > 2026-11-30 18:00",
        "2026-12-31 > 2026-12-31 18:00",
    ]


def test_the_31st_or_not_at_all_in_new_york_where_it_is_the_next_day_in_utc_in_winter() -> None:
    assert found(
        MONTHLY, "19:00", "America/New_York", "2026-01-31", "2026-12-31", month_end=MonthEnd.SKIP
    ) == [
        "2026-01-31 > 2026-02-01 00:00",
        "2026-03-31 > 2026-03-31 23:00",
        "2026-05-31 > 2026-05-31 23:00",
        "2026-07-31 > 2026-07-31 23:00",
        "2026-08-31 > 2026-08-31 23:00",
        "2026-10-31 > 2026-10-31 23:00",
        "2026-12-31 > 2027-01-01 00:00",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("month_end", "expected"),
    [
        (MonthEnd.LAST_DAY, ["2026-11-30 > 2026-11-29 11:30", "2027-02-28 > 2027-02-27 11:30"]),
        (MonthEnd.SKIP, ["2026-11-30 > 2026-11-29 11:30"]),
    ],
)
def test_each_quarter_from_30_november_in_auckland_where_it_is_the_day_before_in_utc(
    month_end: MonthEnd, expected: list[str]
) -> None:
    laid_out = found(MONTHLY, "00:30", "Pacific/Auckland", "2026-11-30", "2027-11-30", every=3, month_end=month_end)

    assert laid_out == [
        *expected,
        "2027-05-30 > 2027-05-29 12:30",
        "2027-08-30 > 2027-08-29 12:30",
        "2027-11-30 > 2027-11-29 11:30",
    ]


# ---------------------------------------------------------------------------------------------------------- 29 February


def test_29_february_or_the_last_day_over_a_year_of_a_century_without_one() -> None:
    laid_out = found(YEARLY, "09:00", "Europe/London", "2024-02-29", "2104-12-31", first="2095-01-01")

    assert laid_out == [
        "2095-02-28 > 2095-02-28 09:00",
        "2096-02-29 > 2096-02-29 09:00",
        "2097-02-28 > 2097-02-28 09:00",
        "2098-02-28 > 2098-02-28 09:00",
        "2099-02-28 > 2099-02-28 09:00",
        "2100-02-28 > 2100-02-28 09:00",
        "2101-02-28 > 2101-02-28 09:00",
        "2102-02-28 > 2102-02-28 09:00",
        "2103-02-28 > 2103-02-28 09:00",
        "2104-02-29 > 2104-02-29 09:00",
    ]


def test_29_february_or_not_at_all_comes_eight_years_apart_over_such_a_year() -> None:
    laid_out = found(
        YEARLY, "09:00", "Europe/London", "2024-02-29", "2104-12-31", first="2090-01-01", month_end=MonthEnd.SKIP
    )

    assert laid_out == [
        "2092-02-29 > 2092-02-29 09:00",
        "2096-02-29 > 2096-02-29 09:00",
        "2104-02-29 > 2104-02-29 09:00",
    ]


@pytest.mark.parametrize(
    ("month_end", "february"),
    [
        (MonthEnd.LAST_DAY, ["2025-02-28 > 2025-03-01 03:00"]),
        (MonthEnd.SKIP, []),
    ],
)
def test_the_29th_of_each_month_from_29_february_in_los_angeles(month_end: MonthEnd, february: list[str]) -> None:
    laid_out = found(
        MONTHLY, "19:00", "America/Los_Angeles", "2024-02-29", "2025-03-31", first="2025-01-01", month_end=month_end
    )

    assert laid_out == ["2025-01-29 > 2025-01-30 03:00", *february, "2025-03-29 > 2025-03-30 02:00"]


def test_every_twelve_months_from_29_february_is_every_year() -> None:
    assert found(MONTHLY, "23:30", "Pacific/Apia", "2024-02-29", "2028-12-31", every=12) == [
        "2024-02-29 > 2024-02-29 10:30",
        "2025-02-28 > 2025-02-28 10:30",
        "2026-02-28 > 2026-02-28 10:30",
        "2027-02-28 > 2027-02-28 10:30",
        "2028-02-29 > 2028-02-29 10:30",
    ]


def test_every_day_goes_through_29_february() -> None:
    assert found(DAILY, "19:00", "Asia/Kathmandu", "2028-02-28", "2028-03-01") == [
        "2028-02-28 > 2028-02-28 13:15",
        "2028-02-29 > 2028-02-29 13:15",
        "2028-03-01 > 2028-03-01 13:15",
    ]
