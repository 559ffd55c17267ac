"""What an admin types as a time: read rightly, asked about, or refused in one sentence; never guessed."""

import datetime as dt
import zoneinfo
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bot.times.known_timezones import known_timezones
from bot.times.when import (
    Ambiguous,
    PastTimeError,
    Read,
    Reading,
    TimeInGapError,
    TooFarAheadError,
    UnknownZoneError,
    UnreadableTimeError,
    WhenError,
    read_moment,
)

NOW = "2026-01-05 12:00"
MINUTE = dt.timedelta(minutes=1)
ZONES = sorted(known_timezones())


def utc(text: str) -> dt.datetime:
    return dt.datetime.fromisoformat(text).replace(tzinfo=dt.UTC)


def read(text: str, timezone: str = "Europe/Berlin", *, now: str = NOW) -> Reading:
    return read_moment(text, timezone=timezone, now=utc(now))


def moment(text: str, timezone: str = "Europe/Berlin", *, now: str = NOW) -> str:
    reading = read(text, timezone, now=now)
    assert isinstance(reading, Read)
    assert reading.moment.tzinfo is dt.UTC
    return f"{reading.moment:%Y-%m-%d %H:%M}"


def asked(text: str, timezone: str = "Europe/Berlin", *, now: str = NOW) -> tuple[str, dict[str, str]]:
    reading = read(text, timezone, now=now)
    assert isinstance(reading, Ambiguous)
    assert all(option.moment.tzinfo is dt.UTC for option in reading.options)
    options = {option.label: f"{option.moment:%Y-%m-%d %H:%M}" for option in reading.options}
    return plain(reading.question), options


def refused(error: type[WhenError], text: str, timezone: str = "Europe/Berlin", *, now: str = NOW) -> str:
    with pytest.raises(error) as caught:
        read(text, timezone, now=now)
    return plain(str(caught.value))


def plain(sentence: str) -> str:
    """Return a sentence as Discord shows it: the backslashes that escape what was typed are not seen."""
    return sentence.replace("\\", "")


# ------------------------------------------------------------------------------------------------------- what is read


@pytest.mark.parametrize(
    "text",
    [
        "2026-12-24T19:30",
        "2026-12-24t19:30",
        "2026-12-24 19:30",
        "  2026-12-24 \t 19:30\u00a0",
        "2026-12-24, 19:30",
        "2026-12-24T19:30:00",
        "2026-12-24T19:30:00.000",
        "2026/12/24 19:30",
        "2026.12.24 19:30",
        "24.12.2026 19:30",
        "24.12. 19:30",
        "24.12 19:30",
        "24. 12. 2026, 19:30",
        "24. 12. 19:30",
        "24/12/2026 19:30",
        "12/24/2026 19:30",
        "24/12 19:30",
        "12/24 19:30",
        "24-12-2026 19:30",
        "12-24 19:30",
        "2026-12-24T18:30Z",
        "2026-12-24 18:30 z",
        "2026-12-24 18:30 UTC",
        "2026-12-24T19:30+01:00",
        "2026-12-24 19:30 +0100",
        "2026-12-24T19:30+01",
        "2026-12-24 19:30 UTC+01:00",
        "2026-12-24T13:30-05:00",
        "2026-12-25T08:30+14:00",
        "2026-12-24T06:30-12:00",
        "24.12. 18:30Z",
        "<t:1798137000>",
        "<t:1798137000:F>",
        " <t:1798137000:R> ",
    ],
)
def test_every_form_of_one_evening_is_that_evening(text: str) -> None:
    assert moment(text) == "2026-12-24 18:30"


