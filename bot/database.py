"""Open, migrate and close the database, and tell its time: a SQLite file, or PostgreSQL for several processes."""

import asyncio
import contextlib
import datetime as dt
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import asyncpg
import filelock
from tortoise.context import TortoiseContext
from tortoise.migrations.executor import MigrationExecutor
from tortoise.migrations.recorder import MigrationRecorder

from bot.errors import BotError
from bot.transactions import Dialect, atomic, connection, dialect, fetch, integer

MODEL_MODULES = (
    "models.audit_log",
    "models.discord_message_log",
    "models.dm_channel",
    "models.event",
    "models.event_repeater",
    "models.event_signup",
    "models.guild_settings",
    "models.instance",
    "models.leader_lease",
    "models.ops_note",
    "models.player_profile",
    "models.process_state",
    "models.reminder_due",
    "models.repeater_exception",
    "models.repeater_subscription",
)
LEAST_POSTGRES = 14
"""The oldest PostgreSQL that waits for the end of a session that it was told to end."""

# Any constant will do as long as it never changes: it keeps two processes from migrating at once.
_MIGRATION_LOCK = 0x70C51
_MIGRATION_PATIENCE_SECONDS = 60
_STILL_MIGRATING = "another process has been migrating it for a minute"
_BUSY_TIMEOUT_MILLISECONDS = 10_000
# Up to the last @: passwords are pasted unquoted, and may hold what an address is told apart by.
_PASSWORD = re.compile(r"^((?:\w+://)?[^:@/]*):(?!//).*@", re.DOTALL)
_PASSWORD_IN_QUERY = re.compile(r"([?&]\w*password=)[^&]*", re.IGNORECASE)
# The library's 16 KB cut the write-ahead log short after each checkpoint, and every commit then grew the file again:
# claim and finalize took 1.4 times as long.
_WAL_BYTES_KEPT = 64 * 1024 * 1024


class DatabaseUnavailableError(BotError):
    """The database cannot be opened."""

    def __init__(self, url: str, reason: str) -> None:
        super().__init__(f"The database at {shown_url(url)} cannot be opened: {reason}.")


class UnknownDatabaseError(BotError):
    """The address names no database that Tocsin runs on."""

    def __init__(self, url: str) -> None:
        super().__init__(f"{shown_url(url)} is no database address; use sqlite://PATH or postgres://USER@HOST/NAME.")


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


class UnsafeDatabaseError(BotError):
    """The database may forget what it acknowledged; ``settings`` are the names of what lets it."""

    def __init__(self, url: str, settings: Sequence[str], mends: Sequence[str]) -> None:
        off = " and ".join(f"{name} = off" for name in settings)
        super().__init__(
            f"The database at {shown_url(url)} has {off}: a crash of its machine could undo claims that it"
            f" acknowledged, and messages would be sent twice; {', '.join(mends)}, then start again."
        )
        self.settings = tuple(settings)


class OldDatabaseError(BotError):
    """The database's server lacks what Tocsin asks of it."""

    def __init__(self, url: str, major: int) -> None:
        super().__init__(
            f"The database at {shown_url(url)} is PostgreSQL {major}; Tocsin needs {LEAST_POSTGRES} or newer."
        )


def shown_url(url: str) -> str:
    """Return the address without its password, for a message or a log, also where the address is malformed."""
    if url.startswith("sqlite:"):
        return url
    return _PASSWORD_IN_QUERY.sub(r"\1[hidden]", _PASSWORD.sub(r"\1:[hidden]@", url))


def place(url: str) -> str:
    """Return where the database is, as an operator looks for it: the whole path of a file, else the shown address."""
    return str(sqlite_path(url).resolve()) if dialect_of(url) is Dialect.SQLITE else shown_url(url)


def dialect_of(url: str) -> Dialect:
    """
    Return which database an address names.

    Raises:
        UnknownDatabaseError: it names none that is known.
    """
    match url.partition("://")[0].lower():
        case "sqlite":
            return Dialect.SQLITE
        case "postgres" | "postgresql" | "asyncpg":
            return Dialect.POSTGRES
        case _:
            pass
    raise UnknownDatabaseError(url)


def sqlite_path(url: str) -> Path:
    """Return the file that a ``sqlite://PATH`` address names."""
    return Path(unquote(url.removeprefix("sqlite://")))


def tortoise_config(url: str, *, pool_size: int = 5) -> dict[str, Any]:
    """Return the ORM's configuration: one connection whose alias is its dialect, so that no SQL is cached across."""
    kind = dialect_of(url)
    if kind is Dialect.SQLITE:
        engine, credentials = "bot.sqlite_client", _sqlite_credentials(url)
    else:
        engine, credentials = "bot.asyncpg_client", _postgres_credentials(url, pool_size)
    return {
        "connections": {kind.value: {"engine": engine, "credentials": credentials}},
        "apps": {
            "models": {
                "models": list(MODEL_MODULES),
                "default_connection": kind.value,
                "migrations": "migrations",
            }
        },
        "use_tz": True,
        "timezone": "UTC",
    }


