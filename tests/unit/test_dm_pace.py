"""The worker's pace, its rests and its accounts, moment by moment, with whatever Discord takes to answer."""

import asyncio
import datetime as dt
import random
from collections import Counter
from collections.abc import Callable, Iterator

import pytest
import structlog.testing

from bot.dm_queue.circuit_breaker import BreakerOptions
from bot.dm_queue.job import JobEnd, JobKind
from bot.dm_queue.status import status_of, status_text
from bot.dm_queue.worker import DmQueueOptions
from bot.leases.failures import ErrorClass, SendError
from bot.leases.reports import SendReport, SendResult
from bot.scheduling.bodies import DRAIN_DM_QUEUE
from tests.builders import GUILD, OTHER_GUILD
from tests.conftest import START
from tests.dm_world import NOTHING, DmWorld, failed

SECOND = dt.timedelta(seconds=1)
MINUTE = dt.timedelta(minutes=1)
MILLISECOND = dt.timedelta(milliseconds=1)
INTERVAL = SECOND / 5
OUTAGE = failed(ErrorClass.OUTAGE)


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    """Keep the planted faults' tracebacks, drawn frame by frame, from taking longer than the test."""
    with structlog.testing.capture_logs():
        yield


def waits(chance: random.Random, low: int, high: int) -> Callable[[], dt.timedelta]:
    """Answers that take between so many milliseconds."""
    return lambda: chance.randint(low, high) * MILLISECOND


def most_within(span: dt.timedelta, moments: list[dt.datetime]) -> int:
    """The most of any span of that length, which includes its begin and not its end."""
    return max(sum(begin <= moment < begin + span for moment in moments) for begin in moments)


def starts(world: DmWorld) -> list[dt.datetime]:
    return [at for at, _ in world.out.starts]


# --------------------------------------------------------------------------------------------------------------- pace


@pytest.mark.parametrize(("low", "high"), [(0, 0), (60, 180), (60, 900), (4_900, 5_000)])
async def test_five_a_second_are_started_over_five_minutes_whatever_the_answers_take(low: int, high: int) -> None:
    world = DmWorld()
    world.out.takes = waits(random.Random(5), low, high)
    for who in range(1, 2_000):
        world.offer(who)

    await world.run_for(5 * MINUTE)

    moments = starts(world)
    assert moments == [START + turn * INTERVAL for turn in range(1_501)]
    assert (most_within(SECOND, moments), most_within(10 * SECOND, moments)) == (5, 50)
    assert [who for _, who in world.out.starts] == list(range(1, 1_502))
    world.check()


def test_the_figures_are_those_of_the_specification() -> None:
    assert DmQueueOptions() == DmQueueOptions(
        max_depth=10_000,
        drain_rate=5.0,
        max_in_flight=32,
        open_channels_rate=1.0,
        opening_pause=5 * MINUTE,
        breaker=BreakerOptions(),
    )


async def test_never_more_than_32_are_under_way() -> None:
    world = DmWorld()
    world.out.takes = lambda: 10 * SECOND
    for who in range(1, 200):
        world.offer(who)

    most = 0
    while (upcoming := world.next_moment()) is not None and upcoming <= START + 30 * SECOND:
        await world.run_until(upcoming)
        most = max(most, world.worker.in_flight)

    assert most == 32
    # 32 within 6.2 s, then one for each answer.
    assert starts(world)[31] == START + 31 * INTERVAL
    assert starts(world)[32] == START + 10 * SECOND
    world.check()


async def test_what_arrives_late_goes_out_at_once_and_idle_time_is_not_saved_up() -> None:
    world = DmWorld()
    world.offer(1)
    await world.run_for(MINUTE)

    for who in (2, 3, 4):
        world.offer(who)
    await world.run_for(MINUTE)

    assert starts(world) == [START, *(START + MINUTE + turn * INTERVAL for turn in range(3))]


async def test_a_loop_that_comes_late_each_time_keeps_the_rate() -> None:
    world = DmWorld()
    chance = random.Random(7)
    for who in range(1, 400):
        world.offer(who)

    while world.clock.now() < START + MINUTE:
        upcoming = world.next_moment()
        assert upcoming is not None
        world.clock.set(upcoming + chance.randint(0, 199) * MILLISECOND)
        await world.drain()

    assert 300 <= len(world.out.starts) <= 302
    assert most_within(SECOND, starts(world)) <= 6
    assert most_within(10 * SECOND, starts(world)) <= 51


