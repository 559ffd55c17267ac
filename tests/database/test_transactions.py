"""Units of work: whole or not at all, whoever is cancelled, refused or disturbed meanwhile."""

import asyncio
import contextlib
import datetime as dt
import random
import sqlite3
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tortoise.backends.asyncpg.client import TransactionWrapper
from tortoise.exceptions import IntegrityError, OperationalError

from bot.database import DatabaseUnavailableError, opened, sqlite_path
from bot.transactions import Dialect, atomic, connection, dialect, fetch, integer, moment
from models.guild_settings import GuildSettings

CANCELLATIONS = 600


def is_at_rest() -> bool:
    """Whether SQLite's lock is free and no transaction open, or every pooled connection is back."""
    client: Any = connection()
    if dialect() is Dialect.SQLITE:
        return not client._lock.locked() and not client._connection.in_transaction
    return bool(client._pool.get_idle_size() == client._pool.get_size())


async def write_two(first: int) -> None:
    await GuildSettings.create(guild_id=first)
    await asyncio.sleep(0)
    await GuildSettings.create(guild_id=first + 1)


async def guilds() -> list[int]:
    return sorted(integer(row["guild_id"]) for row in await fetch("SELECT guild_id FROM guild_settings"))


async def steps(count: int) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


async def test_a_unit_returns_what_its_work_returns(database: str) -> None:
    async def _work() -> int:
        await write_two(2)
        return 5

    assert await atomic(_work) == 5
    assert await guilds() == [2, 3]


async def test_an_error_undoes_the_whole_unit(database: str) -> None:
    async def _work() -> None:
        await write_two(2)
        raise LookupError

    with pytest.raises(LookupError):
        await atomic(_work)

    assert await guilds() == []
    assert is_at_rest()


async def test_an_error_inside_an_inner_unit_undoes_the_inner_one_alone(database: str) -> None:
    async def _inner() -> None:
        await write_two(4)
        raise LookupError

    async def _outer() -> None:
        await write_two(2)
        with contextlib.suppress(LookupError):
            await atomic(_inner)

    await atomic(_outer)

    assert await guilds() == [2, 3]


async def test_a_refused_statement_inside_an_inner_unit_spares_the_outer_one(database: str) -> None:
    async def _inner() -> None:
        await GuildSettings.create(guild_id=2)

    async def _outer() -> None:
        await write_two(2)
        with contextlib.suppress(IntegrityError):
            await atomic(_inner)
        await GuildSettings.create(guild_id=4)

    await atomic(_outer)

    assert await guilds() == [2, 3, 4]


async def test_six_hundred_cancellations_leave_nothing_held_and_no_half_unit(database: str) -> None:
    chance = random.Random(1)

    for count in range(CANCELLATIONS):
        unit = asyncio.create_task(atomic(partial(write_two, 2 * count)))
        await steps(chance.choice((0, 1, 2, 3, chance.randrange(4, 150))))
        unit.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await unit

    written = await guilds()
    assert is_at_rest()
    assert written[::2] == [guild - 1 for guild in written[1::2]]
    await atomic(lambda: write_two(2 * CANCELLATIONS))


async def test_units_side_by_side_that_are_cancelled_leave_nothing_held(database: str) -> None:
    chance = random.Random(2)
    units = [asyncio.create_task(atomic(partial(write_two, 2 * count))) for count in range(40)]

    for unit in units:
        await steps(chance.randrange(30))
        unit.cancel()
    await asyncio.gather(*units, return_exceptions=True)

    assert is_at_rest()


async def test_a_second_cancellation_does_not_let_go_of_the_transaction_either(database: str) -> None:
    inside, go_on = asyncio.Event(), asyncio.Event()

    async def _work() -> None:
        await GuildSettings.create(guild_id=2)
        inside.set()
        await go_on.wait()
        await GuildSettings.create(guild_id=3)

    unit = asyncio.create_task(atomic(_work))
    await inside.wait()
    for _ in range(3):
        unit.cancel()
        await steps(3)
    still_waiting = not unit.done()
    go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await unit

    assert still_waiting
    assert await guilds() == [2, 3]
    assert is_at_rest()


async def test_a_cancelled_unit_whose_work_fails_only_reports_the_cancellation(database: str) -> None:
    inside, go_on = asyncio.Event(), asyncio.Event()

    async def _work() -> None:
        await GuildSettings.create(guild_id=2)
        inside.set()
        await go_on.wait()
        raise LookupError

    unit = asyncio.create_task(atomic(_work))
    await inside.wait()
    unit.cancel()
    await steps(2)
    go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await unit

    assert await guilds() == []
    assert is_at_rest()


