"""Trying again at once what failed: what may still be sent and nothing else, once, and with who asked in the audit."""

import asyncio
import datetime as dt
from functools import partial

import pytest

from bot.clock import InjectedLeaseClock, ManualClock
from bot.events.browse import NoSuchEventError
from bot.events.signups.rules import Press
from bot.leases.failures import ErrorClass
from bot.reminders.retry import Retries
from bot.scheduling.agenda import Agenda
from bot.scheduling.bodies import CHECK_EVENT_REMINDERS, DRIVE_FAN_OUTS
from models.audit_log import AuditLog
from models.discord_message_log import DiscordMessageLog
from models.event import Event
from models.event_signup import EventSignup
from models.states import EventState
from tests.builders import (
    CHANNEL,
    GUILD,
    HOUR,
    MINUTE,
    OTHER_GUILD,
    SECOND,
    FakeDiscord,
    Process,
    derived_due,
    log_rows,
    make_event,
    make_guild,
    process,
    refused,
    stored_due,
)
from tests.conftest import START
from tests.people import change, sign_up

pytestmark = pytest.mark.usefixtures("database")

ADMIN = 42
OPEN = EventState.SIGNUPS_OPEN


def retries(clock: ManualClock, agenda: Agenda | None = None) -> Retries:
    return Retries(agenda or Agenda(), lease_clock=InjectedLeaseClock(clock), instance="one")


async def retry(event: Event, clock: ManualClock, *, by: Retries | None = None, guild_id: int = GUILD) -> str:
    desk = by or retries(clock)
    return await desk.retry(str(event.id), guild_id=guild_id, actor=ADMIN, now=clock.now())


async def refused_post(clock: ManualClock, starts_in: dt.timedelta = 6 * HOUR) -> tuple[Event, FakeDiscord, Process]:
    """Store an event whose announcement was refused a second ago, as the bot may not post there."""
    await make_guild()
    event = await make_event(now=START, starts_in=starts_in)
    discord = FakeDiscord(clock)
    discord.forbidden.add(CHANNEL)
    bot = await process(discord, clock)
    await bot.run(CHECK_EVENT_REMINDERS)
    clock.advance(SECOND)
    return event, discord, bot


async def test_a_refused_post_goes_out_at_once_when_it_is_tried_again(clock: ManualClock) -> None:
    event, discord, bot = await refused_post(clock)
    discord.forbidden.clear()

    says = await retry(event, clock, by=retries(clock, bot.services.agenda))
    await bot.tick()

    assert says == "Tried again now for **Raid night**: announcement. /reminders why tells what came of it."
    assert [(row.success, row.attempts) for row in await log_rows()] == [(False, 1), (True, 2)]
    assert len(discord.in_channel()) == 1


async def test_it_is_due_now_and_who_asked_is_in_the_audit(clock: ManualClock) -> None:
    event, _, _ = await refused_post(clock)
    agenda = Agenda()

    await retry(event, clock, by=retries(clock, agenda))

    assert await stored_due() == await derived_due() == {(event.id, "announcement"): clock.now()}
    assert [agenda.next(body) for body in (CHECK_EVENT_REMINDERS, DRIVE_FAN_OUTS)] == [clock.now()] * 2
    row = await AuditLog.get(action="reminder.retry")
    assert (row.guild_id, row.actor_user_id, row.subject_id, row.instance) == (GUILD, ADMIN, event.id, "one")
    assert row.after == {"tried_again": {"event_announcement": 1}}


async def test_one_that_was_given_up_since_no_attempt_was_left_is_tried_again(clock: ManualClock) -> None:
    event, discord, bot = await refused_post(clock, starts_in=HOUR)
    assert await stored_due() == {}
    discord.forbidden.clear()

    await retry(event, clock, by=retries(clock, bot.services.agenda))
    await bot.tick()

    assert len(discord.in_channel()) == 1


async def test_of_two_who_ask_at_once_one_makes_it_due(clock: ManualClock) -> None:
    event, _, _ = await refused_post(clock)

    says = await asyncio.gather(*(retry(event, clock) for _ in range(8)))

    assert sum(1 for one in says if one.startswith("Tried again now")) == 1
    assert await AuditLog.filter(action="reminder.retry").count() == 1


async def test_however_a_retry_meets_two_processes_that_send_the_post_is_there_once(clock: ManualClock) -> None:
    event, discord, one = await refused_post(clock)
    two = await process(discord, clock, name="two")
    discord.forbidden.clear()

    for _ in range(3):
        await asyncio.gather(retry(event, clock, by=retries(clock, one.services.agenda)), one.tick(), two.tick())
        two.services.wake_all(clock.now())

    assert len(discord.in_channel()) == 1
    assert [row.success for row in await log_rows()] == [False, True]


