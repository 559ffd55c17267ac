"""What everybody in a server may ask for: what is ahead, and to be reminded of a series or not."""

from discord import app_commands
from discord.ext import commands

from bot.client import TocsinBot
from bot.command_options import Choices, as_choices
from bot.command_tree import Access, Interaction, answer, needs
from bot.events.ahead import listing, outlook
from bot.events.browse import find_series, search_series
from bot.events.subscriptions import search_subscriptions, subscribe, unsubscribe
from bot.message.outgoing import Embed

_NOTHING_AHEAD = "Nothing is ahead in this server for now."


class Players(commands.Cog):
    """The players' commands."""

    def __init__(self, bot: TocsinBot) -> None:
        self._bot = bot

    @app_commands.command(name="events", description="What is ahead in this server, and where you stand with it.")
    @app_commands.guild_only()
    @needs(Access.MEMBER)
    async def events(self, interaction: Interaction) -> None:
        """List the events ahead."""
        found = await outlook(interaction.guild_id or 0, interaction.user.id, now=self._bot.clock.now())
        if found.events:
            await answer(interaction, "", embed=Embed(title="What is ahead", description=listing(found)))
        else:
            await answer(interaction, _NOTHING_AHEAD)

    @app_commands.command(name="subscribe", description="Be reminded by direct message of the sign-ups of a series.")
    @app_commands.describe(series="Which series: choose one from the list")
    @app_commands.guild_only()
    @needs(Access.MEMBER)
    async def subscribe(self, interaction: Interaction, series: str) -> None:
        """Subscribe to a series."""
        guild_id = interaction.guild_id or 0
        wanted = await find_series(series, guild_id=guild_id)
        done = await subscribe(wanted.id, guild_id=guild_id, user_id=interaction.user.id, now=self._bot.clock.now())
        await answer(interaction, done.sentence)

    @app_commands.command(name="unsubscribe", description="Be reminded of the sign-ups of a series no longer.")
    @app_commands.describe(series="Which series: choose one of yours from the list")
    @app_commands.guild_only()
    @needs(Access.MEMBER)
    async def unsubscribe(self, interaction: Interaction, series: str) -> None:
        """Unsubscribe from a series."""
        guild_id = interaction.guild_id or 0
        unwanted = await find_series(series, guild_id=guild_id)
        done = await unsubscribe(unwanted.id, guild_id=guild_id, user_id=interaction.user.id)
        await answer(interaction, done.sentence)

    @subscribe.autocomplete("series")
    async def _active(self, interaction: Interaction, typed: str) -> Choices:
        found = await search_series(typed, guild_id=interaction.guild_id or 0, active=True)
        return as_choices(found)

    @unsubscribe.autocomplete("series")
    async def _own(self, interaction: Interaction, typed: str) -> Choices:
        found = await search_subscriptions(typed, guild_id=interaction.guild_id or 0, user_id=interaction.user.id)
        return as_choices(found)


async def setup(bot: TocsinBot) -> None:
    """Load the cog; called by the library."""
    await bot.add_cog(Players(bot))
