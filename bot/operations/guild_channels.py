"""``tocsin guild``: where the bot announces in a guild, and where it tells the guild's admins about trouble."""

import datetime as dt
from dataclasses import dataclass

from bot.events.series import ensure_guild
from bot.operations.guild_settings import SettingsChange, change_settings


@dataclass(frozen=True, slots=True)
class GuildChannels:
    """The channels of a guild, by their ids; None: not set, or, when asked for a change, left as it is."""

    announce_in: int | None = None
    tell_in: int | None = None

    def __str__(self) -> str:
        """Return what the operator reads."""
        announced = (
            f"announced in channel {self.announce_in}" if self.announce_in else "not announced: no channel is set"
        )
        told = f"told in channel {self.tell_in}" if self.tell_in else "told in the log alone: no channel is set"
        return f"Events are {announced}. Trouble is {told}."


async def set_channels(wanted: GuildChannels, *, guild_id: int, timezone: str, now: dt.datetime) -> GuildChannels:
    """
    Set the channels that are given and return all of them; part of the caller's transaction if there is one.

    ``timezone`` is for a guild that is new here.
    """
    change = SettingsChange(announcement_channel_id=wanted.announce_in, ops_channel_id=wanted.tell_in)
    if change.is_empty:
        stored = await ensure_guild(guild_id, timezone=timezone)
        return GuildChannels(stored.announcement_channel_id, stored.ops_channel_id)
    _, after = await change_settings(change, guild_id=guild_id, actor=None, default_timezone=timezone, now=now)
    return GuildChannels(after.announcement_channel_id, after.ops_channel_id)
