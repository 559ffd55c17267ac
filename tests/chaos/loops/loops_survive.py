"""
R14: every loop survives every exception, goes on by itself, and says when it is late.

A seed chooses the body, the place, the kind of exception and the call at which it strikes. The real shells run the
bodies that the services name, so that a new one is tried by itself; what is late is told by a monotonic clock that is
moved by hand.

Covered: with 8 places and 29 kinds, each 8 seeds for every body are all bodies at all places, and the kind goes on by
one. The 64 seeds for every body of ``make chaos`` are every kind at every place and, at one place or more, in every
body; the kinds on PostgreSQL are others than on SQLite. All of bodies x places x kinds, 232 seeds for every body, with
13 bodies: ``make chaos CHAOS_ARGS="R14 --seeds 3016"``.
"""

import asyncio
import contextlib
import datetime as dt
import random
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator, Sequence
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import TYPE_CHECKING
from unittest import mock

import structlog.testing

from bot import loops as shells
from bot.database import opened
from bot.loops import LoopSet
from bot.scheduling.agenda import Body
from bot.transactions import Dialect
from models.discord_message_log import DiscordMessageLog
from tests.chaos.loops.loop_world import LoopWorld, a_process, is_of_second, stored
from tests.chaos.loops.planted_faults import KINDS, Fault, Place, faulty_statements
from tests.chaos.proof import Figures, Finding, Proof, Share, none_of

if TYPE_CHECKING:
    from structlog.typing import EventDict

# Far beyond what a busy machine takes: it runs out only where something stands still.
_PATIENCE_SECONDS = 90
# How soon the tried body comes round by itself; the others only when they are woken.
_PERIOD = dt.timedelta(milliseconds=20)
# A fault at the n-th call: what is not reached in the first passes is reached in a later one, as the work goes on. Of
# requests there are few: one or two a guild.
_CALLS_BEFORE = {Place.STATEMENT: 12, Place.ANSWER: 12, Place.REQUEST: 3, Place.RESPONSE: 3}
_ROUNDS = (
    *[dt.timedelta(seconds=5)] * 8,
    *[dt.timedelta(seconds=61)] * 6,
    *[dt.timedelta(minutes=11)] * 2,
    *[dt.timedelta(minutes=61)] * 2,
)
# They pass what catches every Exception: a task that they end is taken up again by the next pass, without a word.
_CANCEL_NOTHING = frozenset({"CancelledError", "GeneratorExit"})
_LOUD = frozenset({"warning", "error", "critical"})
_ROUNDS_WITH_BAD_ITEM = 6
# Most of the bodies ask Discord for nothing. Two meet no item by itself: the heartbeat has none, and promotions are
# read in one statement and sent by the queue.
_STRUCK_AT_LEAST = {
    Place.STATEMENT: 0.9,
    Place.ANSWER: 0.9,
    Place.REQUEST: 0.3,
    Place.RESPONSE: 0.3,
    Place.ITEM: 0.8,
}
_BODIES = len(a_process().services.bodies)
_SEEDS = 64 * _BODIES
EVERYTHING = len(Place) * len(KINDS) * _BODIES
"""So many seeds are all bodies at all places with all kinds."""
_KINDS_ON = {Dialect.SQLITE: 0, Dialect.POSTGRES: 8}
_GLANCE_SECONDS = 0.002


@dataclass(slots=True)
class _Tried:
    """
    One unit: what is struck, and what was seen of every body's passes.

    ``ended``: passes of the tried one, good or not. ``seconds``: the loops' monotonic clock.
    """

    name: str
    fault: Fault
    good: Counter[str] = field(default_factory=Counter)
    ended: int = 0
    seconds: float = 1_000.0
    asked: int = 0

    def monotonic(self) -> float:
        """Return the time that stands still until it is moved; the supervisor asks at each of its turns."""
        self.asked += 1
        return self.seconds

    def let_it_be_late(self) -> None:
        """Move on past the moment from which the tried loop counts as overdue; no other one's is that near."""
        self.seconds += 3 * _PERIOD.total_seconds() + 1

    def watched(self, body: Body) -> Body:
        """Return the body with its good passes counted; the tried one is struck, and comes round by itself soon."""
        is_tried = body.name == self.name

        async def _step(now: dt.datetime) -> dt.datetime | None:
            with self.fault.armed() if is_tried else contextlib.nullcontext():
                try:
                    if is_tried:
                        await self.fault.at(Place.BEGIN)
                    upcoming = await body.step(now)
                finally:
                    self.ended += is_tried
            self.good[body.name] += 1
            return upcoming

        return replace(body, step=_step, period=_PERIOD if is_tried else body.period)


def run(share: Share) -> Figures:
    """Try each seed on a database of its own."""
    figures = Figures()
    for seed in share.seeds:
        asyncio.run(_seed(seed, share, figures))
    return figures


