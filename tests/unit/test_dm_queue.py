"""The jobs that wait: their order, their bound, and that none is lost or doubled whatever is done with them."""

import datetime as dt
from collections import Counter
from collections.abc import Callable

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from bot.dm_queue.job import FAN_OUTS, DmJob, JobKind
from bot.dm_queue.queue import DmQueue
from bot.leases.keys import MessageKey
from tests.builders import GUILD
from tests.conftest import START
from tests.dm_world import Letter

LETTER = Letter()
KINDS = sorted(JobKind)


def a_job(number: int, recipient: int | None = None, kind: JobKind = JobKind.APPROVAL) -> DmJob:
    """A job that is told apart by its number; to a person of that number where no other is named."""
    who = number if recipient is None else recipient
    return DmJob(kind, MessageKey("approval_dm", number, who), GUILD, who, LETTER, START)


def nobody_knows(number: int) -> DmJob:
    """A job for somebody whose account the bot does not know."""
    return DmJob(JobKind.APPROVAL, MessageKey("approval_dm", number), GUILD, None, LETTER, START)


def numbers(jobs: object) -> list[int]:
    assert hasattr(jobs, "__iter__")
    return [job.key.source_id for job in jobs]


def filled(*jobs: DmJob, open_to: Callable[[int], bool] = lambda _: True, max_depth: int = 100) -> DmQueue:
    """A queue in which these jobs were offered and sorted."""
    queue = DmQueue(max_depth=max_depth)
    for job in jobs:
        assert queue.offer(job)
    queue.sort(queue.arrived(len(jobs)), is_open=open_to)
    return queue


def taken(queue: DmQueue) -> list[int]:
    """Take everything that may be sent."""
    found = []
    while queue.has_ready:
        found.append(queue.take())
    return numbers(found)


# -------------------------------------------------------------------------------------------------------------- order


def test_first_in_is_first_out() -> None:
    queue = filled(*(a_job(number) for number in range(20)))

    assert taken(queue) == list(range(20))


def test_nothing_may_be_sent_before_it_is_known_whether_its_channel_is_open() -> None:
    queue = DmQueue()
    queue.offer(a_job(1))

    assert (queue.has_ready, len(queue), numbers(queue.arrived(9))) == (False, 1, [1])
    with pytest.raises(IndexError):
        queue.take()


def test_who_waits_for_a_channel_holds_nobody_up_and_goes_first_once_it_is_open() -> None:
    queue = filled(*(a_job(number) for number in range(6)), open_to=lambda who: who not in {0, 2})
    first = queue.take()
    queue.opened(2)

    assert numbers([first]) == [1]
    assert taken(queue) == [2, 3, 4, 5]
    assert (len(queue), numbers(queue.waiting_for(0))) == (1, [0])


def test_two_jobs_to_one_new_person_go_out_in_their_order_and_open_one_channel() -> None:
    queue = filled(a_job(1, 7), a_job(2, 8), a_job(3, 7), open_to=lambda who: who == 8)

    assert queue.unopened(besides=()) == 7
    assert queue.unopened(besides={7}) is None
    queue.opened(7)

    assert taken(queue) == [1, 3, 2]


def test_a_job_does_not_overtake_an_older_one_to_the_same_person() -> None:
    queue = filled(a_job(1, 7), open_to=lambda _: False)
    # Meanwhile the channel was opened, but the first job was not let go yet.
    queue.offer(a_job(2, 7))
    queue.sort(queue.arrived(9), is_open=lambda _: True)

    assert (queue.has_ready, numbers(queue.waiting_for(7))) == (False, [1, 2])


def test_a_job_without_a_recipient_needs_no_channel() -> None:
    queue = filled(nobody_knows(1), open_to=lambda _: False)

    assert taken(queue) == [1]


def test_channels_are_asked_for_in_the_order_of_the_jobs() -> None:
    queue = filled(*(a_job(number) for number in (5, 3, 9)), open_to=lambda _: False)

    asked: list[int] = []
    while (who := queue.unopened(besides=asked)) is not None:
        asked.append(who)

    assert asked == [5, 3, 9]


def test_what_is_put_back_goes_first() -> None:
    queue = filled(*(a_job(number) for number in range(4)))
    job = queue.take()
    queue.put_back(job)

    assert taken(queue) == [0, 1, 2, 3]


def test_whose_channel_has_to_be_opened_again_is_asked_for_first() -> None:
    queue = filled(a_job(1, 7), a_job(2, 8), a_job(3, 7), open_to=lambda who: who == 7)
    queue.open_again(queue.take())

    assert queue.unopened(besides=()) == 7
    queue.open_again(queue.take())
    assert numbers(queue.waiting_for(7)) == [3, 1]


