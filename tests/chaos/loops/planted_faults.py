"""
Every kind of exception, and places to plant one: at the begin of a pass, at a statement, at a call to Discord.

A fault counts the calls of one body alone, and of the tasks that body started: a context variable tells them apart.
"""

import asyncio
import contextlib
import contextvars
import errno
import sqlite3
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from enum import StrEnum
from types import SimpleNamespace
from typing import Any, cast
from unittest import mock

import aiohttp
import asyncpg
import discord
from tortoise.backends.asyncpg import client as asyncpg_backend
from tortoise.backends.sqlite import client as sqlite_backend
from tortoise.exceptions import DBConnectionError, DoesNotExist, IntegrityError, OperationalError

from bot.clock import Clock
from bot.errors import BotError
from bot.leases.failures import ErrorClass, SendError
from bot.leases.ports import ChannelTarget, Delivered, Target
from bot.message.outgoing import OutgoingMessage
from tests.builders import FakeDiscord

_STATEMENTS = ("execute_insert", "execute_many", "execute_query", "execute_query_dict")
_BACKENDS = (
    sqlite_backend.SqliteClient,
    sqlite_backend.SqliteTransactionWrapper,
    asyncpg_backend.AsyncpgDBClient,
    asyncpg_backend.TransactionWrapper,
)


class PlantedError(BotError):
    """A refusal of the bot's own, where nobody expects one."""


def _answer(status: int) -> Any:  # noqa: ANN401 -- what the library takes for an answer
    return SimpleNamespace(status=status, reason="planted")


def _closed() -> discord.ConnectionClosed:
    return discord.ConnectionClosed(cast("Any", SimpleNamespace(close_code=1006)), shard_id=None, code=1006)


KINDS: Mapping[str, Callable[[], BaseException]] = {
    "ValueError": lambda: ValueError("planted"),
    "KeyError": lambda: KeyError("planted"),
    "TypeError": lambda: TypeError("planted"),
    "OverflowError": lambda: OverflowError("planted"),
    "AssertionError": lambda: AssertionError("planted"),
    "StopAsyncIteration": lambda: StopAsyncIteration("planted"),
    "RuntimeError": lambda: RuntimeError("planted"),
    "MemoryError": lambda: MemoryError("planted"),
    "RecursionError": lambda: RecursionError("planted"),
    "BotError": lambda: PlantedError("planted"),
    "SendError": lambda: SendError(ErrorClass.OUTAGE, "planted", may_have_arrived=True),
    "OperationalError": lambda: OperationalError("planted"),
    "IntegrityError": lambda: IntegrityError("planted"),
    "DoesNotExist": lambda: DoesNotExist(cast("Any", PlantedError)),
    "DBConnectionError": lambda: DBConnectionError("planted"),
    "sqlite3.DatabaseError": lambda: sqlite3.DatabaseError("planted"),
    "PostgresError": lambda: asyncpg.PostgresConnectionError("planted"),
    "InterfaceError": lambda: asyncpg.InterfaceError("planted"),
    "OSError": lambda: OSError(errno.ENOSPC, "planted"),
    "ConnectionResetError": lambda: ConnectionResetError(errno.ECONNRESET, "planted"),
    "TimeoutError": lambda: TimeoutError("planted"),
    "aiohttp.ClientError": lambda: aiohttp.ClientError("planted"),
    "aiohttp.ServerDisconnectedError": aiohttp.ServerDisconnectedError,
    "discord.HTTPException": lambda: discord.HTTPException(_answer(500), "planted"),
    "discord.Forbidden": lambda: discord.Forbidden(_answer(403), "planted"),
    "discord.ConnectionClosed": _closed,
    "ExceptionGroup": lambda: ExceptionGroup("planted", [ValueError("planted"), OSError("planted")]),
    "CancelledError": lambda: asyncio.CancelledError("planted"),
    "GeneratorExit": lambda: GeneratorExit("planted"),
}
"""What is no Exception and ends the process by design (KeyboardInterrupt, SystemExit) is not among them."""


class Place(StrEnum):
    """Where a fault strikes."""

    BEFORE_LOOP = "before the first pass"
    BEGIN = "at the begin of a pass"
    STATEMENT = "at a statement"
    ANSWER = "at a statement's answer"
    REQUEST = "at a request"
    RESPONSE = "at a request's answer"
    ITEM = "at one of three items"
    HANG = "for ever"


_armed: contextvars.ContextVar["Fault | None"] = contextvars.ContextVar("armed", default=None)


