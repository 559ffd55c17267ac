"""The DM queue on its tables: channels that stay open, a breaker that is written down, and stops that lose nothing."""

import asyncio
import contextlib
import datetime as dt
import random
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator

import pytest
import structlog
from structlog.typing import EventDict, WrappedLogger
from tortoise.exceptions import OperationalError

from bot import audit
from bot.bootstrap import ServiceOptions
from bot.clock import ManualClock
from bot.dm_queue import breaker_record, channel_book
from bot.dm_queue.circuit_breaker import BreakerOptions
from bot.dm_queue.job import DmJob, JobEnd, JobKind
from bot.dm_queue.status import status_of, status_text
from bot.dm_queue.worker import DmQueueOptions
from bot.leases import ledger
from bot.leases.failures import ErrorClass, SendError
from bot.leases.keys import MessageKey
from bot.leases.reports import SendReport, SendResult, WithdrawnError
from bot.message.outgoing import OutgoingMessage
from bot.process_state import recall
from bot.scheduling.bodies import CHECK_EVENT_REMINDERS, DRAIN_DM_QUEUE
from models.audit_log import AuditLog
from models.discord_message_log import DiscordMessageLog
from models.dm_channel import DmChannel
from models.ops_note import OpsNote
from tests.builders import (
    GUILD,
    HOUR,
    MINUTE,
    OPS_CHANNEL,
    SECOND,
    FakeDiscord,
    Process,
    dm_channel,
    log_rows,
    make_event,
    make_guild,
    process,
    refused,
)
from tests.conftest import START

NOW = START
INTERVAL = SECOND / 5
MILLISECOND = dt.timedelta(milliseconds=1)
SOURCE = "approval_dm"
OUTAGE = refused(ErrorClass.OUTAGE)


@pytest.fixture
def discord(clock: ManualClock) -> FakeDiscord:
    return FakeDiscord(clock)


class Letter:
    """One wording for many; remembers how its jobs ended."""

    def __init__(self, text: str = "You are in!") -> None:
        self.text = text
        self.ends: list[tuple[int, SendResult | JobEnd]] = []
        self.withdrawn: set[int] = set()

    async def render(self, recipient_id: int) -> OutgoingMessage:
        if recipient_id in self.withdrawn:
            raise WithdrawnError
        return OutgoingMessage(marker=f"approval #{recipient_id}", content=f"{self.text}\napproval #{recipient_id}")

    def ended(self, job: DmJob, report: SendReport | JobEnd) -> None:
        self.ends.append((job.key.source_id, report if isinstance(report, JobEnd) else report.result))

    @property
    def counts(self) -> Counter[SendResult | JobEnd]:
        return Counter(end for _, end in self.ends)


def options(**changes: object) -> ServiceOptions:
    """The figures of the file, with some of the queue's changed."""
    return ServiceOptions(dm_queue=DmQueueOptions(**changes))  # type: ignore[arg-type]


def offer(bot: Process, letter: Letter, who: int | None, *, number: int | None = None) -> None:
    """Queue an approval for one person."""
    key = MessageKey(SOURCE, who or 0 if number is None else number, who or 0)
    assert bot.services.dms.queue.offer(DmJob(JobKind.APPROVAL, key, GUILD, who, letter, bot._clock.now()))


async def know(*people: int) -> None:
    """Store that the DM channels of these people were opened before."""
    await DmChannel.bulk_create([DmChannel(user_id=who, channel_id=dm_channel(who), opened_at=NOW) for who in people])


async def audited() -> list[tuple[str, int | None, object]]:
    """The breaker's rows of the audit: what, of which guild, and what was noted."""
    rows = await AuditLog.filter(action__startswith="dm.").order_by("id")
    return [(row.action, row.guild_id, row.after) for row in rows]


