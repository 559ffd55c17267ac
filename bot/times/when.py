"""
When one event is to begin, from what an admin typed: one instant, a question, or a refusal; never a guess.

For a new event, an extra one of a series, and one that is moved; the time of day of a series is no such moment. A pure
function of the text, the zone and the moment it was typed at.
"""

import calendar
import datetime as dt
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from dateutil.relativedelta import relativedelta

from bot.times.plain_words import Soon, Walls, day_in_words, read_words
from bot.times.recurrence import resolve_wall_time
from bot.times.typed_date import YEARS_TO_A_DATE
from bot.times.typed_time import MONTHS, TypedTime, UnreadableTimeError, WhenError, shown, take_apart
from bot.times.when_refused import (
    MOST_YEARS_AHEAD,
    PastTimeError,
    TimeInGapError,
    TooFarAheadError,
    UnknownZoneError,
    in_figures,
)

__all__ = [
    "Ambiguous",
    "Option",
    "PastTimeError",
    "Read",
    "Reading",
    "TimeInGapError",
    "TooFarAheadError",
    "UnknownZoneError",
    "UnreadableTimeError",
    "WhenError",
    "read_moment",
]

_MINUTE = dt.timedelta(minutes=1)
_DAY = dt.timedelta(days=1)
# Source: Discord's reference, "Message Formatting"; ten digits reach the year 2286.
_TIMESTAMP = re.compile(r"<t:([0-9]{1,10})(?::[tTdDfFsSR])?>")


@dataclass(frozen=True, slots=True)
class Option:
    """One moment that was perhaps meant, in aware UTC; ``label`` is what a button says, of at most 80 characters."""

    label: str
    moment: dt.datetime


@dataclass(frozen=True, slots=True)
class Read:
    """The moment that was meant, in aware UTC; it lies ahead."""

    moment: dt.datetime


@dataclass(frozen=True, slots=True)
class Ambiguous:
    """
    More than one moment was perhaps meant: one sentence that asks which, ready for Discord, and what lies ahead.

    ``options`` are one to four in their order in time. One alone where the others have passed or do not exist: it is
    asked about all the same.
    """

    question: str
    options: tuple[Option, ...]


Reading: TypeAlias = Read | Ambiguous


@dataclass(frozen=True, slots=True)
class _Place:
    """Where the clock is that the time was typed by, and when that was."""

    zone: ZoneInfo
    now: dt.datetime

    def local(self, moment: dt.datetime) -> dt.datetime:
        """Return the naive time that the clock shows at ``moment``."""
        return moment.astimezone(self.zone).replace(tzinfo=None)

    @property
    def clock(self) -> dt.datetime:
        return self.local(self.now)

    @property
    def horizon(self) -> dt.datetime:
        return self.now + relativedelta(years=MOST_YEARS_AHEAD)

    @property
    def example(self) -> str:
        return f"{(self.clock + _DAY).date()} 19:30"


@dataclass(frozen=True, slots=True)
class _Candidate:
    """
    One date that was perhaps meant.

    ``wall`` is the naive time by ``clock``, the zone or the offset that was typed. ``moments`` are two where the clock
    shows it twice; where it skips it, the one at which it does.
    """

    wall: dt.datetime
    clock: dt.tzinfo
    moments: tuple[dt.datetime, ...]
    is_skipped: bool = False


def read_moment(text: str, *, timezone: str, now: dt.datetime) -> Reading:
    """
    Read the start of one event that was typed by the clock of ``timezone``, an IANA key, at the aware ``now``.

    A year that was left out is that in which the date comes next. A date that may begin with its day or its month is
    asked about, and so is a time that comes twice. With ``Z``, an offset or as Discord's timestamp it is an instant.
    Plain words are those of :mod:`bot.times.plain_words`.

    Raises:
        WhenError: it cannot be read, does not exist there, does not lie ahead, or lies more than five years ahead.
        ValueError: ``now`` is naive.
    """
    if now.tzinfo is None:
        raise ValueError("an instant needs a zone")
    place = _Place(_zone(timezone), now.astimezone(dt.UTC))
    candidates = _candidates(text, place)
    options = [option for candidate in candidates for option in _options(candidate, place)]
    if not options:
        raise _refusal(text, candidates, place)
    if len(candidates) == len(candidates[0].moments) == 1:
        return Read(options[0].moment)
    return Ambiguous(_question(text, candidates, options, place), tuple(options))


def _zone(key: str) -> ZoneInfo:
    try:
        return ZoneInfo(key)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        # OSError: the key names a folder of the database, or is too long for a file's name.
        raise UnknownZoneError(key) from None


def _candidates(text: str, place: _Place) -> list[_Candidate]:
    """Return the one or two dates that the text can mean, in their order in time."""
    if stamp := _TIMESTAMP.fullmatch(text.strip()):
        moment = dt.datetime.fromtimestamp(int(stamp[1]), dt.UTC)
        return [_Candidate(place.local(moment), place.zone, (moment,))]
    words = read_words(text, clock=place.clock, comes_again=partial(_comes_again, place))
    if isinstance(words, Soon):
        moment = _next_minute(place.now + words.span)
        return [_Candidate(place.local(moment), place.zone, (moment,))]
    if isinstance(words, Walls):
        return [_candidate(wall, None, place) for wall in words.times]
    hint = f"type it such as {place.example}, in the time of {place.zone.key}"
    if not isinstance(day_in_words(text, today=place.clock.date()), str):
        raise UnreadableTimeError(text, "has no time of day", hint)
    typed = take_apart(words, hint=hint)
    return sorted((_next(typed, *day, place) for day in typed.days), key=lambda candidate: candidate.moments)


