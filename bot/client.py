"""
The Discord client: joins the services to a real connection, loads the cogs by name and closes in order.

No privileged intent: guilds are all it needs.
"""

import asyncio
import datetime as dt
from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import Literal

import discord
import structlog
import yarl
from discord import app_commands
from discord.backoff import ExponentialBackoff
from discord.ext import commands

from bot.bootstrap import Ports, ServiceOptions, Services, build_services
from bot.clock import Clock, LeaseClock, SharedClock
from bot.command_sync import CommandSync
from bot.command_tree import Interaction, TocsinTree
from bot.delivery.channel_poster import ChannelPoster
from bot.delivery.guild_calendar import GuildCalendar
from bot.delivery.guild_presence import GuildPresence
from bot.delivery.member_roles import MemberRoles
from bot.delivery.request_gate import RequestGate
from bot.delivery.request_trace import RequestTrace
from bot.drafts import Drafts
from bot.loops import LoopSet
from bot.message.custom_ids import Verb
from bot.presses import PressedItem, Presses
from bot.transactions import DATABASE_ERRORS

_log = structlog.get_logger(__name__)

LOOP_COGS: tuple[str, ...] = ("cogs.leases", "cogs.events", "cogs.reminders", "cogs.dm_queue")
"""The background bodies in their loops; where time is driven by hand they are left out."""

COMMAND_COGS: tuple[str, ...] = (
    "cogs.dm_queue_commands",
    "cogs.event_commands",
    "cogs.event_edit_commands",
    "cogs.players",
    "cogs.profile",
    "cogs.reminder_commands",
    "cogs.series_commands",
    "cogs.series_edit_commands",
    "cogs.series_exception_commands",
    "cogs.calendar_commands",
    "cogs.settings_commands",
    "cogs.signup_buttons",
    "cogs.signup_commands",
)
"""What people use: commands, buttons and forms; a group is made before what another file adds to it."""

# After the grace the client and the database have this left, so that all of a stop takes ten seconds at most.
_LEAVE_SECONDS = 1.0
_CLOSE_SECONDS = 1.0
_TRIES_UNTIL_SHOWN = 3


def intents() -> discord.Intents:
    """Return what the bot asks of the gateway: its guilds, and nothing that needs an approval."""
    return discord.Intents(guilds=True)


def point_to(api_base: str, gateway_url: str) -> None:
    """Let the library talk to another address than Discord's own; an empty one changes nothing."""
    if api_base:
        discord.http.Route.BASE = api_base.rstrip("/")
    if gateway_url:
        discord.gateway.DiscordWebSocket.DEFAULT_GATEWAY = yarl.URL(gateway_url)


class BodyCog(commands.Cog):
    """A group of loops: they start once per process, when the cog is loaded, never at a reconnect."""

    def __init__(self, bot: "TocsinBot", names: Sequence[str]) -> None:
        self._bot = bot
        self._names = tuple(names)

    async def cog_load(self) -> None:
        """Start the loops."""
        self._bot.loops.add(self._bot.services.body(name) for name in self._names)

    async def cog_unload(self) -> None:
        """Stop the loops."""
        self._bot.loops.remove(self._names)


