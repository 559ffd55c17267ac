"""
R5: the database stops at once, under load, and comes back.

A unit is one story with much to do at a time. On PostgreSQL the server is stopped at once, or its first process killed,
right after the answer to one statement was read, which still arrives or is lost with its connection; a while later it
is started again. On SQLite the file can only be read, its disk is full, or another process keeps it locked. Times are
the bot's own; a full run adds what reconnecting really takes.
"""

import asyncio
import contextlib
import datetime as dt
import random
from dataclasses import dataclass, field

import asyncpg

from bot.database import opened
from bot.transactions import Dialect
from tests.builders import SECOND
from tests.chaos.databases import file_faults, quiet_log
from tests.chaos.databases.claim_watch import ClaimWatch
from tests.chaos.databases.database_rest import Rest, faults, rest_of
from tests.chaos.databases.database_story import good_run_faults
from tests.chaos.databases.database_world import BEGIN, LENGTH, REST, World, furnish, load
from tests.chaos.databases.first_send import OWN_TIME, REAL_TIME, WAITING, FirstSend
from tests.chaos.proof import Figures, Finding, Proof, Share, at_most, none_of, percentile
from tests.throwaway import Databases, statement
from tests.wire.postgres_cluster import Cluster, own_cluster
from tests.wire.proxy import Fate, before_server

FIRST_SEND = 10.0
"""Seconds from the database's being back to the first send of what waited."""
_CLAIM = "INSERT INTO discord_message_log"
_LONGEST_SECONDS = 300


def run(share: Share) -> Figures:
    """Try every seed of a share."""
    if share.dialect is Dialect.SQLITE:
        with quiet_log.quiet():
            return asyncio.run(file_faults.tried(share))
    with quiet_log.quiet(), own_cluster() as cluster:
        return asyncio.run(tried(share, cluster))


async def tried(share: Share, cluster: Cluster) -> Figures:
    """Try every seed of a share on PostgreSQL."""
    figures = Figures()
    good, statements = await _good_run(cluster.databases)
    figures.faults += good_run_faults(good, loaded=True)
    for seed in share.seeds:
        await try_stop(figures, seed, cluster, good, statements=statements)
    return figures


async def _good_run(databases: Databases) -> tuple[Rest, tuple[int, int]]:
    """Return what the story comes to where nothing stops, and how many statements and claims it makes."""
    world, asked = World(side_by_side=True), list[str]()

    def _count(statement: str, _connection: object) -> Fate:
        asked.append(statement)
        return Fate.PASS

    async with (
        databases.fresh(Dialect.POSTGRES) as address,
        before_server(address) as proxy,
        opened(proxy.before(address)),
    ):
        await furnish(world)
        await load(world)
        proxy.meet = _count
        await world.start()
        await world.run_until(BEGIN + LENGTH)
        counted = len(asked), sum(_CLAIM in one for one in asked)
        await world.run_until(BEGIN + LENGTH + REST)
        return await rest_of(world), counted


