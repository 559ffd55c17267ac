"""
A gate before the open database: it lets nothing through for a while, or breaks one statement, as a restart would.

A broken statement was either not run, or it was and its answer is lost; the client cannot tell which.
"""

import contextlib
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

from bot.transactions import connection

_STATEMENTS = ("execute_query", "execute_query_dict", "execute_insert", "execute_many", "execute_script")

_Call = Callable[..., Awaitable[Any]]


class DatabaseGate:
    """
    Stands before the database that is open in this context, once it was put up.

    ``is_down``: nothing gets through. ``broken`` counts what it broke.
    """

    def __init__(self) -> None:
        self.is_down = False
        self.broken = 0
        self._opened = 0
        self._countdown: int | None = None
        self._runs_first = False

    def put_up(self) -> None:
        """Stand before the database from now on."""
        client: Any = connection()
        self._guard(client, _STATEMENTS)
        begin_context = client._in_transaction  # noqa: SLF001 -- where the library makes each transaction

        def _in_transaction() -> Any:  # noqa: ANN401
            context = begin_context()
            # The two libraries call it differently.
            self._guard(getattr(context, "connection", None) or context.client, (*_STATEMENTS, "begin", "commit"))
            return context

        client._in_transaction = _in_transaction  # noqa: SLF001

    def break_statement(self, number: int, *, runs_first: bool) -> None:
        """Break the so-many-th statement from now on, counted from 1; ``runs_first``: only its answer is lost."""
        self._countdown, self._runs_first = number, runs_first

    def heal(self) -> None:
        """Break no statement any more."""
        self._countdown = None

    @contextlib.contextmanager
    def open(self) -> Iterator[None]:
        """Let everything through meanwhile: for those who look on, and take no part."""
        self._opened += 1
        try:
            yield
        finally:
            self._opened -= 1

    def _guard(self, client: Any, names: tuple[str, ...]) -> None:  # noqa: ANN401
        for name in names:
            setattr(client, name, self._guarded(client, name, getattr(client, name)))

    def _guarded(self, client: Any, name: str, call: _Call) -> _Call:  # noqa: ANN401
        async def _ask(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
            breaks = self._breaks()
            if not breaks:
                return await call(*args, **kwargs)
            self.broken += 1
            if self._runs_first and not self.is_down:
                await call(*args, **kwargs)
            elif name == "commit":
                await client.rollback()
            message = "the connection to the database was lost"
            raise ConnectionResetError(message)

        return _ask

    def _breaks(self) -> bool:
        if self._opened:
            return False
        if self.is_down:
            return True
        if self._countdown is None:
            return False
        self._countdown -= 1
        if self._countdown > 0:
            return False
        self._countdown = None
        return True
