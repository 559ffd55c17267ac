"""
A bot in a bad world: its processes one after another, the machine under them, the database, and what goes wrong.

What is planned, faults and whatever else shall happen, comes between two moments of the driver, as the world outside
knows nothing of what the bot is doing. A loop that waits for no moment of its own still looks every so often, and so do
the bodies here: soon after each fault, and once an hour.
"""

import dataclasses
import datetime as dt
import heapq
import itertools
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from bot.bootstrap import Services
from bot.client import TocsinBot
from bot.clock import Clock, InjectedLeaseClock
from bot.delivery.request_gate import RequestGate
from bot.demo.crashes import SimulatedCrashError
from bot.demo.database_gate import DatabaseGate
from bot.demo.driver import AfterPass, Driver
from bot.demo.fault_bringer import FaultBringer
from bot.demo.fault_plan import MET_BY_REQUESTS, Fault, FaultKind
from bot.demo.faulty_transport import FaultyTransport
from bot.demo.machine_clock import FollowingClock, Machine, MachineClock
from bot.demo.trace import Trace
from bot.demo.world import World

Action = Callable[[], Awaitable[None]]

_COMES_BACK_AFTER = dt.timedelta(seconds=5)
_LOOKS_EVERY = dt.timedelta(hours=1)
_OFTEN = dt.timedelta(minutes=1)
# The loops look every half minute; what nothing changes they would find the same, so that fewer looks will do.
_LOOKS_AFTER_FAULT = tuple(dt.timedelta(seconds=s) for s in (30, 120, 480, 1_800))


@dataclass(frozen=True, slots=True)
class Disturbance:
    """
    From when to when, by the world, something was wrong; ``step``: how far the clock was set off meanwhile.

    ``about``: the person whose DMs were closed, or the event whose post was deleted; 0: nobody and nothing.
    """

    begins: dt.datetime
    ends: dt.datetime
    kind: FaultKind
    step: dt.timedelta = dt.timedelta(0)
    about: int = 0


async def _nothing_more() -> None:
    return None


async def _no_pass(_body: str) -> None:
    return None


