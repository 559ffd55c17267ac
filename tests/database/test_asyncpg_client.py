"""The pool of connections to PostgreSQL: each comes back, whatever became of its statement."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

import asyncpg
import pytest
from tortoise.exceptions import OperationalError

from bot.database import opened
from bot.transactions import DATABASE_ERRORS, connection, fetch

pytestmark = pytest.mark.postgres


@pytest.fixture
async def one_connection(postgres_url: str) -> AsyncIterator[None]:
    """Open a pool of a single connection: one that is not given back is missed at once."""
    async with opened(postgres_url, pool_size=1):
        yield


async def _own_process() -> object:
    return (await fetch("SELECT pg_backend_pid() AS pid"))[0]["pid"]


async def test_statements_at_once_share_the_connection(one_connection: None) -> None:
    found = await asyncio.gather(*(_own_process() for _ in range(20)))

    assert len(set(found)) == 1


async def test_refused_statement_gives_its_connection_back(one_connection: None) -> None:
    before = await _own_process()

    with pytest.raises(OperationalError):
        await fetch("SELECT no_such_column")

    assert await _own_process() == before


async def test_cancelled_statement_gives_its_connection_back(one_connection: None) -> None:
    slow = asyncio.create_task(fetch("SELECT pg_sleep(60)::text AS slept"))
    for _ in range(50):
        await asyncio.sleep(0)

    slow.cancel()
    with pytest.raises(asyncio.CancelledError):
        await slow

    assert await fetch("SELECT 1 AS one") == [{"one": 1}]


async def test_transaction_left_open_by_a_statement_is_ended(one_connection: None) -> None:
    await connection().execute_script("BEGIN; CREATE TABLE left_open (id INT)")

    assert await fetch("SELECT tablename FROM pg_tables WHERE tablename = 'left_open'") == []


async def test_connection_that_the_server_ends_is_replaced(one_connection: None, postgres_url: str) -> None:
    before = await _own_process()
    other = await asyncpg.connect(postgres_url)
    await other.execute("SELECT pg_terminate_backend($1)", before)
    await other.close()

    # Whether the pool saw it in time, or one statement pays for it.
    with contextlib.suppress(*DATABASE_ERRORS):
        await fetch("SELECT 1 AS one")

    assert await _own_process() != before


async def test_statement_that_ends_its_own_connection_leaves_the_pool_whole(one_connection: None) -> None:
    with pytest.raises(DATABASE_ERRORS):
        await fetch("SELECT pg_terminate_backend(pg_backend_pid()) AS ended")

    assert await fetch("SELECT 1 AS one") == [{"one": 1}]