async def test_with_nothing_waiting_the_body_knows_of_no_next_moment() -> None:
    world = DmWorld()

    named = await world.worker.drain_dm_queue(START)
    await world.run_for(MINUTE)

    assert (named, world.next_moment()) == (None, None)


async def test_more_jobs_than_are_sorted_at_once_all_go_on() -> None:
    world = DmWorld(DmQueueOptions(drain_rate=20.0))
    for who in range(1, 1_202):
        world.offer(who)

    await world.run_for(NOTHING)
    sorted_now = world.queue.arrived(1)
    await world.run_for(60 * SECOND)

    assert (sorted_now, len(world.out.starts)) == ([], 1_201)


async def test_two_processes_worth_of_clock_steps_cost_an_interval_and_no_more() -> None:
    world = DmWorld()
    for who in range(1, 40):
        world.offer(who)
    await world.run_for(SECOND)
    before = len(world.out.starts)

    world.clock.set(START - 3_600 * SECOND)
    world.agenda.wake(DRAIN_DM_QUEUE, world.clock.now())
    await world.run_for(SECOND)

    assert (before, len(world.out.starts)) == (6, 11)


# ------------------------------------------------------------------------------------------------------------ openings


async def test_channels_are_opened_one_a_second_and_hold_nobody_up() -> None:
    world = DmWorld()
    for who in range(1, 11):
        world.offer(who, known=False)
    for who in range(101, 131):
        world.offer(who)

    await world.run_for(20 * SECOND)

    assert world.opener.opened == [(START + turn * SECOND, 1 + turn) for turn in range(10)]
    known = [at for at, who in world.out.starts if who > 100]
    assert known[:1] == [START]
    assert known[-1] < START + 8 * SECOND  # 30 at 5/s, and up to ten that went first
    assert Counter(who for _, who in world.out.starts) == Counter([*range(1, 11), *range(101, 131)])
    assert most_within(SECOND, starts(world)) <= 6


async def test_openings_save_nothing_up_while_nobody_needs_one() -> None:
    world = DmWorld()
    world.offer(1, known=False)
    await world.run_for(MINUTE)

    for who in (2, 3, 4):
        world.offer(who, known=False)
    await world.run_for(MINUTE)

    assert [at - START for at, _ in world.opener.opened] == [NOTHING, *(MINUTE + turn * SECOND for turn in range(3))]


async def test_openings_count_among_what_is_under_way() -> None:
    world = DmWorld(DmQueueOptions(max_in_flight=2, open_channels_rate=5.0))
    world.out.takes = lambda: 10 * SECOND
    for who in range(1, 6):
        world.offer(who, known=False)

    await world.run_for(10 * SECOND - MILLISECOND)
    first = (len(world.opener.opened), world.worker.in_flight)
    await world.run_for(MINUTE)

    assert first == (2, 2)
    assert world.letter.ends == {SendResult.SENT: 5}


async def test_slow_openings_keep_their_rate_too() -> None:
    world = DmWorld()
    world.out.takes = waits(random.Random(3), 60, 3_000)
    for who in range(1, 61):
        world.offer(who, known=False)

    await world.run_for(70 * SECOND)

    assert [at for at, _ in world.opener.opened] == [START + turn * SECOND for turn in range(60)]
    assert world.letter.ends == {SendResult.SENT: 60}


async def test_two_jobs_to_one_new_person_open_one_channel_and_go_out_in_order() -> None:
    world = DmWorld()
    world.out.takes = lambda: SECOND
    for number in range(2):
        world.offer(1, known=False, number=number)

    await world.run_for(10 * SECOND)

    assert [who for _, who in world.opener.opened] == [1]
    assert world.letter.ends == {SendResult.SENT: 2}


async def test_a_person_that_cannot_be_reached_fails_with_every_job_and_nobody_else_does() -> None:
    world = DmWorld()
    refusal = SendError(ErrorClass.RECIPIENT_UNREACHABLE, "closed")
    world.opener.refuses = lambda who: refusal if who == 1 else None
    for who, number in ((1, 0), (2, 1), (1, 2)):
        world.offer(who, known=False, number=number)

    await world.run_for(10 * SECOND)

    assert world.letter.ends == {SendResult.FAILED_PERMANENT: 2, SendResult.SENT: 1}
    assert [who for _, who in world.opener.opened] == [1, 2]
    assert (world.worker.breaker.failures, [one.why for one in world.worker.recent_failures]) == (
        0,
        ["takes no direct messages from me"] * 2,
    )


