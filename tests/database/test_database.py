"""Opening, closing and locking the database, and the clock that it keeps."""

import asyncio
import contextlib
import datetime as dt
import re
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg
import pytest

from bot import durability
from bot.clock import SystemClock
from bot.database import (
    DatabaseLeaseClock,
    DatabaseUnavailableError,
    UnknownDatabaseError,
    dialect_of,
    opened,
    shown_url,
    sqlite_path,
)
from bot.durability import OldDatabaseError, require_durable
from bot.instance_lock import AlreadyRunningError, InstanceLock
from bot.transactions import Dialect, fetch

SECRET = "s3cretWord"
NOWHERE = f"postgres://tocsin:{SECRET}@127.0.0.1:1/tocsin"


@contextlib.asynccontextmanager
async def held(url: str, name: str = "host") -> AsyncIterator[InstanceLock]:
    lock = InstanceLock(url, name)
    await lock.hold()
    try:
        yield lock
    finally:
        await lock.release()


async def test_a_second_process_is_refused_in_words(database_url: str) -> None:
    what = "the instance name 'host'" if dialect_of(database_url) is Dialect.POSTGRES else "the database /"

    async with held(database_url):
        with pytest.raises(AlreadyRunningError, match=f"already holds {what}") as refused:
            await InstanceLock(database_url, "host").hold()

    assert "stop it first, or give this one its own" in str(refused.value)


async def test_a_released_lock_can_be_held_again(database_url: str) -> None:
    async with held(database_url):
        pass

    async with held(database_url) as lock:
        await lock.hold()

        with pytest.raises(AlreadyRunningError):
            await InstanceLock(database_url, "host").hold()


async def test_releasing_what_is_not_held_changes_nothing(database_url: str) -> None:
    lock = InstanceLock(database_url, "host")

    await lock.release()
    await lock.release()

    async with held(database_url):
        pass


@pytest.mark.postgres
async def test_two_names_run_side_by_side_on_postgresql(postgres_url: str) -> None:
    async with held(postgres_url, "one"), held(postgres_url, "two"):
        with pytest.raises(AlreadyRunningError):
            await InstanceLock(postgres_url, "two").hold()


async def test_two_names_share_no_sqlite_file(sqlite_url: str) -> None:
    async with held(sqlite_url, "one"):
        with pytest.raises(AlreadyRunningError):
            await InstanceLock(sqlite_url, "two").hold()


async def _sessions(url: str) -> int:
    """How many sessions PostgreSQL has on that database, besides the one that asks."""
    session = await asyncpg.connect(url)
    try:
        query = "SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
        return int(await session.fetchval(query))
    finally:
        await session.close()


async def _cut_off_all(url: str) -> None:
    session = await asyncpg.connect(url)
    try:
        await session.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
    finally:
        await session.close()


@pytest.mark.postgres
async def test_a_lock_whose_connection_was_lost_is_taken_again(postgres_url: str) -> None:
    async with held(postgres_url) as lock:
        await _cut_off_all(postgres_url)
        assert lock._session is not None
        with contextlib.suppress(asyncpg.PostgresError, asyncpg.InterfaceError, OSError):
            await lock._session.fetchval("SELECT 1")

        await lock.hold()

        with pytest.raises(AlreadyRunningError):
            await InstanceLock(postgres_url, "host").hold()


@pytest.mark.postgres
async def test_a_lock_whose_session_ended_just_after_it_was_found_taken_is_taken_again(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with held(postgres_url) as lock:
        await _cut_off_all(postgres_url)
        really, asked = lock._take, 0

        async def _take(session: asyncpg.Connection) -> bool:
            nonlocal asked
            asked += 1
            return asked > 1 and await really(session)

        monkeypatch.setattr(lock, "_take", _take)

        await lock.hold()

        assert asked == 2
        with pytest.raises(AlreadyRunningError):
            await InstanceLock(postgres_url, "host").hold()


@pytest.mark.postgres
async def test_an_older_server_is_refused_in_words(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async with opened(postgres_url):
        monkeypatch.setattr(durability, "LEAST_POSTGRES", 99)

        with pytest.raises(OldDatabaseError, match=r"is PostgreSQL \d\d; Tocsin needs 99 or newer\.$"):
            await require_durable(postgres_url)


@pytest.mark.postgres
async def test_a_lock_that_was_taken_over_meanwhile_is_refused(postgres_url: str) -> None:
    async with held(postgres_url) as lock:
        await _cut_off_all(postgres_url)
        assert lock._session is not None
        with contextlib.suppress(asyncpg.PostgresError, asyncpg.InterfaceError, OSError):
            await lock._session.fetchval("SELECT 1")

        async with held(postgres_url):
            with pytest.raises(AlreadyRunningError):
                await lock.hold()


@pytest.mark.postgres
async def test_a_refused_lock_leaves_no_session_behind(postgres_url: str) -> None:
    async with held(postgres_url):
        for _ in range(3):
            with pytest.raises(AlreadyRunningError):
                await InstanceLock(postgres_url, "host").hold()

        # The server notices a closed socket when it next looks; it has to be none at the end, not at once.
        while await _sessions(postgres_url) > 1:
            pass


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        pytest.param(NOWHERE, "postgres://tocsin:[hidden]@127.0.0.1:1/tocsin", id="plain"),
        pytest.param(f"postgres://u:{SECRET}@ss@host/db", "postgres://u:[hidden]@host/db", id="with an @"),
        pytest.param(f"postgres://u:{SECRET}/ss@host/db", "postgres://u:[hidden]@host/db", id="with a slash"),
        pytest.param(f"postgres://u:{SECRET}#?:@host/db", "postgres://u:[hidden]@host/db", id="with a hash"),
        pytest.param(f"postgres://:{SECRET}@host/db", "postgres://:[hidden]@host/db", id="without a user"),
        pytest.param(f"u:{SECRET}@host/db", "u:[hidden]@host/db", id="without a scheme"),
        pytest.param(f"mysql://u:{SECRET}@host/db", "mysql://u:[hidden]@host/db", id="of another database"),
        pytest.param(
            f"postgres://host/db?user=u&password={SECRET}&application_name=x",
            "postgres://host/db?user=u&password=[hidden]&application_name=x",
            id="in the query",
        ),
        pytest.param("postgres://u@host:5432/db", "postgres://u@host:5432/db", id="no password"),
        pytest.param("postgres://host:5432/db", "postgres://host:5432/db", id="no user"),
        pytest.param("sqlite:///data/a:b@c.db", "sqlite:///data/a:b@c.db", id="a file"),
    ],
)
def test_an_address_is_shown_without_its_password(url: str, shown: str) -> None:
    assert shown_url(url) == shown


