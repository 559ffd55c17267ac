"""A Discord of a few routes on loopback, whose next answers are told in advance."""

import asyncio
import datetime as dt
from collections import defaultdict, deque
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from email.utils import format_datetime
from http import HTTPStatus
from typing import Any, Self

from aiohttp import web

from tests.official.checks import checked_by_openapi

GUILD, CHANNEL, BOT_USER = 1_000_001, 2_000_001, 3_000_001
PERSON, DM_CHANNEL = 5_000_001, 6_000_001
DATE = dt.datetime(2026, 3, 1, 12, 0, tzinfo=dt.UTC)

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass(frozen=True, slots=True)
class Answer:
    """
    What one request gets; a mapping as body goes out as JSON, text as a page.

    ``gate``: it waits for this first. ``cut``: the connection is closed instead. ``body_never_comes``: the head alone.
    """

    status: int = 200
    body: Mapping[str, Any] | list[Any] | str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    gate: asyncio.Event | None = None
    cut: bool = False
    body_never_comes: bool = False


def rate_limited(seconds: float, *, everywhere: bool = False) -> Answer:
    """Return Discord's own 429; without the Via header the library takes it for a block before Discord."""
    body = {"message": "You are being rate limited.", "retry_after": seconds, "global": everywhere}
    headers = {"Via": "1.1 google", "Retry-After": str(seconds)}
    return Answer(429, body, headers | {"X-RateLimit-Global": "true"} if everywhere else headers)


class Stub:
    """The server: keeps what it was asked and which messages it took."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []
        self.messages: list[dict[str, Any]] = []
        self.date: str | None = format_datetime(DATE, usegmt=True)
        self.on_request: Callable[[str], None] = lambda _method: None
        self._answers: defaultdict[str, deque[Answer]] = defaultdict(deque)
        self._runner: web.AppRunner | None = None
        self._closing = asyncio.Event()
        self.address = ""

    def will(self, method: str, *answers: Answer) -> None:
        """Let the next requests of ``method`` get these, one after another; what comes after them succeeds."""
        self._answers[method].extend(answers)

    def posts(self) -> int:
        """Return how many requests asked for a new message."""
        return sum(method == "POST" for method, _ in self.asked)

    async def __aenter__(self) -> Self:
        application = web.Application(middlewares=[checked_by_openapi])
        base = "/api/v10"
        application.router.add_get(f"{base}/users/@me", self._served(lambda _: _user()))
        application.router.add_get(f"{base}/channels/{{channel}}", self._served(lambda _: channel_payload()))
        application.router.add_post(f"{base}/users/@me/channels", self._served(lambda _: dm_channel_payload()))
        messages = f"{base}/channels/{{channel}}/messages"
        application.router.add_get(messages, self._served(lambda _: list(reversed(self.messages))))
        application.router.add_post(messages, self._served(self._new_message))
        application.router.add_patch(f"{messages}/{{message}}", self._served(self._new_message))
        self._runner = web.AppRunner(application, shutdown_timeout=0.0, access_log=None)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        self.address = f"http://127.0.0.1:{self._runner.addresses[0][1]}{base}"
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def stop(self) -> None:
        """Close the server: from now on its connections are refused."""
        self._closing.set()
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    def _served(self, succeed: Callable[[dict[str, Any]], Any]) -> Handler:
        async def _handle(request: web.Request) -> web.StreamResponse:
            sent = await request.json() if request.body_exists else {}
            self.asked.append((request.method, request.path))
            self.on_request(request.method)
            waiting = self._answers[request.method]
            answer = waiting.popleft() if waiting else Answer()
            if answer.gate is not None:
                await self._either(answer.gate)
            if answer.cut and request.transport is not None:
                request.transport.abort()
            if answer.status == HTTPStatus.OK and answer.body is None:
                return await self._respond(request, answer, succeed(sent))
            return await self._respond(request, answer, answer.body)

        return _handle

    async def _respond(self, request: web.Request, answer: Answer, body: object) -> web.StreamResponse:
        headers = {"Date": self.date, **answer.headers} if self.date is not None else dict(answer.headers)
        if answer.body_never_comes:
            response = web.StreamResponse(status=answer.status, headers={**headers, "Content-Type": "application/json"})
            await response.prepare(request)
            await self._closing.wait()
            return response
        if isinstance(body, str):
            return web.Response(status=answer.status, text=body, content_type="text/html", headers=headers)
        found = web.json_response(body, status=answer.status, headers=headers)
        # The library asks for exactly this, without a charset.
        found.headers["Content-Type"] = "application/json"
        return found

    async def _either(self, gate: asyncio.Event) -> None:
        """Wait for the gate, or for the end of the server, so that nothing hangs on."""
        waits = [asyncio.ensure_future(event.wait()) for event in (gate, self._closing)]
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        for wait in waits:
            wait.cancel()

    def _new_message(self, sent: dict[str, Any]) -> dict[str, Any]:
        message = message_payload(4_000_001 + len(self.messages), content=sent.get("content") or "")
        self.messages.append(message)
        return message


def _user() -> dict[str, Any]:
    return {"id": str(BOT_USER), "username": "Tocsin", "discriminator": "0", "avatar": None, "bot": True}


def channel_payload() -> dict[str, Any]:
    """Return the one channel as Discord tells it."""
    return {
        "id": str(CHANNEL),
        "type": 0,
        "guild_id": str(GUILD),
        "name": "announcements",
        "position": 0,
        "permission_overwrites": [],
        "nsfw": False,
        "parent_id": None,
    }


def dm_channel_payload() -> dict[str, Any]:
    """Return the DM channel with the one person as Discord tells it."""
    person = {"id": str(PERSON), "username": "ada", "discriminator": "0", "avatar": None}
    return {"id": str(DM_CHANNEL), "type": 1, "recipients": [person], "last_message_id": None}


def guild_payload() -> dict[str, Any]:
    """Return the guild with its channel and the bot, which may do everything there."""
    everyone = {"id": str(GUILD), "name": "@everyone", "permissions": str((1 << 50) - 1), "position": 0, "colors": {}}
    member = {"user": _user(), "roles": [], "joined_at": DATE.isoformat(), "deaf": False, "mute": False, "flags": 0}
    return {
        "id": str(GUILD),
        "name": "Test guild",
        "owner_id": "1",
        "roles": [everyone],
        "members": [member],
        "member_count": 1,
        "channels": [channel_payload()],
    }


def message_payload(message_id: int, *, content: str) -> dict[str, Any]:
    """Return a message of the bot as Discord tells it."""
    return {
        "id": str(message_id),
        "channel_id": str(CHANNEL),
        "author": _user(),
        "content": content,
        "timestamp": DATE.isoformat(),
        "edited_timestamp": None,
        "tts": False,
        "mention_everyone": False,
        "mentions": [],
        "mention_roles": [],
        "attachments": [],
        "embeds": [],
        "pinned": False,
        "type": 0,
    }