async def test_a_failure_that_is_not_recorded_leaves_the_jobs_in_their_order() -> None:
    world = DmWorld()
    refusals = [SendError(ErrorClass.RECIPIENT_UNREACHABLE, "closed"), None]
    world.opener.refuses = lambda _: refusals.pop(0)
    world.out.record_fails = lambda: True
    for number in range(3):
        world.offer(1, known=False, number=number)

    await world.run_for(NOTHING)
    waiting = [job.key.source_id for job in world.queue]
    world.check()
    rested = world.worker.resumes_at()
    await world.run_for(10 * SECOND)

    assert (waiting, rested) == ([0, 1, 2], START + 5 * SECOND)
    assert world.letter.ends == {SendResult.SENT: 3}


@pytest.mark.parametrize(
    ("error_class", "rest"),
    [
        pytest.param(ErrorClass.OPENING_TOO_FAST, 5 * MINUTE, id="40003 and 20026"),
        pytest.param(ErrorClass.RATE_LIMITED, 5 * MINUTE, id="429 without a time"),
        pytest.param(ErrorClass.CDN_BLOCK, 10 * MINUTE, id="blocked on the way"),
    ],
)
async def test_an_opening_that_is_refused_lets_everything_rest_and_marks_nobody(
    error_class: ErrorClass, rest: dt.timedelta
) -> None:
    world = DmWorld()
    refusals = [SendError(error_class, error_class.value)]
    world.opener.refuses = lambda _: refusals.pop() if refusals else None
    world.offer(1, known=False)
    world.offer(2, known=False)
    await world.run_for(NOTHING)
    for who in (101, 102):
        world.offer(who)

    await world.run_for(rest - MILLISECOND)
    quiet = (len(world.out.starts), len(world.opener.opened), len(world.queue), world.letter.ends.total())
    await world.run_for(5 * SECOND)

    assert quiet == (0, 1, 4, 0)
    assert world.letter.ends == {SendResult.SENT: 4}
    # At the head still: the same person is asked for first.
    assert [who for _, who in world.opener.opened] == [1, 1, 2]
    told = [(GUILD, START + 5 * MINUTE)] if error_class is ErrorClass.OPENING_TOO_FAST else []
    assert world.told_too_fast == told


async def test_a_429_lets_openings_rest_as_long_as_it_says() -> None:
    world = DmWorld()
    refusals = [SendError(ErrorClass.RATE_LIMITED, "429", retry_after=7 * SECOND)]
    world.opener.refuses = lambda _: refusals.pop() if refusals else None
    world.offer(1, known=False)

    await world.run_for(MINUTE)

    assert [at for at, _ in world.opener.opened] == [START, START + 7 * SECOND]


# ------------------------------------------------------------------------------------------------------------- the head


async def test_a_dm_that_came_too_fast_goes_back_to_the_head_and_all_rest_five_minutes() -> None:
    world = DmWorld()
    answers = [failed(ErrorClass.OPENING_TOO_FAST)]
    world.out.answer = lambda _: answers.pop() if answers else SendReport(SendResult.SENT)
    for who in (1, 2, 3):
        world.offer(who)

    await world.run_for(5 * MINUTE - MILLISECOND)
    resting = (len(world.out.starts), world.worker.resumes_at(), world.letter.ends.total(), len(world.queue))
    await world.run_for(MINUTE)

    assert resting == (1, START + 5 * MINUTE, 0, 3)
    assert [who for _, who in world.out.starts] == [1, 1, 2, 3]
    # At its pace again at once: what it rested is not made up for.
    assert starts(world)[1:] == [START + 5 * MINUTE + turn * INTERVAL for turn in range(3)]
    assert (list(world.worker.recent_failures), world.told_too_fast) == ([], [(GUILD, START + 5 * MINUTE)])


async def test_several_that_are_flagged_at_once_are_one_rest_and_one_note() -> None:
    world = DmWorld()
    world.out.takes = lambda: 2 * SECOND
    world.out.answer = lambda _: failed(ErrorClass.OPENING_TOO_FAST)
    for who in range(1, 30):
        world.offer(who)

    await world.run_for(4 * MINUTE)

    assert len(world.told_too_fast) == 1
    assert (len(world.queue), world.letter.ends.total()) == (29, 0)
    # The last of those under way was flagged 1.8 s after the first.
    assert world.worker.resumes_at() == START + 2 * SECOND + 9 * INTERVAL + 5 * MINUTE


