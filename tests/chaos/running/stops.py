"""
R16: told to stop at any moment, a process ends in time and in order, and the next one finishes what it left.

Each seed is a real process against the stub; what it is doing when the signal comes, which signal, and how long it may
take are drawn from the seed. The next process then has to bring every message to exactly one.

A stop may take its grace and three seconds: ten with the grace as it is set. A busy machine is given more, and then a
stop that the process itself cut short counts as one that ended: how fast it is, is what `make chaos` measures.
"""

import asyncio
import json
import random
import signal
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.chaos.proof import Figures, Finding, Proof, Share, at_most, none_of
from tests.chaos.running.stop_moments import BEFORE_ALL, IN_ORDER, MAY_STAY_OPEN, Moment, Stopping
from tests.chaos.running.stop_world import ROWS, WANTED, half_made, left, plan, shown, two_minutes_pass, without_tables
from tests.wire.bot_process import RUN, BotProcess, bot_process, until
from tests.wire.discord_stub import DiscordStub, running_stub

STOP_SECONDS = 10
"""What a stop may take: the default grace of seven seconds and three for the rest."""
DEFAULT_GRACE = 7
BEYOND_GRACE = STOP_SECONDS - DEFAULT_GRACE
# Beyond its limit a stop has broken its promise: how much beyond is no longer waited for.
_LATE_SECONDS = 4
_PATIENCE_SECONDS = 100
_STOPPED_HARD = "Stopped hard"
_KILLED_BY_SIGNAL = frozenset({-2, -15, 130, 143})
_SETTINGS = {
    "TOCSIN__DM_QUEUE__DRAIN_RATE_PER_SECOND": "20.0",
    "TOCSIN__DM_QUEUE__OPEN_CHANNELS_PER_SECOND": "20.0",
}

arguments: Sequence[str] = RUN
"""How the process is started; a test starts a broken copy instead."""


@dataclass(frozen=True, slots=True)
class Terms:
    """
    What a stop is given: its grace (None: drawn), and how much beyond it.

    ``held``: for how long after the signal a held answer is held back; None: drawn.
    """

    beyond: float = BEYOND_GRACE
    grace: int | None = None
    held: float | None = None

    @property
    def is_busy(self) -> bool:
        """Return whether the machine is taken for a busy one, on which the process's own limits may run out."""
        return self.beyond > BEYOND_GRACE


def run(share: Share, terms: Terms = Terms()) -> Figures:
    """Stop one process a seed."""
    figures = Figures()
    for seed in share.seeds:
        asyncio.run(_seed(seed, share, terms, figures))
    return figures


def moment_of(seed: int) -> Moment:
    """Return when the process of a seed is stopped: each moment in turn."""
    return list(Moment)[seed % len(Moment)]


async def _seed(seed: int, share: Share, terms: Terms, figures: Figures) -> None:
    assert share.dialect is not None
    figures.runs += 1
    with tempfile.TemporaryDirectory(prefix="tocsin-stop-") as folder:
        async with share.databases.fresh(share.dialect) as url:
            if moment_of(seed) is Moment.MIGRATION:
                await without_tables(url)
            draw = random.Random(seed)
            stopping = Stopping(moment_of(seed), draw, url, share.dialect, held=terms.held)
            broken = await _One(stopping, Path(folder), terms, figures).tried()
    figures.ok += not broken
    figures.faults += [f"seed {seed}: {moment_of(seed).value}: {fault}" for fault in broken]