@pytest.mark.parametrize(
    ("text", "timezone", "expected"),
    [
        ("2026-12-24 7:30", "Europe/Berlin", "2026-12-24 06:30"),
        ("2026-3-9 7:05", "Europe/Berlin", "2026-03-09 06:05"),
        ("3.4.2026 0:00", "Europe/Berlin", "2026-04-02 22:00"),
        ("2026-02-28 23:59", "UTC", "2026-02-28 23:59"),
        ("2026-03-29 00:59", "Europe/London", "2026-03-29 00:59"),
        ("2026-03-29 02:00", "Europe/London", "2026-03-29 01:00"),
        ("2026-10-25 00:59", "Europe/London", "2026-10-24 23:59"),
        ("2026-10-25 02:00", "Europe/London", "2026-10-25 02:00"),
        ("2027-03-28 03:00", "Europe/Berlin", "2027-03-28 01:00"),
        ("2027-10-31 03:00", "Europe/Berlin", "2027-10-31 02:00"),
        ("2026-03-08 03:00", "America/New_York", "2026-03-08 07:00"),
        ("2026-11-01 02:00", "America/New_York", "2026-11-01 07:00"),
        ("2027-07-04 20:00", "America/St_Johns", "2027-07-04 22:30"),
        ("2026-06-01 19:30", "America/Santiago", "2026-06-01 23:30"),
        ("2026-12-01 19:30", "America/Santiago", "2026-12-01 22:30"),
        ("2026-02-20 21:00", "Africa/Casablanca", "2026-02-20 21:00"),
        ("2026-04-20 21:00", "Africa/Casablanca", "2026-04-20 20:00"),
        ("2026-07-01 20:00", "Africa/Cairo", "2026-07-01 17:00"),
        ("2027-03-28 01:00", "Asia/Beirut", "2027-03-27 22:00"),
        ("2026-05-05 20:00", "Asia/Kolkata", "2026-05-05 14:30"),
        ("2026-05-05 20:00", "Asia/Kathmandu", "2026-05-05 14:15"),
        ("2026-07-01 20:00", "Australia/Lord_Howe", "2026-07-01 09:30"),
        ("2027-01-01 20:00", "Australia/Lord_Howe", "2027-01-01 09:00"),
        ("2026-12-31 00:00", "Pacific/Chatham", "2026-12-30 10:15"),
        ("2026-01-06 10:00", "Pacific/Kiritimati", "2026-01-05 20:00"),
        ("2026-06-01 19:30", "Pacific/Apia", "2026-06-01 06:30"),
        ("2026-07-01 12:00", "Antarctica/Troll", "2026-07-01 10:00"),
    ],
)
def test_a_wall_time_is_the_instant_at_which_the_clock_there_shows_it(text: str, timezone: str, expected: str) -> None:
    assert moment(text, timezone) == expected


def test_an_instant_is_the_same_in_every_zone() -> None:
    assert {moment("2026-10-25 02:30+02:00", timezone) for timezone in ZONES[::9]} == {"2026-10-25 00:30"}


def test_an_offset_settles_a_repeated_hour() -> None:
    assert moment("2026-10-25 02:30+01:00") == "2026-10-25 01:30"


def test_a_timestamp_keeps_its_seconds() -> None:
    assert read("<t:1798137020:T>") == Read(utc("2026-12-24 18:30:20"))


@pytest.mark.parametrize(
    ("text", "now", "expected"),
    [
        pytest.param("5.1. 13:01", NOW, "2026-01-05 12:01", id="later today"),
        pytest.param("5.1. 13:00", NOW, "2027-01-05 12:00", id="exactly now"),
        pytest.param("4.1. 19:30", NOW, "2027-01-04 18:30", id="yesterday"),
        pytest.param("31.12. 23:30", "2026-12-31 22:29", "2026-12-31 22:30", id="a minute ahead in the old year"),
        pytest.param("1.1. 00:00", "2026-12-31 22:59", "2026-12-31 23:00", id="a minute ahead in the new year"),
        pytest.param("1.1. 00:00", "2026-12-31 23:30", "2027-12-31 23:00", id="the new year has come there"),
        pytest.param("29.2. 10:00", NOW, "2028-02-29 09:00", id="a leap day"),
        pytest.param("29/2 10:00", "2028-02-29 08:59", "2028-02-29 09:00", id="a leap day a minute ahead"),
        pytest.param("29.3. 02:30", "2026-03-29 01:00", "2027-03-29 00:30", id="the clock has just skipped it"),
    ],
)
def test_without_a_year_it_is_the_next_time_that_the_date_comes(text: str, now: str, expected: str) -> None:
    assert moment(text, now=now) == expected


def test_the_year_that_is_left_out_is_that_of_the_clock_there() -> None:
    new_year_in_utc = "2027-01-01 02:00"

    assert moment("31.12. 22:00", "America/New_York", now=new_year_in_utc) == "2027-01-01 03:00"
    assert moment("31.12. 22:00-05:00", "UTC", now=new_year_in_utc) == "2027-01-01 03:00"


def test_a_date_that_is_the_same_in_both_orders_is_not_asked_about() -> None:
    assert moment("05/05/2026 19:30") == "2026-05-05 17:30"


def test_with_dots_the_day_comes_first_and_nothing_is_asked() -> None:
    assert moment("03.04.2026 19:30") == "2026-04-03 17:30"
    assert moment("03.04. 19:30") == "2026-04-03 17:30"


def test_with_the_year_first_the_month_is_next_and_nothing_is_asked() -> None:
    assert moment("2026/03/04 19:30") == "2026-03-04 18:30"


