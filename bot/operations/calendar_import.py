"""``tocsin import`` of a calendar file: what has a place here is stored at once, the rest is named."""

import datetime as dt
from pathlib import Path
from typing import Final

from bot.calendars.lines import looks_like_calendar
from bot.calendars.storing import plan_of, read_for, store
from bot.calendars.wording import plain_preview
from bot.errors import BotError
from bot.operations.guild_channels import GuildChannels, set_channels
from bot.operations.schedule_import import Imported
from bot.transactions import atomic

MAX_BYTES: Final = 5_000_000
"""How many bytes a file may have on the command line."""


class NothingImportedError(BotError):
    """Nothing of a calendar file has a place here; the lines say why."""


def is_calendar(raw: bytes, path: Path) -> bool:
    """Return whether a file is to be read as a calendar: by what it holds, or else by what it is called."""
    is_schedule = raw.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{")
    return looks_like_calendar(raw) or (path.suffix.lower() in {".ics", ".ical", ".icalendar"} and not is_schedule)


async def import_calendar(
    raw: bytes, *, guild_id: int, announce_in: int | None, timezone: str, now: dt.datetime, preview: bool
) -> list[str]:
    """
    Store what of a file has a place in the guild, and set its announcement channel, in one transaction.

    Returns the lines that the operator reads. ``preview``: nothing is stored. ``timezone`` is for a guild that is new.

    Raises:
        CalendarFileError: it is no calendar, or too large.
        NothingImportedError: it has entries, of which none can be taken, and none is here already.
    """
    found = await read_for(raw, guild_id=guild_id, most_bytes=MAX_BYTES, default_timezone=timezone, now=now)
    plan = await plan_of(found, guild_id=guild_id, now=now)
    question, *lines = plain_preview(found, plan, now=now)
    if plan.is_empty:
        if not plan.known and (found.refusals or plan.taken):
            raise NothingImportedError("\n".join([question, *lines]))
        return [question, *lines]
    if preview:
        return [question, *lines]

    async def _unit() -> Imported:
        wanted = GuildChannels(announce_in=announce_in)
        channels = await set_channels(wanted, guild_id=guild_id, timezone=timezone, now=now)
        done = await store(found, plan, guild_id=guild_id, actor=None, timezone=timezone, now=now)
        return Imported(guild_id, done.series, done.planned, channels.announce_in)

    return [*lines, str(await atomic(_unit))]
