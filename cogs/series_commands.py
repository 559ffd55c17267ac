"""What an admin does with series: make them, look at them, pause and resume them."""

import datetime as dt
from functools import partial
from typing import Literal

from discord import app_commands
from discord.ext import commands

from bot.changes.series_state import pause_series, propose_resume
from bot.client import TocsinBot
from bot.command_options import (
    Choices,
    DateOption,
    DaysOption,
    DescriptionOption,
    HoursOption,
    MinutesOption,
    NameOption,
    OfferOption,
    PlacesOption,
    PostChannelOption,
    RoleOption,
    TimeOption,
    ZoneOption,
    as_choices,
    spec_notes,
)
from bot.command_tree import Access, Interaction, answer, needs
from bot.events.browse import search_series
from bot.events.option_descriptions import ATTENDEE_ROLE, OF_SERIES, WHEN_MADE, WHICH_SERIES
from bot.events.overview import list_series, show_series
from bot.events.series_requests import SeriesDesk, SeriesRequest
from bot.times.timezones import search_timezones
from models.states import Frequency, MonthEnd


@app_commands.guild_only()
@app_commands.default_permissions(manage_guild=True)
class SeriesCommands(commands.GroupCog, group_name="series", group_description="Events that return by a rule."):
    """The admins' ``/series``."""

    def __init__(self, bot: TocsinBot) -> None:
        self._bot = bot
        self._desk = SeriesDesk(bot.services.agenda, default_timezone=bot.default_timezone)

    @property
    def _now(self) -> dt.datetime:
        return self._bot.clock.now()

    @app_commands.command(name="create", description="Make a series; you see its times before anything is saved.")
    @app_commands.describe(
        time="The time of day it begins, such as 19:30 or 7:30pm",
        starts="The first day, such as 2026-03-29; today if left out",
        every="Every how many days, weeks, months or years; 1 if left out",
        timezone="Whose clock the time is by; this server's if left out",
        ends="The last day, such as 2026-12-24; never if left out",
        days_ahead="How many days ahead its events are made; usually 14",
        attendee_role=ATTENDEE_ROLE,
        **WHEN_MADE,
        **OF_SERIES,
    )
    @app_commands.choices(
        month_end=[
            app_commands.Choice(name="its last day", value=MonthEnd.LAST_DAY.value),
            app_commands.Choice(name="not at all", value=MonthEnd.SKIP.value),
        ]
    )
    @needs(Access.ADMIN)
    async def create(  # noqa: PLR0913, PLR0917 -- Discord's options are its parameters
        self,
        interaction: Interaction,
        name: NameOption,
        frequency: Literal["daily", "weekly", "monthly", "yearly"],
        time: TimeOption,
        starts: DateOption | None = None,
        days: app_commands.Range[str, 2, 40] | None = None,
        every: app_commands.Range[int, 1, 52] = 1,
        timezone: ZoneOption | None = None,
        ends: DateOption | None = None,
        month_end: str = MonthEnd.LAST_DAY.value,
        description: DescriptionOption = "",
        channel: PostChannelOption | None = None,
        ping_role: RoleOption | None = None,
        places: PlacesOption | None = None,
        duration_minutes: MinutesOption | None = None,
        announce_hours: HoursOption | None = None,
        signup_reminder_hours: HoursOption | None = None,
        attendance_hours: HoursOption | None = None,
        profile_hours: HoursOption | None = None,
        signups_open_hours: HoursOption | None = None,
        days_ahead: DaysOption | None = None,
        attendee_role: RoleOption | None = None,
        offer_minutes: OfferOption | None = None,
        native_event: bool | None = None,  # noqa: FBT001 -- as above
    ) -> None:
        """Show what a series would be, to be created on a press."""
        request = SeriesRequest(
            name=name,
            frequency=Frequency(frequency),
            time=time,
            starts=starts,
            days=days,
            every=every,
            timezone=timezone,
            ends=ends,
            month_end=MonthEnd(month_end),
            description=description,
            channel_id=channel,
            ping_role_id=ping_role,
            places=places,
            duration_minutes=duration_minutes,
            announce_hours=announce_hours,
            signup_reminder_hours=signup_reminder_hours,
            attendance_hours=attendance_hours,
            profile_hours=profile_hours,
            signups_open_hours=signups_open_hours,
            days_ahead=days_ahead,
            attendee_role_id=attendee_role,
            offer_minutes=offer_minutes,
            native_event=native_event,
            look=partial(spec_notes, interaction),
        )
        guild_id, actor = interaction.guild_id or 0, interaction.user.id
        reply = await self._desk.propose(request, guild_id=guild_id, actor=actor, now=self._now)
        await self._bot.drafts.show(interaction, reply)

    @app_commands.command(name="list", description="The series of this server, each with its next event.")
    @needs(Access.ADMIN)
    async def list_all(self, interaction: Interaction) -> None:
        """List the series."""
        await answer(interaction, await list_series(guild_id=interaction.guild_id or 0))

    @app_commands.command(name="show", description="Everything about one series.")
    @app_commands.describe(series=WHICH_SERIES)
    @needs(Access.ADMIN)
    async def show(self, interaction: Interaction, series: str) -> None:
        """Show one series."""
        await answer(interaction, await show_series(series, guild_id=interaction.guild_id or 0))

    @app_commands.command(name="pause", description="Let a series make no new events; those it has made stay.")
    @app_commands.describe(series=WHICH_SERIES)
    @needs(Access.ADMIN)
    async def pause(self, interaction: Interaction, series: str) -> None:
        """Pause one series."""
        guild_id, actor = interaction.guild_id or 0, interaction.user.id
        await answer(interaction, await pause_series(series, guild_id=guild_id, actor=actor, now=self._now))

    @app_commands.command(name="resume", description="Let a paused series go on; its events are made at once.")
    @app_commands.describe(series=WHICH_SERIES)
    @needs(Access.ADMIN)
    async def resume(self, interaction: Interaction, series: str) -> None:
        """Resume one series."""
        guild_id, actor, agenda = interaction.guild_id or 0, interaction.user.id, self._bot.services.agenda
        debounce = self._bot.options.edit_debounce
        reply = await propose_resume(
            series, guild_id=guild_id, actor=actor, now=self._now, agenda=agenda, debounce=debounce
        )
        await self._bot.drafts.show(interaction, reply)

    @show.autocomplete("series")
    async def _any(self, interaction: Interaction, typed: str) -> Choices:
        return await _found(interaction, typed)

    @pause.autocomplete("series")
    async def _active(self, interaction: Interaction, typed: str) -> Choices:
        return await _found(interaction, typed, active=True)

    @resume.autocomplete("series")
    async def _paused(self, interaction: Interaction, typed: str) -> Choices:
        return await _found(interaction, typed, active=False)

    @create.autocomplete("timezone")
    async def _timezones(self, _interaction: Interaction, typed: str) -> Choices:
        return as_choices(search_timezones(typed, now=self._now))


async def _found(interaction: Interaction, typed: str, *, active: bool | None = None) -> Choices:
    return as_choices(await search_series(typed, guild_id=interaction.guild_id or 0, active=active))


async def setup(bot: TocsinBot) -> None:
    """Load the cog; called by the library."""
    await bot.add_cog(SeriesCommands(bot))
