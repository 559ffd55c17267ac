"""Open and close the database, and tell its time: a SQLite file, or PostgreSQL for several processes."""

import asyncio
import contextlib
import datetime as dt
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from tortoise.context import TortoiseContext

from bot.errors import BotError
from bot.transactions import Dialect, dialect, fetch

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
            raise DatabaseUnavailableError(url, reason_of(error)) from error
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
        raise DatabaseUnavailableError(url, reason_of(error)) from error


def reason_of(error: Exception) -> str:
    """Return in a few words why a database could not be opened, without a part of its address."""
    if isinstance(error, ValueError):
        # Its text quotes what was taken for a port or a host, which may be a part of the password.
        return "the address is malformed; percent-encode special characters of its password"
    text = str(error.__cause__ or error).strip().splitlines()
    return (text[0] if text else type(error).__name__).rstrip(".")


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
