"""The guild of the demo: an admin, five players, and a weekly series whose next evening is about to be announced."""

import datetime as dt
from typing import Final

from bot.demo.people import PROFILE_FIELDS
from bot.demo.world import Place, World
from bot.events.series import create_series
from bot.events.series_spec import SeriesSpec
from models.guild_settings import GuildSettings

# Five seconds before the first announcement, which is the first thing that a visitor sees.
START: Final = dt.datetime(2026, 3, 5, 18, 29, 55, tzinfo=dt.UTC)
ADMIN: Final = "warden"
PLAYERS: Final = ("ada", "brook", "cyan", "dale", "ember")
CHANNELS: Final = ("announcements", "bot-ops")
RAID: Final = SeriesSpec.model_validate(
    {
        "name": "Friday raid",
        "description": "Bring potions. New faces are welcome.",
        "frequency": "weekly",
        "day_of_week": "FR",
        "time_of_day": "19:30",
        "timezone": "Europe/Berlin",
        "starts_at": "2026-03-02",
        "max_players": 20,
        "discord_announcement_hours": 24,
        "discord_signup_reminder": True,
        "discord_signup_reminder_hours": 12,
        "discord_profile_reminder": True,
        "discord_profile_reminder_hours": 6,
        "discord_confirm_attendance": True,
        "discord_confirm_attendance_hours": 2,
    }
)


async def found(world: World) -> tuple[Place, int]:
    """Found the guild in a world, while a bot is attached; return where everything is, and the id of the series."""
    place = world.build(guild_name="The Bell Tower", players=PLAYERS)
    settings = GuildSettings(
        guild_id=place.guild_id,
        timezone=RAID.timezone,
        announcement_channel_id=place.announcements_id,
        ops_channel_id=place.ops_id,
        profile_fields=PROFILE_FIELDS,
    )
    await settings.save(force_create=True)
    (raid,) = await create_series([RAID], guild_id=place.guild_id, created_by=place.admin_id, now=world.now())
    return place, raid.id
