"""What is due goes out once, at its moment, and what cannot is recorded and told; nothing stops the rest."""

import asyncio
import datetime as dt
from collections.abc import Collection
from dataclasses import replace

import pytest
from tortoise.exceptions import OperationalError

from bot.clock import InjectedLeaseClock, ManualClock
from bot.events.posts import mark_changed
from bot.leases.failures import ErrorClass
from bot.leases.keys import MessageKey
from bot.leases.ports import ChannelTarget
from bot.leases.reports import SendResult
from bot.message.outgoing import OutgoingMessage
from bot.reminders.fire import ReminderClerk, find_due
from bot.reminders.missed import Missed, tell_missed
from bot.reminders.task_registry import TASKS, ReminderContext
from bot.reminders.tasks import ANNOUNCEMENT
from bot.scheduling import due_rows, registry
from bot.scheduling.bodies import CHECK_EVENT_REMINDERS, GENERATE_UPCOMING_EVENTS, OPEN_SCHEDULED_SIGNUPS
from bot.scheduling.registry import ScheduledReminder
from bot.transactions import atomic
from models.event import Event
from models.guild_settings import GuildSettings
from models.ops_note import OpsNote
from models.reminder_due import ReminderDue
from models.states import EventState, Frequency
from tests.builders import (
    CHANNEL,
    DAY,
    GUILD,
    HOUR,
    MINUTE,
    OPS_CHANNEL,
    OTHER_CHANNEL,
    OTHER_GUILD,
    SECOND,
    FakeDiscord,
    log_rows,
    make_event,
    make_guild,
    make_series,
    process,
    refused,
    stored_due,
    utc,
)

NOW = utc("2026-03-01 12:00")
NOTHING = dt.timedelta(0)
MISSED = "Not sent before the event began, since I was not running or could not reach Discord:"


@pytest.fixture
def discord(clock: ManualClock) -> FakeDiscord:
    return FakeDiscord(clock)


def told(discord: FakeDiscord) -> list[str]:
    """What the ops channel says, oldest first."""
    return [post.message.embed.description for post in discord.in_channel(OPS_CHANNEL) if post.message.embed]


# ------------------------------------------------------------------------------------------------------- what is due


