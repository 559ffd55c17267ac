"""What becomes of a fan-out's leases that nobody finished: the parent's, those of its DMs, and those of its posts."""

import datetime as dt
from dataclasses import dataclass, field

import pytest

from bot import ops_notes
from bot.clock import InjectedLeaseClock, ManualClock
from bot.leases import ledger
from bot.leases.failures import ErrorClass, SendError
from bot.leases.instances import InstanceRegister
from bot.leases.keys import ATTENDANCE_POST, PROFILE_UNREACHABLE, MessageKey
from bot.leases.ledger import Lease
from bot.leases.parents import ParentLeases
from bot.leases.ports import ChannelTarget, DmTarget, Target
from bot.leases.reports import SendResult
from bot.leases.send_once import OneWayOut
from bot.leases.staleness import SweepOptions
from bot.leases.sweep import Sweeper
from bot.reminders.outcomes import DueRowObserver
from bot.scheduling.agenda import Agenda
from bot.scheduling.bodies import CHECK_EVENT_REMINDERS, DRIVE_FAN_OUTS
from bot.transactions import moment
from models.event import Event
from models.ops_note import OpsNote
from models.states import EventState
from tests.builders import GUILD, HOUR, MINUTE, SECOND, make_event, make_series, stored_due
from tests.fake_discord import (
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
SOURCE = "signup_reminder"
WHO, DM_CHANNEL, CHANNEL = 4_001, 500_004_001, 70
DM, POST = DmTarget(WHO, DM_CHANNEL), ChannelTarget(GUILD, CHANNEL)
DEAD_AFTER = 30 * SECOND

BOUNDARIES = pytest.mark.parametrize(
    ("shift", "is_over"),
    [
        pytest.param(-TICK, False, id="just before"),
        pytest.param(dt.timedelta(0), True, id="exactly"),
        pytest.param(TICK, True, id="just past"),
    ],
)


@pytest.fixture
def discord(clock: ManualClock) -> FakeDiscord:
    return FakeDiscord(clock)


@dataclass(slots=True)
class Process:
    """One process: its way out, its parents, its sweeper and its row."""

    discord: FakeDiscord
    name: str = "here"
    agenda: Agenda = field(default_factory=Agenda)
    out: OneWayOut = field(init=False)
    parents: ParentLeases = field(init=False)
    sweeper: Sweeper = field(init=False)
    register: InstanceRegister = field(init=False)

    def __post_init__(self) -> None:
        lease_clock = InjectedLeaseClock(self.discord.clock)
        observers = {SOURCE: (DueRowObserver(self.agenda),)}
        self.out = way_out(self.discord, instance=self.name, agenda=self.agenda, observers=observers)
        self.parents = ParentLeases(self.out)
        self.sweeper = Sweeper(
            self.out, agenda=self.agenda, options=SweepOptions(), tell_unreadable=ops_notes.tell_unreadable
        )
        self.register = InstanceRegister(self.name, self.name, lease_clock=lease_clock)

    async def send(self, key: MessageKey, target: Target = DM) -> SendResult:
        return await self.out.send_once(key, guild_id=GUILD, target=target, render=saying(f"#{key}"))

    async def send_and_lose(self, key: MessageKey, target: Target = DM, *, arrives: bool) -> None:
        """Send; nobody learns whether it arrived."""
        self.discord.answers.append(Accepted(then=lost_answer()) if arrives else Refused(lost_answer()))
        assert await self.send(key, target) is SendResult.UNKNOWN

    async def send_and_die(self, key: MessageKey, target: Target = DM, *, arrives: bool) -> None:
        """Send; the process dies before it learns of the answer."""
        self.discord.answers.append(Accepted(then=CrashError()) if arrives else Refused(CrashError()))
        with pytest.raises(CrashError):
            await self.send(key, target)

    async def hold(self, key: MessageKey) -> Lease:
        lease = await self.parents.hold(key, guild_id=GUILD)
        assert lease is not None
        return lease

    async def sweep(self) -> dt.timedelta | None:
        """Sweep once; return how long until there is more."""
        now = self.discord.clock.now()
        upcoming = await self.sweeper.sweep_stale_discord_leases(now)
        return upcoming - now if upcoming is not None else None


async def entered(discord: FakeDiscord, name: str = "here") -> Process:
    process = Process(discord, name)
    await process.register.enter()
    return process


async def asked_event(clock: ManualClock, *, starts_in: dt.timedelta = 12 * HOUR) -> Event:
    """Make an event whose sign-up reminder is due."""
    series = await make_series(now=clock.now(), is_active=False)
    return await make_event(
        now=clock.now(),
        starts_in=starts_in,
        series_id=series.id,
        state=EventState.SIGNUPS_OPEN,
        discord_announcement=False,
        discord_signup_reminder=True,
    )


# --------------------------------------------------------------------------------------------------------- the parent


@BOUNDARIES
async def test_a_parent_is_dropped_the_moment_its_instance_counts_as_dead_and_nobody_looks_it_up(
    database: str, clock: ManualClock, discord: FakeDiscord, shift: dt.timedelta, is_over: bool
) -> None:
    dead, here = await entered(discord, "dead"), await entered(discord)
    event = await asked_event(clock)
    await dead.hold(MessageKey(SOURCE, event.id))

    clock.advance(DEAD_AFTER + shift)
    await here.sweep()

    assert await outcomes() == ([] if is_over else [None])
    assert discord.lookups == 0
    assert list(await stored_due()) == [(event.id, "signup_reminder")]
    woken = [here.agenda.next(body) for body in (CHECK_EVENT_REMINDERS, DRIVE_FAN_OUTS)]
    assert woken == ([clock.now()] * 2 if is_over else [None, None])


async def test_the_parent_of_a_process_that_left_is_dropped_at_once(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    gone, here = await entered(discord, "gone"), await entered(discord)
    await gone.hold(MessageKey(SOURCE, 1))
    await gone.register.leave()

    await here.sweep()

    assert (await log_rows(), discord.lookups) == ([], 0)
    assert (await here.hold(MessageKey(SOURCE, 1))).attempts == 1


async def test_a_parent_that_a_living_process_renews_is_left_to_it(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    there, here = await entered(discord, "there"), await entered(discord)
    lease = await there.hold(MessageKey(SOURCE, 1))

    for _ in range(30):
        clock.advance(MINUTE)
        assert await there.parents.renew(lease)
        await there.register.beat(clock.now())
        await here.sweep()
        await there.sweep()

    row = (await log_rows())[0]
    assert (row["success"], row["instance"]) == (None, "there")
    assert moment(row["claimed_at"]) == clock.now() - 30 * MINUTE


@BOUNDARIES
async def test_a_parent_that_nobody_renews_is_dropped_after_five_minutes(
    database: str, clock: ManualClock, discord: FakeDiscord, shift: dt.timedelta, is_over: bool
) -> None:
    there, here = await entered(discord, "there"), await entered(discord)
    lease = await there.hold(MessageKey(SOURCE, 1))

    clock.advance(5 * MINUTE + shift)
    await there.register.beat(clock.now())
    await here.sweep()

    assert await outcomes() == ([] if is_over else [None])
    assert await there.parents.renew(lease) is not is_over


async def test_a_process_does_not_drop_the_parent_that_it_holds_itself(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    here = await entered(discord)
    lease = await here.hold(MessageKey(SOURCE, 1))

    waits = []
    for _ in range(3):
        clock.advance(4 * MINUTE)
        waits.append(await here.sweep())

    assert waits == [MINUTE, SECOND, SECOND]
    assert await here.parents.renew(lease)


async def test_a_process_that_lost_its_parent_holds_it_no_more(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    here, there = await entered(discord), await entered(discord, "there")
    lease = await here.hold(MessageKey(SOURCE, 1))
    clock.advance(MINUTE)
    await there.sweep()
    taken = await there.hold(MessageKey(SOURCE, 1))

    renewed = await here.parents.renew(lease)

    assert not renewed
    assert not here.out.is_under_way(lease)
    assert there.out.is_under_way(taken)


# ------------------------------------------------------------------------------------------------------------ the DMs


async def test_a_dm_whose_outcome_is_unknown_is_looked_up_in_its_own_channel(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    await make_event(now=clock.now())
    here = Process(discord)
    # The same words in the announcement channel, and in the DM of somebody else.
    await here.send(MessageKey("waitlist", 1), POST)
    await here.send(MessageKey(SOURCE, 1, 5_000), DmTarget(5_000, 500_005_000))
    await here.send_and_lose(MessageKey(SOURCE, 1, WHO), arrives=True)

    clock.advance(MINUTE)
    await here.sweep()

    row = (await log_rows())[-1]
    assert (row["success"], row["recipient_id"], row["channel_id"]) == (True, WHO, DM_CHANNEL)
    assert row["discord_message_id"] == discord.visible[-1].message_id
    assert discord.lookups == 1


@pytest.mark.parametrize("arrives", [True, False], ids=["arrived", "never arrived"])
async def test_a_dm_of_a_dead_process_is_found_or_left_to_its_fan_out(
    database: str, clock: ManualClock, discord: FakeDiscord, arrives: bool
) -> None:
    event = await asked_event(clock)
    key = MessageKey(SOURCE, event.id, WHO)
    await Process(discord, "dead").send_and_die(key, arrives=arrives)
    here = await entered(discord)

    clock.advance(MINUTE)
    await here.sweep()

    assert await outcomes() == ([True] if arrives else [])
    assert (here.agenda.next(DRIVE_FAN_OUTS), discord.lookups) == (clock.now(), 1)
    # The reminder itself is due as before: a DM is one of many.
    assert list(await stored_due()) == [(event.id, "signup_reminder")]
    assert await here.send(key) is (SendResult.ALREADY_CLAIMED if arrives else SendResult.SENT)
    assert len(discord.visible) == 1


async def test_a_dm_that_cannot_be_looked_up_stays_open_and_is_told_in_the_log_alone(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    await make_event(now=clock.now())
    here = Process(discord)
    discord.unreadable.add(DM_CHANNEL)
    await here.send_and_lose(MessageKey(SOURCE, 1, WHO), arrives=True)

    clock.advance(MINUTE)
    wait = await here.sweep()

    assert (wait, await outcomes()) == (MINUTE, [None])
    assert await OpsNote.all().count() == 0


async def test_a_dm_that_stays_unknown_ends_at_the_events_start(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    event = await asked_event(clock, starts_in=2 * HOUR)
    here = Process(discord)
    discord.unreadable.add(DM_CHANNEL)
    await here.send_and_lose(MessageKey(SOURCE, event.id, WHO), arrives=True)

    clock.advance(2 * HOUR - TICK)
    await here.sweep()
    before = await outcomes()
    clock.advance(MINUTE)
    await here.sweep()

    row = (await log_rows())[0]
    assert (before, row["success"], row["error_class"], row["next_attempt_at"]) == (
        [None],
        False,
        "unknown_outcome",
        None,
    )
    assert list(await stored_due()) == [(event.id, "signup_reminder")]


async def test_why_a_dm_failed_for_good_stays_and_is_never_tried_again_by_itself(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    event = await asked_event(clock)
    here, key = Process(discord), MessageKey(SOURCE, event.id, WHO)
    discord.answers.append(Refused(SendError(ErrorClass.RECIPIENT_UNREACHABLE, "closed", status=403)))
    await here.send(key)

    waits = []
    for _ in range(3):
        clock.advance(HOUR)
        waits.append(await here.sweep())

    row = (await log_rows())[0]
    assert waits == [None] * 3
    assert (row["success"], row["error_class"], row["next_attempt_at"]) == (False, "recipient_unreachable", None)
    assert here.agenda.next(CHECK_EVENT_REMINDERS) is None


# ---------------------------------------------------------------------------------------------------------- the posts


@pytest.mark.parametrize("source", [ATTENDANCE_POST, PROFILE_UNREACHABLE])
@pytest.mark.parametrize("arrives", [True, False], ids=["arrived", "never arrived"])
async def test_a_post_beside_a_fan_out_is_found_or_released_by_deletion(
    database: str, clock: ManualClock, discord: FakeDiscord, source: str, arrives: bool
) -> None:
    event = await asked_event(clock)
    key, here = MessageKey(source, event.id), await entered(discord)
    await Process(discord, "dead").send_and_die(key, POST, arrives=arrives)

    clock.advance(MINUTE)
    wait = await here.sweep()

    # Nothing waits for a sender that may never come: the fan-out, taken up again, claims it anew.
    assert (await outcomes(), wait) == ([True] if arrives else [], None)
    assert here.agenda.next(DRIVE_FAN_OUTS) == clock.now()
    assert await here.send(key, POST) is (SendResult.ALREADY_CLAIMED if arrives else SendResult.SENT)
    assert len(discord.visible) == 1


async def test_the_whole_of_a_dead_fan_out_is_at_rest_after_one_sweep(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    event = await asked_event(clock)
    dead, here = await entered(discord, "dead"), await entered(discord)
    await dead.hold(MessageKey(SOURCE, event.id))
    for who in range(20):
        target = DmTarget(who + 1, 500_000_000 + who)
        await dead.send_and_die(MessageKey(SOURCE, event.id, who + 1), target, arrives=who % 2 == 0)
    await dead.send_and_die(MessageKey(ATTENDANCE_POST, event.id), POST, arrives=False)

    clock.advance(90 * SECOND)
    await here.sweep()

    assert await outcomes() == [True] * 10
    assert await ledger.held_rows() == []
    assert (here.sweeper.counts.found, here.sweeper.counts.released) == (10, 12)
