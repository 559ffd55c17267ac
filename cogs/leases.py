"""The loops that look after leases, notes and this process."""

from bot.client import BodyCog, TocsinBot
from bot.scheduling.bodies import INSTANCE_HEARTBEAT, SWEEP_STALE_DISCORD_LEASES, TELL_OPS_NOTES


class Leases(BodyCog):
    """The loops that look after leases, notes and this process."""


async def setup(bot: TocsinBot) -> None:
    """Load the cog; called by the library."""
    await bot.add_cog(Leases(bot, (INSTANCE_HEARTBEAT, SWEEP_STALE_DISCORD_LEASES, TELL_OPS_NOTES)))