async def _seed(seed: int, share: Share, figures: Figures) -> None:
    assert share.dialect is not None
    figures.runs += 1
    async with share.databases.fresh(share.dialect) as url, opened(url):
        world = await stored(a_process())
        tried = _chosen(seed, [body.name for body in world.services.bodies], share.dialect)
        what = f"{tried.fault.kind} {tried.fault.place.value} of {tried.name}"
        with structlog.testing.capture_logs() as told, faulty_statements(), _quick_shells(tried):
            trial = _Trial(world, tried, told, figures)
            try:
                await trial.run()
            finally:
                await trial.end()
    figures.attempted += bool(tried.fault.fired)
    figures.sample(_struck_at(tried.fault.place), float(bool(tried.fault.fired)))
    figures.ok += not trial.broken
    figures.recovered += bool(tried.fault.fired and not trial.broken)
    figures.faults += [f"seed {seed}: {what}: {fault}" for fault in trial.broken]


def _struck_at(place: Place) -> str:
    return f"struck {place.value}"


def _chosen(seed: int, names: Sequence[str], dialect: Dialect = Dialect.SQLITE) -> _Tried:
    """Return what a seed stands for: bodies, places and kinds each in turn; the call is drawn."""
    turn, rest = divmod(seed, len(names) * len(Place))
    number, body = divmod(rest, len(names))
    place = list(Place)[number]
    # A leaked cancellation ends the pass by design: the other items come with the next one.
    kinds = [kind for kind in KINDS if place is not Place.ITEM or kind not in _CANCEL_NOTHING]
    # Other kinds at each place and in each body: in eight turns all of them meet each place and each body.
    kind = kinds[(turn + _KINDS_ON[dialect] + 8 * number + 3 * body) % len(kinds)]
    after = random.Random(seed).randrange(_CALLS_BEFORE.get(place, 1))
    return _Tried(names[body], Fault(kind, place, after=after, is_of_item=is_of_second))


def seeds_of(
    place: Place, *, body: str | None = None, kind: str | None = None, dialect: Dialect = Dialect.SQLITE
) -> list[int]:
    """Return the first seeds that strike at a place, all of them or those of a body and kind."""
    names = [one.name for one in a_process().services.bodies]
    every = {seed: _chosen(seed, names, dialect) for seed in range(len(KINDS) * len(names) * len(Place))}
    return [
        seed
        for seed, tried in every.items()
        if tried.fault.place is place and body in {None, tried.name} and kind in {None, tried.fault.kind}
    ]


@contextlib.contextmanager
def _quick_shells(tried: _Tried) -> Iterator[None]:
    """Let the supervisor look often, by a monotonic clock that stands still until it is moved."""
    with (
        mock.patch.object(shells, "_SHORTEST_SECONDS", 0.0),
        mock.patch.object(shells, "_SUPERVISE_SECONDS", 0.005),
        mock.patch.object(shells, "time", SimpleNamespace(monotonic=tried.monotonic)),
    ):
        yield


def _before(tried: _Tried, place_of_tried: int) -> Callable[[], Coroutine[None, None, None]]:
    calls = iter(range(10_000))

    async def _wait() -> None:
        # The loops begin in the order of the bodies.
        if next(calls) == place_of_tried:
            await tried.fault.at(Place.BEFORE_LOOP)

    return _wait