async def test_on_sqlite_a_unit_that_read_first_may_still_write(sqlite_url: str) -> None:
    other = sqlite3.connect(sqlite_path(sqlite_url), timeout=0)

    async def _work() -> None:
        await GuildSettings.all().count()
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            other.execute("UPDATE guild_settings SET locale = 'de'")
        await GuildSettings.create(guild_id=2)

    async with opened(sqlite_url):
        with contextlib.closing(other):
            await atomic(_work)

        assert await guilds() == [2]


async def test_on_sqlite_a_unit_waits_for_another_process_to_finish_its_write(sqlite_url: str) -> None:
    async with opened(sqlite_url):
        with contextlib.closing(sqlite3.connect(sqlite_path(sqlite_url), isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            unit = asyncio.create_task(atomic(lambda: write_two(2)))
            await steps(200)
            waited = not unit.done()
            other.execute("COMMIT")
            await unit

        assert waited
        assert await guilds() == [2, 3]


async def test_on_sqlite_a_begin_that_fails_gives_the_lock_back(sqlite_url: str) -> None:
    async with opened(sqlite_url):
        await fetch("PRAGMA busy_timeout = 0")
        with contextlib.closing(sqlite3.connect(sqlite_path(sqlite_url), isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(OperationalError, match="locked"):
                await atomic(lambda: write_two(2))
            free = is_at_rest()

        await atomic(lambda: write_two(4))
        assert free
        assert await guilds() == [4, 5]


async def test_on_sqlite_a_commit_that_is_refused_leaves_no_transaction_open(sqlite_url: str) -> None:
    async def _work() -> None:
        await write_two(2)
        await fetch("PRAGMA defer_foreign_keys = ON")
        await fetch(
            "INSERT INTO reminder_due (event_id, key, due_at) VALUES (99, 'announcement', $1)",
            [dt.datetime(2026, 3, 1, tzinfo=dt.UTC)],
        )

    async with opened(sqlite_url):
        with pytest.raises(IntegrityError):
            await atomic(_work)
        at_rest = is_at_rest()
        await atomic(lambda: write_two(4))

        assert at_rest
        assert await guilds() == [4, 5]


@pytest.mark.postgres
async def test_on_postgresql_a_begin_that_fails_gives_its_connection_back(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def _begin(self: TransactionWrapper) -> None:
        raise ConnectionResetError

    async with opened(postgres_url, pool_size=2):
        with monkeypatch.context() as broken:
            broken.setattr(TransactionWrapper, "begin", _begin)
            for _ in range(3):
                with pytest.raises(ConnectionResetError):
                    await atomic(lambda: write_two(2))
        at_rest = is_at_rest()
        await atomic(lambda: write_two(4))

        assert at_rest
        assert await guilds() == [4, 5]


@pytest.mark.postgres
async def test_on_postgresql_a_transaction_left_open_ends_when_its_connection_comes_back(postgres_url: str) -> None:
    async with opened(postgres_url, pool_size=1):
        pool: Any = connection()._pool
        async with pool.acquire() as session:
            await session.execute("BEGIN")
            await session.execute("UPDATE guild_settings SET locale = 'de'")
        async with pool.acquire() as session:
            assert not session.is_in_transaction()


async def test_values_are_bound_by_number_on_both_databases(database: str) -> None:
    rows = await fetch(
        "SELECT CAST($2 AS VARCHAR(9)) AS b, CAST($1 AS VARCHAR(9)) AS a, CAST($2 AS VARCHAR(9)) AS c", ["x", "y"]
    )

    assert rows == [{"b": "y", "a": "x", "c": "y"}]


async def test_a_write_tells_by_an_empty_list_that_it_touched_nothing(database: str) -> None:
    await GuildSettings.create(guild_id=2)
    update = "UPDATE guild_settings SET locale = 'de' WHERE guild_id = $1 RETURNING guild_id"

    touched = [len(await fetch(update, [guild])) for guild in (2, 3)]

    assert touched == [1, 0]


@pytest.mark.parametrize("value", [None, 5, "2026-03-01T12:00:00", dt.datetime(2026, 3, 1)], ids=str)  # noqa: DTZ001
def test_what_is_no_aware_moment_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match="no stored moment"):
        moment(value)


@pytest.mark.parametrize("value", [None, "5", 5.0], ids=repr)
def test_what_is_no_whole_number_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match="no stored whole number"):
        integer(value)


async def test_a_file_that_is_no_database_is_a_database_error(tmp_path: Path) -> None:
    path = tmp_path / "notes.db"
    path.write_text("no database at all, but long enough to be read as one " * 50)

    with pytest.raises(DatabaseUnavailableError, match="not a database"):
        async with opened(f"sqlite://{path}"):
            pass
