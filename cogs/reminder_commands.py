"""What an admin asks of the reminders: what is to come, why one came or did not, and to try again what failed."""

import datetime as dt
from zoneinfo import ZoneInfo

import discord
from discord import app_commands
from discord.ext import commands

from bot.client import TocsinBot
from bot.command_options import Choices, as_choices, may_post
from bot.command_tree import Access, Interaction, answer, needs
from bot.events.browse import guild_timezone, search_events
from bot.events.option_descriptions import WHICH_EVENT
from bot.reminders.forecast import Prospects, Window, forecast
from bot.reminders.forecast_wording import FILE_NAME, forecast_text, left_out
from bot.reminders.retry import Retries
from bot.reminders.why import why
from bot.scheduling.bodies import GENERATE_UPCOMING_EVENTS
from models.states import AHEAD

_MOST_DAYS = 60


@app_commands.guild_only()
@app_commands.default_permissions(manage_guild=True)
class ReminderCommands(commands.GroupCog, group_name="reminders", group_description="What is sent when, and why."):
    """The admins' ``/reminders``."""

    def __init__(self, bot: TocsinBot) -> None:
        self._bot = bot
        services = bot.services
        self._retries = Retries(
            services.agenda, lease_clock=services.out.lease_clock, instance=services.register.instance
        )

    @property
    def _now(self) -> dt.datetime:
        return self._bot.clock.now()

    @app_commands.command(name="forecast", description="What is sent in the coming days, and what is not and why.")
    @app_commands.describe(days="How many days from now; 7 if left out")
    @needs(Access.ADMIN)
    async def forecast(self, interaction: Interaction, days: app_commands.Range[int, 1, _MOST_DAYS] = 7) -> None:
        """Tell what is to come."""
        guild_id, now = interaction.guild_id or 0, self._now
        window = Window.of_days(days, now=now, most=_MOST_DAYS)
        seen = await forecast(guild_id, window, now=now, prospects=self._prospects(interaction))
        zone = ZoneInfo(await guild_timezone(guild_id, default=self._bot.default_timezone))
        text = forecast_text(seen, zone, days=days, now=now)
        table = left_out(seen, text)
        await answer(interaction, text, file=(FILE_NAME, table) if table is not None else None)

    @app_commands.command(name="why", description="Why each reminder of an event was sent, will be, or is not.")
    @app_commands.describe(event=WHICH_EVENT, person="Somebody who was told, or was not: and why")
    @needs(Access.ADMIN)
    async def why(self, interaction: Interaction, event: str, person: discord.User | None = None) -> None:
        """Explain the reminders of one event."""
        text = await why(
            event,
            guild_id=interaction.guild_id or 0,
            now=self._now,
            person=person.id if person is not None else None,
            prospects=self._prospects(interaction),
        )
        await answer(interaction, text)

    @app_commands.command(name="retry", description="Try again now what failed of an event that has not begun.")
    @app_commands.describe(event=WHICH_EVENT)
    @needs(Access.ADMIN)
    async def retry(self, interaction: Interaction, event: str) -> None:
        """Try again what failed."""
        guild_id, actor = interaction.guild_id or 0, interaction.user.id
        await answer(interaction, await self._retries.retry(event, guild_id=guild_id, actor=actor, now=self._now))

    def _prospects(self, interaction: Interaction) -> Prospects:
        return Prospects(
            generates_at=self._bot.services.agenda.next(GENERATE_UPCOMING_EVENTS),
            generates_every=self._bot.options.generate_every,
            may_post=lambda channel_id: may_post(interaction, channel_id),
        )

    @why.autocomplete("event")
    async def _any(self, interaction: Interaction, typed: str) -> Choices:
        guild_id = interaction.guild_id or 0
        found = await search_events(typed, guild_id=guild_id, now=self._now, timezone=self._bot.default_timezone)
        return as_choices(found)

    @retry.autocomplete("event")
    async def _ahead(self, interaction: Interaction, typed: str) -> Choices:
        found = await search_events(
            typed,
            guild_id=interaction.guild_id or 0,
            now=self._now,
            states=AHEAD,
            timezone=self._bot.default_timezone,
        )
        return as_choices(found)


async def setup(bot: TocsinBot) -> None:
    """Load the cog; called by the library."""
    await bot.add_cog(ReminderCommands(bot))
