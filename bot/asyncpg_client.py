"""
Tortoise's asyncpg backend without a round trip after every statement, and without a leak where BEGIN fails.

A pool of asyncpg resets each connection when it comes back, which costs a query of its own: claim and finalize ran at
0.43 of bare asyncpg so. Nothing here changes a session (advisory locks live on connections of their own), so that only
a transaction left open has to be ended. And it gives back each connection in a task of its own, for two turns of the
loop a statement; here only where that may have to wait. Named as the ``engine`` of a connection in :mod:`bot.database`.
"""

from types import TracebackType
from typing import Any

import asyncpg
from tortoise.backends.asyncpg.client import AsyncpgDBClient, TransactionWrapper
from tortoise.backends.base.client import (
    PoolConnectionWrapper,
    TransactionalDBClient,
    TransactionContext,
    TransactionContextPooled,
)
from tortoise.connection import get_connections


async def _end_open_transaction(connection: asyncpg.Connection) -> None:
    if connection.is_in_transaction():
        await connection.execute("ROLLBACK")


class Loan(PoolConnectionWrapper[asyncpg.Connection]):
    """A connection of the pool for one statement."""

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> None:
        """Give the connection back."""
        loan: Any = self.connection
        # After an error a cancelled statement may have to be waited for; a connection that was lost has no ``_con``.
        if exc_type is None and loan._con is not None and not loan.is_in_transaction():  # noqa: SLF001
            await loan._holder.release(None)  # noqa: SLF001 -- what the pool's own release() runs in its task
        else:
            await super().__aexit__(exc_type, exc_val, exc_tb)


class ReleasingTransactionContext(TransactionContextPooled):
    """The library's context, except that a failed BEGIN gives its connection back."""

    async def __aenter__(self) -> TransactionalDBClient:
        await self.ensure_connection()
        connection = await self.client._parent._pool.acquire()  # noqa: SLF001 -- the library's own context does the same
        self.client._connection = connection  # noqa: SLF001
        try:
            await self.client.begin()
        except BaseException:
            await self.client._parent._pool.release(connection)  # noqa: SLF001
            raise
        self.token = get_connections().set(self.connection_name, self.client)
        return self.client


class LeanAsyncpgClient(AsyncpgDBClient):
    """The library's asyncpg client over a pool that resets nothing but an open transaction."""

    async def create_pool(self, **kwargs: Any) -> asyncpg.Pool:  # noqa: ANN401 -- the library's signature
        """Open the pool; the address alone says where, since the library's own default port would overrule it."""
        for part in ("host", "port", "user", "password", "database"):
            kwargs.pop(part, None)
        return await asyncpg.create_pool(reset=_end_open_transaction, **kwargs)

    def acquire_connection(self) -> Loan:
        """Borrow a connection for one statement."""
        return Loan(self, self._pool_init_lock)

    def _in_transaction(self) -> TransactionContext:
        return ReleasingTransactionContext(TransactionWrapper(self), self._pool_init_lock)


client_class = LeanAsyncpgClient