class SlowAnswers:
    """Lets each answer of Discord take its time by the test's own clock, and moves that clock from moment to moment."""

    def __init__(
        self, bot: Process, discord: FakeDiscord, clock: ManualClock, takes: Callable[[], dt.timedelta]
    ) -> None:
        self.most_under_way = 0
        self._bot, self._clock, self._takes = bot, clock, takes
        self._pending: list[tuple[dt.datetime, asyncio.Future[None]]] = []
        discord.before_send = self._wait

    async def _wait(self, message: OutgoingMessage) -> None:
        answered = asyncio.get_running_loop().create_future()
        self._pending.append((self._clock.now() + self._takes(), answered))
        await answered

    async def run_until(self, end: dt.datetime) -> None:
        """Go on up to ``end`` inclusive, without waiting for what is under way."""
        while True:
            await self._answer()
            await self._run_due()
            upcoming = [self._bot.next(DRAIN_DM_QUEUE), *(moment for moment, _ in self._pending)]
            moments = [moment for moment in upcoming if moment is not None]
            if not moments or min(moments) > end:
                break
            self._clock.set(max(min(moments), self._clock.now()))
        self._clock.set(end)

    async def _answer(self) -> None:
        for moment, answered in sorted(self._pending, key=lambda one: one[0]):
            if moment <= self._clock.now():
                answered.set_result(None)
                await self._quiet()
        self._pending = [one for one in self._pending if not one[1].done()]

    async def _run_due(self) -> None:
        services = self._bot.services
        while (at := self._bot.next(DRAIN_DM_QUEUE)) is not None and at <= self._clock.now():
            await services.agenda.run(services.body(DRAIN_DM_QUEUE), self._clock.now())
            await self._quiet()

    async def _quiet(self) -> None:
        """Give whatever waits for the database its turns, until all that is under way waits for Discord."""
        # A thread or a server works meanwhile: this waits for their answer, not for a time.
        while self._bot.services.dms.in_flight > sum(not done.done() for _, done in self._pending):  # noqa: ASYNC110
            await asyncio.sleep(0.0005)
        self.most_under_way = max(self.most_under_way, self._bot.services.dms.in_flight)


# --------------------------------------------------------------------------------------------------------------- pace


async def test_the_rate_is_kept_with_slow_answers(database: str, clock: ManualClock, discord: FakeDiscord) -> None:
    people = range(1, 120)
    await know(*people)
    bot, letter, chance = await process(discord, clock), Letter(), random.Random(11)
    for who in people:
        offer(bot, letter, who)

    await SlowAnswers(bot, discord, clock, lambda: chance.randint(60, 900) * MILLISECOND).run_until(NOW + 20 * SECOND)

    assert [at for at, _ in discord.attempts] == [NOW + turn * INTERVAL for turn in range(101)]
    assert [channel for _, channel in discord.attempts] == [dm_channel(who) for who in range(1, 102)]


async def test_at_most_32_are_under_way(database: str, clock: ManualClock, discord: FakeDiscord) -> None:
    people = range(1, 50)
    await know(*people)
    bot, letter = await process(discord, clock, options=options(drain_rate=20.0)), Letter()
    for who in people:
        offer(bot, letter, who)
    slow = SlowAnswers(bot, discord, clock, lambda: 4 * SECOND)

    await slow.run_until(NOW + 3 * SECOND)
    first = len(discord.attempts)
    await slow.run_until(NOW + 10 * SECOND)

    assert (first, slow.most_under_way) == (32, 32)
    assert letter.counts == {SendResult.SENT: 49}


# ------------------------------------------------------------------------------------------------------------ channels


