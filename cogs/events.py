"""The loops that make, move, show and end events."""

from bot.client import BodyCog, TocsinBot
from bot.scheduling.bodies import (
    CLEANUP_STALE_EVENTS,
    GENERATE_UPCOMING_EVENTS,
    OPEN_SCHEDULED_SIGNUPS,
    SYNC_ATTENDEE_ROLES,
    SYNC_DISCORD_EVENTS,
)


class Events(BodyCog):
    """The loops that make, move, show and end events."""


async def setup(bot: TocsinBot) -> None:
    """Load the cog; called by the library."""
    await bot.add_cog(
        Events(
            bot,
            (
                CLEANUP_STALE_EVENTS,
                GENERATE_UPCOMING_EVENTS,
                OPEN_SCHEDULED_SIGNUPS,
                SYNC_ATTENDEE_ROLES,
                SYNC_DISCORD_EVENTS,
            ),
        )
    )
