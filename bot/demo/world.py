"""
The simulated Discord that demo and simulate run in: one guild, its channels, and the bot's own machinery in between.

simcord runs the real discord.py client against a model of Discord in memory. It takes no part in the bot itself: it is
an extra, and a missing one is said in one sentence.
"""

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import simcord
from simcord.actors import MemberActor
from simcord.builders import ChannelHandle, GuildHandle, UserHandle

from bot.client import TocsinBot
from bot.clock import InjectedLeaseClock
from bot.demo.crashes import CrashingTransport

_WORLD_EPOCH = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)

MessageListener = Callable[[Mapping[str, Any]], None]
"""Gets Discord's payload of a new message."""

ChannelListener = Callable[[int], None]
"""Gets the id of a channel in which a message came, changed or went."""

ListListener = Callable[[int, Mapping[str, Any] | None], None]
"""Gets the id of a scheduled event of a server's own list, and Discord's payload of it; None: it was taken off."""

_MESSAGE_EVENTS = frozenset({"MESSAGE_CREATE", "MESSAGE_UPDATE", "MESSAGE_DELETE"})
_TAKEN_OFF = "GUILD_SCHEDULED_EVENT_DELETE"
_LIST_EVENTS = frozenset({"GUILD_SCHEDULED_EVENT_CREATE", "GUILD_SCHEDULED_EVENT_UPDATE", _TAKEN_OFF})


class WorldClock:
    """The world's time as the bot's clock; it moves when the driver moves it."""

    def __init__(self, world: "World") -> None:
        self._world = world

    def now(self) -> dt.datetime:
        """Return the world's present moment, aware UTC."""
        return self._world.now()

    async def sleep(self, seconds: float) -> None:
        """Refuse: nothing may wait by itself in a world whose time the driver moves."""
        message = f"nothing sleeps in a simulated world, not even for {seconds} s"
        raise RuntimeError(message)


@dataclass(frozen=True, slots=True)
class Place:
    """The ids of the guild, of its channels, and of its people: an admin and the players."""

    guild_id: int
    announcements_id: int
    ops_id: int
    admin_id: int
    player_ids: tuple[int, ...]