def _comes_again(place: _Place, wall: dt.datetime) -> bool:
    """Return whether the clock still shows this time once more, as it goes back: not for one that it skips."""
    candidate = _candidate(wall, None, place)
    return len(candidate.moments) > 1 and candidate.moments[-1] > place.now


def _next_minute(moment: dt.datetime) -> dt.datetime:
    """Return the moment, or the next full minute after it: an event starts on the minute."""
    minute = moment.replace(second=0, microsecond=0)
    return minute if minute == moment else minute + _MINUTE


def _next(typed: TypedTime, month: int, day: int, place: _Place) -> _Candidate:
    """Return the date in its year; without one in the first in which it lies ahead."""
    this_year = place.now.astimezone(typed.offset or place.zone).year
    years = range(this_year, this_year + YEARS_TO_A_DATE) if typed.year is None else (typed.year,)
    dates = [dt.date(year, month, day) for year in years if day <= calendar.monthrange(year, month)[1]]
    found = [_candidate(dt.datetime.combine(date, typed.time_of_day), typed.offset, place) for date in dates]
    return next((candidate for candidate in found if candidate.moments[-1] > place.now), found[-1])


def _candidate(wall: dt.datetime, offset: dt.timezone | None, place: _Place) -> _Candidate:
    clock = offset or place.zone
    early, late = (wall.replace(tzinfo=clock, fold=fold).astimezone(dt.UTC) for fold in (0, 1))
    if early > late:
        # PEP 495: only in a gap does fold=0 name the later instant.
        return _Candidate(wall, clock, (resolve_wall_time(wall, place.zone),), is_skipped=True)
    return _Candidate(wall, clock, (early,) if early == late else (early, late))


def _options(candidate: _Candidate, place: _Place) -> list[Option]:
    if candidate.is_skipped:
        return []
    labels = [f"{_date(candidate.wall)}, {candidate.wall:%H:%M}{name}" for name in _names(candidate, place)]
    return [
        Option(label, moment)
        for label, moment in zip(labels, candidate.moments, strict=True)
        if place.now < moment <= place.horizon
    ]


def _names(candidate: _Candidate, place: _Place) -> Sequence[str]:
    """Return what tells the moments apart, or of an instant its offset."""
    if candidate.clock is not place.zone:
        return [f" {candidate.clock.tzname(None)}"]
    if len(candidate.moments) == 1:
        return [""]
    there = [moment.astimezone(place.zone) for moment in candidate.moments]
    names = [moment.tzname() or "" for moment in there]
    if names[0] == names[1] or not all(name.isalpha() for name in names):
        names = [str(dt.timezone(moment.utcoffset() or dt.timedelta())) for moment in there]
    return [f" {name}, the {place_in_order}" for name, place_in_order in zip(names, ("first", "second"), strict=True)]


def _question(text: str, candidates: Sequence[_Candidate], options: Sequence[Option], place: _Place) -> str:
    if len(candidates) == 1:
        begins = f"{shown(text)} comes twice in {place.zone.key}, as the clock goes back there"
    else:
        dates = [_date(candidate.wall) + _remark(candidate, place) for candidate in candidates]
        begins = f"{shown(text)} can be {' or '.join(dates)}"
    return f"{begins}: " + ("which do you mean?" if len(options) > 1 else f"do you mean {options[0].label}?")


def _remark(candidate: _Candidate, place: _Place) -> str:
    """Return in brackets what a person should know of one of two dates."""
    if candidate.moments[-1] <= place.now:
        return " (which is not ahead)"
    if candidate.moments[0] > place.horizon:
        return f" (which is more than {MOST_YEARS_AHEAD} years ahead)"
    if candidate.is_skipped:
        return f" (when {candidate.wall:%H:%M} does not exist in {place.zone.key})"
    if len(candidate.moments) > 1:
        return f" (when {candidate.wall:%H:%M} comes twice in {place.zone.key})"
    return ""


def _refusal(text: str, candidates: Sequence[_Candidate], place: _Place) -> WhenError:
    """Return why none of the dates can be taken; a gap first, since that one is nearest to what can."""
    for candidate in candidates:
        (*_, moment) = candidate.moments
        if candidate.is_skipped and place.now < moment <= place.horizon:
            before, after = place.local(moment - _MINUTE), place.local(moment)
            return TimeInGapError(candidate.wall, before=before, after=after, timezone=place.zone.key)
    read = " or ".join(_read_as(candidate, place) for candidate in candidates)
    key = place.zone.key
    if candidates[0].moments[0] > place.now:
        return TooFarAheadError(text, read=read, timezone=key, latest=place.local(place.horizon))
    return PastTimeError(text, read=read, timezone=key, clock=place.clock, example=place.example)


def _read_as(candidate: _Candidate, place: _Place) -> str:
    is_wall = candidate.clock is place.zone
    return in_figures(candidate.wall if is_wall else place.local(candidate.moments[0]))


def _date(wall: dt.datetime) -> str:
    return f"{wall.day} {MONTHS[wall.month - 1]} {wall.year}"