class Fault:
    """
    One planted fault; ``fired`` counts how often it struck.

    ``after`` calls of its place pass, the next one is struck, once; at an item every call is, until ``lifted``.
    """

    def __init__(
        self, kind: str, place: Place, *, after: int = 0, is_of_item: Callable[[Iterable[object]], bool]
    ) -> None:
        self.kind = kind
        self.place = place
        self.fired = 0
        self.struck = asyncio.Event()
        self._passes = after
        self._is_of_item = is_of_item
        self._lifted = asyncio.Event()

    @property
    def is_lifted(self) -> bool:
        """Return whether it strikes no more."""
        return self._lifted.is_set()

    def lift(self) -> None:
        """Let whatever it holds or keeps failing go on."""
        self._lifted.set()

    @contextlib.contextmanager
    def armed(self) -> Iterator[None]:
        """Let the calls in the context, and those of the tasks started in it, count."""
        token = _armed.set(self)
        try:
            yield
        finally:
            _armed.reset(token)

    async def at(self, place: Place, subjects: Iterable[object] = ()) -> None:
        """
        Strike here if it is this fault's turn.

        Raises:
            BaseException: of its kind.
        """
        if self._lifted.is_set():
            return
        if self.place is Place.ITEM:
            if place in {Place.STATEMENT, Place.REQUEST} and self._is_of_item(subjects):
                self._strike()
            return
        if self.place is Place.HANG and place is Place.BEGIN and not self.fired:
            self.fired += 1
            self.struck.set()
            await self._lifted.wait()
        if self.place is not place or self.fired:
            return
        if self._passes:
            self._passes -= 1
            return
        self._strike()

    def _strike(self) -> None:
        self.fired += 1
        self.struck.set()
        error = KINDS[self.kind]()
        raise error


async def _here(place: Place, subjects: Iterable[object] = ()) -> None:
    if (fault := _armed.get()) is not None:
        await fault.at(place, subjects)


@contextlib.contextmanager
def faulty_statements() -> Iterator[None]:
    """Let armed faults strike at the statements of both databases."""
    with contextlib.ExitStack() as stack:
        for client in _BACKENDS:
            for name in _STATEMENTS:
                if name in vars(client):
                    stack.enter_context(mock.patch.object(client, name, _struck(getattr(client, name))))
        yield


def _struck(really: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    async def _call(self: object, query: str, *arguments: Any, **named: Any) -> Any:  # noqa: ANN401
        # A list of items that happens to hold one is no statement about it.
        values = [] if " IN (" in query else list(_flat([*arguments, *named.values()]))
        await _here(Place.STATEMENT, values)
        answer = await really(self, query, *arguments, **named)
        await _here(Place.ANSWER)
        return answer

    return _call


def _flat(values: Iterable[object]) -> Iterator[object]:
    for value in values:
        if isinstance(value, list | tuple):
            yield from _flat(value)
        else:
            yield value


class FaultyDiscord(FakeDiscord):
    """A Discord at whose requests armed faults strike, before they arrive or after."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock)

    async def send(
        self, target: Target, message: OutgoingMessage, *, nonce: str, before_request: Callable[[], Awaitable[None]]
    ) -> Delivered:
        """Post a message."""
        await _here(Place.REQUEST, _ids(target))
        delivered = await super().send(target, message, nonce=nonce, before_request=before_request)
        await _here(Place.RESPONSE)
        return delivered

    async def find(self, target: Target, *, marker: str, after: int) -> Delivered | None:
        """Look a message up by its marker."""
        await _here(Place.REQUEST, _ids(target))
        found = await super().find(target, marker=marker, after=after)
        await _here(Place.RESPONSE)
        return found

    async def give_role(self, guild_id: int, user_id: int, _role_id: int) -> None:
        """Give a role."""
        await _here(Place.REQUEST, (guild_id, user_id))
        await _here(Place.RESPONSE)

    async def take_role(self, guild_id: int, user_id: int, _role_id: int) -> None:
        """Take a role."""
        await _here(Place.REQUEST, (guild_id, user_id))
        await _here(Place.RESPONSE)

    async def has_left(self, guild_id: int, user_id: int) -> bool:
        """Nobody leaves."""
        await _here(Place.REQUEST, (guild_id, user_id))
        await _here(Place.RESPONSE)
        return False

    async def edit(self, target: ChannelTarget, message_id: int, message: OutgoingMessage) -> None:
        """Edit a post."""
        await _here(Place.REQUEST, _ids(target))
        await super().edit(target, message_id, message)
        await _here(Place.RESPONSE)

    async def open_dm(self, recipient_id: int) -> int:
        """Open a DM channel."""
        await _here(Place.REQUEST, [recipient_id])
        channel_id = await super().open_dm(recipient_id)
        await _here(Place.RESPONSE)
        return channel_id


def _ids(target: Target) -> list[object]:
    return [target.channel_id]