def test_jobs_whose_channel_cannot_be_opened_are_taken_one_by_one() -> None:
    queue = filled(a_job(1, 7), a_job(2, 8), a_job(3, 7), open_to=lambda _: False)

    found = [queue.take_unopened(7) for _ in range(3)]

    assert [job and job.key.source_id for job in found] == [1, 3, None]
    assert (queue.unopened(besides=()), len(queue)) == (8, 1)
    assert queue.take_unopened(404) is None


def test_only_as_many_are_sorted_at_once_as_are_asked_for() -> None:
    queue = DmQueue()
    for number in range(5):
        queue.offer(a_job(number))

    queue.sort(queue.arrived(3), is_open=lambda _: True)

    assert numbers(queue.arrived(9)) == [3, 4]
    assert taken(queue) == [0, 1, 2]


def test_a_job_removed_between_being_read_and_being_sorted_stays_removed() -> None:
    queue = DmQueue()
    for number in range(4):
        queue.offer(a_job(number))
    read = queue.arrived(3)

    removed = queue.remove(lambda job: job.key.source_id in {0, 2})
    queue.sort(read, is_open=lambda _: True)

    assert numbers(removed) == [0, 2]
    assert (taken(queue), numbers(queue.arrived(9))) == ([1], [3])


def test_removing_reaches_everywhere_and_tells_whom_in_order() -> None:
    queue = filled(*(a_job(number) for number in range(6)), open_to=lambda who: who % 2 == 0)
    queue.offer(a_job(6))

    removed = queue.remove(lambda job: job.key.source_id in {1, 2, 3, 6})

    assert numbers(removed) == [2, 1, 3, 6]
    assert (numbers(queue), len(queue)) == ([0, 4, 5], 3)
    assert queue.unopened(besides=()) == 5


def test_everything_that_waits_is_listed_in_the_order_in_which_it_would_be_sent() -> None:
    queue = filled(*(a_job(number) for number in range(4)), open_to=lambda who: who % 2 == 0)
    queue.offer(a_job(9))

    assert numbers(queue) == [0, 2, 1, 3, 9]


# -------------------------------------------------------------------------------------------------------------- bound


def test_the_ten_thousand_and_first_is_refused_in_the_same_call() -> None:
    woken: list[int] = []
    queue = DmQueue(on_offer=lambda: woken.append(1))

    answers = [queue.offer(a_job(number)) for number in range(10_001)]

    assert (answers[:10_000], answers[10_000:]) == ([True] * 10_000, [False])
    assert (len(queue), queue.waiting()) == (10_000, {JobKind.APPROVAL: 10_000})
    assert len(woken) == 10_000


def test_room_that_was_made_is_there_for_the_next() -> None:
    queue = filled(a_job(1), a_job(2), max_depth=2)
    refused = queue.offer(a_job(3))
    queue.take()

    assert (refused, queue.offer(a_job(3)), queue.offer(a_job(4))) == (False, True, False)


def test_fan_outs_fill_at_most_half_of_it_all_kinds_of_them_together() -> None:
    queue = DmQueue(max_depth=10)
    kinds = sorted(FAN_OUTS)

    answers = [queue.offer(a_job(number, kind=kinds[number % 3])) for number in range(6)]
    others = [queue.offer(a_job(10 + number)) for number in range(6)]

    assert answers == [True] * 5 + [False]
    assert others == [True] * 5 + [False]
    assert sum(queue.waiting().values()) == 10


def test_a_single_message_is_no_fan_out() -> None:
    assert JobKind.REMINDER in FAN_OUTS
    assert {JobKind.APPROVAL, JobKind.RETRY, JobKind.WAITLIST}.isdisjoint(FAN_OUTS)


def test_what_was_accepted_once_is_put_back_even_where_the_queue_is_full() -> None:
    queue = filled(a_job(1), max_depth=1)
    job = queue.take()
    queue.offer(a_job(2))

    queue.put_back(job)

    assert (len(queue), queue.offer(a_job(3))) == (2, False)


# ------------------------------------------------------------------------------------------------- against plain lists


