"""``tocsin import``: series from a schedule file into one guild, all of them or none."""

import datetime as dt
from dataclasses import dataclass
from pathlib import Path

from bot import audit
from bot.errors import UsageError
from bot.events.schedule_file import MAX_BYTES, read_schedule
from bot.events.series import create_series, ensure_guild
from bot.events.series_spec import SeriesSpec
from bot.transactions import atomic
from models.event import Event


class FileUnreadableError(UsageError):
    """The named file cannot be read."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"{path} cannot be read: {reason}.")


@dataclass(frozen=True, slots=True)
class Imported:
    """What an import stored; ``announces_in`` None: the guild has no announcement channel yet."""

    series: int
    events: int
    announces_in: int | None

    def __str__(self) -> str:
        """Return the sentence that the operator reads."""
        done = f"Imported {self.series} series; {self.events} events are planned."
        if self.announces_in is None:
            return f"{done} The guild has no announcement channel yet: run again with --announce-in, or set one there."
        return f"{done} They are announced in channel {self.announces_in}."


def read_schedule_file(path: Path) -> tuple[SeriesSpec, ...]:
    """
    Return the series of a file.

    Raises:
        FileUnreadableError: there is no such file, or it cannot be read.
        ScheduleFileError: what is in it is refused.
    """
    try:
        with path.open("rb") as file:
            # One byte more than is allowed tells a file that is too long without reading all of it.
            raw = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise FileUnreadableError(path, (error.strerror or type(error).__name__).lower()) from error
    return read_schedule(raw)


async def import_schedule(
    series: tuple[SeriesSpec, ...],
    *,
    guild_id: int,
    announce_in: int | None,
    timezone: str,
    now: dt.datetime,
) -> Imported:
    """
    Store every series in the guild and set its announcement channel, in one transaction.

    ``announce_in`` None leaves the guild's channel as it is. ``timezone`` is for a guild that is new here.

    Raises:
        NameTakenError: series of these names stand there already; nothing was stored.
    """

    async def _unit() -> Imported:
        settings = await ensure_guild(guild_id, timezone=timezone)
        if announce_in is not None and settings.announcement_channel_id != announce_in:
            before = {"announcement_channel_id": settings.announcement_channel_id}
            settings.announcement_channel_id = announce_in
            await settings.save(update_fields=["announcement_channel_id"])
            after = {"announcement_channel_id": announce_in}
            await audit.record("settings.edit", guild_id=guild_id, now=now, before=before, after=after)
        made = await create_series(series, guild_id=guild_id, created_by=None, now=now)
        planned = await Event.filter(guild_id=guild_id, series_id__in=[one.id for one in made]).count()
        return Imported(len(made), planned, settings.announcement_channel_id)

    return await atomic(_unit)
