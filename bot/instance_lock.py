"""
The instance name, held for the process's life.

Whoever holds it next knows that its former holder is dead. On SQLite it is the lock of the database file itself, since
one ``run`` may use it at a time; on PostgreSQL an advisory lock on a connection of its own, which is asked for a sign
of life each time: where it was cut without a word, the server may have given the name to another already, or may still
keep it for a session that nobody has any more.
"""

from typing import TYPE_CHECKING

import asyncpg
import filelock

from bot.database import DatabaseUnavailableError, dialect_of, place, postgres_dsn
from bot.errors import BotError
from bot.transactions import Dialect

if TYPE_CHECKING:
    import datetime as dt

_ANSWER_SECONDS = 5
_NO_ANSWER = (OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError)
_OWN = "SELECT pid, backend_start FROM pg_stat_activity WHERE pid = pg_backend_pid()"
# Waited for, within the client's own limit: a session that was told to end holds its locks until it has.
_END_OWN = """
SELECT pg_terminate_backend(pid, 4000) FROM pg_stat_activity WHERE pid = $1 AND backend_start = $2
"""


class AlreadyRunningError(BotError):
    """Another process holds what this one needs for its whole life."""

    def __init__(self, what: str) -> None:
        super().__init__(f"Another `tocsin run` already holds {what}; stop it first, or give this one its own.")


class InstanceLock:
    """
    The instance name, held for the process's life: whoever holds it next knows that its former holder is dead.

    On SQLite it is the lock of the database file itself, since one ``run`` may use it at a time.
    """

    def __init__(self, url: str, name: str) -> None:
        self._url = url
        self._name = name
        self._file: filelock.BaseFileLock | None = None
        self._session: asyncpg.Connection | None = None
        self._backend: tuple[int, dt.datetime] | None = None

    async def hold(self) -> None:
        """
        Take the lock, or take it again where its connection was lost.

        Raises:
            AlreadyRunningError: another process has it.
        """
        if dialect_of(self._url) is Dialect.SQLITE:
            self._hold_file()
        elif not await self._answers():
            await self._hold_session()

    async def _answers(self) -> bool:
        if self._session is None:
            return False
        try:
            await self._session.fetchval("SELECT 1", timeout=_ANSWER_SECONDS)
        except _NO_ANSWER:
            self._session.terminate()
            self._session = None
            return False
        return True

    def _hold_file(self) -> None:
        if self._file is not None:
            return
        # Resolved: through a link it is the same file, and must be the same lock.
        path = place(self._url)
        lock = filelock.FileLock(f"{path}.run.lock", timeout=0)
        try:
            lock.acquire()
        except filelock.Timeout as error:
            raise AlreadyRunningError(f"the database {path}") from error
        except OSError as error:
            reason = f"its lock cannot be written ({(error.strerror or type(error).__name__).lower()})"
            raise DatabaseUnavailableError(self._url, reason) from error
        self._file = lock

    async def _hold_session(self) -> None:
        session = await asyncpg.connect(
            postgres_dsn(self._url), timeout=_ANSWER_SECONDS, command_timeout=_ANSWER_SECONDS
        )
        taken = False
        try:
            taken = await self._take(session)
            if not taken and self._backend is not None:
                # Of this very process, whose connection was cut without the server's having noticed, or too late: one
                # that has ended by itself since the first try is not there to be told.
                await session.fetchval(_END_OWN, *self._backend)
                taken = await self._take(session)
            if taken:
                row = await session.fetchrow(_OWN)
                self._backend = row["pid"], row["backend_start"]
        finally:
            if not taken:
                session.terminate()
        if not taken:
            what = f"the instance name {self._name!r}"
            raise AlreadyRunningError(what)
        self._session = session

    async def _take(self, session: asyncpg.Connection) -> bool:
        query = "SELECT pg_try_advisory_lock(hashtextextended($1, 0))"
        return bool(await session.fetchval(query, f"tocsin:{self._name}"))

    async def release(self) -> None:
        """Let go of the name."""
        if self._file is not None:
            self._file.release()
            self._file = None
        if self._session is not None:
            try:
                await self._session.close(timeout=_ANSWER_SECONDS)
            except _NO_ANSWER:
                self._session.terminate()
            self._session = None
