"""What an admin does with events: make one, look at them, let them go from state to state."""

import datetime as dt
from collections.abc import Collection
from functools import partial

from discord import app_commands
from discord.ext import commands

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
    spec_notes,
)
from bot.command_tree import Access, Interaction, answer, needs
from bot.events.browse import EVERY_STATE, search_events
from bot.events.event_requests import EventDesk, EventRequest
from bot.events.option_descriptions import ATTENDEE_ROLE, REQUIRED_ROLE, WHEN_MADE, WHICH_EVENT
from bot.events.overview import list_events, show_event
from bot.events.transitions import Transition, Transitions, states_that_allow
from models.states import EventState


@app_commands.guild_only()
@app_commands.default_permissions(manage_guild=True)
class EventCommands(commands.GroupCog, group_name="event", group_description="Events, one by one."):
    """The admins' ``/event``."""

    def __init__(self, bot: TocsinBot) -> None:
        self._bot = bot
        self._desk = EventDesk(bot.services.agenda, default_timezone=bot.default_timezone)
        self._transitions = Transitions(
            bot.services.agenda, debounce=bot.options.edit_debounce, instance=bot.services.register.instance
        )

    @property
    def _now(self) -> dt.datetime:
        return self._bot.clock.now()

    @app_commands.command(name="create", description="Make one event; you see its time before anything is saved.")
    @app_commands.describe(
        when="When it begins, such as fri 8pm or 2026-12-24 19:30; by your own clock if you set one",
        required_role=REQUIRED_ROLE,
        attendee_role=ATTENDEE_ROLE,
        **WHEN_MADE,
    )
    @needs(Access.ADMIN)
    async def create(  # noqa: PLR0913, PLR0917 -- Discord's options are its parameters
        self,
        interaction: Interaction,
        name: NameOption,
        when: DateOption,
        description: DescriptionOption = "",
        duration_minutes: MinutesOption | None = None,
        places: PlacesOption | None = None,
        channel: PostChannelOption | None = None,
        ping_role: RoleOption | None = None,
        announce_hours: HoursOption | None = None,
        attendance_hours: HoursOption | None = None,
        profile_hours: HoursOption | None = None,
        signups_open_hours: HoursOption | None = None,
        required_role: RoleOption | None = None,
        attendee_role: RoleOption | None = None,
        offer_minutes: OfferOption | None = None,
        native_event: bool | None = None,  # noqa: FBT001 -- as above
    ) -> None:
        """Show what an event would be, to be created on a press."""
        request = EventRequest(
            name=name,
            when=when,
            description=description,
            duration_minutes=duration_minutes,
            places=places,
            channel_id=channel,
            ping_role_id=ping_role,
            announce_hours=announce_hours,
            attendance_hours=attendance_hours,
            profile_hours=profile_hours,
            signups_open_hours=signups_open_hours,
            required_role_id=required_role,
            attendee_role_id=attendee_role,
            offer_minutes=offer_minutes,
            native_event=native_event,
            look=partial(spec_notes, interaction),
        )
        guild_id, actor = interaction.guild_id or 0, interaction.user.id
        reply = await self._desk.propose(request, guild_id=guild_id, actor=actor, now=self._now)
        await self._bot.drafts.show(interaction, reply)

    @app_commands.command(name="list", description="The events that are ahead in this server.")
    @needs(Access.ADMIN)
    async def list_all(self, interaction: Interaction) -> None:
        """List the events ahead."""
        await answer(interaction, await list_events(guild_id=interaction.guild_id or 0, now=self._now))

    @app_commands.command(name="show", description="Everything about one event.")
    @app_commands.describe(event=WHICH_EVENT)
    @needs(Access.ADMIN)
    async def show(self, interaction: Interaction, event: str) -> None:
        """Show one event."""
        await answer(interaction, await show_event(event, guild_id=interaction.guild_id or 0, now=self._now))

    @app_commands.command(name="cancel", description="Cancel one event; you see what that does before it is done.")
    @app_commands.describe(event=WHICH_EVENT)
    @needs(Access.ADMIN)
    async def cancel(self, interaction: Interaction, event: str) -> None:
        """Show what cancelling would do, to be done on a press."""
        guild_id, actor = interaction.guild_id or 0, interaction.user.id
        reply = await self._transitions.propose_cancel(event, guild_id=guild_id, actor=actor, now=self._now)
        await self._bot.drafts.show(interaction, reply)

    @app_commands.command(name="open-signups", description="Open the sign-ups of one event now.")
    @app_commands.describe(event=WHICH_EVENT)
    @needs(Access.ADMIN)
    async def open_signups(self, interaction: Interaction, event: str) -> None:
        """Open the sign-ups."""
        await self._make(interaction, Transition.OPEN_SIGNUPS, event)

    @app_commands.command(name="roll-call", description="Close the sign-ups of one event, to call the roll.")
    @app_commands.describe(event=WHICH_EVENT)
    @needs(Access.ADMIN)
    async def roll_call(self, interaction: Interaction, event: str) -> None:
        """Call the roll."""
        await self._make(interaction, Transition.ROLL_CALL, event)

    @app_commands.command(name="reopen", description="Open the sign-ups of one event again after the roll call.")
    @app_commands.describe(event=WHICH_EVENT)
    @needs(Access.ADMIN)
    async def reopen(self, interaction: Interaction, event: str) -> None:
        """Open the sign-ups again."""
        await self._make(interaction, Transition.REOPEN, event)

    @app_commands.command(name="start", description="Let one event begin now, whatever its time says.")
    @app_commands.describe(event=WHICH_EVENT)
    @needs(Access.ADMIN)
    async def start(self, interaction: Interaction, event: str) -> None:
        """Let it begin."""
        await self._make(interaction, Transition.START, event)

    async def _make(self, interaction: Interaction, which: Transition, event: str) -> None:
        guild_id, actor = interaction.guild_id or 0, interaction.user.id
        said = await self._transitions.make(which, event, guild_id=guild_id, actor=actor, now=self._now)
        await answer(interaction, said)

    @show.autocomplete("event")
    async def _any(self, interaction: Interaction, typed: str) -> Choices:
        return await self._found(interaction, typed, EVERY_STATE)

    @cancel.autocomplete("event")
    async def _cancellable(self, interaction: Interaction, typed: str) -> Choices:
        return await self._found(interaction, typed, states_that_allow(Transition.CANCEL))

    @open_signups.autocomplete("event")
    async def _closed(self, interaction: Interaction, typed: str) -> Choices:
        return await self._found(interaction, typed, states_that_allow(Transition.OPEN_SIGNUPS))

    @roll_call.autocomplete("event")
    async def _open(self, interaction: Interaction, typed: str) -> Choices:
        return await self._found(interaction, typed, states_that_allow(Transition.ROLL_CALL))

    @reopen.autocomplete("event")
    async def _at_roll_call(self, interaction: Interaction, typed: str) -> Choices:
        return await self._found(interaction, typed, states_that_allow(Transition.REOPEN))

    @start.autocomplete("event")
    async def _startable(self, interaction: Interaction, typed: str) -> Choices:
        return await self._found(interaction, typed, states_that_allow(Transition.START))

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
    await bot.add_cog(EventCommands(bot))
