"""Take a calendar file from an admin: show what of it would be stored, and store it on a press; write such files."""

import asyncio
import datetime as dt
from dataclasses import dataclass
from functools import partial
from typing import Final

import structlog

from bot.calendars.export import calendar_file
from bot.calendars.file import CalendarFile
from bot.calendars.rows import Calendar, calendar_of_guild, calendar_of_person
from bot.calendars.storing import Plan, PlanChangedError, plan_of, read_for, store, wake_after_import
from bot.calendars.table import event_table
from bot.calendars.wording import fitting, preview
from bot.events.browse import find_series
from bot.message.escaping import escape
from bot.message.outgoing import ButtonStyle
from bot.message.proposal import Proposal, Reply, Way, leave
from bot.scheduling.agenda import Agenda

_log = structlog.get_logger(__name__)

MAX_ATTACHED: Final = 1_000_000
"""How many bytes a file may have that comes through Discord."""

_NOT_CARRIED: Final = (
    "Not in the file: how many places a single occurrence has where that is not as in its series, and a pause."
)

YEARS_AHEAD: Final = 5
"""For how long a file says itself where a clock skips the time of a series."""


class CalendarDesk:
    """Takes calendar files; ``default_timezone`` is for a server that has set up none."""

    def __init__(self, agenda: Agenda, *, default_timezone: str) -> None:
        self._agenda = agenda
        self._default_timezone = default_timezone

    async def propose(self, raw: bytes, *, guild_id: int, actor: int, now: dt.datetime) -> Reply:
        """
        Return what of a file would be stored, and what not and why; nothing is.

        Raises:
            CalendarFileError: it is no calendar, or too large.
        """
        found = await read_for(
            raw, guild_id=guild_id, most_bytes=MAX_ATTACHED, default_timezone=self._default_timezone, now=now
        )
        return await self._show(found, guild_id, actor, now)

    async def _show(self, found: CalendarFile, guild_id: int, actor: int, now: dt.datetime) -> Reply:
        plan = await plan_of(found, guild_id=guild_id, now=now)
        text = fitting(preview(found, plan, now=now))
        if plan.is_empty:
            return text
        return Proposal(
            text, (Way("Import", partial(self._store, found, plan, guild_id, actor), ButtonStyle.SUCCESS), leave())
        )

    async def _store(self, found: CalendarFile, plan: Plan, guild_id: int, actor: int, now: dt.datetime) -> Reply:
        try:
            done = await store(found, plan, guild_id=guild_id, actor=actor, timezone=self._default_timezone, now=now)
        except PlanChangedError:
            # Somebody made one of them meanwhile, or one has begun: what would be stored now is shown first.
            return await self._show(found, guild_id, actor, now)
        wake_after_import(self._agenda, now)
        _log.info("calendar_imported", guild=guild_id, actor=actor, series=done.series, events=done.events)
        return str(done)


@dataclass(frozen=True, slots=True)
class WrittenFile:
    """A file that was written, and what goes with it in words, ready for Discord; no bytes: there is nothing in it."""

    name: str
    content: bytes
    text: str


async def exported(kind: str, typed: str | None, *, guild_id: int, title: str, now: dt.datetime) -> WrittenFile:
    """
    Return a server's series and events, or the series that was chosen, as ``ICS`` or ``CSV``.

    Raises:
        NoSuchSeriesError: the server has no such series.
    """
    series = await find_series(typed, guild_id=guild_id) if typed is not None else None
    series_id = series.id if series is not None else None
    name = f"tocsin-series-{series_id}" if series_id is not None else f"tocsin-{guild_id}"
    if kind == "CSV":
        table = await event_table(guild_id, now=now, series_id=series_id)
        head = f"{table.count} {'event' if table.count == 1 else 'events'}, as a table."
        return WrittenFile(f"{name}.csv", table.content, fitting([head, *table.notes]))
    calendar = await calendar_of_guild(guild_id, now=now, series_id=series_id)
    content = await _written(series.name if series is not None else title, calendar, now=now)
    events = len(calendar.events)
    head = f"{len(calendar.series)} series and {events} single {'event' if events == 1 else 'events'}, as a calendar."
    return WrittenFile(
        f"{name}.ics", content, fitting([head, _NOT_CARRIED, *(escape(note) for note in calendar.notes)])
    )


async def own_calendar(guild_id: int, user_id: int, *, title: str, now: dt.datetime) -> WrittenFile:
    """Return the events of a server to which a person may come."""
    calendar = await calendar_of_person(guild_id, user_id)
    count = len(calendar.events)
    if not count:
        return WrittenFile("", b"", "You have signed up for nothing that is ahead here; /events shows what there is.")
    content = await _written(title, calendar, now=now)
    text = f"Your {'event' if count == 1 else f'{count} events'} of this server, to open with your calendar."
    return WrittenFile("my-events.ics", content, text)


async def _written(title: str, calendar: Calendar, *, now: dt.datetime) -> bytes:
    until = dt.date(now.year + YEARS_AHEAD, 12, 31)
    # A server's whole calendar takes a while, in which everything else of this process must go on.
    return await asyncio.to_thread(calendar_file, title, calendar.series, calendar.events, until=until)
