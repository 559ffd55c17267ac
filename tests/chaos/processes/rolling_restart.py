"""
R4, a rolling restart: ``tocsin run`` under four names on one PostgreSQL, one after the other with two alive at a time.

They are started, stopped in order and killed while events become due, against a Discord on loopback that forgets every
nonce, so that a second copy shows. Who was killed is made to have died two minutes ago, so that nobody waits for it.
"""

import asyncio
import contextlib
import datetime as dt
import random
import tempfile
from collections import Counter
from pathlib import Path

from aiohttp import web
from aiohttp.typedefs import Handler

from bot.database import opened
from bot.transactions import Dialect, fetch, moment
from tests.builders import DAY, make_event, make_guild
from tests.chaos.proof import Figures, Finding, Share, none_of
from tests.wire.bot_process import PATIENCE_SECONDS, ROOT, BotProcess, bot_process, until
from tests.wire.discord_stub import CHANNEL, GUILD, OPS, DiscordStub, running_stub

_GLANCE_SECONDS = 0.05
_DEAD_FOR = dt.timedelta(minutes=2)
_QUICK = {
    "TOCSIN__REMINDERS__POLL_SECONDS": "1",
    "TOCSIN__REMINDERS__SWEEP_SECONDS": "1",
    "TOCSIN__REMINDERS__EDIT_DEBOUNCE_SECONDS": "1",
    "TOCSIN__LOGGING__LEVEL": "error",
}
# Python runs this at the start of each process that finds it on its path.
_BREAK = """
from tests.chaos.processes.children import lacking

for module, name, value in lacking({broken!r}):
    setattr(module, name, value)
"""


class Forgetful(dict[tuple[int, str], dict[str, object]]):
    """Nonces that Discord does not remember."""

    def __setitem__(self, key: tuple[int, str], value: dict[str, object]) -> None:
        """Forget it at once."""


