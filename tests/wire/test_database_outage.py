"""``tocsin run`` as a process of its own while its PostgreSQL stops at once and comes back."""

import asyncio
import contextlib
import datetime as dt
from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.clock import SystemClock
from bot.database import opened
from bot.transactions import Dialect
from tests.builders import make_event, make_guild
from tests.wire.bot_process import bot_process, until
from tests.wire.discord_stub import CHANNEL, GUILD, OPS, running_stub
from tests.wire.due_event import log_rows
from tests.wire.postgres_cluster import Cluster, own_cluster

pytestmark = [pytest.mark.postgres, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with own_cluster() as cluster:
        yield cluster


async def store_due_event(url: str, *, due_at: dt.datetime, in_new_guild: bool = False) -> str:
    """Store an event whose announcement becomes due then; return how its post is marked."""
    async with opened(url):
        if in_new_guild:
            await make_guild(GUILD, announcement_channel_id=CHANNEL, ops_channel_id=OPS)
        event = await make_event(now=due_at, guild_id=GUILD, starts_in=dt.timedelta(hours=24))
    return f"#{event.id}"


async def test_it_outlives_a_stop_of_its_server_and_posts_what_became_due_meanwhile(
    cluster: Cluster, tmp_path: Path
) -> None:
    async with contextlib.AsyncExitStack() as stack:
        url = await stack.enter_async_context(cluster.databases.fresh(Dialect.POSTGRES))
        first = await store_due_event(url, due_at=SystemClock().now(), in_new_guild=True)
        stub = await stack.enter_async_context(running_stub())
        process = await stack.enter_async_context(bot_process(tmp_path, stub, url))
        await until(lambda: first in stub.visible)

        await asyncio.to_thread(cluster.stop_at_once)
        await process.has_said("database_away")
        meanwhile = SystemClock().now()
        await asyncio.to_thread(cluster.start)
        # Stored no sooner than the stop was noticed: however slow the machine is, it was not posted before.
        second = await store_due_event(url, due_at=meanwhile)
        # At the next poll at the latest, half a minute later.
        await until(lambda: second in stub.visible)
        await process.stop()
        said = process.said()
        rows = await log_rows(url)

    assert process.code == 0
    assert stub.visible == [first, second]
    assert [success for success, _ in rows] == [True, True]
    assert "Traceback" not in said