class TroubledLife:
    """
    One world with a plan of faults; the database must be open, with one connection.

    ``follows``: the process goes by a database on another machine, whose clock is right; else both run on one machine.
    ``recovered``, ``attempted`` and ``acknowledged`` count over all processes that ended.
    """

    def __init__(
        self,
        world: World,
        faults: Sequence[Fault],
        *,
        follows: bool = True,
        extensions: Sequence[str] = (),
        is_stopped: Callable[[], bool] = lambda: False,
        after_pass: AfterPass = _no_pass,
        after_moment: Action = _nothing_more,
    ) -> None:
        self.world = world
        self.trace = Trace(world.now)
        self.gate = DatabaseGate()
        self.machine = Machine(world.now)
        self.disturbances: list[Disturbance] = []
        self.kills = self.recovered = self.attempted = self.acknowledged = 0
        self._follows = follows
        self._extensions = extensions
        self._is_stopped = is_stopped
        self._after_pass = after_pass
        self._after_moment = after_moment
        self._bringer = FaultBringer(self)
        self._for_requests = [one for one in faults if one.kind in MET_BY_REQUESTS]
        self._planned: list[tuple[dt.datetime, int, Action]] = []
        self._order = itertools.count()
        self._looks: set[dt.datetime] = set()
        self._bot: TocsinBot | None = None
        self._clock: Clock = world.clock
        self._transport: FaultyTransport | None = None
        for fault in faults:
            if fault.kind not in MET_BY_REQUESTS:
                self.plan(fault.at, self._brings(fault))

    @property
    def bot(self) -> TocsinBot:
        """The bot of the process now running."""
        assert self._bot is not None  # noqa: S101 -- start() made it
        return self._bot

    @property
    def services(self) -> Services:
        """The services of the process now running."""
        return self.bot.services

    @property
    def transport(self) -> FaultyTransport:
        """The transport of the process now running."""
        assert self._transport is not None  # noqa: S101 -- start() made it
        return self._transport

    def bot_now(self) -> dt.datetime:
        """Return what the process now running takes for the time."""
        return self._clock.now()

    def plan(self, at: dt.datetime, action: Action) -> None:
        """Let something happen at a moment, before what the bot does then."""
        heapq.heappush(self._planned, (at, next(self._order), action))

    async def start(self) -> None:
        """Start a process: the first one, or the next after a death."""
        self._clock = FollowingClock(self.machine) if self._follows else MachineClock(self.machine)
        agreed: Clock = self.world.clock if self._follows else self._clock
        bot = TocsinBot(
            clock=self._clock,
            lease_clock=InjectedLeaseClock(agreed),
            instance_name="simulated",
            extensions_to_load=self._extensions,
            gate=RequestGate(seconds=lambda: self.world.now().timestamp(), sleep=self._wait),
        )
        hooks = bot.http.http_trace
        if self._transport is None:
            self.gate.put_up()
        was_down = self._transport is not None and self._transport.is_down
        with self.gate.open():
            await self.world.attach(bot)
        self._transport = FaultyTransport(
            self._for_requests, world=self.world, bot_now=self._clock.now, trace=self.trace, on_met=self._note
        )
        self._transport.is_down = was_down
        self._transport.wrap(bot.http, hooks)
        self._bot = bot
        self.trace.add("process started")
        self._bringer.meet(bot)

    async def _wait(self, seconds: float) -> None:
        """Let the world's time pass while something waits for Discord's limits."""
        self.world.advance_to(self.world.now() + dt.timedelta(seconds=max(seconds, 0.001)))

    async def run_until(self, end: dt.datetime) -> None:
        """Let the world's time pass up to ``end`` with all that is planned, and as many processes as it takes."""
        while not self._is_stopped():
            upcoming = self._planned[0][0] if self._planned else end
            await self._drive(min(end, upcoming))
            if self._is_stopped():
                return
            if self.transport.crashed:
                await self._restart()
                continue
            if not self._planned or self._planned[0][0] > self.world.now():
                if self.world.now() >= end:
                    return
                continue
            _, _, action = heapq.heappop(self._planned)
            await action()

    async def run_to_rest(self, limit: dt.timedelta, is_at_rest: Callable[[], Awaitable[bool]]) -> None:
        """Go on until ``is_at_rest``, for ``limit`` at most; nothing new goes wrong meanwhile."""
        self._for_requests.clear()
        self.gate.heal()
        end = self.world.now() + limit
        while not self._is_stopped() and self.world.now() < end:
            with self.gate.open():
                if await is_at_rest():
                    return
            self._wake(dt.timedelta.max)
            await self.run_until(min(end, self.world.now() + dt.timedelta(minutes=1)))

    async def end(self) -> None:
        """End the process now running: well, unless it is dead already."""
        self._count()
        with self.gate.open():
            if not self.transport.crashed:
                await self.services.settle()
                await self.services.leave()
            else:
                await self.services.cut_off()
        await self._after_moment()
        await self.world.detach()

    async def _drive(self, end: dt.datetime) -> None:
        driver = Driver(
            self.world,
            self.services,
            clock=self._clock,
            is_stopped=lambda: self._is_stopped() or self.transport.crashed,
            after_pass=self._after_pass,
        )
        try:
            await driver.run_until(end, after_moment=self._after_moment)
        except SimulatedCrashError:
            self.transport.crash()

    async def _restart(self) -> None:
        killed_by = self.transport.killed_by
        self.kills += 1
        self._count()
        with self.gate.open():
            await self.services.cut_off()
        await self._after_moment()
        await self.world.detach()
        self.trace.add("process died")
        back = self.world.now() + max(_COMES_BACK_AFTER, killed_by.lasts if killed_by is not None else dt.timedelta(0))
        self.world.advance_to(back)
        await self.start()
        self._look_soon()

    def _count(self) -> None:
        self.attempted += self.transport.attempted
        self.acknowledged += self.transport.acknowledged
        sweeps = self.services.sweeper.counts
        self.recovered += sweeps.found + sweeps.released

    def _brings(self, fault: Fault) -> Action:
        async def _bring() -> None:
            self.trace.add(f"fault {fault}")
            ends = self.world.now() + fault.lasts
            place = len(self.disturbances)
            self._note(fault)
            brought = await self._bringer.bring(fault)
            self._correct(place, about=brought.about)
            over = brought.over
            if over is not None:

                async def _over() -> None:
                    self.trace.add(f"over {fault.kind}")
                    over()
                    # A machine that stood still meanwhile kept it from ending in time.
                    self._correct(place, ends=self.world.now())
                    self._look_soon()

                self.plan(ends, _over)

        return _bring

    def _note(self, fault: Fault) -> None:
        """Remember that something is wrong, and let the bodies look soon."""
        now = self.world.now()
        self.disturbances.append(Disturbance(now, now + fault.lasts, fault.kind, fault.step))
        self._look_soon()

    def _correct(self, place: int, **known: Any) -> None:  # noqa: ANN401 -- fields of a disturbance
        self.disturbances[place] = dataclasses.replace(self.disturbances[place], **known)

    def _look_soon(self) -> None:
        now = self.world.now()
        for after in _LOOKS_AFTER_FAULT:
            # To the second: many faults of one moment are one look.
            at = (now + after).replace(microsecond=0)
            if at not in self._looks:
                self._looks.add(at)
                self.plan(at, self._look)

    async def _look(self) -> None:
        self._looks = {at for at in self._looks if at > self.world.now()}
        self._wake(_OFTEN)

    async def look_every_hour(self) -> None:
        """Let every body look once an hour from now on."""
        self._wake(dt.timedelta.max)
        self.plan(self.world.now() + _LOOKS_EVERY, self.look_every_hour)

    def _wake(self, longest_period: dt.timedelta) -> None:
        for body in self.services.bodies:
            if body.period <= longest_period:
                self.services.agenda.wake(body.name, self.bot_now())