async def test_channels_are_opened_one_a_second_and_kept_for_the_next_process(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    await know(101, 102)
    bot, letter = await process(discord, clock), Letter()
    for who in (1, 101, 2, 102, 3):
        offer(bot, letter, who)
    await bot.run_until(NOW + 10 * SECOND)
    opened, stored = list(discord.opened), await DmChannel.all().order_by("user_id")
    await bot.services.leave()

    again = await process(discord, clock)
    for who in (1, 2, 3, 101):
        offer(again, letter, who, number=1_000 + who)
    await again.run_until(NOW + 20 * SECOND)

    assert opened == [(NOW + turn * SECOND, 1 + turn) for turn in range(3)]
    assert [(row.user_id, row.channel_id) for row in stored] == [(who, dm_channel(who)) for who in (1, 2, 3, 101, 102)]
    assert discord.opened == opened
    assert letter.counts == {SendResult.SENT: 9}
    # Who needed no new channel waited for nobody's.
    assert next(at for at, channel in discord.attempts if channel == dm_channel(102)) - NOW <= 3 * INTERVAL


async def test_two_jobs_to_one_new_person_open_one_channel(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    bot, letter = await process(discord, clock), Letter()
    offer(bot, letter, 1, number=1)
    offer(bot, letter, 1, number=2)

    await bot.run_until(NOW + 5 * SECOND)

    assert [who for _, who in discord.opened] == [1]
    assert letter.ends == [(1, SendResult.SENT), (2, SendResult.SENT)]


async def test_two_processes_that_open_one_persons_channel_keep_one_row(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    letter = Letter()
    bots = [await process(discord, clock, name=name) for name in ("one", "two")]
    for number, bot in enumerate(bots):
        offer(bot, letter, 1, number=number)

    await asyncio.gather(*(bot.run(DRAIN_DM_QUEUE) for bot in bots))
    for bot in bots:
        await bot.run_until(clock.now() + SECOND)

    assert [(row.user_id, row.channel_id) for row in await DmChannel.all()] == [(1, dm_channel(1))]
    assert letter.counts == {SendResult.SENT: 2}


async def test_of_more_channels_than_are_kept_in_memory_those_asked_for_are_read_again(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(channel_book, "_MOST_IN_MEMORY", 2)
    await know(1, 2, 3)
    book = channel_book.DmChannelBook()

    await book.load([1, 2, 3])
    # Which of the three was read first, and so is not kept, is the database's own affair.
    (forgotten,) = {1, 2, 3} - set(book._known)
    await book.load([forgotten, 404])

    assert len(book._known) == 2
    assert (book.channel_of(forgotten), book.channel_of(404)) == (dm_channel(forgotten), None)


async def test_a_channel_that_is_gone_is_opened_anew_for_the_next(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    await know(1)
    bot, letter = await process(discord, clock), Letter()
    discord.next_sends = [refused(ErrorClass.GONE)]
    offer(bot, letter, 1, number=1)
    await bot.run_until(NOW + SECOND)
    stored = await DmChannel.all().count()
    offer(bot, letter, 1, number=2)
    await bot.run_until(NOW + 5 * SECOND)

    assert (stored, len(discord.opened)) == (0, 1)
    assert letter.ends == [(1, SendResult.FAILED_PERMANENT), (2, SendResult.SENT)]
    assert await DmChannel.all().count() == 1


async def test_a_channel_that_the_database_does_not_keep_is_known_until_the_restart(
    database: str, clock: ManualClock, discord: FakeDiscord, monkeypatch: pytest.MonkeyPatch
) -> None:
    bot, letter = await process(discord, clock), Letter()
    really = bot.services.dms._book.opened

    async def _full(*args: object, **kwargs: object) -> None:
        monkeypatch.setattr("bot.dm_queue.channel_book.fetch", _raising(OperationalError("disk full")))
        try:
            await really(*args, **kwargs)  # type: ignore[arg-type]
        finally:
            monkeypatch.undo()

    monkeypatch.setattr(bot.services.dms._book, "opened", _full)
    for number in (1, 2):
        offer(bot, letter, 1, number=number)

    await bot.run_until(NOW + 5 * SECOND)

    assert (letter.counts, len(discord.opened)) == ({SendResult.SENT: 2}, 1)
    assert await DmChannel.all().count() == 0


def _raising(error: BaseException) -> Callable[..., Awaitable[object]]:
    async def _raise(*args: object, **kwargs: object) -> object:
        raise error

    return _raise


# --------------------------------------------------------------------------------------------------------- the breaker


@pytest.mark.parametrize("arrived", [True, False], ids=["nobody knows", "refused"])
async def test_exactly_the_fiftieth_outage_opens_the_breaker_and_its_time_alone_closes_it(
    database: str, clock: ManualClock, discord: FakeDiscord, arrived: bool
) -> None:
    people = range(1, 61)
    await know(*people)
    bot, letter = await process(discord, clock), Letter()
    for who in people:
        offer(bot, letter, who)
    discord.next_sends = [refused(ErrorClass.OUTAGE, arrived=arrived) for _ in range(50)]

    await bot.run_until(NOW + 49 * INTERVAL - MILLISECOND)
    before = await audited()
    await bot.run_until(NOW + 49 * INTERVAL)
    opened_at = clock.now()
    # Nobody asks, nothing is offered.
    await bot.run_until(opened_at + 5 * MINUTE - MILLISECOND)
    at_rest = (len(discord.attempts), len(bot.services.dms.queue), await audited())
    await bot.run_until(opened_at + 6 * MINUTE)

    until = (opened_at + 5 * MINUTE).isoformat()
    opening = ("dm.circuit_opened", None, {"failures": 50, "until": until})
    assert before == []
    assert at_rest == (50, 10, [opening])
    assert await audited() == [opening, ("dm.circuit_closed", None, None)]
    closing = await AuditLog.filter(action="dm.circuit_closed").get()
    assert (closing.created_at, closing.actor_user_id) == (opened_at + 5 * MINUTE, None)
    result = SendResult.UNKNOWN if arrived else SendResult.FAILED_TRANSIENT
    assert letter.counts == {result: 50, SendResult.SENT: 10}


async def test_people_who_take_no_dms_never_open_it(database: str, clock: ManualClock, discord: FakeDiscord) -> None:
    people = range(1, 61)
    await know(*people)
    discord.closed_dms.update(people)
    bot, letter = await process(discord, clock, options=options(drain_rate=20.0)), Letter()
    for who in people:
        offer(bot, letter, who)

    await bot.run_until(NOW + 10 * SECOND)

    assert (letter.counts, await audited()) == ({SendResult.FAILED_PERMANENT: 60}, [])


async def opened_breaker(discord: FakeDiscord, clock: ManualClock, letter: Letter) -> Process:
    """A process whose breaker is open, with two jobs that wait."""
    await know(1, 2, 3)
    bot = await process(discord, clock, options=options(breaker=BreakerOptions(failures=1)))
    discord.next_sends = [OUTAGE]
    for who in (1, 2, 3):
        offer(bot, letter, who)
    await bot.tick()
    return bot


async def test_a_restart_while_it_is_open_writes_the_missing_close_once(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    bot = await opened_breaker(discord, clock, Letter())
    await bot.crash()
    clock.advance(MINUTE)

    other = await process(discord, clock, name="another")
    not_its_own = await audited()
    restarted = [await process(discord, clock) for _ in range(3)]
    await other.run_until(clock.now() + 10 * MINUTE)

    assert [what for what, _, _ in not_its_own] == ["dm.circuit_opened"]
    assert [what for what, _, _ in await audited()] == ["dm.circuit_opened", "dm.circuit_closed"]
    assert (await AuditLog.filter(action="dm.circuit_closed").get()).created_at == NOW + MINUTE
    assert restarted[0].services.dms.breaker.open_until is None


async def test_one_that_closed_before_the_restart_is_not_closed_again(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    bot = await opened_breaker(discord, clock, Letter())
    await bot.run_until(NOW + 6 * MINUTE)

    await bot.services.leave()
    await process(discord, clock)

    assert [what for what, _, _ in await audited()] == ["dm.circuit_opened", "dm.circuit_closed"]
    assert await recall("dm_breaker:one") == {"until": None}


@pytest.mark.parametrize("failing", [breaker_record.OPENED, breaker_record.CLOSED])
async def test_what_it_did_is_written_although_the_database_failed_at_that_moment(
    database: str, clock: ManualClock, discord: FakeDiscord, monkeypatch: pytest.MonkeyPatch, failing: str
) -> None:
    really, failures = audit.record, [1, 2]

    async def _fails(action: str, **fields: object) -> None:
        if action == failing and failures:
            failures.pop()
            raise OperationalError("disk full")
        await really(action, **fields)  # type: ignore[arg-type]

    monkeypatch.setattr(audit, "record", _fails)
    letter = Letter()
    bot = await opened_breaker(discord, clock, letter)

    await bot.run_until(NOW + 5 * MINUTE)
    for _ in range(3):
        await bot.run(DRAIN_DM_QUEUE)
    await bot.run_until(NOW + 6 * MINUTE)

    assert failures == []
    assert [what for what, _, _ in await audited()] == ["dm.circuit_opened", "dm.circuit_closed"]
    assert (await recall("dm_breaker:one"), letter.counts[SendResult.SENT]) == ({"until": None}, 2)


# --------------------------------------------------------------------------------------------- what Discord asks for


@pytest.mark.parametrize("where", ["at the opening", "at the message"])
async def test_channels_opened_too_fast_let_all_dms_rest_and_mark_nobody(
    database: str, clock: ManualClock, discord: FakeDiscord, where: str
) -> None:
    await make_guild()
    flagged = [refused(ErrorClass.OPENING_TOO_FAST)]
    if where == "at the opening":
        discord.next_openings = list(flagged)
    else:
        await know(1)
        discord.next_sends = list(flagged)
    bot, letter = await process(discord, clock), Letter()
    offer(bot, letter, 1)
    await bot.tick()
    await know(*([2, 3] if where == "at the message" else [1, 2, 3]))
    offer(bot, letter, 2)
    offer(bot, letter, 3)

    await bot.run_until(NOW + 5 * MINUTE - MILLISECOND)
    dms = [who for at, who in discord.attempts if who != OPS_CHANNEL]
    resting = (len(discord.opened) + len(dms), list(letter.ends), await log_rows(SOURCE))
    await bot.run_until(NOW + 6 * MINUTE)

    assert resting == (1, [], [])
    assert sorted(letter.ends) == [(1, SendResult.SENT), (2, SendResult.SENT), (3, SendResult.SENT)]
    assert [row.success for row in await log_rows(SOURCE)] == [True] * 3
    (note,) = discord.in_channel(OPS_CHANNEL)
    assert note.message.embed is not None
    assert "too fast" in note.message.embed.description
    assert f"<t:{int((NOW + 5 * MINUTE).timestamp())}:F>" in note.message.embed.description


async def test_a_flag_that_lasts_is_told_once_a_day_and_not_at_each_rest(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    await make_guild()
    await know(1)
    discord.next_sends = [refused(ErrorClass.OPENING_TOO_FAST)] * 3
    bot, letter = await process(discord, clock), Letter()

    async def _let_the_note_through(message: OutgoingMessage) -> None:
        if discord.attempts[-1][1] == OPS_CHANNEL:
            discord.next_sends.insert(0, None)

    discord.before_send = _let_the_note_through
    offer(bot, letter, 1)
    await bot.run_until(NOW + HOUR)
    first = len(discord.in_channel(OPS_CHANNEL))
    clock.set(NOW + 25 * HOUR)
    discord.next_sends = [refused(ErrorClass.OPENING_TOO_FAST)]
    offer(bot, letter, 1, number=2)
    await bot.run_until(NOW + 26 * HOUR)

    assert letter.counts == {SendResult.SENT: 2}
    assert (first, len(discord.in_channel(OPS_CHANNEL))) == (1, 2)


async def test_the_note_on_it_is_written_although_the_database_failed_at_that_moment(
    database: str, clock: ManualClock, discord: FakeDiscord, monkeypatch: pytest.MonkeyPatch
) -> None:
    await make_guild()
    await know(1)
    discord.next_sends = [refused(ErrorClass.OPENING_TOO_FAST)]
    bot, letter = await process(discord, clock), Letter()
    monkeypatch.setattr("bot.dm_queue.too_fast.raise_fault", _raising(OperationalError("disk full")))
    offer(bot, letter, 1)
    await bot.tick()
    monkeypatch.undo()

    await bot.run_until(NOW + 6 * MINUTE)

    assert letter.ends == [(1, SendResult.SENT)]
    assert len(discord.in_channel(OPS_CHANNEL)) == 1


async def test_all_rest_although_the_untried_row_could_not_be_released(
    database: str, clock: ManualClock, discord: FakeDiscord, monkeypatch: pytest.MonkeyPatch
) -> None:
    await know(1, 2)
    discord.next_sends = [refused(ErrorClass.OPENING_TOO_FAST)]
    bot, letter = await process(discord, clock), Letter()
    monkeypatch.setattr(ledger, "delete_held", _raising(OperationalError("disk full")))
    offer(bot, letter, 1)
    offer(bot, letter, 2)
    await bot.tick()
    monkeypatch.undo()

    await bot.run_until(NOW + 5 * MINUTE - MILLISECOND)
    resting = len(discord.attempts)
    await bot.run_until(NOW + 6 * MINUTE)

    # The sweep looked the first up after its minute and handed it back to its sender, who goes on under that row.
    assert resting == 1
    assert letter.ends == [(1, SendResult.SENT), (2, SendResult.SENT)]
    assert [row.success for row in await log_rows(SOURCE)] == [True, True]


async def test_a_429_is_waited_for_and_is_no_failure_of_discord(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    await know(1, 2)
    told = SendError(ErrorClass.RATE_LIMITED, "429", retry_after=95 * SECOND)
    discord.next_sends = [told]
    bot, letter = await process(discord, clock), Letter()
    offer(bot, letter, 1)
    offer(bot, letter, 2)

    await bot.run_until(NOW + 10 * SECOND)

    first, _ = await log_rows(SOURCE)
    assert (first.error_class, first.next_attempt_at) == ("rate_limited", NOW + 95 * SECOND)
    assert letter.ends == [(1, SendResult.FAILED_TRANSIENT), (2, SendResult.SENT)]
    assert bot.services.dms.breaker.failures == 0


@pytest.mark.parametrize("where", ["at the opening", "at the message"])
async def test_a_block_on_the_way_pauses_everything_posts_too(
    database: str, clock: ManualClock, discord: FakeDiscord, where: str
) -> None:
    await make_guild()
    blocked = [refused(ErrorClass.CDN_BLOCK)]
    if where == "at the opening":
        discord.next_openings = list(blocked)
    else:
        await know(1)
        discord.next_sends = list(blocked)
    bot, letter = await process(discord, clock), Letter()
    offer(bot, letter, 1)
    offer(bot, letter, 2)
    await bot.tick()
    await make_event(now=clock.now())

    for minute in range(10):
        clock.set(NOW + minute * MINUTE + SECOND)
        bot.services.wake_all(clock.now())
        await bot.tick()
    asked_at = {at for at, _ in discord.attempts} | {at for at, _ in discord.opened}
    bot.services.wake_all(NOW + 10 * MINUTE)
    await bot.run_until(NOW + 11 * MINUTE)

    assert asked_at == {NOW}
    # What was tried has its own wait; a later one goes out, and the post with it.
    expected = {(2, SendResult.SENT)} | ({(1, SendResult.SENT)} if where == "at the opening" else set())
    assert expected <= set(letter.ends)
    assert len(discord.in_channel()) == 1


@pytest.mark.parametrize("where", ["at the opening", "at the message"])
async def test_a_refused_token_stops_the_process_and_nothing_more_is_asked(
    database: str, clock: ManualClock, discord: FakeDiscord, where: str
) -> None:
    await make_guild()
    await make_event(now=NOW, starts_in=dt.timedelta(hours=24) + MINUTE)
    if where == "at the opening":
        discord.next_openings = [refused(ErrorClass.UNAUTHORIZED)] * 50
    else:
        await know(*range(1, 11))
        discord.next_sends = [refused(ErrorClass.UNAUTHORIZED)] * 50
    bot, letter = await process(discord, clock), Letter()
    for who in range(1, 11):
        offer(bot, letter, who)

    await bot.run_until(NOW + 2 * MINUTE)

    assert len(discord.attempts) + len(discord.opened) == 1
    assert len(bot.stopped) == 1
    assert "DISCORD_TOKEN" in bot.stopped[0]


async def test_a_missing_recipient_never_touches_discord(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    bot, letter = await process(discord, clock), Letter()
    offer(bot, letter, None)

    await bot.run_until(NOW + SECOND)

    assert (discord.attempts, discord.opened, await log_rows(SOURCE)) == ([], [], [])
    assert letter.ends == [(0, JobEnd.MISSING_RECIPIENT)]


async def test_what_is_no_longer_wanted_when_its_turn_comes_is_not_sent(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    await know(1, 2)
    bot, letter = await process(discord, clock), Letter()
    letter.withdrawn.add(1)
    offer(bot, letter, 1)
    offer(bot, letter, 2)

    await bot.run_until(NOW + SECOND)

    assert letter.ends == [(1, SendResult.WITHDRAWN), (2, SendResult.SENT)]
    assert [row.source_id for row in await log_rows(SOURCE)] == [2]


@pytest.mark.parametrize("statement", ["claim_lease", "finalize_sent"])
async def test_a_database_that_fails_for_a_while_loses_nothing_and_doubles_nothing(
    database: str, clock: ManualClock, discord: FakeDiscord, monkeypatch: pytest.MonkeyPatch, statement: str
) -> None:
    people = range(1, 8)
    await know(*people)
    bot, letter = await process(discord, clock), Letter()
    for who in people:
        offer(bot, letter, who)
    await bot.run_until(NOW + INTERVAL)
    monkeypatch.setattr(ledger, statement, _raising(OperationalError("disk full")))
    await bot.run_until(NOW + 30 * SECOND)
    monkeypatch.undo()

    await bot.run_until(NOW + 3 * MINUTE)

    assert letter.counts == {SendResult.SENT: 7}
    assert [who for who, _ in letter.ends] == list(people)
    assert all(len(discord.dms(who)) == 1 for who in people)
    assert [row.success for row in await log_rows(SOURCE)] == [True] * 7


async def test_channels_that_cannot_be_read_hold_the_jobs_until_they_can(
    database: str, clock: ManualClock, discord: FakeDiscord, monkeypatch: pytest.MonkeyPatch
) -> None:
    await know(1)
    bot, letter = await process(discord, clock), Letter()
    offer(bot, letter, 1)
    monkeypatch.setattr(bot.services.dms._book, "load", _raising(OperationalError("disk full")))

    with pytest.raises(OperationalError):
        await bot.run(DRAIN_DM_QUEUE)
    again = bot.next(DRAIN_DM_QUEUE)
    monkeypatch.undo()
    await bot.run_until(NOW + MINUTE)

    assert again == NOW + 5 * SECOND
    assert letter.ends == [(1, SendResult.SENT)]


# --------------------------------------------------------------------------------------------------------------- stops


async def test_a_clean_stop_lets_what_is_under_way_finish_and_tells_what_waits(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    await know(1, 2, 3)
    bot, letter = await process(discord, clock), Letter()
    for who in (1, 2, 3, 4):
        offer(bot, letter, who)
    answer = asyncio.Event()

    async def _slow(message: OutgoingMessage) -> None:
        await answer.wait()

    discord.before_send = _slow
    await bot.services.agenda.run(bot.services.body(DRAIN_DM_QUEUE), NOW)
    asyncio.get_running_loop().call_soon(answer.set)

    await bot.services.settle()
    await bot.services.leave()
    await bot.services.leave()

    assert letter.ends[0] == (1, SendResult.SENT)
    assert sorted(letter.ends[1:]) == [(who, JobEnd.LOST_ON_RESTART) for who in (2, 3, 4)]
    assert [row.success for row in await log_rows(SOURCE)] == [True]
    assert bot.services.dms.ended == letter.counts


async def test_what_is_cut_off_by_a_stop_is_left_unknown_and_found_by_the_next_process(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    await know(1)
    bot, letter = await process(discord, clock), Letter()
    offer(bot, letter, 1)
    asked = asyncio.Event()

    async def _never(message: OutgoingMessage) -> None:
        asked.set()
        await asyncio.Event().wait()

    discord.before_send = _never
    await bot.services.agenda.run(bot.services.body(DRAIN_DM_QUEUE), NOW)
    await asked.wait()
    await bot.services.leave()
    discord.before_send = None
    left = [row.success for row in await log_rows(SOURCE)]

    again = await process(discord, clock)
    await again.run_until(NOW + 2 * MINUTE)

    assert (letter.ends, left) == ([(1, SendResult.UNKNOWN)], [None])
    # Nothing arrived: the row waits for its sender, who is to decide.
    (row,) = await log_rows(SOURCE)
    assert (row.success, row.lease_token) == (None, None)


# ------------------------------------------------------------------------------------------------------------- secrets


@contextlib.contextmanager
def everything_logged() -> Iterator[list[str]]:
    """Collect every event of the log with its fields and its traceback, as text."""
    logged: list[str] = []

    def _keep(_logger: WrappedLogger, _method: str, fields: EventDict) -> EventDict:
        logged.append(repr(dict(fields)))
        raise structlog.DropEvent

    configured = structlog.get_config()
    structlog.configure(processors=[structlog.processors.format_exc_info, _keep])
    try:
        yield logged
    finally:
        structlog.configure(**configured)


async def test_what_a_dm_says_stands_in_no_log_no_audit_no_note_and_no_status(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    await make_guild()
    secret = "QX7-PLANTED-CODE-93"
    with everything_logged() as logged:
        await know(*range(1, 12))
        bot = await process(discord, clock, options=options(breaker=BreakerOptions(failures=3)))
        letter = Letter(secret)
        for who in range(1, 13):
            offer(bot, letter, who)
        discord.closed_dms.add(1)
        discord.next_sends = [
            None,
            refused(ErrorClass.INVALID),
            refused(ErrorClass.GONE),
            refused(ErrorClass.OPENING_TOO_FAST),
            OUTAGE,
            refused(ErrorClass.OUTAGE, arrived=True),
            OUTAGE,
        ]

        async def _bug(message: OutgoingMessage) -> None:
            if len(discord.attempts) == 12:
                raise RuntimeError("a bug")

        discord.before_send = _bug
        await bot.run_until(NOW + 20 * MINUTE)

    told = status_text(status_of(bot.services.dms, guild_id=GUILD))
    audits = repr([row.__dict__ for row in await AuditLog.all()])
    notes = repr([note.says for note in await OpsNote.all()])
    assert letter.counts[SendResult.SENT] >= 5
    assert {SendResult.UNKNOWN, SendResult.FAILED_PERMANENT, SendResult.FAILED_TRANSIENT} <= set(letter.counts)
    assert any("dm_job_failed" in line for line in logged)
    assert [line for line in [*logged, told, audits, notes] if secret in line] == []
    # The log of messages is where what was meant to be sent is kept.
    assert any(secret in str(row.embed_data) for row in await DiscordMessageLog.filter(source=SOURCE))


async def test_posts_go_out_while_the_dms_rest(database: str, clock: ManualClock, discord: FakeDiscord) -> None:
    await make_guild()
    bot = await opened_breaker(discord, clock, Letter())

    await make_event(now=NOW)
    await bot.run(CHECK_EVENT_REMINDERS)

    assert (len(discord.in_channel()), len(bot.services.dms.queue)) == (1, 2)
