"""A rule in words says what the rule does, and which days a clock change touches."""

import datetime as dt
from typing import Any

import pytest

from bot.times.recurrence import SeriesRule
from bot.times.rule_words import clock_notes, rule_in_words, span_in_words
from models.states import Frequency, MonthEnd

START = dt.date(2026, 3, 1)
YEAR = dt.timedelta(days=366)


def rule(**fields: Any) -> SeriesRule:  # noqa: ANN401 -- whatever a rule takes
    least: dict[str, Any] = {
        "frequency": Frequency.WEEKLY,
        "interval": 1,
        "day_of_week": None,
        "time_of_day": dt.time(19, 30),
        "timezone": "Europe/Paris",
        "starts_at": START,
        "ends_at": None,
        "month_end": MonthEnd.LAST_DAY,
    }
    return SeriesRule(**(least | fields))


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"frequency": Frequency.DAILY}, "every day"),
        ({"frequency": Frequency.DAILY, "interval": 3}, "every 3 days"),
        ({}, "every week on Sunday"),
        ({"day_of_week": "TU", "interval": 2}, "every 2 weeks on Tuesday"),
        ({"day_of_week": "MO,WE,FR"}, "every week on Monday, Wednesday and Friday"),
        ({"frequency": Frequency.MONTHLY}, "every month on day 1"),
        (
            {"frequency": Frequency.MONTHLY, "starts_at": dt.date(2026, 1, 31), "interval": 6},
            "every 6 months on day 31, else on the month's last,",
        ),
        (
            {"frequency": Frequency.MONTHLY, "starts_at": dt.date(2026, 1, 31), "month_end": MonthEnd.SKIP},
            "every month on day 31, in months that have it,",
        ),
        ({"frequency": Frequency.MONTHLY, "day_of_week": "2WE"}, "every month on the second Wednesday"),
        ({"frequency": Frequency.MONTHLY, "day_of_week": "-1FR"}, "every month on the last Friday"),
        (
            {"frequency": Frequency.MONTHLY, "day_of_week": "1MO,-2MO"},
            "every month on the first Monday and the second to last Monday",
        ),
        ({"frequency": Frequency.YEARLY}, "every year on 1 March"),
        (
            {"frequency": Frequency.YEARLY, "starts_at": dt.date(2028, 2, 29)},
            "every year on 29 February, else on the month's last,",
        ),
    ],
)
def test_a_rule_is_told_in_words(fields: dict[str, Any], words: str) -> None:
    assert rule_in_words(rule(**fields)) == f"{words} at 19:30 in Europe/Paris"


def test_the_underscores_of_a_zone_are_no_markup() -> None:
    told = rule_in_words(rule(timezone="America/North_Dakota/New_Salem"))

    assert told.endswith(r"America/North\_Dakota/New\_Salem")


def test_the_span_says_from_when_and_until_when() -> None:
    assert span_in_words(rule()) == "from 1 March 2026, without end"
    assert span_in_words(rule(ends_at=dt.date(2026, 12, 24))) == "from 1 March 2026, until 24 December 2026"


def test_a_time_that_the_clock_skips_and_one_that_it_shows_twice_are_named_with_their_day() -> None:
    nightly = rule(frequency=Frequency.DAILY, time_of_day=dt.time(2, 30))

    assert clock_notes(nightly, START, START + YEAR) == (
        "On 29 March 2026 the clock in Europe/Paris skips 02:30: that one begins at 03:00.",
        "On 25 October 2026 the clock in Europe/Paris shows 02:30 twice: that one begins at the first.",
    )


@pytest.mark.parametrize(
    ("last", "notes"), [(dt.date(2026, 3, 28), 0), (dt.date(2026, 3, 29), 1)], ids=["the day before", "that day"]
)
def test_only_the_days_that_are_asked_for_are_looked_at(last: dt.date, notes: int) -> None:
    nightly = rule(frequency=Frequency.DAILY, time_of_day=dt.time(2, 30))

    assert len(clock_notes(nightly, START, last)) == notes


def test_an_evening_is_touched_by_no_change() -> None:
    assert clock_notes(rule(frequency=Frequency.DAILY), START, START + YEAR) == ()


def test_a_gap_over_midnight_names_the_day_on_which_it_ends() -> None:
    midnight = rule(frequency=Frequency.DAILY, time_of_day=dt.time(0, 0), timezone="America/Santiago")

    (gap,) = clock_notes(midnight, dt.date(2026, 9, 1), dt.date(2026, 9, 30))

    assert gap == "On 6 September 2026 the clock in America/Santiago skips 00:00: that one begins at 01:00."


def test_a_day_that_a_zone_left_out_is_named_with_the_next_one() -> None:
    noon = rule(frequency=Frequency.DAILY, timezone="Pacific/Apia", starts_at=dt.date(2011, 12, 1))

    (gap,) = clock_notes(noon, dt.date(2011, 12, 29), dt.date(2011, 12, 31))

    assert gap == (
        "On 30 December 2011 the clock in Pacific/Apia skips 19:30: that one begins at 31 December 2011, 00:00."
    )


def test_of_many_notes_three_are_told() -> None:
    nightly = rule(frequency=Frequency.DAILY, time_of_day=dt.time(2, 30))

    assert len(clock_notes(nightly, START, START + 5 * YEAR)) == 3
