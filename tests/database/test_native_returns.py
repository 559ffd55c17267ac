"""An event that is being taken off its server's list while its process dies, and that stands again soon after."""

import pytest

from bot.changes.withdrawal import revive, withdraw
from bot.clock import ManualClock
from bot.scheduling.bodies import SYNC_DISCORD_EVENTS
from models.event import Event
from tests.builders import GUILD, MINUTE, SECOND, FakeDiscord, make_event, make_guild, process, utc
from tests.fake_calendar import FakeCalendar
from tests.fake_discord import CrashError

NOW = utc("2026-03-01 12:00")
DEBOUNCE = 3 * SECOND


class DyingCalendar(FakeCalendar):
    """A list from which something is taken while the process dies, before Discord did it or ``after``."""

    dies: str | None = None

    async def remove(self, guild_id: int, native_id: int) -> None:
        if self.dies != "before":
            await super().remove(guild_id, native_id)
        if self.dies is not None:
            self.dies = None
            raise CrashError


@pytest.mark.parametrize("dies", ["before", "after"])
async def test_an_event_that_returns_is_listed_once_and_nobody_is_taken_for_having_deleted_it(
    database: str, clock: ManualClock, dies: str
) -> None:
    clock.set(NOW)
    discord = FakeDiscord(clock)
    discord.calendar = calendar = DyingCalendar(clock)
    await make_guild()
    made = await make_event(now=NOW, discord_create_event=True, discord_announcement=False, native_due_at=NOW)
    first = await process(discord, clock)
    await first.tick()
    await withdraw(await Event.get(id=made.id), now=NOW, debounce=DEBOUNCE)

    calendar.dies = dies
    clock.advance(DEBOUNCE)
    with pytest.raises(CrashError):
        await first.run(SYNC_DISCORD_EVENTS)
    await first.crash()
    await revive(await Event.get(id=made.id), now=clock.now(), debounce=DEBOUNCE)
    second = await process(discord, clock)
    await second.run_until(clock.now() + MINUTE)

    event = await Event.get(id=made.id)
    assert [one.native_id for one in calendar.live(GUILD)] == [event.discord_scheduled_event_id]
    assert (event.native_told or {}).get("lost", 0) == 0
    assert (event.native_told or {}).get("status") == "scheduled"
