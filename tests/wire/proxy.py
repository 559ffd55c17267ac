"""
A TCP proxy before a PostgreSQL server: it passes on, cuts, refuses, strands, or reads an answer and keeps it.

It knows as much of the protocol as it needs to name each statement by its text and to find the end of its answer: by
then the server has done what was asked, and has committed it where nothing holds it open. What becomes of an answer
its ``meet`` decides.
"""

import asyncio
import contextlib
import struct
from collections import deque
from collections.abc import AsyncIterator, Callable
from enum import StrEnum
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

_SYNC, _FLUSH, _QUERY, _PARSE, _BIND, _READY = b"S", b"H", b"Q", b"P", b"B", b"Z"
_HEAD = 5
START = "(start)"
"""How the opening of a connection is named."""


class Fate(StrEnum):
    """What becomes of an answer: passed on, or kept with its connection cut, or with every connection cut."""

    PASS = "pass"
    SWALLOW = "swallow"
    CUT_ALL = "cut_all"


Meet = Callable[[str, object], Fate]
"""Asked once the server has answered a statement: its text, and what stands for its connection."""


def _pass(_statement: str, _connection: object) -> Fate:
    return Fate.PASS


class Proxy:
    """Listens on a loopback port; ``meet`` and ``refuses`` may be changed at any time."""

    def __init__(self, server: str) -> None:
        self.meet: Meet = _pass
        self.refuses = False
        self._target = urlsplit(server)
        self.port = 0
        self._pairs: set[_Client] = set()
        self._connecting: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None

    async def start(self) -> None:
        """Listen."""
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(lambda: _Client(self), "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        """Cut everything and listen no more."""
        if self._server is not None:
            self._server.close()
        self.cut()
        await asyncio.gather(*self._connecting, return_exceptions=True)
        await asyncio.sleep(0)  # for the transports, which close in the next round of the loop

    def cut(self) -> None:
        """Cut every connection."""
        for pair in list(self._pairs):
            pair.cut()

    def strand(self) -> None:
        """Let no byte pass any more on any open connection, both ends of which stay open; later ones are as before."""
        for pair in self._pairs:
            pair.is_stranded = True

    def before(self, address: str) -> str:
        """Return the address of a server's database with this proxy in its place."""
        parts = urlsplit(address)
        netloc = f"{parts.username or 'postgres'}@127.0.0.1:{self.port}"
        asked = [(name, value) for name, value in parse_qsl(parts.query) if name not in {"host", "sslmode"}]
        return urlunsplit(parts._replace(netloc=netloc, query=urlencode([*asked, ("sslmode", "disable")])))

    async def reach(self, protocol: Callable[[], asyncio.Protocol]) -> asyncio.Transport:
        """Connect to the server: to its port, or to the folder of its socket."""
        loop = asyncio.get_running_loop()
        folder = dict(parse_qsl(self._target.query)).get("host")
        if folder is not None:
            return (await loop.create_unix_connection(protocol, f"{folder}/.s.PGSQL.{self._target.port or 5432}"))[0]
        host, port = self._target.hostname or "127.0.0.1", self._target.port or 5432
        return (await loop.create_connection(protocol, host, port))[0]

    def note(self, pair: "_Client", *, is_open: bool) -> None:
        """Keep account of an open connection."""
        (self._pairs.add if is_open else self._pairs.discard)(pair)

    def note_connecting(self, task: "asyncio.Task[None]") -> None:
        """Keep account of a connection that is being made to the server."""
        self._connecting.add(task)
        task.add_done_callback(self._connecting.discard)


class _Client(asyncio.Protocol):
    """The side of the bot, and what is known of one connection."""

    def __init__(self, proxy: Proxy) -> None:
        self.proxy = proxy
        self._transport: asyncio.Transport | None = None
        self._upstream: asyncio.Transport | None = None
        self._early = bytearray()
        self._unread = bytearray()
        self.is_stranded = False
        self._is_cut = False
        self.awaits_ready = False
        self._has_begun = False
        self._texts: dict[bytes, str] = {}
        self._said = START
        self._asked: deque[str] = deque([START])

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        if self.proxy.refuses:
            transport.abort()
            return
        self.proxy.note(self, is_open=True)
        self.proxy.note_connecting(asyncio.get_running_loop().create_task(self._connect()))

    async def _connect(self) -> None:
        try:
            transport = await self.proxy.reach(lambda: _Server(self))
        except OSError:
            self.cut()
            return
        if self._is_cut:
            transport.abort()
            return
        self._upstream = transport
        transport.write(bytes(self._early))
        self._early.clear()

    def data_received(self, data: bytes) -> None:
        self._unread += data
        self._read()
        if self._upstream is None:
            self._early += data
        elif not self.is_stranded:
            self._upstream.write(data)

    def _read(self) -> None:
        """Read what is asked, as far as whole messages are there."""
        if not self._has_begun:
            # The first message, and a request to cancel, have no type.
            if len(self._unread) < 4 or len(self._unread) < (size := struct.unpack_from("!I", self._unread)[0]):
                return
            del self._unread[:size]
            self._has_begun = True
        while len(self._unread) >= _HEAD:
            size = 1 + struct.unpack_from("!I", self._unread, 1)[0]
            if len(self._unread) < size:
                return
            self._heard(bytes(self._unread[:1]), bytes(self._unread[_HEAD:size]))
            del self._unread[:size]

    def _heard(self, kind: bytes, body: bytes) -> None:
        if kind == _PARSE:
            name, text = body.split(b"\0")[:2]
            self._said = self._texts[name] = text.decode()
        elif kind == _BIND:
            self._said = self._texts.get(body.split(b"\0")[1], "")
        elif kind == _QUERY:
            self._said = body.rstrip(b"\0").decode()
        if kind in {_SYNC, _QUERY}:
            self._asked.append(self._said)
        if kind in {_SYNC, _QUERY, _FLUSH}:
            # A flush, which only prepares, is answered without a word of being ready.
            self.awaits_ready = kind != _FLUSH

    def answered(self, data: bytes) -> None:
        """Decide about one whole answer, up to the server's being ready again."""
        statement = self._asked.popleft() if self._asked else ""
        fate = self.proxy.meet(statement, self) if not self.is_stranded else Fate.PASS
        if fate is Fate.CUT_ALL:
            self.proxy.cut()
        elif fate is Fate.SWALLOW:
            self.cut()
        else:
            self.say(data)

    def say(self, data: bytes) -> None:
        """Pass bytes on to the bot."""
        if self._transport is not None and not self.is_stranded:
            self._transport.write(data)

    def connection_lost(self, _error: Exception | None) -> None:
        self.cut()

    def cut(self) -> None:
        """Close both sides without a word."""
        self._is_cut = True
        self.proxy.note(self, is_open=False)
        for side in (self._transport, self._upstream):
            if side is not None:
                side.abort()


class _Server(asyncio.Protocol):
    """The side of the server: its messages are held until an answer is whole."""

    def __init__(self, client: _Client) -> None:
        self._client = client
        self._held = bytearray()
        self._at = 0

    def data_received(self, data: bytes) -> None:
        self._held += data
        while len(self._held) - self._at >= _HEAD:
            size = 1 + struct.unpack_from("!I", self._held, self._at + 1)[0]
            if len(self._held) - self._at < size:
                break
            is_ready = self._held[self._at : self._at + 1] == _READY
            self._at += size
            if is_ready:
                self._client.answered(self._take())
        if not self._client.awaits_ready:
            # At the start, too, there is no end of their talk that could be waited for.
            self._client.say(self._take())

    def _take(self) -> bytes:
        whole = bytes(self._held[: self._at])
        del self._held[: self._at]
        self._at = 0
        return whole

    def connection_lost(self, _error: Exception | None) -> None:
        self._client.say(bytes(self._held))
        self._client.cut()


@contextlib.asynccontextmanager
async def before_server(address: str) -> AsyncIterator[Proxy]:
    """Put a proxy before the server of an address."""
    proxy = Proxy(address)
    await proxy.start()
    try:
        yield proxy
    finally:
        await proxy.stop()