# ------------------------------------------------------------------------------------------- what is asked about: dates


@pytest.mark.parametrize("text", ["03/04/2026 19:30", "3-4-2026 19:30", "03/04 19:30", "3/4 19:30", "03-04, 19:30"])
def test_a_date_in_either_order_is_asked_about(text: str) -> None:
    question, options = asked(text)

    assert question == f"'{text}' can be 4 March 2026 or 3 April 2026: which do you mean?"
    assert options == {"4 March 2026, 19:30": "2026-03-04 18:30", "3 April 2026, 19:30": "2026-04-03 17:30"}


def test_without_a_year_each_order_is_the_next_time_that_it_comes() -> None:
    _, options = asked("03/04 19:30", now="2026-03-20 12:00")

    assert options == {"3 April 2026, 19:30": "2026-04-03 17:30", "4 March 2027, 19:30": "2027-03-04 18:30"}


def test_when_one_order_has_passed_the_other_is_asked_about_all_the_same() -> None:
    question, options = asked("03/04/2026 19:30", now="2026-03-20 12:00")

    assert question == (
        "'03/04/2026 19:30' can be 4 March 2026 (which is not ahead) or 3 April 2026: do you mean 3 April 2026, 19:30?"
    )
    assert options == {"3 April 2026, 19:30": "2026-04-03 17:30"}


def test_when_one_order_is_skipped_by_the_clock_the_other_is_asked_about() -> None:
    question, options = asked("03/08/2026 02:30", "America/New_York")

    assert question == (
        "'03/08/2026 02:30' can be 8 March 2026 (when 02:30 does not exist in America/New_York) or 3 August 2026: "
        "do you mean 3 August 2026, 02:30?"
    )
    assert options == {"3 August 2026, 02:30": "2026-08-03 06:30"}


def test_when_one_order_is_too_far_ahead_the_other_is_asked_about() -> None:
    question, options = asked("01/03/2031 10:00", now="2026-02-01 12:00")

    assert "1 March 2031 (which is more than 5 years ahead)" in question
    assert options == {"3 January 2031, 10:00": "2031-01-03 09:00"}


def test_a_date_in_either_order_and_a_repeated_hour_are_asked_about_at_once() -> None:
    question, options = asked("11/01 01:30", "America/New_York", now="2026-10-20 12:00")

    assert question == (
        "'11/01 01:30' can be 1 November 2026 (when 01:30 comes twice in America/New_York) or 11 January 2027: "
        "which do you mean?"
    )
    assert options == {
        "1 November 2026, 01:30 EDT, the first": "2026-11-01 05:30",
        "1 November 2026, 01:30 EST, the second": "2026-11-01 06:30",
        "11 January 2027, 01:30": "2027-01-11 06:30",
    }


def test_an_instant_in_either_order_is_asked_about_by_its_own_offset() -> None:
    _, options = asked("03/04/2026 23:30Z")
    assert options == {"4 March 2026, 23:30 UTC": "2026-03-04 23:30", "3 April 2026, 23:30 UTC": "2026-04-03 23:30"}

    _, options = asked("11/01/2026 01:30-05:00", "America/New_York", now="2026-02-01 12:00")
    assert options == {"1 November 2026, 01:30 UTC-05:00": "2026-11-01 06:30"}


# ---------------------------------------------------------------------------------- what is asked about: repeated hours


@pytest.mark.parametrize("text", ["01:30", "1:30 am", "sun 1:30", "sunday 01:30", "today 01:30"])
def test_in_the_first_pass_of_an_hour_that_returns_its_second_one_is_asked_about(text: str) -> None:
    # 01:40 in London, twenty minutes before the clock goes back: 01:30 was ten minutes ago, and is in fifty again.
    question, options = asked(text, "Europe/London", now="2026-10-25 00:40")

    assert question.endswith("do you mean 25 October 2026, 01:30 GMT, the second?")
    assert options == {"25 October 2026, 01:30 GMT, the second": "2026-10-25 01:30"}


@pytest.mark.parametrize(
    ("text", "now", "expected"),
    [
        ("01:30", "2026-10-25 01:40", "2026-10-26 01:30"),  # both have been
        ("sun 01:30", "2026-10-25 01:40", "2026-11-01 01:30"),
        ("00:50", "2026-10-25 00:40", "2026-10-26 00:50"),  # before the hour that returns
        ("01:30", "2026-03-29 02:10", "2026-03-30 00:30"),  # skipped that day, which is no return
    ],
)
def test_what_comes_no_more_today_is_the_next_day_or_week(text: str, now: str, expected: str) -> None:
    assert moment(text, "Europe/London", now=now) == expected


