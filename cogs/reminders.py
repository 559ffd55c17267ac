"""The loop over the reminder registry."""

from bot.client import BodyCog, TocsinBot
from bot.scheduling.bodies import CHECK_EVENT_REMINDERS


class Reminders(BodyCog):
    """The loop over the reminder registry."""


async def setup(bot: TocsinBot) -> None:
    """Load the cog; called by the library."""
    await bot.add_cog(Reminders(bot, (CHECK_EVENT_REMINDERS,)))
