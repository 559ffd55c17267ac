"""
The occurrences of a series that are no longer as its rule has them: skipped, or moved.

The only writer of ``RepeaterException``. Source: 02-reminders.md, "Generation and exceptions".
"""

import datetime as dt
from collections.abc import Iterable

from bot.events.generate import rule_of
from bot.times.known_timezones import known_timezones
from bot.times.recurrence import Occurrence, occurrences
from models.event import Event
from models.event_repeater import EventRepeater
from models.repeater_exception import RepeaterException
from models.states import ExceptionKind

_DAY = dt.timedelta(days=1)


def date_of(slot: str) -> dt.date:
    """Return the local date of a slot such as ``2026-03-29T19:00[Europe/London]``."""
    return dt.date.fromisoformat(slot.partition("T")[0])


def occurrences_on(series: EventRepeater, first: dt.date, last: dt.date) -> list[Occurrence]:
    """Return what the rule of a series gives on these local dates; nothing where its zone is not known any more."""
    return occurrences(rule_of(series), first, last) if series.timezone in known_timezones() else []


def occurrence_at(series: EventRepeater, moment: dt.datetime) -> Occurrence | None:
    """Return the occurrence that the rule of a series gives at that very moment, skipped or not."""
    # Whatever its zone, the local date is at most a day off.
    day = moment.astimezone(dt.UTC).date()
    found = occurrences_on(series, day - _DAY, day + _DAY)
    return next((one for one in found if one.starts_at == moment), None)


def is_own_time(series: EventRepeater, slot: str, moment: dt.datetime) -> bool:
    """Return whether the rule of a series still has the slot, and at that moment."""
    one = occurrence_at(series, moment)
    return one is not None and one.slot == slot


def has_slot(series: EventRepeater, slot: str) -> bool:
    """Return whether the rule of a series still has the slot, skipped or not; True where its zone is known no more."""
    day = date_of(slot)
    return series.timezone not in known_timezones() or any(one.slot == slot for one in occurrences_on(series, day, day))


async def cancelled_columns(event: Event) -> dict[str, object]:
    """
    Return what is set in the row of an event that is being cancelled by itself, beside its state.

    One whose slot its series has no more, and that stayed all the same, is off the schedule from then on: that it is
    cancelled says nothing of the date on which it was to be.
    """
    series = await EventRepeater.get_or_none(id=event.series_id) if event.series_id is not None else None
    is_left = series is not None and event.slot is not None and not has_slot(series, event.slot)
    return {"is_off_schedule": True} if is_left else {}


async def exception_on(series_id: int, date: dt.date) -> ExceptionKind | None:
    """Return why the series makes nothing on a date of its own; None: it does."""
    found = await RepeaterException.get_or_none(series_id=series_id, local_date=date)
    return found.kind if found is not None else None


async def note_moved(series_id: int, date: dt.date, *, is_back: bool) -> None:
    """
    Note that the occurrence of a date was moved, or came back to its own time.

    Call it in the transaction that moves it and that holds the series.
    """
    if is_back:
        await RepeaterException.filter(series_id=series_id, local_date=date, kind=ExceptionKind.MOVED).delete()
    else:
        await _set(series_id, date, ExceptionKind.MOVED)


async def note_skipped(series_id: int, date: dt.date) -> None:
    """Note that a date is skipped, also where its event was moved; call it in the transaction that holds the series."""
    await _set(series_id, date, ExceptionKind.SKIP)


async def note_all_skipped(series_id: int, dates: Iterable[dt.date]) -> None:
    """Note that a series which was just made skips these dates; call it in the transaction that made it."""
    rows = [RepeaterException(series_id=series_id, local_date=date, kind=ExceptionKind.SKIP) for date in sorted(dates)]
    await RepeaterException.bulk_create(rows)


async def forget_skipped(series_id: int, date: dt.date) -> bool:
    """Let the series return on a date that was skipped; False: it was not."""
    return bool(await RepeaterException.filter(series_id=series_id, local_date=date, kind=ExceptionKind.SKIP).delete())


async def skipped_dates(series_id: int, *, since: dt.date) -> list[dt.date]:
    """Return the dates that are skipped, from ``since`` on, in order."""
    found = RepeaterException.filter(series_id=series_id, kind=ExceptionKind.SKIP, local_date__gte=since)
    return [one.local_date for one in await found.order_by("local_date")]


async def carry_over(series_id: int, *, to_series_id: int, since: dt.date) -> None:
    """Let another series have the exceptions from ``since`` on; call it in the transaction that holds the series."""
    await RepeaterException.filter(series_id=series_id, local_date__gte=since).update(series_id=to_series_id)


async def _set(series_id: int, date: dt.date, kind: ExceptionKind) -> None:
    known = await RepeaterException.filter(series_id=series_id, local_date=date).update(kind=kind)
    if not known:
        await RepeaterException(series_id=series_id, local_date=date, kind=kind).save()
