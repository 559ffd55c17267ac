"""
Tortoise's SQLite backend with transactions that take the write lock at once.

The library begins with a plain BEGIN: a transaction that reads first and writes later fails immediately with "database
is locked" when another process wrote in between, whatever the busy timeout. BEGIN IMMEDIATE waits its turn instead.
And where BEGIN itself fails, the library keeps its own lock for ever: here it is given back. Where COMMIT fails it
leaves the transaction open, so that later claims would not be durable: here it is rolled back. And two processes that
open a new file at once may meet while one makes it a WAL file, for which SQLite lets nobody wait: here it is tried
again. Named as the ``engine`` of a connection in :mod:`bot.database`; the library finds ``client_class`` here.
"""

import asyncio
import sqlite3

import structlog
from tortoise.backends.base.client import TransactionalDBClient, TransactionContext
from tortoise.backends.sqlite.client import SqliteClient, SqliteTransactionContext, SqliteTransactionWrapper
from tortoise.connection import get_connections
from tortoise.exceptions import IntegrityError, OperationalError

_log = structlog.get_logger(__name__)

_OPENINGS = 100
_OPEN_AGAIN_SECONDS = 0.05


class ImmediateTransactionWrapper(SqliteTransactionWrapper):
    """A transaction that holds the write lock from its first moment."""

    async def begin(self) -> None:
        """
        Begin, waiting up to the busy timeout for another process's write.

        Raises:
            OperationalError: the lock was not to be had in that time.
        """
        try:
            await self._connection.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError as error:
            await self._undo()
            raise OperationalError(error) from error

    async def _undo(self) -> None:
        """Leave no transaction open, in which every later claim would stand and none be durable."""
        try:
            await self._connection.rollback()
        except sqlite3.Error:
            _log.warning("rollback_failed", is_open=self._connection.in_transaction)

    async def rollback(self) -> None:
        """Undo everything; where the disk answers that with an error too, SQLite has undone it by itself."""
        await self._undo()
        self._finalized = True

    async def commit(self) -> None:
        """
        Commit, or undo everything.

        Raises:
            IntegrityError, sqlite3.Error: the commit was refused, and nothing of the transaction stays.
        """
        try:
            await super().commit()
        except sqlite3.Error as error:
            await self._undo()
            if isinstance(error, sqlite3.IntegrityError):
                raise IntegrityError(error) from error
            raise


class ReleasingTransactionContext(SqliteTransactionContext):
    """The library's context, except that a failed BEGIN leaves no lock behind."""

    async def __aenter__(self) -> TransactionalDBClient:
        await self._trxlock.acquire()
        try:
            await self.ensure_connection()
            await self.connection.begin()
        except BaseException:
            self._trxlock.release()
            raise
        self.token = get_connections().set(self.connection_name, self.connection)
        client: TransactionalDBClient = self.connection
        return client


class ImmediateSqliteClient(SqliteClient):
    """The library's SQLite client, with immediate transactions."""

    async def create_connection(self, with_db: bool) -> None:  # noqa: FBT001 -- the library's signature
        """
        Open the file.

        Raises:
            sqlite3.OperationalError: it cannot be opened, or stays locked for 5 s.
        """
        for remaining in reversed(range(_OPENINGS)):
            try:
                await super().create_connection(with_db)
            except sqlite3.OperationalError as error:
                await self.close()
                if remaining == 0 or error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
                    raise
                await asyncio.sleep(_OPEN_AGAIN_SECONDS)
            else:
                return

    def _in_transaction(self) -> TransactionContext:
        return ReleasingTransactionContext(ImmediateTransactionWrapper(self), self._lock)


client_class = ImmediateSqliteClient
