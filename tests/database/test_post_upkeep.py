"""The one post of an event ends up true: edited once for many changes, posted again once where it was deleted."""

import asyncio
import datetime as dt

import pytest
from tortoise.exceptions import OperationalError

from bot.bootstrap import ServiceOptions
from bot.clock import ManualClock
from bot.events.posts import mark_changed
from bot.leases.failures import ErrorClass
from bot.leases.ports import ChannelTarget
from bot.message.outgoing import OutgoingMessage
from bot.reminders import post_upkeep
from bot.reminders.post_upkeep import PostUpkeep
from bot.reminders.tasks import announcement_target
from bot.scheduling.bodies import CHECK_EVENT_REMINDERS, SYNC_DISCORD_EVENTS
from bot.transactions import atomic
from models.event import Event
from models.states import EventState, SignupStatus
from tests.builders import (
    CHANNEL,
    DAY,
    HOUR,
    MINUTE,
    OPS_CHANNEL,
    OTHER_CHANNEL,
    SECOND,
    FakeDiscord,
    Post,
    Process,
    log_rows,
    make_event,
    make_guild,
    process,
    refused,
    utc,
)
from tests.people import sign_up

NOW = utc("2026-03-01 12:00")


class KilledError(BaseException):
    """The process ends here."""


@pytest.fixture
def discord(clock: ManualClock) -> FakeDiscord:
    return FakeDiscord(clock)


async def announced(discord: FakeDiscord, clock: ManualClock, **fields: object) -> tuple[Process, Event, Post]:
    """Return a process, an event that it announced, and the post."""
    await make_guild()
    event = await make_event(now=NOW, **fields)  # type: ignore[arg-type]
    bot = await process(discord, clock)
    await bot.tick()
    return bot, event, discord.in_channel()[0]


async def change(event: Event, bot: Process, clock: ManualClock, **fields: object) -> None:
    """Change an event as the bot itself would."""

    async def _unit() -> None:
        await Event.filter(id=event.id).update(**fields)
        await mark_changed(event.id, now=clock.now(), debounce=dt.timedelta(seconds=3))

    await atomic(_unit)
    bot.services.agenda.wake(SYNC_DISCORD_EVENTS, clock.now() + 3 * SECOND)


