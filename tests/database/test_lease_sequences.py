"""
One key through random interleavings of sends, lost answers, crashes, refused records, suspensions and sweeps.

The Discord here drops no second copy, so that the leases alone keep it at one visible message. Whatever happened, once
nothing more goes wrong the key comes to rest.
"""

import asyncio
import datetime as dt
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import pytest
import structlog.testing
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bot import ops_notes
from bot.clock import InjectedLeaseClock, ManualClock
from bot.database import opened
from bot.leases import ledger
from bot.leases.failures import ErrorClass, SendError
from bot.leases.instances import InstanceRegister
from bot.leases.keys import MessageKey
from bot.leases.ports import ChannelTarget
from bot.leases.reports import SendResult
from bot.leases.staleness import SweepOptions
from bot.leases.sweep import Sweeper
from bot.reminders.outcomes import DueRowObserver
from bot.scheduling import due_rows
from bot.scheduling.agenda import Agenda
from bot.transactions import atomic
from models.event import Event
from models.reminder_due import ReminderDue
from tests.fake_discord import (
    CHANNEL,
    GUILD,
    TARGET,
    Accepted,
    Answer,
    CrashError,
    FakeDiscord,
    Refused,
    log_rows,
    lost_answer,
    saying,
    way_out,
)

if TYPE_CHECKING:
    from bot.leases.send_once import OneWayOut

START = dt.datetime(2026, 3, 1, 12, 0, tzinfo=dt.UTC)
EVENT_IN = dt.timedelta(hours=30)
PROCESSES = 2
QUIET_ROUNDS = 40


class Process:
    """One life of one of the processes."""

    lives = 0

    def __init__(self, place: int, discord: FakeDiscord) -> None:
        Process.lives += 1
        agenda, lease_clock = Agenda(), InjectedLeaseClock(discord.clock)
        instance = f"{place}.{Process.lives}"
        observers = {"event_announcement": (DueRowObserver(agenda),)}
        self.place = place
        self.out: OneWayOut = way_out(discord, instance=instance, agenda=agenda, observers=observers)
        self.sweeper = Sweeper(
            self.out, agenda=agenda, options=SweepOptions(), tell_unreadable=ops_notes.tell_unreadable
        )
        self.register = InstanceRegister(instance, f"host{place}", lease_clock=lease_clock)


class World:
    """A Discord, two processes on one database, and the one key that they send."""

    def __init__(self, source: str, event_id: int) -> None:
        self.clock = ManualClock(START)
        self.discord = FakeDiscord(self.clock)
        self.key = MessageKey(source, event_id)
        self.processes = [Process(place, self.discord) for place in range(PROCESSES)]

    async def enter(self) -> None:
        for process in self.processes:
            await process.register.enter()

    async def restart(self, place: int) -> None:
        """The process dies and another takes its name: all it kept in memory is gone."""
        self.processes[place] = Process(place, self.discord)
        await self.processes[place].register.enter()

    async def send(self, place: int, answer: Answer, *, target: ChannelTarget | None) -> SendResult | None:
        self.discord.answers.clear()
        self.discord.answers.append(answer)
        try:
            return await self.processes[place].out.send_once(
                self.key, guild_id=GUILD, target=target, render=saying("#1"), not_after=START + EVENT_IN
            )
        except CrashError:
            await self.restart(place)
        except OSError:
            pass  # the database did not take the claim, or its answer was lost
        return None

    async def sweep(self, place: int) -> None:
        process = self.processes[place]
        await process.register.beat(self.clock.now())
        await process.sweeper.sweep_stale_discord_leases(self.clock.now())

    def check(self) -> None:
        assert len(self.discord.visible) <= 1, self.discord.visible


@dataclass(frozen=True, slots=True)
class Broken:
    """The next such statement on the message log fails, ``after`` its work was done or before."""

    name: str
    after: bool

    def install(self, patch: pytest.MonkeyPatch) -> None:
        work = getattr(ledger, self.name)
        calls = 0

        async def _call(*values: Any, **options: Any) -> Any:  # noqa: ANN401
            nonlocal calls
            calls += 1
            if calls > 1:
                return await work(*values, **options)
            if self.after:
                await work(*values, **options)
            raise ConnectionResetError

        patch.setattr(ledger, self.name, _call)


class Step(Protocol):
    """One thing that happens."""

    async def take(self, world: World) -> None: ...


@dataclass(frozen=True, slots=True)
class Send:
    """A process sends, to the channel or, None, with none set."""

    place: int
    answer: Answer
    broken: Broken | None
    target: ChannelTarget | None

    async def take(self, world: World) -> None:
        with pytest.MonkeyPatch.context() as patch:
            if self.broken is not None:
                self.broken.install(patch)
            await world.send(self.place, self.answer, target=self.target)


@dataclass(frozen=True, slots=True)
class Race:
    """Every process sends at once."""

    answer: Answer

    async def take(self, world: World) -> None:
        await asyncio.gather(*(world.send(place, self.answer, target=TARGET) for place in range(PROCESSES)))