@pytest.mark.parametrize(
    ("text", "timezone", "first", "second"),
    [
        (
            "2026-10-25 02:30",
            "Europe/Berlin",
            ("25 October 2026, 02:30 CEST, the first", "2026-10-25 00:30"),
            ("25 October 2026, 02:30 CET, the second", "2026-10-25 01:30"),
        ),
        (
            "31.10.2027 01:00",
            "Europe/London",
            ("31 October 2027, 01:00 BST, the first", "2027-10-31 00:00"),
            ("31 October 2027, 01:00 GMT, the second", "2027-10-31 01:00"),
        ),
        (
            "2026-11-01T01:59",
            "America/New_York",
            ("1 November 2026, 01:59 EDT, the first", "2026-11-01 05:59"),
            ("1 November 2026, 01:59 EST, the second", "2026-11-01 06:59"),
        ),
        (
            "2026-04-05 01:45",
            "Australia/Lord_Howe",
            ("5 April 2026, 01:45 UTC+11:00, the first", "2026-04-04 14:45"),
            ("5 April 2026, 01:45 UTC+10:30, the second", "2026-04-04 15:15"),
        ),
        (
            "2026-02-15 02:30",
            "Africa/Casablanca",
            ("15 February 2026, 02:30 UTC+01:00, the first", "2026-02-15 01:30"),
            ("15 February 2026, 02:30 UTC, the second", "2026-02-15 02:30"),
        ),
        (
            "2026-04-04 23:30",
            "America/Santiago",
            ("4 April 2026, 23:30 UTC-03:00, the first", "2026-04-05 02:30"),
            ("4 April 2026, 23:30 UTC-04:00, the second", "2026-04-05 03:30"),
        ),
        (
            "2026-10-24 23:00",
            "Asia/Beirut",
            ("24 October 2026, 23:00 EEST, the first", "2026-10-24 20:00"),
            ("24 October 2026, 23:00 EET, the second", "2026-10-24 21:00"),
        ),
        (
            "2026-04-05 02:45",
            "Pacific/Chatham",
            ("5 April 2026, 02:45 UTC+13:45, the first", "2026-04-04 13:00"),
            ("5 April 2026, 02:45 UTC+12:45, the second", "2026-04-04 14:00"),
        ),
        (
            "2026-10-25 01:30",
            "Antarctica/Troll",
            ("25 October 2026, 01:30 UTC+02:00, the first", "2026-10-24 23:30"),
            ("25 October 2026, 01:30 UTC, the second", "2026-10-25 01:30"),
        ),
    ],
)
def test_a_time_that_comes_twice_is_asked_about(
    text: str, timezone: str, first: tuple[str, str], second: tuple[str, str]
) -> None:
    question, options = asked(text, timezone)

    assert question == f"'{text}' comes twice in {timezone}, as the clock goes back there: which do you mean?"
    assert list(options.items()) == [first, second]


def test_two_offsets_of_one_name_are_told_apart() -> None:
    # Moscow went from +4 to +3 for good, and called both MSK.
    _, options = asked("2014-10-26 01:30", "Europe/Moscow", now="2014-10-01 12:00")

    assert list(options) == [
        "26 October 2014, 01:30 UTC+04:00, the first",
        "26 October 2014, 01:30 UTC+03:00, the second",
    ]


def test_between_the_two_the_second_is_asked_about_all_the_same() -> None:
    question, options = asked("25.10. 02:30", now="2026-10-25 00:30")

    assert question == (
        "'25.10. 02:30' comes twice in Europe/Berlin, as the clock goes back there: "
        "do you mean 25 October 2026, 02:30 CET, the second?"
    )
    assert options == {"25 October 2026, 02:30 CET, the second": "2026-10-25 01:30"}


# --------------------------------------------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("text", "timezone", "before", "after"),
    [
        ("2026-03-29 02:30", "Europe/Berlin", "01:59", "03:00"),
        ("2027-03-28 02:00", "Europe/Berlin", "01:59", "03:00"),
        ("2026-03-29 01:59", "Europe/London", "00:59", "02:00"),
        ("2027-03-14 02:59", "America/New_York", "01:59", "03:00"),
        ("2026-10-04 02:15", "Australia/Lord_Howe", "01:59", "02:30"),
        ("2026-09-27 02:45", "Pacific/Chatham", "02:44", "03:45"),
        ("2026-03-22 02:30", "Africa/Casablanca", "01:59", "03:00"),
        ("2026-03-29 01:30", "Antarctica/Troll", "00:59", "03:00"),
    ],
)
def test_a_time_that_the_clock_skips_is_refused_with_both_neighbours(
    text: str, timezone: str, before: str, after: str
) -> None:
    day = text[:10]

    assert refused(TimeInGapError, text, timezone) == (
        f"{text} does not exist in {timezone}: the clock goes from {before} to {after} that day; "
        f"type {day} {before} or {day} {after}."
    )


