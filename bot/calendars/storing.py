"""
Store what a calendar file holds: series and events that are not here yet, all of them or none.

What is here already is told by its UID and left alone, so that the same file twice changes nothing. The rows are those
that a skip, a move and an extra event leave behind.
"""

import asyncio
import datetime as dt
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from bot import audit
from bot.calendars.entries import CARRIED, Details
from bot.calendars.entry import ImportedEvent, ImportedSeries
from bot.calendars.file import CalendarFile, Ground, read_calendar
from bot.calendars.rows import event_uid, series_uid
from bot.errors import BotError
from bot.events.browse import guild_timezone
from bot.events.exceptions import note_all_skipped, note_moved, occurrences_on
from bot.events.generate import new_event, opening_when_made
from bot.events.guild_sync import due_when_made
from bot.events.lifecycle import wake_after_new
from bot.events.one_off import new_one_off
from bot.events.series import create_series, ensure_guild
from bot.events.templates import TemplateKind, template_of
from bot.message.folding import folded
from bot.scheduling import due_rows
from bot.scheduling.agenda import Agenda
from bot.times.recurrence import Occurrence
from bot.transactions import atomic
from models.event import Event
from models.event_repeater import EventRepeater
from models.guild_settings import GuildSettings

_AT_ONCE: Final = 500
_OWN_EVENT: Final = re.compile(r"event-(\d{1,18})-\d{8}T\d{6}Z@\d+\.tocsin")


@dataclass(frozen=True, slots=True)
class Plan:
    """
    What an import would store; ``known`` counts what is here already.

    ``taken`` are the series whose name another one has, here or in the file.
    """

    series: tuple[ImportedSeries, ...]
    events: tuple[ImportedEvent, ...]
    known: int
    taken: tuple[ImportedSeries, ...]

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to store."""
        return not (self.series or self.events)


@dataclass(frozen=True, slots=True)
class Stored:
    """How many series an import stored, how many events of its own, and how many stand now that were made of it."""

    series: int
    events: int
    planned: int

    def __str__(self) -> str:
        """Return the sentence that says so."""
        return (
            f"Imported {self.series} series and {self.events} single {'event' if self.events == 1 else 'events'};"
            f" {self.planned} {'event is' if self.planned == 1 else 'events are'} planned."
        )


class PlanChangedError(BotError):
    """What would be stored is not what was shown; nothing was."""

    def __init__(self) -> None:
        super().__init__("Series or events of this server were changed meanwhile, so nothing was imported; try again.")


async def read_for(
    raw: bytes, *, guild_id: int, most_bytes: int, default_timezone: str, now: dt.datetime
) -> CalendarFile:
    """
    Read a file as one server would take it; nothing is stored.

    Raises:
        CalendarFileError: it is no calendar, or too large.
    """
    ground = Ground(
        now=now,
        timezone=await guild_timezone(guild_id, default=default_timezone),
        most_bytes=most_bytes,
        series=await template_of(guild_id, TemplateKind.SERIES),
        events=await template_of(guild_id, TemplateKind.EVENT),
    )
    # A large file takes seconds, in which everything else of this process must go on.
    return await asyncio.to_thread(read_calendar, raw, ground)


async def plan_of(found: CalendarFile, *, guild_id: int, now: dt.datetime) -> Plan:
    """Return what of a file would be stored in a server as it stands."""
    series_here = await EventRepeater.filter(guild_id=guild_id)
    known_series = {series_uid(one) for one in series_here}
    events = [one for one in found.events if one.spec.scheduled_at > now]
    known_events = await _known_events([one.uid for one in events], guild_id)
    new, taken = list[ImportedSeries](), list[ImportedSeries]()
    names = {folded(one.name) for one in series_here}
    for one in found.series:
        if one.uid in known_series:
            continue
        (taken if folded(one.spec.name) in names else new).append(one)
        names.add(folded(one.spec.name))
    new_events = tuple(one for one in events if one.uid not in known_events)
    known = len(found.series) - len(new) - len(taken) + len(events) - len(new_events)
    return Plan(tuple(new), new_events, known, tuple(taken))


async def store(
    found: CalendarFile, shown: Plan, *, guild_id: int, actor: int | None, timezone: str, now: dt.datetime
) -> Stored:
    """
    Store what was shown in one transaction, part of the caller's if there is one; wake the agenda after commit.

    ``timezone`` is for a guild that is new here.

    Raises:
        PlanChangedError: as the server stands now, it would be something else.
    """

    async def _unit() -> Stored:
        _ = await ensure_guild(guild_id, timezone=timezone)
        # Held, so that of two imports at once the second sees what the first one stored.
        _ = await GuildSettings.filter(guild_id=guild_id).select_for_update(no_key=True).first()
        if await plan_of(found, guild_id=guild_id, now=now) != shown:
            raise PlanChangedError

        async def _prepare(place: int, row: EventRepeater) -> None:
            await _as_in_file(shown.series[place], row, actor=actor, now=now)

        specs = [one.spec for one in shown.series]
        made = await create_series(specs, guild_id=guild_id, created_by=actor, now=now, prepare=_prepare)
        parents = {series_uid(one): one for one in await EventRepeater.filter(guild_id=guild_id)}
        await _store_events(shown.events, parents, guild_id, actor=actor, now=now)
        planned = len(shown.events)
        for batch in _batches([one.id for one in made]):
            planned += await Event.filter(guild_id=guild_id, series_id__in=batch, calendar_uid=None).count()
        return Stored(len(made), len(shown.events), planned)

    return await atomic(_unit)


def wake_after_import(agenda: Agenda, now: dt.datetime) -> None:
    """Let the bodies that an import concerns run; call it once it is committed."""
    wake_after_new(agenda, now=now)


async def _as_in_file(one: ImportedSeries, row: EventRepeater, *, actor: int | None, now: dt.datetime) -> None:
    """Let a new series be as its file has it, before anything is generated."""
    row.calendar_uid = one.uid
    await row.save(update_fields=["calendar_uid"])
    await note_all_skipped(row.id, one.left_out)
    events: list[Event] = []
    for changed in one.changed:
        (slot,) = occurrences_on(row, changed.local_date, changed.local_date)
        event = _changed(new_event(row, slot, now), changed.details, changed.starts_at, now=now)
        if "scheduled_at" in event.overridden_fields:
            await note_moved(row.id, changed.local_date, is_back=False)
        events.append(event)
    events += [
        _changed(_extra(row, extra.starts_at, now=now), extra.details, extra.starts_at, now=now) for extra in one.extras
    ]
    await _save(events)
    after = {"uid": one.uid, "left_out": len(one.left_out), "changed": len(one.changed), "extras": len(one.extras)}
    await audit.record(
        "series.import", guild_id=row.guild_id, actor_user_id=actor, subject_id=row.id, now=now, after=after
    )


def _changed(event: Event, details: Details, starts_at: dt.datetime, *, now: dt.datetime) -> Event:
    """Return an event as an admin's edits of it alone would have left it."""
    wanted = {
        "scheduled_at": starts_at,
        "name": details.name,
        "description": details.description,
        "duration_minutes": details.duration_minutes,
    }
    event.overridden_fields = [name for name, value in wanted.items() if getattr(event, name) != value]
    _ = event.update_from_dict(wanted)
    event.signups_open_at = opening_when_made(event, scheduled_at=starts_at, now=now)
    return event


