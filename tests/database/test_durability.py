"""A PostgreSQL that acknowledges what a crash may undo is refused in words, whoever made it so."""

import asyncio
from collections.abc import AsyncIterator, Sequence

import asyncpg
import pytest

from bot import asyncpg_client, migrating
from bot.database import DatabaseUnavailableError, opened
from bot.durability import UnsafeDatabaseError, require_durable
from bot.operations.check import Verdict, findings
from bot.transactions import atomic, fetch
from tests.throwaway import statement

pytestmark = pytest.mark.postgres


@pytest.fixture
async def new_database(postgres_server: str) -> AsyncIterator[str]:
    """Return the address of a database without any table, and forget what was set for its role."""
    await statement(postgres_server, "CREATE DATABASE durability")
    try:
        yield postgres_server.replace("/postgres?", "/durability?")
    finally:
        await statement(postgres_server, "DROP DATABASE durability WITH (FORCE)")
        await statement(postgres_server, "ALTER ROLE postgres RESET synchronous_commit")


async def refusal(url: str) -> str | None:
    """What a start on the database is refused with."""
    async with opened(url):
        try:
            await require_durable(url)
        except UnsafeDatabaseError as error:
            return str(error)
    return None


async def test_a_server_as_it_comes_is_taken(new_database: str) -> None:
    assert await refusal(new_database) is None


@pytest.mark.parametrize("setting", ["on", "local", "remote_write", "remote_apply"])
async def test_a_commit_that_waits_for_the_disk_at_least_is_taken(new_database: str, setting: str) -> None:
    await statement(new_database, f"ALTER DATABASE durability SET synchronous_commit = {setting}")

    assert await refusal(new_database) is None


@pytest.mark.parametrize(
    ("switched_off_by", "mend"),
    [
        pytest.param(
            "ALTER DATABASE durability SET synchronous_commit = off",
            "run `ALTER DATABASE durability SET synchronous_commit = on;` there",
            id="database",
        ),
        pytest.param(
            "ALTER ROLE postgres SET synchronous_commit = off",
            "run `ALTER ROLE postgres SET synchronous_commit = on;` there",
            id="role",
        ),
        pytest.param(
            "ALTER ROLE postgres IN DATABASE durability SET synchronous_commit = off",
            "run `ALTER ROLE postgres IN DATABASE durability SET synchronous_commit = on;` there",
            id="role in a database",
        ),
    ],
)
async def test_whoever_switched_it_off_it_is_refused_and_mended_there(
    new_database: str, switched_off_by: str, mend: str
) -> None:
    await statement(new_database, switched_off_by)

    said = await refusal(new_database)
    assert said is not None
    await statement(new_database, mend.partition("`")[2].partition("`")[0])

    assert "has synchronous_commit = off: a crash of its machine could undo claims" in said
    assert said.endswith(f"messages would be sent twice; {mend}, then start again.")
    assert await refusal(new_database) is None


async def test_an_address_that_switches_it_off_is_refused(new_database: str) -> None:
    said = await refusal(f"{new_database}&options=-c%20synchronous_commit%3Doff")

    assert said is not None
    assert "take synchronous_commit out of the database's address and of PGOPTIONS, then start again." in said


async def server_has(server: str, name: str, value: str) -> None:
    """Wait until new sessions see a setting: reloading takes its time."""
    async with asyncio.timeout(45):
        while True:
            session = await asyncpg.connect(server)
            try:
                if await session.fetchval("SELECT setting FROM pg_settings WHERE name = $1", name) == value:
                    return
            finally:
                await session.close()
            await asyncio.sleep(0.01)


@pytest.fixture
async def careless(new_database: str, postgres_server: str, request: pytest.FixtureRequest) -> AsyncIterator[str]:
    """Switch settings of the whole server off; return the address of the database."""
    names: Sequence[str] = request.param
    try:
        for name in names:
            await statement(postgres_server, f"ALTER SYSTEM SET {name} = off")
        await statement(postgres_server, "SELECT pg_reload_conf()")
        for name in names:
            await server_has(postgres_server, name, "off")
        yield new_database
    finally:
        for name in names:
            await statement(postgres_server, f"ALTER SYSTEM RESET {name}")
        await statement(postgres_server, "SELECT pg_reload_conf()")
        for name in names:
            await server_has(postgres_server, name, "on")


@pytest.mark.parametrize("careless", [["fsync"], ["full_page_writes"], ["synchronous_commit"]], indirect=True, ids=str)
async def test_a_server_that_waits_for_no_disk_is_refused(careless: str, request: pytest.FixtureRequest) -> None:
    name = request.node.callspec.params["careless"][0]

    said = await refusal(careless)

    assert said is not None
    assert f"has {name} = off: " in said
    assert f"run `ALTER SYSTEM SET {name} = on; SELECT pg_reload_conf();` there, then start again." in said


@pytest.mark.parametrize("careless", [["fsync", "synchronous_commit"]], indirect=True, ids=str)
async def test_all_that_is_unsafe_is_named_at_once_and_the_check_finds_it(careless: str) -> None:
    found = [
        one async for one in findings(careless, pool_size=1, token=None, configuration="a test") if "= off" in one.says
    ]

    assert [one.verdict for one in found] == [Verdict.BAD]
    assert "has fsync = off and synchronous_commit = off: " in found[0].says
    assert "ALTER SYSTEM SET fsync = on;" in found[0].says
    assert "ALTER SYSTEM SET synchronous_commit = on;" in found[0].says
    assert "Traceback" not in found[0].says


async def test_a_process_stopped_in_a_transaction_holds_the_others_up_for_no_longer_than_it_may(
    new_database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asyncpg_client, "PATIENCE_SECONDS", 1)
    async with opened(new_database):
        await fetch("CREATE TABLE held (id INT)")
        await fetch("INSERT INTO held VALUES (1)")

        async def _other_waits_for_us() -> None:
            await fetch("UPDATE held SET id = 2")
            # As a stopped process: its transaction is open, and it does nothing more until the other went on.
            await statement(new_database, "UPDATE held SET id = 3")

        with pytest.raises(Exception, match=r"idle-in-transaction|closed|terminat"):
            await atomic(_other_waits_for_us)

        assert await fetch("SELECT id FROM held") == [{"id": 3}]


async def test_a_process_stopped_while_it_migrates_lets_others_wait_for_a_minute_and_say_so(
    new_database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(migrating, "_MIGRATION_PATIENCE_SECONDS", 1)
    holder = await asyncpg.connect(new_database)
    await holder.execute("SELECT pg_advisory_lock($1)", migrating._MIGRATION_LOCK)
    try:
        async with opened(new_database):
            with pytest.raises(DatabaseUnavailableError, match="another process has been migrating it for a minute"):
                await migrating.migrate(new_database)
    finally:
        await holder.close()
