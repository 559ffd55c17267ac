"""What the bot's connections to PostgreSQL stand: cut, stranded, refused, or on a server that can only be read."""

import asyncio
import contextlib
import uuid
from collections.abc import AsyncIterator
from urllib.parse import urlsplit

import asyncpg
import pytest
from tortoise.exceptions import BaseORMException

from bot import asyncpg_client, instance_lock
from bot.database import opened
from bot.instance_lock import AlreadyRunningError, InstanceLock
from bot.transactions import DATABASE_ERRORS, atomic, fetch
from models.ops_note import OpsNote
from tests.builders import GUILD
from tests.conftest import START
from tests.throwaway import statement
from tests.wire.proxy import Fate, Proxy, before_server

pytestmark = [pytest.mark.postgres, pytest.mark.timeout(60)]


@pytest.fixture
async def proxy(postgres_url: str) -> AsyncIterator[Proxy]:
    async with before_server(postgres_url) as proxy:
        yield proxy


@pytest.fixture
async def pool(proxy: Proxy, postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[None]:
    """A pool of one connection, which is given up after a moment without an answer."""
    monkeypatch.setattr(asyncpg_client, "ANSWER_SECONDS", 2)
    async with opened(proxy.before(postgres_url), pool_size=1):
        yield


async def write() -> None:
    await OpsNote.create(guild_id=GUILD, fault=uuid.uuid4().hex, says="y", updated_at=START)


async def test_an_answer_that_is_swallowed_is_an_error_and_its_work_is_done(pool: None, proxy: Proxy) -> None:
    proxy.meet = lambda asked, _: Fate.SWALLOW if asked.startswith("INSERT") else Fate.PASS

    with pytest.raises(DATABASE_ERRORS):
        await write()
    proxy.meet = lambda *_: Fate.PASS

    assert await OpsNote.all().count() == 1


async def test_the_answer_to_a_commit_that_is_swallowed_is_an_error_and_the_next_unit_works(
    pool: None, proxy: Proxy
) -> None:
    proxy.meet = lambda asked, _: Fate.SWALLOW if asked.startswith("COMMIT") else Fate.PASS

    with pytest.raises(DATABASE_ERRORS):
        await atomic(write)
    proxy.meet = lambda *_: Fate.PASS

    await atomic(write)
    assert await OpsNote.all().count() == 2


@pytest.mark.parametrize("unit", ["statement", "transaction"])
async def test_a_connection_that_is_stranded_is_given_up_and_the_next_one_works(
    pool: None, proxy: Proxy, unit: str
) -> None:
    proxy.strand()

    with pytest.raises(TimeoutError):
        await (write() if unit == "statement" else atomic(write))

    await write()


async def test_a_transaction_that_is_stranded_in_its_midst_is_given_up(pool: None, proxy: Proxy) -> None:
    async def _unit() -> None:
        await write()
        proxy.strand()
        await fetch("SELECT 1 AS one")

    with pytest.raises(TimeoutError):
        await atomic(_unit)

    assert await OpsNote.all().count() == 0


async def test_a_commit_that_is_stranded_is_given_up(pool: None, proxy: Proxy) -> None:
    async def _unit() -> None:
        await write()
        proxy.strand()

    with pytest.raises(TimeoutError):
        await atomic(_unit)

    await write()


async def test_while_connections_are_refused_nothing_works_and_then_all_does(pool: None, proxy: Proxy) -> None:
    proxy.refuses = True
    proxy.cut()

    for _ in range(3):
        with pytest.raises(DATABASE_ERRORS):
            await write()
    proxy.refuses = False

    await write()


@pytest.mark.parametrize("unit", ["statement", "transaction"])
async def test_a_server_that_can_only_be_read_is_left_for_the_one_that_takes_its_place(
    pool: None, proxy: Proxy, postgres_url: str, unit: str
) -> None:
    database = urlsplit(postgres_url).path.strip("/")
    await statement(postgres_url, f"ALTER DATABASE {database} SET default_transaction_read_only = on")
    proxy.cut()
    with contextlib.suppress(*DATABASE_ERRORS):
        await fetch("SELECT 1 AS one")

    with pytest.raises((BaseORMException, asyncpg.ReadOnlySQLTransactionError)):
        await (write() if unit == "statement" else atomic(write))
    reset = f"ALTER DATABASE {database} RESET default_transaction_read_only"
    await statement(postgres_url, f"BEGIN READ WRITE; {reset}; COMMIT")

    await write()


async def test_a_name_whose_connection_was_stranded_is_taken_back_from_its_own_session(
    proxy: Proxy, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(instance_lock, "_ANSWER_SECONDS", 2)
    lock = InstanceLock(proxy.before(postgres_url), "host")
    await lock.hold()
    proxy.strand()

    await lock.hold()

    with pytest.raises(AlreadyRunningError):
        await InstanceLock(postgres_url, "host").hold()
    await lock.release()


async def test_a_name_that_another_took_meanwhile_is_not_taken_back(
    proxy: Proxy, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(instance_lock, "_ANSWER_SECONDS", 2)
    lock, other = InstanceLock(proxy.before(postgres_url), "host"), InstanceLock(postgres_url, "host")
    await lock.hold()
    proxy.cut()
    async with asyncio.timeout(30):
        while True:
            with contextlib.suppress(AlreadyRunningError):
                await other.hold()
                break

    with pytest.raises(AlreadyRunningError):
        await lock.hold()

    await other.release()
    await lock.release()
