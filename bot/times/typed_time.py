"""
A date and a time as somebody typed them, taken apart; what they mean where is for :mod:`bot.times.when`.

A form is read only as far as it says what it means: a date with slashes or dashes may put the day or the month first.
"""

import calendar
import datetime as dt
import re
from dataclasses import dataclass

from bot.errors import BotError
from bot.message.escaping import escape
from bot.message.quoting import quoted

MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
"""The months in English, whatever the machine's language; the index is the month less one."""

_FIRST_YEAR, _LAST_YEAR = 1970, 2999
_LEAP_YEAR = 2000
_FOUR_DIGITS = 4
_HOURS_A_DAY = 24
_MINUTES_AN_HOUR = 60
# From the Line Islands to Baker Island. Source: the zone database's own offsets since 1970.
_MOST_WEST, _MOST_EAST = dt.timedelta(hours=-12), dt.timedelta(hours=14)

_DATE = (
    r"(?P<year_1>\d{4})(?P<mark_1>[-./])(?P<month_1>\d{1,2})(?P=mark_1)(?P<day_1>\d{1,2})"
    r"|(?P<day_2>\d{1,2})\. ?(?P<month_2>\d{1,2})(?:\.(?: ?(?P<year_2>\d{1,4}))?)?"
    r"|(?P<one>\d{1,2})(?P<mark_3>[-/])(?P<other>\d{1,2})(?:(?P=mark_3)(?P<year_3>\d{1,4}))?"
)
_TIME = r"(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2}(?:[.,]\d+)?))?"
# Hours in two digits: "19:30 +1" would rather mean the next day.
_OFFSET = r"(?: ?(?:Z|UTC|(?:UTC ?)?(?P<sign>[-+])(?P<east>\d{2})(?::?(?P<east_minutes>\d{2}))?)(?P<is_instant>))?"
_FLAGS = re.ASCII | re.IGNORECASE
_TYPED = re.compile(rf"(?:{_DATE})(?:(?: ?T ?| ?, ?| ){_TIME}{_OFFSET})?", _FLAGS)
_TIME_ALONE = re.compile(_TIME + _OFFSET, _FLAGS)
_HALF_DAY = re.compile(r"\d ?[ap]\.?m\b", _FLAGS)


class WhenError(BotError):
    """
    A typed time that is not taken.

    Its sentence is one printable line, of at most 400 characters, that can stand in a Discord message as it is: what
    was typed is cut and escaped in it.
    """


class UnreadableTimeError(WhenError):
    """What was typed is in no form that is read, or names a day or a time of day that no calendar has."""

    def __init__(self, text: str, why: str, hint: str) -> None:
        super().__init__(f"{shown(text)} {why}; {hint}.")
        self.text = text


@dataclass(frozen=True, slots=True)
class TypedTime:
    """
    What was typed, in numbers.

    ``days`` are the one or two (month, day) that it can mean, each a day of ``year`` or, where that was left out and is
    None, of a leap year. ``offset`` is None where a wall time was typed, not an instant.
    """

    year: int | None
    days: tuple[tuple[int, int], ...]
    time_of_day: dt.time
    offset: dt.timezone | None


def shown(text: str) -> str:
    """Return what was typed as a sentence shows it: its spaces evened, quoted, cut to 60 characters, escaped."""
    return escape(quoted(" ".join(text.split())))


def take_apart(text: str, *, hint: str) -> TypedTime:
    """
    Read a date and a time of day from ``text``, which may have spaces around it; letter case aside.

    ``hint`` ends the sentence of a refusal: what to type instead, without a full stop.

    Raises:
        UnreadableTimeError: it is in no form that is read, or its numbers are no date and time.
    """
    found = _TYPED.fullmatch(" ".join(text.split()))
    if found is None:
        raise UnreadableTimeError(text, _why_unreadable(text.strip()), hint)
    try:
        year, time_of_day = _year(found), _time_of_day(found)
        return TypedTime(year, _days(found, year), time_of_day, _offset(found))
    except ValueError as fault:
        raise UnreadableTimeError(text, str(fault), hint) from None


def _why_unreadable(text: str) -> str:
    if _TIME_ALONE.fullmatch(text):
        return "has no date"
    if any(char.isdigit() and not char.isascii() for char in text):
        return "has other digits than 0 to 9"
    if _HALF_DAY.search(text):
        return "has am or pm, which goes with one time of 1 to 12 hours, such as 8:30pm"
    return "cannot be read as a date and a time"


# The four below raise a ValueError whose text follows what was typed in the sentence.
def _year(found: re.Match[str]) -> int | None:
    year: str | None = found["year_1"] or found["year_2"] or found["year_3"]
    if year is None:
        return None
    if len(year) != _FOUR_DIGITS:
        raise ValueError("has a year that is not of four digits")
    if not _FIRST_YEAR <= int(year) <= _LAST_YEAR:
        raise ValueError(f"has the year {year}, which is not from {_FIRST_YEAR} to {_LAST_YEAR}")
    return int(year)


def _days(found: re.Match[str], year: int | None) -> tuple[tuple[int, int], ...]:
    orders = _orders(found)
    real = [(month, day) for month, day in orders if 1 <= day <= _length(year, month)]
    if real:
        return tuple(dict.fromkeys(real))
    month = next((month for month, _ in orders if _length(year, month)), None)
    if month is None:
        dotted = ", and with dots the day comes first" if found["day_2"] else ""
        raise ValueError(f"is not a real date: there is no month {orders[0][0]}{dotted}")
    of_year = "" if year is None else f" {year}"
    raise ValueError(f"is not a real date: {MONTHS[month - 1]}{of_year} has the days 1 to {_length(year, month)}")


def _orders(found: re.Match[str]) -> list[tuple[int, int]]:
    """Return each (month, day) that the form allows, real or not."""
    if found["one"]:
        one, other = int(found["one"]), int(found["other"])
        return [(other, one), (one, other)]
    return [(int(found["month_1"] or found["month_2"]), int(found["day_1"] or found["day_2"]))]


def _length(year: int | None, month: int) -> int:
    """Return how many days the month has, in a leap year if none is given; 0 where there is no such month."""
    return calendar.monthrange(year or _LEAP_YEAR, month)[1] if 1 <= month <= len(MONTHS) else 0


def _time_of_day(found: re.Match[str]) -> dt.time:
    if found["hour"] is None:
        raise ValueError("has no time of day")
    hour, minute = int(found["hour"]), int(found["minute"])
    if hour >= _HOURS_A_DAY or minute >= _MINUTES_AN_HOUR:
        midnight = ", and midnight is 00:00 of the day that begins then" if hour == _HOURS_A_DAY else ""
        raise ValueError(f"is not a real time: a day goes from 00:00 to 23:59{midnight}")
    if (found["second"] or "").strip("0.,"):
        raise ValueError("has seconds, but an event starts on the minute")
    return dt.time(hour, minute)


def _offset(found: re.Match[str]) -> dt.timezone | None:
    if found["is_instant"] is None:
        return None
    minutes = int(found["east_minutes"] or 0)
    east = dt.timedelta(hours=int(found["east"] or 0), minutes=minutes) * (-1 if found["sign"] == "-" else 1)
    if minutes >= _MINUTES_AN_HOUR or not _MOST_WEST <= east <= _MOST_EAST:
        raise ValueError("ends in an offset that no place has from UTC, as they go from -12:00 to +14:00")
    return dt.timezone(east)
