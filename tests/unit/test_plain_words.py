"""Days and times in plain words: what they mean from a given moment on, what is asked, and what is handed on."""

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.times.plain_words import time_in_figures
from bot.times.typed_date import AmbiguousDate, ReadDate, read_date
from bot.times.typed_time import WhenError
from bot.times.when import Ambiguous, Read, TimeInGapError, UnreadableTimeError, read_moment
from tests.builders import utc

# A Wednesday, six in the evening in Berlin.
WEDNESDAY = "2026-03-04 17:00"


def moments(text: str, timezone: str = "Europe/Berlin", *, now: str = WEDNESDAY) -> list[str]:
    """Return the moment that was read, or those that are asked about."""
    reading = read_moment(text, timezone=timezone, now=dt.datetime.fromisoformat(now).replace(tzinfo=dt.UTC))
    found = [reading.moment] if isinstance(reading, Read) else [option.moment for option in reading.options]
    return [f"{moment:%Y-%m-%d %H:%M}" for moment in found]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("fri 8pm", "2026-03-06 19:00"),
        ("Friday at 8:30 PM", "2026-03-06 19:30"),
        ("on friday, 20:30", "2026-03-06 19:30"),
        ("8pm fri", "2026-03-06 19:00"),
        ("thurs 20:00", "2026-03-05 19:00"),
        ("this sunday 8 p.m.", "2026-03-08 19:00"),
        ("today 20:00", "2026-03-04 19:00"),
        ("tonight at 8", None),
        ("tonight 8pm", "2026-03-04 19:00"),
        ("tomorrow 19:30", "2026-03-05 18:30"),
        ("Tomorrow at noon", "2026-03-05 11:00"),
        ("the day after tomorrow 9am", "2026-03-06 08:00"),
        ("in 3 days 8pm", "2026-03-07 19:00"),
        ("in a week at 19:30", "2026-03-11 18:30"),
        ("in 4 weeks at 19:30", "2026-04-01 17:30"),
        ("24 dec 19:30", "2026-12-24 18:30"),
        ("December 24, 2026 7:30pm", "2026-12-24 18:30"),
        ("24th of december 7.30 pm", "2026-12-24 18:30"),
        ("3 mar 8pm", "2027-03-03 19:00"),
        ("29 feb 10am", "2028-02-29 09:00"),
        ("2026-12-24 7:30 pm", "2026-12-24 18:30"),
        ("12/24 7:30PM", "2026-12-24 18:30"),
        ("24.12. 12am", "2026-12-23 23:00"),
        ("24.12. 12pm", "2026-12-24 11:00"),
    ],
)
def test_plain_words_are_the_next_such_time_by_the_clock_there(text: str, expected: str | None) -> None:
    if expected is None:
        with pytest.raises(UnreadableTimeError):
            moments(text)
    else:
        assert moments(text) == [expected]


@pytest.mark.parametrize(
    ("text", "now", "expected"),
    [
        pytest.param("9am", "2026-03-04 22:00", "2026-03-05 08:00", id="at eleven in the evening it is tomorrow"),
        pytest.param("8pm", "2026-03-04 17:00", "2026-03-04 19:00", id="before it, today"),
        pytest.param("19:30", "2026-03-04 18:30", "2026-03-05 18:30", id="exactly now, tomorrow"),
        pytest.param("saturday 8pm", "2026-03-08 12:00", "2026-03-14 19:00", id="on Sunday it is not yesterday"),
        pytest.param("wed 8pm", "2026-03-04 17:00", "2026-03-04 19:00", id="that day, still ahead"),
        pytest.param("wed 5pm", "2026-03-04 17:00", "2026-03-11 16:00", id="that day, already past"),
        pytest.param("fri 8pm", "2026-03-26 17:00", "2026-03-27 19:00", id="before the clock goes forward"),
        pytest.param("mon 8pm", "2026-03-26 17:00", "2026-03-30 18:00", id="after it has gone forward"),
    ],
)
def test_what_words_leave_open_lies_ahead(text: str, now: str, expected: str) -> None:
    assert moments(text, now=now) == [expected]


@pytest.mark.parametrize("timezone", ["UTC", "Pacific/Kiritimati", "America/Los_Angeles", "Asia/Kathmandu"])
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("in 5 minutes", "2026-03-04 17:05"),
        ("in 90 min", "2026-03-04 18:30"),
        ("in an hour", "2026-03-04 18:00"),
        ("In 2h 30m", "2026-03-04 19:30"),
        ("in 26 hours and 1 minute", "2026-03-05 19:01"),
    ],
)
def test_a_span_from_now_is_the_same_moment_in_every_zone(text: str, expected: str, timezone: str) -> None:
    assert moments(text, timezone) == [expected]


def test_a_span_from_now_ends_on_the_next_full_minute_and_spans_a_change_of_the_clock() -> None:
    assert moments("in 5 minutes", now="2026-03-04 17:00:00.000001") == ["2026-03-04 17:06"]
    assert moments("in 2 hours", now="2026-03-29 00:30") == ["2026-03-29 02:30"]