@pytest.mark.parametrize(
    ("text", "timezone", "before", "after"),
    [
        ("2026-03-29 00:30", "Asia/Beirut", "2026-03-28 23:59", "2026-03-29 01:00"),
        ("2026-04-24 00:00", "Africa/Cairo", "2026-04-23 23:59", "2026-04-24 01:00"),
        ("2027-09-05 00:59", "America/Santiago", "2027-09-04 23:59", "2027-09-05 01:00"),
        ("2026-03-28 23:30", "America/Nuuk", "2026-03-28 22:59", "2026-03-29 00:00"),
    ],
)
def test_the_neighbours_of_a_skipped_midnight_are_named_with_their_dates(
    text: str, timezone: str, before: str, after: str
) -> None:
    assert refused(TimeInGapError, text, timezone) == (
        f"{text} does not exist in {timezone}: the clock goes from {before} to {after}; type {before} or {after}."
    )


def test_a_day_that_was_skipped_whole_is_refused_with_the_days_round_it() -> None:
    assert refused(TimeInGapError, "2011-12-30 12:00", "Pacific/Apia", now="2011-12-01 12:00") == (
        "2011-12-30 12:00 does not exist in Pacific/Apia: the clock goes from 2011-12-29 23:59 to 2011-12-31 00:00; "
        "type 2011-12-29 23:59 or 2011-12-31 00:00."
    )


def test_a_skipped_time_without_a_year_is_told_with_its_year() -> None:
    assert refused(TimeInGapError, "29.03. 02:30").startswith("2026-03-29 02:30 does not exist in Europe/Berlin: ")


def test_both_neighbours_of_a_gap_can_be_typed() -> None:
    with pytest.raises(TimeInGapError) as caught:
        read("2026-10-04 02:15", "Australia/Lord_Howe")

    assert moment(caught.value.before.isoformat(), "Australia/Lord_Howe") == "2026-10-03 15:29"
    assert moment(caught.value.after.isoformat(), "Australia/Lord_Howe") == "2026-10-03 15:30"


def test_a_gap_is_told_where_the_other_order_has_passed() -> None:
    sentence = refused(TimeInGapError, "09/06/2026 00:30", "America/Santiago", now="2026-07-01 12:00")

    assert sentence.startswith("2026-09-06 00:30 does not exist in America/Santiago: ")


def test_a_skipped_time_that_has_passed_is_past() -> None:
    sentence = refused(PastTimeError, "2011-12-30 12:00", "Pacific/Apia")

    assert sentence.startswith("'2011-12-30 12:00' is 2011-12-30 12:00 in Pacific/Apia, which is not ahead: ")


@pytest.mark.parametrize(
    ("now", "is_ahead"),
    [
        pytest.param("2026-06-01 17:29", True, id="a minute ahead"),
        pytest.param("2026-06-01 17:29:59.999999", True, id="just ahead"),
        pytest.param("2026-06-01 17:30", False, id="exactly now"),
        pytest.param("2026-06-01 17:31", False, id="a minute ago"),
    ],
)
def test_a_time_is_taken_only_while_it_lies_ahead(now: str, is_ahead: bool) -> None:
    for text in ("2026-06-01 19:30", "2026-06-01T17:30Z", "<t:1780335000:f>"):
        if is_ahead:
            assert moment(text, now=now) == "2026-06-01 17:30"
        else:
            refused(PastTimeError, text, now=now)


@pytest.mark.parametrize(
    ("text", "read_as"),
    [
        ("2025-12-24 19:30", "2025-12-24 19:30"),
        ("2025-12-24T23:30Z", "2025-12-25 00:30"),
        ("<t:1766619000:F>", "2025-12-25 00:30"),
        ("1970-01-01 00:00", "1970-01-01 00:00"),
        ("2025-10-26 02:30", "2025-10-26 02:30"),
        ("03/04/2025 19:30", "2025-03-04 19:30 or 2025-04-03 19:30"),
    ],
)
def test_a_past_time_is_refused_with_what_was_read_and_the_time_there(text: str, read_as: str) -> None:
    assert refused(PastTimeError, text) == (
        f"'{text}' is {read_as} in Europe/Berlin, which is not ahead: it is 2026-01-05 13:00 there now; "
        "type a later time, such as 2026-01-06 19:30."
    )