async def test_many_changes_in_a_few_seconds_become_one_edit_that_is_true_at_the_end(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    bot, event, post = await announced(discord, clock)

    for name in ("One", "Two", "Three", "Four"):
        await change(event, bot, clock, name=name)
        clock.advance(dt.timedelta(milliseconds=700))
        await bot.tick()
    await bot.run_until(NOW + 3 * SECOND - dt.timedelta(microseconds=1))
    early = discord.edit_attempts
    await bot.run_until(NOW + MINUTE)

    assert (early, discord.edit_attempts) == (0, 1)
    assert discord.titles() == ["Four"]
    assert (await Event.get(id=event.id)).post_due_at is None
    assert len(post.edits) == 1


async def test_a_change_of_an_event_not_yet_announced_costs_no_edit(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    await make_guild()
    event = await make_event(now=NOW, starts_in=25 * HOUR)
    bot = await process(discord, clock)
    await change(event, bot, clock, name="Renamed")

    await bot.run_until(NOW + 2 * HOUR)

    assert (discord.titles(), discord.edit_attempts) == (["Renamed"], 0)


async def test_a_change_while_the_message_is_on_its_way_is_edited_afterwards(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    await make_guild()
    event = await make_event(now=NOW)
    bot = await process(discord, clock)

    async def _rename(message: OutgoingMessage) -> None:
        await change(event, bot, clock, name="Renamed")

    discord.before_send = _rename
    await bot.tick()
    at_first = discord.titles()
    await bot.run_until(NOW + 3 * SECOND)

    assert (at_first, discord.titles()) == (["Raid night"], ["Renamed"])
    assert (len(discord.posts), discord.edit_attempts) == (1, 1)


async def test_a_change_during_the_edit_is_followed_by_another(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    bot, event, _ = await announced(discord, clock)
    await change(event, bot, clock, name="One")

    async def _rename_once(message: OutgoingMessage) -> None:
        discord.before_edit = None
        await change(event, bot, clock, name="Two")

    discord.before_edit = _rename_once
    await bot.run_until(NOW + MINUTE)

    assert (discord.titles(), discord.edit_attempts) == (["Two"], 2)


async def test_a_state_move_shows_in_the_post(database: str, clock: ManualClock, discord: FakeDiscord) -> None:
    bot, _, post = await announced(discord, clock, signups_open_at=NOW + HOUR)

    await bot.run_until(NOW + HOUR + 3 * SECOND)

    assert post.shown.embed is not None
    assert post.shown.embed.fields[-1].value == "Open"


# ----------------------------------------------------------------------------------------------------- deleted posts


def shown(post: Post) -> tuple[list[str], list[bool]]:
    """What a post says of people, and which of its buttons cannot be pressed."""
    assert post.shown.embed is not None
    people = [f"{one.name}: {one.value}" for one in post.shown.embed.fields if "<@" in one.value or one.name == "Can't"]
    return people, [button.disabled for button in post.shown.buttons]


async def test_the_post_shows_who_comes_and_can_be_pressed_while_sign_ups_are_open(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    bot, event, post = await announced(discord, clock, starts_in=DAY, signups_open_at=NOW + HOUR, duration_minutes=60)
    seen = [shown(post)]

    await bot.run_until(NOW + HOUR + MINUTE)
    await sign_up(event, [101, 102])
    await sign_up(event, [103], SignupStatus.DECLINED)
    await change(event, bot, clock)
    await bot.run_until(NOW + HOUR + 2 * MINUTE)
    seen.append(shown(post))
    await bot.run_until(NOW + DAY + MINUTE)
    seen.append(shown(post))

    people = ["Coming (2): <@101>, <@102>", "Can't: 1"]
    assert seen == [([], [True] * 3), (people, [False] * 3), (people, [True] * 3)]


async def test_a_post_that_is_posted_again_shows_who_comes(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    bot, event, post = await announced(discord, clock, state=EventState.SIGNUPS_OPEN)
    await sign_up(event, [101])
    post.deleted = True

    await change(event, bot, clock)
    await bot.run_until(NOW + MINUTE)

    assert [shown(post) for post in discord.in_channel()] == [(["Coming (1): <@101>"], [False] * 3)]


@pytest.mark.parametrize(("ahead_by", "edits"), [(HOUR, 0), (DAY, 1)], ids=["within an hour", "by a day"])
async def test_a_clock_that_was_ahead_by_a_day_holds_no_edit_back(
    database: str, discord: FakeDiscord, clock: ManualClock, ahead_by: dt.timedelta, edits: int
) -> None:
    bot, event, post = await announced(discord, clock)
    await mark_changed(event.id, now=NOW + ahead_by, debounce=3 * SECOND)

    await bot.run(SYNC_DISCORD_EVENTS)

    assert len(post.edits) == edits


async def test_a_deleted_post_of_an_event_ahead_is_posted_again_once_each_time(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    bot, event, post = await announced(discord, clock)

    post.deleted = True
    await change(event, bot, clock, name="One")
    await bot.run_until(NOW + MINUTE)
    discord.in_channel()[0].deleted = True
    await change(event, bot, clock, name="Two")
    await bot.run_until(NOW + 2 * MINUTE)
    await change(event, bot, clock, name="Three")
    await bot.run_until(NOW + 3 * MINUTE)

    assert [one.message.marker for one in discord.posts] == [f"#{event.id}", f"#{event.id}.1", f"#{event.id}.2"]
    assert discord.titles() == ["Three"]
    assert [(row.source_id, row.part, row.success) for row in await log_rows("event_repost")] == [
        (event.id, 1, True),
        (event.id, 2, True),
    ]
    stored = await Event.get(id=event.id)
    assert (stored.announcement_message_id, stored.reposts) == (discord.posts[-1].message_id, 2)


async def test_a_deleted_post_of_an_event_no_longer_ahead_is_forgotten(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    await make_guild()
    events = [await make_event(now=NOW) for _ in range(3)]
    bot = await process(discord, clock)
    await bot.tick()

    for post in discord.posts:
        post.deleted = True
    over = [EventState.IN_PROGRESS, EventState.COMPLETED, EventState.CANCELLED]
    for event, state in zip(events, over, strict=True):
        await change(event, bot, clock, state=state)
    await bot.run_until(NOW + MINUTE)

    for stored in await Event.all():
        assert (stored.announcement_message_id, stored.announcement_channel_id) == (None, None)
        assert (stored.post_due_at, stored.reposts) == (None, 0)
    assert len(discord.posts) == 3


async def test_two_processes_that_find_it_gone_post_it_once(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    one, event, post = await announced(discord, clock)
    two = await process(discord, clock, name="two")
    post.deleted = True
    await change(event, one, clock, name="Renamed")
    clock.advance(3 * SECOND)

    await asyncio.gather(one.run(SYNC_DISCORD_EVENTS), two.run(SYNC_DISCORD_EVENTS))
    await asyncio.gather(one.run_until(NOW + 5 * MINUTE), two.run_until(NOW + 5 * MINUTE))

    assert discord.titles() == ["Renamed"]
    assert (await Event.get(id=event.id)).reposts == 1


async def test_a_crash_between_gone_and_its_repost_still_posts_it_once(
    database: str, clock: ManualClock, discord: FakeDiscord, monkeypatch: pytest.MonkeyPatch
) -> None:
    bot, event, post = await announced(discord, clock)
    post.deleted = True
    await change(event, bot, clock, name="Renamed")
    clock.advance(3 * SECOND)

    async def _killed(upkeep: PostUpkeep, event: Event, now: dt.datetime) -> None:
        raise KilledError

    monkeypatch.setattr(PostUpkeep, "_repost", _killed)
    with pytest.raises(KilledError):
        await bot.run(SYNC_DISCORD_EVENTS)
    monkeypatch.undo()
    await (await process(discord, clock)).run_until(NOW + 5 * MINUTE)

    assert [one.message.marker for one in discord.posts] == [f"#{event.id}", f"#{event.id}.1"]
    assert discord.titles() == ["Renamed"]


@pytest.mark.parametrize("arrived", [False, True], ids=["before it arrived", "after it arrived"])
async def test_a_crash_during_the_repost_still_posts_it_once(
    database: str, clock: ManualClock, discord: FakeDiscord, arrived: bool
) -> None:
    bot, event, post = await announced(discord, clock)
    post.deleted = True
    await change(event, bot, clock, name="Renamed")
    clock.advance(3 * SECOND)

    async def _killed(message: OutgoingMessage) -> None:
        if arrived:
            discord.posts.append(Post(discord.posts[-1].message_id + 2**40, CHANNEL, message, clock.now()))
        raise KilledError

    discord.before_send = _killed
    with pytest.raises(KilledError):
        await bot.run(SYNC_DISCORD_EVENTS)
    discord.before_send = None
    await (await process(discord, clock)).run_until(NOW + 5 * MINUTE)

    assert [one.message.marker for one in discord.in_channel()] == [f"#{event.id}.1"]
    assert [(row.part, row.success) for row in await log_rows("event_repost")] == [(1, True)]
    assert (await Event.get(id=event.id)).announcement_message_id == discord.in_channel()[0].message_id


async def test_a_repost_that_is_forbidden_costs_an_attempt_an_hour_and_ends_with_the_start(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    bot, event, post = await announced(discord, clock, starts_in=150 * MINUTE)
    post.deleted = True
    discord.forbidden.add(CHANNEL)
    await change(event, bot, clock, name="Renamed")

    await bot.run_until(NOW + 3 * HOUR)

    attempts = [at - NOW - 3 * SECOND for at, channel in discord.attempts[1:] if channel == CHANNEL]
    assert attempts == [0 * HOUR, HOUR, 2 * HOUR]
    assert len(discord.in_channel(OPS_CHANNEL)) == 1
    assert (await Event.get(id=event.id)).post_due_at is None


# ----------------------------------------------------------------------------------------------- edits that fail


async def test_an_edit_in_an_outage_is_tried_again_in_half_a_minute(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    bot, event, _ = await announced(discord, clock)
    await change(event, bot, clock, name="Renamed")
    discord.next_edits = [refused(ErrorClass.RATE_LIMITED), refused(ErrorClass.OUTAGE, arrived=True)]

    await bot.run_until(NOW + 62 * SECOND)
    early = discord.titles()
    await bot.run_until(NOW + 63 * SECOND)

    assert (early, discord.titles(), discord.edit_attempts) == (["Raid night"], ["Renamed"], 3)


async def test_a_forbidden_edit_is_told_once_and_tried_each_hour(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    bot, event, _ = await announced(discord, clock)
    await change(event, bot, clock, name="Renamed")
    discord.next_edits = [refused(ErrorClass.FORBIDDEN, missing=["View Channel"])] * 2

    await bot.run_until(NOW + 2 * HOUR)
    early = discord.titles()
    await bot.run_until(NOW + 2 * HOUR + 3 * SECOND)

    assert (early, discord.titles(), discord.edit_attempts) == (["Raid night"], ["Renamed"], 3)
    assert len(discord.in_channel(OPS_CHANNEL)) == 1


async def test_a_forbidden_edit_that_says_cancelled_is_tried_again_until_the_event_would_be_over(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    bot, event, post = await announced(discord, clock)
    await change(event, bot, clock, state=EventState.CANCELLED)
    discord.next_edits = [refused(ErrorClass.FORBIDDEN)] * 2

    await bot.run_until(NOW + 3 * HOUR)

    assert discord.edit_attempts == 3
    assert post.shown.embed is not None
    assert post.shown.embed.title.startswith("Cancelled: ")


async def test_a_forbidden_edit_of_an_event_that_is_over_is_given_up(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    bot, event, _ = await announced(discord, clock)
    await change(event, bot, clock, name="Other")
    discord.next_edits = [refused(ErrorClass.FORBIDDEN)] * 99

    await bot.run_until(event.scheduled_at + 4 * HOUR)

    # An edit an hour from noon on, while the event of two hours at six was not over.
    assert discord.edit_attempts == 9
    assert (await Event.get(id=event.id)).post_due_at is None


async def test_a_block_before_discord_stops_edits_and_a_refused_token_stops_the_process(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    bot, event, _ = await announced(discord, clock)
    await change(event, bot, clock, name="Other")
    discord.next_edits = [refused(ErrorClass.CDN_BLOCK), refused(ErrorClass.UNAUTHORIZED)]

    await bot.run_until(clock.now() + 9 * MINUTE)
    while_blocked = discord.edit_attempts
    await bot.run_until(clock.now() + 2 * MINUTE)

    assert while_blocked == 1
    assert len(bot.stopped) >= 1


async def test_two_processes_that_edit_at_once_end_with_the_truth(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    one, event, post = await announced(discord, clock)
    two = await process(discord, clock, name="two")
    await change(event, one, clock, name="Old")
    clock.advance(3 * SECOND)
    reached, go_on = asyncio.Event(), asyncio.Event()

    async def _first_waits(message: OutgoingMessage) -> None:
        discord.before_edit = None
        reached.set()
        await go_on.wait()

    discord.before_edit = _first_waits
    slow = asyncio.create_task(one.run(SYNC_DISCORD_EVENTS))
    await reached.wait()
    await change(event, two, clock, name="New")
    await two.run(SYNC_DISCORD_EVENTS)
    go_on.set()
    await slow
    overwritten = [edit.embed.title for edit in post.edits if edit.embed is not None]
    await asyncio.gather(one.run_until(NOW + MINUTE), two.run_until(NOW + MINUTE))

    assert overwritten == ["New", "Old"]
    assert discord.titles() == ["New"]
    assert (await Event.get(id=event.id)).post_due_at is None


async def test_a_post_that_cannot_be_rendered_does_not_stop_the_rest(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    bot, event, _ = await announced(discord, clock)
    broken = await make_event(now=NOW, name="Broken", discord_announcement_channel_id=OTHER_CHANNEL)
    bot.services.agenda.wake(CHECK_EVENT_REMINDERS, NOW)
    await bot.tick()
    await change(broken, bot, clock, discord_announcement_role_ids=5)
    await change(event, bot, clock, name="Renamed")

    await bot.run_until(NOW + 30 * MINUTE)

    assert discord.titles() == ["Renamed"]
    assert (await Event.get(id=broken.id)).post_due_at == NOW + HOUR + 3 * SECOND


async def test_a_post_whose_row_cannot_be_written_does_not_stop_the_rest_and_is_tried_again(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    await make_guild()
    events = [await make_event(now=NOW) for _ in range(3)]
    bot = await process(discord, clock)
    await bot.tick()
    for event in events:
        await change(event, bot, clock, name="Renamed")

    async def _fails_once(message: OutgoingMessage) -> None:
        discord.before_edit = None
        raise OperationalError("disk full")

    discord.before_edit = _fails_once
    clock.advance(3 * SECOND)
    await bot.run(SYNC_DISCORD_EVENTS)
    first = discord.titles()
    await bot.run_until(NOW + 5 * SECOND)

    assert sorted(first) == ["Raid night", "Renamed", "Renamed"]
    assert discord.titles() == ["Renamed"] * 3


async def test_an_event_cancelled_while_its_repost_waits_is_not_posted_again(
    database: str, clock: ManualClock, discord: FakeDiscord, monkeypatch: pytest.MonkeyPatch
) -> None:
    bot, event, post = await announced(discord, clock)
    post.deleted = True
    await change(event, bot, clock, name="Renamed")

    async def _meanwhile(event: Event) -> ChannelTarget | None:
        await Event.filter(id=event.id).update(state=EventState.CANCELLED)
        return await announcement_target(event)

    monkeypatch.setattr("bot.reminders.post_upkeep.announcement_target", _meanwhile)
    await bot.run_until(NOW + 5 * MINUTE)

    assert len(discord.attempts) == 1
    assert (await Event.get(id=event.id)).post_due_at is None


async def test_more_posts_than_a_pass_takes_are_all_brought_in_line(
    database: str, clock: ManualClock, discord: FakeDiscord, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(post_upkeep, "_AT_ONCE", 2)
    await make_guild()
    events = [await make_event(now=NOW) for _ in range(5)]
    bot = await process(discord, clock)
    await bot.tick()
    for number, event in enumerate(events):
        await change(event, bot, clock, name=f"Renamed {number}")

    await bot.run_until(NOW + 10 * SECOND)

    assert sorted(discord.titles()) == [f"Renamed {number}" for number in range(5)]
    assert discord.edit_attempts == 5


async def test_the_debounce_is_the_configured_one(database: str, clock: ManualClock, discord: FakeDiscord) -> None:
    await make_guild()
    event = await make_event(now=NOW, signups_open_at=NOW + HOUR)
    bot = await process(discord, clock, options=ServiceOptions(edit_debounce=20 * SECOND))
    await bot.tick()

    await bot.run_until(NOW + HOUR + 19 * SECOND)
    early = discord.edit_attempts
    await bot.run_until(NOW + HOUR + 20 * SECOND)

    assert (early, discord.edit_attempts) == (0, 1)
    assert (await Event.get(id=event.id)).post_due_at is None