class PlainQueue:
    """
    The queue as plain lists, with nothing clever in it.

    ``turns``: who waits for their channel; a person keeps their turn for as long as anything waits for them.
    """

    def __init__(self, depth: int) -> None:
        self.depth = depth
        self.arrived: list[DmJob] = []
        self.ready: list[DmJob] = []
        self.unopened: list[DmJob] = []
        self.turns: list[int] = []

    @property
    def everything(self) -> list[DmJob]:
        return [*self.ready, *(job for who in self.asked_for() for job in self.of(who)), *self.arrived]

    def asked_for(self) -> list[int]:
        self.turns = [who for who in self.turns if self.of(who)]
        return list(self.turns)

    def of(self, who: int | None) -> list[DmJob]:
        return [job for job in self.unopened if job.recipient_id == who]

    def offer(self, job: DmJob) -> bool:
        broadcast = sum(1 for one in self.everything if one.kind in FAN_OUTS)
        if len(self.everything) >= self.depth or (job.kind in FAN_OUTS and broadcast >= self.depth // 2):
            return False
        self.arrived.append(job)
        return True

    def sort(self, most: int, open_to: set[int]) -> None:
        for _ in range(min(most, len(self.arrived))):
            job = self.arrived.pop(0)
            who = job.recipient_id
            if who is None or (who in open_to and not self.of(who)):
                self.ready.append(job)
            else:
                self.turns = [*self.asked_for(), *([] if self.of(who) else [who])]
                self.unopened.append(job)

    def let_go(self, who: int) -> None:
        self.ready = [*self.of(who), *self.ready]
        self.unopened = [job for job in self.unopened if job.recipient_id != who]


PEOPLE = st.none() | st.integers(1, 5)


class QueueStory(RuleBasedStateMachine):
    """Whatever is done with it, in any order, it holds what the plain lists hold."""

    depth = 8

    def __init__(self) -> None:
        super().__init__()
        self.queue, self.plain = DmQueue(max_depth=self.depth), PlainQueue(self.depth)
        self.held: list[DmJob] = []
        self.counts: Counter[str] = Counter()

    @rule(who=PEOPLE, kind=st.sampled_from(KINDS))
    def offer(self, who: int | None, kind: JobKind) -> None:
        number = sum(self.counts.values())
        job = DmJob(kind, MessageKey("approval_dm", number, who or 0), GUILD, who, LETTER, START)
        expected = self.plain.offer(job)
        assert self.queue.offer(job) is expected
        self.counts["taken" if expected else "refused"] += 1

    @rule(most=st.integers(0, 5), open_to=st.sets(st.integers(1, 5)))
    def sort(self, most: int, open_to: set[int]) -> None:
        self.queue.sort(self.queue.arrived(most), is_open=lambda who: who in open_to)
        self.plain.sort(most, open_to)

    @precondition(lambda self: self.plain.ready)
    @rule()
    def take(self) -> None:
        job = self.queue.take()
        assert job is self.plain.ready.pop(0)
        self.held.append(job)

    @precondition(lambda self: self.held)
    @rule(which=st.integers(0), again=st.sampled_from(["put back", "open again", "ended"]))
    def give_up(self, which: int, again: str) -> None:
        job = self.held.pop(which % len(self.held))
        if again == "put back":
            self.queue.put_back(job)
            self.plain.ready.insert(0, job)
        elif again == "open again" and job.recipient_id is not None:
            self.queue.open_again(job)
            self.plain.unopened.insert(0, job)
            self.plain.turns = [job.recipient_id or 0, *(who for who in self.plain.turns if who != job.recipient_id)]
        else:
            self.counts["ended"] += 1

    @rule(who=st.integers(1, 5))
    def opened(self, who: int) -> None:
        self.queue.opened(who)
        self.plain.let_go(who)

    @rule(who=st.integers(1, 5))
    def not_opened(self, who: int) -> None:
        job = self.queue.take_unopened(who)
        known = self.plain.of(who)
        assert job is (known[0] if known else None)
        if job is not None:
            self.plain.unopened.remove(job)
            self.held.append(job)

    @rule(kinds=st.sets(st.sampled_from(KINDS), max_size=3))
    def remove(self, kinds: set[JobKind]) -> None:
        unwanted = [job for job in self.plain.everything if job.kind in kinds]
        assert self.queue.remove(lambda job: job.kind in kinds) == unwanted
        for rest in (self.plain.arrived, self.plain.ready, self.plain.unopened):
            rest[:] = [job for job in rest if job.kind not in kinds]
        self.counts["removed"] += len(unwanted)

    @invariant()
    def it_holds_what_the_plain_lists_hold(self) -> None:
        waiting = self.plain.everything
        assert list(self.queue) == waiting
        assert len(self.queue) == len(waiting)
        assert self.queue.waiting() == Counter(job.kind for job in waiting)
        assert self.queue.has_ready is bool(self.plain.ready)
        asked = self.plain.asked_for()
        assert self.queue.unopened(besides=()) == (asked[0] if asked else None)
        assert [self.queue.waiting_for(who) for who in range(1, 6)] == [self.plain.of(who) for who in range(1, 6)]

    @invariant()
    def everything_that_was_taken_in_is_somewhere(self) -> None:
        waiting = len(self.queue)
        assert self.counts["taken"] == waiting + len(self.held) + self.counts["ended"] + self.counts["removed"]


TestQueueStory = QueueStory.TestCase
TestQueueStory.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)


def test_a_job_keeps_what_its_owner_must_know() -> None:
    until = START + dt.timedelta(hours=1)

    job = DmJob(JobKind.RETRY, MessageKey("approval_dm", 1, 7), GUILD, 7, LETTER, START, not_after=until, asked_by=9)

    assert (job.queued_at, job.not_after, job.asked_by) == (START, until, 9)
