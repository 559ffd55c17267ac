"""
One fan-out through random crashes, stops, outages, closed DMs, clock steps and changes of mind, by two processes.

The Discord here drops no second copy. Whatever happens, nobody sees a second DM; and once nothing more goes wrong,
everybody who is still to be asked was asked, or the log says why not.
"""

import asyncio
import datetime as dt
import shutil
import tempfile
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import pytest
import structlog.testing
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bot.bootstrap import ServiceOptions
from bot.clock import ManualClock
from bot.database import opened
from bot.dm_queue.circuit_breaker import BreakerOptions
from bot.dm_queue.worker import DmQueueOptions
from bot.leases import ledger
from bot.leases.failures import ErrorClass, SendError
from bot.transactions import fetch
from models.discord_message_log import DiscordMessageLog
from models.event import Event
from models.event_signup import EventSignup
from models.player_profile import PlayerProfile
from models.repeater_subscription import RepeaterSubscription
from models.states import SignupStatus
from tests.builders import HOUR, MINUTE, SECOND, FakeDiscord, dm_channel, refused
from tests.conftest import START
from tests.people import Fleet, SteadyClock, change, children, counts, know, opt_out, parent, sign_up, signup_event

TABLES = (
    "discord_message_log",
    "reminder_due",
    "event_signup",
    "repeater_subscription",
    "player_profile",
    "event",
    "event_repeater",
    "guild_settings",
    "dm_channel",
    "instance",
    "audit_log",
    "ops_note",
    "process_state",
)
PEOPLE = tuple(range(101, 107))
NAMES = ("one", "two")
STARTS_IN = HOUR
# So slow that what happens meets a fan-out under way: two minutes for all six.
OPTIONS = ServiceOptions(
    dm_queue=DmQueueOptions(
        max_depth=8,
        drain_rate=0.05,
        open_channels_rate=0.05,
        opening_pause=MINUTE,
        breaker=BreakerOptions(failures=3, within=5 * MINUTE, open_for=MINUTE),
    )
)


class World:
    """Two processes, a Discord and six subscribers."""

    def __init__(self, event: Event) -> None:
        self.event = event
        self.clock = ManualClock(START)
        self.steady = SteadyClock(self.clock)
        self.discord = FakeDiscord(self.steady)
        self.fleet = Fleet(self.discord, self.clock, options=OPTIONS)

    async def run(self, span: dt.timedelta) -> None:
        await self.fleet.run_until(self.clock.now() + span)
        self.check()

    def check(self) -> None:
        seen = {who: len(self.discord.dms(who)) for who in PEOPLE}
        assert max(seen.values()) <= 1, seen


class Step(Protocol):
    """One thing that happens."""

    async def take(self, world: World) -> None: ...


@dataclass(frozen=True, slots=True)
class Run:
    """Time passes, and everybody who lives does their work."""

    seconds: float

    async def take(self, world: World) -> None:
        await world.run(self.seconds * SECOND)


@dataclass(frozen=True, slots=True)
class Crash:
    """A process dies in its next call of a kind, before Discord took it or after."""

    name: str
    kind: str
    when: str

    async def take(self, world: World) -> None:
        if (line := world.fleet.lines.get(self.name)) is not None:
            line.crash_next(self.kind, self.when)


@dataclass(frozen=True, slots=True)
class Restart:
    """A process is killed, or stopped cleanly, and comes again."""

    name: str
    cleanly: bool

    async def take(self, world: World) -> None:
        if self.cleanly and self.name in world.fleet.bots:
            await world.fleet.bots[self.name].services.leave()
        await world.fleet.start(self.name)


@dataclass(frozen=True, slots=True)
class StandStill:
    """A process does nothing for a while, be it in the middle of a message, and then goes on."""

    name: str
    seconds: int
    in_a_message: bool

    async def take(self, world: World) -> None:
        if self.name not in world.fleet.bots:
            return

        async def _stand_still() -> None:
            if self.name in world.fleet.bots:
                wake = world.fleet.suspend(self.name)
                await world.run(self.seconds * SECOND)
                wake()

        if self.in_a_message:
            world.fleet.lines[self.name].throttle = _stand_still
        else:
            await _stand_still()