async def test_a_clock_set_back_during_a_rest_does_not_lengthen_it() -> None:
    world = DmWorld()
    answers = [failed(ErrorClass.OPENING_TOO_FAST)]
    world.out.answer = lambda _: answers.pop() if answers else SendReport(SendResult.SENT)
    world.offer(1)
    await world.run_for(SECOND)

    world.clock.set(START - dt.timedelta(days=1))
    world.agenda.wake(DRAIN_DM_QUEUE, world.clock.now())
    await world.run_for(5 * MINUTE)
    resting = world.letter.ends.total()
    await world.run_for(INTERVAL)

    assert (resting, world.letter.ends) == (0, {SendResult.SENT: 1})


async def test_a_block_on_the_way_puts_back_what_was_not_tried() -> None:
    world = DmWorld()
    world.offer(1)
    answers = [SendReport(SendResult.FAILED_TRANSIENT)]
    world.out.answer = lambda _: answers.pop() if answers else SendReport(SendResult.SENT)

    await world.run_for(SECOND)

    assert ([who for _, who in world.out.starts], world.letter.ends) == ([1, 1], {SendResult.SENT: 1})


async def test_a_missing_recipient_never_touches_discord_and_is_told_to_its_owner() -> None:
    world = DmWorld()
    world.offer(None)
    world.offer(1)

    await world.run_for(SECOND)

    assert [who for _, who in world.out.starts] == [1]
    assert world.letter.ends == {JobEnd.MISSING_RECIPIENT: 1, SendResult.SENT: 1}
    assert [one.why for one in world.worker.recent_failures] == ["missing recipient"]
    assert world.worker.breaker.failures == 0


async def test_a_channel_that_is_gone_is_forgotten() -> None:
    world = DmWorld()
    world.out.answer = lambda _: failed(ErrorClass.GONE, SendResult.FAILED_PERMANENT)
    world.offer(1)

    await world.run_for(SECOND)

    assert (world.book.channels, world.letter.ends) == ({}, {SendResult.FAILED_PERMANENT: 1})


async def test_the_owner_hears_of_the_end_whatever_forgetting_the_channel_raises() -> None:
    world = DmWorld()
    world.out.answer = lambda _: failed(ErrorClass.GONE, SendResult.FAILED_PERMANENT)

    async def _broken(recipient_id: int) -> None:
        raise OSError("no database")

    world.book.forget = _broken  # type: ignore[method-assign]
    world.offer(1)
    world.offer(2)

    await world.run_for(SECOND)

    assert world.letter.ends == {SendResult.FAILED_PERMANENT: 2}


async def test_a_claim_that_the_database_refuses_keeps_its_turn_and_lets_everything_rest_for_five_seconds() -> None:
    world = DmWorld()
    errors = [OSError("no durable claim"), OSError("no durable claim")]

    def _answer(_: int) -> SendReport:
        if errors:
            raise errors.pop()
        return SendReport(SendResult.SENT)

    world.out.answer = _answer
    world.offer(1)
    world.offer(2)
    with structlog.testing.capture_logs() as logged:
        await world.run_for(MINUTE)

    assert [(at - START, who) for at, who in world.out.starts] == [
        (NOTHING, 1),
        (5 * SECOND, 1),
        (10 * SECOND, 1),
        (10 * SECOND + INTERVAL, 2),
    ]
    assert [entry["event"] for entry in logged] == ["dm_not_claimed"] * 2


async def test_a_bug_in_an_opener_loses_nothing_and_is_logged() -> None:
    world = DmWorld()

    def _bug(_: int) -> SendError | None:
        raise RuntimeError("a bug")

    world.opener.refuses = _bug
    world.offer(1, known=False)
    with structlog.testing.capture_logs() as logged:
        await world.run_for(3 * SECOND)
    world.opener.refuses = lambda _: None
    await world.run_for(3 * SECOND)

    assert [entry["event"] for entry in logged] == ["dm_task_failed"] * 4
    assert world.letter.ends == {SendResult.SENT: 1}


@pytest.mark.parametrize("error", [RuntimeError("a bug"), asyncio.CancelledError()], ids=["a bug", "a stop"])
async def test_a_failure_whose_recording_is_cut_off_leaves_the_job_where_it_was(error: BaseException) -> None:
    world = DmWorld()
    world.opener.refuses = lambda _: SendError(ErrorClass.RECIPIENT_UNREACHABLE, "closed")

    def _cut_off() -> bool:
        raise error

    world.out.record_fails = _cut_off
    world.offer(1, known=False)
    await world.run_for(NOTHING)

    assert (len(world.queue), world.letter.ends.total()) == (1, 0)
    world.check()


