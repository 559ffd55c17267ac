"""Discord is told the commands only when they changed, and until it took them."""

import sqlite3
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
import structlog
from discord import app_commands

from bot import process_state
from bot.client import COMMAND_COGS, TocsinBot
from bot.clock import InjectedLeaseClock
from bot.command_sync import KEY, tree_hash
from bot.command_tree import Interaction
from models.process_state import ProcessState
from tests.discord.openapi import described

if TYPE_CHECKING:
    from bot.demo.world import World
    from tests.discord.simulated import SimulatedDiscord


def unchanged(_bot: TocsinBot) -> None: ...


def with_a_lamp(bot: TocsinBot) -> None:
    @app_commands.command(name="lamp", description="Light it.")
    async def lamp(_interaction: Interaction) -> None: ...

    bot.tree.add_command(lamp)


async def restart(
    world: "World", change: Callable[[TocsinBot], None] = unchanged, *, extensions: tuple[str, ...] = COMMAND_COGS
) -> TocsinBot:
    """Start another process of the bot in the place of the one now running."""
    world.env.backend.http_requests.clear()
    await world.detach()
    bot = TocsinBot(clock=world.clock, lease_clock=InjectedLeaseClock(world.clock), extensions_to_load=extensions)
    change(bot)
    await world.attach(bot)
    return bot


def told(world: "World") -> int:
    """Return how often Discord was told the commands since the last start."""
    return sum(1 for one in world.env.http_requests if one.method == "PUT" and one.path.endswith("/commands"))


async def test_the_same_commands_are_told_once_and_changed_ones_again(
    simcord_world_everywhere: "SimulatedDiscord",
) -> None:
    world = simcord_world_everywhere.world
    counts = []
    for change in (unchanged, unchanged, with_a_lamp, with_a_lamp, unchanged):
        await restart(world, change)
        counts.append(told(world))

    assert counts == [1, 0, 1, 0, 1]


async def test_however_often_ready_comes_the_commands_are_told_once(simcord_world: "SimulatedDiscord") -> None:
    world = simcord_world.world
    bot = await restart(world)
    for _ in range(3):
        await bot.on_ready()

    assert told(world) == 1


async def test_a_process_does_not_undo_what_another_version_told_after_it(simcord_world: "SimulatedDiscord") -> None:
    world = simcord_world.world
    bot = await restart(world)
    await process_state.keep(KEY, {"hash": "of another version"}, now=world.now())

    await bot.on_ready()

    assert told(world) == 1


async def test_what_discord_did_not_take_is_told_at_the_next_connection_and_only_then_kept(
    simcord_world_everywhere: "SimulatedDiscord",
) -> None:
    world = simcord_world_everywhere.world
    world.env.inject_error("PUT", "/applications/*/commands", status=503)
    with structlog.testing.capture_logs() as entries:
        bot = await restart(world)
    assert [one["log_level"] for one in entries if one["event"] == "commands_not_synced"] == ["warning"]
    assert await process_state.recall(KEY) is None

    await bot.on_ready()
    assert told(world) == 2
    assert await process_state.recall(KEY) == {"hash": tree_hash(bot.tree, bot.application_id or 0)}

    await bot.on_ready()
    assert told(world) == 2


async def test_a_database_that_fails_does_not_stop_the_start(
    simcord_world: "SimulatedDiscord", monkeypatch: pytest.MonkeyPatch
) -> None:
    world = simcord_world.world

    async def _lost(_key: str) -> None:
        raise sqlite3.OperationalError("disk I/O error")

    with monkeypatch.context() as patch:
        patch.setattr(process_state, "recall", _lost)
        bot = await restart(world)
    assert bot.is_ready()
    assert told(world) == 0

    await bot.on_ready()
    assert told(world) == 1


async def test_a_bot_without_commands_takes_none_away(simcord_world: "SimulatedDiscord") -> None:
    world = simcord_world.world
    await restart(world, extensions=())

    assert told(world) == 0
    assert await ProcessState.all().count() == 0


async def test_another_application_is_told_although_the_commands_are_the_same(
    simcord_world: "SimulatedDiscord",
) -> None:
    bot = await restart(simcord_world.world)

    assert tree_hash(bot.tree, 1) != tree_hash(bot.tree, 2)
    assert tree_hash(bot.tree, 1) == tree_hash(bot.tree, 1)


async def test_every_command_is_there_for_people_to_use(simcord_world: "SimulatedDiscord") -> None:
    world = simcord_world.world
    bot = await restart(world)
    known = {one.name for one in bot.tree.get_commands()}

    assert {"event", "series", "settings"} <= known
    assert all(world.env.backend.find_command(name, None, type=1) for name in known)


async def test_what_discord_is_told_fits_its_own_description(simcord_world: "SimulatedDiscord") -> None:
    validator = described("PUT", "/applications/{application_id}/commands")
    world = simcord_world.world
    await restart(world)

    (sent,) = [one.json for one in world.env.http_requests if one.method == "PUT" and one.path.endswith("/commands")]

    assert [error.message for error in validator.iter_errors(sent)] == []
