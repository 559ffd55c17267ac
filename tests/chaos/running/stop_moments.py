"""The moments at which a process is told to stop, and what of the world around it is held or broken then."""

import asyncio
import contextlib
import random
import signal
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from enum import StrEnum

import asyncpg
import filelock
from aiohttp import web

from bot.database import place, postgres_dsn, sqlite_path
from bot.migrating import _MIGRATION_LOCK
from bot.transactions import Dialect
from tests.chaos.running.stop_world import PEOPLE
from tests.wire.bot_process import BotProcess, open_files, until
from tests.wire.discord_stub import CHANNEL, DiscordStub, dm_channel
from tests.wire.gateway import Drop

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

_PATIENCE_SECONDS = 60
_GLANCE_SECONDS = 0.01


_CONNECTIONS = "SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database()"


class Moment(StrEnum):
    """When the signal comes."""

    START = "while it starts"
    MIGRATION = "while it makes its tables"
    MIGRATION_WAITS = "while it waits for another's migration"
    LOGIN = "while it logs in"
    IDENTIFY = "before READY"
    READY = "around READY"
    POST_HELD = "while a post's answer is held back"
    POST_NEVER = "while a post is never answered"
    FAN_OUT = "between direct messages"
    DATABASE = "while the database hangs"
    RECONNECTING = "while the gateway is away"
    TWICE = "twice in a row"


BEFORE_ALL = frozenset({Moment.START, Moment.MIGRATION})
"""Told before it listens, the process ends as any other does: by the signal, or with its status, 130 or 143."""
IN_ORDER = frozenset(Moment) - BEFORE_ALL - {Moment.DATABASE, Moment.TWICE}
"""From these it ends in order: status 0, its row gone, and nothing open that has an answer."""
MAY_STAY_OPEN = frozenset({Moment.POST_NEVER, Moment.DATABASE, Moment.TWICE})
HELD_POSTS = frozenset({Moment.POST_HELD, Moment.POST_NEVER, Moment.TWICE})


