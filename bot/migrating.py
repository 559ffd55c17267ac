"""Bring the open database to this version's tables: one process at a time, and each step as one with its record."""

import contextlib
from collections.abc import AsyncIterator

import asyncpg
import filelock
from tortoise.migrations.executor import MigrationExecutor
from tortoise.migrations.recorder import MigrationRecorder

from bot.database import MODEL_MODULES, DatabaseUnavailableError, dialect_of, place, postgres_dsn, reason_of
from bot.errors import BotError
from bot.transactions import Dialect, atomic, connection, dialect, fetch

# Any constant will do as long as it never changes: it keeps two processes from migrating at once.
_MIGRATION_LOCK = 0x70C51
_MIGRATION_PATIENCE_SECONDS = 60
_STILL_MIGRATING = "another process has been migrating it for a minute"


class NewerDatabaseError(BotError):
    """The database was written by a newer version."""

    def __init__(self, unknown: str) -> None:
        super().__init__(
            f"The database has migration {unknown}, which this version does not know; run the newer version."
        )


class UnmigratedError(BotError):
    """The database lacks tables that this version needs."""

    def __init__(self, pending: list[str]) -> None:
        super().__init__(
            f"The database waits for {len(pending)} migration(s), {pending[0]} first; run `tocsin migrate`."
        )


def _executor() -> MigrationExecutor:
    app = {"models": list(MODEL_MODULES), "migrations": "migrations", "default_connection": dialect().value}
    return MigrationExecutor(connection(), {"models": app})


async def pending_migrations() -> list[str]:
    """
    Return the names of the migrations that the open database still lacks, oldest first.

    Raises:
        NewerDatabaseError: it has one that this version does not know.
    """
    tables = await fetch(
        "SELECT name FROM sqlite_master WHERE name = 'tortoise_migrations'"
        if dialect() is Dialect.SQLITE
        else "SELECT 1 AS name WHERE to_regclass('tortoise_migrations') IS NOT NULL"
    )
    executor = _executor()
    if not tables:
        await executor.loader.build_graph()
        return sorted(key.name for key in executor.loader.graph.nodes)
    plan = await executor.plan()
    known = {key.name for key in executor.loader.graph.nodes}
    unknown = sorted(key.name for key in await executor.recorder.applied_migrations() if key.name not in known)
    if unknown:
        raise NewerDatabaseError(unknown[-1])
    return [step.migration.name for step in plan]


async def require_migrated() -> None:
    """
    Refuse a database that this version does not fit.

    Raises:
        UnmigratedError: migrations are missing.
    """
    if pending := await pending_migrations():
        raise UnmigratedError(pending)


async def migrate(url: str) -> list[str]:
    """Bring the open database to this version's tables, one process at a time; return what was applied."""
    async with _migration_lock(url):
        pending = await pending_migrations()
        if pending:
            await _executor().migrate([])  # makes the table of the records alone
            await atomic(_apply)
        return pending


async def _apply() -> None:
    """Apply what is pending, as one unit with its record: tables without their record would be made again, and fail."""
    executor = _executor()
    executor.recorder = _Recorder(executor.connection)
    await executor.migrate()


class _Recorder(MigrationRecorder):
    """A recorder whose table is there: the library's makes it by a script, before which SQLite commits what is open."""

    async def ensure_schema(self, schema_editor: object) -> None:
        """Make nothing."""


@contextlib.asynccontextmanager
async def _migration_lock(url: str) -> AsyncIterator[None]:
    if dialect_of(url) is Dialect.SQLITE:
        # Waited for without holding the loop, in which the holder may have to go on.
        lock = filelock.AsyncFileLock(f"{place(url)}.migrate.lock", timeout=_MIGRATION_PATIENCE_SECONDS)
        try:
            await lock.acquire()
        except filelock.Timeout as error:
            raise DatabaseUnavailableError(url, _STILL_MIGRATING) from error
        except OSError as error:
            raise DatabaseUnavailableError(url, reason_of(error)) from error
        try:
            yield
        finally:
            await lock.release()
        return
    own = await asyncpg.connect(postgres_dsn(url))
    try:
        await own.execute(f"SET lock_timeout = '{_MIGRATION_PATIENCE_SECONDS}s'")
        try:
            await own.execute("SELECT pg_advisory_lock($1)", _MIGRATION_LOCK)
        except asyncpg.LockNotAvailableError as error:
            raise DatabaseUnavailableError(url, _STILL_MIGRATING) from error
        yield
    finally:
        await own.close()
