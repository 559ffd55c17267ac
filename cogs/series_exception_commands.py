"""Where an admin lets a series differ from its rule: dates it skips, extra events, and its end."""

import datetime as dt

from discord import app_commands
from discord.ext import commands

from bot.changes.extras import ExtraEvents
from bot.changes.series_removal import SeriesRemoval
from bot.changes.series_skips import SeriesSkips, search_dates
from bot.client import TocsinBot
from bot.command_options import Choices, DateOption, as_choices
from bot.command_tree import Access, Interaction, needs
from bot.events.browse import search_series
from bot.events.option_descriptions import WHICH_SERIES


class SeriesExceptionCommands(commands.Cog):
    """The admins' ``/series skip``, ``unskip``, ``add-extra`` and ``delete``."""

    def __init__(self, bot: TocsinBot) -> None:
        self._bot = bot
        agenda, debounce = bot.services.agenda, bot.options.edit_debounce
        signed = bot.services.register.instance
        self._skips = SeriesSkips(agenda, debounce=debounce, instance=signed)
        self._removal = SeriesRemoval(agenda, debounce=debounce, instance=signed)
        self._extras = ExtraEvents(agenda, debounce=debounce, default_timezone=bot.default_timezone, instance=signed)

    @property
    def _now(self) -> dt.datetime:
        return self._bot.clock.now()

    @app_commands.command(name="skip", description="Leave out one date of a series; you see what before it is done.")
    @app_commands.describe(series=WHICH_SERIES, date="Which date: choose one from the list, or type it")
    @needs(Access.ADMIN)
    async def skip(self, interaction: Interaction, series: str, date: DateOption) -> None:
        """Show what skipping a date would do, to be done on a press."""
        guild_id, actor = interaction.guild_id or 0, interaction.user.id
        reply = await self._skips.propose_skip(series, date, guild_id=guild_id, actor=actor, now=self._now)
        await self._bot.drafts.show(interaction, reply)

    @app_commands.command(name="unskip", description="Let a date that a series skips return.")
    @app_commands.describe(series=WHICH_SERIES, date="Which date: choose one from the list, or type it")
    @needs(Access.ADMIN)
    async def unskip(self, interaction: Interaction, series: str, date: DateOption) -> None:
        """Show what letting a date return would do, to be done on a press."""
        guild_id, actor = interaction.guild_id or 0, interaction.user.id
        reply = await self._skips.propose_return(series, date, guild_id=guild_id, actor=actor, now=self._now)
        await self._bot.drafts.show(interaction, reply)

    @app_commands.command(name="add-extra", description="Add one event to a series beside its own times.")
    @app_commands.describe(series=WHICH_SERIES, when="When it begins, such as 2026-12-24 19:30")
    @needs(Access.ADMIN)
    async def add_extra(self, interaction: Interaction, series: str, when: DateOption) -> None:
        """Show what would be added, to be done on a press."""
        guild_id, actor = interaction.guild_id or 0, interaction.user.id
        reply = await self._extras.propose(series, when, guild_id=guild_id, actor=actor, now=self._now)
        await self._bot.drafts.show(interaction, reply)

    @app_commands.command(name="delete", description="Delete a series; you see what happens to its events first.")
    @app_commands.describe(series=WHICH_SERIES)
    @needs(Access.ADMIN)
    async def delete(self, interaction: Interaction, series: str) -> None:
        """Show what deleting would do, to be done on a press."""
        guild_id, actor = interaction.guild_id or 0, interaction.user.id
        reply = await self._removal.propose(series, guild_id=guild_id, actor=actor, now=self._now)
        await self._bot.drafts.show(interaction, reply)

    @skip.autocomplete("series")
    @unskip.autocomplete("series")
    @add_extra.autocomplete("series")
    @delete.autocomplete("series")
    async def _series(self, interaction: Interaction, typed: str) -> Choices:
        return as_choices(await search_series(typed, guild_id=interaction.guild_id or 0))

    @skip.autocomplete("date")
    async def _dates(self, interaction: Interaction, typed: str) -> Choices:
        return await self._found(interaction, typed, skipped=False)

    @unskip.autocomplete("date")
    async def _skipped(self, interaction: Interaction, typed: str) -> Choices:
        return await self._found(interaction, typed, skipped=True)

    async def _found(self, interaction: Interaction, typed: str, *, skipped: bool) -> Choices:
        series, guild_id = str(interaction.namespace.series or ""), interaction.guild_id or 0
        return as_choices(await search_dates(series, typed, guild_id=guild_id, now=self._now, skipped=skipped))


async def setup(bot: TocsinBot) -> None:
    """Load the cog; called by the library."""
    await bot.add_to_group(SeriesExceptionCommands(bot), "series")
