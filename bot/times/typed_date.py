"""
A day as an admin typed it: one date, or two that were perhaps meant; never a guess.

A pure function of the text and of today.
"""

import calendar
import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from bot.times.plain_words import day_in_words
from bot.times.typed_time import MONTHS, UnreadableTimeError, WhenError, shown, take_apart

YEARS_TO_A_DATE: Final = 9
"""29 February comes within eight years, counting over a 2100 without one."""


class UnreadableDateError(WhenError):
    """What was typed is no day of the calendar in a form that is read."""

    def __init__(self, text: str, *, option: str, today: dt.date) -> None:
        super().__init__(f"{option} {shown(text)} is no date that can be read; type it such as {today.isoformat()}.")
        self.text = text


@dataclass(frozen=True, slots=True)
class ReadDate:
    """The one day that was meant."""

    date: dt.date


@dataclass(frozen=True, slots=True)
class AmbiguousDate:
    """Two days that were perhaps meant, in order, and the sentence that asks which."""

    question: str
    dates: tuple[dt.date, ...]


DateReading: TypeAlias = ReadDate | AmbiguousDate


def in_words(date: dt.date) -> str:
    """Return a date that cannot be misread: ``3 April 2026``."""
    return f"{date.day} {MONTHS[date.month - 1]} {date.year}"


def read_date(text: str, *, option: str, today: dt.date) -> DateReading:
    """
    Read a day that was typed for ``option``; without a year it is the next such day from ``today`` on.

    A date that may begin with its day or its month, such as ``03/04``, is asked about. Plain words are those of
    :mod:`bot.times.plain_words`.

    Raises:
        WhenError: it cannot be read.
    """
    words = day_in_words(text, today=today)
    if not isinstance(words, str):
        return _read(words, text, option)
    try:
        # Read as the midnight of that day: one reader knows every form of a date.
        typed = take_apart(f"{words} 00:00", hint="")
    except UnreadableTimeError:
        raise UnreadableDateError(text, option=option, today=today) from None
    return _read(sorted({_date(typed.year, month, day, today) for month, day in typed.days}), text, option)


def _read(dates: Sequence[dt.date], text: str, option: str) -> DateReading:
    if len(dates) == 1:
        return ReadDate(dates[0])
    either = " or ".join(in_words(date) for date in dates)
    return AmbiguousDate(f"{option} {shown(text)} can be {either}: which do you mean?", tuple(dates))


def _date(year: int | None, month: int, day: int, today: dt.date) -> dt.date:
    if year is not None:
        return dt.date(year, month, day)
    years = range(today.year, today.year + YEARS_TO_A_DATE)
    dates = [dt.date(one, month, day) for one in years if day <= calendar.monthrange(one, month)[1]]
    return next(date for date in dates if date >= today)