@dataclass(slots=True)
class Stop:
    """One stop of the server: where it falls, how, and what was seen of it."""

    cluster: Cluster
    world: World
    watch: ClaimWatch
    seed: int
    address: str
    statements: tuple[int, int]
    lost_claims: int = 0
    first_send: FirstSend = field(init=False)
    is_done: bool = False
    _seen: int = 0
    _chance: random.Random = field(default_factory=random.Random)
    _at: int = 0
    _is_at_claim: bool = False

    def __post_init__(self) -> None:
        """
        Choose the statement: half of the seeds stop the server right at a claim.

        None of the last ones, which a run in another order may never come to.
        """
        self.first_send = FirstSend(self.world)
        self._chance.seed(self.seed)
        self._is_at_claim = self._chance.random() < 0.5
        self._at = self._chance.randint(1, max(1, self.statements[self._is_at_claim] * 9 // 10))

    def meet(self, statement: str, _connection: object) -> Fate:
        """Stop the server once the statement was answered; whether that arrives is chance."""
        self._seen += not self._is_at_claim or _CLAIM in statement
        if self.is_done or self._seen < self._at:
            return Fate.PASS
        self.is_done = True
        self.cluster.stop_at_once(by_kill=self._chance.random() < 0.3)
        down = dt.timedelta(seconds=self._chance.randint(1, _LONGEST_SECONDS))
        self.world.deeds.append((self.world.clock.now() + down, self._come_back))
        return self._chance.choice([Fate.PASS, Fate.SWALLOW, Fate.CUT_ALL])

    async def _come_back(self) -> None:
        self.cluster.start()
        session = await asyncpg.connect(self.address)
        # The bot goes on beside it: what it claims from here on need not be among the rows that are read.
        acknowledged = set(self.watch.acknowledged)
        try:
            stored = {row["id"] for row in await session.fetch("SELECT id FROM discord_message_log")}
            waits = await session.fetchval(WAITING.format(moment="$1"), self.world.clock.now() - SECOND)
        finally:
            await session.close()
        self.lost_claims = len((acknowledged & self.watch.acknowledged.keys()) - stored)
        if waits:
            self.first_send.await_one()


async def try_stop(figures: Figures, seed: int, cluster: Cluster, good: Rest, *, statements: tuple[int, int]) -> None:
    """Run the story once with one stop, and add what it came to."""
    world = World(side_by_side=True)
    watch = ClaimWatch(world)
    async with contextlib.AsyncExitStack() as stack:
        address = await stack.enter_async_context(cluster.databases.fresh(Dialect.POSTGRES))
        proxy = await stack.enter_async_context(before_server(address))
        await stack.enter_async_context(opened(proxy.before(address + cluster.session)))
        await furnish(world)
        await load(world)
        # What the story begins with is kept whatever the sessions are like.
        await statement(address, "CHECKPOINT")
        stack.enter_context(watch.on())
        stop = Stop(cluster, world, watch, seed, address, statements)
        proxy.meet = stop.meet
        await world.start()
        await world.run_until(BEGIN + LENGTH + REST)
        rest = await rest_of(world)
    found = [*faults(rest, good, most_late=dt.timedelta(seconds=_LONGEST_SECONDS) * 2), *world.unexpected]
    found += [f"lost: {stop.lost_claims} acknowledged claims"] * bool(stop.lost_claims)
    watch.count(figures)
    figures.recovered += stop.is_done
    figures.sample("lost claims", float(stop.lost_claims))
    stop.first_send.count(figures)
    rest.count(figures, seed, found)


def judge(figures: Figures, *, by_own_clock: bool = False) -> list[Finding]:
    """Return what must be true; ``by_own_clock``: of the bot alone, on a machine that is busy with other things."""
    first = figures.samples.get(OWN_TIME, [])
    if not by_own_clock:
        first = [own + real for own, real in zip(first, figures.samples.get(REAL_TIME, []), strict=True)]
    lost = sum(figures.samples.get("lost claims", []))
    return [
        *none_of(figures, "lost", "duplicated", "unexpected", "unknown"),
        Finding(f"{figures.recovered} of {figures.runs} runs broken and mended", figures.recovered == figures.runs),
        Finding(f"{lost:.0f} acknowledged claims lost", lost == 0),
        Finding(f"{len(first)} runs in which something waited", bool(first)),
        at_most("first send once the database is back: longest", max(first, default=0.0), FIRST_SEND),
        Finding(f"p50 {percentile(first, 0.5):.3g} s", is_met=True),
        Finding(f"{len(figures.faults)} runs differ from the good one", not figures.faults),
    ]


PROOFS = (
    Proof(
        "R5",
        "The database stops at once under load, or its file refuses: no acknowledged claim is lost, and it goes on",
        run=run,
        judge=judge,
        seeds=100,
        mostly_waits=True,
    ),
)