class _One:
    """The stop of one process and the start of the next."""

    def __init__(self, stopping: Stopping, folder: Path, terms: Terms, figures: Figures) -> None:
        self._stopping = stopping
        self._folder = folder
        self._url = stopping.url
        self._terms = terms
        self._figures = figures
        # The full grace is spent only where something hangs; a share of those suffices.
        drawn = DEFAULT_GRACE if stopping.draw.random() < 0.2 else stopping.draw.choice([1, 2])
        self._grace = terms.grace or drawn
        self._broken: list[str] = []

    @property
    def _moment(self) -> Moment:
        return self._stopping.moment

    @property
    def _limit(self) -> float:
        return self._grace + self._terms.beyond

    async def tried(self) -> list[str]:
        """Stop the process, look at what it left, let the next one finish; return what broke."""
        if self._moment is not Moment.MIGRATION:
            await plan(self._url)
        async with running_stub(middlewares=[self._stopping.middleware]) as stub:
            await self._stopped(stub)
            if self._broken:
                return self._broken
            if self._moment is Moment.MIGRATION:
                await plan(self._url)
            await two_minutes_pass(self._url, stub)
            await self._finished(stub)
        return self._broken

    async def _stopped(self, stub: DiscordStub) -> None:
        # The default is the product's own: it is not told.
        is_default = self._grace == DEFAULT_GRACE
        grace = {} if is_default else {"TOCSIN__PROCESS__SHUTDOWN_GRACE_SECONDS": str(self._grace)}
        async with (
            self._stopping.prepared(stub),
            bot_process(self._folder, stub, self._url, arguments=arguments, **_SETTINGS, **grace) as process,
        ):
            try:
                async with self._stopping.struck(process, stub):
                    self._figures.attempted += 1
                    took = await process.ended(within=self._limit + _LATE_SECONDS)
            except TimeoutError:
                self._broke(f"not ended {self._limit + _LATE_SECONDS:g} s after the signal", unexpected=1)
                return
        self._figures.acknowledged += 1
        self._figures.sample("took", took)
        self._figures.sample("beyond grace", took - self._grace)
        if took > self._limit:
            self._broke(f"ended after {took:.1f} s, with a grace of {self._grace}", unexpected=1)
        self._judge_end(process)
        if self._moment is Moment.MIGRATION:
            if half := await half_made(self._url):
                self._broke(half, unexpected=1)
        else:
            await self._judge_left(process)

    def _may_be_cut_short(self, process: BotProcess) -> bool:
        return self._moment not in IN_ORDER or (self._terms.is_busy and _STOPPED_HARD in process.said())

    def _judge_end(self, process: BotProcess) -> None:
        allowed = {0, 1} if self._may_be_cut_short(process) else {0}
        allowed |= _KILLED_BY_SIGNAL if self._moment in BEFORE_ALL else set()
        if process.code not in allowed:
            self._broke(f"status {process.code}", unexpected=1)
        # Interrupted before its first line ran, the interpreter itself says where it was.
        if process.code != -2 and (trace := traces(process.said())):
            self._broke(f"a traceback: {trace}", unexpected=1)

    async def _judge_left(self, process: BotProcess) -> None:
        state = await left(self._url)
        forgives = self._moment not in IN_ORDER or self._terms.is_busy
        is_excused = forgives and "not_left_in_time" in process.said()
        if process.code == 0 and state.instances and not is_excused:
            self._broke("ended in order, and its row is there", unexpected=1)
        is_cut_short = self._terms.is_busy and _STOPPED_HARD in process.said()
        if state.open and self._moment not in MAY_STAY_OPEN and not is_cut_short:
            self._broke(f"{state.open} rows open that have an answer", unexpected=1)
        self._figures.unknown += state.open
        if state.failed:
            self._broke(f"{state.failed} messages called failed", unexpected=state.failed)

    async def _finished(self, stub: DiscordStub) -> None:
        """Let the next process bring every message to exactly one."""
        async with bot_process(self._folder, stub, self._url, **_SETTINGS) as process:
            try:
                await until(lambda: shown(stub) >= WANTED or process.code is not None, within=_PATIENCE_SECONDS)
                await self._all_recorded()
            except TimeoutError:
                self._broke(f"the next process left {dict(shown(stub))}, {await left(self._url)}", lost=1)
            process.tell(signal.SIGTERM)
            await process.ended(within=_PATIENCE_SECONDS)
        if doubled := shown(stub) - WANTED:
            self._broke(f"too many: {dict(doubled)}", duplicated=doubled.total())
        elif process.code == 0 and not self._broken:
            self._figures.recovered += 1
        if stub.unknown:
            self._broke(f"asked for what there is not: {stub.unknown[0]}", unexpected=1)

    async def _all_recorded(self) -> None:
        async with asyncio.timeout(_PATIENCE_SECONDS):
            while (state := await left(self._url)).sent < ROWS or state.open:  # noqa: ASYNC110 -- another process's rows
                await asyncio.sleep(0.05)

    def _broke(self, words: str, *, lost: int = 0, duplicated: int = 0, unexpected: int = 0) -> None:
        self._broken.append(words)
        self._figures.lost += lost
        self._figures.duplicated += duplicated
        self._figures.unexpected += unexpected


def traces(said: str) -> str:
    """Return a traceback that was not meant for the log, or one in the log that is not the library's own."""
    for line in said.splitlines():
        if not line.startswith("{"):
            if line.startswith("Traceback"):
                return line
            continue
        entry = json.loads(line)
        if "exception" in entry and not entry.get("logger", "").startswith("discord."):
            return f"{entry['event']}: {entry['exception'].splitlines()[-1]}"
    return ""


def judge(figures: Figures, terms: Terms = Terms()) -> list[Finding]:
    """Every stop in time, nothing lost, doubled or half done."""
    longest = max(figures.samples.get("took", [0.0]))
    beyond = max(figures.samples.get("beyond grace", [0.0]))
    return [
        *none_of(figures, "lost", "duplicated", "unexpected"),
        at_most("the longest stop", longest, DEFAULT_GRACE + terms.beyond),
        at_most("the longest beyond its grace", beyond, terms.beyond),
        Finding(f"{figures.acknowledged} of {figures.runs} ended", figures.acknowledged == figures.runs),
    ]


PROOFS: tuple[Proof, ...] = (
    Proof(
        "R16",
        "told to stop at any moment, it ends in ten seconds with nothing in between",
        run,
        judge,
        seeds=200,
        mostly_waits=True,
    ),
)
