"""What an admin does about who comes to an event: look, add, remove, note who did not come, take the list along."""

import datetime as dt
from collections.abc import Collection
from typing import TypeAlias

import discord
from discord import app_commands
from discord.ext import commands

from bot.client import TocsinBot
from bot.command_options import Choices, as_choices
from bot.command_tree import Access, Interaction, answer, needs
from bot.errors import BotError
from bot.events.browse import EVERY_STATE, search_events
from bot.events.option_descriptions import WHICH_EVENT
from bot.events.signups.desk import SignupDesk
from models.states import EventState

PersonOption: TypeAlias = discord.Member | discord.User
"""Somebody, also who left: only a member can be added, anybody removed."""

_RUNNING = frozenset({EventState.SIGNUPS_OPEN, EventState.ROLL_CALL, EventState.IN_PROGRESS})
_BEGUN = frozenset({EventState.IN_PROGRESS, EventState.COMPLETED})


class NotAPlayerError(BotError):
    """Who is to be added is no person of this server."""

    def __init__(self, person: PersonOption) -> None:
        why = "is a bot" if person.bot else "is not in this server"
        super().__init__(f"<@{person.id}> {why}, so nothing was changed.")


@app_commands.guild_only()
@app_commands.default_permissions(manage_guild=True)
class SignupCommands(commands.GroupCog, group_name="signups", group_description="Who comes to an event."):
    """The admins' ``/signups``."""

    def __init__(self, bot: TocsinBot) -> None:
        self._bot = bot
        self._desk = SignupDesk(
            bot.services.agenda, debounce=bot.options.edit_debounce, instance=bot.services.register.instance
        )

    @property
    def _now(self) -> dt.datetime:
        return self._bot.clock.now()

    @app_commands.command(name="list", description="Who comes to one event, waits for it, may come or cannot.")
    @app_commands.describe(event=WHICH_EVENT)
    @needs(Access.ADMIN)
    async def list_all(self, interaction: Interaction, event: str) -> None:
        """List the people of one event."""
        await answer(interaction, await self._desk.listing(event, guild_id=interaction.guild_id or 0))

    @app_commands.command(name="add", description="Sign somebody up for one event, also somebody who was removed.")
    @app_commands.describe(event=WHICH_EVENT, person="Who is to come")
    @needs(Access.ADMIN)
    async def add(self, interaction: Interaction, event: str, person: PersonOption) -> None:
        """Sign somebody up."""
        if person.bot or not isinstance(person, discord.Member):
            raise NotAPlayerError(person)
        reply = await self._desk.add(
            event, person.id, guild_id=interaction.guild_id or 0, actor=interaction.user.id, now=self._now
        )
        await self._bot.drafts.show(interaction, reply)

    @app_commands.command(name="remove", description="Take somebody off one event; no button brings them back.")
    @app_commands.describe(event=WHICH_EVENT, person="Who is not to come")
    @needs(Access.ADMIN)
    async def remove(self, interaction: Interaction, event: str, person: PersonOption) -> None:
        """Take somebody off."""
        says = await self._desk.remove(
            event, person.id, guild_id=interaction.guild_id or 0, actor=interaction.user.id, now=self._now
        )
        await answer(interaction, says)

    @app_commands.command(name="no-show", description="Note that somebody did not come; once more takes it back.")
    @app_commands.describe(event=WHICH_EVENT, person="Who did not come")
    @needs(Access.ADMIN)
    async def no_show(self, interaction: Interaction, event: str, person: PersonOption) -> None:
        """Note who did not come."""
        says = await self._desk.no_show(
            event, person.id, guild_id=interaction.guild_id or 0, actor=interaction.user.id, now=self._now
        )
        await answer(interaction, says)

    @app_commands.command(name="export", description="The people of one event as a CSV file.")
    @app_commands.describe(event=WHICH_EVENT)
    @needs(Access.ADMIN)
    async def export(self, interaction: Interaction, event: str) -> None:
        """Hand out the list as a file."""
        guild = interaction.guild

        def _name_of(user_id: int) -> str | None:
            member = guild.get_member(user_id) if guild is not None else None
            return member.display_name if member is not None else None

        says, file = await self._desk.export(event, guild_id=interaction.guild_id or 0, name_of=_name_of)
        await answer(interaction, says, file=file)

    @list_all.autocomplete("event")
    @export.autocomplete("event")
    async def _any(self, interaction: Interaction, typed: str) -> Choices:
        return await self._found(interaction, typed, EVERY_STATE)

    @add.autocomplete("event")
    @remove.autocomplete("event")
    async def _running(self, interaction: Interaction, typed: str) -> Choices:
        return await self._found(interaction, typed, _RUNNING)

    @no_show.autocomplete("event")
    async def _begun(self, interaction: Interaction, typed: str) -> Choices:
        return await self._found(interaction, typed, _BEGUN)

    async def _found(self, interaction: Interaction, typed: str, states: Collection[EventState]) -> Choices:
        found = await search_events(
            typed,
            guild_id=interaction.guild_id or 0,
            now=self._now,
            states=states,
            timezone=self._bot.default_timezone,
        )
        return as_choices(found)


async def setup(bot: TocsinBot) -> None:
    """Load the cog; called by the library."""
    await bot.add_cog(SignupCommands(bot))