class World:
    """One simulated Discord that outlives the bot's processes."""

    def __init__(self, start: dt.datetime) -> None:
        self.clock = WorldClock(self)
        self._start = start
        self._env: simcord.Env | None = None
        self._backend: Any = None
        self._listeners: list[MessageListener] = []
        self._channel_listeners: list[ChannelListener] = []
        self._list_listeners: list[ListListener] = []
        self.names: dict[int, str] = {}
        self.people: dict[int, str] = {}

    @property
    def env(self) -> simcord.Env:
        """The environment that holds the bot now running."""
        if self._env is None:
            message = "no bot is attached to the world"
            raise RuntimeError(message)
        return self._env

    def now(self) -> dt.datetime:
        """Return the world's present moment, aware UTC."""
        moment: dt.datetime = self._backend.clock.now() if self._backend is not None else self._start
        return moment

    def advance_to(self, moment: dt.datetime) -> None:
        """Move the world's clock forward; an earlier moment changes nothing."""
        if moment > self.now():
            self._backend.clock.elapsed = (moment - _WORLD_EPOCH).total_seconds()
        # What crossed between bot and world is kept by the library for ever; ninety days of it are not needed.
        self._backend.transcript.clear()
        self._backend.http_requests.clear()

    async def attach(self, bot: TocsinBot) -> None:
        """Start a bot process in the world: the first one, or one after another's death."""
        env = simcord.Env(bot, check_errors=False)
        if self._backend is None:
            self._backend = env.backend
            self._backend.clock.elapsed = (self._start - _WORLD_EPOCH).total_seconds()
            self._backend.bot_user.name = "Tocsin"
            self._backend.subscribers.append(self._hear)
        else:
            env.backend = self._backend
        self._env = env
        await env.start()

    async def start_process(
        self, transport: CrashingTransport, *, name: str, extensions: Sequence[str] = ()
    ) -> TocsinBot:
        """
        Start a bot process that dies as its transport plans; no loop runs, as the driver moves the time.

        ``extensions``: what people use of it, by name.
        """
        bot = TocsinBot(
            clock=self.clock,
            lease_clock=InjectedLeaseClock(self.clock),
            instance_name=name,
            extensions_to_load=extensions,
        )
        await self.attach(bot)
        transport.wrap(bot.http, now=self.now)
        return bot

    async def detach(self) -> None:
        """End the bot process now running; the world stays."""
        if self._env is not None:
            env, self._env = self._env, None
            await env.shutdown()

    def build(self, *, guild_name: str, players: Sequence[str] = ()) -> Place:
        """Found the guild with its channels and people; once, while a bot is attached."""
        admin = self.env.create_user("warden")
        guild = self.env.create_guild(guild_name, owner=admin)
        announcements = guild.create_text_channel("announcements")
        ops = guild.create_text_channel("bot-ops")
        self.names |= {announcements.id: "announcements", ops.id: "bot-ops"}
        people = [guild.add_member(self.env.create_user(name)).id for name in players]
        self.people |= {admin.id: admin.name} | dict(zip(people, players, strict=True))
        return Place(guild.id, announcements.id, ops.id, admin.id, tuple(people))

    def guild_ids(self) -> list[int]:
        """Return the ids of the guilds in the world."""
        return list(self._backend.guilds)

    def delete_message(self, channel_id: int, message_id: int) -> bool:
        """Let somebody in the guild delete a message; return whether it was there."""
        is_there = message_id in self._backend.messages.get(channel_id, ())
        if is_there:
            self._backend.delete_message(channel_id, message_id)
        return is_there

    def inject(self, method: str, path: str, *, status: int, code: int, message: str) -> Callable[[], None]:
        """
        Let the bot's matching requests fail before they take effect; return what ends that.

        ``path`` is matched as file names are, ``*`` standing for anything.
        """
        fault = {"method": method, "path": path, "status": status, "code": code, "message": message, "times": None}
        self._backend.faults.append(fault)
        return lambda: self._backend.faults.remove(fault)

    def dm_channel_id(self, user_id: int) -> int:
        """Return the DM channel between the bot and somebody, which is there from then on."""
        channel_id: int = self._backend.get_dm_channel(user_id).id
        return channel_id

    def user_handle(self, user_id: int) -> UserHandle:
        """Return the library's handle of a person outside any guild, in the environment of the bot now running."""
        return UserHandle(self.env, self._backend.get_user(user_id))

    def channel_handle(self, place: Place, channel_id: int) -> ChannelHandle:
        """Return the library's handle of a channel, in the environment of the bot now running."""
        guild = GuildHandle(self.env, self._backend.get_guild(place.guild_id))
        return ChannelHandle(self.env, guild, self._backend.get_channel(channel_id))

    def member_handle(self, place: Place, user_id: int) -> MemberActor:
        """Return the library's handle of a member, in the environment of the bot now running."""
        guild = GuildHandle(self.env, self._backend.get_guild(place.guild_id))
        return MemberActor(self.env, guild, self.user_handle(user_id))

    def is_bot(self, user_id: int) -> bool:
        """Return whether a message's author is the bot."""
        return bool(user_id == self._backend.bot_user.id)

    def recipient_of(self, channel_id: int) -> int | None:
        """Return whose DM channel with the bot it is, None: it is a channel of the guild."""
        recipients: list[int] = self._backend.get_channel(channel_id).recipient_ids
        return recipients[0] if recipients else None

    def on_message(self, listener: MessageListener) -> None:
        """Call ``listener`` with Discord's payload of each new message, the moment it becomes visible."""
        self._listeners.append(listener)

    def on_change(self, listener: ChannelListener) -> None:
        """Call ``listener`` with the channel's id whenever a message came, changed or went."""
        self._channel_listeners.append(listener)

    def on_list_change(self, listener: ListListener) -> None:
        """Call ``listener`` whenever a server's own list of scheduled events shows something else."""
        self._list_listeners.append(listener)

    def _hear(self, event: str, payload: Mapping[str, Any]) -> None:
        if event == "MESSAGE_CREATE":
            for listener in self._listeners:
                listener(payload)
        if event in _MESSAGE_EVENTS:
            for changed in self._channel_listeners:
                changed(int(payload["channel_id"]))
        if event in _LIST_EVENTS:
            for listed in self._list_listeners:
                listed(int(payload["id"]), payload if event != _TAKEN_OFF else None)
