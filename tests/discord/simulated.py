"""A simulated Discord with one guild in it, and the real client in between; its loops stand still."""

import contextlib
import datetime as dt
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Any

import discord
import simcord
from simcord.backend.models import Overwrite
from simcord.builders import ChannelHandle, GuildHandle
from simcord.enums import OverwriteType

from bot.client import TocsinBot
from bot.clock import InjectedLeaseClock
from bot.delivery.channel_poster import ChannelPoster
from bot.demo.world import Place, World
from bot.leases.ports import ChannelTarget

START = dt.datetime(2026, 3, 1, 12, 0, tzinfo=dt.UTC)


@dataclass(frozen=True, slots=True)
class SimulatedDiscord:
    """The world, the bot that is attached to it, and the guild that both know."""

    world: World
    bot: TocsinBot
    place: Place

    @property
    def env(self) -> simcord.Env:
        return self.world.env

    @property
    def backend(self) -> Any:  # noqa: ANN401 -- simcord types it for its own use only
        return self.world.env.backend

    @property
    def guild(self) -> GuildHandle:
        return self.env.guild

    @property
    def poster(self) -> ChannelPoster:
        return ChannelPoster(self.bot)

    def target(self, channel_id: int | None = None) -> ChannelTarget:
        """Return a channel of the guild, the announcements unless told otherwise."""
        return ChannelTarget(self.place.guild_id, channel_id or self.place.announcements_id)

    def messages(self, channel_id: int | None = None) -> list[discord.Message]:
        """Return what stands in a channel, oldest first."""
        channel = self.backend.get_channel(channel_id or self.place.announcements_id)
        return ChannelHandle(self.env, self.guild, channel).history()

    def let_bot_post(self, channel_id: int, *, allowed: bool) -> None:
        """Give or take the bot's right to post in a channel."""
        right = discord.Permissions(send_messages=True).value
        overwrite = Overwrite(
            target_id=self.backend.bot_user.id,
            type=OverwriteType.MEMBER,
            allow=right if allowed else 0,
            deny=0 if allowed else right,
        )
        self.backend.set_overwrite(channel_id, overwrite)

    def deny(self, **rights: bool) -> None:
        """Take rights from the bot in the announcement channel."""
        overwrite = Overwrite(
            target_id=self.backend.bot_user.id,
            type=OverwriteType.MEMBER,
            deny=discord.Permissions(**rights).value,
        )
        self.backend.set_overwrite(self.place.announcements_id, overwrite)

    def bodies_of(self, method: str) -> list[dict[str, Any]]:
        """Return the bodies of the bot's requests about messages so far."""
        wanted = [entry for entry in self.env.http_requests if entry.method == method and "/messages" in entry.path]
        return [entry.json for entry in wanted if isinstance(entry.json, dict)]


@contextlib.asynccontextmanager
async def in_world(start: dt.datetime, *, extensions: Sequence[str] = ()) -> AsyncIterator[SimulatedDiscord]:
    """Attach a bot with these cogs, and no loops, to a world with one guild."""
    world = World(start)
    bot = TocsinBot(clock=world.clock, lease_clock=InjectedLeaseClock(world.clock), extensions_to_load=extensions)
    await world.attach(bot)
    try:
        place = world.build(guild_name="Test guild", players=("ada", "bruno"))
        await world.env.settle()
        yield SimulatedDiscord(world, bot, place)
    finally:
        await world.detach()