async def test_asked_twice_it_says_that_there_is_nothing_more(clock: ManualClock) -> None:
    event, _, _ = await refused_post(clock)
    await retry(event, clock)

    says = await retry(event, clock)

    assert says.startswith("Nothing of **Raid night** failed that could be tried again now")


async def test_what_is_sent_or_held_or_of_unknown_fate_is_left_alone(clock: ManualClock) -> None:
    await make_guild()
    sent = await make_event(now=START)
    held = await make_event(now=START)
    discord = FakeDiscord(clock)
    discord.next_sends = [None, refused(ErrorClass.OUTAGE, arrived=True)]
    bot = await process(discord, clock)
    await bot.run(CHECK_EVENT_REMINDERS)
    unknown = await of_unknown_fate()
    before = await DiscordMessageLog.all().order_by("id").values()

    for event in (sent, held, unknown):
        assert (await retry(event, clock)).startswith("Nothing of")

    assert await DiscordMessageLog.all().order_by("id").values() == before
    assert not await AuditLog.filter(action="reminder.retry").exists()


async def of_unknown_fate() -> Event:
    event = await make_event(now=START)
    await DiscordMessageLog.create(
        guild_id=GUILD,
        source="event_announcement",
        source_id=event.id,
        success=False,
        error_class="unknown_outcome",
        claimed_at=START,
        created_at=START,
        finished_at=START,
    )
    await change(event)
    return event


async def test_a_post_beside_dms_is_tried_again_while_those_are_under_way(clock: ManualClock) -> None:
    await make_guild()
    wanted = {"discord_announcement": False, "discord_confirm_attendance": True}
    event = await make_event(now=START, starts_in=2 * HOUR, state=OPEN, **wanted)
    await sign_up(event, [1])
    discord = FakeDiscord(clock)
    discord.forbidden.add(CHANNEL)
    bot = await process(discord, clock)
    await bot.run_until(START + 5 * SECOND)
    discord.forbidden.clear()

    says = await retry(event, clock, by=retries(clock, bot.services.agenda))
    await bot.run_until(START + 2 * MINUTE)

    assert says.startswith("Tried again now for **Raid night**: attendance post.")
    assert (len(discord.in_channel()), len(discord.dms(1))) == (1, 1)


async def test_who_takes_no_dm_is_not_asked_again(clock: ManualClock) -> None:
    await make_guild()
    wanted = {"discord_announcement": False, "discord_confirm_attendance": True}
    event = await make_event(now=START, starts_in=2 * HOUR, state=OPEN, **wanted)
    await sign_up(event, [1])
    discord = FakeDiscord(clock)
    discord.closed_dms.add(1)
    await (await process(discord, clock)).run_until(START + 5 * SECOND)

    assert (await retry(event, clock)).startswith("Nothing of")


async def test_what_was_switched_off_meanwhile_is_not_tried_again(clock: ManualClock) -> None:
    event, _, _ = await refused_post(clock)
    await change(event, discord_announcement=False)

    assert (await retry(event, clock)).startswith("Nothing of")


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"state": EventState.CANCELLED}, "Nothing of **Raid night** is tried again: it was cancelled."),
        ({"state": EventState.IN_PROGRESS}, "Nothing of **Raid night** is tried again: it is running."),
        ({"scheduled_at": START}, "Nothing of **Raid night** is tried again: its start has passed."),
    ],
)
async def test_what_has_begun_or_was_cancelled_is_not_tried_again(
    clock: ManualClock, fields: dict[str, object], says: str
) -> None:
    event, _, _ = await refused_post(clock)
    await Event.filter(id=event.id).update(**fields)

    assert await retry(event, clock) == says


async def test_another_servers_event_is_not_there(clock: ManualClock) -> None:
    event, _, _ = await refused_post(clock)

    with pytest.raises(NoSuchEventError):
        await retry(event, clock, guild_id=OTHER_GUILD)


# ------------------------------------------------------------------------------- a place that became free, a new time

ADA, BRUNO = 11, 12


