"""One cause, many DMs: each recipient once, whatever happens to the process, to Discord, or to a single person."""

import datetime as dt
import json

import pytest
from tortoise.exceptions import OperationalError

from bot.bootstrap import ServiceOptions
from bot.clock import ManualClock
from bot.database import opened
from bot.dm_queue import fan_out
from bot.dm_queue.circuit_breaker import BreakerOptions
from bot.dm_queue.job import DmJob, JobKind
from bot.dm_queue.worker import DmQueueOptions
from bot.leases import ledger
from bot.leases.failures import ErrorClass, SendError
from bot.leases.keys import MessageKey
from bot.leases.reports import SendResult, WithdrawnError
from bot.message.outgoing import OutgoingMessage
from bot.reminders.task_registry import ReminderContext
from bot.reminders.tasks import send_signup_reminder
from bot.scheduling.bodies import CHECK_EVENT_REMINDERS, DRAIN_DM_QUEUE, DRIVE_FAN_OUTS
from models.dm_channel import DmChannel
from models.event import Event
from models.ops_note import OpsNote
from models.player_profile import PlayerProfile
from models.repeater_subscription import RepeaterSubscription
from models.states import EventState, SignupStatus
from tests.builders import (
    DAY,
    GUILD,
    HOUR,
    MINUTE,
    OPS_CHANNEL,
    SECOND,
    FakeDiscord,
    log_rows,
    process,
    refused,
    stored_due,
)
from tests.conftest import START
from tests.people import (
    PEOPLE,
    Fleet,
    change,
    children,
    counted,
    counts,
    each_once,
    ends,
    know,
    opt_out,
    parent,
    reached,
    sign_up,
    signup_event,
    subscribe,
)

NOW = START
INTERVAL = SECOND / 5
MILLISECOND = dt.timedelta(milliseconds=1)


def queue_options(**changes: object) -> ServiceOptions:
    """The figures of the file, with some of the queue's changed."""
    return ServiceOptions(dm_queue=DmQueueOptions(**changes))  # type: ignore[arg-type]


def dm_moments(discord: FakeDiscord) -> list[dt.datetime]:
    """When a DM was asked for, in order."""
    return [at for at, channel in discord.attempts if channel > 400_000_000]


def told(discord: FakeDiscord) -> list[str]:
    """What the ops channel says, oldest first."""
    return [post.message.embed.description for post in discord.in_channel(OPS_CHANNEL) if post.message.embed]


# ------------------------------------------------------------------------------------------------------- each one once


