"""
Tortoise's asyncpg backend without a round trip after every statement, and without a leak where BEGIN fails.

A pool of asyncpg resets each connection when it comes back, which costs a query of its own: claim and finalize ran at
0.43 of bare asyncpg so. Nothing changes a session after its first moment (advisory locks live on connections of their
own), so that only a transaction left open has to be ended. And it gives back each connection in a task of its own, for
two turns of the loop a statement; here only where that may have to wait.

A statement that gets no answer is given up, and its connection with it: the library would wait for ever, and so would
its polite request to cancel. A connection to a server that only reads is given up too, so that the next one may lead to
the server that took its place. Named as the ``engine`` of a connection in :mod:`bot.database`.
"""

from types import TracebackType
from typing import Any

import asyncpg
from tortoise.backends.asyncpg.client import AsyncpgDBClient, TransactionWrapper
from tortoise.backends.base.client import (
    NestedTransactionContext,
    PoolConnectionWrapper,
    TransactionalDBClient,
    TransactionContext,
    TransactionContextPooled,
)
from tortoise.backends.base_postgres.client import translate_exceptions
from tortoise.connection import get_connections
from tortoise.exceptions import TransactionManagementError

PATIENCE_SECONDS = 30
"""A transaction that stands still for so long is ended by the server: its process is stopped, and others wait."""


ANSWER_SECONDS = 30
"""How long an answer may take; a script, which only migrations run, has an hour."""
_SCRIPT_SECONDS = 3600
_CONNECT_SECONDS = 10


def _is_lost(error: BaseException | None) -> bool:
    """Return whether a connection is of no more use after an error."""
    if isinstance(error, TransactionManagementError):
        error = error.__cause__
    return isinstance(error, (TimeoutError, asyncpg.ReadOnlySQLTransactionError))


async def _end_what_stands_still(connection: asyncpg.Connection) -> None:
    # Said on the session, not when connecting: poolers such as PgBouncer refuse what they do not know there.
    await connection.execute(f"SET idle_in_transaction_session_timeout = '{PATIENCE_SECONDS}s'")


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
        if _is_lost(exc_val):
            loan.terminate()
        # After an error a cancelled statement may have to be waited for; a connection that was lost has no ``_con``.
        if exc_type is None and loan._con is not None and not loan.is_in_transaction():  # noqa: SLF001
            await loan._holder.release(None)  # noqa: SLF001 -- what the pool's own release() runs in its task
        else:
            await super().__aexit__(exc_type, exc_val, exc_tb)


class PatientTransactionWrapper(TransactionWrapper):
    """The library's transaction, in which a script may take its time."""

    @translate_exceptions
    async def execute_script(self, query: str) -> None:
        """Run a script of a migration."""
        async with self.acquire_connection() as connection:
            await connection.execute(query, timeout=_SCRIPT_SECONDS)

    def _in_transaction(self) -> TransactionContext:
        return NestedTransactionContext(PatientTransactionWrapper(self))


class ReleasingTransactionContext(TransactionContextPooled):
    """The library's context, except that a failed BEGIN gives its connection back, and a lost one is not kept."""

    async def __aenter__(self) -> TransactionalDBClient:
        await self.ensure_connection()
        connection = await self.client._parent._pool.acquire()  # noqa: SLF001 -- the library's own context does the same
        self.client._connection = connection  # noqa: SLF001
        try:
            await self.client.begin()
        except BaseException as error:
            if _is_lost(error):
                connection.terminate()
            await self.client._parent._pool.release(connection)  # noqa: SLF001
            raise
        self.token = get_connections().set(self.connection_name, self.client)
        return self.client

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> None:
        connection: Any = self.client._connection  # noqa: SLF001
        try:
            if _is_lost(exc_val):
                connection.terminate()  # what stands open there ends with it
            elif self.client._finalized:  # noqa: SLF001
                pass
            elif exc_type is None:
                await self.client.commit()
            elif exc_type is not TransactionManagementError:
                await self.client.rollback()
        except BaseException as error:
            if _is_lost(error):
                connection.terminate()
            raise
        finally:
            await self.client._parent._pool.release(connection)  # noqa: SLF001
            get_connections().reset(self.token)


class LeanAsyncpgClient(AsyncpgDBClient):
    """The library's asyncpg client over a pool that resets nothing but an open transaction."""

    async def create_pool(self, **kwargs: Any) -> asyncpg.Pool:  # noqa: ANN401 -- the library's signature
        """Open the pool; the address alone says where, since the library's own default port would overrule it."""
        for part in ("host", "port", "user", "password", "database"):
            kwargs.pop(part, None)
        # No floor to keep: while the server is away the library would fill the log with each try to restore it.
        lean = kwargs | {"min_size": 0, "init_size": 1, "timeout": _CONNECT_SECONDS, "command_timeout": ANSWER_SECONDS}
        return await asyncpg.create_pool(init=_end_what_stands_still, reset=_end_open_transaction, **lean)

    @translate_exceptions
    async def execute_script(self, query: str) -> None:
        """Run a script of a migration."""
        async with self.acquire_connection() as connection:
            await connection.execute(query, timeout=_SCRIPT_SECONDS)

    def acquire_connection(self) -> Loan:
        """Borrow a connection for one statement."""
        return Loan(self, self._pool_init_lock)

    def _in_transaction(self) -> TransactionContext:
        return ReleasingTransactionContext(PatientTransactionWrapper(self), self._pool_init_lock)


client_class = LeanAsyncpgClient
