"""
The gateway of a stub: sessions that outlive their connections, and every way in which a connection ends.

A session keeps what was dispatched, numbered, so that who resumes it gets what came meanwhile. Each drop has the answer
that Discord gives to it: resumed, or to be identified anew.
"""

import asyncio
import contextlib
import itertools
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from aiohttp import WSMsgType, web

Frame = dict[str, Any]

_DISPATCH, _HEARTBEAT, _IDENTIFY, _RESUME = 0, 1, 2, 6
_RECONNECT, _INVALID_SESSION, _HELLO, _ACKNOWLEDGED = 7, 9, 10, 11
_SESSION_TIMED_OUT, _UNKNOWN_ERROR = 4009, 4000


class Drop(StrEnum):
    """How a connection ends, or what else goes wrong with it."""

    CLOSED = "closed, to be resumed"
    SESSION_LOST = "closed, its session lost"
    RECONNECT = "asked to reconnect"
    INVALID_RESUMABLE = "session invalid, to be resumed"
    INVALID = "session invalid"
    SILENT = "no heartbeat acknowledged"
    CUT = "connection cut"
    CUT_AND_LOST = "connection cut, its session lost"
    DUPLICATES = "dispatches come twice"


RESUMED: frozenset[Drop] = frozenset({Drop.CLOSED, Drop.RECONNECT, Drop.INVALID_RESUMABLE, Drop.SILENT, Drop.CUT})
"""After these the bot goes on with its session; after the others that end a connection it identifies anew."""

_FORGOTTEN = frozenset({Drop.SESSION_LOST, Drop.INVALID, Drop.CUT_AND_LOST})
_CLOSED_WITH = {Drop.CLOSED: _UNKNOWN_ERROR, Drop.SESSION_LOST: _SESSION_TIMED_OUT}
_TOLD: dict[Drop, Frame] = {
    Drop.RECONNECT: {"op": _RECONNECT, "d": None},
    Drop.INVALID_RESUMABLE: {"op": _INVALID_SESSION, "d": True},
    Drop.INVALID: {"op": _INVALID_SESSION, "d": False},
}


@dataclass(slots=True)
class Session:
    """One session; ``socket`` None: nobody is connected to it."""

    name: str
    sent: list[Frame] = field(default_factory=list)
    socket: web.WebSocketResponse | None = None
    transport: asyncio.Transport | None = None
    is_silent: bool = False

    async def dispatch(self, name: str, data: object) -> None:
        """Number and keep a dispatch, and send it if somebody is connected."""
        frame = {"op": _DISPATCH, "t": name, "s": len(self.sent) + 1, "d": data}
        self.sent.append(frame)
        await self.tell(frame)

    async def tell(self, frame: Frame) -> None:
        """Send a frame, unless the connection is gone or silent."""
        if self.socket is not None and not self.is_silent:
            with contextlib.suppress(ConnectionError):
                await self.socket.send_json(frame)


@dataclass(slots=True)
class Gateway:
    """
    The gateway's side of every connection.

    ``ready`` gives what READY says, ``guild`` what GUILD_CREATE does. ``heartbeat_milliseconds``: what HELLO asks for.
    ``is_closed``: no new connection is taken. ``holds_ready``: an IDENTIFY is not answered. ``close_code``: it is
    answered by that close. ``identified``, ``resumed``, ``refused``: how often.
    """

    ready: Callable[[], Frame]
    guild: Callable[[], Frame]
    heartbeat_milliseconds: int = 41_250
    is_closed: bool = False
    holds_ready: bool = False
    close_code: int | None = None
    identified: int = 0
    resumed: int = 0
    refused: int = 0
    sessions: dict[str, Session] = field(default_factory=dict)
    current: Session | None = None
    _names: Any = field(default_factory=lambda: itertools.count(1))

    async def serve(self, request: web.Request) -> web.StreamResponse:
        """Take one connection, to its end."""
        if self.is_closed:
            self.refused += 1
            return web.Response(status=503)
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        await socket.send_json({"op": _HELLO, "d": {"heartbeat_interval": self.heartbeat_milliseconds}})
        session: Session | None = None
        async for frame in socket:
            if frame.type is not WSMsgType.TEXT:
                break
            told = json.loads(frame.data)
            match told["op"]:
                case code if code == _HEARTBEAT and not (session is not None and session.is_silent):
                    await socket.send_json({"op": _ACKNOWLEDGED})
                case code if code == _IDENTIFY:
                    session = await self._identified(socket, request)
                case code if code == _RESUME:
                    session = await self._resumed(socket, request, told["d"])
                case _:
                    pass
        if session is not None and session.socket is socket:
            session.socket = None
        return socket

    async def _identified(self, socket: web.WebSocketResponse, request: web.Request) -> Session | None:
        self.identified += 1
        if self.close_code is not None:
            await socket.close(code=self.close_code)
            return None
        session = Session(f"session-{next(self._names)}")
        self._connect(session, socket, request)
        self.sessions[session.name] = self.current = session
        if not self.holds_ready:
            await session.dispatch("READY", {**self.ready(), "session_id": session.name})
            await session.dispatch("GUILD_CREATE", self.guild())
        return session

    async def _resumed(
        self, socket: web.WebSocketResponse, request: web.Request, asked: dict[str, Any]
    ) -> Session | None:
        session = self.sessions.get(asked["session_id"])
        if session is None:
            await socket.send_json({"op": _INVALID_SESSION, "d": False})
            return None
        self.resumed += 1
        self._connect(session, socket, request)
        self.current = session
        for frame in session.sent[asked["seq"] or 0 :]:
            await session.tell(frame)
        await session.dispatch("RESUMED", {})
        return session

    def _connect(self, session: Session, socket: web.WebSocketResponse, request: web.Request) -> None:
        assert isinstance(request.transport, asyncio.Transport)
        session.socket, session.transport, session.is_silent = socket, request.transport, False

    async def dispatch(self, name: str, data: object) -> None:
        """Dispatch to the session that was last identified or resumed; kept for it while nobody is connected."""
        assert self.current is not None
        await self.current.dispatch(name, data)

    @property
    def is_connected(self) -> bool:
        """Return whether the session that was last identified or resumed is connected."""
        return self.current is not None and self.current.socket is not None

    async def drop(self, how: Drop) -> None:
        """Let the present connection end, or go wrong, in one way."""
        session = self.current
        if session is None or session.socket is None or session.transport is None:
            return
        if how in _FORGOTTEN:
            self.sessions.pop(session.name, None)
        if how in _CLOSED_WITH:
            await session.socket.close(code=_CLOSED_WITH[how])
        elif how in _TOLD:
            await session.tell(_TOLD[how])
        elif how is Drop.DUPLICATES:
            for frame in session.sent[-5:]:
                await session.tell(frame)
        elif how is Drop.SILENT:
            session.is_silent = True
        else:
            session.transport.abort()

    async def outage(self, guild_id: int) -> None:
        """Say that a guild is not there for now."""
        await self.dispatch("GUILD_DELETE", {"id": str(guild_id), "unavailable": True})

    async def outage_over(self) -> None:
        """Say that the guild is there again."""
        await self.dispatch("GUILD_CREATE", self.guild())

    async def removed(self, guild_id: int) -> None:
        """Say that the bot was removed from a guild."""
        await self.dispatch("GUILD_DELETE", {"id": str(guild_id)})
