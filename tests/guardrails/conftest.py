"""A bot with every command in it, connected to nothing."""

from collections.abc import AsyncIterator

import pytest

from bot.client import COMMAND_COGS, TocsinBot
from bot.clock import InjectedLeaseClock, ManualClock


@pytest.fixture
async def bot(clock: ManualClock) -> AsyncIterator[TocsinBot]:
    """Load every cog of people's into a bot that is connected to nothing."""
    made = TocsinBot(clock=clock, lease_clock=InjectedLeaseClock(clock), extensions_to_load=())
    await made._async_setup_hook()
    for name in COMMAND_COGS:
        await made.load_extension(name)
    yield made
    await made.close()
