"""A reminder that had nobody to ask is due anew at another time of its event; one that asked somebody is not."""

import datetime as dt
from typing import Any

import pytest

from bot.changes.event_time import EventTimes
from bot.clock import ManualClock
from bot.dm_queue.fan_out import FanOuts
from bot.message.proposal import Reply
from bot.reminders.why import why
from bot.scheduling.agenda import Agenda
from models.event import Event
from tests.admin_hands import ADMIN, shown, take
from tests.builders import CHANNEL, GUILD, HOUR, MINUTE, SECOND, FakeDiscord, derived_due, stored_due
from tests.conftest import START
from tests.people import PEOPLE, Fleet, asked_event, counted, counts, each_once, know, reached, sign_up

SOURCE = "attendance_reminder"
ATTENDANCE: dict[str, Any] = {"discord_confirm_attendance": True, "discord_confirm_attendance_hours": 2}
ANEW = "Asked nobody so far, and due anew: attendance reminder."
SENT = "Sent already, and not sent again: attendance reminder."
PUT_OFF = START + 3 * HOUR


async def propose(event: Event, to: dt.datetime, *, now: dt.datetime) -> Reply:
    desk = EventTimes(Agenda(), debounce=3 * SECOND, default_timezone="UTC")
    typed = f"<t:{int(to.timestamp())}:F>"
    return await desk.propose(str(event.id), typed, tell=False, guild_id=GUILD, actor=ADMIN, now=now)


async def begun_for_nobody(fleet: Fleet, **fields: Any) -> Event:  # noqa: ANN401 -- whatever fields an event has
    """Let a roll call come while nobody has signed up; three sign up afterwards."""
    event = await asked_event([], **ATTENDANCE | fields)
    await know(PEOPLE)
    await fleet.start()
    fleet.passes_every = 10 * MINUTE  # hours go by, and what is due names its moment
    await fleet.run_until(fleet.clock.now() + MINUTE)
    assert await counts(SOURCE) == counted()
    await sign_up(event, PEOPLE[:3])
    return event


@pytest.mark.parametrize("by_dm", [True, False])
async def test_a_roll_call_that_asked_nobody_comes_at_its_moment_before_the_new_time(
    database: str, fleet: Fleet, discord: FakeDiscord, clock: ManualClock, *, by_dm: bool
) -> None:
    event = await begun_for_nobody(fleet, discord_confirm_attendance_dm=by_dm)
    reply = await propose(event, PUT_OFF, now=clock.now())
    assert ANEW in shown(reply)
    assert "not sent again" not in shown(reply)

    await take(reply, now=clock.now())
    assert await stored_due() == await derived_due()
    await fleet.run_until(PUT_OFF + MINUTE)

    assert reached(discord, PEOPLE[:3]) == (each_once(PEOPLE[:3]) if by_dm else dict.fromkeys(PEOPLE[:3], 0))
    assert [post.sent_at for post in discord.in_channel(CHANNEL)] == [PUT_OFF - 2 * HOUR]
    assert await counts(SOURCE) == counted(sent=1 + 3 * by_dm)
    assert "attendance" in (await why(str(event.id), guild_id=GUILD, now=clock.now())).lower()


async def test_whoever_dies_after_the_move_everybody_is_asked_once(
    database: str, fleet: Fleet, discord: FakeDiscord, clock: ManualClock
) -> None:
    event = await begun_for_nobody(fleet)
    await take(await propose(event, PUT_OFF, now=clock.now()), now=clock.now())
    await fleet.kill("one")

    for kind, number, when in (("post", 1, "after"), ("dm", 1, "before"), ("dm", 2, "after")):
        await fleet.start(crash_at=(kind, number, when))
        assert await fleet.run_until(PUT_OFF - HOUR, until_crash=True)
        clock.advance(MINUTE)
    await fleet.start()
    await fleet.run_until(PUT_OFF - MINUTE)

    assert reached(discord, PEOPLE[:3]) == each_once(PEOPLE[:3])
    assert len(discord.in_channel(CHANNEL)) == 1


async def test_one_whose_moment_before_the_new_time_has_passed_stays_done(
    database: str, fleet: Fleet, discord: FakeDiscord, clock: ManualClock
) -> None:
    event = await begun_for_nobody(fleet)
    just_ahead = await propose(event, clock.now() + 2 * HOUR + SECOND, now=clock.now())
    reply = await propose(event, clock.now() + 2 * HOUR, now=clock.now())
    assert ANEW in shown(just_ahead)
    assert SENT in shown(reply)

    await take(reply, now=clock.now())
    await fleet.run_until(START + 3 * HOUR)

    assert discord.posts == []
    assert await counts(SOURCE) == counted()


async def test_one_that_asked_somebody_or_could_not_reach_them_is_not_repeated(
    database: str, fleet: Fleet, discord: FakeDiscord, clock: ManualClock
) -> None:
    event = await asked_event(PEOPLE[:1], **ATTENDANCE)
    await know(PEOPLE)
    discord.closed_dms.add(PEOPLE[0])
    await fleet.start()
    await fleet.run_until(clock.now() + MINUTE)
    reply = await propose(event, PUT_OFF, now=clock.now())

    assert SENT in shown(reply)
    await take(reply, now=clock.now())
    await fleet.run_until(PUT_OFF)

    assert len(discord.in_channel(CHANNEL)) == 1
    assert await counts(SOURCE) == counted(sent=1, unreachable=1)


async def test_a_move_in_the_moment_in_which_it_is_finished_is_seen(
    database: str, fleet: Fleet, discord: FakeDiscord, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    event = await asked_event([], **ATTENDANCE)
    await know(PEOPLE)
    finish, once = FanOuts._finish, [True]

    async def _moved_first(self: FanOuts, *args: Any) -> None:  # noqa: ANN401 -- passed on as they came
        if once:
            once.clear()
            await take(await propose(event, PUT_OFF, now=clock.now()), now=clock.now())
            await sign_up(event, PEOPLE[:3])
        await finish(self, *args)

    monkeypatch.setattr(FanOuts, "_finish", _moved_first)
    await fleet.start()
    await fleet.run_until(PUT_OFF + MINUTE)

    assert not once
    assert reached(discord, PEOPLE[:3]) == each_once(PEOPLE[:3])
    assert await counts(SOURCE) == counted(sent=4)