def _sqlite_credentials(url: str) -> dict[str, Any]:
    return {
        "file_path": str(sqlite_path(url)),
        "journal_mode": "WAL",
        "synchronous": "FULL",
        "journal_size_limit": _WAL_BYTES_KEPT,
        "foreign_keys": "ON",
        "busy_timeout": _BUSY_TIMEOUT_MILLISECONDS,
    }


def _postgres_credentials(url: str, pool_size: int) -> dict[str, Any]:
    # asyncpg reads the whole address itself, sockets and options included.
    return {"dsn": postgres_dsn(url), "minsize": 1, "maxsize": pool_size}


def postgres_dsn(url: str) -> str:
    """Return the address as asyncpg reads it, for a connection beside the ORM's."""
    return url.replace("asyncpg://", "postgresql://", 1)


@contextlib.asynccontextmanager
async def opened(url: str, *, pool_size: int = 5, everywhere: bool = False) -> AsyncIterator[None]:
    """
    Open the database for this context and close it on every way out.

    ``everywhere``: also for tasks made outside this context (the bot's gateway events); once per process.

    Raises:
        DatabaseUnavailableError: it cannot be reached.
        UnknownDatabaseError: the address names no known database.
    """
    if dialect_of(url) is Dialect.SQLITE:
        _make_folder(url)
    async with TortoiseContext() as context:
        await context.init(config=tortoise_config(url, pool_size=pool_size), _enable_global_fallback=everywhere)
        try:
            await _first_answer()
        except Exception as error:
            raise DatabaseUnavailableError(url, _reason(error)) from error
        yield


async def _first_answer() -> None:
    """Connect, and wait for the end of it also when cancelled: a connection that is half open cannot be closed."""
    asked = asyncio.create_task(fetch("SELECT 1 AS one"))
    try:
        await asyncio.shield(asked)
    except asyncio.CancelledError:
        await asyncio.wait({asked})
        raise


def _make_folder(url: str) -> None:
    try:
        sqlite_path(url).parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DatabaseUnavailableError(url, _reason(error)) from error


def _reason(error: Exception) -> str:
    if isinstance(error, ValueError):
        # Its text quotes what was taken for a port or a host, which may be a part of the password.
        return "the address is malformed; percent-encode special characters of its password"
    text = str(error.__cause__ or error).strip().splitlines()
    return (text[0] if text else type(error).__name__).rstrip(".")


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


_SAFETY = """
SELECT name, source, quote_ident(current_database()) AS database, quote_ident(current_user) AS role FROM pg_settings
WHERE setting = 'off' AND name IN ('fsync', 'full_page_writes', 'synchronous_commit') ORDER BY name
"""


async def require_durable(url: str) -> None:
    """
    Refuse an open PostgreSQL that acknowledges what a crash may undo: a lease would be forgotten, its message doubled.

    It is asked for what holds in the bot's own sessions, whoever set it; on SQLite every connection is opened safely.

    Raises:
        OldDatabaseError: it is an older PostgreSQL than Tocsin runs on.
        UnsafeDatabaseError: it has ``fsync``, ``full_page_writes`` or ``synchronous_commit`` off.
    """
    if dialect() is not Dialect.POSTGRES:
        return
    (version,) = await fetch("SELECT current_setting('server_version_num')::int / 10000 AS major")
    if (major := integer(version["major"])) < LEAST_POSTGRES:
        raise OldDatabaseError(url, major)
    if rows := await fetch(_SAFETY):
        raise UnsafeDatabaseError(url, [str(row["name"]) for row in rows], [_mend(row) for row in rows])


# Where a setting was switched off, as ``pg_settings.source`` tells, and how it is switched on there.
_MENDS = {
    "command line": "start the server without {name} = off on its command line",
    "client": "take {name} out of the database's address and of PGOPTIONS",
    "database": "run `ALTER DATABASE {database} SET {name} = on;` there",
    "user": "run `ALTER ROLE {role} SET {name} = on;` there",
    "database user": "run `ALTER ROLE {role} IN DATABASE {database} SET {name} = on;` there",
}
_MEND = "run `ALTER SYSTEM SET {name} = on; SELECT pg_reload_conf();` there"


def _mend(row: Mapping[str, object]) -> str:
    return _MENDS.get(str(row["source"]), _MEND).format_map(row)


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
            raise DatabaseUnavailableError(url, _reason(error)) from error
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


class DatabaseLeaseClock:
    """The database's own clock; fulfils ``bot.clock.LeaseClock``."""

    def stamp(self) -> dt.datetime | None:
        """Return None: each statement takes the database's time itself."""
        return None

    async def now(self) -> dt.datetime:
        """Return the database's present moment, to the millisecond on SQLite."""
        if dialect() is Dialect.SQLITE:
            rows = await fetch("SELECT strftime('%Y-%m-%dT%H:%M:%f+00:00', 'now') AS now")
            return dt.datetime.fromisoformat(str(rows[0]["now"]))
        rows = await fetch("SELECT clock_timestamp() AS now")
        moment = rows[0]["now"]
        assert isinstance(moment, dt.datetime)  # noqa: S101 -- what clock_timestamp() is
        return moment.astimezone(dt.UTC)


CLI_CONFIG = tortoise_config("sqlite://data/tocsin.db")
"""What ``make migrations`` hands to the ORM's command line."""