def test_a_time_may_be_five_years_ahead_and_no_more() -> None:
    assert moment("2031-01-05 13:00") == "2031-01-05 12:00"
    assert refused(TooFarAheadError, "2031-01-05 13:01") == (
        "'2031-01-05 13:01' is 2031-01-05 13:01 in Europe/Berlin, more than 5 years ahead; "
        "type a time up to 2031-01-05 13:00."
    )


@pytest.mark.parametrize(
    "text", ["2999-12-31 23:59", "2999-12-31T23:59-12:00", "06/07/2036 19:30", "<t:9999999999:F>", "2031-10-26 02:30"]
)
def test_a_slip_of_the_year_is_refused(text: str) -> None:
    refused(TooFarAheadError, text)


def test_five_years_from_a_leap_day_end_on_the_28th() -> None:
    assert moment("2033-02-28 12:00", "UTC", now="2028-02-29 12:00") == "2033-02-28 12:00"
    refused(TooFarAheadError, "2033-02-28 12:01", "UTC", now="2028-02-29 12:00")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "cannot be read as a date and a time"),
        ("soon", "cannot be read as a date and a time"),
        ("19:30 2026-12-24", "cannot be read as a date and a time"),
        ("2026-12-24 19:30 CET", "cannot be read as a date and a time"),
        ("2026-12-24 19:30 Europe/Berlin", "cannot be read as a date and a time"),
        ("2026-12-24 19:30 +1", "cannot be read as a date and a time"),
        ("2026-12-24 19:30 - 21:00", "cannot be read as a date and a time"),
        ("2026-12-24 19", "cannot be read as a date and a time"),
        ("2026-12-24 19:3", "cannot be read as a date and a time"),
        ("2026-12/24 19:30", "cannot be read as a date and a time"),
        ("24/12. 19:30", "cannot be read as a date and a time"),
        ("20261-12-24 19:30", "cannot be read as a date and a time"),
        ("1798137000", "cannot be read as a date and a time"),
        ("<t:-1798137000:F>", "cannot be read as a date and a time"),
        ("<t:1798137000000:F>", "cannot be read as a date and a time"),
        ("<t:1798137000:X>", "cannot be read as a date and a time"),
        ("12/24 17:30PM", "has am or pm, which goes with one time of 1 to 12 hours, such as 8:30pm"),
        ("2026-12-24", "has no time of day"),
        ("24.12.", "has no time of day"),
        ("03/04", "has no time of day"),
        ("19:30Z", "has no date"),
        ("19.30", "has no time of day"),
        ("24.12.26 19:30", "has a year that is not of four digits"),
        ("26-12-24 19:30", "has a year that is not of four digits"),
        ("3/4/26", "has a year that is not of four digits"),
        ("24.12.226 19:30", "has a year that is not of four digits"),
        ("0000-12-24 19:30", "has the year 0000, which is not from 1970 to 2999"),
        ("1969-12-24 19:30", "has the year 1969, which is not from 1970 to 2999"),
        ("9999-12-31T23:59-12:00", "has the year 9999, which is not from 1970 to 2999"),
        ("2026-02-30 19:30", "is not a real date: February 2026 has the days 1 to 28"),
        ("2026-02-29 19:30", "is not a real date: February 2026 has the days 1 to 28"),
        ("2028-02-30 19:30", "is not a real date: February 2028 has the days 1 to 29"),
        ("30.2. 19:30", "is not a real date: February has the days 1 to 29"),
        ("31/04 19:30", "is not a real date: April has the days 1 to 30"),
        ("06/31/2026 19:30", "is not a real date: June 2026 has the days 1 to 30"),
        ("2026-00-10 19:30", "is not a real date: there is no month 0"),
        ("2026-13-10 19:30", "is not a real date: there is no month 13"),
        ("13/14 19:30", "is not a real date: there is no month 14"),
        ("0/5 19:30", "is not a real date: May has the days 1 to 31"),
        ("12.24.2026 19:30", "is not a real date: there is no month 24, and with dots the day comes first"),
        (
            "2026-12-24 24:00",
            "is not a real time: a day goes from 00:00 to 23:59, and midnight is 00:00 of the day that begins then",
        ),
        ("2026-12-24 25:00", "is not a real time: a day goes from 00:00 to 23:59"),
        ("2026-12-24 19:60", "is not a real time: a day goes from 00:00 to 23:59"),
        ("2026-12-24 19:30:01", "has seconds, but an event starts on the minute"),
        ("2026-12-24T19:30:00.5Z", "has seconds, but an event starts on the minute"),
        ("2026-12-24 23:59:60", "has seconds, but an event starts on the minute"),
        (
            "2026-12-24 19:30-21:00",
            "ends in an offset that no place has from UTC, as they go from -12:00 to +14:00",
        ),
        ("2026-12-24T19:30+14:01", "ends in an offset that no place has from UTC, as they go from -12:00 to +14:00"),
        ("2026-12-24T19:30-12:01", "ends in an offset that no place has from UTC, as they go from -12:00 to +14:00"),
        ("2026-12-24T19:30+01:60", "ends in an offset that no place has from UTC, as they go from -12:00 to +14:00"),
        ("\u0662\u0660\u0662\u0666-12-24 19:30", "has other digits than 0 to 9"),
        ("\uff12\uff10\uff12\uff16-12-24 19:30", "has other digits than 0 to 9"),
        ("2026-12-24 19:3\u00b2", "has other digits than 0 to 9"),
    ],
)
def test_what_cannot_be_read_is_refused_with_why_and_a_form_that_can(text: str, why: str) -> None:
    hint = "type it such as 2026-01-06 19:30, in the time of Europe/Berlin"

    assert refused(UnreadableTimeError, text) == f"'{text}' {why}; {hint}."
    assert moment("2026-01-06 19:30") == "2026-01-06 18:30"