async def untold_place(clock: ManualClock, **fields: object) -> tuple[Event, FakeDiscord, Process]:
    """Store an event whose only place went to Bruno, or is offered to him, and whose word to him was not taken."""
    await make_guild()
    wanted = {"discord_announcement": False, "max_players": 1} | fields
    event = await make_event(now=START, state=OPEN, **wanted)  # type: ignore[arg-type]
    discord = FakeDiscord(clock)
    bot = await process(discord, clock)
    press = partial(bot.services.signups.press, guild_id=GUILD, role_ids=frozenset(), now=clock.now())
    for who in (ADA, BRUNO):
        await press(Press.SIGN_UP, event.id, user_id=who)
    # Several times in a row, so that the next attempt is minutes away.
    discord.next_sends = [refused(ErrorClass.RATE_LIMITED) for _ in range(5)]
    await press(Press.CANT, event.id, user_id=ADA)
    while discord.next_sends:
        await bot.run_until(clock.now() + SECOND)
    return event, discord, bot


@pytest.mark.parametrize("fields", [{}, {"signup_offer_minutes": 60}], ids=["a place", "an offer"])
async def test_the_word_about_a_place_goes_out_at_once_when_it_is_tried_again(
    clock: ManualClock, fields: dict[str, object]
) -> None:
    event, discord, bot = await untold_place(clock, **fields)
    asked_at = clock.now()

    says = await retry(event, clock, by=retries(clock, bot.services.agenda))
    await bot.run_until(asked_at + SECOND)

    assert says.startswith("Tried again now for **Raid night**: 1 direct message about a place.")
    (dm,) = discord.dms(BRUNO)
    assert dm.sent_at - asked_at < SECOND
    assert (await AuditLog.get(action="reminder.retry")).after == {"tried_again": {"promotion": 1}}
    assert (await retry(event, clock)).startswith("Nothing of **Raid night** failed")


async def test_left_alone_the_word_about_a_place_waits_its_time(clock: ManualClock) -> None:
    _, discord, bot = await untold_place(clock)

    await bot.run_until(clock.now() + SECOND)

    assert not discord.dms(BRUNO)


async def test_who_gave_the_place_back_is_not_told_of_it_however_it_is_tried(clock: ManualClock) -> None:
    event, discord, bot = await untold_place(clock)
    await bot.services.signups.press(
        Press.CANT, event.id, user_id=BRUNO, guild_id=GUILD, role_ids=frozenset(), now=clock.now()
    )

    assert (await retry(event, clock, by=retries(clock, bot.services.agenda))).startswith("Nothing of")
    await bot.run_until(clock.now() + HOUR)
    assert not discord.dms(BRUNO)


async def test_of_what_was_moved_up_to_before_nothing_is_counted(clock: ManualClock) -> None:
    event, _, _ = await untold_place(clock)
    await EventSignup.filter(event_id=event.id, user_id=BRUNO).update(promotions=2)

    assert (await retry(event, clock)).startswith("Nothing of")


async def untold_time(clock: ManualClock) -> tuple[Event, FakeDiscord, Process]:
    """Store an event that was moved, and of whose new time one of two people could not be told for now."""
    await make_guild()
    event = await make_event(now=START, starts_in=2 * HOUR, state=OPEN, discord_announcement=False)
    await sign_up(event, [ADA, BRUNO])
    await change(event, time_changes=3, scheduled_at=START + 5 * HOUR)
    discord = FakeDiscord(clock)
    discord.next_sends = [refused(ErrorClass.RATE_LIMITED) for _ in range(2)]
    bot = await process(discord, clock)
    await bot.run_until(START + 5 * SECOND)
    await DiscordMessageLog.filter(source="time_changed", success=False).update(next_attempt_at=START + HOUR)
    return event, discord, bot


async def test_the_word_about_a_new_time_goes_out_when_it_is_tried_again(clock: ManualClock) -> None:
    event, discord, bot = await untold_time(clock)

    says = await retry(event, clock, by=retries(clock, bot.services.agenda))
    await bot.run_until(START + 2 * MINUTE)

    assert says.startswith("Tried again now for **Raid night**: 2 direct messages about the new time.")
    assert [len(discord.dms(who)) for who in (ADA, BRUNO)] == [1, 1]


async def test_left_alone_the_word_about_a_new_time_waits_its_time(clock: ManualClock) -> None:
    _, discord, bot = await untold_time(clock)

    await bot.run_until(START + 2 * MINUTE)

    assert not discord.dms(ADA)


async def test_an_earlier_new_time_is_never_tried_again(clock: ManualClock) -> None:
    event, _, bot = await untold_time(clock)
    await bot.crash()
    await change(event, time_changes=4)

    assert (await retry(event, clock)).startswith("Nothing of")
