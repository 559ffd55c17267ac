"""
The instance name, held for the process's life.

Whoever holds it next knows that its former holder is dead. On SQLite it is the lock of the database file itself, since
one ``run`` may use it at a time; on PostgreSQL an advisory lock on a connection of its own.
"""

import asyncpg
import filelock

from bot.database import DatabaseUnavailableError, dialect_of, place, postgres_dsn
from bot.errors import BotError
from bot.transactions import Dialect


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

    async def hold(self) -> None:
        """
        Take the lock, or take it again where its connection was lost.

        Raises:
            AlreadyRunningError: another process has it.
        """
        if dialect_of(self._url) is Dialect.SQLITE:
            self._hold_file()
        elif self._session is None or self._session.is_closed():
            await self._hold_session()

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
        session = await asyncpg.connect(postgres_dsn(self._url))
        taken = False
        try:
            query = "SELECT pg_try_advisory_lock(hashtextextended($1, 0))"
            taken = bool(await session.fetchval(query, f"tocsin:{self._name}"))
        finally:
            if not taken:
                session.terminate()
        if not taken:
            what = f"the instance name {self._name!r}"
            raise AlreadyRunningError(what)
        self._session = session

    async def release(self) -> None:
        """Let go of the name."""
        if self._file is not None:
            self._file.release()
            self._file = None
        if self._session is not None:
            await self._session.close()
            self._session = None