def test_what_was_typed_is_cut_and_cannot_act_in_discord() -> None:
    with pytest.raises(UnreadableTimeError) as caught:
        read("<@&123> @everyone **bold**\n# [x](http://y) " + "z" * 10_000)

    assert str(caught.value) == (
        r"'\<\@&123\> \@everyone \*\*bold\*\* \# \[x\]\(http\://y\) zzzzzzzzzzzzzzz… "
        "cannot be read as a date and a time; type it such as 2026-01-06 19:30, in the time of Europe/Berlin."
    )
    assert caught.value.text.startswith("<@&123>")


@pytest.mark.parametrize(
    "timezone", ["Mars/Olympus", "Europe", "", "/etc/localtime", "../x", "a\0b", "\ud800", "x" * 999]
)
def test_a_zone_that_is_not_known_is_refused(timezone: str) -> None:
    sentence = refused(UnknownZoneError, "2026-12-24 19:30", timezone)

    assert sentence.startswith("The time cannot be read, as the zone database does not have '")
    assert sentence.endswith("; set this server's time zone again, to one such as Europe/London.")
    assert sentence.isprintable()
    assert len(sentence) <= 400


def test_a_naive_now_is_a_fault_of_the_caller() -> None:
    with pytest.raises(ValueError, match="an instant needs a zone"):
        read_moment("2026-12-24 19:30", timezone="UTC", now=dt.datetime(2026, 1, 5))  # noqa: DTZ001 - naive on purpose


# ----------------------------------------------------------------------------------------- properties of random inputs


def instants_of(wall: dt.datetime, zone: ZoneInfo) -> list[dt.datetime]:
    """Return every instant at which the clock shows ``wall``: the offsets of the days around it, tried one by one."""
    around = [wall.replace(tzinfo=dt.UTC) + dt.timedelta(hours=hours) for hours in range(-49, 50)]
    offsets = {instant.astimezone(zone).utcoffset() or dt.timedelta() for instant in around}
    tried = {wall.replace(tzinfo=dt.UTC) - offset for offset in offsets}
    return sorted(instant for instant in tried if instant.astimezone(zone).replace(tzinfo=None) == wall)


def walls_near_a_change(zone: ZoneInfo) -> list[dt.datetime]:
    """Return for each day of 2026 and 2027 on which the offset changes its midnight."""
    days = [utc("2026-01-02 00:00") + dt.timedelta(days=number) for number in range(725)]
    offsets = [day.astimezone(zone).utcoffset() for day in days]
    return [
        day.replace(tzinfo=None)
        for day, before, after in zip(days, offsets, offsets[1:], strict=False)
        if before != after
    ]