@dataclass(frozen=True, slots=True)
class Sweep:
    """A process sweeps."""

    place: int
    broken: Broken | None

    async def take(self, world: World) -> None:
        with pytest.MonkeyPatch.context() as patch:
            if self.broken is not None:
                self.broken.install(patch)
            await world.sweep(self.place)


@dataclass(frozen=True, slots=True)
class SweepAll:
    """Every process sweeps at once."""

    async def take(self, world: World) -> None:
        await asyncio.gather(*(world.sweep(place) for place in range(PROCESSES)))


@dataclass(frozen=True, slots=True)
class Restart:
    """A process dies between two things that it does."""

    place: int

    async def take(self, world: World) -> None:
        await world.restart(self.place)


@dataclass(frozen=True, slots=True)
class History:
    """The channel's history can be read, or no longer."""

    readable: bool

    async def take(self, world: World) -> None:
        world.discord.unreadable = set() if self.readable else {CHANNEL}


@dataclass(frozen=True, slots=True)
class Throttle:
    """The next send waits between its claim and its request, and the others sweep meanwhile."""

    seconds: int

    async def take(self, world: World) -> None:
        async def _wait() -> None:
            world.discord.throttle = None
            world.clock.advance(dt.timedelta(seconds=self.seconds))
            await SweepAll().take(world)

        world.discord.throttle = _wait


@dataclass(frozen=True, slots=True)
class Advance:
    """Time passes, in which nobody does anything."""

    seconds: int

    async def take(self, world: World) -> None:
        world.clock.advance(dt.timedelta(seconds=self.seconds))


PLACES = st.integers(0, PROCESSES - 1)
ANSWERS = st.sampled_from(
    [
        Accepted(),
        Accepted(then=lost_answer()),
        Accepted(then=CrashError()),
        Refused(lost_answer()),
        Refused(CrashError()),
        Refused(SendError(ErrorClass.OUTAGE, "503", status=503)),
        Refused(SendError(ErrorClass.FORBIDDEN, "Missing Access", status=403)),
    ]
)
STATEMENTS = ["claim_lease", "finalize_sent", "finalize_failed", "note_unknown", "take_over", "delete_held", "renew"]
BROKEN = st.none() | st.builds(Broken, st.sampled_from(STATEMENTS), st.booleans())
STEPS = st.one_of(
    st.builds(Send, PLACES, ANSWERS, BROKEN, st.sampled_from([TARGET, TARGET, TARGET, None])),
    st.builds(Race, ANSWERS),
    st.builds(Sweep, PLACES, BROKEN),
    st.builds(SweepAll),
    st.builds(Restart, PLACES),
    st.builds(History, st.booleans()),
    st.builds(Throttle, st.sampled_from([6, 61, 301])),
    st.builds(Advance, st.sampled_from([1, 5, 29, 30, 59, 60, 61, 120, 299, 300, 301, 3_600])),
)


async def is_at_rest(world: World) -> bool:
    """Sent, failed with a reason, or free and still due."""
    rows = await log_rows()
    if any(row["success"] is None for row in rows):
        return False
    if any(row["success"] for row in rows):
        return len(world.discord.visible) == 1
    return bool(rows and rows[-1]["error_class"]) or await ReminderDue.all().exists()


async def quieten(world: World) -> None:
    """Let nothing more go wrong, and give both processes their passes."""
    world.discord.unreadable.clear()
    world.discord.throttle = None
    for _ in range(QUIET_ROUNDS):
        for place in range(PROCESSES):
            await world.sweep(place)
            await world.send(place, Accepted(), target=TARGET)
            world.check()
        if await is_at_rest(world) and world.discord.visible:
            return
        world.clock.advance(dt.timedelta(minutes=5))


async def live(url: str, source: str, steps: list[Step]) -> None:
    async with opened(url):
        event = await Event.create(
            guild_id=GUILD,
            name="Raid",
            scheduled_at=START + EVENT_IN,
            created_at=START,
            state_since=START,
            discord_announcement=True,
            discord_announcement_hours=48,
        )
        await atomic(lambda: due_rows.refresh([event.id]))
        world = World(source, event.id)
        await world.enter()
        for step in steps:
            await step.take(world)
            world.check()
        await quieten(world)

        assert await is_at_rest(world), await log_rows()
        # Time enough was left before the event for it to go out.
        if world.clock.now() < START + EVENT_IN - dt.timedelta(hours=1):
            assert len(world.discord.visible) == 1


@pytest.mark.parametrize("source", ["event_announcement", "waitlist"])
@settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(steps=st.lists(STEPS, max_size=14))
def test_a_key_is_never_seen_twice_and_comes_to_rest(sqlite_template: Path, source: str, steps: list[Step]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tocsin.db"
        shutil.copyfile(sqlite_template, path)

        with structlog.testing.capture_logs():
            asyncio.run(live(f"sqlite://{path}", source, steps))
