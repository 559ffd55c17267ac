"""A post beside a fan-out that the start overtakes while it is being made: recorded, never forgotten."""

import pytest

from bot.clock import ManualClock
from bot.leases.ports import ChannelTarget
from bot.reminders import tasks
from models.discord_message_log import DiscordMessageLog
from models.event import Event
from tests.builders import HOUR, MINUTE, FakeDiscord, process
from tests.conftest import START
from tests.people import asked_event, counted, counts


async def test_a_roll_call_post_whose_machine_stood_still_over_the_start_is_recorded_and_counted(
    database: str, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    discord = FakeDiscord(clock)
    event = await asked_event(discord_confirm_attendance=True, discord_confirm_attendance_dm=False)
    target = tasks.announcement_target

    async def _stands_still(of: Event) -> ChannelTarget | None:
        clock.set(event.scheduled_at + MINUTE)
        return await target(of)

    monkeypatch.setattr(tasks, "announcement_target", _stands_still)
    bot = await process(discord, clock)

    await bot.run_until(START + 2 * HOUR + 10 * MINUTE)

    rows = await DiscordMessageLog.filter(source="attendance_post")
    assert [(row.success, row.error_class) for row in rows] == [(False, "event_started")]
    assert await counts("attendance_reminder") == counted(too_late=1)
    assert discord.in_channel() == []