def _extra(row: EventRepeater, moment: dt.datetime, *, now: dt.datetime) -> Event:
    event = new_event(row, Occurrence(moment, moment.date(), ""), now)
    event.slot, event.is_off_schedule = None, True
    event.signups_open_at = opening_when_made(event, scheduled_at=moment, now=now)
    return event


async def _store_events(
    wanted: Sequence[ImportedEvent],
    parents: Mapping[str, EventRepeater],
    guild_id: int,
    *,
    actor: int | None,
    now: dt.datetime,
) -> None:
    events: list[Event] = []
    for one in wanted:
        parent = parents.get(one.series_uid or "")
        if parent is None:
            event = new_one_off(one.spec, guild_id=guild_id, created_by=actor, now=now)
        else:
            event = _extra_of_file(one, parent, now=now)
        event.calendar_uid = one.uid
        events.append(event)
    await _save(events)
    for event in events:
        after = {"name": event.name, "scheduled_at": event.scheduled_at.isoformat()}
        if event.series_id is not None:
            after |= {"series": str(event.series_id)}
        await audit.record(
            "event.create", guild_id=guild_id, actor_user_id=actor, subject_id=event.id, now=now, after=after
        )


def _extra_of_file(one: ImportedEvent, parent: EventRepeater, *, now: dt.datetime) -> Event:
    """Return an extra event of a series as its file has it, with settings of its own if it says some."""
    spec = one.spec
    event = _extra(parent, spec.scheduled_at, now=now)
    if one.asks is not None:
        own = {name: getattr(spec, name) for name in CARRIED} | {"discord_signup_reminder": one.asks}
        _ = event.update_from_dict(own)
        event.native_due_at = due_when_made(event, now=now)
    details = Details(spec.name, spec.description, spec.duration_minutes)
    return _changed(event, details, spec.scheduled_at, now=now)


async def _save(events: Sequence[Event]) -> None:
    for event in events:
        await event.save(force_create=True)
    await due_rows.refresh([event.id for event in events])


async def _known_events(uids: Sequence[str], guild_id: int) -> set[str]:
    """Return which of these UIDs an event here has: from a file, or from an export of this very server."""
    known: set[str] = set()
    for batch in _batches(uids):
        known |= {event_uid(one) for one in await Event.filter(guild_id=guild_id, calendar_uid__in=batch)}
    own = [int(match[1]) for uid in uids if (match := _OWN_EVENT.fullmatch(uid))]
    for ids in _batches(own):
        known |= {event_uid(one) for one in await Event.filter(guild_id=guild_id, id__in=ids)}
    return known


def _batches(values: Sequence[str] | Sequence[int]) -> Iterator[Collection[str | int]]:
    return (values[start : start + _AT_ONCE] for start in range(0, len(values), _AT_ONCE))
