"""The loops that look after leases, notes and this process: Discord's loop on one side, one body on the other."""

from discord.ext import commands

from bot.client import TocsinBot
from bot.scheduling.bodies import (
    INSTANCE_HEARTBEAT,
    SWEEP_STALE_DISCORD_LEASES,
    TELL_OPS_NOTES,
)

_BODIES = (INSTANCE_HEARTBEAT, SWEEP_STALE_DISCORD_LEASES, TELL_OPS_NOTES)


class Leases(commands.Cog):
    """Starts its loops once per process: at load, never at a reconnect."""

    def __init__(self, bot: TocsinBot) -> None:
        self._bot = bot

    async def cog_load(self) -> None:
        """Start the loops."""
        self._bot.loops.add(self._bot.services.body(name) for name in _BODIES)

    async def cog_unload(self) -> None:
        """Stop the loops."""
        self._bot.loops.remove(_BODIES)


async def setup(bot: TocsinBot) -> None:
    """Load the cog; called by the library."""
    await bot.add_cog(Leases(bot))
