"""
A day or a time in plain words, such as ``fri 8pm``, ``tomorrow at noon``, ``24 dec 19:30`` or ``in 20 minutes``.

A pure function of the text and of what the clock shows there. What words leave open is the next that lies ahead; where
people mean two things by one word, as by ``next friday``, both come back. Whatever is not known here is handed on.
"""

import datetime as dt
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from bot.times.typed_time import MONTHS

_WEEKDAYS: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_NOON: Final = 12
_DAY: Final = dt.timedelta(days=1)
_WEEK: Final = 7 * _DAY

# Many write Tues, Thurs and Sept.
_WEEKDAY: Final = (
    r"(?P<weekday>mon(?:day)?|tue(?:s|sday)?|wed(?:nesday)?|thu(?:r|rs|rsday)?|fri(?:day)?|sat(?:urday)?|sun(?:day)?)"
)
_MONTH: Final = (
    r"(?P<month>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?"
    r"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?"
)
_NUMBER: Final = r"(?P<day>[0-9]{1,2})(?:st|[nr]d|th|\.)?"
_YEAR: Final = r"(?: (?P<year>[0-9]{4}))?"

_HALF_DAY: Final = re.compile(
    r"(?<![\w.:/-])(?P<hour>0?[1-9]|1[0-2])(?:[:.](?P<minute>[0-5][0-9]))? ?(?P<half>[ap])\.?m\b\.?"
)
_NOON_WORD: Final = re.compile(r"(?<!\S)noon(?!\S)")
_WALL_TIME: Final = re.compile(r"(?<!\S)(?P<hour>[01]?[0-9]|2[0-3]):(?P<minute>[0-5][0-9])(?!\S)")
_SOON: Final = re.compile(
    r"in(?: (?P<hours>[0-9]{1,4}|an?) ?(?:h|hrs?|hours?))?"
    r"(?:(?: and)? (?P<minutes>[0-9]{1,4}|a) ?(?:m|mins?|minutes?))?"
)
_DAYS: Final = re.compile(r"in (?P<number>[0-9]{1,4}|a) (?P<unit>days?|weeks?)")
_OF_A_WEEK: Final = re.compile(rf"(?:(?P<which>this|next) )?{_WEEKDAY}")
_OF_A_MONTH: Final = (re.compile(rf"{_NUMBER}(?: of)? {_MONTH}{_YEAR}"), re.compile(rf"{_MONTH} {_NUMBER}{_YEAR}"))
_FROM_TODAY: Final = {"today": 0, "tonight": 0, "tomorrow": 1, "the day after tomorrow": 2, "day after tomorrow": 2}


@dataclass(frozen=True, slots=True)
class Walls:
    """The one or two wall times that words can mean, in order."""

    times: tuple[dt.datetime, ...]


@dataclass(frozen=True, slots=True)
class Soon:
    """A span from now on, whatever any clock shows."""

    span: dt.timedelta


InWords: TypeAlias = Walls | Soon | str
"""What was read; a text was not understood here, or only its words were turned to figures: another reader goes on."""


def read_words(text: str, *, clock: dt.datetime, comes_again: Callable[[dt.datetime], bool] | None = None) -> InWords:
    """
    Read a day and a time of day; ``clock`` is what the clock shows there, without a zone.

    ``comes_again`` tells of a time that has been whether the clock shows it once more, as it goes back; None: never.
    """

    def is_over(wall: dt.datetime) -> bool:
        return wall <= clock and not (comes_again is not None and comes_again(wall))

    plain = _plain(text)
    if soon := _soon(plain):
        return soon
    figures = _in_figures(plain)
    times = list(_WALL_TIME.finditer(figures))
    if len(times) != 1:
        words = day_in_words(text, today=clock.date())
        return words if isinstance(words, str) else text
    (found,) = times
    time = dt.time(int(found["hour"]), int(found["minute"]))
    day = " ".join(f"{figures[: found.start()]} {figures[found.end() :]}".split())
    if not day:
        today = dt.datetime.combine(clock.date(), time)
        return Walls((today + _DAY if is_over(today) else today,))
    words = day_in_words(day, today=clock.date())
    if isinstance(words, str):
        # A date in figures: as it was typed, but for the half of the day or the month's name.
        return text if (figures, words) == (plain, day) else f"{words} {time:%H:%M}"
    walls = [dt.datetime.combine(date, time) for date in words]
    if _OF_A_WEEK.fullmatch(day) and is_over(walls[0]):
        walls = [wall + _WEEK for wall in walls]
    return Walls(tuple(walls))


def day_in_words(text: str, *, today: dt.date) -> tuple[dt.date, ...] | str:
    """Read a day alone: one date, two that were perhaps meant, or text for another reader."""
    plain = _plain(text)
    if plain in _FROM_TODAY:
        return (today + _FROM_TODAY[plain] * _DAY,)
    if found := _DAYS.fullmatch(plain):
        return (today + _number(found["number"]) * (_WEEK if found["unit"].startswith("week") else _DAY),)
    if found := _OF_A_WEEK.fullmatch(plain):
        return _of_a_week(found, today)
    found = next((found for form in _OF_A_MONTH if (found := form.fullmatch(plain))), None)
    return text if found is None else _of_a_month(found)


def time_in_figures(text: str) -> str:
    """Return a time of day alone as ``09:30``, however it was typed: ``9:30``, ``9.30 am``; else the text."""
    found = _WALL_TIME.fullmatch(_in_figures(_plain(text)))
    return text if found is None else f"{int(found['hour']):02}:{found['minute']}"


def _of_a_week(found: re.Match[str], today: dt.date) -> tuple[dt.date, ...]:
    wanted = _index_of(found["weekday"], _WEEKDAYS)
    coming = today + (wanted - today.weekday()) % len(_WEEKDAYS) * _DAY
    if found["which"] != "next":
        return (coming,)
    # Of this week to some, of the week after to others; today itself to nobody.
    return (coming, coming + _WEEK) if coming > today else (coming + _WEEK,)


def _of_a_month(found: re.Match[str]) -> str:
    """Return a date in figures that are read one way alone: with dots the day comes first."""
    return f"{found['day']}.{_index_of(found['month'], MONTHS) + 1}.{found['year'] or ''}"


def _index_of(word: str, names: Sequence[str]) -> int:
    return next(number for number, name in enumerate(names) if name.casefold().startswith(word[:3]))


def _plain(text: str) -> str:
    words = text.casefold().replace(",", " ").split()
    return " ".join(word for word in words if word not in {"at", "on"})


def _soon(plain: str) -> Soon | None:
    found = _SOON.fullmatch(plain)
    if found is None or not (found["hours"] or found["minutes"]):
        return None
    return Soon(dt.timedelta(hours=_number(found["hours"]), minutes=_number(found["minutes"])))


def _number(word: str | None) -> int:
    if word is None:
        return 0
    return int(word) if word.isdigit() else 1


def _in_figures(plain: str) -> str:
    """Return the text with every half of a day turned to the hours from 0 to 23."""
    return _HALF_DAY.sub(_in_24_hours, _NOON_WORD.sub("12:00", plain))


def _in_24_hours(found: re.Match[str]) -> str:
    hour = int(found["hour"]) % _NOON + (_NOON if found["half"] == "p" else 0)
    return f"{hour:02}:{found['minute'] or '00'}"
