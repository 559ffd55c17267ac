"""The loops that send direct messages: fan-outs fill the queue, the worker drains it."""

from bot.client import BodyCog, TocsinBot
from bot.scheduling.bodies import DRAIN_DM_QUEUE, DRIVE_FAN_OUTS


class DmQueue(BodyCog):
    """The loops that send direct messages."""


async def setup(bot: TocsinBot) -> None:
    """Load the cog; called by the library."""
    await bot.add_cog(DmQueue(bot, (DRIVE_FAN_OUTS, DRAIN_DM_QUEUE)))
