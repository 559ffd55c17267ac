"""
One ``tocsin run``, from the lock to the last closed connection.

Order of the start: database, migrations, the instance's lock, then the client. Order of the stop, on SIGTERM or SIGINT:
no new work, what is under way ends within the grace, the client, the database. A second signal stops at once.
"""

import asyncio
import contextlib
import datetime as dt
import os
import signal
import socket
import sys
import threading
from collections.abc import AsyncIterator

import aiohttp
import discord
import structlog

from bot.bootstrap import ServiceOptions
from bot.client import TocsinBot, point_to
from bot.clock import SharedClock
from bot.database import DatabaseLeaseClock, opened
from bot.dm_queue.circuit_breaker import BreakerOptions
from bot.dm_queue.worker import DmQueueOptions
from bot.durability import require_durable
from bot.errors import BotError, UsageError
from bot.instance_lock import AlreadyRunningError, InstanceLock
from bot.leases.blocks import TOKEN_REFUSED
from bot.leases.failures import Backoff
from bot.leases.staleness import SweepOptions
from bot.loops import silence_voice_warning
from bot.migrating import migrate, require_migrated
from bot.settings import Settings
from bot.settings.sections import DmQueueSettings

_log = structlog.get_logger(__name__)


# What the client and the database may take to close: ten seconds in all with the grace as it is set.
_BEYOND_GRACE_SECONDS = 2.5
_AUTHENTICATION_FAILED = 4004


class NoTokenError(UsageError):
    """There is no token to log in with."""

    def __init__(self) -> None:
        super().__init__("No token: set DISCORD_TOKEN (or DISCORD_TOKEN_FILE) to the bot's token, then run again.")


class CannotGoOnError(BotError):
    """The process has to stop, since it can do nothing useful any more."""


def _span(seconds: int) -> dt.timedelta:
    return dt.timedelta(seconds=seconds)


def service_options(settings: Settings) -> ServiceOptions:
    """Return the figures of the configuration as the services take them."""
    reminders, cluster = settings.reminders, settings.cluster
    return ServiceOptions(
        poll=_span(reminders.poll_seconds),
        sweep_every=_span(reminders.sweep_seconds),
        sync_every=_span(reminders.sync_seconds),
        state_every=_span(reminders.state_seconds),
        generate_every=_span(reminders.generate_seconds),
        cleanup_every=_span(reminders.cleanup_seconds),
        edit_debounce=_span(reminders.edit_debounce_seconds),
        heartbeat_every=_span(cluster.heartbeat_seconds),
        sweep=SweepOptions(
            lease_timeout=_span(reminders.lease_timeout_seconds),
            dead_after=_span(cluster.dead_after_seconds),
            failed_retention=_span(reminders.failed_retention_seconds),
        ),
        sent_retention=dt.timedelta(days=reminders.sent_retention_days),
        dm_queue=dm_queue_options(settings.dm_queue),
        backoff=Backoff(
            tuple(_span(seconds) for seconds in reminders.backoff_seconds), _span(reminders.permanent_retry_seconds)
        ),
    )


def dm_queue_options(dms: DmQueueSettings) -> DmQueueOptions:
    """Return the figures of the DM queue's section as the queue takes them."""
    return DmQueueOptions(
        max_depth=dms.max_depth,
        drain_rate=dms.drain_rate_per_second,
        max_in_flight=dms.max_in_flight,
        open_channels_rate=dms.open_channels_per_second,
        opening_pause=_span(dms.opening_pause_seconds),
        breaker=BreakerOptions(
            failures=dms.breaker.failures,
            within=_span(dms.breaker.window_seconds),
            open_for=_span(dms.breaker.open_seconds),
        ),
    )


@contextlib.asynccontextmanager
async def ready_database(settings: Settings, *, everywhere: bool = False) -> AsyncIterator[str]:
    """
    Open the configured database with every table in place, and close it on every way out; gives its address.

    Raises:
        DatabaseUnavailableError: it cannot be reached.
        UnmigratedError: migrations are missing and ``database.auto_migrate`` is off.
    """
    url = settings.database.url.get_secret_value()
    async with opened(url, pool_size=settings.database.pool_size, everywhere=everywhere):
        if settings.database.auto_migrate:
            await migrate(url)
        await require_migrated()
        yield url


def instance_name(settings: Settings) -> str:
    """Return the name under which this process is known to the others: its own, else the host's."""
    return settings.cluster.instance or socket.gethostname()[:64] or "tocsin"


