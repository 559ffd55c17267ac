"""A simulated Discord, on one database or on each in turn, and people at work in it."""

from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING

import pytest
import structlog

from bot.client import COMMAND_COGS
from bot.database import opened
from tests.discord.acting import Stage, set_stage, show_commands
from tests.discord.probe import Probe
from tests.discord.simulated import START, SimulatedDiscord, in_world

if TYPE_CHECKING:
    from structlog.typing import EventDict


@pytest.fixture
async def sqlite_database(sqlite_url: str) -> AsyncIterator[str]:
    """Open a fresh SQLite database. A fixture of its own: simcord copies the context of what ends before it does."""
    async with opened(sqlite_url):
        yield sqlite_url


@pytest.fixture
async def simcord_world(sqlite_database: str) -> AsyncIterator[SimulatedDiscord]:
    """Attach a bot without loops to a world with one guild, on SQLite: for what reads no rows."""
    async with in_world(START) as discord_:
        yield discord_


@pytest.fixture
async def simcord_world_everywhere(database: str) -> AsyncIterator[SimulatedDiscord]:
    """Attach a bot without loops to a world with one guild, on each database in turn."""
    async with in_world(START) as discord_:
        yield discord_


@pytest.fixture
async def stage(sqlite_database: str) -> AsyncIterator[Stage]:
    """Attach a bot with its commands, and no loops, to a world with people in it, on SQLite."""
    async with in_world(START, extensions=COMMAND_COGS) as discord_:
        yield await set_stage(discord_)


@pytest.fixture
async def stage_everywhere(database: str) -> AsyncIterator[Stage]:
    """Attach a bot with its commands, and no loops, to a world with people in it, on each database in turn."""
    async with in_world(START, extensions=COMMAND_COGS) as discord_:
        yield await set_stage(discord_)


@pytest.fixture
async def probe(stage: Stage) -> Probe:
    """Add commands that do as a test tells them to the stage's bot, and show them to everybody."""
    cog = Probe()
    await stage.bot.add_cog(cog)
    await stage.bot.tree.sync()
    show_commands(stage.discord_, stage.discord_.guild)
    return cog


@pytest.fixture
def told() -> Iterator["list[EventDict]"]:
    """Return what is logged during the test."""
    with structlog.testing.capture_logs() as entries:
        yield entries
