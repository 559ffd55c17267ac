"""What becomes of leases that nobody finished, and when failures may be tried again."""

import asyncio
import datetime as dt
from dataclasses import dataclass, field

import pytest

from bot import ops_notes
from bot.clock import InjectedLeaseClock, ManualClock
from bot.leases import failed_rows, ledger
from bot.leases.failures import ErrorClass, SendError
from bot.leases.instances import InstanceRegister
from bot.leases.keys import MessageKey, nonce
from bot.leases.ports import Attempt, ChannelTarget, Delivered, OutcomeObserver
from bot.leases.reports import SendResult
from bot.leases.send_once import OneWayOut
from bot.leases.staleness import SweepOptions
from bot.leases.sweep import Sweeper
from bot.reminders.outcomes import DueRowObserver
from bot.scheduling import due_rows
from bot.scheduling.agenda import Agenda
from bot.scheduling.bodies import (
    CHECK_EVENT_REMINDERS,
    SWEEP_STALE_DISCORD_LEASES,
    SYNC_DISCORD_EVENTS,
    TELL_OPS_NOTES,
)
from bot.transactions import atomic, fetch, moment
from models.event import Event
from models.instance import Instance
from models.ops_note import OpsNote
from models.reminder_due import ReminderDue
from tests.fake_discord import (
    CHANNEL,
    GUILD,
    MINUTE,
    SECOND,
    TARGET,
    Accepted,
    CrashError,
    FakeDiscord,
    Refused,
    log_rows,
    lost_answer,
    outcomes,
    saying,
    way_out,
)

TICK = dt.timedelta(microseconds=1)
HOUR = dt.timedelta(hours=1)
DAY = dt.timedelta(days=1)
WAITLIST = MessageKey("waitlist", 1)
SOURCE = "event_announcement"


@pytest.fixture
def discord(clock: ManualClock) -> FakeDiscord:
    return FakeDiscord(clock)


@dataclass(slots=True)
class Process:
    """One process: its way out, its sweeper, its agenda and its row."""

    discord: FakeDiscord
    name: str = "here"
    observers: dict[str, tuple[OutcomeObserver, ...]] = field(default_factory=dict)
    agenda: Agenda = field(default_factory=Agenda)
    out: OneWayOut = field(init=False)
    sweeper: Sweeper = field(init=False)
    register: InstanceRegister = field(init=False)

    def __post_init__(self) -> None:
        observers = {SOURCE: (DueRowObserver(self.agenda),), **self.observers}
        lease_clock = InjectedLeaseClock(self.discord.clock)
        self.out = way_out(self.discord, instance=self.name, agenda=self.agenda, observers=observers)
        self.sweeper = Sweeper(
            self.out, agenda=self.agenda, options=SweepOptions(), tell_unreadable=ops_notes.tell_unreadable
        )
        self.register = InstanceRegister(self.name, self.name.partition(".")[0], lease_clock=lease_clock)

    async def send(self, key: MessageKey = WAITLIST, *, target: ChannelTarget | None = TARGET) -> SendResult:
        return await self.out.send_once(key, guild_id=GUILD, target=target, render=saying(f"#{key}"))

    async def send_and_lose(self, key: MessageKey = WAITLIST, *, arrives: bool) -> None:
        """Send; nobody learns whether it arrived."""
        self.discord.answers.append(Accepted(then=lost_answer()) if arrives else Refused(lost_answer()))
        assert await self.send(key) is SendResult.UNKNOWN

    async def send_and_die(self, key: MessageKey = WAITLIST, *, arrives: bool) -> None:
        """Send; the process dies before it learns of the answer. Its row stays behind."""
        self.discord.answers.append(Accepted(then=CrashError()) if arrives else Refused(CrashError()))
        with pytest.raises(CrashError):
            await self.send(key)

    async def sweep(self) -> dt.timedelta | None:
        """Sweep once; return how long until there is more."""
        now = self.discord.clock.now()
        upcoming = await self.sweeper.sweep_stale_discord_leases(now)
        return upcoming - now if upcoming is not None else None

    async def beat(self) -> None:
        await self.register.beat(self.discord.clock.now())