@dataclass(slots=True)
class Stopping:
    """One process that is to be stopped, and what its world is made of; ``held``: see Terms."""

    moment: Moment
    draw: random.Random
    url: str
    dialect: Dialect
    held: float | None = None
    logging_in: asyncio.Event = field(default_factory=asyncio.Event)
    logged_in: asyncio.Event = field(default_factory=asyncio.Event)

    @web.middleware
    async def middleware(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Hold the login back where the signal is to come in the middle of it."""
        if self.moment is Moment.LOGIN and request.path.endswith("/users/@me"):
            self.logging_in.set()
            await self.logged_in.wait()
        return await handler(request)

    @contextlib.asynccontextmanager
    async def prepared(self, stub: DiscordStub) -> AsyncIterator[None]:
        """Hold what is to be held from the start on, for the length of the context."""
        stub.gate.holds_ready = self.moment is Moment.IDENTIFY
        if self.moment in HELD_POSTS:
            stub.answer.clear()
        try:
            async with self._another_migration() if self.moment is Moment.MIGRATION_WAITS else contextlib.nullcontext():
                yield
        finally:
            stub.gate.holds_ready = stub.gate.is_closed = False
            stub.answer.set()
            self.logged_in.set()

    @contextlib.asynccontextmanager
    async def _another_migration(self) -> AsyncIterator[None]:
        if self.dialect is Dialect.SQLITE:
            with filelock.FileLock(f"{place(self.url)}.migrate.lock"):
                yield
            return
        own = await asyncpg.connect(postgres_dsn(self.url))
        try:
            await own.execute("SELECT pg_advisory_lock($1)", _MIGRATION_LOCK)
            yield
        finally:
            await own.close()

    @contextlib.asynccontextmanager
    async def struck(self, process: BotProcess, stub: DiscordStub) -> AsyncIterator[None]:
        """
        Wait for the moment and give the signal; the context is what goes on while the process stops.

        Raises:
            TimeoutError: the moment never came.
        """
        await self._comes(process, stub)
        async with self._hanging_database() if self.moment is Moment.DATABASE else contextlib.nullcontext():
            process.tell(self.draw.choice([signal.SIGTERM, signal.SIGINT]))
            if self.moment is Moment.TWICE:
                await self._passes(0.05)
                process.tell(signal.SIGTERM)
            if self.moment is Moment.POST_HELD:
                await until(lambda: "stopping" in process.said() or process.code is not None)
                await self._held_back(process)
                stub.answer.set()
            yield

    async def _comes(self, process: BotProcess, stub: DiscordStub) -> None:  # noqa: C901, PLR0912 -- a case a moment
        match self.moment:
            case Moment.START | Moment.MIGRATION:
                await self._passes(2.0)
            case Moment.MIGRATION_WAITS:
                # Which it says nothing of; it waits once its database is open.
                await self._has_opened_database(process)
                await self._passes(0.5)
            case Moment.LOGIN:
                await _either(self.logging_in, process)
            case Moment.IDENTIFY:
                await until(lambda: stub.identified > 0)
            case Moment.READY:
                await until(lambda: stub.identified > 0)
                await self._passes(0.3)
            case Moment.POST_HELD | Moment.POST_NEVER | Moment.TWICE:
                await _either(stub.accepted, process)
            case Moment.FAN_OUT:
                wanted = self.draw.randint(1, len(PEOPLE))
                await until(lambda: sum(bool(stub.messages.get(dm_channel(who))) for who in PEOPLE) >= wanted)
            case Moment.DATABASE:
                await until(lambda: bool(stub.messages[CHANNEL]))
            case Moment.RECONNECTING:
                await until(lambda: bool(stub.messages[CHANNEL]))
                stub.gate.is_closed = True
                await stub.gate.drop(self.draw.choice([Drop.CUT, Drop.CLOSED, Drop.SESSION_LOST]))
                await until(lambda: stub.gate.refused > 0)

    async def _has_opened_database(self, process: BotProcess) -> None:
        if self.dialect is Dialect.SQLITE:
            await until(lambda: str(sqlite_path(self.url)) in open_files(process.pid))
            return
        other = await asyncpg.connect(postgres_dsn(self.url))
        try:
            async with asyncio.timeout(_PATIENCE_SECONDS):
                # Besides this one and the one that holds the lock.
                while await other.fetchval(_CONNECTIONS) < 3:  # noqa: ASYNC110 -- another process's connection
                    await asyncio.sleep(_GLANCE_SECONDS)
        finally:
            await other.close()

    async def _held_back(self, process: BotProcess) -> None:
        """Wait for the moment of the held answer, or for a process that does not wait for it."""
        seconds = self.draw.uniform(0, 0.3) if self.held is None else self.held
        with contextlib.suppress(TimeoutError):
            await until(lambda: process.code is not None, within=seconds)

    async def _passes(self, most: float) -> None:
        await asyncio.sleep(self.draw.uniform(0, most))

    @contextlib.asynccontextmanager
    async def _hanging_database(self) -> AsyncIterator[None]:
        """Keep everybody else from writing."""
        if self.dialect is Dialect.SQLITE:
            with contextlib.closing(sqlite3.connect(sqlite_path(self.url), isolation_level=None, timeout=30)) as other:
                other.execute("BEGIN IMMEDIATE")
                yield
                other.execute("ROLLBACK")
            return
        other = await asyncpg.connect(postgres_dsn(self.url))
        try:
            async with other.transaction():
                await other.execute("LOCK TABLE instance, discord_message_log, event IN ACCESS EXCLUSIVE MODE")
                yield
        finally:
            await other.close()


async def _either(event: asyncio.Event, process: BotProcess) -> None:
    await until(lambda: event.is_set() or process.code is not None)