class _Trial:
    """The loops of one unit, from their start to the last of the work; ``broken`` says in words what went wrong."""

    def __init__(self, world: LoopWorld, tried: _Tried, told: "list[EventDict]", figures: Figures) -> None:
        self.broken: list[str] = []
        self._world = world
        self._tried = tried
        self._told = told
        self._figures = figures
        self._bodies = [tried.watched(body) for body in world.services.bodies]
        place = [body.name for body in self._bodies].index(tried.name)
        self._loops = LoopSet(world.services.agenda, world.clock, before=_before(tried, place))
        self._late_task: asyncio.Task[None] | None = None

    async def run(self) -> None:
        """Let the loops do their work through the fault and to its end."""
        await self._world.services.enter(self._world.clock.now())
        self._loops.add(self._bodies)
        if self._tried.fault.place is Place.HANG:
            await self._hangs()
        for number, span in enumerate(_ROUNDS):
            await self._round([body.name for body in self._bodies])
            if self.broken:
                return
            unfinished = await self._world.unfinished()
            if self._tried.fault.place is Place.ITEM and number == _ROUNDS_WITH_BAD_ITEM:
                self._judge_items(unfinished)
                self._tried.fault.lift()
            elif not unfinished and self._tried.fault.place is not Place.ITEM:
                break
            self._world.clock.advance(span)
        await self._judge()

    async def end(self) -> None:
        """Stop what runs."""
        self._tried.fault.lift()
        await self._loops.stop()
        await self._world.services.cut_off()

    async def _round(self, names: list[str]) -> None:
        """Wake every body and wait for a good pass of each; the tried one comes by itself."""
        if self._tried.fault.place is Place.ITEM and not self._tried.fault.is_lifted:
            # Its bad item may end its passes, as long as those of the other items are not kept from their ends.
            names = [name for name in names if name != self._tried.name]
            ended = self._tried.ended
            await self._until(lambda: self._tried.ended > ended + 1)
        wanted = {name: self._tried.good[name] + 1 for name in names}
        agenda = self._world.services.agenda
        for name in names:
            if name != self._tried.name:
                # What it named before counts from a clock that was moved by hand since: its sleep does not follow.
                agenda._moments.pop(name, None)
                agenda.wake(name, self._world.clock.now())
        if not await self._until(lambda: all(self._tried.good[name] >= many for name, many in wanted.items())):
            late = [name for name, many in wanted.items() if self._tried.good[name] < many]
            self._broke(f"no good pass of {', '.join(late)}", unexpected=len(late))
        await self._world.services.settle()

    async def _until(self, met: Callable[[], bool]) -> bool:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_PATIENCE_SECONDS):
                while not met():
                    self._let_the_dead_be_late()
                    await asyncio.sleep(_GLANCE_SECONDS)
                return True
        return False

    def _let_the_dead_be_late(self) -> None:
        task = self._loops._loops[self._tried.name].task
        if task is not None and task.done() and task is not self._late_task:
            self._late_task = task
            self._tried.let_it_be_late()

    async def _hangs(self) -> None:
        """While a pass hangs the others go on, and it is told once in three periods."""
        others = [body.name for body in self._bodies if body.name != self._tried.name]
        await self._until(self._tried.fault.struck.is_set)
        await self._round(others)
        for times in (1, 2):
            self._tried.let_it_be_late()
            if not await self._until(lambda times=times: self._said("loop_pass_hangs") >= times):  # type: ignore[misc]
                self._broke("nobody is told that it hangs", unexpected=1)
            seen = self._tried.asked
            await self._until(lambda seen=seen: self._tried.asked > seen + 3 * len(self._bodies))  # type: ignore[misc]
            if self._said("loop_pass_hangs") != times:
                self._broke("it is told more than once in three periods", unexpected=1)
        self._tried.fault.lift()

    def _said(self, what: str) -> int:
        return sum(entry["event"] == what and entry.get("loop") == self._tried.name for entry in self._told)

    def _judge_items(self, unfinished: dict[str, set[int]]) -> None:
        if others := unfinished.get(self._tried.name, set()) - {2}:
            self._broke(f"one bad item stopped those of {sorted(others)}", lost=len(others))

    async def _judge(self) -> None:
        self._figures.acknowledged += self._tried.good.total()
        for name, guilds in (await self._world.unfinished()).items():
            self._broke(f"{name} did not finish the work of {sorted(guilds)}", lost=len(guilds))
        for doubled in self._world.doubled():
            self._broke(f"twice: {doubled}", duplicated=1)
        self._figures.unknown += await DiscordMessageLog.filter(success=None).count()
        fault = self._tried.fault
        is_loud = fault.kind not in _CANCEL_NOTHING or fault.place is Place.BEGIN
        if fault.fired and is_loud and not any(entry["log_level"] in _LOUD for entry in self._told):
            self._broke("nothing is said of it", unexpected=1)
        may_die = fault.place is Place.BEFORE_LOOP or fault.kind == "GeneratorExit"
        if self._late_task is not None and not may_die:
            self._broke("it ended its loop", unexpected=1)
        if self._late_task is not None and self._said("loop_overdue") != 1:
            self._broke(f"it died and this was told {self._said('loop_overdue')} times", unexpected=1)

    def _broke(self, words: str, *, lost: int = 0, duplicated: int = 0, unexpected: int = 0) -> None:
        self.broken.append(words)
        self._figures.lost += lost
        self._figures.duplicated += duplicated
        self._figures.unexpected += unexpected


def judge(figures: Figures) -> list[Finding]:
    """Nothing is lost or doubled, no loop stands still, and the faults did strike, at each place."""
    found = none_of(figures, "lost", "duplicated", "unexpected", "unknown")
    if figures.runs < _SEEDS:
        # A few seeds, or one that is repeated, are not every place.
        return [*found, Finding(f"{figures.attempted} of {figures.runs} faults struck", is_met=True)]
    return [*found, *(_struck_often(place, figures.samples.get(_struck_at(place), [])) for place in Place)]


def _struck_often(place: Place, struck: Sequence[float]) -> Finding:
    least = _STRUCK_AT_LEAST.get(place, 1.0)
    words = f"struck {place.value} {sum(struck):.0f} of {len(struck)} (at least {least:.0%})"
    return Finding(words, bool(struck) and sum(struck) >= least * len(struck))


PROOFS: tuple[Proof, ...] = (
    Proof("R14", "every loop survives every exception and says when it is late", run, judge, seeds=_SEEDS),
)
