"""Calendar files: an admin's imports and exports, and everybody's own events."""

import datetime as dt
from typing import Literal

import discord
from discord import app_commands
from discord.ext import commands

from bot.calendars.desk import MAX_ATTACHED, CalendarDesk, exported, own_calendar
from bot.client import TocsinBot
from bot.command_options import Choices, as_choices
from bot.command_tree import Access, Interaction, answer, needs
from bot.delivery.attachment import read_attachment
from bot.events.browse import search_series


class CalendarCommands(commands.Cog):
    """``/export`` and ``/calendar``."""

    def __init__(self, bot: TocsinBot) -> None:
        self._bot = bot

    @property
    def _now(self) -> dt.datetime:
        return self._bot.clock.now()

    @app_commands.command(name="export", description="This server's series and events, or one series, as a file.")
    @app_commands.describe(
        format="A calendar (ICS), or a table for a spreadsheet (CSV)",
        series="Which series: choose one from the list; all of them if left out",
    )
    @app_commands.guild_only()
    @app_commands.default_permissions(manage_guild=True)
    @needs(Access.ADMIN)
    async def export(
        self,
        interaction: Interaction,
        format: Literal["ICS", "CSV"],  # noqa: A002 -- the option's name
        series: str | None = None,
    ) -> None:
        """Answer with a file of the server, or of one series."""
        title = interaction.guild.name if interaction.guild is not None else ""
        done = await exported(format, series, guild_id=interaction.guild_id or 0, title=title, now=self._now)
        await answer(interaction, done.text, file=(done.name, done.content))

    @app_commands.command(name="calendar", description="The events of this server that you signed up for, as a file.")
    @app_commands.guild_only()
    @needs(Access.MEMBER)
    async def calendar(self, interaction: Interaction) -> None:
        """Answer with a file of one's own events."""
        title = interaction.guild.name if interaction.guild is not None else ""
        done = await own_calendar(interaction.guild_id or 0, interaction.user.id, title=title, now=self._now)
        await answer(interaction, done.text, file=(done.name, done.content) if done.content else None)

    @export.autocomplete("series")
    async def _series(self, interaction: Interaction, typed: str) -> Choices:
        return as_choices(await search_series(typed, guild_id=interaction.guild_id or 0))


class SeriesImportCommand(commands.Cog):
    """The admins' ``/series import``."""

    def __init__(self, bot: TocsinBot) -> None:
        self._bot = bot
        self._desk = CalendarDesk(bot.services.agenda, default_timezone=bot.default_timezone)

    # Not called import: the language keeps that word for itself.
    @app_commands.command(name="import", description="Take series and events from a calendar file; you see them first.")
    @app_commands.describe(file="A calendar file (ICS) of at most 1 MB")
    @needs(Access.ADMIN)
    async def import_file(self, interaction: Interaction, file: discord.Attachment) -> None:
        """Show what a file would make, to be made on a press."""
        raw = await read_attachment(file, most_bytes=MAX_ATTACHED)
        guild_id, actor, now = interaction.guild_id or 0, interaction.user.id, self._bot.clock.now()
        await self._bot.drafts.show(interaction, await self._desk.propose(raw, guild_id=guild_id, actor=actor, now=now))


async def setup(bot: TocsinBot) -> None:
    """Load the cogs; called by the library."""
    await bot.add_cog(CalendarCommands(bot))
    await bot.add_to_group(SeriesImportCommand(bot), "series")