async def test_a_bug_in_one_job_ends_that_job_alone() -> None:
    world = DmWorld()

    def _answer(who: int) -> SendReport:
        if who == 1:
            raise RuntimeError("a bug")
        return SendReport(SendResult.SENT)

    world.out.answer = _answer
    world.offer(1)
    world.offer(2)

    await world.run_for(SECOND)

    assert world.letter.ends == {SendResult.UNKNOWN: 1, SendResult.SENT: 1}


# -------------------------------------------------------------------------------------------------------- the breaker


@pytest.mark.parametrize("report", [OUTAGE, failed(ErrorClass.OUTAGE, SendResult.UNKNOWN)], ids=["refused", "unknown"])
async def test_exactly_the_fiftieth_outage_lets_everything_rest_and_keeps_what_waits(report: SendReport) -> None:
    world = DmWorld()
    world.out.answer = lambda _: report
    for who in range(1, 101):
        world.offer(who)

    await world.run_for(49 * INTERVAL - MILLISECOND)
    before = world.worker.breaker.open_until
    await world.run_for(MILLISECOND)
    opened_at = world.clock.now()
    world.out.answer = lambda _: SendReport(SendResult.SENT)
    world.offer(101)  # more may come
    await world.run_for(5 * MINUTE - MILLISECOND)
    resting = (len(world.out.starts), len(world.queue))
    await world.run_for(MILLISECOND)
    closed = list(world.record.said)
    await world.run_for(MINUTE)

    assert (before, resting) == (None, (50, 51))
    assert closed == [("opened", opened_at), ("closed", opened_at + 5 * MINUTE)]
    assert [who for _, who in world.out.starts[50:]] == list(range(51, 102))
    assert world.letter.ends == {report.result: 50, SendResult.SENT: 51}
    assert world.record.said == closed


async def test_forty_nine_outages_and_one_success_let_nothing_rest() -> None:
    world = DmWorld()
    world.out.answer = lambda who: SendReport(SendResult.SENT) if who % 50 == 0 else OUTAGE
    for who in range(1, 500):
        world.offer(who)

    await world.run_for(2 * MINUTE)

    assert (world.record.said, world.letter.ends) == ([], {SendResult.FAILED_TRANSIENT: 490, SendResult.SENT: 9})


@pytest.mark.parametrize(
    "error_class",
    # The three left out let everything rest.
    [one for one in ErrorClass if one not in {ErrorClass.OUTAGE, ErrorClass.OPENING_TOO_FAST, ErrorClass.CDN_BLOCK}],
)
async def test_no_other_failure_ever_opens_the_breaker(error_class: ErrorClass) -> None:
    world = DmWorld()
    world.out.answer = lambda _: failed(error_class, SendResult.FAILED_PERMANENT)
    for who in range(1, 300):
        world.offer(who)

    await world.run_for(2 * MINUTE)

    assert (world.record.said, world.letter.ends) == ([], {SendResult.FAILED_PERMANENT: 299})


async def test_openings_that_nobody_answers_count_and_trip_it_too() -> None:
    world = DmWorld(DmQueueOptions(open_channels_rate=5.0))
    world.opener.refuses = lambda _: SendError(ErrorClass.OUTAGE, "no answer")
    for who in range(1, 101):
        world.offer(who, known=False)

    await world.run_for(MINUTE)

    assert (len(world.opener.opened), [what for what, _ in world.record.said]) == (50, ["opened"])
    assert (len(world.queue), world.letter.ends.total()) == (50, 50)


async def test_answers_that_come_after_it_opened_count_for_nothing() -> None:
    world = DmWorld(DmQueueOptions(breaker=BreakerOptions(failures=5, open_for=MINUTE)))
    world.out.takes = lambda: 5 * SECOND
    world.out.answer = lambda _: OUTAGE
    for who in range(1, 60):
        world.offer(who)

    await world.run_for(30 * SECOND)
    under_way_when_it_opened = len(world.out.starts)
    world.out.answer = lambda _: SendReport(SendResult.SENT)
    await world.run_for(5 * MINUTE)

    # The fifth answer comes at 5.8 s, before the thirtieth is started.
    assert under_way_when_it_opened == 29
    assert [what for what, _ in world.record.said] == ["opened", "closed"]
    assert world.letter.ends == {SendResult.FAILED_TRANSIENT: 29, SendResult.SENT: 30}


