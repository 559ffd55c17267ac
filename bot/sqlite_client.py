"""
Tortoise's SQLite backend with transactions that take the write lock at once.

The library begins with a plain BEGIN: a transaction that reads first and writes later fails immediately with "database
is locked" when another process wrote in between, whatever the busy timeout. BEGIN IMMEDIATE waits its turn instead.
And where BEGIN itself fails, the library keeps its own lock for ever: here it is given back. Named as the ``engine`` of
a connection in :mod:`bot.database`; the library finds ``client_class`` here.
"""

import sqlite3

from tortoise.backends.base.client import TransactionalDBClient, TransactionContext
from tortoise.backends.sqlite.client import SqliteClient, SqliteTransactionContext, SqliteTransactionWrapper
from tortoise.connection import get_connections
from tortoise.exceptions import OperationalError


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
            raise OperationalError(error) from error


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

    def _in_transaction(self) -> TransactionContext:
        return ReleasingTransactionContext(ImmediateTransactionWrapper(self), self._lock)


client_class = ImmediateSqliteClient
