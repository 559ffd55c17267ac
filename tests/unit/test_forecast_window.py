"""How far a forecast looks."""

import datetime as dt

import pytest

from bot.events.requests import RequestRefusedError
from bot.reminders.forecast import Window

NOON = dt.datetime(2026, 3, 1, 12, 0, tzinfo=dt.UTC)


def test_a_window_begins_now_and_ends_before_the_same_moment_of_its_last_day() -> None:
    window = Window.of_days(60, now=NOON, most=60)

    assert window == Window(NOON, dt.datetime(2026, 4, 30, 12, 0, tzinfo=dt.UTC))
    assert window.holds(NOON)
    assert not window.holds(window.end)


@pytest.mark.parametrize("days", [0, 61, 1 - 2**53, 2**53 - 1])
def test_a_window_of_no_or_too_many_days_is_refused_in_words(days: int) -> None:
    says = f"days {days} is not allowed; it must be a whole number from 1 to 60."

    with pytest.raises(RequestRefusedError, match=says):
        Window.of_days(days, now=NOON, most=60)
