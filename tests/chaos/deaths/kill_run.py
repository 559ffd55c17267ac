"""One kill from its world's beginning to its rest: the deaths, the pauses, and whoever comes after."""

import asyncio
import datetime as dt
import multiprocessing
import os
import random
import signal
import time
import uuid
from dataclasses import dataclass, replace
from multiprocessing.process import BaseProcess
from pathlib import Path

from aiohttp import web
from aiohttp.typedefs import Handler

from bot.bootstrap import ServiceOptions
from bot.scheduling import bodies
from tests.chaos.deaths import kill_world
from tests.chaos.deaths.common_clock import CommonClock
from tests.chaos.deaths.crash_points import DIRECT, Step
from tests.chaos.deaths.kill_deeds import Deed, DeedKind
from tests.chaos.deaths.kill_oracle import Death, History, judged
from tests.chaos.deaths.kill_point import Point
from tests.chaos.deaths.kill_points import second_deaths
from tests.chaos.deaths.kill_stub import KillStub
from tests.chaos.deaths.kill_world import PRESSER, World
from tests.chaos.deaths.killed_process import Life, live
from tests.chaos.proof import Figures, Share
from tests.wire.discord_stub import CHANNEL, running_stub

_START = dt.datetime(2026, 3, 1, 9, 0, tzinfo=dt.UTC)
# Past the bounds of R2, so that what comes too late shows as late and not as lost.
_RESTART_HORIZON, _TAKE_OVER_HORIZON = dt.timedelta(seconds=135), dt.timedelta(seconds=195)
_KILLED_LIFE = dt.timedelta(seconds=100)
_PRESS_AFTER = dt.timedelta(seconds=5)
_STOP_AFTER = dt.timedelta(milliseconds=300)
_PRESS = "press"
# Whose ids and Dates are not of the bot's own time, in seconds.
_DISCORD_AHEAD_BY = (-3600, -20, -3, 0, 0, 3, 20, 3600)
# Of real time, for a machine that is busy with other things.
_PATIENCE_SECONDS = 90.0
_GLANCE_SECONDS = 0.005
_PERIODS = ServiceOptions()


@dataclass(frozen=True, slots=True)
class Unit:
    """One kill: at which point, under which nonce window, with everything else by chance of the seed."""

    seed: int
    point: Point
    window: dt.timedelta | None

    def __str__(self) -> str:
        window = "endless" if self.window is None else f"{self.window.total_seconds():.0f} s"
        return f"seed {self.seed}: {self.point.name}, nonce window {window}"


class Matrix:
    """The kills of one share, in one database, by children of one server that has imported the bot."""

    def __init__(self, share: Share, url: str, *, broken: str | None) -> None:
        self._url = url
        self._broken = broken
        self._report = share.databases.folder / f"report-{uuid.uuid4().hex}"
        self._clock_file = share.databases.folder / f"clock-{uuid.uuid4().hex}"
        self._clock = CommonClock.begun(self._clock_file, _START)
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload([live.__module__])

    def close(self) -> None:
        """Remove what it kept beside the database."""
        self._clock_file.unlink()
        self._report.unlink(missing_ok=True)

    async def tried(self, unit: Unit) -> Figures:
        """Kill once, let the successors come to rest, and judge what is left."""
        chance = random.Random(f"{unit.seed} {unit.point.name} {unit.window}")
        self._clock.set(_START + dt.timedelta(seconds=chance.randrange(3 * 3600)))
        await kill_world.empty()
        ahead_by = dt.timedelta(seconds=chance.choice(_DISCORD_AHEAD_BY))
        stub = KillStub(now=lambda: self._clock.now() + ahead_by, nonce_window=unit.window)
        world = await World.made(chance, stub, now=self._clock.now(), discord_ahead_by=ahead_by)
        if unit.point.story is not None:
            world.story = await unit.point.story.begun(stub, now=self._clock.now())
        run = _Run(self, stub, world, unit.point, chance)
        async with running_stub(stub, middlewares=[run.wake_the_hung]):
            try:
                figures = await run.through()
            except UnitBrokenError as broken:
                figures = Figures(runs=1, faults=[str(broken)])
        figures.faults = [f"{unit}: {fault}" for fault in figures.faults]
        return figures

    @property
    def now(self) -> dt.datetime:
        """The virtual time."""
        return self._clock.now()

    def wait(self, span: dt.timedelta) -> None:
        """Let virtual time go by in which no process lives."""
        self._clock.advance(span)

    def begin(self, stub: KillStub, life: Life) -> BaseProcess:
        """Start one life."""
        whole = replace(
            life,
            url=self._url,
            clock=self._clock_file,
            api=f"{stub.base}/api/v10",
            report=self._report,
            broken=self._broken,
        )
        self._report.unlink(missing_ok=True)
        process = self._context.Process(target=live, args=(whole,), daemon=True)
        process.start()
        return process

    async def ended(self, process: BaseProcess) -> bool:
        """
        Wait for the end of a life; return whether it was killed.

        Raises:
            UnitBrokenError: it ended in an error, or not at all.
        """
        loop, over = asyncio.get_running_loop(), asyncio.Event()
        # Not from a thread: starting another process looks after this one too, and only one of them hears its end.
        loop.add_reader(process.sentinel, over.set)
        try:
            await asyncio.wait_for(over.wait(), _PATIENCE_SECONDS)
        except TimeoutError:
            process.kill()
            raise UnitBrokenError("a process did not come to its end") from None
        finally:
            loop.remove_reader(process.sentinel)
        process.join()
        if process.exitcode not in {0, -signal.SIGKILL}:
            said = self._report.read_text() if self._report.exists() else ""
            raise UnitBrokenError(f"a process ended in {process.exitcode}: {said[-2000:]}")
        return process.exitcode != 0