def test_next_friday_is_two_days_to_people_and_is_asked_about() -> None:
    reading = read_moment(
        "next friday 8pm", timezone="Europe/Berlin", now=dt.datetime(2026, 3, 4, 17, 0, tzinfo=dt.UTC)
    )

    assert isinstance(reading, Ambiguous)
    assert [option.label for option in reading.options] == ["6 March 2026, 20:00", "13 March 2026, 20:00"]
    assert reading.question == "'next friday 8pm' can be 6 March 2026 or 13 March 2026: which do you mean?"
    assert moments("next wednesday 8pm") == ["2026-03-11 19:00"]


def test_a_date_in_either_order_is_asked_about_with_a_half_day_too() -> None:
    assert moments("03/04 8pm", now="2026-01-05 12:00") == ["2026-03-04 19:00", "2026-04-03 18:00"]


def test_words_meet_the_skipped_and_the_repeated_hour_like_figures() -> None:
    with pytest.raises(TimeInGapError):
        moments("sun 2:30am", now="2026-03-27 12:00")
    assert moments("sun 2:30am", now="2026-10-23 12:00") == ["2026-10-25 00:30", "2026-10-25 01:30"]


@pytest.mark.parametrize("text", ["tomorrow", "fri", "in 3 days", "24 dec", "next friday"])
def test_a_day_alone_has_no_time_of_day(text: str) -> None:
    with pytest.raises(UnreadableTimeError) as told:
        moments(text)

    assert "has no time of day" in str(told.value)


@pytest.mark.parametrize(
    "text",
    ["8", "fri", "13pm tomorrow", "fri 25:00", "in", "in minutes", "someday 8pm", "8pm 9pm", "0pm", "fri sat 8pm"],
)
def test_what_is_not_known_is_refused_and_not_guessed(text: str) -> None:
    with pytest.raises(UnreadableTimeError):
        moments(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("today", [dt.date(2026, 3, 4)]),
        ("tomorrow", [dt.date(2026, 3, 5)]),
        ("sunday", [dt.date(2026, 3, 8)]),
        ("wed", [dt.date(2026, 3, 4)]),
        ("24 dec", [dt.date(2026, 12, 24)]),
        ("Dec 24th, 2027", [dt.date(2027, 12, 24)]),
        ("in 2 weeks", [dt.date(2026, 3, 18)]),
        ("next sunday", [dt.date(2026, 3, 8), dt.date(2026, 3, 15)]),
    ],
)
def test_the_days_of_a_series_are_typed_in_words_too(text: str, expected: list[dt.date]) -> None:
    reading = read_date(text, option="starts", today=dt.date(2026, 3, 4))

    found = [reading.date] if isinstance(reading, ReadDate) else [*reading.dates]
    assert found == expected
    assert isinstance(reading, AmbiguousDate) is (len(expected) > 1)


@pytest.mark.parametrize(
    ("text", "figures"),
    [
        ("19:30", "19:30"),
        ("9:30", "09:30"),
        (" 7pm ", "19:00"),
        ("7.30 p.m.", "19:30"),
        ("12:15 AM", "00:15"),
        ("noon", "12:00"),
        ("25:00", "25:00"),
        ("19pm", "19pm"),
        ("fri 8pm", "fri 8pm"),
    ],
)
def test_a_time_of_day_alone_is_turned_to_figures_or_left_as_it_is(text: str, figures: str) -> None:
    assert time_in_figures(text) == figures


WORDS = st.lists(
    st.sampled_from(
        [
            *("mon", "friday", "next", "this", "today", "tonight", "tomorrow", "noon", "8pm", "12am", "19:30", "0:00"),
            *(
                "in",
                "3",
                "a",
                "days",
                "week",
                "minutes",
                "9999",
                "hours",
                "24",
                "dec",
                "2026",
                "31",
                "feb",
                "29th",
                "of",
            ),
            *("at", "on", ",", "03/04", "2026-12-24", "Z", "+02:00"),
        ]
    ),
    min_size=1,
    max_size=5,
).map(" ".join)


FIRST, LAST = (utc(day).replace(tzinfo=None) for day in ("2020-01-01 00:00", "2090-01-01 00:00"))
MOMENTS = st.datetimes(FIRST, LAST, timezones=st.just(dt.UTC))
ZONES = st.sampled_from(["UTC", "Europe/Berlin", "America/Santiago", "Australia/Lord_Howe", "Pacific/Apia"])


@given(text=WORDS, now=MOMENTS, zone=ZONES)
def test_any_words_give_moments_ahead_or_a_sentence(text: str, now: dt.datetime, zone: str) -> None:
    try:
        reading = read_moment(text, timezone=zone, now=now)
    except WhenError as error:
        # Of one printable line.
        assert str(error).isprintable()  # noqa: PT017 -- either is right
        return

    found = [reading.moment] if isinstance(reading, Read) else [option.moment for option in reading.options]
    assert all(moment > now for moment in found)
    assert found == sorted(found)
