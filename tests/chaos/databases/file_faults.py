"""R5 on SQLite: the file can only be read, its disk is full, or another keeps it locked past the busy timeout."""

import asyncio
import contextlib
import datetime as dt
import random
import sqlite3
from dataclasses import dataclass, field
from enum import StrEnum

from bot.database import opened, sqlite_path
from bot.transactions import Dialect, connection
from tests.builders import SECOND
from tests.chaos.databases.claim_watch import ClaimWatch
from tests.chaos.databases.database_rest import Rest, faults, rest_of
from tests.chaos.databases.database_story import good_run_faults
from tests.chaos.databases.database_world import BEGIN, LENGTH, REST, World, furnish, load
from tests.chaos.databases.first_send import WAITING, FirstSend
from tests.chaos.proof import Figures, Share
from tests.throwaway import Databases

_LONGEST_SECONDS = 300


class FileFault(StrEnum):
    """What is wrong with the file."""

    READ_ONLY = "read_only"
    FULL = "full"
    LOCKED = "locked"


async def tried(share: Share) -> Figures:
    """Try every seed of a share."""
    figures = Figures()
    good = await _good_run(share.databases)
    figures.faults += good_run_faults(good, loaded=True)
    for seed in share.seeds:
        await _try(figures, seed, share.databases, good)
    return figures


async def _good_run(databases: Databases) -> Rest:
    world = World(side_by_side=True)
    async with databases.fresh(Dialect.SQLITE) as address, opened(address):
        await furnish(world)
        await load(world)
        await world.start()
        await world.run_until(BEGIN + LENGTH + REST)
        return await rest_of(world)


@dataclass(slots=True)
class Broken:
    """One fault of one file, and what was seen of it."""

    world: World
    path: str
    seed: int
    first_send: FirstSend = field(init=False)
    is_over: bool = False
    kind: FileFault = FileFault.FULL
    _chance: random.Random = field(default_factory=random.Random)
    _other: sqlite3.Connection | None = None

    def plan(self) -> None:
        """Choose what breaks, when, and for how long."""
        self.first_send = FirstSend(self.world)
        self._chance.seed(self.seed)
        self.kind = self._chance.choice(list(FileFault))
        begins = BEGIN + dt.timedelta(seconds=self._chance.randint(0, 500))
        ends = begins + dt.timedelta(seconds=self._chance.randint(1, _LONGEST_SECONDS))
        self.world.deeds += [(begins, self._break), (ends, self._mend)]

    async def _break(self) -> None:
        match self.kind:
            case FileFault.READ_ONLY:
                await _pragma("query_only=ON")
            case FileFault.FULL:
                await _pragma("max_page_count=1")
            case FileFault.LOCKED:
                # The bot's own ten seconds would really pass at each statement.
                await _pragma("busy_timeout=5")
                self._other = sqlite3.connect(self.path, isolation_level=None, timeout=0)
                await self._lock(self._other)

    async def _lock(self, other: sqlite3.Connection) -> None:
        for _ in range(10_000):
            try:
                other.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError:
                await asyncio.sleep(0.001)  # the bot is writing: another process waits its turn
            else:
                return
        self.world.unexpected.append("the bot never lets go of the file")

    async def _mend(self) -> None:
        if self._other is not None:
            self._other.rollback()
            self._other.close()
        await _pragma("query_only=OFF")
        await _pragma("max_page_count=1073741823")
        await _pragma("busy_timeout=10000")
        self.is_over = True
        with contextlib.closing(sqlite3.connect(self.path)) as reader:
            before = (self.world.clock.now() - SECOND).isoformat(" ")
            waits = reader.execute(WAITING.format(moment="?"), [before]).fetchone()[0]
        if waits:
            self.first_send.await_one()


async def _pragma(words: str) -> None:
    await connection().execute_query(f"PRAGMA {words}")


async def _try(figures: Figures, seed: int, databases: Databases, good: Rest) -> None:
    world = World(side_by_side=True)
    watch = ClaimWatch(world)
    async with databases.fresh(Dialect.SQLITE) as address, opened(address):
        await furnish(world)
        await load(world)
        broken = Broken(world, str(sqlite_path(address)), seed)
        broken.plan()
        with watch.on():
            await world.start()
            await world.run_until(BEGIN + LENGTH + REST)
        rest = await rest_of(world)
    watch.count(figures)
    figures.recovered += broken.is_over
    broken.first_send.count(figures)
    late = dt.timedelta(seconds=_LONGEST_SECONDS) * 2
    rest.count(figures, seed, [*faults(rest, good, most_late=late), *world.unexpected])