class TocsinBot(commands.Bot):
    """The bot of one process; ``extensions_to_load`` are its cogs, by name."""

    def __init__(  # noqa: PLR0913 -- what differs between the bot, the demo and the tests
        self,
        *,
        clock: Clock,
        lease_clock: LeaseClock,
        options: ServiceOptions | None = None,
        instance_name: str = "tocsin",
        extensions_to_load: Sequence[str] = (*LOOP_COGS, *COMMAND_COGS),
        default_timezone: str = "UTC",
        guild_allow_list: Collection[int] = (),
        post_timeout: dt.timedelta = dt.timedelta(seconds=30),
        dm_timeout: dt.timedelta = dt.timedelta(seconds=5),
        on_stop: Callable[[str], None] | None = None,
        keep_name: Callable[[], Awaitable[None]] | None = None,
        gate: RequestGate | None = None,
    ) -> None:
        gate = self._gate = gate or RequestGate()
        trace = RequestTrace(clock, gate)
        super().__init__(
            command_prefix=commands.when_mentioned,
            tree_cls=TocsinTree,
            help_command=None,
            intents=intents(),
            allowed_mentions=discord.AllowedMentions.none(),
            max_ratelimit_timeout=30.0,
            http_trace=trace.config,
        )
        self.clock = clock
        self.options = options or ServiceOptions()
        self.default_timezone = default_timezone
        self._extensions_to_load = tuple(extensions_to_load)
        self.presence = GuildPresence(self, allow_list=guild_allow_list)
        ports = Ports(
            discord=ChannelPoster(self, trace=trace, timeout=post_timeout, dm_timeout=dm_timeout),
            discord_time=trace,
            clock=clock,
            lease_clock=lease_clock,
            is_available=self.presence.is_available,
            stop=on_stop or self._log_stop,
            keep_name=keep_name,
            follow=clock.follow if isinstance(clock, SharedClock) else None,
            share=gate.divide,
            limits=gate,
            calendar=GuildCalendar(self, trace=trace, timeout=post_timeout),
            members=MemberRoles(self),
        )
        self.services: Services = build_services(ports, self.options, instance_name=instance_name)
        self.loops = LoopSet(self.services.agenda, clock, before=self.wait_until_ready)
        self.presses = Presses()
        self.drafts = Drafts(clock, instance=self.services.register.instance)
        # It answers itself: in the place of the question, or beside it where the question is gone.
        self.presses.on_button(Verb.DRAFT, self.drafts.pressed, answers_with_form=True)
        self.add_dynamic_items(PressedItem)
        self._sync = CommandSync(self.tree, clock)
        self._entered = self._leaves = False
        self._registering = asyncio.Lock()

    @staticmethod
    def _log_stop(reason: str) -> None:
        _log.error("cannot_go_on", reason=reason)

    async def setup_hook(self) -> None:
        """
        Register this process and start its loops, which wait for the guilds to be known.

        The library calls it once, before the gateway and never at a reconnect.
        """
        self._gate.take_over(self.http)
        async with self._registering:
            if self._leaves:
                return  # a stop was faster: nothing is entered that nobody would take back
            # Before it is: whoever stops in the middle of it has something to take back all the same.
            self._entered = True
            await self.services.enter(self.clock.now())
        for name in self._extensions_to_load:
            await self.load_extension(name)

    async def connect(self, *, reconnect: bool = True) -> None:
        """
        Connect to the gateway and stay connected.

        The library knows only how to go on with a connection it once had: where the gateway is not there at the start
        it looks for the session of none, and the process would end.
        """
        backoff: ExponentialBackoff[Literal[False]] = ExponentialBackoff()
        tries = 0
        while not self.is_closed():
            try:
                await super().connect(reconnect=reconnect)
            except AttributeError:
                if getattr(self, "ws", None) is not None:
                    raise
                wait, tries = backoff.delay(), tries + 1
                # Should it be something else after all, the log has to show what.
                shows = {"exc_info": True} if tries >= _TRIES_UNTIL_SHOWN else {}
                _log.warning("gateway_not_reached", again_in_seconds=round(wait), **shows)
                await asyncio.sleep(wait)
            else:
                return

    async def on_ready(self) -> None:
        """Take up what waited for the connection, and tell Discord of new commands; comes again after each session."""
        self.services.wake_all(self.clock.now())
        _log.info("ready", guilds=len(self.guilds), instance=self.services.register.instance)
        if self.application_id is not None:
            await self._sync.sync_if_changed(self.application_id)

    async def on_interaction(self, interaction: Interaction) -> None:
        """Take forms; the library itself hands on commands and buttons."""
        if interaction.type is discord.InteractionType.modal_submit:
            await self.presses.handed_in(interaction)

    async def on_guild_available(self, guild: discord.Guild) -> None:
        """Take up what waited while Discord called the guild unavailable."""
        self.services.wake_all(self.clock.now())
        _log.info("guild_available", guild=guild.id)

    async def add_to_group(self, cog: commands.Cog, group: str) -> None:
        """
        Load a cog whose commands belong to a group that another cog has made: one file would be too long for it.

        Raises:
            KeyError: the group is not there yet.
        """
        made = {command.name: command for command in self.tree.get_commands()}[group]
        await self.add_cog(cog)
        for command in cog.get_app_commands():
            self.tree.remove_command(command.name)
            if isinstance(made, app_commands.Group):
                made.add_command(command, override=True)

    async def shut_down(self, *, grace: dt.timedelta) -> None:
        """Take no new work, let what is under way finish within ``grace``, then close the client, whatever failed."""
        self._leaves = True
        clock = asyncio.get_running_loop().time
        deadline = clock() + grace.total_seconds()
        try:
            await self.loops.stop(grace=grace)
            await asyncio.wait_for(self.services.settle(), max(0.0, deadline - clock()))
        except TimeoutError:
            _log.warning("stopped_with_work_under_way")
        try:
            await asyncio.wait_for(self._leave(), _LEAVE_SECONDS)
        except DATABASE_ERRORS as error:  # a timeout is one of them
            # What is not recorded now is repaired at the next start.
            _log.warning("not_left_in_time", error=type(error).__name__)
        finally:
            await self._close_in_time()

    async def _leave(self) -> None:
        """Give the instance up where there is one, once an entering that is under way has ended."""
        async with self._registering:
            if self._entered:
                self._entered = False
                await self.services.leave()

    async def _close_in_time(self) -> None:
        try:
            await asyncio.wait_for(self.close(), _CLOSE_SECONDS)
        except TimeoutError:
            _log.warning("client_not_closed_in_time")
