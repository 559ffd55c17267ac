"""An event that a process is to announce at once, and what it wrote of it."""

import datetime as dt

from bot.clock import SystemClock
from bot.database import opened
from bot.events.series_spec import SeriesSpec
from bot.migrating import migrate
from bot.operations.schedule_import import import_schedule
from bot.transactions import fetch
from tests.wire.discord_stub import CHANNEL, GUILD


async def plan_one_due_event(url: str) -> None:
    """Store a daily series whose next occurrence is less than a day off, so that it is due to be announced now."""
    now = SystemClock().now()
    soon = now + dt.timedelta(hours=2)
    spec = SeriesSpec.model_validate(
        {
            "name": "Wire raid",
            "frequency": "daily",
            "time_of_day": soon.strftime("%H:%M"),
            "timezone": "UTC",
            "starts_at": soon.date().isoformat(),
            "ends_at": soon.date().isoformat(),
            # So that no pass moves it on while a slow machine is at the test.
            "signup_opens_hours": 1,
        }
    )
    async with opened(url):
        await migrate(url)
        await import_schedule((spec,), guild_id=GUILD, announce_in=CHANNEL, timezone="UTC", now=now)


async def log_rows(url: str) -> list[tuple[object, object]]:
    """Return the success and the message of every row of the log, oldest first."""
    async with opened(url):
        rows = await fetch("SELECT success, discord_message_id FROM discord_message_log ORDER BY id")
    return [(row["success"], row["discord_message_id"]) for row in rows]