@dataclass(frozen=True, slots=True)
class Answers:
    """Discord answers the next calls so."""

    sends: tuple[tuple[ErrorClass, bool] | None, ...]
    openings: tuple[ErrorClass | None, ...]

    async def take(self, world: World) -> None:
        for one in self.sends:
            error = refused(one[0], arrived=one[1]) if one is not None else None
            world.discord.next_sends.append(error)
        for kind in self.openings:
            world.discord.next_openings.append(SendError(kind, kind.value) if kind is not None else None)


@dataclass(frozen=True, slots=True)
class Lose:
    """The next message is written and never heard of again; it did not arrive."""

    name: str

    async def take(self, world: World) -> None:
        if (line := world.fleet.lines.get(self.name)) is None:
            return

        async def _lose(_message: object) -> None:
            line.before_send = None
            raise refused(ErrorClass.OUTAGE, arrived=True)

        line.before_send = _lose


@dataclass(frozen=True, slots=True)
class Doors:
    """Somebody takes no DMs any more, or takes them again."""

    who: int
    closed: bool

    async def take(self, world: World) -> None:
        (world.discord.closed_dms.add if self.closed else world.discord.closed_dms.discard)(self.who)


@dataclass(frozen=True, slots=True)
class Mind:
    """Somebody signs up, opts out, or unsubscribes."""

    who: int
    what: str

    async def take(self, world: World) -> None:
        if self.what == "unsubscribe":
            await RepeaterSubscription.filter(user_id=self.who).delete()
        elif self.what == "sign up" and not await EventSignup.exists(user_id=self.who):
            await sign_up(world.event, [self.who])
        elif self.what == "opt out" and not await PlayerProfile.exists(user_id=self.who):
            await opt_out(self.who, "signup_reminder")


@dataclass(frozen=True, slots=True)
class ClockStep:
    """The clock of every process is set forward or back."""

    seconds: int

    async def take(self, world: World) -> None:
        world.steady.step(self.seconds * SECOND)
        world.fleet.move_clock(0 * SECOND)


@dataclass(frozen=True, slots=True)
class PutOff:
    """The event is put off by some minutes."""

    minutes: int

    async def take(self, world: World) -> None:
        event = await Event.get(id=world.event.id)
        if world.clock.now() < event.scheduled_at and await counts() is None:
            await change(event, scheduled_at=event.scheduled_at + self.minutes * MINUTE)


@dataclass(frozen=True, slots=True)
class Broken:
    """The next such statement on the message log fails, after its work was done or before; then time passes."""

    statement: str
    after: bool

    async def take(self, world: World) -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(ledger, self.statement, _failing_once(getattr(ledger, self.statement), after=self.after))
            await world.run(25 * SECOND)


def _failing_once(work: Callable[..., Awaitable[Any]], *, after: bool) -> Callable[..., Awaitable[Any]]:
    calls = 0

    async def _call(*values: Any, **options: Any) -> Any:  # noqa: ANN401
        nonlocal calls
        calls += 1
        if calls > 1:
            return await work(*values, **options)
        if after:
            await work(*values, **options)
        raise ConnectionResetError

    return _call


ANSWERS = st.none() | st.sampled_from(
    [
        (ErrorClass.OUTAGE, True),
        (ErrorClass.OUTAGE, False),
        (ErrorClass.RATE_LIMITED, False),
        (ErrorClass.OPENING_TOO_FAST, False),
        (ErrorClass.GONE, False),
    ]
)
OPENINGS = st.sampled_from([None, ErrorClass.OUTAGE, ErrorClass.OPENING_TOO_FAST, ErrorClass.RECIPIENT_UNREACHABLE])
STATEMENTS = [
    "claim_lease",
    "claim_lease",
    "claim_lease",
    "finalize_sent",
    "finalize_sent",
    "finalize_failed",
    "finalize_counted",
    "note_unknown",
    "take_over",
    "delete_held",
    "renew",
]
NAME, WHO = st.sampled_from(NAMES), st.sampled_from(PEOPLE)
STEPS = st.one_of(
    st.builds(Run, st.sampled_from([1, 10, 21, 31, 45, 65, 130, 310])),
    st.builds(Crash, NAME, st.sampled_from(["dm", "dm", "opening", "find"]), st.sampled_from(["before", "after"])),
    st.builds(Restart, NAME, st.booleans()),
    st.builds(StandStill, NAME, st.sampled_from([6, 40, 100, 400]), st.booleans()),
    st.builds(Answers, st.lists(ANSWERS, max_size=4).map(tuple), st.lists(OPENINGS, max_size=3).map(tuple)),
    st.builds(Lose, NAME),
    st.builds(Doors, WHO, st.booleans()),
    st.builds(Mind, WHO, st.sampled_from(["sign up", "opt out", "unsubscribe"])),
    st.builds(ClockStep, st.sampled_from([-3_600, -70, -5, 7, 45, 400, 1_800])),
    st.builds(PutOff, st.sampled_from([5, 60])),
    st.builds(Broken, st.sampled_from(STATEMENTS), st.booleans()),
)


