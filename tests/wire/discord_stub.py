"""
A very small Discord on loopback: just enough gateway and REST for ``tocsin run`` to be a process of its own.

It keeps what was delivered across the bot's deaths. It knows one guild, two channels and one bot. An unknown route is
404 and noted in ``unknown``. Its time is the real one unless it is given another.
"""

import asyncio
import contextlib
import datetime as dt
import itertools
import json
import time
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from email.utils import format_datetime
from typing import Any

from aiohttp import web
from aiohttp.typedefs import Middleware

from tests.official.checks import checked_by_openapi
from tests.wire.gateway import Gateway

GUILD, CHANNEL, OPS, BOT = 9001, 9002, 9003, 9004
_EPOCH = dt.datetime(2015, 1, 1, tzinfo=dt.UTC)
# All but Administrator, which no channel could take anything from.
_ALL_PERMISSIONS = str(((1 << 50) - 1) & ~(1 << 3))


def _real_time() -> dt.datetime:
    return dt.datetime.now(dt.UTC)  # noqa: TID251 -- the stub is Discord: its time is the real one


@dataclass(frozen=True, slots=True)
class Asked:
    """One request for a new message, whatever became of it."""

    at: dt.datetime
    channel_id: int
    body: dict[str, Any]


@dataclass
class DiscordStub:
    """
    One bot's Discord; ``messages`` by channel, oldest first; ``answer``, once cleared, keeps a message's answer back.

    ``now`` tells its time: ids, timestamps and the Date of every answer are of it. ``nonce_window``: how long an
    enforced nonce is remembered, None: for ever. ``closed_dms``: people who take no DM. ``asked``: every request for a
    message, or for a scheduled event: those stand in ``natives`` by their ids.
    """

    base: str = ""
    now: Callable[[], dt.datetime] = _real_time
    nonce_window: dt.timedelta | None = None
    closed_dms: set[int] = field(default_factory=set)
    asked: list[Asked] = field(default_factory=list)
    messages: dict[int, list[dict[str, Any]]] = field(default_factory=lambda: {CHANNEL: [], OPS: []})
    natives: dict[int, dict[str, Any]] = field(default_factory=dict)
    nonces: dict[tuple[int, str], dict[str, Any]] = field(default_factory=dict)
    unknown: list[str] = field(default_factory=list)
    synced: list[list[dict[str, Any]]] = field(default_factory=list)
    opened: list[int] = field(default_factory=list)
    edits: int = 0
    deferred: dict[str, float] = field(default_factory=dict)
    answered: dict[str, tuple[float, str]] = field(default_factory=dict)
    refuse_token: bool = False
    overwrites: dict[int, list[dict[str, Any]]] = field(default_factory=dict)
    accepted: asyncio.Event = field(default_factory=asyncio.Event)
    answer: asyncio.Event = field(default_factory=asyncio.Event)
    gate: Gateway = field(init=False)
    _ids: Any = field(default_factory=lambda: itertools.count(1))

    def __post_init__(self) -> None:
        self.gate = Gateway(self.ready, self.guild)

    @property
    def identified(self) -> int:
        """How often a session was begun."""
        return self.gate.identified

    @property
    def visible(self) -> list[str]:
        """Footers of what stands in the announcement channel."""
        return [message["embeds"][0]["footer"]["text"] for message in self.messages[CHANNEL]]

    def user(self) -> dict[str, Any]:
        return {"id": str(BOT), "username": "Tocsin", "discriminator": "0", "avatar": None, "bot": True}

    def guild(self) -> dict[str, Any]:
        role = {"id": str(GUILD), "name": "@everyone", "permissions": _ALL_PERMISSIONS, "position": 0, "color": 0}
        role |= {"hoist": False, "managed": False, "mentionable": False, "colors": {"primary_color": 0}}
        member = {
            "user": self.user(),
            "roles": [],
            "joined_at": "2026-01-01T00:00:00+00:00",
            "deaf": False,
            "flags": 0,
            "mute": False,
        }
        return {
            "id": str(GUILD),
            "name": "Wire",
            "owner_id": "1",
            "roles": [role],
            "emojis": [],
            "features": [],
            "channels": [self.channel(CHANNEL), self.channel(OPS)],
            "members": [member],
            "member_count": 1,
            "threads": [],
            "stage_instances": [],
            "guild_scheduled_events": [],
            "voice_states": [],
            "presences": [],
        }

    def channel(self, channel_id: int) -> dict[str, Any]:
        name = {CHANNEL: "announcements", OPS: "bot-ops"}[channel_id]
        return {"id": str(channel_id), "type": 0, "guild_id": str(GUILD), "name": name, "position": 0} | {
            "permission_overwrites": self.overwrites.get(channel_id, [])
        }

    async def post(self, request: web.Request) -> web.Response:
        channel_id = int(request.match_info["channel"])
        body = await request.json()
        self.asked.append(Asked(self.now(), channel_id, body))
        if channel_id in map(dm_channel, self.closed_dms):
            return answered({"code": 50007, "message": "Cannot send messages to this user"}, status=403)
        message = self._known(channel_id, body) or self._store(channel_id, body)
        self.accepted.set()
        await self.answer.wait()
        return answered(message)

    def _known(self, channel_id: int, body: dict[str, Any]) -> dict[str, Any] | None:
        """Return the message that was posted under this nonce, as long as Discord remembers it."""
        known = self.nonces.get((channel_id, body["nonce"])) if body.get("enforce_nonce") else None
        if known is None or self.nonce_window is None:
            return known
        age = self.now() - dt.datetime.fromisoformat(known["timestamp"])
        return known if age < self.nonce_window else None

    def _snowflake(self) -> str:
        milliseconds = int((self.now() - _EPOCH).total_seconds() * 1000)
        return str((milliseconds << 22) | (next(self._ids) & 0xFFF))

    async def stamp(self, _request: web.Request, response: web.StreamResponse) -> None:
        """Put Discord's own time on an answer."""
        response.headers["Date"] = format_datetime(self.now(), usegmt=True)

    def _store(self, channel_id: int, body: dict[str, Any]) -> dict[str, Any]:
        message = self._message(channel_id, body)
        self.messages.setdefault(channel_id, []).append(message)
        self.nonces[channel_id, body["nonce"]] = message
        return message

    def _message(self, channel_id: int, body: dict[str, Any]) -> dict[str, Any]:
        return {
            "id": self._snowflake(),
            "channel_id": str(channel_id),
            "author": self.user(),
            "content": body.get("content") or "",
            "embeds": [{"type": "rich", **embed} for embed in body.get("embeds") or []],
            "timestamp": self.now().isoformat(),
            "edited_timestamp": None,
            "tts": False,
            "mention_everyone": False,
            "mentions": [],
            "mention_roles": [],
            "attachments": [],
            "pinned": False,
            "type": 0,
            "components": body.get("components") or [],
        }

    async def history(self, request: web.Request) -> web.Response:
        before = int(request.query.get("before", 1 << 63))
        rows = [row for row in self.messages[int(request.match_info["channel"])] if int(row["id"]) < before]
        return answered(rows[::-1][: int(request.query.get("limit", 50))])

    async def edit(self, request: web.Request) -> web.Response:
        body = await request.json()
        self.edits += 1
        for row in self.messages[int(request.match_info["channel"])]:
            if row["id"] == request.match_info["message"]:
                row["embeds"] = [{"type": "rich", **embed} for embed in body.get("embeds") or []]
                row["components"] = body.get("components") or []
                return answered(row)
        return answered({"code": 10008, "message": "Unknown Message"}, status=404)

    async def make_native(self, request: web.Request) -> web.Response:
        body = await request.json()
        self.asked.append(Asked(self.now(), GUILD, body))
        native = {"id": self._snowflake(), "guild_id": str(GUILD), "creator_id": str(BOT), "status": 1} | body
        self.natives[int(native["id"])] = native
        self.accepted.set()
        await self.answer.wait()
        return answered(native)

    async def all_natives(self, _request: web.Request) -> web.Response:
        return answered([native | {"user_count": 2} for native in self.natives.values() if native["status"] in {1, 2}])

    async def one_native(self, request: web.Request) -> web.Response:
        native_id = int(request.match_info["native"])
        if native_id not in self.natives:
            return answered({"code": 10070, "message": "Unknown Guild Scheduled Event"}, status=404)
        if request.method == "DELETE":
            del self.natives[native_id]
            return web.Response(status=204)
        if request.method == "PATCH":
            self.natives[native_id] |= await request.json()
        return answered(self.natives[native_id] | {"user_count": 2})

    async def own_guilds(self, _request: web.Request) -> web.Response:
        return answered([{"id": str(GUILD), "name": "Wire", "icon": None, "owner": False, "permissions": "0"}])

    async def one_guild(self, request: web.Request) -> web.Response:
        found = request.match_info["guild"] == str(GUILD)
        return answered(self.guild()) if found else answered({"code": 10004, "message": "Unknown Guild"}, status=404)

    async def own_member(self, _request: web.Request) -> web.Response:
        return answered(self.guild()["members"][0])

    async def one_channel(self, request: web.Request) -> web.Response:
        channel_id = int(request.match_info["channel"])
        if channel_id not in self.messages:
            return answered({"code": 10003, "message": "Unknown Channel"}, status=404)
        return answered(self.channel(channel_id))

    async def me(self, _request: web.Request) -> web.Response:
        if self.refuse_token:
            return answered({"code": 0, "message": "401: Unauthorized"}, status=401)
        return answered(self.user())

    async def application(self, _request: web.Request) -> web.Response:
        application: dict[str, Any] = {"id": str(BOT), "name": "Tocsin", "description": "", "icon": None, "flags": 0}
        application |= {"bot_public": True, "bot_require_code_grant": False, "verify_key": "", "team": None}
        application["owner"] = {**self.user(), "id": "1", "username": "owner", "bot": False}
        return answered(application)

    async def commands(self, request: web.Request) -> web.Response:
        told: list[dict[str, Any]] = await request.json()
        self.synced.append(told)
        own = {"application_id": str(BOT), "version": "1", "default_member_permissions": None}
        return answered([own | command | {"id": self._snowflake()} for command in told])

    async def open_dm(self, request: web.Request) -> web.Response:
        recipient = int((await request.json())["recipient_id"])
        self.opened.append(recipient)
        channel_id = dm_channel(recipient)
        self.messages.setdefault(channel_id, [])
        person = {"id": str(recipient), "username": f"user{recipient}", "discriminator": "0", "avatar": None}
        return answered({"id": str(channel_id), "type": 1, "last_message_id": None, "recipients": [person]})

    async def press(self, custom_id: str, user_id: int, *, message: dict[str, Any]) -> str:
        """Let a member press a button of a post; return the token that its answer comes under."""
        token = f"press-{next(self._ids)}"
        person = {"id": str(user_id), "username": f"user{user_id}", "discriminator": "0", "avatar": None}
        member = self.guild()["members"][0] | {"user": person, "permissions": "0"}
        interaction = {
            "id": self._snowflake(),
            "application_id": str(BOT),
            "type": 3,
            "token": token,
            "version": 1,
            "guild_id": str(GUILD),
            "channel_id": str(CHANNEL),
            "channel": self.channel(CHANNEL),
            "member": member,
            "message": message,
            "data": {"custom_id": custom_id, "component_type": 2},
            "locale": "en-US",
            "entitlements": [],
            "authorizing_integration_owners": {},
            "attachment_size_limit": 10_000_000,
        }
        await self.gate.dispatch("INTERACTION_CREATE", interaction)
        return token

    async def callback(self, request: web.Request) -> web.Response:
        self.deferred[request.match_info["token"]] = time.monotonic()
        of = {"id": request.match_info["interaction"], "type": 3, "response_message_loading": True}
        return answered({"interaction": of | {"response_message_id": self._snowflake()}})

    async def answer_edit(self, request: web.Request) -> web.Response:
        body = await request.json()
        self.answered[request.match_info["token"]] = (time.monotonic(), body.get("content") or "")
        message = self._message(CHANNEL, {**body, "nonce": None})
        return answered(message)

    async def not_here(self, request: web.Request) -> web.Response:
        self.unknown.append(f"{request.method} {request.path}")
        return answered({"code": 0, "message": "404: Not Found"}, status=404)

    def ready(self) -> dict[str, Any]:
        gateway = self.base.replace("http", "ws") + "/gw/"
        guilds = [{"id": str(GUILD), "unavailable": True}]
        return {"v": 10, "user": self.user(), "guilds": guilds, "resume_gateway_url": gateway} | {
            "application": {"id": str(BOT), "flags": 0}
        }

    def routes(self) -> list[web.RouteDef]:
        api = "/api/v10"
        return [
            web.get(f"{api}/users/@me", self.me),
            web.get(f"{api}/oauth2/applications/@me", self.application),
            web.get(f"{api}/users/@me/guilds", self.own_guilds),
            web.get(api + "/guilds/{guild}", self.one_guild),
            web.get(api + "/guilds/{guild}/members/{member}", self.own_member),
            web.post(api + "/guilds/{guild}/scheduled-events", self.make_native),
            web.get(api + "/guilds/{guild}/scheduled-events", self.all_natives),
            web.route("*", api + "/guilds/{guild}/scheduled-events/{native}", self.one_native),
            web.get(api + "/channels/{channel}", self.one_channel),
            web.put(api + "/applications/{application}/commands", self.commands),
            web.post(api + "/users/@me/channels", self.open_dm),
            web.post(api + "/interactions/{interaction}/{token}/callback", self.callback),
            web.patch(api + "/webhooks/{application}/{token}/messages/@original", self.answer_edit),
            web.post(api + "/channels/{channel}/messages", self.post),
            web.get(api + "/channels/{channel}/messages", self.history),
            web.patch(api + "/channels/{channel}/messages/{message}", self.edit),
            web.get("/gw/", self.gate.serve),
            web.route("*", "/{rest:.*}", self.not_here),
        ]


def dm_channel(recipient: int) -> int:
    """The DM channel of a person."""
    return recipient + 1_000_000


def answered(data: object, *, status: int = 200) -> web.Response:
    # discord.py takes an answer for JSON only under exactly this type.
    return web.Response(body=json.dumps(data).encode(), status=status, headers={"Content-Type": "application/json"})


@contextlib.asynccontextmanager
async def running_stub(
    stub: DiscordStub | None = None, *, middlewares: Sequence[Middleware] = ()
) -> AsyncIterator[DiscordStub]:
    """
    Serve a stub on loopback for the length of the context; messages are answered at once unless told otherwise.

    ``middlewares`` stand between the bot and the stub's answers, the first outermost: faults, counts, checks.
    """
    stub = stub or DiscordStub()
    stub.answer.set()
    application = web.Application(middlewares=[checked_by_openapi, *middlewares])
    application.on_response_prepare.append(stub.stamp)
    application.add_routes(stub.routes())
    runner = web.AppRunner(application, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    address = runner.addresses[0]
    stub.base = f"http://{address[0]}:{address[1]}"
    try:
        yield stub
    finally:
        stub.answer.set()
        await runner.cleanup()
