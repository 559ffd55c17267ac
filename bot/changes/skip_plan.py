"""What taking one date out of a series does, and what putting it back does, as things stand; nothing is stored here."""

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass, field

from bot.changes.series_state import ZoneGoneError
from bot.changes.withdrawal import known_of
from bot.errors import BotError
from bot.events import browse
from bot.events.admin_wording import STANDS, named, people
from bot.events.exceptions import exception_on, occurrences_on
from bot.message import timestamps
from bot.times.known_timezones import known_timezones
from bot.times.recurrence import Occurrence, local_today
from bot.times.typed_date import in_words
from models.event import Event
from models.event_repeater import EventRepeater
from models.states import AHEAD, EventState, ExceptionKind

A_YEAR = dt.timedelta(days=366)


class NoOccurrenceError(BotError):
    """The series does not return on that date, or nothing can be changed about it any more."""

    def __init__(self, series: EventRepeater, date: dt.date, why: str) -> None:
        super().__init__(f"{named(series)} {why}.")
        self.series_id, self.date = series.id, date


@dataclass(frozen=True, slots=True)
class DateChange:
    """
    What is done about one date; two are equal where they do the same. ``events`` are those that go, or return.

    ``stays_cancelled``: the date is skipped no more, and has no event all the same.
    """

    series: EventRepeater = field(compare=False)
    date: dt.date
    stood: tuple[object, ...]
    events: tuple[Event, ...] = field(compare=False)
    text: str
    stays_cancelled: bool = False


async def plan_skip(series: EventRepeater, date: dt.date, *, now: dt.datetime) -> DateChange:
    """
    Return what skipping a date does.

    Raises:
        NoOccurrenceError, ZoneGoneError: it cannot be.
    """
    one = _one_on(series, date)
    if await exception_on(series.id, date) is ExceptionKind.SKIP:
        raise NoOccurrenceError(series, date, f"skips {in_words(date)} already")
    events = await _of_date(series, date)
    ahead = [event for event in events if event.state in AHEAD and event.scheduled_at > now]
    if not ahead:
        _refuse_without_event(series, date, one, events, now=now)
    when = f" ({timestamps.full(one.starts_at)})" if one is not None else ""
    lines = [f"Skip {named(series)} on {in_words(date)}{when}?"]
    for event in ahead:
        lines += await _fate(event)
    lines.append("No event is made for that day; the series goes on.")
    stood = tuple((event.id, event.state, event.scheduled_at) for event in ahead)
    return DateChange(series, date, stood, tuple(ahead), "\n".join(lines))


async def plan_return(series: EventRepeater, date: dt.date, *, now: dt.datetime) -> DateChange:
    """
    Return what letting a skipped date return does.

    Raises:
        NoOccurrenceError, ZoneGoneError: it cannot be.
    """
    one = _one_on(series, date)
    if await exception_on(series.id, date) is not ExceptionKind.SKIP:
        raise NoOccurrenceError(series, date, f"does not skip {in_words(date)}")
    if one is None:
        raise NoOccurrenceError(series, date, f"does not return on {in_words(date)} any more; {_next(series, now)}")
    if one.starts_at <= now:
        raise NoOccurrenceError(series, date, f"cannot return on {in_words(date)}: that has passed")
    of_date = await _of_date(series, date)
    # One that was cancelled as it was open is in the way of another on that date, whatever the time of day is now.
    cancelled = [event for event in of_date if event.state is EventState.CANCELLED and not event.is_withdrawn]
    closed = [event for event in cancelled if not event.is_off_schedule]
    known = next((event for event in of_date if event.slot == one.slot), next(iter(closed), None))
    back = [known] if known is not None and known.is_withdrawn and known.scheduled_at > now else []
    lines = [f"Let {named(series)} return on {in_words(date)} ({timestamps.full(one.starts_at)})?"]
    if back:
        lines.append(f"Its event of {timestamps.full(back[0].scheduled_at)} stands again, with what was sent for it.")
    elif known is not None:
        lines.append("The event that it had stays cancelled, so that there is none on that day.")
    elif not series.is_active:
        lines.append("The series is paused, so that no event is made for now.")
    else:
        lines.append("Its event is made like those of the other days.")
    stood = (one.slot, known.id if known is not None else None, series.is_active)
    stays_cancelled = known is not None and not back
    return DateChange(series, date, stood, tuple(back), "\n".join(lines), stays_cancelled)


def _one_on(series: EventRepeater, date: dt.date) -> Occurrence | None:
    if series.timezone not in known_timezones():
        raise ZoneGoneError(series)
    return next(iter(occurrences_on(series, date, date)), None)


async def _of_date(series: EventRepeater, date: dt.date) -> list[Event]:
    """Return the events of a date, whatever the time of day was by the rule that made them."""
    slots = Event.filter(series_id=series.id, guild_id=series.guild_id, slot__startswith=f"{date.isoformat()}T")
    return await slots.order_by("id")


def _refuse_without_event(
    series: EventRepeater, date: dt.date, one: Occurrence | None, events: Sequence[Event], *, now: dt.datetime
) -> None:
    """Refuse a date of which no event is ahead, unless it is one of which an event is to be made."""
    if one is None:
        raise NoOccurrenceError(series, date, f"does not return on {in_words(date)}; {_next(series, now)}")
    known = next((event for event in events if event.slot == one.slot), None)
    if known is not None and known.state is not EventState.UPCOMING:
        raise NoOccurrenceError(series, date, f"cannot skip {in_words(date)}: {STANDS[known.state]}")
    if one.starts_at <= now:
        raise NoOccurrenceError(series, date, f"cannot skip {in_words(date)}: that has passed")


async def _fate(event: Event) -> list[str]:
    if event.state is EventState.UPCOMING:
        is_known = event.id in await known_of([event])
        return ["Its event is cancelled, and its post says so." if is_known else "Its event goes; nobody knows of it."]
    counts = (await browse.answer_counts([event.id]))[event.id]
    return [
        f"Its event is cancelled, and its post says so. People: {people(event, counts)}.",
        "Nobody gets a direct message about it, so tell them yourself.",
    ]


def _next(series: EventRepeater, now: dt.datetime) -> str:
    today = local_today(now, series.timezone)
    ahead = (one for one in occurrences_on(series, today, today + A_YEAR) if one.starts_at > now)
    found = next(ahead, None)
    return f"next on {timestamps.full(found.starts_at)}" if found is not None else "within a year it does not at all"