async def entered(discord: FakeDiscord, name: str = "here") -> Process:
    process = Process(discord, name)
    await process.register.enter()
    return process


async def announced_event(clock: ManualClock, *, starts_in: dt.timedelta = 12 * HOUR) -> MessageKey:
    """Make an event whose announcement is due; return the key of its announcement."""
    event = await Event.create(
        guild_id=GUILD,
        name="Raid",
        scheduled_at=clock.now() + starts_in,
        created_at=clock.now(),
        state_since=clock.now(),
        discord_announcement=True,
    )
    await atomic(lambda: due_rows.refresh([event.id]))
    return MessageKey(SOURCE, event.id)


async def due_at() -> list[dt.datetime]:
    return [row.due_at for row in await ReminderDue.all().order_by("id")]


class Released:
    """Notes what was released."""

    def __init__(self) -> None:
        self.attempts: list[Attempt] = []

    async def on_sent(self, attempt: Attempt, delivered: Delivered | None, *, now: dt.datetime) -> None: ...

    async def on_failed(
        self, attempt: Attempt, error: SendError, *, next_attempt_at: dt.datetime | None, now: dt.datetime
    ) -> None: ...

    async def on_released(self, attempt: Attempt, *, now: dt.datetime) -> None:
        self.attempts.append(attempt)


# ------------------------------------------------------------------------------------------------ found, not found


async def test_with_nothing_open_the_sweep_knows_of_no_next_moment(database: str, discord: FakeDiscord) -> None:
    process = Process(discord)
    await process.send()

    assert await process.sweep() is None
    assert (discord.lookups, await outcomes()) == (0, [True])


