"""The bot's life: what it loads, that its loops start once, and that nothing outlives a stop."""

import asyncio
import datetime as dt
import errno
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import discord
import pytest
import structlog.testing
from discord.backoff import ExponentialBackoff
from discord.ext import commands

from bot import client as client_module
from bot.client import LOOP_COGS, TocsinBot, intents, point_to
from bot.clock import InjectedLeaseClock, ManualClock
from bot.leases.reports import SendResult
from bot.reminders.task_registry import ReminderContext
from bot.scheduling.registry import REMINDERS
from models.instance import Instance
from tests.builders import make_event, make_guild

if TYPE_CHECKING:
    from tests.discord.simulated import SimulatedDiscord

NOON = dt.datetime(2026, 3, 1, 12, 0, tzinfo=dt.UTC)
GRACE = dt.timedelta(seconds=5)


def new_bot(*, extensions: tuple[str, ...] = LOOP_COGS) -> TocsinBot:
    clock = ManualClock(NOON)
    return TocsinBot(clock=clock, lease_clock=InjectedLeaseClock(clock), extensions_to_load=extensions)


def test_the_bot_asks_for_its_guilds_and_for_nothing_that_needs_an_approval() -> None:
    asked = {name for name, wanted in intents() if wanted}

    assert asked == {"guilds"}
    assert not {"members", "presences", "message_content"} & asked
    assert new_bot().intents == intents()


async def test_a_gateway_that_stays_away_is_shown_with_what_the_library_stumbled_over_from_the_third_time_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tries = 0

    async def _connect(_: commands.Bot, *, reconnect: bool) -> None:
        nonlocal tries
        tries += 1
        if tries <= 4:
            raise AttributeError("sequence")

    monkeypatch.setattr(commands.Bot, "connect", _connect)
    monkeypatch.setattr(ExponentialBackoff, "delay", lambda _: 0.0)

    with structlog.testing.capture_logs() as told:
        await new_bot().connect()

    assert [entry["event"] for entry in told] == ["gateway_not_reached"] * 4
    assert ["exc_info" in entry for entry in told] == [False, False, True, True]


def test_an_empty_address_leaves_the_librarys_own(monkeypatch: pytest.MonkeyPatch) -> None:
    before = (discord.http.Route.BASE, discord.gateway.DiscordWebSocket.DEFAULT_GATEWAY)
    monkeypatch.setattr(discord.http.Route, "BASE", before[0])
    monkeypatch.setattr(discord.gateway.DiscordWebSocket, "DEFAULT_GATEWAY", before[1])

    point_to("", "")
    assert before[0] == discord.http.Route.BASE
    assert before[1] == discord.gateway.DiscordWebSocket.DEFAULT_GATEWAY

    point_to("http://127.0.0.1:1/api/v10/", "ws://127.0.0.1:1/gw/")
    assert discord.http.Route.BASE == "http://127.0.0.1:1/api/v10"
    assert str(discord.gateway.DiscordWebSocket.DEFAULT_GATEWAY) == "ws://127.0.0.1:1/gw/"


# ------------------------------------------------------------------------------------------------- a bot with its loops


@asynccontextmanager
async def unconnected(*, extensions: tuple[str, ...] = LOOP_COGS) -> AsyncIterator[TocsinBot]:
    """Run a bot as after its login, with its guilds known, and no connection to anywhere."""
    bot = new_bot(extensions=extensions)
    await bot._async_setup_hook()
    bot._ready.set()
    try:
        await bot.setup_hook()
        yield bot
    finally:
        await bot.shut_down(grace=GRACE)


def loop_tasks() -> list[str]:
    """Return the names of the loops that run now, each as often as it runs."""
    names = {body.name for body in new_bot().services.bodies}
    return sorted(task.get_name() for task in asyncio.all_tasks() if task.get_name() in names)


async def test_every_body_has_one_loop_from_extensions_that_load_by_name(sqlite_database: str) -> None:
    async with unconnected() as bot:
        assert tuple(bot.extensions) == LOOP_COGS
        assert sorted(bot.loops.ages()) == sorted(body.name for body in bot.services.bodies)
        assert loop_tasks() == sorted(body.name for body in bot.services.bodies)


async def test_an_extension_that_is_not_there_stops_the_start(sqlite_database: str) -> None:
    with pytest.raises(commands.ExtensionNotFound):
        async with unconnected(extensions=("cogs.nothing",)):
            pass

    assert await Instance.all().count() == 0


async def test_an_extension_that_is_unloaded_stops_its_loops_and_can_be_loaded_again(sqlite_database: str) -> None:
    async with unconnected() as bot:
        await bot.unload_extension("cogs.events")
        assert len(bot.loops.ages()) == len(bot.services.bodies) - 5

        await bot.load_extension("cogs.events")
        assert len(bot.loops.ages()) == len(bot.services.bodies)


