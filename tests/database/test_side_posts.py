"""A post beside a fan-out: overtaken by the start while it is being made, or slower than a message that fails."""

import pytest

from bot.clock import ManualClock
from bot.leases.failures import ErrorClass
from bot.leases.ports import ChannelTarget
from bot.message.outgoing import OutgoingMessage
from bot.reminders import tasks
from bot.scheduling.bodies import DRAIN_DM_QUEUE
from models.discord_message_log import DiscordMessageLog
from models.event import Event
from tests.builders import HOUR, MINUTE, FakeDiscord, process, refused
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


async def test_a_dm_that_fails_while_the_post_is_under_way_is_tried_again(database: str, clock: ManualClock) -> None:
    discord = FakeDiscord(clock)
    await asked_event([101], discord_confirm_attendance=True)
    discord.next_openings.append(refused(ErrorClass.OUTAGE))

    async def _slowly(_message: OutgoingMessage) -> None:
        discord.before_send = None
        await bot.services.agenda.run(bot.services.body(DRAIN_DM_QUEUE), clock.now())
        await bot.services.dms.settle()
        assert await DiscordMessageLog.filter(recipient_id=101, success=False).exists()

    discord.before_send = _slowly
    bot = await process(discord, clock)

    await bot.run_until(START + 2 * HOUR)

    assert len(discord.in_channel()) == len(discord.dms(101)) == 1
    assert await counts("attendance_reminder") == counted(sent=2)