class Senders:
    """Which process posts what; each has a token of its own, which begins with its name."""

    def __init__(self) -> None:
        self.posted: Counter[str] = Counter()
        self.in_hand: Counter[str] = Counter()

    @web.middleware
    async def note(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Stand before the stub and note whose posts are taken, and whose wait for their answer."""
        if request.method != "POST" or not request.path.endswith("/messages"):
            return await handler(request)
        name = request.headers["Authorization"].removeprefix("Bot ").partition(".")[0]
        self.posted[name] += 1
        self.in_hand[name] += 1
        try:
            return await handler(request)
        finally:
            self.in_hand[name] -= 1


class Restart:
    """One rolling restart: which processes run, and what the Discord of them all has seen."""

    def __init__(self, folder: Path, url: str, seed: int) -> None:
        self.stub, self.senders = DiscordStub(nonces=Forgetful()), Senders()
        self.planned = 0
        self.statuses: list[int | None] = []
        self.held_by_the_dead = 0
        self._folder, self._url, self._seed = folder, url, seed
        self._chance = random.Random(seed)
        self._stack = contextlib.AsyncExitStack()
        self._running: dict[str, BotProcess] = {}

    async def run(self, *, to_the_end: bool = True) -> None:
        """Roll from the first process to the fourth, and wait until all is at rest; or have the first two alone."""
        async with running_stub(self.stub, middlewares=[self.senders.note]), self._stack:
            await self._start("a")
            await self._start("b")
            if not to_the_end:
                return
            await self._more_become_due(3)
            await self._stop("a")
            await self._start("c")
            await self._kill("b")
            await self._start("d")
            await self._more_become_due(3)
            await self._stop("c")
            await until(lambda: len(set(self.stub.visible)) == self.planned)
            await self._at_rest()
            await self._stop("d")

    async def _start(self, name: str) -> None:
        """Start a process, and let events become due until it has announced one of them."""
        process = bot_process(
            self._folder,
            self.stub,
            self._url,
            PYTHONPATH=f"{self._folder}:{ROOT}",
            DISCORD_TOKEN=f"{name}.of-a-test.run",
            TOCSIN__CLUSTER__INSTANCE=name,
            **_QUICK,
        )
        self._running[name] = await self._stack.enter_async_context(process)
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not self.senders.posted[name]:
                await self._more_become_due(2)
                await until(lambda: len(set(self.stub.visible)) == self.planned)

    async def _more_become_due(self, count: int) -> None:
        """Store events that are due now, or within the next second."""
        now = dt.datetime.now(dt.UTC)
        async with opened(self._url):
            for _ in range(count):
                soon = self._chance.random() * dt.timedelta(seconds=1)
                await make_event(now=now, starts_in=DAY + soon, guild_id=GUILD)
        self.planned += count

    async def _stop(self, name: str) -> None:
        """Stop a process in order."""
        process = self._running.pop(name)
        await process.stop()
        self.statuses.append(process.code)

    async def _kill(self, name: str) -> None:
        """Kill a process as events become due: in every second unit while it waits for the answer to its post."""
        if self._seed % 2 == 0:
            self.stub.answer.clear()
        # A process posts to one channel one at a time: where no answer comes, the second post is the other's.
        await self._more_become_due(4)
        if self._seed % 2 == 0:
            await until(lambda: self.senders.in_hand[name] > 0)
        await self._running.pop(name).kill()
        self.stub.answer.set()
        await self._age_what_it_held(name)

    async def _age_what_it_held(self, name: str) -> None:
        """Let a dead process have died some time ago: its last sign of life and its claims are set back."""
        async with opened(self._url):
            for dead in await fetch("SELECT id, heartbeat_at FROM instance WHERE name = $1", [name]):
                silent_since = moment(dead["heartbeat_at"]) - _DEAD_FOR
                await fetch("UPDATE instance SET heartbeat_at = $2 WHERE id = $1", [dead["id"], silent_since])
                query = "SELECT id, claimed_at FROM discord_message_log WHERE success IS NULL AND instance = $1"
                for held in await fetch(query, [dead["id"]]):
                    self.held_by_the_dead += 1
                    claimed = moment(held["claimed_at"]) - _DEAD_FOR
                    await fetch("UPDATE discord_message_log SET claimed_at = $2 WHERE id = $1", [held["id"], claimed])

    async def _at_rest(self) -> None:
        """Wait until no outcome is open."""
        async with asyncio.timeout(PATIENCE_SECONDS), opened(self._url):
            while await fetch("SELECT id FROM discord_message_log WHERE success IS NULL"):  # noqa: ASYNC110 -- as below
                await asyncio.sleep(_GLANCE_SECONDS)


def run(share: Share, *, broken: str = "") -> Figures:
    """Roll once for each seed; ``broken``: what the bot lacks, in every process, of which the first two are enough."""
    figures = Figures()
    for seed in share.seeds:
        asyncio.run(_unit(share, seed, figures, broken))
    return figures


async def _unit(share: Share, seed: int, figures: Figures, broken: str) -> None:
    with tempfile.TemporaryDirectory(prefix="tocsin-") as folder:
        if broken:
            (Path(folder) / "sitecustomize.py").write_text(_BREAK.format(broken=broken))
        async with share.databases.fresh(Dialect.POSTGRES) as url:
            async with opened(url):
                await make_guild(GUILD, announcement_channel_id=CHANNEL, ops_channel_id=OPS)
            restart = Restart(Path(folder), url, seed)
            await restart.run(to_the_end=not broken)
            async with opened(url):
                rows = await fetch("SELECT success FROM discord_message_log WHERE source = 'event_announcement'")
    seen, planned = Counter(restart.stub.visible), restart.planned
    sent = sum(row["success"] is True for row in rows)
    figures.runs += 1
    figures.attempted += planned
    figures.acknowledged += sent
    figures.ok += sum(times == 1 for times in seen.values())
    figures.lost += planned - len(seen)
    figures.duplicated += sum(times - 1 for times in seen.values())
    figures.recovered += restart.held_by_the_dead
    figures.unknown += sum(row["success"] is None for row in rows)
    figures.sample("processes that announced", len(restart.senders.posted))
    if seen != Counter(f"#{number}" for number in range(1, planned + 1)) or sent != planned or any(restart.statuses):
        figures.faults.append(f"seed {seed}: {seen}, {sent} recorded, ended with {restart.statuses}")


def judge(figures: Figures) -> list[Finding]:
    """Return what must be true."""
    all_four = figures.samples["processes that announced"].count(4) == figures.runs
    return [
        Finding(f"{figures.ok:,} of {figures.attempted:,} announced once", figures.ok == figures.attempted),
        Finding("each of the four processes announced some of them", all_four),
        *none_of(figures, "lost", "duplicated", "unknown"),
    ]
