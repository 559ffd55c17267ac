"""
What keeps the database tests quick.

A worker's tests share one migrated database that is emptied after each of them: making one costs a hundred times as
much. It waits for no disk; the server's other databases do, since ``tocsin run`` refuses one that does not. What the
planted faults raise is logged as plain text. And what many of them begin with: a Discord, and processes.
"""

import asyncio
import shutil
import uuid
from collections.abc import Iterator
from pathlib import Path

import asyncpg
import pytest
import structlog

from bot.clock import ManualClock
from tests.builders import FakeDiscord
from tests.people import Fleet

# As good as new: nobody else connected, no row, every id from 1 on.
_EMPTY = (
    """
    SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid()
    """,
    """
    DO $$ DECLARE name TEXT; BEGIN
        SET LOCAL session_replication_role = replica;
        FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'tortoise_migrations'
            LOOP EXECUTE format('DELETE FROM %I', name); END LOOP;
        FOR name IN SELECT sequencename FROM pg_sequences WHERE schemaname = 'public'
            AND sequencename NOT LIKE 'tortoise_migrations%'
            LOOP PERFORM setval(quote_ident(name), 1, false); END LOOP;
    END $$
    """,
)


def _run(address: str, *statements: str) -> None:
    async def _all() -> None:
        session = await asyncpg.connect(address)
        try:
            for statement in statements:
                await session.execute(statement)
        finally:
            await session.close()

    asyncio.run(_all())


@pytest.fixture(scope="session")
def postgres_database(postgres_template: str) -> str:
    """Return the address of the worker's own migrated database."""
    name = f"t{uuid.uuid4().hex}"
    hurry = f"ALTER DATABASE {name} SET synchronous_commit = off"
    _run(postgres_template, f"CREATE DATABASE {name} TEMPLATE tocsin_template", hurry)
    return postgres_template.replace("/postgres?", f"/{name}?")


@pytest.fixture
def postgres_url(request: pytest.FixtureRequest) -> Iterator[str]:
    """Return the address of a migrated PostgreSQL database that is empty."""
    address: str = request.getfixturevalue("postgres_database")
    yield address
    _run(address, *_EMPTY)


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Return the address of an empty migrated database, on SQLite and on PostgreSQL in turn."""
    if request.param == "postgres":
        yield request.getfixturevalue("postgres_url")
        return
    path = tmp_path / "tocsin.db"
    shutil.copyfile(request.getfixturevalue("sqlite_template"), path)
    yield f"sqlite://{path}"


@pytest.fixture(scope="session", autouse=True)
def _plain_tracebacks() -> None:
    """Log what the faults planted here raise without the library's drawing of every frame and its values."""
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.dev.ConsoleRenderer(colors=False, exception_formatter=structlog.dev.plain_traceback),
        ]
    )


@pytest.fixture
def discord(clock: ManualClock) -> FakeDiscord:
    """Return a Discord as the services see it; a module that needs another has its own."""
    return FakeDiscord(clock)


@pytest.fixture
def fleet(discord: FakeDiscord, clock: ManualClock) -> Fleet:
    """Return processes that share a database, a clock and the Discord."""
    return Fleet(discord, clock)