async def test_it_closes_at_its_time_although_another_rest_lasts_longer() -> None:
    world = DmWorld(DmQueueOptions(breaker=BreakerOptions(failures=1)))
    answers = [OUTAGE]
    world.out.answer = lambda _: answers.pop() if answers else SendReport(SendResult.SENT)
    world.offer(1)
    world.offer(2)
    await world.run_for(NOTHING)
    world.out.blocks.paused_until = START + 20 * MINUTE
    resumes_at = world.worker.resumes_at()

    await world.run_for(21 * MINUTE)

    assert resumes_at == START + 20 * MINUTE
    assert world.record.said == [("opened", START), ("closed", START + 5 * MINUTE)]
    assert starts(world) == [START, START + 20 * MINUTE]


async def test_it_closes_at_its_time_although_nothing_waits_that_would_ask() -> None:
    world = DmWorld(DmQueueOptions(breaker=BreakerOptions(failures=1)))
    world.out.answer = lambda _: OUTAGE
    world.offer(1)

    await world.run_for(6 * MINUTE)

    assert world.record.said == [("opened", START), ("closed", START + 5 * MINUTE)]


async def test_what_the_breaker_did_is_written_once_although_several_write_at_the_same_time() -> None:
    world = DmWorld(DmQueueOptions(breaker=BreakerOptions(failures=1)))
    world.out.answer = lambda _: OUTAGE
    writing, go_on = asyncio.Event(), asyncio.Event()
    said: list[str] = []

    async def _slow(*, failures: int, until: dt.datetime, now: dt.datetime) -> None:
        writing.set()
        await go_on.wait()
        said.append("opened")

    world.record.opened = _slow  # type: ignore[method-assign]
    world.offer(1)
    first = asyncio.create_task(world.worker.drain_dm_queue(START))
    await writing.wait()
    second = asyncio.create_task(world.worker.drain_dm_queue(START + SECOND))
    await asyncio.sleep(0)
    go_on.set()
    await asyncio.gather(first, second)
    await world.worker.settle()

    assert said == ["opened"]


async def test_what_the_database_does_not_take_is_written_at_a_next_pass_in_its_order() -> None:
    world = DmWorld(DmQueueOptions(breaker=BreakerOptions(failures=1, open_for=MINUTE)))
    answers = [OUTAGE]
    world.out.answer = lambda _: answers.pop() if answers else SendReport(SendResult.SENT)
    really, fails = world.record.opened, [True, True]

    async def _opened(*, failures: int, until: dt.datetime, now: dt.datetime) -> None:
        if fails:
            fails.pop()
            raise OSError("no database")
        await really(failures=failures, until=until, now=now)

    world.record.opened = _opened  # type: ignore[method-assign]
    world.offer(1)
    world.offer(2)

    await world.run_for(2 * MINUTE)

    assert world.record.said == [("opened", START), ("closed", START + MINUTE)]
    assert world.letter.ends.total() == 2


# ----------------------------------------------------------------------------------------------------------------- end


async def test_a_stop_tells_every_owner_and_leaves_nothing() -> None:
    world = DmWorld()
    world.out.takes = lambda: MINUTE
    for who in range(1, 21):
        world.offer(who, known=who % 2 == 0)
    await world.run_for(SECOND)
    under_way = world.out.in_hand

    await world.worker.stop()
    await world.worker.stop()

    assert under_way == 6
    assert world.letter.ends == {SendResult.UNKNOWN: 6, JobEnd.LOST_ON_RESTART: 14}
    assert (len(world.queue), world.worker.in_flight) == (0, 0)
    assert world.worker.ended == world.letter.ends
    world.check()


# -------------------------------------------------------------------------------------------------------------- status


async def test_the_status_names_what_waits_and_the_failures_of_one_guild_alone() -> None:
    world = DmWorld()
    world.out.answer = lambda _: failed(ErrorClass.RECIPIENT_UNREACHABLE, SendResult.FAILED_PERMANENT)
    world.offer(1)
    await world.run_for(NOTHING)
    world.offer(2)
    world.offer(3, kind=JobKind.REMINDER)

    status = status_of(world.worker, guild_id=GUILD)
    other = status_of(world.worker, guild_id=OTHER_GUILD)

    assert (status.waiting, status.oldest, status.resumes_at) == (
        {JobKind.APPROVAL: 1, JobKind.REMINDER: 1},
        START,
        None,
    )
    assert [one.recipient_id for one in status.failures] == [1]
    assert (other.waiting, list(other.failures)) == (status.waiting, [])
    assert "2 direct messages wait (approval 1, reminder 1)" in status_text(status)