async def still_wanted() -> set[int]:
    """Who is subscribed, has said nothing and wants DMs."""
    subscribed = set(await RepeaterSubscription.all().values_list("user_id", flat=True))
    said = set(await EventSignup.exclude(status=SignupStatus.DECLINED).values_list("user_id", flat=True))
    out = set(await PlayerProfile.all().values_list("user_id", flat=True))
    return {int(who) for who in subscribed - said - out}  # type: ignore[call-overload]


async def quieten(world: World) -> None:
    """Let nothing more go wrong until the event has begun."""
    world.discord.next_sends.clear()
    world.discord.next_openings.clear()
    for name in NAMES:
        line = world.fleet.lines.get(name)
        if line is None or line.is_cut:
            await world.fleet.start(name)
        else:
            line.crash_at = line.throttle = line.before_send = None
    await world.run(12 * MINUTE)
    world.fleet.passes_every = 5 * MINUTE
    starts_at = (await Event.get(id=world.event.id)).scheduled_at
    await world.run(max(starts_at - world.clock.now(), 0 * MINUTE) + 15 * MINUTE)


async def check_rest(world: World) -> None:
    """Nothing is open, and everybody who is still to be asked was, or has a reason."""
    rows = await DiscordMessageLog.all()
    assert [row for row in rows if row.success is None] == []
    # That the event had begun is a reason only where it really had.
    starts_at = (await Event.get(id=world.event.id)).scheduled_at
    begun = [row for row in rows if row.error_class == ErrorClass.EVENT_STARTED and row.attempts == 0]
    assert [row.recipient_id for row in begun if row.finished_at and row.finished_at < starts_at] == []
    held = await parent()
    assert held is not None
    # Taken up by nobody before the start: the reason of all who were not reached yet.
    missed = held.error_class == ErrorClass.EVENT_STARTED
    assert held.success or missed
    known = await children()
    for who in await still_wanted():
        if not world.discord.dms(who) and not missed:
            assert who in known, (who, known)
            assert known[who][-1][0] is False
            assert known[who][-1][1]
    for who in PEOPLE:
        recorded = any(success for success, _ in known.get(who, []))
        assert recorded == bool(world.discord.dms(who)), (who, known.get(who))
    assert all(bot.services.fan_outs._running == {} for bot in world.fleet.bots.values())
    assert all(len(bot.services.dms.queue) == 0 for bot in world.fleet.bots.values())


async def live(url: str, steps: list[Step]) -> None:
    async with opened(url):
        for table in TABLES:  # what the example before left
            await fetch(f"DELETE FROM {table}")  # noqa: S608 -- their names stand above
        event = await signup_event(PEOPLE, starts_in=STARTS_IN)
        await know(PEOPLE[::2])
        world = World(event)
        for name in NAMES:
            await world.fleet.start(name)
        for step in steps:
            await step.take(world)
            world.check()
        await quieten(world)
        await check_rest(world)


def example(url: str, steps: list[Step]) -> None:
    with structlog.testing.capture_logs():
        asyncio.run(live(url, steps))


EXAMPLES = settings(
    max_examples=30,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@pytest.mark.timeout(240)
@EXAMPLES
@given(steps=st.lists(STEPS, max_size=12))
def test_nobody_is_asked_twice_and_everybody_is_asked_or_has_a_reason(sqlite_template: Path, steps: list[Step]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tocsin.db"
        shutil.copyfile(sqlite_template, path)

        example(f"sqlite://{path}", steps)


@pytest.mark.postgres
@pytest.mark.timeout(240)
@settings(EXAMPLES, max_examples=6)
@given(steps=st.lists(STEPS, max_size=12))
def test_nobody_is_asked_twice_on_postgres_either(postgres_url: str, steps: list[Step]) -> None:
    example(postgres_url, steps)


def test_the_message_channel_of_a_person_is_told_from_a_post() -> None:
    assert dm_channel(0) < dm_channel(min(PEOPLE))