async def test_an_open_row_is_left_alone_for_its_minute(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    process = Process(discord)
    await process.send_and_lose(arrives=True)

    waits = []
    for step in (dt.timedelta(0), 40 * SECOND, 20 * SECOND - TICK):
        clock.advance(step)
        waits.append(await process.sweep())

    assert waits == [MINUTE, 20 * SECOND, TICK]
    assert (discord.lookups, await outcomes()) == (0, [None])


async def test_what_arrived_is_found_and_finalized(database: str, clock: ManualClock, discord: FakeDiscord) -> None:
    process = Process(discord)
    await process.send_and_lose(arrives=True)

    clock.advance(MINUTE)
    wait = await process.sweep()

    row = (await log_rows())[0]
    assert (wait, row["success"], row["discord_message_id"]) == (None, True, discord.visible[0].message_id)
    assert (row["error"], row["error_class"]) == (None, None)
    assert await process.send() is SendResult.ALREADY_CLAIMED
    assert (process.sweeper.counts.found, len(discord.visible)) == (1, 1)


async def test_a_found_reminder_is_due_no_more(database: str, clock: ManualClock, discord: FakeDiscord) -> None:
    process = Process(discord)
    await process.send_and_lose(await announced_event(clock), arrives=True)

    clock.advance(MINUTE)
    await process.sweep()

    assert (await outcomes(), await due_at()) == ([True], [])


async def test_a_reminder_that_did_not_arrive_is_deleted_and_due_again(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    process, key = Process(discord), await announced_event(clock)
    due = await due_at()
    await process.send_and_lose(key, arrives=False)

    clock.advance(MINUTE)
    await process.sweep()
    rows_between, due_between = await log_rows(), await due_at()
    result = await process.send(key)

    assert (rows_between, due_between) == ([], due)
    assert process.agenda.next(CHECK_EVENT_REMINDERS) == clock.now()
    assert (result, await outcomes(), len(discord.visible)) == (SendResult.SENT, [True], 1)


async def test_any_other_message_that_did_not_arrive_goes_back_to_its_sender(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    watcher = Released()
    process = Process(discord, observers={WAITLIST.source: (watcher,)})
    await process.send_and_lose(arrives=False)
    before = (await log_rows())[0]

    clock.advance(MINUTE)
    wait = await process.sweep()
    between = (await log_rows())[0]
    result = await process.send()

    after = (await log_rows())[0]
    assert (between["lease_token"], between["instance"], between["success"]) == (None, None, None)
    assert wait == DAY - MINUTE
    assert [process.agenda.next(body) for body in (SYNC_DISCORD_EVENTS, TELL_OPS_NOTES)] == [clock.now()] * 2
    assert watcher.attempts == [Attempt(WAITLIST, GUILD, CHANNEL)]
    assert (result, after["id"], after["success"]) == (SendResult.SENT, before["id"], True)
    assert after["lease_token"] not in {None, before["lease_token"]}
    assert [posted.nonce for posted in discord.visible] == [nonce(WAITLIST, target_id=CHANNEL)]


async def test_a_resend_whose_outcome_is_unknown_too_is_found(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    process = Process(discord)
    await process.send_and_lose(arrives=False)
    clock.advance(MINUTE)
    await process.sweep()
    await process.send_and_lose(arrives=True)

    too_early = await process.sweep()
    clock.advance(MINUTE)
    await process.sweep()

    assert too_early == MINUTE
    assert (await outcomes(), len(discord.visible)) == ([True], 1)


async def test_a_message_of_another_key_is_not_taken_for_it(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    process = Process(discord)
    await process.send(MessageKey("waitlist", 2))
    await process.send_and_lose(arrives=False)

    clock.advance(MINUTE)
    await process.sweep()

    assert await outcomes() == [True, None]
    assert await process.send() is SendResult.SENT


async def test_a_row_claimed_without_a_channel_is_released_unseen(
    database: str, clock: ManualClock, discord: FakeDiscord, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = Process(discord, "dead")

    async def _die(*_: object, **__: object) -> bool:
        raise CrashError

    with monkeypatch.context() as dying:
        dying.setattr(ledger, "finalize_failed", _die)
        with pytest.raises(CrashError):
            await process.send(target=None)

    clock.advance(MINUTE)
    here = Process(discord)
    await here.sweep()

    assert (discord.lookups, await here.send()) == (0, SendResult.SENT)


# ------------------------------------------------------------------------------------------------ unreadable


async def test_a_row_whose_history_cannot_be_read_stays_open_and_is_told_once(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    process = Process(discord)
    discord.unreadable.add(CHANNEL)
    await process.send_and_lose(arrives=True)

    waits = []
    for _ in range(5):
        clock.advance(MINUTE)
        waits.append(await process.sweep())

    note = await OpsNote.get()
    assert (waits, await outcomes()) == ([MINUTE] * 5, [None])
    assert (note.fault, note.revision) == (f"history:{CHANNEL}", 1)
    assert f"<#{CHANNEL}>" in note.says
    assert "Discord does not show me the history there now" in note.says
    assert process.agenda.next(TELL_OPS_NOTES) is not None
    assert await process.send() is SendResult.ALREADY_CLAIMED


async def test_a_history_that_can_be_read_again_settles_the_row_and_mends_the_note(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    process = Process(discord)
    discord.unreadable.add(CHANNEL)
    await process.send_and_lose(arrives=True)
    clock.advance(MINUTE)
    await process.sweep()

    discord.unreadable.clear()
    clock.advance(MINUTE)
    await process.sweep()

    assert (await outcomes(), (await OpsNote.get()).says) == ([True], "")


async def test_a_row_of_a_dead_process_is_not_sent_blindly_by_the_one_that_could_not_read_its_history(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    await Process(discord, "dead").send_and_die(arrives=True)
    discord.unreadable.add(CHANNEL)
    here = Process(discord)
    clock.advance(MINUTE)
    await here.sweep()

    result = await here.send()

    assert (result, len(discord.visible)) == (SendResult.ALREADY_CLAIMED, 1)


async def test_a_sender_that_comes_while_the_history_is_read_sends_nothing(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    await Process(discord, "dead").send_and_die(arrives=True)
    here = Process(discord)
    results: list[SendResult] = []

    async def _send() -> None:
        results.append(await here.send())

    discord.while_reading = _send
    clock.advance(MINUTE)
    await here.sweep()

    assert results == [SendResult.ALREADY_CLAIMED]
    assert (len(discord.visible), await outcomes()) == (1, [True])


async def test_what_never_left_needs_no_history_to_be_sent_at_last(
    database: str, clock: ManualClock, discord: FakeDiscord, monkeypatch: pytest.MonkeyPatch
) -> None:
    process, key = Process(discord), await announced_event(clock)
    discord.unreadable.add(CHANNEL)
    claim = ledger.claim_lease

    async def _swallow(*values: object, **options: object) -> None:
        await claim(*values, **options)  # type: ignore[arg-type]
        raise ConnectionResetError

    with monkeypatch.context() as broken:
        broken.setattr(ledger, "claim_lease", _swallow)
        with pytest.raises(ConnectionResetError):
            await process.send(key)
    clock.advance(MINUTE)
    await process.sweep()

    assert await OpsNote.all().count() == 0
    assert (await process.send(key), len(discord.visible)) == (SendResult.SENT, 1)


@pytest.mark.parametrize(
    ("before_the_start", "outcome"),
    [
        pytest.param(TICK, None, id="just before the start"),
        pytest.param(dt.timedelta(0), False, id="at the start"),
        pytest.param(-TICK, False, id="just past the start"),
    ],
)
async def test_a_reminders_outcome_that_stays_unknown_ends_at_the_events_start(
    database: str, clock: ManualClock, discord: FakeDiscord, before_the_start: dt.timedelta, outcome: bool | None
) -> None:
    process, key = Process(discord), await announced_event(clock, starts_in=3 * HOUR)
    start = clock.now() + 3 * HOUR
    discord.unreadable.add(CHANNEL)
    await process.send_and_lose(key, arrives=True)

    clock.set(start - before_the_start)
    await process.sweep()

    row = (await log_rows())[0]
    assert row["success"] is outcome
    if outcome is False:
        assert (row["error_class"], row["next_attempt_at"]) == ("unknown_outcome", None)
        assert await due_at() == []
        assert await process.sweep() is None


@pytest.mark.parametrize(
    ("after_the_claim", "outcome"),
    [
        pytest.param(DAY - TICK, None, id="just before 24 h"),
        pytest.param(DAY, False, id="exactly 24 h"),
        pytest.param(DAY + TICK, False, id="just past 24 h"),
    ],
)
async def test_any_other_outcome_that_stays_unknown_ends_after_a_day(
    database: str, clock: ManualClock, discord: FakeDiscord, after_the_claim: dt.timedelta, outcome: bool | None
) -> None:
    process = Process(discord)
    discord.unreadable.add(CHANNEL)
    await process.send_and_lose(arrives=True)

    clock.advance(after_the_claim)
    await process.sweep()

    row = (await log_rows())[0]
    assert row["success"] is outcome
    assert row["error_class"] == ("unknown_outcome" if outcome is False else "outage")
    assert process.sweeper.counts.given_up == int(outcome is False)


async def test_a_reminder_whose_event_is_gone_ends_after_a_day(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    process, key = Process(discord), await announced_event(clock, starts_in=3 * HOUR)
    discord.unreadable.add(CHANNEL)
    await process.send_and_lose(key, arrives=True)
    await Event.all().delete()

    clock.advance(3 * HOUR)
    await process.sweep()
    at_its_start = await outcomes()
    clock.advance(21 * HOUR)
    await process.sweep()

    assert (at_its_start, await outcomes()) == ([None], [False])


# ------------------------------------------------------------------------------------------------ whose lease it is


@pytest.mark.parametrize(
    ("silence", "looked"),
    [
        pytest.param(30 * SECOND - TICK, 0, id="just before 30 s of silence"),
        pytest.param(30 * SECOND, 1, id="exactly 30 s"),
        pytest.param(30 * SECOND + TICK, 1, id="just past 30 s"),
    ],
)
async def test_a_dead_instances_row_is_taken_over_after_thirty_seconds_of_silence(
    database: str, clock: ManualClock, discord: FakeDiscord, silence: dt.timedelta, looked: int
) -> None:
    dead, here = await entered(discord, "dead"), await entered(discord)
    await dead.send_and_die(arrives=True)
    clock.advance(2 * MINUTE)
    await dead.beat()

    clock.advance(silence)
    wait = await here.sweep()

    assert (discord.lookups, wait) == (looked, None if looked else TICK)
    assert await outcomes() == [True if looked else None]


async def test_a_living_others_lease_waits_for_five_minutes(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    other, here = await entered(discord, "other"), await entered(discord)
    await other.send_and_lose(arrives=True)

    waits, looked = [], []
    for step in (4 * MINUTE, MINUTE - TICK, TICK):
        clock.advance(step)
        await other.beat()
        waits.append(await here.sweep())
        looked.append(discord.lookups)

    # Until then it may also fall silent, which is looked for half a minute after its last heartbeat.
    assert waits == [30 * SECOND, TICK, None]
    assert (looked, await outcomes()) == ([0, 0, 1], [True])


async def test_a_process_that_was_suspended_does_not_take_its_own_running_lease_for_a_dead_ones(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    here = await entered(discord)
    waits: list[dt.timedelta | None] = []

    async def _suspended() -> None:
        clock.advance(4 * MINUTE)
        waits.append(await here.sweep())

    discord.answers.append(_suspended)
    result = await here.send()

    assert waits == [MINUTE]
    assert (result, discord.lookups, await outcomes()) == (SendResult.SENT, 0, [True])


async def test_the_successor_of_a_dead_process_looks_after_its_rows_at_once(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    dead = await entered(discord, "host.1")
    await dead.send_and_die(arrives=True)
    await dead.send_and_die(MessageKey("waitlist", 2), arrives=False)
    clock.advance(20 * SECOND)
    await dead.beat()

    successor = await entered(discord, "host.2")
    first = await successor.sweep()
    clock.advance(40 * SECOND)
    await successor.sweep()

    assert first == 40 * SECOND
    assert await outcomes() == [True, None]
    assert await successor.send(MessageKey("waitlist", 2)) is SendResult.SENT
    assert len(discord.visible) == 2


async def test_a_row_of_a_process_that_left_is_looked_after_a_minute_after_its_claim(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    gone, here = await entered(discord, "gone"), await entered(discord)
    await gone.send_and_lose(arrives=True)
    await gone.register.leave()

    clock.advance(MINUTE)
    await here.sweep()

    assert await outcomes() == [True]


@pytest.mark.parametrize("arrives", [True, False], ids=["arrived", "did not arrive"])
async def test_of_two_sweepers_at_once_one_reconciles(
    database: str, clock: ManualClock, discord: FakeDiscord, arrives: bool
) -> None:
    await Process(discord, "dead").send_and_die(await announced_event(clock), arrives=arrives)
    sweepers = [await entered(discord, name) for name in ("one", "two")]
    clock.advance(MINUTE)

    await asyncio.gather(*(process.sweep() for process in sweepers))

    counts = [process.sweeper.counts for process in sweepers]
    assert sum(count.found + count.released for count in counts) == 1
    assert (discord.lookups, await outcomes()) == (1, [True] if arrives else [])


async def test_the_old_holder_finalizes_nothing_once_it_was_swept(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    slow, here = await entered(discord, "slow"), await entered(discord)

    async def _swept_meanwhile() -> None:
        clock.advance(5 * MINUTE)
        await here.sweep()

    discord.answers.append(_swept_meanwhile)
    await slow.send()

    row = (await log_rows())[0]
    assert (row["success"], row["lease_token"], row["discord_message_id"]) == (None, None, None)


async def test_a_call_that_never_returns_is_broken_off_after_five_minutes(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    here, asked, never = await entered(discord), asyncio.Event(), asyncio.Event()

    async def _hang() -> None:
        asked.set()
        await never.wait()

    discord.answers.append(_hang)
    call = asyncio.create_task(here.send())
    await asked.wait()

    clock.advance(5 * MINUTE - TICK)
    before = await here.sweep()
    clock.advance(TICK)
    broken_off = await here.sweep()
    result = await call
    clock.advance(SECOND)
    await here.sweep()

    assert (before, broken_off) == (TICK, SECOND)
    assert result is SendResult.UNKNOWN
    assert await here.send() is SendResult.SENT
    assert len(discord.visible) == 1


async def test_breaking_a_call_off_leaves_its_caller_running(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    here, asked, never = await entered(discord), asyncio.Event(), asyncio.Event()
    went_on: list[SendResult] = []

    async def _hang() -> None:
        asked.set()
        await never.wait()

    async def _loop() -> None:
        went_on.append(await here.send(MessageKey("waitlist", 1)))
        await asyncio.sleep(0)
        went_on.append(await here.send(MessageKey("waitlist", 2)))

    discord.answers.append(_hang)
    caller = asyncio.create_task(_loop())
    await asked.wait()
    clock.advance(5 * MINUTE)
    await here.sweep()
    await caller

    assert went_on == [SendResult.UNKNOWN, SendResult.SENT]


async def test_one_bad_row_does_not_stop_the_rest(database: str, clock: ManualClock, discord: FakeDiscord) -> None:
    class _Broken(Released):
        async def on_sent(self, attempt: Attempt, delivered: Delivered | None, *, now: dt.datetime) -> None:
            raise KeyError

    process = Process(discord, observers={"broken": (_Broken(),)})
    await process.send_and_lose(MessageKey("broken", 1), arrives=True)
    await process.send_and_lose(arrives=True)

    clock.advance(MINUTE)
    wait = await process.sweep()

    assert (wait, await outcomes()) == (MINUTE, [None, True])


async def test_what_the_database_refused_is_settled_by_the_sweep(
    database: str, clock: ManualClock, discord: FakeDiscord, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def _refuse(*_: object, **__: object) -> bool:
        raise OSError

    process = Process(discord)
    with monkeypatch.context() as broken:
        broken.setattr(ledger, "finalize_sent", _refuse)
        await process.send()
    woken = process.agenda.next(SWEEP_STALE_DISCORD_LEASES)

    wait = await process.sweep()

    assert woken == clock.now() + MINUTE
    assert (wait, discord.lookups, await outcomes()) == (None, 0, [True])


# ------------------------------------------------------------------------------------------------ handed back rows


@pytest.mark.parametrize(
    ("before_the_start", "outcome"),
    [pytest.param(TICK, None, id="just before"), pytest.param(dt.timedelta(0), False, id="exactly")],
)
async def test_a_handed_back_repost_ends_at_the_events_start(
    database: str, clock: ManualClock, discord: FakeDiscord, before_the_start: dt.timedelta, outcome: bool | None
) -> None:
    event = await announced_event(clock, starts_in=3 * HOUR)
    start = clock.now() + 3 * HOUR
    process = Process(discord)
    await process.send_and_lose(MessageKey("event_repost", event.source_id, part=1), arrives=False)
    clock.advance(MINUTE)
    handed_back = await process.sweep()

    clock.set(start - before_the_start)
    wait = await process.sweep()

    assert handed_back == 3 * HOUR - MINUTE
    assert wait == (TICK if outcome is None else None)
    assert await outcomes() == [outcome]


@pytest.mark.parametrize(
    ("after_the_claim", "outcome"),
    [pytest.param(DAY - TICK, None, id="just before"), pytest.param(DAY, False, id="exactly")],
)
async def test_any_other_handed_back_row_ends_after_a_day(
    database: str, clock: ManualClock, discord: FakeDiscord, after_the_claim: dt.timedelta, outcome: bool | None
) -> None:
    claimed, process = clock.now(), Process(discord)
    await process.send_and_lose(arrives=False)
    clock.advance(MINUTE)
    await process.sweep()

    clock.set(claimed + after_the_claim)
    await process.sweep()

    row = (await log_rows())[0]
    assert row["success"] is outcome
    if outcome is False:
        assert (row["error_class"], row["next_attempt_at"]) == ("event_started", None)
        assert await process.sweep() is None


# ------------------------------------------------------------------------------------------------ failures age out


def forbidden() -> Refused:
    return Refused(SendError(ErrorClass.FORBIDDEN, "Missing Access", status=403))


@pytest.mark.parametrize(
    ("age", "freed"),
    [
        pytest.param(HOUR - TICK, False, id="just before"),
        pytest.param(HOUR, True, id="exactly"),
        pytest.param(HOUR + TICK, True, id="just past"),
    ],
)
async def test_a_failed_reminder_is_tried_again_after_an_hour(
    database: str, clock: ManualClock, discord: FakeDiscord, age: dt.timedelta, freed: bool
) -> None:
    process, key = Process(discord), await announced_event(clock)
    first_due = await due_at()
    discord.answers.append(forbidden())
    await process.send(key)
    failed_at = clock.now()

    clock.advance(age)
    wait = await process.sweep()

    assert await outcomes() == ([] if freed else [False])
    assert await due_at() == (first_due if freed else [failed_at + HOUR])
    assert wait == (None if freed else TICK)
    assert await process.send(key) is (SendResult.SENT if freed else SendResult.ALREADY_CLAIMED)


async def test_the_sweep_that_frees_a_reminder_wakes_the_poll(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    key = await announced_event(clock)
    discord.answers.append(forbidden())
    await Process(discord).send(key)
    other = Process(discord, "other")

    clock.advance(HOUR)
    await other.sweep()

    assert other.agenda.next(CHECK_EVENT_REMINDERS) == clock.now()


async def test_transient_failures_are_kept_until_both_their_hour_and_their_next_attempt_passed(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    process, key = Process(discord), await announced_event(clock)
    discord.answers.append(Refused(SendError(ErrorClass.RATE_LIMITED, "429", retry_after=2 * HOUR)))
    await process.send(key)

    waits = []
    for step in (dt.timedelta(0), HOUR, HOUR - TICK, TICK):
        clock.advance(step)
        waits.append(await process.sweep())

    assert waits == [2 * HOUR, HOUR, TICK, None]
    assert await outcomes() == []


async def test_the_newest_failure_of_a_begun_event_stays_as_its_reason_and_asks_for_nothing_more(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    process, key = Process(discord), await announced_event(clock, starts_in=90 * MINUTE)
    discord.answers.extend([Refused(SendError(ErrorClass.OUTAGE, "503", status=503)), forbidden()])
    await process.send(key)
    clock.advance(80 * MINUTE)
    await ReminderDue.all().delete()
    await process.send(key)

    clock.advance(2 * HOUR)
    wait = await process.sweep()

    row = (await log_rows())[0]
    assert (wait, await outcomes()) == (None, [False])
    assert (row["error_class"], row["next_attempt_at"]) == ("forbidden", None)
    assert await failed_rows.next_failure_expiry(retention=HOUR) is None
    assert await process.sweep() is None


async def test_a_failure_of_an_event_that_begins_within_the_hour_keeps_its_reason(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    process, key = Process(discord), await announced_event(clock, starts_in=30 * MINUTE)
    discord.answers.append(forbidden())
    await process.send(key)
    due_after_the_failure = await due_at()

    clock.advance(HOUR)
    wait = await process.sweep()

    assert (due_after_the_failure, wait) == ([], None)
    assert [row["error_class"] for row in await log_rows()] == ["forbidden"]


async def test_a_reminder_that_failed_and_was_switched_off_meanwhile_can_be_switched_on_again(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    process, key = Process(discord), await announced_event(clock)
    discord.answers.append(forbidden())
    await process.send(key)
    await Event.all().update(discord_announcement=False)
    await atomic(lambda: due_rows.refresh([key.source_id]))
    clock.advance(2 * HOUR)
    await process.sweep()

    await Event.all().update(discord_announcement=True)
    await atomic(lambda: due_rows.refresh([key.source_id]))

    assert len(await due_at()) == 1
    assert await process.send(key) is SendResult.SENT


async def test_of_other_messages_the_newest_failure_stays_and_older_ones_go(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    process = Process(discord)
    for _ in range(6):
        discord.answers.append(forbidden())
        assert await process.send() is SendResult.FAILED_PERMANENT
        clock.advance(HOUR)
        await process.sweep()

    # One attempt an hour leaves one row, not one an hour.
    assert await outcomes() == [False]
    assert (await log_rows())[0]["attempts"] == 6


async def test_a_reason_without_a_next_attempt_is_left_for_ever(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    process, key = Process(discord), await announced_event(clock)
    discord.answers.append(Refused(SendError(ErrorClass.EVENT_STARTED, "too late")))
    await process.send(key)

    clock.advance(30 * DAY)

    assert await process.sweep() is None
    assert await outcomes() == [False]


async def test_true_rows_stay(database: str, clock: ManualClock, discord: FakeDiscord) -> None:
    process = Process(discord)
    await process.send()

    clock.advance(365 * DAY)
    await process.sweep()

    assert await outcomes() == [True]


async def test_the_sweep_names_the_earliest_of_all_its_next_moments(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    process, key = Process(discord), await announced_event(clock)
    discord.answers.append(forbidden())
    await process.send(key)
    with_a_failure = await process.sweep()
    await process.send_and_lose(arrives=True)
    with_an_open_row = await process.sweep()

    clock.advance(MINUTE)
    after_that = await process.sweep()

    assert (with_a_failure, with_an_open_row, after_that) == (HOUR, MINUTE, HOUR - MINUTE)


async def test_another_guilds_rows_are_looked_up_in_their_own_channel(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    # The same text stands in another guild's channel: it is not this key's message.
    process = Process(discord)
    await process.out.send_once(
        MessageKey("waitlist", 2), guild_id=8, target=ChannelTarget(8, 80), render=saying(f"#{WAITLIST}")
    )
    await process.send_and_lose(arrives=False)

    clock.advance(MINUTE)
    await process.sweep()

    assert await outcomes() == [True, None]


async def test_a_removed_instance_row_counts_as_gone(database: str, clock: ManualClock, discord: FakeDiscord) -> None:
    other, here = await entered(discord, "other"), await entered(discord)
    await other.send_and_lose(arrives=True)
    await Instance.filter(id="other").delete()

    clock.advance(MINUTE)
    await here.sweep()

    assert await outcomes() == [True]


async def test_the_claims_moment_never_moves(database: str, clock: ManualClock, discord: FakeDiscord) -> None:
    process, claimed = Process(discord), clock.now()
    discord.unreadable.add(CHANNEL)
    await process.send_and_lose(arrives=True)
    clock.advance(MINUTE)
    await process.sweep()

    rows = await fetch("SELECT claimed_at, renewed_at FROM discord_message_log")
    assert [moment(rows[0][column]) for column in ("claimed_at", "renewed_at")] == [claimed, clock.now()]