async def test_however_often_ready_comes_each_loop_runs_once_and_one_message_goes_out(
    simcord_world: "SimulatedDiscord",
) -> None:
    # The world's own bot makes room for one with every loop.
    world = simcord_world.world
    await world.detach()
    bot = TocsinBot(clock=world.clock, lease_clock=InjectedLeaseClock(world.clock))
    await make_guild(
        simcord_world.place.guild_id, announcement_channel_id=simcord_world.place.announcements_id, ops_channel_id=None
    )
    await make_event(now=world.now(), guild_id=simcord_world.place.guild_id)
    seen: list[object] = []
    world.on_message(seen.append)

    await world.attach(bot)
    for _ in range(3):
        bot.dispatch("ready")
        await world.env.settle()

    names = sorted(body.name for body in bot.services.bodies)
    assert loop_tasks() == names
    assert sorted(bot.loops.ages()) == names
    assert len(seen) == 1
    await bot.shut_down(grace=GRACE)


# --------------------------------------------------------------------------------------------------------------- a stop


async def test_a_stop_ends_the_loops_then_the_work_then_the_instance_then_the_client(
    sqlite_database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    order: list[str] = []
    alive: dict[str, object] = {}

    def _noted(name: str, owner: object, method: str) -> None:
        original: Callable[..., Awaitable[Any]] = getattr(owner, method)

        async def _wrapped(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 -- whatever it wraps
            order.append(name)
            alive[name] = loop_tasks()
            return await original(*args, **kwargs)

        monkeypatch.setattr(owner, method, _wrapped)

    before = asyncio.all_tasks()
    async with unconnected() as bot:
        _noted("loops", bot.loops, "stop")
        _noted("work", bot.services.dispatcher, "drain")
        _noted("instance", bot.services.register, "leave")
        _noted("client", bot, "close")
        assert await Instance.all().count() == 1

    assert list(dict.fromkeys(order)) == ["loops", "work", "instance", "client"]
    assert alive["work"] == []
    assert await Instance.all().count() == 0
    assert bot.is_closed()
    assert asyncio.all_tasks() == before


async def test_a_stop_lets_the_work_under_way_finish(sqlite_database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    finished = []

    async def _task(event_id: int, _context: ReminderContext) -> SendResult:
        await asyncio.sleep(0)
        finished.append(event_id)
        return SendResult.SENT

    async with unconnected(extensions=()) as bot:
        monkeypatch.setitem(bot.services.dispatcher._tasks, REMINDERS[0].task_name, _task)
        bot.services.dispatcher.dispatch(REMINDERS[0], 7)

    assert finished == [7]


async def test_work_that_outlasts_the_grace_is_cancelled_and_the_stop_goes_on(
    sqlite_database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    never, cancelled = asyncio.Event(), []

    async def _task(event_id: int, _context: ReminderContext) -> SendResult:
        try:
            await never.wait()
        finally:
            cancelled.append(event_id)
        return SendResult.SENT

    async with unconnected(extensions=()) as bot:
        monkeypatch.setitem(bot.services.dispatcher._tasks, REMINDERS[0].task_name, _task)
        bot.services.dispatcher.dispatch(REMINDERS[0], 7)
        await asyncio.sleep(0)
        await bot.shut_down(grace=dt.timedelta(0))

    assert cancelled == [7]
    assert bot.is_closed()


async def test_a_database_that_fails_at_the_stop_does_not_keep_the_client_open(
    sqlite_database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def _lost() -> None:
        raise ConnectionResetError(errno.ECONNRESET, "the database is gone")

    async with unconnected() as bot:
        monkeypatch.setattr(bot.services.register, "leave", _lost)

    assert bot.is_closed()
    assert loop_tasks() == []


async def test_a_client_that_does_not_close_does_not_hold_up_the_end(
    sqlite_database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client_module, "_CLOSE_SECONDS", 0.0)
    async with unconnected(extensions=()) as bot:
        await bot.shut_down(grace=GRACE)

    assert await Instance.all().count() == 0


@pytest.mark.parametrize("is_told_first", [False, True], ids=["in the middle of it", "right before it"])
async def test_a_stop_while_a_bot_enters_leaves_no_instance(
    sqlite_database: str, monkeypatch: pytest.MonkeyPatch, *, is_told_first: bool
) -> None:
    bot = new_bot(extensions=())
    await bot._async_setup_hook()
    register = bot.services.register
    say_alive, written, goes_on = register._say_alive, asyncio.Event(), asyncio.Event()

    async def _held(now: dt.datetime) -> bool:
        written.set()
        await goes_on.wait()
        return await say_alive(now)

    monkeypatch.setattr(register, "_say_alive", _held)
    if is_told_first:
        await bot.shut_down(grace=GRACE)
    entering = asyncio.create_task(bot.setup_hook())
    if not is_told_first:
        await written.wait()
        stopping = asyncio.create_task(bot.shut_down(grace=GRACE))
        await asyncio.sleep(0)
        goes_on.set()
        await stopping
    await entering

    assert await Instance.all().count() == 0
    assert bot.is_closed()


async def test_a_stop_of_a_bot_that_never_started_ends_at_once() -> None:
    bot = new_bot()

    await bot.shut_down(grace=GRACE)

    assert bot.is_closed()
