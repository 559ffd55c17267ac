"""The loops that send direct messages: fan-outs, new times and promotions fill the queue, the worker drains it."""

from bot.client import BodyCog, TocsinBot
from bot.scheduling.bodies import DRAIN_DM_QUEUE, DRIVE_FAN_OUTS, TELL_PROMOTIONS, TELL_TIME_CHANGES


class DmQueue(BodyCog):
    """The loops that send direct messages."""


async def setup(bot: TocsinBot) -> None:
    """Load the cog; called by the library."""
    await bot.add_cog(DmQueue(bot, (TELL_TIME_CHANGES, DRIVE_FAN_OUTS, TELL_PROMOTIONS, DRAIN_DM_QUEUE)))