async def test_everybody_is_asked_once_and_the_parent_is_finished_with_counts(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    event = await signup_event()
    bot = await process(discord, clock)

    await bot.run_until(NOW + 10 * MINUTE)

    assert reached(discord) == each_once()
    assert await counts() == counted(sent=10)
    done = await parent()
    assert done is not None
    assert (done.source_id, done.guild_id, done.discord_message_id, done.channel_id) == (event.id, GUILD, None, None)
    assert await stored_due() == {}
    assert all(post.message.mention_user_ids == () for post in discord.posts)


async def test_of_ten_the_third_takes_no_dms_and_the_sevenths_answer_is_lost(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    await signup_event()
    discord.closed_dms.add(103)
    lost = 0

    async def _lose_the_answer(message: OutgoingMessage) -> None:
        nonlocal lost
        del message
        if len(discord.attempts) == 7:
            lost += 1
            discord.next_sends.append(refused(ErrorClass.OUTAGE, arrived=True))

    discord.before_send = _lose_the_answer
    bot = await process(discord, clock)

    await bot.run_until(NOW + 10 * MINUTE)

    assert lost == 1
    assert reached(discord) == each_once(but=[103])
    assert (await children())[103] == [(False, "recipient_unreachable")]
    assert await ends() == {"sent": 9, "recipient_unreachable": 1}
    assert await counts() == counted(sent=9, unreachable=1)
    assert await stored_due() == {}


async def test_nobody_to_tell_is_a_success_and_not_tried_again(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    await signup_event(people=())
    bot = await process(discord, clock)

    await bot.run_until(NOW + 3 * HOUR, at_most_apart=10 * MINUTE)

    assert (await counts(), discord.attempts, await stored_due()) == (counted(), [], {})
    assert len(await log_rows("signup_reminder")) == 1


async def test_a_finished_fan_out_is_not_begun_again(database: str, clock: ManualClock, fleet: Fleet) -> None:
    event = await signup_event()
    await fleet.start()
    await fleet.run_until(NOW + 2 * MINUTE)
    await subscribe(event.series_id or 0, [500])

    await fleet.start()
    await fleet.start("two")
    await fleet.run_until(NOW + 10 * MINUTE)

    assert reached(fleet.discord, [*PEOPLE, 500]) == each_once() | {500: 0}


# ------------------------------------------------------------------------------------------------------------- crashes

CRASHES = [
    *[("dm", turn, when) for turn in (1, 2, 5, 9, 10) for when in ("before", "after")],
    *[("opening", turn, when) for turn in (1, 10) for when in ("before", "after")],
]


@pytest.mark.parametrize("crash", CRASHES, ids=lambda crash: f"{crash[0]} {crash[1]}, {crash[2]}")
async def test_after_a_crash_anywhere_the_next_process_of_the_name_reaches_everybody_once(
    database: str, clock: ManualClock, fleet: Fleet, crash: tuple[str, int, str]
) -> None:
    await signup_event()
    await fleet.start(crash_at=crash)
    crashed = await fleet.run_until(NOW + 10 * MINUTE, until_crash=True)
    died_at = clock.now()

    await fleet.start()
    await fleet.run_until(died_at + 3 * MINUTE)

    assert crashed
    assert reached(fleet.discord) == each_once()
    assert await counts() == counted(sent=10)
    assert set((await ends()).elements()) == {"sent"}


async def test_a_crash_at_every_dm_one_after_the_other_reaches_everybody_once(
    database: str, clock: ManualClock, fleet: Fleet
) -> None:
    await signup_event()
    await know(PEOPLE)
    crashes = 0

    # Each process dies at its first DM, by turns before and after Discord took it.
    while await counts() is None and crashes < 25:
        await fleet.start(crash_at=("dm", 1, "before" if crashes % 2 else "after"))
        crashes += await fleet.run_until(clock.now() + 5 * MINUTE, until_crash=True)

    # Ten that arrived, and after each but the last one that did not.
    assert crashes == 19
    assert reached(fleet.discord) == each_once()
    assert await counts() == counted(sent=10)


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("turn", [1, 5])
async def test_another_process_goes_on_where_one_crashed(
    database: str, clock: ManualClock, fleet: Fleet, turn: int, when: str
) -> None:
    await signup_event()
    await fleet.start("one", crash_at=("dm", turn, when))
    await fleet.start("two")
    crashed = await fleet.run_until(NOW + 2 * MINUTE, until_crash=True)
    died_at = clock.now()

    await fleet.run_until(died_at + 150 * SECOND)

    assert crashed
    assert list(fleet.bots) == ["two"]
    assert reached(fleet.discord) == each_once()
    assert await counts() == counted(sent=10)


async def test_two_living_processes_reach_everybody_once(database: str, clock: ManualClock, fleet: Fleet) -> None:
    await signup_event()
    await fleet.start("one")
    await fleet.start("two")

    await fleet.run_until(NOW + 5 * MINUTE)

    assert reached(fleet.discord) == each_once()
    assert len(fleet.discord.opened) == 10


async def test_a_crash_before_any_child_is_taken_up_at_once(database: str, clock: ManualClock, fleet: Fleet) -> None:
    await signup_event()
    bot = await fleet.start()
    await bot.run(CHECK_EVENT_REMINDERS)
    held = await parent()

    await fleet.start()
    await fleet.run_until(NOW + 15 * SECOND)

    assert held is not None
    assert held.success is None
    assert reached(fleet.discord) == each_once()


async def test_a_crash_after_the_last_dm_leaves_only_the_counting(
    database: str, clock: ManualClock, fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    await signup_event()
    await know(PEOPLE)
    await fleet.start()
    await fleet.run_until(NOW + 9 * INTERVAL - MILLISECOND)
    clock.set(NOW + 9 * INTERVAL)
    await fleet.bots["one"].run(DRAIN_DM_QUEUE)
    all_there = (reached(fleet.discord), await counts())

    await fleet.start()
    await fleet.run_until(NOW + MINUTE)

    assert all_there == (each_once(), None)
    assert (reached(fleet.discord), await counts()) == (each_once(), counted(sent=10))


async def test_a_crash_between_the_opening_and_the_send_opens_nothing_twice(
    database: str, clock: ManualClock, fleet: Fleet
) -> None:
    await signup_event(people=[101])
    await fleet.start(crash_at=("dm", 1, "before"))
    await fleet.run_until(NOW + MINUTE, until_crash=True)
    stored = await DmChannel.all().count()

    await fleet.start()
    await fleet.run_until(NOW + 3 * MINUTE)

    assert (stored, len(fleet.discord.opened)) == (1, 1)
    assert reached(fleet.discord, [101]) == {101: 1}


async def test_a_clean_stop_drops_the_parent_so_that_the_next_process_goes_on_at_once(
    database: str, clock: ManualClock, fleet: Fleet
) -> None:
    await signup_event()
    await know(PEOPLE)
    bot = await fleet.start()
    await fleet.run_until(NOW + 4 * INTERVAL)
    before = sum(reached(fleet.discord).values())

    await bot.services.settle()
    await bot.services.leave()
    await bot.services.leave()
    left = await parent()
    await fleet.start()
    await fleet.run_until(clock.now() + 6 * INTERVAL)

    assert (before, left) == (5, None)
    assert reached(fleet.discord) == each_once()


async def test_a_stop_whose_parent_cannot_be_dropped_is_repaired_at_the_next_start(
    database: str, clock: ManualClock, fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    await signup_event()
    await know(PEOPLE)
    bot = await fleet.start()
    await fleet.run_until(NOW + 4 * INTERVAL)

    async def _full(*args: object) -> bool:
        raise OperationalError("disk full")

    with monkeypatch.context() as full:
        full.setattr(ledger, "delete_held", _full)
        await bot.services.leave()
    left = await parent()
    await fleet.start()
    await fleet.run_until(clock.now() + MINUTE)

    assert left is not None
    assert reached(fleet.discord) == each_once()
    assert await counts() == counted(sent=10)


# --------------------------------------------------------------------------------------------------- the parent's lease


async def test_a_queue_longer_than_the_lease_is_renewed_and_taken_by_nobody_else(
    database: str, discord: FakeDiscord, clock: ManualClock
) -> None:
    # As 2,000 at five a second: 400 seconds, over five minutes. Each of two has half of the rate.
    people = range(101, 141)
    await signup_event(people)
    await know(people)
    fleet = Fleet(discord, clock, options=queue_options(drain_rate=0.2))
    for name in ("one", "two"):
        await fleet.start(name)
    seen: list[tuple[int, dt.datetime, dt.datetime | None]] = []

    for minute in range(1, 8):
        await fleet.run_until(NOW + minute * MINUTE)
        row = await parent()
        assert row is not None
        seen.append((row.id, row.claimed_at, row.renewed_at))

    assert reached(discord, people) == each_once(people)
    assert len({(row, claimed) for row, claimed, _ in seen}) == 1
    renewals = [renewed for _, _, renewed in seen if renewed is not None]
    assert renewals == [NOW + minute * MINUTE for minute in range(1, 7)] + [NOW + 6 * MINUTE]
    assert sorted(bot.services.dms.ended.total() for bot in fleet.bots.values()) == [0, 40]
    assert dm_moments(discord)[-1] - NOW == 390 * SECOND


@pytest.mark.slow
async def test_two_thousand_are_reached_in_four_hundred_seconds_beside_a_second_process(
    sqlite_url: str, discord: FakeDiscord, clock: ManualClock
) -> None:
    people = range(1_001, 3_001)
    async with opened(sqlite_url):
        await signup_event(people)
        await know(people)
        # Each of two has half of the rate, and one of them has all the people.
        fleet = Fleet(discord, clock, options=queue_options(drain_rate=10.0))
        for name in ("one", "two"):
            await fleet.start(name)

        await fleet.run_until(NOW + 8 * MINUTE)

        assert reached(discord, people) == each_once(people)
        assert dm_moments(discord) == [NOW + turn * INTERVAL for turn in range(2_000)]
        assert await counts() == counted(sent=2_000)
        assert [bot.services.dms.ended.total() for bot in fleet.bots.values()] == [2_000, 0]


async def test_a_process_that_stood_still_for_ten_minutes_sends_nobody_a_second_dm(
    database: str, clock: ManualClock, fleet: Fleet
) -> None:
    await signup_event()
    await know(PEOPLE)
    bot = await fleet.start("one")
    await fleet.start("two")
    await fleet.run_until(NOW + 4 * INTERVAL)
    sent_by_one = bot.services.dms.ended.total()

    # As a stopped host: it does nothing while the other goes on, then wakes with all that it had in mind.
    wake = fleet.suspend("one")
    await fleet.run_until(NOW + 10 * MINUTE)
    meanwhile = reached(fleet.discord)
    wake()
    await fleet.run_until(NOW + 20 * MINUTE)

    assert sent_by_one == 3  # in 0.8 s, at half of five a second
    assert meanwhile == reached(fleet.discord) == each_once()
    assert await counts() == counted(sent=10)
    assert (len(bot.services.dms.queue), bot.services.fan_outs._running) == (0, {})


async def test_a_dm_whose_process_stood_still_before_its_request_is_left_to_who_took_it_over(
    database: str, clock: ManualClock, fleet: Fleet
) -> None:
    await signup_event(people=[101])
    await know([101])
    await fleet.start("one")
    await fleet.start("two")

    async def _stand_still() -> None:
        wake = fleet.suspend("one")
        await fleet.run_until(NOW + 10 * MINUTE)
        wake()

    fleet.lines["one"].throttle = _stand_still
    await fleet.run_until(NOW + 15 * MINUTE)

    assert reached(fleet.discord, [101]) == {101: 1}
    assert await children() == {101: [(True, None)]}


@pytest.mark.parametrize("jump", [HOUR, DAY, -HOUR, -DAY], ids=str)
async def test_a_moved_clock_doubles_and_loses_nothing(
    database: str, clock: ManualClock, fleet: Fleet, jump: dt.timedelta
) -> None:
    await signup_event(starts_in=3 * DAY, discord_signup_reminder_hours=72)
    await know(PEOPLE)
    await fleet.start()
    await fleet.run_until(NOW + 4 * INTERVAL)

    fleet.move_clock(jump)
    fleet.passes_every = 10 * MINUTE
    # A clock set back makes it due later, not never.
    await fleet.run_until(clock.now() + max(-jump, 0 * HOUR) + 10 * MINUTE)

    assert reached(fleet.discord) == each_once()
    assert await counts() == counted(sent=10)


async def test_a_parent_taken_away_right_before_it_is_finished_is_left_to_who_took_it(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    await signup_event(people=[101])
    await know([101])
    bot = await process(discord, clock)
    await bot.run(CHECK_EVENT_REMINDERS)
    await bot.run(DRIVE_FAN_OUTS)
    (row,) = await ledger.held_rows()
    await ledger.take_over(row.lease, instance="another", lease_clock=bot.services.out.lease_clock)

    for body in (DRAIN_DM_QUEUE, DRIVE_FAN_OUTS):
        await bot.run(body)

    held = await parent()
    assert held is not None
    assert (held.success, held.instance) == (None, "another")
    assert (reached(discord, [101]), bot.services.fan_outs._running) == ({101: 1}, {})
    assert not bot.services.out.is_under_way(row.lease)


async def test_a_fan_out_that_runs_or_is_held_elsewhere_is_not_begun_a_second_time(
    database: str, clock: ManualClock, fleet: Fleet
) -> None:
    event = await signup_event()
    one, two = await fleet.start("one"), await fleet.start("two")
    await one.run(CHECK_EVENT_REMINDERS)

    begun = [
        await send_signup_reminder(event.id, ReminderContext(bot.services.out, clock, bot.services.fan_outs))
        for bot in (one, two)
    ]

    assert begun == [SendResult.ALREADY_CLAIMED] * 2
    assert len(await log_rows("signup_reminder")) == 1


async def test_a_renewal_that_the_database_does_not_take_is_made_up_for(
    database: str, discord: FakeDiscord, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    await signup_event()
    await know(PEOPLE)
    fleet = Fleet(discord, clock, options=queue_options(drain_rate=0.1))
    await fleet.start()
    await fleet.run_until(NOW + 30 * SECOND)

    async def _full(*args: object, **kwargs: object) -> bool:
        raise OperationalError("disk full")

    with monkeypatch.context() as full:
        full.setattr(ledger, "renew", _full)
        await fleet.run_until(NOW + 70 * SECOND)
    row = await parent()
    await fleet.run_until(NOW + 3 * MINUTE)

    assert row is not None
    assert row.renewed_at is None
    assert reached(discord) == each_once()
    assert await counts() == counted(sent=10)


# ------------------------------------------------------------------------------------------------------------ overflow


async def test_more_recipients_than_half_the_queue_are_all_reached_in_the_end(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    people = range(101, 131)
    await signup_event(people)
    await know(people)
    bot = await process(discord, clock, options=queue_options(max_depth=16))
    await bot.run(CHECK_EVENT_REMINDERS)
    await bot.run(DRIVE_FAN_OUTS)
    waiting = bot.services.dms.queue.waiting()

    await bot.run_until(NOW + MINUTE)

    assert waiting == {JobKind.REMINDER: 8}
    assert reached(discord, people) == each_once(people)
    assert dm_moments(discord) == [NOW + turn * INTERVAL for turn in range(30)]
    assert await counts() == counted(sent=30)


async def test_two_fan_outs_share_the_room_and_lose_nobody(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    first, second = range(101, 121), range(201, 221)
    events = [await signup_event(first), await signup_event(second)]
    await know([*first, *second])
    bot = await process(discord, clock, options=queue_options(max_depth=8))

    await bot.run_until(NOW + MINUTE)

    assert reached(discord, [*first, *second]) == each_once([*first, *second])
    finished = [row for row in await log_rows("signup_reminder") if not row.recipient_id]
    assert {(row.source_id, row.success) for row in finished} == {(event.id, True) for event in events}


async def test_a_large_fan_out_keeps_no_later_one_out(database: str, clock: ManualClock, discord: FakeDiscord) -> None:
    many, few = range(101, 301), range(401, 404)
    await signup_event(many)
    await know([*many, *few])
    bot = await process(discord, clock, options=queue_options(max_depth=16))
    await bot.run_until(NOW + 2 * SECOND)
    await signup_event(few, now=clock.now())
    bot.services.wake_all(clock.now())

    await bot.run_until(clock.now() + 5 * SECOND)

    # At most the eight that waited already go first, five a second.
    assert reached(discord, few) == each_once(few)
    await bot.run_until(NOW + 2 * MINUTE)
    assert reached(discord, many) == each_once(many)


async def test_a_queue_that_others_fill_delays_a_fan_out_and_loses_nobody(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    await signup_event()
    await know(PEOPLE)
    bot = await process(discord, clock, options=queue_options(max_depth=4))

    class Filler:
        async def render(self, recipient_id: int) -> OutgoingMessage:
            raise WithdrawnError

        def ended(self, job: DmJob, report: object) -> None:
            """Nobody waits for it."""

    filler = Filler()
    while bot.services.dms.queue.offer(
        DmJob(JobKind.APPROVAL, MessageKey("approval_dm", 1), GUILD, 101, filler, clock.now())
    ):
        pass

    await bot.run_until(NOW + 2 * MINUTE)

    assert reached(discord) == each_once()


# ------------------------------------------------------------------------------------------------ refusals and outages


async def test_a_closed_dm_is_not_tried_again_by_itself(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    await signup_event()
    await know(PEOPLE)
    discord.closed_dms.add(103)
    bot = await process(discord, clock)

    await bot.run_until(NOW + 5 * HOUR, at_most_apart=10 * MINUTE)

    assert len(dm_moments(discord)) == 10
    assert await counts() == counted(sent=9, unreachable=1)


async def test_who_opens_their_dms_gets_the_next_reminder_without_a_restart(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    await signup_event(people=[101])
    discord.closed_dms.add(101)
    bot = await process(discord, clock)
    await bot.run_until(NOW + MINUTE)
    discord.closed_dms.clear()
    await signup_event(people=[101], now=clock.now())

    bot.services.wake_all(clock.now())
    await bot.run_until(NOW + 2 * MINUTE)

    assert reached(discord, [101]) == {101: 1}


async def test_a_person_whose_channel_cannot_be_opened_is_recorded_and_holds_nobody_up(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    await signup_event()
    discord.next_openings = [None, None, refused(ErrorClass.RECIPIENT_UNREACHABLE)]
    bot = await process(discord, clock)

    await bot.run_until(NOW + MINUTE)

    assert reached(discord) == each_once(but=[103])
    assert await counts() == counted(sent=9, unreachable=1)
    assert len(discord.opened) == 10


async def test_a_passing_failure_is_tried_again_with_its_waits_and_counted_once(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    await signup_event(people=[101, 102])
    await know([101, 102])
    discord.next_sends = [refused(ErrorClass.OUTAGE), None, *[refused(ErrorClass.OUTAGE)] * 3]
    bot = await process(discord, clock)

    await bot.run_until(NOW + HOUR)

    waits = [NOW + SECOND * seconds for seconds in (0, 0.2, 30, 90, 210, 450)]
    assert dm_moments(discord) == waits
    assert await children() == {101: [(False, "outage")] * 4 + [(True, None)], 102: [(True, None)]}
    assert await counts() == counted(sent=2)


async def test_a_passing_failure_at_the_opening_is_tried_again_too(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    await signup_event(people=[101])
    discord.next_openings = [refused(ErrorClass.OUTAGE), refused(ErrorClass.OUTAGE)]
    bot = await process(discord, clock)

    await bot.run_until(NOW + HOUR)

    assert [at - NOW for at, _ in discord.opened] == [0 * SECOND, 30 * SECOND, 90 * SECOND]
    assert await counts() == counted(sent=1)


@pytest.mark.parametrize("error_class", [ErrorClass.INVALID, ErrorClass.GONE, ErrorClass.FORBIDDEN])
async def test_a_failure_for_good_is_counted_and_not_tried_again(
    database: str, clock: ManualClock, discord: FakeDiscord, error_class: ErrorClass
) -> None:
    await signup_event(people=[101, 102])
    await know([101, 102])
    discord.next_sends = [refused(error_class)]
    bot = await process(discord, clock)

    await bot.run_until(NOW + 5 * HOUR, at_most_apart=10 * MINUTE)

    assert len(dm_moments(discord)) == 2
    assert await counts() == counted(sent=1, failed=1)


async def test_a_429_waits_as_long_as_discord_told(database: str, clock: ManualClock, discord: FakeDiscord) -> None:
    await signup_event(people=[101])
    await know([101])
    discord.next_sends = [SendError(ErrorClass.RATE_LIMITED, "429", retry_after=95 * SECOND)]
    bot = await process(discord, clock)

    await bot.run_until(NOW + HOUR)

    assert [at - NOW for at in dm_moments(discord)] == [0 * SECOND, 95 * SECOND]
    assert await counts() == counted(sent=1)


@pytest.mark.parametrize("arrived", [True, False], ids=["it had arrived", "it had not"])
async def test_an_unknown_outcome_is_looked_up_after_a_minute_and_only_then_sent_again(
    database: str, clock: ManualClock, discord: FakeDiscord, arrived: bool
) -> None:
    await signup_event(people=[101, 102])
    await know([101, 102])
    lost = refused(ErrorClass.OUTAGE, arrived=True)

    async def _lose(message: OutgoingMessage) -> None:
        if len(discord.attempts) == 1:
            if arrived:
                discord.next_sends.append(lost)
            else:
                raise lost

    discord.before_send = _lose
    bot = await process(discord, clock)
    await bot.run_until(NOW + MINUTE - MILLISECOND)
    before = (await children(), await counts())
    await bot.run_until(NOW + 5 * MINUTE)

    assert before == ({101: [(None, "outage")], 102: [(True, None)]}, None)
    assert reached(discord, [101, 102]) == {101: 1, 102: 1}
    expected = [0 * SECOND, INTERVAL] + [] * arrived + [MINUTE] * (not arrived)
    assert [at - NOW for at in dm_moments(discord)] == expected
    assert await counts() == counted(sent=2)


async def test_an_outage_of_minutes_holds_everything_and_then_reaches_everybody_once(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    await signup_event()
    await know(PEOPLE)
    bot = await process(discord, clock, options=queue_options(breaker=BreakerOptions(failures=3)))
    discord.next_sends = [refused(ErrorClass.OUTAGE)] * 5

    await bot.run_until(NOW + 30 * MINUTE)

    assert reached(discord) == each_once()
    assert await counts() == counted(sent=10)
    assert [at for at in dm_moments(discord) if NOW + SECOND < at < NOW + 5 * MINUTE] == []


async def test_a_database_that_fails_while_the_parent_is_finished_finishes_it_later(
    database: str, clock: ManualClock, discord: FakeDiscord, monkeypatch: pytest.MonkeyPatch
) -> None:
    await signup_event(people=[101])
    await know([101])
    bot = await process(discord, clock)

    async def _full(*args: object, **kwargs: object) -> bool:
        raise OperationalError("disk full")

    with monkeypatch.context() as full:
        full.setattr(ledger, "finalize_counted", _full)
        await bot.run_until(NOW + 40 * SECOND)
    before = await counts()
    await bot.run_until(NOW + 2 * MINUTE)

    assert (before, await counts()) == (None, counted(sent=1))
    assert reached(discord, [101]) == {101: 1}
    # The sweep kept its hands off a parent that this process was still at.
    assert len([row for row in await log_rows("signup_reminder") if not row.recipient_id]) == 1


# ------------------------------------------------------------------------------------------------- the event's own time


async def test_what_the_start_overtakes_is_recorded_counted_and_told_once(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    event = await signup_event(starts_in=5 * INTERVAL, name="Raid *night*")
    await know(PEOPLE)
    bot = await process(discord, clock)

    await bot.run_until(NOW + 10 * MINUTE)

    assert dm_moments(discord) == [NOW + turn * INTERVAL for turn in range(5)]
    assert await ends() == {"sent": 5, "event_started": 5}
    assert await counts() == counted(sent=5, too_late=5)
    assert await stored_due() == {}
    (note,) = told(discord)
    assert note.splitlines()[1:] == [
        rf"- Raid \*night\*, <t:{int(event.scheduled_at.timestamp())}:F>: sign-up reminder"
    ]


@pytest.mark.parametrize("is_taken_away", [False, True])
async def test_whom_the_start_overtakes_is_recorded_page_by_page_as_long_as_the_lease_is_held(
    database: str, clock: ManualClock, discord: FakeDiscord, monkeypatch: pytest.MonkeyPatch, is_taken_away: bool
) -> None:
    monkeypatch.setattr(fan_out, "_PAGE", 2)
    await signup_event(starts_in=5 * INTERVAL)
    await know(PEOPLE)
    bot = await process(discord, clock)
    await bot.run_until(NOW + 4 * INTERVAL)
    if is_taken_away:
        (row,) = await ledger.held_rows()
        await ledger.take_over(row.lease, instance="another", lease_clock=bot.services.out.lease_clock)

    clock.set(NOW + 5 * INTERVAL)
    await bot.run(DRIVE_FAN_OUTS)
    await bot.run(DRIVE_FAN_OUTS)  # reads what the pass before recorded, and finishes

    # Two pages, then it turns out that somebody else goes on with the rest.
    assert await ends() == {"sent": 5, "event_started": 4 if is_taken_away else 5}
    assert (await counts() is None) is is_taken_away


async def test_whose_turn_comes_at_the_start_before_the_fan_out_has_noticed_it_was_too_late_and_not_unwanted(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    await signup_event(starts_in=5 * INTERVAL)
    await know(PEOPLE)
    bot = await process(discord, clock)
    await bot.run_until(NOW + 4 * INTERVAL)

    clock.set(NOW + 5 * INTERVAL)
    await bot.run(DRAIN_DM_QUEUE)
    await bot.run_until(NOW + MINUTE)

    assert await ends() == {"sent": 5, "event_started": 5}
    assert await counts() == counted(sent=5, too_late=5)


async def test_a_dm_that_a_throttle_held_past_the_start_is_not_sent(
    database: str, clock: ManualClock, fleet: Fleet
) -> None:
    await signup_event(people=[101], starts_in=MINUTE)
    await know([101])
    await fleet.start()

    async def _wait() -> None:
        clock.set(NOW + MINUTE)

    fleet.lines["one"].throttle = _wait
    await fleet.run_until(NOW + 5 * MINUTE)

    assert (dm_moments(fleet.discord), await counts()) == ([], counted(too_late=1))


async def test_with_the_process_down_over_the_start_it_is_told_and_nothing_is_sent(
    database: str, clock: ManualClock, fleet: Fleet
) -> None:
    await signup_event(starts_in=MINUTE)
    await know(PEOPLE)
    await fleet.start()
    await fleet.run_until(NOW + 4 * INTERVAL)
    await fleet.kill("one")
    clock.set(NOW + HOUR)

    await fleet.start()
    await fleet.run_until(NOW + HOUR + 10 * MINUTE)

    assert sum(reached(fleet.discord).values()) == 5
    row = await parent()
    assert row is not None
    assert (row.success, row.error_class) == (False, "event_started")
    assert len(told(fleet.discord)) == 1
    assert await stored_due() == {}


async def test_a_retry_that_lies_past_the_start_is_recorded_as_too_late(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    await signup_event(people=[101], starts_in=20 * SECOND)
    await know([101])
    discord.next_sends = [refused(ErrorClass.OUTAGE)]
    bot = await process(discord, clock)

    await bot.run_until(NOW + 5 * MINUTE)

    assert await children() == {101: [(False, "outage"), (False, "event_started")]}
    assert await counts() == counted(too_late=1)
    assert len(told(discord)) == 1


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({"state": EventState.CANCELLED}, id="cancelled"),
        pytest.param({"state": EventState.ROLL_CALL}, id="sign-ups closed"),
        pytest.param({"discord_signup_reminder": False}, id="switched off"),
        pytest.param({"discord_signup_reminder_hours": 1}, id="fewer hours"),
        pytest.param({"scheduled_at": NOW + 5 * DAY}, id="put off for days"),
    ],
)
async def test_an_event_changed_in_the_middle_sends_nothing_more_and_drops_the_parent(
    database: str, clock: ManualClock, discord: FakeDiscord, fields: dict[str, object]
) -> None:
    event = await signup_event()
    await know(PEOPLE)
    bot = await process(discord, clock)
    await bot.run_until(NOW + 4 * INTERVAL)

    await change(event, **fields)
    await bot.run_until(NOW + 5 * INTERVAL)
    dropped = (await parent(), len(bot.services.dms.queue))
    await bot.run_until(NOW + 2 * HOUR, at_most_apart=10 * MINUTE)

    assert len(dm_moments(discord)) == 5
    # Its jobs are gone with it: they hold nobody up for as long as they would have taken.
    assert dropped == (None, 0)
    assert await ends() == {"sent": 5}
    assert told(discord) == []


async def test_a_fan_out_of_an_event_that_was_put_off_goes_on_at_its_new_time_to_those_left(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    event = await signup_event()
    await know(PEOPLE)
    bot = await process(discord, clock)
    await bot.run_until(NOW + 4 * INTERVAL)

    await change(event, scheduled_at=NOW + 26 * HOUR)
    bot.services.wake_all(clock.now())
    await bot.run_until(NOW + 2 * HOUR + 10 * MINUTE)

    moments = [at - NOW for at in dm_moments(discord)]
    assert moments == [turn * INTERVAL for turn in range(5)] + [2 * HOUR + turn * INTERVAL for turn in range(5)]
    assert reached(discord) == each_once()
    assert await counts() == counted(sent=10)


async def test_an_event_put_off_a_little_while_it_is_sent_still_reaches_everybody(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    event = await signup_event(starts_in=5 * INTERVAL)
    await know(PEOPLE)
    bot = await process(discord, clock)
    await bot.run_until(NOW + 2 * INTERVAL)

    # Still due: its 24 hours have long begun.
    await change(event, scheduled_at=NOW + HOUR)
    bot.services.wake_all(clock.now())
    await bot.run_until(NOW + 2 * HOUR, at_most_apart=10 * MINUTE)

    assert reached(discord) == each_once()
    assert await counts() == counted(sent=10)
    assert told(discord) == []


async def test_who_was_too_late_is_reached_after_all_if_the_event_turns_out_to_be_put_off(
    database: str, clock: ManualClock, fleet: Fleet
) -> None:
    event = await signup_event(people=[101, 102], starts_in=MINUTE)
    await know([101, 102])
    await fleet.start()

    async def _put_off_and_wait() -> None:
        # The DM was claimed for the old start, which passes while it waits.
        await change(event, scheduled_at=NOW + HOUR)
        clock.set(NOW + MINUTE)

    fleet.lines["one"].throttle = _put_off_and_wait
    await fleet.run_until(NOW + 10 * MINUTE)

    assert await children() == {101: [(False, "event_started"), (True, None)], 102: [(True, None)]}
    assert await counts() == counted(sent=2)
    assert told(fleet.discord) == []


# -------------------------------------------------------------------------------------------- people change their minds


async def test_whoever_changes_their_mind_before_their_turn_gets_nothing_and_is_counted(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    event = await signup_event()
    await know(PEOPLE)
    bot = await process(discord, clock)
    await bot.run_until(NOW + INTERVAL)

    await RepeaterSubscription.filter(user_id=104).delete()
    await sign_up(event, [105])
    await sign_up(event, [106], SignupStatus.TENTATIVE)
    await sign_up(event, [107], SignupStatus.DECLINED)
    await opt_out(108, "signup_reminder")
    await opt_out(109, "attendance_reminder")
    await bot.run_until(NOW + MINUTE)

    assert reached(discord) == each_once(but=[104, 105, 106, 108])
    assert await counts() == counted(sent=6, withdrawn=4)
    assert set(await children()) == set(PEOPLE) - {104, 105, 106, 108}


async def test_whom_it_is_for_is_read_when_it_begins(database: str, clock: ManualClock, discord: FakeDiscord) -> None:
    event = await signup_event()
    for who, status in zip(PEOPLE, SignupStatus, strict=False):
        await sign_up(event, [who], status)
    await opt_out(PEOPLE[6], "signup_reminder")
    await PlayerProfile.filter(user_id=PEOPLE[6]).update(field_values={"character": "Ada"})
    bot = await process(discord, clock)

    await bot.run_until(NOW + MINUTE)

    # Who declined is asked again, once; everybody else has said something, or wants none.
    declined = PEOPLE[list(SignupStatus).index(SignupStatus.DECLINED)]
    assert {who for who, seen in reached(discord).items() if seen} == {declined, *PEOPLE[7:]}
    assert await counts() == counted(sent=4)


async def test_a_deleted_event_sends_nothing_more(database: str, clock: ManualClock, discord: FakeDiscord) -> None:
    event = await signup_event()
    await know(PEOPLE)
    bot = await process(discord, clock)
    await bot.run_until(NOW + 4 * INTERVAL)

    await Event.filter(id=event.id).delete()
    await bot.run_until(NOW + 10 * MINUTE)

    assert (len(dm_moments(discord)), await parent(), await OpsNote.all()) == (5, None, [])


async def test_what_a_fan_out_records_is_read_back_by_its_names(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    await signup_event(people=[101])
    bot = await process(discord, clock)

    await bot.run_until(NOW + MINUTE)

    row = await parent()
    assert row is not None
    assert json.loads(json.dumps(row.embed_data)) == counted(sent=1)