async def test_what_is_due_is_found_page_by_page_until_there_is_no_more(database: str) -> None:
    # Several share one moment, so that a page ends between two of them.
    for starts_in in (3, 1, 1, 1, 2, 2, 1):
        await make_event(now=NOW, starts_in=24 * HOUR - starts_in * MINUTE, created_at=NOW, state_since=NOW - DAY)

    found = [due async for due in find_due(ANNOUNCEMENT, now=NOW, page=2)]

    assert [(NOW - due.due_at) // MINUTE for due in found] == [3, 2, 2, 1, 1, 1, 1]
    assert len({due.event_id for due in found}) == 7


async def test_more_than_a_page_goes_out_in_one_pass(
    database: str, clock: ManualClock, discord: FakeDiscord, monkeypatch: pytest.MonkeyPatch
) -> None:
    await make_guild()
    monkeypatch.setattr(find_due, "__kwdefaults__", {"page": 3})
    for _ in range(10):
        await make_event(now=NOW)

    await (await process(discord, clock)).run(CHECK_EVENT_REMINDERS)

    assert len(discord.posts) == 10


async def test_an_announcement_goes_out_at_its_hours_and_never_earlier(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    await make_guild()
    await make_event(now=NOW, starts_in=24 * HOUR + 2 * SECOND)
    bot = await process(discord, clock)

    await bot.tick()
    named = bot.next(CHECK_EVENT_REMINDERS)
    clock.advance(2 * SECOND - dt.timedelta(microseconds=1))
    await bot.run(CHECK_EVENT_REMINDERS)
    early = len(discord.posts)
    clock.advance(dt.timedelta(microseconds=1))
    await bot.tick()

    assert named == NOW + 2 * SECOND
    assert (early, [post.sent_at for post in discord.posts]) == (0, [NOW + 2 * SECOND])


async def test_the_pass_names_nothing_where_nothing_is_ahead(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    bot = await process(discord, clock)
    await bot.run(CHECK_EVENT_REMINDERS)

    assert bot.next(CHECK_EVENT_REMINDERS) is None


async def test_hours_that_were_cut_while_it_was_on_its_way_hold_it_back(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    await make_guild()
    event = await make_event(now=NOW)
    bot = await process(discord, clock)
    await Event.filter(id=event.id).update(discord_announcement_hours=1)
    await atomic(lambda: due_rows.refresh([event.id]))

    bot.services.dispatcher.dispatch(ANNOUNCEMENT, event.id)  # the clerk saw it before the edit
    await bot.services.dispatcher.drain()
    await bot.run_until(NOW + 6 * HOUR)

    assert [post.sent_at for post in discord.in_channel()] == [NOW + 5 * HOUR]


async def test_the_message_is_rendered_from_the_rows_of_that_moment(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    await make_guild()
    event = await make_event(now=NOW)
    bot = await process(discord, clock)
    await Event.filter(id=event.id).update(name="Renamed")

    bot.services.dispatcher.dispatch(ANNOUNCEMENT, event.id)
    await bot.services.dispatcher.drain()

    assert discord.titles() == ["Renamed"]


async def test_what_is_no_longer_wanted_is_withdrawn_at_the_last_moment(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    await make_guild()
    bot = await process(discord, clock)
    changes: list[dict[str, object]] = [
        {"state": EventState.CANCELLED},
        {"discord_announcement": False},
        {"discord_announcement_hours": 0},
        {"scheduled_at": NOW},
    ]
    for fields in changes:
        event = await make_event(now=NOW)
        await Event.filter(id=event.id).update(**fields)
        bot.services.dispatcher.dispatch(ANNOUNCEMENT, event.id)
    bot.services.dispatcher.dispatch(ANNOUNCEMENT, 404)  # deleted

    await bot.services.dispatcher.drain()

    assert (discord.attempts, await log_rows(), bot.services.dispatcher.failures) == ([], [], 0)


async def test_an_events_own_channel_goes_before_the_guilds(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    await make_guild()
    await make_event(now=NOW, name="Here", discord_announcement_channel_id=OTHER_CHANNEL)
    await make_event(now=NOW, name="There")

    await (await process(discord, clock)).tick()

    assert (discord.titles(OTHER_CHANNEL), discord.titles(CHANNEL)) == (["Here"], ["There"])


async def test_without_a_channel_it_is_recorded_told_and_tried_again_in_an_hour(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    await make_guild(announcement_channel_id=None)
    event = await make_event(now=NOW)
    bot = await process(discord, clock)
    await bot.tick()
    await GuildSettings.filter(guild_id=GUILD).update(announcement_channel_id=CHANNEL)
    recorded = [(row.error_class, row.success) for row in await log_rows()]
    due = await stored_due()

    await bot.run_until(NOW + HOUR)

    assert recorded == [("no_channel", False)]
    assert due == {(event.id, "announcement"): NOW + HOUR}
    assert len(told(discord)) == 1
    assert [post.sent_at for post in discord.in_channel()] == [NOW + HOUR]


# --------------------------------------------------------------------------------------------------- once, not twice


async def test_of_two_processes_one_posts_what_is_due(database: str, clock: ManualClock, discord: FakeDiscord) -> None:
    await make_guild()
    for _ in range(5):
        await make_event(now=NOW)
    one, two = [await process(discord, clock, name=name) for name in ("one", "two")]

    await asyncio.gather(one.run(CHECK_EVENT_REMINDERS), two.run(CHECK_EVENT_REMINDERS))
    await asyncio.gather(one.tick(), two.tick())

    assert len(discord.attempts) == len(discord.posts) == 5
    assert [row.success for row in await log_rows()] == [True] * 5


async def test_who_comes_while_another_sends_is_told_so_and_sends_nothing(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    await make_guild()
    event = await make_event(now=NOW)
    one, two = [await process(discord, clock, name=name) for name in ("one", "two")]
    context = ReminderContext(two.services.out, clock, two.services.fan_outs)
    results: list[SendResult] = []

    async def _meanwhile(message: OutgoingMessage) -> None:
        results.append(await TASKS[ANNOUNCEMENT.task_name](event.id, context))

    discord.before_send = _meanwhile
    await one.run(CHECK_EVENT_REMINDERS)
    discord.before_send = None
    results.append(await TASKS[ANNOUNCEMENT.task_name](event.id, context))

    assert results == [SendResult.ALREADY_CLAIMED] * 2
    assert len(discord.attempts) == 1


async def test_a_restart_a_minute_later_and_a_tick_each_minute_send_nothing_more(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    await make_guild()
    clock.set(utc("2026-03-02 00:00"))
    await make_event(now=clock.now())
    await (await process(discord, clock)).tick()

    clock.set(utc("2026-03-02 00:01"))
    bot = await process(discord, clock)
    await bot.run_until(utc("2026-03-02 00:07"), at_most_apart=MINUTE)
    for _ in range(7):
        await bot.run(CHECK_EVENT_REMINDERS)

    assert [post.sent_at for post in discord.posts] == [utc("2026-03-02 00:00")]


async def test_a_weekly_series_is_announced_each_week_without_a_restart(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    await make_guild()
    await make_series(now=NOW)

    await (await process(discord, clock)).run_until(NOW + 15 * DAY)

    assert [post.sent_at for post in discord.in_channel()] == [
        NOW,
        utc("2026-03-07 19:00"),
        utc("2026-03-14 19:00"),
    ]


async def test_changing_the_guilds_zone_sends_nothing(database: str, clock: ManualClock, discord: FakeDiscord) -> None:
    await make_guild(timezone="UTC")
    for number in range(20):
        await make_series(now=NOW, name=f"Series {number}", frequency=Frequency.DAILY, day_of_week=None)
    bot = await process(discord, clock)
    await bot.tick()
    before = len(discord.posts)

    await GuildSettings.filter(guild_id=GUILD).update(timezone="America/New_York")
    bot.services.wake_all(clock.now())
    await bot.tick()

    assert (before, len(discord.posts)) == (20, 20)


async def test_overlapping_passes_hand_nothing_on_twice(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    await make_guild()
    for _ in range(5):
        await make_event(now=NOW)
    one, two = [await process(discord, clock, name=name) for name in ("one", "two")]
    reached, go_on = asyncio.Event(), asyncio.Event()

    async def _slow(message: OutgoingMessage) -> None:
        reached.set()
        await go_on.wait()

    discord.before_send = _slow
    await one.services.agenda.run(one.services.body(CHECK_EVENT_REMINDERS), NOW)
    await reached.wait()
    for seconds in (30, 60, 90):
        for bot in (one, two):
            await bot.services.agenda.run(bot.services.body(CHECK_EVENT_REMINDERS), NOW + seconds * SECOND)
    go_on.set()
    await one.services.dispatcher.drain()
    await two.services.dispatcher.drain()

    assert len(discord.attempts) == len(discord.posts) == 5


async def test_ticks_each_minute_over_the_end_of_summer_time_send_every_slot_once(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    await make_guild()
    clock.set(utc("2026-10-24 22:00"))
    for time_of_day in ("00:30", "01:30", "02:30"):
        await make_series(
            now=clock.now(),
            name=time_of_day,
            frequency=Frequency.DAILY,
            day_of_week=None,
            time_of_day=time_of_day,
            generate_days_ahead=1,
            discord_announcement_hours=1,
        )
    bot = await process(discord, clock)
    await bot.run(GENERATE_UPCOMING_EVENTS)

    while clock.now() < utc("2026-10-25 03:00"):
        await bot.run(CHECK_EVENT_REMINDERS)
        clock.advance(MINUTE)

    # The clock goes from 02:00 back to 01:00 at 01:00 UTC; 01:30 is the first of the two.
    assert [(post.message.embed.title, post.sent_at) for post in discord.posts if post.message.embed] == [
        (r"00\:30", utc("2026-10-24 22:30")),
        (r"01\:30", utc("2026-10-24 23:30")),
        (r"02\:30", utc("2026-10-25 01:30")),
    ]


@pytest.mark.parametrize("moved", ["before it is due", "while it is sent", "after it was sent"])
async def test_an_event_put_off_is_announced_once_and_with_its_new_time(
    database: str, clock: ManualClock, discord: FakeDiscord, moved: str
) -> None:
    await make_guild()
    event = await make_event(now=NOW, starts_in=25 * HOUR)
    bot = await process(discord, clock)

    async def _put_off(message: OutgoingMessage | None = None) -> None:
        async def _unit() -> None:
            await Event.filter(id=event.id).update(scheduled_at=NOW + 27 * HOUR)
            await due_rows.refresh([event.id])
            await mark_changed(event.id, now=clock.now(), debounce=dt.timedelta(seconds=3))

        await atomic(_unit)
        bot.services.wake_all(clock.now() + 3 * SECOND)

    if moved == "before it is due":
        await _put_off()
    if moved == "while it is sent":
        discord.before_send = _put_off
    await bot.run_until(NOW + HOUR + MINUTE)
    if moved == "after it was sent":
        await _put_off()
    await bot.run_until(NOW + 26 * HOUR)

    (post,) = discord.in_channel()
    assert post.sent_at - NOW == (3 * HOUR if moved == "before it is due" else HOUR)
    assert post.shown.embed is not None
    assert post.shown.embed.fields[0].value.startswith(f"<t:{int((NOW + 27 * HOUR).timestamp())}:F>")


# ------------------------------------------------------------------------------------------------- what cannot go out


async def test_an_unavailable_guild_pauses_and_goes_out_once_it_is_back(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    await make_guild()
    await make_guild(OTHER_GUILD, announcement_channel_id=OTHER_CHANNEL)
    await make_event(now=NOW)
    await make_event(now=NOW, guild_id=OTHER_GUILD)
    discord.unavailable.add(GUILD)
    bot = await process(discord, clock)

    await bot.tick()
    paused = (len(discord.in_channel(CHANNEL)), len(discord.in_channel(OTHER_CHANNEL)))
    rows = await stored_due()
    discord.unavailable.clear()
    clock.advance(HOUR)
    bot.services.wake_all(clock.now())
    await bot.tick()

    assert (paused, len(rows)) == ((0, 1), 1)
    assert [post.sent_at for post in discord.in_channel(CHANNEL)] == [NOW + HOUR]
    assert len(discord.in_channel(OTHER_CHANNEL)) == 1


async def test_what_began_unsent_is_never_sent_but_recorded_and_told_once(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    await make_guild()
    states = [EventState.UPCOMING, EventState.SIGNUPS_OPEN, EventState.SIGNUPS_OPEN]
    # The last is over when the process comes back: started and completed before anybody looks for what was missed.
    lengths = [120, 120, 1]
    for state, minutes in zip(states, lengths, strict=True):
        await make_event(now=NOW, starts_in=HOUR, state=state, duration_minutes=minutes, signups_open_at=None)
    clock.advance(HOUR + MINUTE)

    bot = await process(discord, clock)
    await bot.tick()
    await bot.run_until(clock.now() + HOUR, at_most_apart=10 * MINUTE)

    assert discord.in_channel() == []
    assert [(row.success, row.error_class, row.attempts) for row in await log_rows()] == [
        (False, "event_started", 0)
    ] * 3
    assert await stored_due() == {}
    assert [len(text.splitlines()) for text in told(discord)] == [1 + 3]


async def test_each_event_is_told_in_one_line_that_names_the_reminders_it_began_without(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    await make_guild()
    series = await make_series(now=NOW, is_active=False)
    every = {
        "discord_signup_reminder": True,
        "discord_confirm_attendance": True,
        "discord_profile_reminder": True,
        "series_id": series.id,
    }
    opened = {"state": EventState.SIGNUPS_OPEN, "signups_open_at": NOW}
    await make_event(now=NOW, name="*Late*", starts_in=2 * HOUR, **opened, **every)
    await make_event(now=NOW, name="Early", starts_in=HOUR, discord_confirm_attendance=True, **opened)
    await make_event(now=NOW, name="Not yet", starts_in=5 * HOUR, discord_announcement_hours=1, **opened)
    clock.advance(3 * HOUR)

    await (await process(discord, clock)).tick()

    early, late = (int((NOW + hours * HOUR).timestamp()) for hours in (1, 2))
    assert [text.splitlines() for text in told(discord)] == [
        [
            MISSED,
            f"- Early, <t:{early}:F>: announcement, attendance reminder",
            f"- \\*Late\\*, <t:{late}:F>: announcement, sign-up reminder, attendance reminder, profile reminder",
        ]
    ]


async def test_a_guild_is_not_told_of_another_ones_events(database: str) -> None:
    await make_guild()
    mine, others = [await make_event(now=NOW, guild_id=guild_id, name="Raid") for guild_id in (GUILD, OTHER_GUILD)]

    await atomic(lambda: tell_missed(GUILD, [(event.id, ANNOUNCEMENT.log_source) for event in (mine, others)], now=NOW))

    assert [(note.guild_id, len(note.says.splitlines())) for note in await OpsNote.all()] == [(GUILD, 1 + 1)]


async def test_of_many_missed_events_the_newest_fifteen_lines_stay(database: str) -> None:
    await make_guild()
    for hours in range(40):
        event = await make_event(now=NOW, starts_in=hours * HOUR, name=f"Raid {hours}")
        await atomic(lambda event=event: tell_missed(GUILD, [(event.id, ANNOUNCEMENT.log_source)], now=NOW))  # type: ignore[misc]

    lines = (await OpsNote.get()).says.splitlines()

    assert lines[1] == "- and earlier ones"
    assert [line.split(",")[0] for line in lines[2:]] == [f"- Raid {hours}" for hours in range(26, 40)]


async def test_the_newest_of_the_longest_names_are_told_whole(database: str) -> None:
    await make_guild()
    for hours in range(20):
        event = await make_event(now=NOW, starts_in=hours * HOUR, name=f"Raid {hours} ".ljust(100, "*"))
        await atomic(lambda event=event: tell_missed(GUILD, [(event.id, ANNOUNCEMENT.log_source)], now=NOW))  # type: ignore[misc]

    lines = (await OpsNote.get()).says.splitlines()

    assert lines[1] == "- and earlier ones"
    assert [line.split()[2] for line in lines[2:]] == ["14", "15", "16", "17", "18", "19"]
    assert all(line.endswith(": announcement") for line in lines[2:])


async def test_what_begins_unsent_one_after_the_other_is_gathered_in_one_note_until_it_is_told(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    await make_guild()
    for place in range(3):
        await make_event(now=NOW, name=f"Raid {place}", starts_in=(10 + 10 * place) * MINUTE)
    bot = await process(discord, clock)
    discord.next_sends = [refused(ErrorClass.OUTAGE)] * 999

    await bot.run_until(NOW + HOUR, at_most_apart=30 * SECOND)
    discord.next_sends = []
    await bot.run_until(NOW + 2 * HOUR, at_most_apart=30 * SECOND)

    assert len(told(discord)) == 1
    assert all(f"Raid {place}" in told(discord)[0] for place in range(3))


async def test_a_failure_that_no_attempt_followed_before_the_start_is_told(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    await make_guild()
    event = await make_event(now=NOW, starts_in=10 * MINUTE)
    discord.next_sends = [refused(ErrorClass.OUTAGE)]
    first = await process(discord, clock, name="first")
    await first.run(CHECK_EVENT_REMINDERS)
    clock.advance(11 * MINUTE)

    second = await process(discord, clock, name="second")
    await second.tick()

    assert discord.in_channel() == []
    assert [(row.success, row.error_class) for row in await log_rows()] == [(False, "outage"), (False, "event_started")]
    assert event.name in told(discord)[0]


async def test_a_cancelled_event_whose_send_had_failed_is_not_told_as_missed(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    await make_guild()
    event = await make_event(now=NOW, starts_in=HOUR)

    async def _cancelled_meanwhile(_: OutgoingMessage) -> None:
        await Event.filter(id=event.id).update(state=EventState.CANCELLED)

    discord.before_send = _cancelled_meanwhile
    discord.next_sends = [refused(ErrorClass.RATE_LIMITED)]
    await (await process(discord, clock)).run_until(NOW + 2 * HOUR)

    assert told(discord) == []


async def test_the_start_is_the_first_moment_at_which_nothing_is_sent(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    await make_guild()
    just_before = await make_event(now=NOW - HOUR, scheduled_at=NOW + dt.timedelta(microseconds=1))
    exactly = await make_event(now=NOW - HOUR, scheduled_at=NOW)

    await (await process(discord, clock)).run(CHECK_EVENT_REMINDERS)

    assert {row.source_id: row.success for row in await log_rows()} == {just_before.id: True, exactly.id: False}
    assert len(discord.in_channel()) == 1


async def test_what_was_missed_is_announced_once_the_event_is_put_off(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    await make_guild()
    event = await make_event(now=NOW, starts_in=HOUR)
    clock.advance(2 * HOUR)
    bot = await process(discord, clock)
    await bot.tick()
    missed = [row.error_class for row in await log_rows()]

    await Event.filter(id=event.id).update(scheduled_at=NOW + 3 * DAY)
    await atomic(lambda: due_rows.refresh([event.id]))
    bot.services.wake_all(clock.now())
    await bot.run_until(NOW + 3 * DAY)

    assert missed == ["event_started"]
    assert [post.sent_at for post in discord.in_channel()] == [NOW + 2 * DAY]


async def test_a_first_run_announces_nothing_that_has_begun(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    await make_guild()
    for _ in range(5):
        await make_event(now=NOW, starts_in=-HOUR, state=EventState.IN_PROGRESS)
    await make_event(now=NOW, starts_in=HOUR, name="Ahead")
    await ReminderDue.all().delete()

    await (await process(discord, clock)).run_until(NOW + MINUTE)

    assert discord.titles() == ["Ahead"]


async def test_a_claim_that_died_before_the_start_is_recorded_once_its_fate_is_known(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    await make_guild()
    await make_event(now=NOW, starts_in=30 * SECOND, state=EventState.SIGNUPS_OPEN)
    reached = asyncio.Event()

    async def _hang(message: OutgoingMessage) -> None:
        reached.set()
        await asyncio.Event().wait()

    discord.before_send = _hang
    dying = await process(discord, clock)
    await dying.services.agenda.run(dying.services.body(CHECK_EVENT_REMINDERS), NOW)
    await reached.wait()
    await dying.crash()
    discord.before_send = None
    clock.advance(40 * SECOND)
    bot = await process(discord, clock)
    await bot.tick()
    not_known_yet = [row.success for row in await log_rows()]
    await bot.run_until(NOW + 5 * MINUTE, at_most_apart=30 * SECOND)

    assert not_known_yet == [None]
    assert [(row.success, row.error_class) for row in await log_rows()] == [(False, "event_started")]
    assert (len(discord.in_channel()), len(told(discord))) == (0, 1)


async def test_a_claim_that_died_after_its_message_arrived_is_found_and_nothing_is_told(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    await make_guild()
    event = await make_event(now=NOW, starts_in=30 * SECOND)
    discord.next_sends = [refused(ErrorClass.OUTAGE, arrived=True)]
    await (await process(discord, clock)).run(CHECK_EVENT_REMINDERS)

    clock.advance(40 * SECOND)
    await (await process(discord, clock)).run_until(NOW + 5 * MINUTE, at_most_apart=30 * SECOND)

    assert [row.success for row in await log_rows()] == [True]
    assert (len(discord.in_channel()), told(discord)) == (1, [])
    assert (await Event.get(id=event.id)).announcement_message_id == discord.posts[0].message_id
    assert await stored_due() == {}


async def test_an_outage_up_to_the_start_is_told(database: str, clock: ManualClock, discord: FakeDiscord) -> None:
    await make_guild()
    await make_event(now=NOW, starts_in=100 * SECOND)
    # At 0, 30 and 90 seconds; the next attempt would come after the start.
    discord.next_sends = [refused(ErrorClass.RATE_LIMITED)] * 3

    await (await process(discord, clock)).run_until(NOW + 10 * MINUTE)

    assert [at - NOW for at, channel in discord.attempts if channel == CHANNEL] == [NOTHING, 30 * SECOND, 90 * SECOND]
    began = int((NOW + 100 * SECOND).timestamp())
    assert told(discord) == [f"{MISSED}\n- Raid night, <t:{began}:F>: announcement"]


async def test_a_forbidden_channel_costs_an_attempt_an_hour_and_one_note_while_others_go_out_on_time(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    await make_guild()
    discord.forbidden.add(OTHER_CHANNEL)
    await make_event(
        now=NOW, starts_in=30 * HOUR, discord_announcement_hours=48, discord_announcement_channel_id=OTHER_CHANNEL
    )
    for hours in range(2, 22, 5):
        await make_event(now=NOW, starts_in=24 * HOUR + hours * HOUR)

    await (await process(discord, clock)).run_until(NOW + DAY)

    refused_at = [at - NOW for at, channel in discord.attempts if channel == OTHER_CHANNEL]
    assert refused_at == [hour * HOUR for hour in range(25)]
    assert [post.sent_at - NOW for post in discord.in_channel(CHANNEL)] == [2 * HOUR, 7 * HOUR, 12 * HOUR, 17 * HOUR]
    assert told(discord) == [
        f"I may not post in <#{OTHER_CHANNEL}>: I lack Send Messages there. Grant it to me; I try again every hour."
    ]


async def test_a_channel_that_is_opened_again_gets_its_post_within_the_hour(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    await make_guild()
    discord.forbidden.add(CHANNEL)
    await make_event(now=NOW, starts_in=20 * HOUR)
    bot = await process(discord, clock)
    await bot.run_until(NOW + 90 * MINUTE)

    discord.forbidden.clear()
    await bot.run_until(NOW + 3 * HOUR)

    assert [post.sent_at for post in discord.in_channel()] == [NOW + 2 * HOUR]
    assert [note.says for note in await OpsNote.all()] == [""]


# ------------------------------------------------------------------------------------------------- one stops no other


async def test_one_failing_event_does_not_stop_the_rest_and_is_tried_again(
    database: str, clock: ManualClock, discord: FakeDiscord, monkeypatch: pytest.MonkeyPatch
) -> None:
    await make_guild()
    events = [await make_event(now=NOW, name=name) for name in ("One", "Two", "Three")]
    bot = await process(discord, clock)
    real = TASKS[ANNOUNCEMENT.task_name]

    async def _fails_for_one(event_id: int, context: ReminderContext) -> SendResult:
        if event_id == events[1].id:
            raise RuntimeError("a bug")
        return await real(event_id, context)

    monkeypatch.setitem(TASKS, ANNOUNCEMENT.task_name, _fails_for_one)
    await bot.run(CHECK_EVENT_REMINDERS)
    first = sorted(discord.titles())
    monkeypatch.setitem(TASKS, ANNOUNCEMENT.task_name, real)
    await bot.run(CHECK_EVENT_REMINDERS)

    assert (first, bot.services.dispatcher.failures) == (["One", "Three"], 1)
    assert discord.titles()[-1] == "Two"


async def test_an_event_that_cannot_be_rendered_does_not_stop_the_rest_and_is_recorded(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    await make_guild()
    await make_event(now=NOW, name="One")
    broken = await make_event(now=NOW, name="Two", discord_announcement_role_ids=5)
    await make_event(now=NOW, name="Three")

    await (await process(discord, clock)).run(CHECK_EVENT_REMINDERS)

    assert sorted(discord.titles()) == ["One", "Three"]
    assert [(row.source_id, row.error_class) for row in await log_rows() if not row.success] == [(broken.id, "invalid")]


async def test_one_failing_query_does_not_stop_the_other_reminders(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    await make_guild()
    await make_event(now=NOW)
    bot = await process(discord, clock)
    broken = replace(ANNOUNCEMENT, key="broken", log_source="broken", hours_field="no_such_column")
    clerk = ReminderClerk(
        bot.services.dispatcher,
        is_available=lambda guild_id: True,
        lease_clock=InjectedLeaseClock(clock),
        agenda=bot.services.agenda,
        reminders=[broken, ANNOUNCEMENT],
    )

    await clerk.fire_due_reminders(NOW)
    await bot.services.dispatcher.drain()

    assert len(discord.in_channel()) == 1


async def test_a_missed_reminder_that_cannot_be_recorded_stops_no_other_guilds(
    database: str, clock: ManualClock, discord: FakeDiscord, monkeypatch: pytest.MonkeyPatch
) -> None:
    await make_guild()
    await make_guild(OTHER_GUILD)
    for guild_id in (GUILD, OTHER_GUILD):
        await make_event(now=NOW, starts_in=MINUTE, guild_id=guild_id)
    clock.advance(HOUR)
    bot = await process(discord, clock)

    async def _fails_for_one(guild_id: int, missed: Collection[Missed], *, now: dt.datetime) -> None:
        if guild_id == GUILD:
            raise OperationalError("disk full")
        await tell_missed(guild_id, missed, now=now)

    monkeypatch.setattr("bot.reminders.fire.tell_missed", _fails_for_one)
    await bot.run(CHECK_EVENT_REMINDERS)
    recorded = [row.guild_id for row in await log_rows()]
    monkeypatch.undo()
    await bot.run(CHECK_EVENT_REMINDERS)

    # Recorded and told together or not at all, so that the next pass does both.
    assert recorded == [OTHER_GUILD]
    assert [row.guild_id for row in await log_rows()] == [OTHER_GUILD, GUILD]
    assert {note.guild_id for note in await OpsNote.all()} == {GUILD, OTHER_GUILD}


# ------------------------------------------------------------------------------------------------- a fifth reminder


async def test_a_fifth_reminder_needs_an_entry_and_a_task_and_fires(
    database: str, clock: ManualClock, discord: FakeDiscord, monkeypatch: pytest.MonkeyPatch
) -> None:
    fifth = ScheduledReminder(
        key="packing_list",
        task_name="send_packing_list",
        hours_field="discord_profile_reminder_hours",  # stands in for the two new fields of its migration
        enabled_field="discord_profile_reminder",
        required_states=frozenset({EventState.UPCOMING}),
        log_source="packing_list",
    )

    async def send_packing_list(event_id: int, context: ReminderContext) -> SendResult:
        async def _render() -> OutgoingMessage:
            return OutgoingMessage(marker=f"packing #{event_id}", content=f"packing #{event_id}")

        return await context.out.send_once(
            MessageKey("packing_list", event_id), guild_id=GUILD, target=ChannelTarget(GUILD, CHANNEL), render=_render
        )

    monkeypatch.setattr(registry, "REMINDERS", registry.checked([*registry.REMINDERS, fifth]))
    monkeypatch.setitem(TASKS, "send_packing_list", send_packing_list)
    await make_guild()
    bot = await process(discord, clock)
    event = await make_event(now=NOW, discord_profile_reminder=True, discord_profile_reminder_hours=2)
    assert await stored_due() == {(event.id, "announcement"): NOW, (event.id, "packing_list"): NOW + 4 * HOUR}

    await bot.run_until(NOW + 8 * HOUR)

    assert [(post.message.marker, post.sent_at) for post in discord.in_channel()] == [
        (f"#{event.id}", NOW),
        (f"packing #{event.id}", NOW + 4 * HOUR),
    ]
    assert told(discord) == []


async def test_a_key_of_another_version_is_left_untouched(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    await make_guild()
    event = await make_event(now=NOW)
    await ReminderDue.create(event=event, key="of_a_later_version", due_at=NOW)

    bot = await process(discord, clock)
    await bot.tick()
    await bot.run(OPEN_SCHEDULED_SIGNUPS)

    assert await stored_due() == {(event.id, "of_a_later_version"): NOW}
