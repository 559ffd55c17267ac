"""
One unit of work on the database, and what the two databases spell differently.

Everything that changes rows runs inside :func:`atomic`. No task is created, nothing is sent and nothing waits for
Discord while it runs.
"""

import asyncio
import datetime as dt
import re
import sqlite3
import traceback
from collections.abc import Awaitable, Callable, Sequence
from enum import StrEnum
from functools import lru_cache
from typing import TypeVar

import asyncpg
from tortoise.backends.base.client import BaseDBAsyncClient
from tortoise.connection import get_connections
from tortoise.exceptions import BaseORMException
from tortoise.transactions import in_transaction

from models.fields import NaiveDatetimeError

Result = TypeVar("Result")

# What a database raises when it cannot be reached or refuses: the library translates only a part of it.
DATABASE_ERRORS: tuple[type[Exception], ...] = (
    BaseORMException,
    OSError,
    TimeoutError,
    asyncpg.PostgresError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    sqlite3.Error,
)

# What says that the database itself is of no use now, in words; the first that fits is said.
_TROUBLES: tuple[tuple[type[Exception], str], ...] = (
    (asyncpg.ReadOnlySQLTransactionError, "it can only be read"),
    (asyncpg.DiskFullError, "its disk is full"),
    (asyncpg.TooManyConnectionsError, "it takes no more connections"),
    (asyncpg.InsufficientResourcesError, "it has run out of resources"),
    (asyncpg.OperatorInterventionError, "it is stopping or starting"),
    (asyncpg.PostgresConnectionError, "its connection was lost"),
    (asyncpg.InterfaceError, "its connection was lost"),
    (asyncpg.InternalClientError, "its connection was lost"),
    (TimeoutError, "it does not answer"),
    (OSError, "it cannot be reached"),
)
_SQLITE_TROUBLES = {
    sqlite3.SQLITE_BUSY: "another process keeps it locked",
    sqlite3.SQLITE_LOCKED: "another process keeps it locked",
    sqlite3.SQLITE_READONLY: "it can only be read",
    sqlite3.SQLITE_FULL: "its disk is full",
    sqlite3.SQLITE_IOERR: "its disk cannot be read or written",
    sqlite3.SQLITE_CANTOPEN: "its file cannot be opened",
    sqlite3.SQLITE_CORRUPT: "its file is damaged",
    sqlite3.SQLITE_NOTADB: "its file is damaged",
}
_LIBRARIES = frozenset({"aiosqlite", "asyncpg", "tortoise"})
# Some of their errors are time-outs and refused connections, too.
_OF_DISCORD = frozenset({"aiohttp", "discord"})
_NUMBERED = re.compile(r"\$(\d+)")


class Dialect(StrEnum):
    """The databases that Tocsin runs on; each is also the alias of its connection."""

    SQLITE = "sqlite"
    POSTGRES = "postgres"


def dialect() -> Dialect:
    """Return which database is open in this context."""
    return Dialect(next(iter(get_connections().db_config)))


def connection() -> BaseDBAsyncClient:
    """Return the open connection, inside :func:`atomic` the transaction's own."""
    return get_connections().get(dialect())


@lru_cache(maxsize=256)
def _spelled(query: str, spoken: str) -> str:
    return _NUMBERED.sub(r"?\1", query) if spoken == Dialect.SQLITE else query


async def fetch(query: str, values: Sequence[object] = ()) -> list[dict[str, object]]:
    """
    Run one statement and return its rows.

    Parameters are written ``$1``, ``$2`` and so on whatever the database. A write with RETURNING tells by an empty
    list that it touched nothing, on both databases. A moment goes in as UTC, since SQLite compares them as text.

    Raises:
        DATABASE_ERRORS: the database cannot be reached or refuses.
        NaiveDatetimeError: a value is a datetime without a zone.
    """
    client = connection()
    return await client.execute_query_dict(
        _spelled(query, client.capabilities.dialect), [_stored(value) for value in values]
    )


def _stored(value: object) -> object:
    if not isinstance(value, dt.datetime):
        return value
    if value.tzinfo is None:
        raise NaiveDatetimeError(value)
    return value.astimezone(dt.UTC)


async def atomic(work: Callable[[], Awaitable[Result]]) -> Result:
    """
    Run ``work`` in one transaction that a cancellation cannot tear apart, and return what it returns.

    A task that is cancelled while it enters or leaves a transaction would leave SQLite's lock held, or a pooled
    connection lost. So the transaction runs in a task of its own; whoever is cancelled waits for its end first.
    """

    async def _unit() -> Result:
        async with in_transaction(dialect()):
            return await work()

    unit = asyncio.create_task(_unit())
    try:
        return await asyncio.shield(unit)
    except asyncio.CancelledError:
        await _ended(unit)
        raise


async def _ended(unit: "asyncio.Task[Result]") -> None:
    while not unit.done():
        try:
            await asyncio.wait({unit})
        except asyncio.CancelledError:  # a second cancellation must not let go of the transaction either
            continue
    if not unit.cancelled():
        unit.exception()


def database_trouble(error: BaseException) -> str | None:
    """Return in words why the database is of no use now; None: the error is one of the statement, or of the code."""
    if isinstance(error, BaseORMException):
        inner = error.args[0] if error.args and isinstance(error.args[0], BaseException) else error.__cause__
        return database_trouble(inner) if inner is not None else None
    if isinstance(error, sqlite3.Error):
        # The lowest byte is the kind; the rest tells only how it came about.
        return _SQLITE_TROUBLES.get(getattr(error, "sqlite_errorcode", 0) & 0xFF)
    if type(error).__module__.partition(".")[0] in _OF_DISCORD:
        return None
    return next((words for kind, words in _TROUBLES if isinstance(error, kind)), None)


def own_trouble(error: BaseException) -> str | None:
    """
    Return what :func:`database_trouble` does, where nobody says that it was the database which failed.

    A bare time-out or refused connection may be anybody's: it counts only where it came out of a database's library.
    """
    if isinstance(error, (OSError, TimeoutError)) and not any(
        str(frame.f_globals.get("__name__")).partition(".")[0] in _LIBRARIES
        for frame, _ in traceback.walk_tb(error.__traceback__)
    ):
        return None
    return database_trouble(error)


def in_list(values: Sequence[object], *, first: int) -> str:
    """Return ``($n, $n+1, ...)`` for a list of values whose first parameter is ``$first``."""
    return "(" + ", ".join(f"${first + place}" for place in range(len(values))) + ")"


def moment(value: object) -> dt.datetime:
    """
    Return a time column of a row that :func:`fetch` gave, as aware UTC: SQLite keeps text, PostgreSQL datetimes.

    Raises:
        ValueError: the value is no moment.
    """
    if isinstance(value, str):
        value = dt.datetime.fromisoformat(value)
    if not isinstance(value, dt.datetime) or value.tzinfo is None:
        message = f"{value!r} is no stored moment"
        raise ValueError(message)
    return value.astimezone(dt.UTC)


def integer(value: object) -> int:
    """
    Return a whole-number column of a row that :func:`fetch` gave.

    Raises:
        ValueError: the value is no whole number.
    """
    if not isinstance(value, int):
        message = f"{value!r} is no stored whole number"
        raise ValueError(message)  # noqa: TRY004 -- it is a wrong value in the database, not a wrong call
    return value