CHANGING = {key: walls_near_a_change(ZoneInfo(key)) for key in ZONES[::7]} | {
    key: walls_near_a_change(ZoneInfo(key))
    for key in ("Europe/London", "America/New_York", "Australia/Lord_Howe", "Asia/Beirut", "Africa/Casablanca")
}
NEAR_A_CHANGE = sorted((key, day) for key, days in CHANGING.items() for day in days)
ANY_WALL = st.tuples(
    st.sampled_from(ZONES),
    st.datetimes(dt.datetime(2025, 12, 1), dt.datetime(2031, 3, 1)),  # noqa: DTZ001 - wall times
)
WALL_NEAR_A_CHANGE = st.tuples(st.sampled_from(NEAR_A_CHANGE), st.integers(-12 * 60, 48 * 60)).map(
    lambda drawn: (drawn[0][0], drawn[0][1] + drawn[1] * MINUTE)
)


@given(ANY_WALL | WALL_NEAR_A_CHANGE)
def test_a_wall_time_in_any_zone_is_what_its_clock_shows(drawn: tuple[str, dt.datetime]) -> None:
    timezone, wall = drawn[0], drawn[1].replace(second=0, microsecond=0)
    zone, now = ZoneInfo(timezone), utc(NOW)
    horizon = utc("2031-01-05 12:00")
    instants = instants_of(wall, zone)
    ahead = [instant for instant in instants if now < instant <= horizon]

    try:
        reading = read_moment(wall.isoformat(), timezone=timezone, now=now)
    except TimeInGapError as gap:
        assert instants == []
        (before,), (after,) = instants_of(gap.before, zone), instants_of(gap.after, zone)
        assert after - before == MINUTE
        assert gap.before < wall < gap.after  # noqa: PT017 - either way is good
    except PastTimeError:
        assert wall < dt.datetime(2026, 1, 7)  # noqa: DTZ001 - a wall time
        assert all(instant <= now for instant in instants)
    except TooFarAheadError:
        assert instants[0] > horizon
    else:
        found = [reading.moment] if isinstance(reading, Read) else [option.moment for option in reading.options]
        assert found == ahead != []
        assert isinstance(reading, Read) == (len(instants) == 1)


@given(st.dates(dt.date(2026, 1, 7), dt.date(2030, 12, 31)), st.sampled_from("/-"), st.booleans())
def test_a_slashed_date_is_read_only_where_one_order_alone_is_real(day: dt.date, mark: str, day_first: bool) -> None:
    numbers = (day.day, day.month) if day_first else (day.month, day.day)
    reading = read(mark.join(map(str, (*numbers, day.year))) + " 12:00", "UTC")

    meant = dt.datetime.combine(day, dt.time(12), dt.UTC)
    if day.day > 12 or day.day == day.month:
        assert reading == Read(meant)
    else:
        assert isinstance(reading, Ambiguous)
        assert meant in [option.moment for option in reading.options]


def _is_sentence(text: str) -> bool:
    return text.isprintable() and len(text) <= 400 and text[-1] in ".?"


PIECES = st.sampled_from(
    [
        *"0123456789",
        *"::--//.. ",
        *"TZ+<>t,",
        "2026",
        "12",
        "24",
        "19:30",
        "UTC",
        "pm",
        "\0",
        "\u202e",
        "\U0001f389",
        "\u0663",
    ]
)


@given(st.text() | st.lists(PIECES, max_size=30).map("".join), st.sampled_from(ZONES))
@example("9" * 10_000, "UTC")
@example(" " * 10_000 + "2026-12-24 19:30", "UTC")
@example("\u202e" * 10_000, "UTC")
@example("\U0001f469\u200d\U0001f680" * 3_000, "UTC")
@example("\ud800", "UTC")
@example("\0", "UTC")
@example("<t:9999999999>", "Pacific/Kiritimati")
@example("11/01/2026 01:30" + " " * 100, "America/Argentina/ComodRivadavia")
def test_any_text_at_all_gives_a_moment_a_question_or_a_sentence(text: str, timezone: str) -> None:
    try:
        reading = read(text, timezone)
    except WhenError as error:
        assert _is_sentence(str(error))  # noqa: PT017 - either way is good
        return
    if isinstance(reading, Read):
        assert utc(NOW) < reading.moment
        return
    assert _is_sentence(reading.question)
    assert 1 <= len(reading.options) <= 4
    assert all(0 < len(option.label) <= 80 and option.label.isprintable() for option in reading.options)
    assert len({option.label for option in reading.options}) == len(reading.options)
    assert list(reading.options) == sorted(reading.options, key=lambda option: option.moment)


@given(st.text(max_size=40))
def test_any_zone_at_all_gives_a_moment_or_a_sentence(timezone: str) -> None:
    try:
        read("2026-12-24 19:30", timezone)
    except UnknownZoneError as error:
        assert timezone not in zoneinfo.available_timezones()
        assert _is_sentence(str(error))  # noqa: PT017 - either way is good
