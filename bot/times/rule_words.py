"""A series' rule in words, and the days on which a clock change moves or doubles its time: pure functions."""

import datetime as dt
from typing import Final
from zoneinfo import ZoneInfo

from bot.message.escaping import escape
from bot.times.recurrence import ByDay, SeriesRule, occurrences, parse_by_day
from bot.times.typed_date import in_words
from bot.times.typed_time import MONTHS
from models.states import Frequency, MonthEnd

_UNITS: Final = {
    Frequency.DAILY: ("day", "days"),
    Frequency.WEEKLY: ("week", "weeks"),
    Frequency.MONTHLY: ("month", "months"),
    Frequency.YEARLY: ("year", "years"),
}
_WEEKDAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_PLACES: Final = {1: "first", 2: "second", 3: "third", 4: "fourth", 5: "fifth"}
# From here on a month may lack the day.
_SHORTEST_MONTH: Final = 28
_MOST_NOTES: Final = 3


def rule_in_words(rule: SeriesRule) -> str:
    """Return when a series returns, ready for Discord: ``every 2 weeks on Tuesday at 19:30 in Europe/Berlin``."""
    one, many = _UNITS[rule.frequency]
    often = f"every {one}" if rule.interval == 1 else f"every {rule.interval} {many}"
    return f"{often}{_days(rule)} at {rule.time_of_day:%H:%M} in {escape(rule.timezone)}"


def span_in_words(rule: SeriesRule) -> str:
    """Return from when on, and until when, a series returns."""
    until = "without end" if rule.ends_at is None else f"until {in_words(rule.ends_at)}"
    return f"from {in_words(rule.starts_at)}, {until}"


def clock_notes(rule: SeriesRule, first: dt.date, last: dt.date) -> tuple[str, ...]:
    """
    Return a sentence for each occurrence from ``first`` to ``last`` whose time the clock skips or shows twice.

    Ready for Discord. The first three of them: they come twice a year, and say the same.
    """
    zone = ZoneInfo(rule.timezone)
    found: list[str] = []
    for one in occurrences(rule, first, last):
        wall = dt.datetime.combine(one.local_date, rule.time_of_day)
        begins = one.starts_at.astimezone(zone).replace(tzinfo=None)
        early, late = (wall.replace(tzinfo=zone, fold=fold).utcoffset() for fold in (0, 1))
        if early == late:
            continue
        day, time, place = in_words(one.local_date), f"{rule.time_of_day:%H:%M}", escape(rule.timezone)
        if begins != wall:
            when = f"{begins:%H:%M}" if begins.date() == wall.date() else f"{in_words(begins.date())}, {begins:%H:%M}"
            found.append(f"On {day} the clock in {place} skips {time}: that one begins at {when}.")
        else:
            found.append(f"On {day} the clock in {place} shows {time} twice: that one begins at the first.")
        if len(found) == _MOST_NOTES:
            break
    return tuple(found)


def _days(rule: SeriesRule) -> str:
    match rule.frequency:
        case Frequency.DAILY:
            return ""
        case Frequency.WEEKLY:
            days = parse_by_day(rule.day_of_week) if rule.day_of_week else (ByDay(None, rule.starts_at.weekday()),)
            return f" on {_listed([_WEEKDAYS[day.weekday] for day in days])}"
        case Frequency.YEARLY:
            month = f"{rule.starts_at.day} {MONTHS[rule.starts_at.month - 1]}"
            return f" on {month}{_month_end(rule)}"
        case Frequency.MONTHLY:
            if rule.day_of_week is None:
                return f" on day {rule.starts_at.day}{_month_end(rule)}"
            return f" on {_listed([_nth(day) for day in parse_by_day(rule.day_of_week)])}"


def _month_end(rule: SeriesRule) -> str:
    if rule.starts_at.day <= _SHORTEST_MONTH:
        return ""
    return ", else on the month's last," if rule.month_end is MonthEnd.LAST_DAY else ", in months that have it,"


def _nth(day: ByDay) -> str:
    weekday, nth = _WEEKDAYS[day.weekday], day.nth or 1
    if nth > 0:
        return f"the {_PLACES[nth]} {weekday}"
    return f"the last {weekday}" if nth == -1 else f"the {_PLACES[-nth]} to last {weekday}"


def _listed(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
