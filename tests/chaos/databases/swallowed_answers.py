"""
R6: the database does what it was asked, and its answer never comes.

A unit is one story in which the answer of every kind of statement is taken once, COMMIT among them, at the occurrence
that the seed says: on PostgreSQL by a proxy that cuts the connection once the answer was read, on SQLite by an error
of the disk after the statement was done. So N seeds try every statement N times. What it must come to is what it came
to where nothing was taken.
"""

import asyncio
import contextlib
import datetime as dt
from collections.abc import AsyncIterator, Mapping
from functools import partial

from bot.database import opened
from bot.transactions import Dialect
from tests.chaos.databases import quiet_log
from tests.chaos.databases.claim_watch import ClaimWatch
from tests.chaos.databases.database_rest import Rest, faults, rest_of
from tests.chaos.databases.database_story import good_run_faults
from tests.chaos.databases.database_world import BEGIN, LENGTH, REST, World, furnish
from tests.chaos.databases.statement_faults import Recorder, Thief, Watch, sqlite_answers
from tests.chaos.proof import Figures, Finding, Proof, Share, at_most, none_of
from tests.throwaway import Databases
from tests.wire.proxy import Fate, Meet, Proxy, before_server

ONE_TICK = 30.0
"""Seconds between two polls, within which a process adopts what it claimed without knowing."""
# A claim lost, its adoption lost, its record lost and so on: each costs a tick at most, or the minute of a look-up.
_MOST_LATE = dt.timedelta(minutes=10)


Counted = Mapping[str, int]
"""How often each kind of statement is run."""


def run(share: Share) -> Figures:
    """Try every seed of a share."""
    assert share.dialect is not None
    with quiet_log.quiet():
        return asyncio.run(_tried(share, share.dialect))


async def _tried(share: Share, dialect: Dialect) -> Figures:
    figures = Figures()
    good, counts = await good_run(share.databases, dialect)
    figures.faults += good_run_faults(good, loaded=False)
    for seed in share.seeds:
        await _try(figures, seed, (share.databases, dialect), good, counts)
    return figures


async def good_run(databases: Databases, dialect: Dialect) -> tuple[Rest, Counted]:
    """Return what the story comes to where nothing is taken, and how often each kind of statement is run."""
    recorder, world = Recorder(), World()
    async with _database(databases, dialect, world, recorder, meet=partial(_record, recorder)):
        await world.start()
        await world.run_until(BEGIN + LENGTH)
        counts = dict(recorder.counts)
        await world.run_until(BEGIN + LENGTH + REST)
        return await rest_of(world), counts


def _record(recorder: Recorder, statement: str, connection: object) -> Fate:
    recorder(statement, connection)
    return Fate.PASS


async def _try(figures: Figures, seed: int, where: tuple[Databases, Dialect], good: Rest, counts: Counted) -> None:
    world = World()
    watch = ClaimWatch(world)
    thief = Thief(counts, seed=seed, now=world.clock.now)
    watch.on_lost = thief.keep_peace
    with watch.on():
        async with _database(*where, world, thief, meet=thief.fate):
            await world.start()
            await world.run_until(BEGIN + LENGTH)
            thief.is_active = False
            await world.run_until(BEGIN + LENGTH + REST)
            rest = await rest_of(world)
    figures.recovered += len(thief.taken)
    figures.sample("adopted", *watch.adopted)
    figures.sample("never adopted", float(watch.never))
    figures.sample("taken", float(len(thief.taken)))
    watch.count(figures)
    rest.count(figures, seed, [*faults(rest, good, most_late=_MOST_LATE), *world.unexpected])


@contextlib.asynccontextmanager
async def _database(
    databases: Databases, dialect: Dialect, world: World, watch: Watch, *, meet: Meet
) -> AsyncIterator[None]:
    """Open a fresh database in which the story is about to begin; from then on every answer passes the watch."""
    async with contextlib.AsyncExitStack() as stack:
        address = await stack.enter_async_context(databases.fresh(dialect))
        proxy: Proxy | None = None
        if dialect is Dialect.POSTGRES:
            proxy = await stack.enter_async_context(before_server(address))
            address = proxy.before(address)
        await stack.enter_async_context(opened(address))
        await furnish(world)
        if proxy is not None:
            proxy.meet = meet
        else:
            stack.enter_context(sqlite_answers(watch))
        yield


def judge(figures: Figures) -> list[Finding]:
    """Return what must be true."""
    taken = figures.samples.get("taken") or [0.0]
    adopted, never = figures.samples.get("adopted", []), sum(figures.samples.get("never adopted", []))
    return [
        *none_of(figures, "lost", "duplicated", "unexpected", "unknown"),
        Finding(f"{min(taken):.0f} to {max(taken):.0f} kinds of statement taken a run", min(taken) > 0),
        Finding(f"{len(adopted)} of its own leases adopted, {never:.0f} never", bool(adopted) and not never),
        at_most("its own lease adopted after", max(adopted, default=0.0), ONE_TICK),
        Finding(f"{len(figures.faults)} runs differ from the good one", not figures.faults),
    ]


PROOFS = (
    Proof(
        "R6",
        "An answer of the database that never comes neither doubles nor loses a message, at any statement",
        run=run,
        judge=judge,
        seeds=200,
        mostly_waits=True,
    ),
)
