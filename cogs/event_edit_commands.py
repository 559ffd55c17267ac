"""What an admin changes about one event: what it is, and when."""

import datetime as dt

from discord import app_commands
from discord.ext import commands

from bot.changes.event_edit import CLEARABLE, EventChanges, EventEdits
from bot.changes.event_time import EventTimes
from bot.client import TocsinBot
from bot.command_options import (
    Choices,
    DateOption,
    DescriptionOption,
    HoursOption,
    MinutesOption,
    NameOption,
    OfferOption,
    PlacesOption,
    PostChannelOption,
    RoleOption,
    as_choices,
    channel_notes,
    ping_notes,
)
from bot.command_tree import Access, Interaction, needs
from bot.events.browse import search_events
from bot.events.option_descriptions import REQUIRED_ROLE, WHEN_CHANGED, WHICH_EVENT
from models.states import AHEAD


class EventEditCommands(commands.Cog):
    """The admins' ``/event edit`` and ``/event move``."""

    def __init__(self, bot: TocsinBot) -> None:
        self._bot = bot
        agenda, debounce = bot.services.agenda, bot.options.edit_debounce
        signed = bot.services.register.instance
        self._edits = EventEdits(agenda, debounce=debounce, instance=signed)
        self._times = EventTimes(agenda, debounce=debounce, default_timezone=bot.default_timezone, instance=signed)

    @property
    def _now(self) -> dt.datetime:
        return self._bot.clock.now()

    @app_commands.command(name="edit", description="Change one event, this one only; you see what before it is done.")
    @app_commands.describe(
        event=WHICH_EVENT,
        signup_reminder_hours="How many hours before the series' subscribers are asked to sign up; 0 for not at all",
        required_role=REQUIRED_ROLE,
        native_event="Whether it also stands in this server's own list of scheduled events",
        clear="What to take away",
        **WHEN_CHANGED,
    )
    @app_commands.choices(
        clear=[app_commands.Choice(name=option.replace("_", " "), value=option) for option in CLEARABLE]
    )
    @needs(Access.ADMIN)
    async def edit(  # noqa: PLR0913, PLR0917 -- Discord's options are its parameters
        self,
        interaction: Interaction,
        event: str,
        name: NameOption | None = None,
        description: DescriptionOption | None = None,
        duration_minutes: MinutesOption | None = None,
        places: PlacesOption | None = None,
        channel: PostChannelOption | None = None,
        ping_role: RoleOption | None = None,
        announce_hours: HoursOption | None = None,
        signup_reminder_hours: HoursOption | None = None,
        attendance_hours: HoursOption | None = None,
        profile_hours: HoursOption | None = None,
        signups_open_hours: HoursOption | None = None,
        required_role: RoleOption | None = None,
        offer_minutes: OfferOption | None = None,
        native_event: bool | None = None,  # noqa: FBT001 -- as above
        clear: str | None = None,
    ) -> None:
        """Show what would change, to be done on a press."""
        changes = EventChanges(
            name=name,
            description=description,
            duration_minutes=duration_minutes,
            places=places,
            channel_id=channel,
            ping_role_id=ping_role,
            announce_hours=announce_hours,
            signup_reminder_hours=signup_reminder_hours,
            attendance_hours=attendance_hours,
            profile_hours=profile_hours,
            signups_open_hours=signups_open_hours,
            required_role_id=required_role,
            offer_minutes=offer_minutes,
            native_event=native_event,
            clear=clear,
            notes=(*channel_notes(interaction, channel), *ping_notes(interaction, ping_role)),
        )
        guild_id, actor = interaction.guild_id or 0, interaction.user.id
        reply = await self._edits.propose(event, changes, guild_id=guild_id, actor=actor, now=self._now)
        await self._bot.drafts.show(interaction, reply)

    @app_commands.command(name="move", description="Move one event to another time; you see it before it is done.")
    @app_commands.describe(
        event=WHICH_EVENT,
        when="When it begins instead, such as 2026-12-24 19:30",
        tell="Whether those who signed up get a direct message with the new time; they do if left out",
    )
    @needs(Access.ADMIN)
    async def move(
        self,
        interaction: Interaction,
        event: str,
        when: DateOption,
        tell: bool | None = None,  # noqa: FBT001 -- as above
    ) -> None:
        """Show what the move would do, to be done on a press."""
        guild_id, actor = interaction.guild_id or 0, interaction.user.id
        reply = await self._times.propose(event, when, tell=tell, guild_id=guild_id, actor=actor, now=self._now)
        await self._bot.drafts.show(interaction, reply)

    @edit.autocomplete("event")
    async def _editable(self, interaction: Interaction, typed: str) -> Choices:
        return await self._ahead(interaction, typed)

    @move.autocomplete("event")
    async def _movable(self, interaction: Interaction, typed: str) -> Choices:
        return await self._ahead(interaction, typed)

    async def _ahead(self, interaction: Interaction, typed: str) -> Choices:
        guild_id, timezone = interaction.guild_id or 0, self._bot.default_timezone
        return as_choices(await search_events(typed, guild_id=guild_id, now=self._now, states=AHEAD, timezone=timezone))


async def setup(bot: TocsinBot) -> None:
    """Load the cog; called by the library."""
    await bot.add_to_group(EventEditCommands(bot), "event")
