"""No durable claim, no send: while the database refuses nothing leaves, and afterwards everything does, once."""

import asyncio
import contextlib
import io
import itertools
import logging
from collections.abc import Awaitable, Callable, Iterator
from urllib.parse import urlsplit

import pytest
import structlog

from bot.database import dialect_of, opened
from bot.database_watch import FAULT
from bot.log import configure_logging
from bot.transactions import DATABASE_ERRORS, Dialect, atomic, connection, fetch
from models.ops_note import OpsNote
from tests.builders import DAY, MINUTE, OPS_CHANNEL, SECOND, make_event, make_guild
from tests.chaos.databases.database_world import BEGIN, World
from tests.throwaway import statement

Deed = Callable[[str], Awaitable[None]]

_FULL_DISK = """
CREATE FUNCTION full_disk() RETURNS trigger AS $$ BEGIN
    RAISE EXCEPTION 'could not extend file' USING ERRCODE = '53100';
END $$ LANGUAGE plpgsql;
CREATE TRIGGER full_disk BEFORE INSERT ON discord_message_log EXECUTE FUNCTION full_disk();
"""


async def break_disk(url: str) -> None:
    if dialect_of(url) is Dialect.SQLITE:
        await fetch("PRAGMA max_page_count=1")
        with contextlib.suppress(*DATABASE_ERRORS):  # what is free inside the log's own pages is used up first
            for place in itertools.count(1):
                await fetch(
                    "INSERT INTO discord_message_log (source, source_id, recipient_id, part, embed_data, success,"
                    " history_after, attempts, claimed_at, created_at)"
                    " VALUES ('event_announcement', $1, 0, 0, $2, TRUE, 0, 1, $3, $3)",
                    [1_000_000 + place, '"' + "x" * 100 + '"', BEGIN],
                )
    else:
        await connection().execute_script(_FULL_DISK)


async def mend_disk(url: str) -> None:
    if dialect_of(url) is Dialect.SQLITE:
        await fetch("PRAGMA max_page_count=1073741823")
    else:
        await connection().execute_script("DROP TRIGGER full_disk ON discord_message_log")


async def forbid_writing(url: str) -> None:
    if dialect_of(url) is Dialect.SQLITE:
        await fetch("PRAGMA query_only=ON")
        return
    await statement(url, f"ALTER DATABASE {urlsplit(url).path.strip('/')} SET default_transaction_read_only = on")
    await statement(
        url,
        "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
        " WHERE datname = current_database() AND pid <> pg_backend_pid()",
    )


async def allow_writing(url: str) -> None:
    if dialect_of(url) is Dialect.SQLITE:
        await fetch("PRAGMA query_only=OFF")
        return
    reset = f"ALTER DATABASE {urlsplit(url).path.strip('/')} RESET default_transaction_read_only"
    await statement(url, f"BEGIN READ WRITE; {reset}; COMMIT")


@pytest.fixture
async def world(database: str) -> World:
    world = World()
    await make_guild()
    await make_event(now=BEGIN, starts_in=DAY + MINUTE)
    await world.start()
    return world


@pytest.mark.parametrize(
    ("trouble", "mend", "words"),
    [
        pytest.param(break_disk, mend_disk, "its disk is full", id="full"),
        pytest.param(forbid_writing, allow_writing, "it can only be read", id="read-only"),
    ],
)
async def test_while_the_database_takes_no_claim_nothing_is_sent_and_then_all_is_and_the_admins_are_told(
    database: str, world: World, trouble: Deed, mend: Deed, words: str
) -> None:
    await world.run_until(BEGIN + 30 * SECOND)

    await trouble(database)
    await world.run_until(BEGIN + 3 * MINUTE)
    sent_meanwhile = len(world.discord.posts)
    await mend(database)
    await world.run_until(BEGIN + 4 * MINUTE)

    assert sent_meanwhile == 0
    assert world.unexpected == []
    assert world.discord.titles() == ["Raid night"]
    assert world.discord.in_channel()[0].sent_at <= BEGIN + 3 * MINUTE + 10 * SECOND
    assert words in (await OpsNote.get(fault=FAULT)).says
    assert len(world.discord.in_channel(OPS_CHANNEL)) == 1


@pytest.mark.postgres
async def test_a_pool_whose_connections_are_all_taken_delays_a_post_and_costs_none(postgres_url: str) -> None:
    async with opened(postgres_url, pool_size=1):
        world = World()
        await make_guild()
        await make_event(now=BEGIN, starts_in=DAY)
        await world.start()
        taken, free = asyncio.Event(), asyncio.Event()

        async def _hold() -> None:
            taken.set()
            await free.wait()

        holder = asyncio.create_task(atomic(_hold))
        await taken.wait()
        running = asyncio.create_task(world.run_until(BEGIN + MINUTE))
        for _ in range(100):
            await asyncio.sleep(0)
        sent_meanwhile = len(world.discord.posts)
        free.set()
        await asyncio.gather(holder, running)

    assert sent_meanwhile == 0
    assert world.discord.titles() == ["Raid night"]


@pytest.fixture
def restored_logging() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    structlog.reset_defaults()


@pytest.mark.usefixtures("restored_logging")
async def test_the_log_says_what_is_wrong_with_the_database_and_not_where(sqlite_url: str) -> None:
    stream = io.StringIO()
    configure_logging("debug", "json", stream)
    async with opened(sqlite_url):
        await forbid_writing(sqlite_url)

        try:
            await OpsNote.create(guild_id=1, fault="x", says="y", updated_at=BEGIN)
        except DATABASE_ERRORS:
            structlog.get_logger("bot.test").exception("pass_failed")

    assert '"database": "it can only be read"' in stream.getvalue()
    assert "Traceback" not in stream.getvalue()
