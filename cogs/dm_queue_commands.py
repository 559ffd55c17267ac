"""``/dm-queue``: how direct messages get on."""

from discord import app_commands
from discord.ext import commands

from bot.client import TocsinBot
from bot.command_tree import Access, Interaction, answer, needs
from bot.dm_queue.status import status_of, status_text


@app_commands.guild_only()
@app_commands.default_permissions(manage_guild=True)
class DmQueueCommands(commands.GroupCog, group_name="dm-queue", group_description="Direct messages: how they get on."):
    """How direct messages get on."""

    def __init__(self, bot: TocsinBot) -> None:
        self._bot = bot

    @app_commands.command(name="status", description="What waits, at what rate it goes out, what failed lately.")
    @needs(Access.ADMIN)
    async def status(self, interaction: Interaction) -> None:
        """Show the queue to an admin; failures are of their own server alone."""
        assert interaction.guild_id is not None  # noqa: S101 -- checked by the tree
        status = status_of(self._bot.services.dms, guild_id=interaction.guild_id)
        await answer(interaction, status_text(status))


async def setup(bot: TocsinBot) -> None:
    """Load the cog; called by the library."""
    await bot.add_cog(DmQueueCommands(bot))