async def run(settings: Settings) -> None:
    """
    Run the bot until it is told to stop.

    Raises:
        NoTokenError: no token is set.
        AlreadyRunningError: another process holds the database file or the instance name.
        CannotGoOnError: Discord refuses the token.
        OldDatabaseError: the database's server is too old.
        UnsafeDatabaseError: the database may forget what it acknowledged.
    """
    token = settings.discord_token
    if token is None:
        raise NoTokenError
    stop = _Stop(settings.process.shutdown_grace_seconds + _BEYOND_GRACE_SECONDS)
    # An interrupt that came before is heard here, where nothing is open yet.
    await asyncio.sleep(0)
    silence_voice_warning()
    point_to(settings.discord.api_base, settings.discord.gateway_url)
    try:
        async with ready_database(settings, everywhere=True) as url:
            await require_durable(url)
            lock = InstanceLock(url, instance_name(settings))
            await lock.hold()
            try:
                stop.is_prepared()
                await _run_bot(settings, token.get_secret_value(), lock, stop)
            finally:
                await lock.release()
    except asyncio.CancelledError:
        if not stop.is_wanted.is_set():
            raise


async def _run_bot(settings: Settings, token: str, lock: InstanceLock, stop: "_Stop") -> None:
    reasons: list[str] = []

    def _cannot_go_on(reason: str) -> None:
        reasons.append(reason)
        stop.is_wanted.set()

    async def _keep_name() -> None:
        try:
            await lock.hold()
        except AlreadyRunningError as error:
            _cannot_go_on(str(error))

    bot = TocsinBot(
        clock=SharedClock(),
        lease_clock=DatabaseLeaseClock(),
        options=service_options(settings),
        instance_name=instance_name(settings),
        default_timezone=settings.bot.default_timezone,
        guild_allow_list=settings.bot.guild_allow_list,
        post_timeout=_span(settings.reminders.post_timeout_seconds),
        dm_timeout=_span(settings.dm_queue.dm_timeout_seconds),
        on_stop=_cannot_go_on,
        keep_name=_keep_name,
    )
    started = asyncio.create_task(bot.start(token))
    stopped = asyncio.create_task(stop.is_wanted.wait())
    try:
        await asyncio.wait({started, stopped}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        stop.end_hard_if_it_hangs()
        await bot.shut_down(grace=_span(settings.process.shutdown_grace_seconds))
        stopped.cancel()
        await _ended(started, reasons)
    if reasons:
        raise CannotGoOnError(reasons[0])


async def _ended(started: "asyncio.Task[None]", reasons: list[str]) -> None:
    """Wait for the client's own end and turn what it says into words."""
    started.cancel()
    try:
        await started
    except asyncio.CancelledError:
        return
    except discord.LoginFailure:
        reasons.append(TOKEN_REFUSED)
    except discord.PrivilegedIntentsRequired:
        reasons.append("Discord asks for an intent that Tocsin does not use; is the token another bot's?")
    except (discord.HTTPException, discord.GatewayNotFound, discord.ConnectionClosed, aiohttp.ClientError) as error:
        _log.warning("client_ended", error=type(error).__name__)
        if isinstance(error, discord.ConnectionClosed) and error.code == _AUTHENTICATION_FAILED:
            reasons.append(TOKEN_REFUSED)
            return
        reasons.append(f"Discord could not be reached ({type(error).__name__}); is there a network, and is Discord up?")


class _Stop:
    """
    The order to stop, which comes by SIGTERM or SIGINT at any moment from the first on.

    Until everything is prepared it cancels the preparation: as the first process of a container it would otherwise not
    be heard at all. A second signal ends the process at once, and so does whatever hangs for ``seconds``.
    """

    def __init__(self, seconds: float) -> None:
        self.is_wanted = asyncio.Event()
        self._seconds = seconds
        self._preparing = asyncio.current_task()
        self._watchdog: threading.Timer | None = None
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, self._signalled)

    def is_prepared(self) -> None:
        """Say that whoever waits for the order stops in order from now on."""
        self._preparing = None

    def _signalled(self) -> None:
        if self.is_wanted.is_set():
            # The second signal: whatever is under way is repaired at the next start.
            os._exit(1)
        _log.info("stopping")
        self.is_wanted.set()
        self.end_hard_if_it_hangs()
        if self._preparing is not None:
            self._preparing.cancel()

    def end_hard_if_it_hangs(self) -> None:
        """End the process after the time it has: a database that does not answer would hold it for ever."""
        if self._watchdog is None:
            # A thread of its own, since what hangs may be the loop; a daemon, so that it keeps no process that ended.
            self._watchdog = threading.Timer(self._seconds, _stop_hard)
            self._watchdog.daemon = True
            self._watchdog.start()


def _stop_hard() -> None:
    sys.stderr.write("Stopped hard: something did not end in time. The next start repairs what it left.\n")
    sys.stderr.flush()
    os._exit(1)