@pytest.mark.parametrize(
    "url",
    [
        NOWHERE,
        f"postgres://u:{SECRET[:4]}/{SECRET[4:]}@127.0.0.1:1/db",
        f"postgres://u:{SECRET[:4]}#{SECRET[4:]}@127.0.0.1:1/db",
        f"postgres://u:{SECRET}@[::1/db",
        f"postgres://127.0.0.1:1/db?password={SECRET}",
    ],
)
async def test_a_database_that_cannot_be_opened_is_told_without_its_password(url: str) -> None:
    with pytest.raises(DatabaseUnavailableError, match="cannot be opened: ") as refused:
        async with opened(url):
            pass

    assert SECRET[:4] not in str(refused.value)
    assert "[hidden]" in str(refused.value)


async def test_an_address_of_no_known_database_is_refused_without_its_password() -> None:
    with pytest.raises(UnknownDatabaseError, match=r"mysql://u:\[hidden\]@host/db is no database address"):
        async with opened(f"mysql://u:{SECRET}@host/db"):
            pass


@pytest.mark.postgres
async def test_a_database_that_does_not_exist_is_named(postgres_url: str) -> None:
    missing = re.sub(r"/t[0-9a-f]{32}\?", "/nowhere?", postgres_url)

    with pytest.raises(DatabaseUnavailableError, match='database "nowhere" does not exist'):
        async with opened(missing):
            pass


async def test_a_file_in_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(DatabaseUnavailableError, match="cannot be opened: "):
        async with opened(f"sqlite://{tmp_path}/file/tocsin.db"):
            pass


async def test_the_folder_of_a_new_file_is_made(tmp_path: Path) -> None:
    url = f"sqlite://{tmp_path}/a/b/tocsin.db"

    async with opened(url):
        pass

    assert sqlite_path(url).exists()


async def test_processes_that_open_a_new_file_at_once_all_get_it(tmp_path: Path) -> None:
    async def _open(url: str) -> object:
        async with opened(url):
            return (await fetch("PRAGMA journal_mode"))[0]["journal_mode"]

    for number in range(5):
        url = f"sqlite://{tmp_path}/{number}.db"

        modes = await asyncio.gather(*(_open(url) for _ in range(6)))

        assert modes == ["wal"] * 6


def database_threads() -> set[threading.Thread]:
    return {thread for thread in threading.enumerate() if "_connection_worker_thread" in thread.name}


async def test_an_error_closes_the_sqlite_connection(sqlite_url: str) -> None:
    before = database_threads()
    ours: set[threading.Thread] = set()

    async def _fail() -> None:
        async with opened(sqlite_url):
            ours.update(database_threads() - before)
            raise LookupError

    with pytest.raises(LookupError):
        await _fail()

    assert len(ours) == 1
    # It is no daemon: were it left, the process could not end.
    for thread in ours:
        thread.join(timeout=10)
        assert not thread.is_alive()


@pytest.mark.postgres
async def test_an_error_closes_every_postgresql_connection(postgres_url: str) -> None:
    async def _fail() -> None:
        async with opened(postgres_url):
            await fetch("SELECT 1 AS one")
            raise LookupError

    with pytest.raises(LookupError):
        await _fail()

    while await _sessions(postgres_url):
        pass


async def test_the_databases_clock_agrees_with_the_machines(database: str) -> None:
    clock = DatabaseLeaseClock()

    before = SystemClock().now()
    told = await clock.now()
    after = SystemClock().now()

    second = dt.timedelta(seconds=1)
    assert before - second <= told <= after + second
    assert told.utcoffset() == dt.timedelta(0)
    assert clock.stamp() is None
