"""An event that began before anybody opened its sign-ups: what waited for the opening is recorded and told once."""

import datetime as dt

from bot.clock import ManualClock
from bot.scheduling.bodies import CHECK_EVENT_REMINDERS
from models.discord_message_log import DiscordMessageLog
from models.states import EventState
from tests.builders import DAY, HOUR, MINUTE, OPS_CHANNEL, FakeDiscord, make_event, make_guild, process
from tests.conftest import START
from tests.people import signup_event

NOW = START


async def recorded() -> list[tuple[str, str | None]]:
    rows = await DiscordMessageLog.filter(success=False).order_by("source")
    return [(row.source, row.error_class) for row in rows]


async def test_a_process_that_stood_still_from_the_opening_to_the_start_records_what_waited_for_it(
    database: str, clock: ManualClock
) -> None:
    discord = FakeDiscord(clock)
    event = await signup_event(
        state=EventState.UPCOMING, starts_in=4 * HOUR, signups_open_at=NOW + HOUR, discord_confirm_attendance=True
    )
    bot = await process(discord, clock)
    await bot.run_until(NOW + MINUTE)

    clock.set(event.scheduled_at + MINUTE)
    for _ in range(5):
        bot.services.wake_all(clock.now())  # as its loops look at least every half minute
        await bot.run_until(clock.now() + MINUTE)

    assert await recorded() == [("attendance_reminder", "event_started"), ("signup_reminder", "event_started")]
    (note,) = discord.in_channel(OPS_CHANNEL)
    assert note.message.embed is not None
    assert note.message.embed.description.endswith(": sign-up reminder, attendance reminder")


async def test_of_two_processes_one_records_it(database: str, clock: ManualClock) -> None:
    discord = FakeDiscord(clock)
    event = await signup_event(state=EventState.UPCOMING, starts_in=HOUR, signups_open_at=NOW + MINUTE)
    bots = [await process(discord, clock, name=name) for name in ("one", "two")]
    clock.set(event.scheduled_at + MINUTE)

    for bot in bots:
        await bot.run(CHECK_EVENT_REMINDERS)

    assert await recorded() == [("signup_reminder", "event_started")]


async def test_what_an_admin_was_to_open_and_what_began_long_ago_is_not_missed(
    database: str, clock: ManualClock
) -> None:
    discord = FakeDiscord(clock)
    fields = {"state": EventState.UPCOMING, "discord_announcement": False, "discord_confirm_attendance": True}
    await make_guild()
    await make_event(now=NOW, starts_in=HOUR, signups_open_at=None, **fields)
    await make_event(now=NOW - 2 * DAY, starts_in=DAY - MINUTE, signups_open_at=NOW - 2 * DAY, **fields)
    bot = await process(discord, clock)
    clock.set(NOW + HOUR + dt.timedelta(seconds=1))

    await bot.run(CHECK_EVENT_REMINDERS)

    assert await recorded() == []
