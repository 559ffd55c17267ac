"""Series and events as their rows have them, for a calendar file: of a server, of one series, of one person."""

import asyncio
import datetime as dt
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from bot.calendars.entries import CARRIED, DAYS_AHEAD, Changed, Details, EventEntry, SeriesEntry
from bot.events.exceptions import date_of, occurrences_on
from bot.events.generate import rule_of
from bot.times.known_timezones import known_timezones
from bot.times.recurrence import local_today
from bot.transactions import fetch, in_list, integer
from models.discord_event_config import DiscordEventConfigMixin
from models.event import Event
from models.event_repeater import EventRepeater
from models.repeater_exception import RepeaterException
from models.states import AHEAD, ATTENDING, MAY_COME, EventState, ExceptionKind, SignupStatus

LOOKED_BACK: Final = dt.timedelta(days=366)
"""How far back the events of a file reach; the rule of a series reaches back to its beginning."""

MOST_EVENTS: Final = 20_000
"""How many events a file holds at most: single ones, and those of its series that were looked at for changes."""

MOST_OF_PERSON: Final = 500

_DAY: Final = dt.timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Calendar:
    """What a file is made of; ``notes`` are sentences on what it does not hold as it stands."""

    series: tuple[SeriesEntry, ...] = ()
    events: tuple[EventEntry, ...] = ()
    notes: tuple[str, ...] = ()


def series_uid(series: EventRepeater) -> str:
    """Return what calendars call a series: always the same, and the same as where it was imported from."""
    return series.calendar_uid or f"series-{series.id}-{series.created_at:%Y%m%dT%H%M%SZ}@{series.guild_id}.tocsin"


def event_uid(event: Event) -> str:
    """Return what calendars call a single event likewise."""
    return event.calendar_uid or f"event-{event.id}-{event.created_at:%Y%m%dT%H%M%SZ}@{event.guild_id}.tocsin"


async def calendar_of_guild(guild_id: int, *, now: dt.datetime, series_id: int | None = None) -> Calendar:
    """Return the series of a server and its single events; of one series alone, if ``series_id`` is given."""
    query = EventRepeater.filter(guild_id=guild_id)
    rows = await (query if series_id is None else query.filter(id=series_id)).order_by("id")
    events = Event.filter(guild_id=guild_id, scheduled_at__gt=now - LOOKED_BACK)
    if series_id is not None:
        events = events.filter(series_id=series_id)
    # One more than the file holds, to know whether there are any.
    ids = await events.order_by("scheduled_at", "id").limit(MOST_EVENTS + 1).values_list("id", flat=True)
    found: list[Event] = []
    # Rows become objects all at once and in the loop: batch by batch, so that others have their turn.
    for batch in _batches([integer(one) for one in ids]):
        found += await Event.filter(guild_id=guild_id, id__in=batch).order_by("scheduled_at", "id")
    exceptions = await _exceptions([row.id for row in rows])
    # Thousands of events take a while, in which everything else of this process must go on.
    return await asyncio.to_thread(_calendar, rows, found, exceptions, now)


async def calendar_of_person(guild_id: int, user_id: int) -> Calendar:
    """Return the events of a server, not over yet, to which a person may come: signed up, maybe or waiting."""
    states = (*AHEAD, EventState.IN_PROGRESS)
    values = [guild_id, user_id, *MAY_COME, *states]
    rows = await fetch(
        "SELECT e.id, s.status FROM event e JOIN event_signup s ON s.event_id = e.id"  # noqa: S608 -- parameters only
        " WHERE e.guild_id = $1 AND s.user_id = $2"
        f" AND s.status IN {in_list(MAY_COME, first=3)} AND e.state IN {in_list(states, first=3 + len(MAY_COME))}"
        f" ORDER BY e.scheduled_at, e.id LIMIT {MOST_OF_PERSON}",
        [value.value if isinstance(value, SignupStatus | EventState) else value for value in values],
    )
    sure = {integer(row["id"]): SignupStatus(str(row["status"])) in ATTENDING for row in rows}
    events = await Event.filter(guild_id=guild_id, id__in=list(sure)).order_by("scheduled_at", "id") if sure else []
    entries = (replace(_single(event), is_sure=sure[event.id], settings=None) for event in events)
    return Calendar(events=tuple(entries))