class UnitBrokenError(Exception):
    """A unit could not be brought to its end."""


class _Run:
    """One world through its deaths to its rest."""

    def __init__(self, matrix: Matrix, stub: KillStub, world: World, point: Point, chance: random.Random) -> None:
        self._matrix = matrix
        self._stub = stub
        self._world = world
        self._point = point
        self._chance = chance
        self._deaths: list[Death] = []
        self._hung: BaseProcess | None = None

    async def through(self) -> Figures:
        point, nth = self._point, self._chance.randint(1, self._point.most)
        if point.after is not None:
            await self._dies(Step((point.after,)))
            self._matrix.wait(point.pause or self._pause())
        if point.hangs:
            await self._hangs(point)
        else:
            await self._dies(point.step(nth), stops=point.stops)
        if not (point.hangs or point.after or self._chance.random() < 0.75):
            self._matrix.wait(self._pause())
            healed_from = self._matrix.now
            again = Step((self._chance.choice(second_deaths(point)),))
            if not await self._live("one", _RESTART_HORIZON, (again,)):
                return await self._judged(healed_from, taken_over=False)
        return await self._healed(taken_over=point.hangs or self._chance.random() < 0.3)

    async def _healed(self, *, taken_over: bool) -> Figures:
        """Let one more life go on with what the dead left, and judge what it comes to."""
        if not taken_over:
            self._matrix.wait(self._pause())
        healed_from = self._matrix.now
        span = _TAKE_OVER_HORIZON if taken_over else _RESTART_HORIZON
        rested = self._rested() if taken_over else {}
        if await self._live("two" if taken_over else "one", span, rested=rested):
            raise UnitBrokenError("the last life was killed")
        if self._hung is not None:
            raise UnitBrokenError("nobody woke the process that hung")
        # Only a process that starts looks at once for what is due; the other one when its next poll has come.
        until_poll = _PERIODS.poll - rested[bodies.CHECK_EVENT_REMINDERS] if taken_over else dt.timedelta(0)
        return await self._judged(healed_from, taken_over=taken_over, polled_from=healed_from + until_poll)

    async def _judged(
        self, healed_from: dt.datetime, *, taken_over: bool, polled_from: dt.datetime | None = None
    ) -> Figures:
        answered = {_PRESS, *(one.token for one in self._world.story.deeds)} <= self._stub.deferred.keys()
        history = History(self._deaths, healed_from, polled_from or healed_from, taken_over, answered)
        return await judged(self._world, self._stub, history)

    def _pause(self) -> dt.timedelta:
        """Return how long a process takes to come back: mostly seconds, sometimes past every nonce and timeout."""
        return dt.timedelta(seconds=self._chance.choice([1, 2, 5, 10, 20, 40, 75, 200, 400]))

    def _rested(self) -> dict[str, dt.timedelta]:
        """Return where the loops of a process are that has been there all along."""
        periods = {
            bodies.INSTANCE_HEARTBEAT: _PERIODS.heartbeat_every,
            bodies.SWEEP_STALE_DISCORD_LEASES: _PERIODS.sweep_every,
            bodies.CHECK_EVENT_REMINDERS: _PERIODS.poll,
            bodies.SYNC_DISCORD_EVENTS: _PERIODS.sync_every,
            bodies.DRIVE_FAN_OUTS: _PERIODS.poll,
            bodies.DRAIN_DM_QUEUE: _PERIODS.poll,
        }
        rested = {name: period * self._chance.random() for name, period in periods.items()}
        # Hourly; here it is about to come, so that what it is to do is seen before the end.
        rested[bodies.GENERATE_UPCOMING_EVENTS] = _PERIODS.generate_every - _PERIODS.sweep_every * self._chance.random()
        periods = {
            bodies.OPEN_SCHEDULED_SIGNUPS: _PERIODS.state_every,
            bodies.TELL_PROMOTIONS: _PERIODS.poll,
            bodies.TELL_TIME_CHANGES: _PERIODS.sync_every,
            bodies.SYNC_ATTENDEE_ROLES: _PERIODS.sync_every,
        }
        return rested | {name: period * self._chance.random() for name, period in periods.items()}

    async def _dies(self, step: Step, *, stops: bool = False) -> None:
        if not await self._live("one", _KILLED_LIFE, (step,), stops_after=_STOP_AFTER if stops else None):
            raise UnitBrokenError(f"no process came by {' or '.join(step.places)}")

    async def _hangs(self, point: Point) -> None:
        self._hung = self._matrix.begin(self._stub, self._life("one", _KILLED_LIFE, (point.step(1), point.once_awake)))
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while _state_of(self._hung) != "T":
            if time.monotonic() > deadline or not self._hung.is_alive():
                self._hung.kill()
                raise UnitBrokenError("no process stood still")
            await asyncio.sleep(_GLANCE_SECONDS)
        self._deaths.append(Death(self._matrix.now, await kill_world.open_claims()))

    @web.middleware
    async def wake_the_hung(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Let the process that hangs go on where it was, once the history was read that does not show its message."""
        answer = await handler(request)
        channel = request.match_info.get("channel", "")
        is_dm = channel != str(CHANNEL)
        is_history = request.method == "GET" and request.path.endswith("/messages")
        is_meant = is_history and is_dm == (self._point.kind in DIRECT)
        if self._point.kind == "native":
            is_meant = request.method == "GET" and request.path.endswith("/scheduled-events")
        if self._hung is not None and is_meant:
            hung, self._hung = self._hung, None
            assert hung.pid is not None
            os.kill(hung.pid, signal.SIGCONT)
            await self._matrix.ended(hung)
        return answer

    async def _live(
        self,
        name: str,
        span: dt.timedelta,
        steps: tuple[Step, ...] = (),
        *,
        rested: dict[str, dt.timedelta] | None = None,
        stops_after: dt.timedelta | None = None,
    ) -> bool:
        """Live one life; return whether it ended in a death."""
        life = replace(self._life(name, span, steps), rested=rested or {})
        if stops_after is not None:
            life = replace(life, stops_at=self._matrix.now + stops_after)
        was_killed = await self._matrix.ended(self._matrix.begin(self._stub, life))
        if was_killed:
            self._deaths.append(Death(self._matrix.now, await kill_world.open_claims()))
        return was_killed

    def _life(self, name: str, span: dt.timedelta, steps: tuple[Step, ...]) -> Life:
        nowhere, story = Path(), self._world.story
        press = Deed(DeedKind.SIGN_UP, _PRESS, self._world.announced_id, _PRESS_AFTER, user_id=PRESSER)
        # Whoever got no answer does it again.
        deeds = tuple(one for one in (press, *story.deeds) if one.token not in self._stub.deferred)
        return Life("", nowhere, "", name, self._matrix.now + span, nowhere, steps, deeds, story.changed)


def _state_of(process: BaseProcess) -> str:
    """Return the state of a process as the kernel tells it, T for one that stands still."""
    try:
        return Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return ""
