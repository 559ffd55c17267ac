"""``tocsin import``: series from a schedule file into one guild, all of them or none."""

import datetime as dt
from dataclasses import dataclass
from pathlib import Path

from bot.errors import UsageError
from bot.events.schedule_file import MAX_BYTES, read_schedule
from bot.events.series import create_series
from bot.events.series_spec import SeriesSpec
from bot.operations.guild_channels import GuildChannels, set_channels
from bot.transactions import atomic
from models.event import Event


class FileUnreadableError(UsageError):
    """The named file cannot be read."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"{path} cannot be read: {reason}.")


@dataclass(frozen=True, slots=True)
class Imported:
    """What an import stored; ``announces_in`` None: the guild has no announcement channel yet."""

    guild_id: int
    series: int
    events: int
    announces_in: int | None

    def __str__(self) -> str:
        """Return the sentence that the operator reads."""
        done = f"Imported {self.series} series; {self.events} events are planned."
        if self.announces_in is None:
            set_it = f"`tocsin guild --guild {self.guild_id} --announce-in CHANNEL_ID`"
            return f"{done} The guild has no announcement channel yet: set one with {set_it}."
        return f"{done} They are announced in channel {self.announces_in}."


def read_schedule_file(path: Path) -> tuple[SeriesSpec, ...]:
    """
    Return the series of a file.

    Raises:
        FileUnreadableError: there is no such file, or it cannot be read.
        ScheduleFileError: what is in it is refused.
    """
    return read_schedule(read_bytes(path, most=MAX_BYTES))


def read_bytes(path: Path, *, most: int) -> bytes:
    """
    Return the bytes of a file, and of a longer one one byte more than ``most``, which tells that it is.

    Raises:
        FileUnreadableError: there is no such file, or it cannot be read.
    """
    try:
        with path.open("rb") as file:
            return file.read(most + 1)
    except OSError as error:
        raise FileUnreadableError(path, (error.strerror or type(error).__name__).lower()) from error


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
        wanted = GuildChannels(announce_in=announce_in)
        channels = await set_channels(wanted, guild_id=guild_id, timezone=timezone, now=now)
        made = await create_series(series, guild_id=guild_id, created_by=None, now=now)
        planned = await Event.filter(guild_id=guild_id, series_id__in=[one.id for one in made]).count()
        return Imported(guild_id, len(made), planned, channels.announce_in)

    return await atomic(_unit)
