"""A process whose gateway is away, drops, says things twice or takes the server away: it comes back and sends once."""

import asyncio
from pathlib import Path

import pytest

from bot.database import opened
from bot.transactions import fetch
from tests.wire.bot_process import BotProcess, bot_process, until
from tests.wire.discord_stub import CHANNEL, GUILD, OPS, DiscordStub, running_stub
from tests.wire.due_event import plan_one_due_event
from tests.wire.gateway import RESUMED, Drop

pytestmark = pytest.mark.timeout(120)

TABLES = ("guild_settings", "event_repeater", "event", "reminder_due", "event_signup", "audit_log")
POLL = {"TOCSIN__REMINDERS__POLL_SECONDS": "1", "TOCSIN__CLUSTER__HEARTBEAT_SECONDS": "1"}


async def stored(url: str) -> dict[str, object]:
    async with opened(url):
        return {table: await fetch(f"SELECT * FROM {table}") for table in TABLES}  # noqa: S608 -- names written above


async def back(stub: DiscordStub, *, before: int) -> None:
    await until(lambda: stub.gate.identified + stub.gate.resumed > before and stub.gate.is_connected)


async def ready(process: BotProcess, *, times: int) -> None:
    await until(lambda: process.said().count('"event": "ready"') >= times)


async def beats(url: str, *, times: int) -> None:
    """Wait until the process has beaten that often: its other loops came round as often."""
    seen: set[object] = set()
    async with asyncio.timeout(60):
        while len(seen) <= times:
            async with opened(url):
                seen |= {row["heartbeat_at"] for row in await fetch("SELECT heartbeat_at FROM instance")}
            await asyncio.sleep(0.1)


async def test_a_gateway_that_is_not_there_at_the_start_is_waited_for(sqlite_url: str, tmp_path: Path) -> None:
    await plan_one_due_event(sqlite_url)
    async with running_stub() as stub:
        stub.gate.is_closed = True
        async with bot_process(tmp_path, stub, sqlite_url) as process:
            await until(lambda: stub.gate.refused >= 2 or process.code is not None)
            stub.gate.is_closed = False
            await until(lambda: len(stub.visible) > 0 or process.code is not None)

            assert process.code is None

    assert stub.visible == ["#1"]


async def test_after_each_kind_of_drop_it_is_back_and_posts_once(sqlite_url: str, tmp_path: Path) -> None:
    await plan_one_due_event(sqlite_url)
    drops = [how for how in Drop if how not in {Drop.SILENT, Drop.DUPLICATES, Drop.CUT_AND_LOST, Drop.SESSION_LOST}]
    async with running_stub() as stub, bot_process(tmp_path, stub, sqlite_url, **POLL) as process:
        await until(lambda: len(stub.visible) > 0)
        for how in drops:
            resumed, before = stub.gate.resumed, stub.gate.identified + stub.gate.resumed
            await stub.gate.drop(how)
            await back(stub, before=before)
            assert (stub.gate.resumed > resumed) is (how in RESUMED)
        await ready(process, times=2)
        await stub.gate.drop(Drop.DUPLICATES)
        await asyncio.sleep(0)

    assert stub.visible == ["#1"]
    assert stub.messages[OPS] == []


async def test_an_outage_of_the_server_changes_nothing_and_what_fell_due_meanwhile_is_posted_once(
    sqlite_url: str, tmp_path: Path
) -> None:
    async with running_stub() as stub, bot_process(tmp_path, stub, sqlite_url, **POLL) as process:
        await ready(process, times=1)
        await stub.gate.outage(GUILD)
        await plan_one_due_event(sqlite_url)
        before = await stored(sqlite_url)
        await beats(sqlite_url, times=3)
        assert await stored(sqlite_url) == before
        assert stub.messages[CHANNEL] == []

        await stub.gate.outage_over()
        await until(lambda: len(stub.visible) > 0)

    assert stub.visible == ["#1"]
    assert stub.messages[OPS] == []
