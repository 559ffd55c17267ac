"""What is due when a process is told to stop, and what has to have come of it once the next one ran."""

import datetime as dt
from collections import Counter
from dataclasses import dataclass

import asyncpg
from tortoise import Tortoise

from bot.clock import SystemClock
from bot.database import dialect_of, opened, postgres_dsn, sqlite_path
from bot.migrating import migrate, pending_migrations
from bot.transactions import Dialect, dialect, fetch, moment
from models.repeater_subscription import RepeaterSubscription
from models.states import EventState
from tests.builders import HOUR, make_event, make_guild, make_series
from tests.wire.discord_stub import CHANNEL, GUILD, OPS, DiscordStub, dm_channel

PEOPLE = (501, 502, 503)
# The post, three DMs and what holds them together.
ROWS = 2 + len(PEOPLE)


async def without_tables(url: str) -> None:
    """Take every table out of a database."""
    if dialect_of(url) is Dialect.SQLITE:
        sqlite_path(url).unlink()
        return
    session = await asyncpg.connect(postgres_dsn(url))
    try:
        await session.execute("DROP SCHEMA public CASCADE; CREATE SCHEMA public")
    finally:
        await session.close()


async def half_made(url: str) -> str:
    """Return in words what is there of a migration that was not done as a whole; nothing if none or all of it is."""
    async with opened(url):
        missing = await pending_migrations()
        tables = await _tables()
        assert Tortoise.apps is not None
        every = {str(model._meta.db_table) for model in Tortoise.apps["models"].values()}
    return half(tables, every, is_recorded=not missing)


def half(tables: set[str], every: set[str], *, is_recorded: bool) -> str:
    """Return in words how the tables differ from all of them where these are recorded, from none where not."""
    wanted = every if is_recorded else set()
    return f"recorded: {is_recorded}, and of the tables {sorted(tables ^ wanted)}" if tables != wanted else ""


async def _tables() -> set[str]:
    names = await fetch(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
        if dialect() is Dialect.SQLITE
        else "SELECT table_name AS name FROM information_schema.tables WHERE table_schema = current_schema()"
    )
    return {str(row["name"]) for row in names} - {"tortoise_migrations"}


async def plan(url: str) -> None:
    """Make the tables if there are none; store a post and three direct messages that are due now."""
    now = SystemClock().now()
    async with opened(url):
        await migrate(url)
        await make_guild(GUILD, announcement_channel_id=CHANNEL, ops_channel_id=OPS)
        await make_event(now=now, starts_in=6 * HOUR, guild_id=GUILD)
        series = await make_series(now=now, guild_id=GUILD, is_active=False)
        for user_id in PEOPLE:
            await RepeaterSubscription.create(series_id=series.id, user_id=user_id, created_at=now)
        await make_event(
            now=now,
            starts_in=3 * HOUR,
            guild_id=GUILD,
            series_id=series.id,
            state=EventState.SIGNUPS_OPEN,
            discord_announcement=False,
            discord_signup_reminder=True,
        )


def shown(stub: DiscordStub) -> Counter[int]:
    """Return how many messages stand in each channel."""
    return Counter({channel: len(messages) for channel, messages in stub.messages.items() if messages})


WANTED = Counter({CHANNEL: 1} | {dm_channel(who): 1 for who in PEOPLE})
"""What stands where in the end: nothing twice, and nothing in the channel for trouble."""


@dataclass(frozen=True, slots=True)
class Left:
    """What a process left in the database: rows sent, rows open, failed rows, and rows of running processes."""

    sent: int
    open: int
    failed: int
    instances: int


async def left(url: str) -> Left:
    """Read what a process left."""
    async with opened(url):
        rows = await fetch("SELECT success, COUNT(*) AS many FROM discord_message_log GROUP BY success")
        instances = await fetch("SELECT id FROM instance")
    many = {None if row["success"] is None else bool(row["success"]): int(str(row["many"])) for row in rows}
    return Left(many.get(True, 0), many.get(None, 0), many.get(False, 0), len(instances))


async def two_minutes_pass(url: str, stub: DiscordStub) -> None:
    """Set what is claimed back by two minutes, as if the next process came up that much later; nonces are forgotten."""
    stub.nonces.clear()
    back = dt.timedelta(minutes=2)
    async with opened(url):
        for row in await fetch("SELECT id, claimed_at, renewed_at FROM discord_message_log"):
            for column in ("claimed_at", "renewed_at"):
                if row[column] is not None:
                    earlier = moment(row[column]) - back
                    await fetch(f"UPDATE discord_message_log SET {column} = $2 WHERE id = $1", [row["id"], earlier])  # noqa: S608
