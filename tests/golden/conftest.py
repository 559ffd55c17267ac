"""A database that is open for the length of a test, for stories that run inside the test's own process."""

from collections.abc import AsyncIterator

import pytest

from bot.database import opened


@pytest.fixture
async def sqlite_database(sqlite_url: str) -> AsyncIterator[str]:
    """Open a fresh SQLite database. A fixture of its own: simcord copies the context of what ends before it does."""
    async with opened(sqlite_url):
        yield sqlite_url