def _calendar(
    rows: Sequence[EventRepeater],
    found: Sequence[Event],
    exceptions: Mapping[int, Mapping[dt.date, ExceptionKind]],
    now: dt.datetime,
) -> Calendar:
    by_series: dict[int | None, list[Event]] = {}
    for event in found[:MOST_EVENTS]:
        by_series.setdefault(event.series_id, []).append(event)
    singles = [_single(event) for event in by_series.get(None, ()) if event.state is not EventState.CANCELLED]
    entries: list[SeriesEntry] = []
    notes: list[str] = []
    for row in rows:
        if row.timezone not in known_timezones():
            notes.append(f"{row.name} is left out: its zone {row.timezone} is not known any more.")
            continue
        entry, extras = _of_series(row, by_series.get(row.id, ()), exceptions.get(row.id, {}), now=now)
        entries.append(entry)
        singles += extras
        if not row.is_active:
            notes.append(f"{row.name} is paused: it ends with the events that it has made.")
    if len(found) > MOST_EVENTS:
        notes.append(f"The server has more than {MOST_EVENTS:,} events; the latest are left out.")
    return Calendar(tuple(entries), tuple(singles), tuple(notes))


def _of_series(
    row: EventRepeater, events: Sequence[Event], exceptions: Mapping[dt.date, ExceptionKind], *, now: dt.datetime
) -> tuple[SeriesEntry, list[EventEntry]]:
    left_out, changed, singles = set(exceptions), list[Changed](), list[EventEntry]()
    standing: list[dt.date] = []
    uid, details = series_uid(row), _details(row)
    for event in events:
        slot = _slot_of(event, row)
        if slot is None:
            if event.state is not EventState.CANCELLED:
                singles.append(replace(_single(event), series_uid=uid))
            continue
        date, own_time = slot
        if event.state is EventState.CANCELLED:
            left_out.add(date)
            continue
        standing.append(date)
        if event.scheduled_at != own_time or _details(event) != details:
            changed.append(Changed(date, event.scheduled_at, _details(event)))
    rule = rule_of(row)
    if not row.is_active:
        last = max([*standing, local_today(now, row.timezone) - _DAY])
        rule = replace(rule, ends_at=last if rule.ends_at is None else min(last, rule.ends_at))
    entry = SeriesEntry(
        uid=uid,
        details=details,
        rule=rule,
        made_at=row.created_at,
        settings=_settings(row) | {DAYS_AHEAD: row.generate_days_ahead},
        left_out=frozenset(left_out - {one.local_date for one in changed}),
        changed=tuple(changed),
    )
    return entry, singles


def _slot_of(event: Event, row: EventRepeater) -> tuple[dt.date, dt.datetime] | None:
    """Return the date of an event's slot and the moment that its series gives it; None where it gives none."""
    if event.slot is None or event.is_off_schedule:
        return None
    date = date_of(event.slot)
    found = [one for one in occurrences_on(row, date, date) if one.slot == event.slot]
    return (date, found[0].starts_at) if found else None


def _single(event: Event) -> EventEntry:
    settings = _settings(event)
    if event.series_id is None:
        # One that was left behind by its series has nobody to ask.
        settings["discord_signup_reminder"] = False
    return EventEntry(
        uid=event_uid(event),
        details=_details(event),
        starts_at=event.scheduled_at,
        made_at=event.created_at,
        settings=settings,
        version=event.post_version,
    )


def _details(row: EventRepeater | Event) -> Details:
    return Details(row.name, row.description, row.duration_minutes)


def _settings(row: DiscordEventConfigMixin) -> dict[str, object]:
    return {name: getattr(row, name) for name in CARRIED}


async def _exceptions(series_ids: Collection[int]) -> dict[int, dict[dt.date, ExceptionKind]]:
    found: dict[int, dict[dt.date, ExceptionKind]] = {}
    for batch in _batches(list(series_ids)):
        for one in await RepeaterException.filter(series_id__in=batch):
            found.setdefault(one.series_id, {})[one.local_date] = one.kind
    return found


def _batches(ids: Sequence[int], size: int = 500) -> Iterable[Sequence[int]]:
    return (ids[start : start + size] for start in range(0, len(ids), size))
