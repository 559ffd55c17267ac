"""
``tocsin simulate --faults``: the same schedule with everything going wrong that goes wrong in life.

What goes wrong, and when, is chance of the seed alone, and so is all that follows: the hash of the trace is the same
each time. The last hours are left alone, so that what was held up can come to rest.
"""

import datetime as dt
import random
from collections.abc import Callable
from dataclasses import dataclass

from bot.demo.counts import Counts
from bot.demo.fault_plan import Fault, FaultKind, plan_faults
from bot.demo.people import Members
from bot.demo.sightings import Sighting, Watcher
from bot.demo.simulate import Simulation, empty_database, prepare, unsettled
from bot.demo.troubled_life import TroubledLife
from bot.demo.world import World
from bot.scheduling.bodies import OPEN_SCHEDULED_SIGNUPS

FAULTS_A_DAY = 10
_CALM_AT_END = dt.timedelta(hours=2)
_REST = dt.timedelta(minutes=30)
_COUNTS = ("attempted", "acknowledged", "ok", "lost", "duplicated", "unexpected", "recovered", "unknown", "crashes")


@dataclass(frozen=True, slots=True)
class Troubles:
    """What a run with faults came to: its counts, how many faults were met, and the hash of all that happened."""

    counts: Counts
    faults: int
    trace: str

    def as_line(self) -> str:
        """Return it on one line, name by name."""
        told = " ".join(f"{name}={getattr(self.counts, name)}" for name in _COUNTS)
        return f"{told} faults={self.faults} trace={self.trace}"


class TroubledSimulator:
    """One run of one simulation with faults, in the database that is open with one connection."""

    def __init__(
        self, plan: Simulation, *, tell: Callable[[Sighting], None], is_stopped: Callable[[], bool] = lambda: False
    ) -> None:
        self._plan = plan
        self._tell = tell
        self._world = World(plan.start)
        self._members = Members(0, ())
        self._sightings: list[Sighting] = []
        self._life = TroubledLife(
            self._world,
            _faults_of(plan),
            is_stopped=is_stopped,
            after_pass=self._after_pass,
            after_moment=self._flush,
        )
        self._watcher = Watcher(self._world, left_at=self._left_at)

    async def run(self) -> Troubles:
        """Run to the end, or until stopped."""
        life = self._life
        await life.start()
        try:
            with life.gate.open():
                self._members = await prepare(self._world, self._plan)
            await life.look_every_hour()
            await life.run_until(self._plan.end)
            await life.run_to_rest(_REST, self._is_at_rest)
        finally:
            await life.end()
        counts = Counts(attempted=life.attempted, acknowledged=life.acknowledged, recovered=life.recovered)
        counts.crashes = life.kills
        reached = min(self._plan.end, self._world.now())
        await counts.judge(self._sightings, self._members, start=self._plan.start, end=reached)
        return Troubles(counts, len(life.disturbances), life.trace.hash())

    async def _after_pass(self, body: str) -> None:
        if body == OPEN_SCHEDULED_SIGNUPS:
            with self._life.gate.open():
                await self._members.sign_up(self._life.services, now=self._life.bot_now())

    def _left_at(self) -> dt.datetime | None:
        left = self._life.transport.left_at
        return left[0] if left is not None else None

    async def _flush(self) -> None:
        with self._life.gate.open():
            for sighting in await self._watcher.take():
                if sighting.due_at is None or sighting.due_at < self._plan.end:
                    self._sightings.append(sighting)
                    self._tell(sighting)

    async def _is_at_rest(self) -> bool:
        return not await unsettled(self._plan.end, now=self._world.now())


async def simulate_with_faults(
    plan: Simulation, *, tell: Callable[[Sighting], None], is_stopped: Callable[[], bool] = lambda: False
) -> Troubles:
    """
    Run a simulation with faults in a database of its own; ``tell`` gets each message as it becomes visible.

    It comes out the same each time on an :class:`~bot.demo.ordered_loop.OrderedLoop`.

    Raises:
        DatabaseNotEmptyError: the database holds rows.
        DatabaseUnavailableError: it cannot be opened.
    """
    # Of several connections the faster one would decide what comes first.
    async with empty_database(plan.database_url, pool_size=1):
        return await TroubledSimulator(plan, tell=tell, is_stopped=is_stopped).run()


def _faults_of(plan: Simulation) -> list[Fault]:
    """Return what goes wrong in a simulation, with the deaths that were asked for beside."""
    chance = random.Random(f"faults {plan.seed}")  # noqa: S311 -- repeatable, not secret
    until = max(plan.start + _CALM_AT_END, plan.end - _CALM_AT_END)
    found = plan_faults(FAULTS_A_DAY * plan.days, chance=chance, start=plan.start, end=until)
    for number in range(plan.crashes):
        kind = FaultKind.KILL_AFTER if number % 2 == 0 else FaultKind.KILL_BEFORE
        found.append(Fault(plan.start + (until - plan.start) * chance.random(), kind))
    return sorted(found, key=lambda one: (one.at, one.kind))
