"""What an admin changes about a series: its fields, and with its schedule its events."""

import datetime as dt
from functools import partial
from typing import Literal

from discord import app_commands
from discord.ext import commands

from bot.changes.series_edit import SeriesEditing
from bot.changes.series_edit_request import Clearing, SeriesEditDesk, SeriesEditRequest
from bot.changes.series_split import SeriesSplitting
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
from bot.command_tree import Access, Interaction, needs
from bot.events.browse import search_series
from bot.events.option_descriptions import ATTENDEE_ROLE, OF_SERIES, WHEN_CHANGED, WHICH_SERIES
from bot.times.timezones import search_timezones
from models.states import Frequency, MonthEnd


class SeriesEditCommands(commands.Cog):
    """The admins' ``/series edit``."""

    def __init__(self, bot: TocsinBot) -> None:
        self._bot = bot
        agenda, debounce = bot.services.agenda, bot.options.edit_debounce
        signed = bot.services.register.instance
        self._desk = SeriesEditDesk(
            SeriesEditing(agenda, debounce=debounce, instance=signed),
            SeriesSplitting(agenda, debounce=debounce, instance=signed),
        )

    @property
    def _now(self) -> dt.datetime:
        return self._bot.clock.now()

    @app_commands.command(name="edit", description="Change a series; you see what becomes of its events first.")
    @app_commands.describe(
        series=WHICH_SERIES,
        time="The time of day it begins, such as 19:30",
        starts="The first day, such as 2026-03-29",
        every="Every how many days, weeks, months or years",
        timezone="Whose clock the time is by",
        ends="The last day, such as 2026-12-24",
        days_ahead="How many days ahead its events are made",
        attendee_role=ATTENDEE_ROLE,
        native_event="Whether its events also stand in this server's own list of scheduled events",
        clear="What to take away",
        **WHEN_CHANGED,
        **OF_SERIES,
    )
    @app_commands.choices(
        month_end=[
            app_commands.Choice(name="its last day", value=MonthEnd.LAST_DAY.value),
            app_commands.Choice(name="not at all", value=MonthEnd.SKIP.value),
        ],
        clear=[app_commands.Choice(name=one.value, value=one.value) for one in Clearing],
    )
    @needs(Access.ADMIN)
    async def edit(  # noqa: PLR0913, PLR0917 -- Discord's options are its parameters
        self,
        interaction: Interaction,
        series: str,
        name: NameOption | None = None,
        frequency: Literal["daily", "weekly", "monthly", "yearly"] | None = None,
        time: TimeOption | None = None,
        starts: DateOption | None = None,
        days: app_commands.Range[str, 2, 40] | None = None,
        every: app_commands.Range[int, 1, 52] | None = None,
        timezone: ZoneOption | None = None,
        ends: DateOption | None = None,
        month_end: str | None = None,
        description: DescriptionOption | None = None,
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
        clear: str | None = None,
    ) -> None:
        """Show what would change, and what becomes of each event, to be done on a press."""
        request = SeriesEditRequest(
            series=series,
            name=name,
            frequency=Frequency(frequency) if frequency is not None else None,
            time=time,
            starts=starts,
            days=days,
            every=every,
            timezone=timezone,
            ends=ends,
            month_end=MonthEnd(month_end) if month_end is not None else None,
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
            clear=Clearing(clear) if clear is not None else None,
            look=partial(spec_notes, interaction),
        )
        guild_id, actor = interaction.guild_id or 0, interaction.user.id
        reply = await self._desk.propose(request, guild_id=guild_id, actor=actor, now=self._now)
        await self._bot.drafts.show(interaction, reply)

    @edit.autocomplete("series")
    async def _series(self, interaction: Interaction, typed: str) -> Choices:
        return as_choices(await search_series(typed, guild_id=interaction.guild_id or 0))

    @edit.autocomplete("timezone")
    async def _timezones(self, _interaction: Interaction, typed: str) -> Choices:
        return as_choices(search_timezones(typed, now=self._now))


async def setup(bot: TocsinBot) -> None:
    """Load the cog; called by the library."""
    await bot.add_to_group(SeriesEditCommands(bot), "series")
