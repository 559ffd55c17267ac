"""What everybody in a server may ask for: what is ahead, to be reminded of a series, and what reaches them at all."""

from typing import TypeAlias

from discord import app_commands
from discord.ext import commands

from bot.client import TocsinBot
from bot.command_options import Choices, as_choices
from bot.command_tree import Access, Interaction, answer, needs
from bot.events.ahead import listing, outlook
from bot.events.browse import find_series, search_series
from bot.events.notifications import page, search_switches, turn
from bot.events.option_descriptions import WHICH_SERIES
from bot.events.subscriptions import search_subscriptions, subscribe, unsubscribe
from bot.message.outgoing import Embed

SwitchOption: TypeAlias = app_commands.Range[str, 1, 100]
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
    @app_commands.describe(series=WHICH_SERIES)
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

    @app_commands.command(name="notifications", description="What reaches you by direct message: turn it off or on.")
    @app_commands.describe(
        turn_off="What you want no longer; with nothing given, you see everything, with buttons",
        turn_on="What you want again",
    )
    @app_commands.guild_only()
    @needs(Access.MEMBER)
    async def notifications(
        self, interaction: Interaction, turn_off: SwitchOption | None = None, turn_on: SwitchOption | None = None
    ) -> None:
        """Show what a person gets, after what they want changed."""
        guild_id, user_id, now = interaction.guild_id or 0, interaction.user.id, self._bot.clock.now()
        said = await turn(turn_off, turn_on, guild_id=guild_id, user_id=user_id, now=now)
        shown = await page(user_id, guild_id=guild_id, said=said)
        await self._bot.drafts.show(interaction, shown, access=Access.MEMBER)

    @notifications.autocomplete("turn_off")
    async def _on(self, interaction: Interaction, typed: str) -> Choices:
        return await _switches(interaction, typed, on=True)

    @notifications.autocomplete("turn_on")
    async def _off(self, interaction: Interaction, typed: str) -> Choices:
        return await _switches(interaction, typed, on=False)

    @subscribe.autocomplete("series")
    async def _active(self, interaction: Interaction, typed: str) -> Choices:
        found = await search_series(typed, guild_id=interaction.guild_id or 0, active=True)
        return as_choices(found)

    @unsubscribe.autocomplete("series")
    async def _own(self, interaction: Interaction, typed: str) -> Choices:
        found = await search_subscriptions(typed, guild_id=interaction.guild_id or 0, user_id=interaction.user.id)
        return as_choices(found)


async def _switches(interaction: Interaction, typed: str, *, on: bool) -> Choices:
    guild_id, user_id = interaction.guild_id or 0, interaction.user.id
    return as_choices(await search_switches(typed, on=on, guild_id=guild_id, user_id=user_id))


async def setup(bot: TocsinBot) -> None:
    """Load the cog; called by the library."""
    await bot.add_cog(Players(bot))
