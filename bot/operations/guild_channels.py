"""``tocsin guild``: where the bot announces in a guild, and where it tells the guild's admins about trouble."""

import datetime as dt
from dataclasses import dataclass

from bot import audit
from bot.events.series import ensure_guild
from bot.transactions import atomic
from models.guild_settings import GuildSettings


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

    async def _unit() -> GuildChannels:
        _ = await ensure_guild(guild_id, timezone=timezone)
        # Held, and only what changed is saved: an admin may be at /settings meanwhile.
        settings = await GuildSettings.filter(guild_id=guild_id).select_for_update().get()
        before = _channels(settings)
        if wanted.announce_in is not None:
            settings.announcement_channel_id = wanted.announce_in
        if wanted.tell_in is not None:
            settings.ops_channel_id = wanted.tell_in
        after = _channels(settings)
        if after != before:
            changed = {name: value for name, value in _as_data(after).items() if _as_data(before)[name] != value}
            await settings.save(update_fields=list(changed))
            await audit.record(
                "settings.edit", guild_id=guild_id, now=now, before=_as_data(before), after=_as_data(after)
            )
        return after

    return await atomic(_unit)


def _channels(settings: GuildSettings) -> GuildChannels:
    return GuildChannels(settings.announcement_channel_id, settings.ops_channel_id)


def _as_data(channels: GuildChannels) -> dict[str, object]:
    return {"announcement_channel_id": channels.announce_in, "ops_channel_id": channels.tell_in}
