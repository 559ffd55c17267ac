"""P1 and P1s: claim and finalize, against the two bare statements on the same table through the bare driver."""

import contextlib
import datetime as dt
import itertools
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass

import aiosqlite
import asyncpg
from tortoise.exceptions import IntegrityError

from bot.database import DatabaseLeaseClock, sqlite_path
from bot.leases import ledger
from bot.leases.keys import MessageKey
from bot.leases.ledger import Claim
from bot.leases.ports import Delivered
from bot.transactions import Dialect
from models.discord_message_log import DiscordMessageLog
from tests.bench.databases import on, on_as_the_library_would
from tests.bench.measure import MICROSECONDS, Goal, Line, Run, interleaved
from tests.throwaway import Databases

CHANNEL, GUILD, MESSAGE, INSTANCE, TOKEN = 12, 11, 13, "bench", "0" * 32
DATA: dict[str, object] = {"marker": "event:1", "version": 1, "title": "Every other Tuesday"}

# What a claim must write at least, in the driver's own words; the database's own clock, as in the lease.
_INSERT = """
INSERT INTO discord_message_log (source, source_id, recipient_id, part, guild_id, channel_id, embed_data,
    history_after, lease_token, instance, attempts, claimed_at, created_at)
VALUES ('raw', $1, 0, 0, $2, $3, $4, 1, $5, $6, 1, {now}, {now}) ON CONFLICT DO NOTHING RETURNING id
"""
_UPDATE = """
UPDATE discord_message_log SET success = TRUE, discord_message_id = $3, status_code = 200, finished_at = {now}
WHERE id = $1 AND lease_token = $2 AND success IS NULL
"""
_SQLITE_NOW = "strftime('%Y-%m-%d %H:%M:%f+00:00', 'now')"

Statement = Callable[[str, Sequence[object]], Awaitable[int]]


@dataclass(frozen=True, slots=True)
class Sizes:
    """How many claims a round, and how many rounds."""

    claims: int = 300
    rounds: int = 15


async def claims_on_postgres(databases: Databases, sizes: Sizes) -> list[Line]:
    """P1, and for comparison what the ORM alone reaches."""
    return await _claims(databases, Dialect.POSTGRES, sizes, name="P1 claim + finalize, PostgreSQL", goal=0.70)


async def claims_on_sqlite(databases: Databases, sizes: Sizes) -> list[Line]:
    """P1s, and for comparison what the ORM alone reaches."""
    return await _claims(databases, Dialect.SQLITE, sizes, name="P1s claim + finalize, SQLite WAL FULL", goal=0.90)


async def _claims(databases: Databases, dialect: Dialect, sizes: Sizes, *, name: str, goal: float) -> list[Line]:
    session, driver = (_aiosqlite, "bare aiosqlite") if dialect is Dialect.SQLITE else (_asyncpg, "raw asyncpg")
    numbers = itertools.count(1)

    def _batch(one: Callable[[int], Awaitable[None]]) -> Run:
        async def _run() -> None:
            for _ in range(sizes.claims):
                await one(next(numbers))

        return _run

    async with (
        databases.fresh(dialect) as url,
        on(url) as bound,
        on_as_the_library_would(url) as plain,
        session(url) as raw,
    ):
        taken = await interleaved(
            {"leases": bound(_batch(_lease)), "orm": plain(_batch(_orm)), "raw": _batch(raw)}, rounds=sizes.rounds
        )
    each = {contender: sample.shared_among(sizes.claims) for contender, sample in taken.items()}

    def _line(contender: str, title: str, bound: Goal | None) -> Line:
        ratio = each["raw"].per(each[contender])
        return Line(title, each[contender], each["raw"], driver, ratio, bound, unit=MICROSECONDS)

    return [_line("leases", name, Goal(goal, at_least=True)), _line("orm", "   the plain ORM beside it", None)]


async def _lease(number: int) -> None:
    clock = DatabaseLeaseClock()
    claim = Claim(MessageKey("lease", number), GUILD, CHANNEL, DATA, 1)
    lease = await ledger.claim_lease(claim, instance=INSTANCE, lease_clock=clock)
    assert lease is not None
    assert await ledger.finalize_sent(lease, Delivered(MESSAGE, CHANNEL), lease_clock=clock)


async def _orm(number: int) -> None:
    now = dt.datetime.now(dt.UTC)
    try:
        row = await DiscordMessageLog.create(
            source="orm",
            source_id=number,
            guild_id=GUILD,
            channel_id=CHANNEL,
            embed_data=DATA,
            history_after=1,
            lease_token=TOKEN,
            instance=INSTANCE,
            claimed_at=now,
            created_at=now,
        )
    except IntegrityError:
        return
    done = await DiscordMessageLog.filter(id=row.id, lease_token=TOKEN, success__isnull=True).update(
        success=True, discord_message_id=MESSAGE, status_code=200, finished_at=dt.datetime.now(dt.UTC)
    )
    assert done == 1


@contextlib.asynccontextmanager
async def _asyncpg(url: str) -> AsyncIterator[Callable[[int], Awaitable[None]]]:
    insert, update = (text.replace("{now}", "clock_timestamp()") for text in (_INSERT, _UPDATE))
    session = await asyncpg.connect(url)

    async def _one(number: int) -> None:
        found = await session.fetchval(insert, number, GUILD, CHANNEL, json.dumps(DATA), TOKEN, INSTANCE)
        assert await session.execute(update, found, TOKEN, MESSAGE) == "UPDATE 1"

    try:
        yield _one
    finally:
        await session.close()


@contextlib.asynccontextmanager
async def _aiosqlite(url: str) -> AsyncIterator[Callable[[int], Awaitable[None]]]:
    insert, update = (text.replace("{now}", _SQLITE_NOW).replace("$", "?") for text in (_INSERT, _UPDATE))
    async with aiosqlite.connect(sqlite_path(url), isolation_level=None) as session:
        for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON"):
            await session.execute(f"PRAGMA {pragma}")

        async def _one(number: int) -> None:
            values = (number, GUILD, CHANNEL, json.dumps(DATA), TOKEN, INSTANCE)
            ((found,),) = await session.execute_fetchall(insert, values)
            async with session.execute(update, (found, TOKEN, MESSAGE)) as cursor:
                assert cursor.rowcount == 1

        yield _one
