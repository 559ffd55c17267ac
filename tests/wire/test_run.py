"""``tocsin run`` as a process of its own against a Discord on loopback: start, death, recovery, stop."""

import asyncio
import contextlib
import datetime as dt
import os
import signal
import sqlite3
import sys
import time
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path

import pytest

from bot.clock import SystemClock
from bot.database import migrate, opened
from bot.events.series_spec import SeriesSpec
from bot.operations.schedule_import import import_schedule
from bot.transactions import fetch, moment
from models.repeater_subscription import RepeaterSubscription
from models.states import EventState
from tests.builders import make_event, make_guild, make_series
from tests.wire.discord_stub import CHANNEL, GUILD, OPS, DiscordStub, dm_channel, running_stub

ROOT = Path(__file__).resolve().parents[2]
_PATIENCE_SECONDS = 45
# How often another process's doing is looked at; nothing is concluded from how long it took.
_GLANCE_SECONDS = 0.05

pytestmark = pytest.mark.timeout(120)


def environment(stub: DiscordStub, url: str, **extra: str) -> dict[str, str]:
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("TOCSIN__", "DISCORD_", "DATABASE_"))
    }
    return {
        **kept,
        "PYTHONPATH": str(ROOT),
        "DISCORD_TOKEN": "planted-token.of-a-test.run",
        "DATABASE_URL": url,
        "TOCSIN__DISCORD__API_BASE": f"{stub.base}/api/v10",
        "TOCSIN__DISCORD__GATEWAY_URL": f"{stub.base.replace('http', 'ws')}/gw/",
        "TOCSIN__LOGGING__FORMAT": "json",
        **extra,
    }


@contextlib.asynccontextmanager
async def tocsin_run(
    folder: Path, stub: DiscordStub, url: str, **extra: str
) -> AsyncIterator[asyncio.subprocess.Process]:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "bot",
        "run",
        cwd=folder,
        env=environment(stub, url, **extra),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def until(met: Callable[[], bool]) -> None:
    """Wait for something that another process does; fails after the patience of a busy machine."""
    async with asyncio.timeout(_PATIENCE_SECONDS):
        while not met():  # noqa: ASYNC110 -- another process cannot set an event of ours
            await asyncio.sleep(_GLANCE_SECONDS)


async def plan_one_due_event(url: str) -> None:
    """Store a daily series whose next occurrence is less than a day off, so that it is due to be announced now."""
    now = SystemClock().now()
    soon = now + dt.timedelta(hours=2)
    spec = SeriesSpec.model_validate(
        {
            "name": "Wire raid",
            "frequency": "daily",
            "time_of_day": soon.strftime("%H:%M"),
            "timezone": "UTC",
            "starts_at": soon.date().isoformat(),
            "ends_at": soon.date().isoformat(),
        }
    )
    async with opened(url):
        await migrate(url)
        await import_schedule((spec,), guild_id=GUILD, announce_in=CHANNEL, timezone="UTC", now=now)


async def stop(process: asyncio.subprocess.Process) -> float:
    asked = time.monotonic()
    process.send_signal(signal.SIGTERM)
    await asyncio.wait_for(process.wait(), _PATIENCE_SECONDS)
    return time.monotonic() - asked


async def log_rows(url: str) -> list[tuple[object, object]]:
    async with opened(url):
        rows = await fetch("SELECT success, discord_message_id FROM discord_message_log ORDER BY id")
    return [(row["success"], row["discord_message_id"]) for row in rows]


async def test_a_due_event_is_announced_once_and_the_process_stops_in_time(database_url: str, tmp_path: Path) -> None:
    await plan_one_due_event(database_url)
    async with running_stub() as stub, tocsin_run(tmp_path, stub, database_url) as process:
        await until(lambda: len(stub.visible) > 0)

        took = await stop(process)
        assert process.stderr is not None
        said = (await process.stderr.read()).decode()

    assert process.returncode == 0
    assert took <= 10
    assert stub.visible == ["#1"]
    assert stub.unknown == []
    assert await log_rows(database_url) == [(True, int(stub.messages[CHANNEL][0]["id"]))]
    assert "Traceback" not in said
    assert "planted-token" not in said


async def test_killed_after_acceptance_it_finds_its_post_and_sends_no_second(database_url: str, tmp_path: Path) -> None:
    await plan_one_due_event(database_url)
    async with running_stub() as stub:
        stub.answer.clear()
        async with tocsin_run(tmp_path, stub, database_url) as first:
            await asyncio.wait_for(stub.accepted.wait(), _PATIENCE_SECONDS)
            first.kill()
            await first.wait()
        stub.answer.set()
        stub.nonces.clear()
        held = await log_rows(database_url)
        await age_the_claim(database_url)

        async with tocsin_run(tmp_path, stub, database_url) as second:
            await until_recorded(database_url)
            await stop(second)

    assert [success for success, _ in held] == [None]
    assert stub.visible == ["#1"]
    assert await log_rows(database_url) == [(True, int(stub.messages[CHANNEL][0]["id"]))]


async def age_the_claim(url: str) -> None:
    """Set what is claimed back by two minutes, as if the process had come up again that much later."""
    async with opened(url):
        for row in await fetch("SELECT id, claimed_at FROM discord_message_log"):
            earlier = moment(row["claimed_at"]) - dt.timedelta(minutes=2)
            await fetch("UPDATE discord_message_log SET claimed_at = $2 WHERE id = $1", [row["id"], earlier])


async def until_recorded(url: str, *, rows: int = 1) -> None:
    async with asyncio.timeout(_PATIENCE_SECONDS):
        while [success for success, _ in await log_rows(url)] != [True] * rows:  # noqa: ASYNC110 -- as above
            await asyncio.sleep(_GLANCE_SECONDS)


async def plan_one_due_signup_reminder(url: str, people: Sequence[int]) -> None:
    """Store a series with these subscribers, and one event of it that they are to be asked about now."""
    now = SystemClock().now()
    soon = now + dt.timedelta(hours=2)
    async with opened(url):
        await migrate(url)
        await make_guild(GUILD, announcement_channel_id=CHANNEL, ops_channel_id=OPS)
        series = await make_series(now=now, guild_id=GUILD, is_active=False)
        for user_id in people:
            await RepeaterSubscription.create(series_id=series.id, user_id=user_id, created_at=now)
        await make_event(
            now=now,
            starts_in=soon - now,
            guild_id=GUILD,
            series_id=series.id,
            state=EventState.SIGNUPS_OPEN,
            discord_announcement=False,
            discord_signup_reminder=True,
        )


async def test_killed_in_the_middle_of_a_fan_out_it_goes_on_with_the_others_alone(
    database_url: str, tmp_path: Path
) -> None:
    people = [501, 502, 503]
    one_by_one = {
        "TOCSIN__DM_QUEUE__MAX_IN_FLIGHT": "1",
        "TOCSIN__DM_QUEUE__DRAIN_RATE_PER_SECOND": "20.0",
        "TOCSIN__DM_QUEUE__OPEN_CHANNELS_PER_SECOND": "20.0",
    }
    await plan_one_due_signup_reminder(database_url, people)
    async with running_stub() as stub:
        stub.answer.clear()
        async with tocsin_run(tmp_path, stub, database_url, **one_by_one) as first:
            await asyncio.wait_for(stub.accepted.wait(), _PATIENCE_SECONDS)
            first.kill()
            await first.wait()
        stub.answer.set()
        stub.nonces.clear()
        before = {who: len(stub.messages.get(dm_channel(who), [])) for who in people}
        await age_the_claim(database_url)

        async with tocsin_run(tmp_path, stub, database_url, **one_by_one) as second:
            await until_recorded(database_url, rows=4)
            await stop(second)

    assert sum(before.values()) == 1
    assert {who: len(stub.messages[dm_channel(who)]) for who in people} == dict.fromkeys(people, 1)
    assert stub.unknown == []
    # Whose channel was open was not opened again.
    assert sorted(stub.opened) == people
    # The commands were told once for both processes.
    assert len(stub.synced) == 1


async def test_stopped_in_the_middle_of_a_send_it_waits_for_the_answer(sqlite_url: str, tmp_path: Path) -> None:
    await plan_one_due_event(sqlite_url)
    async with running_stub() as stub:
        stub.answer.clear()
        async with tocsin_run(tmp_path, stub, sqlite_url) as process:
            await asyncio.wait_for(stub.accepted.wait(), _PATIENCE_SECONDS)
            process.send_signal(signal.SIGTERM)
            assert process.stderr is not None
            await until_said(process.stderr, b"stopping")
            stub.answer.set()
            await asyncio.wait_for(process.wait(), _PATIENCE_SECONDS)

    assert process.returncode == 0
    assert await log_rows(sqlite_url) == [(True, int(stub.messages[CHANNEL][0]["id"]))]


async def until_said(stream: asyncio.StreamReader, words: bytes) -> None:
    async with asyncio.timeout(_PATIENCE_SECONDS):
        while words not in await stream.readline():
            pass


async def test_a_refused_token_ends_the_process_in_words(sqlite_url: str, tmp_path: Path) -> None:
    async with running_stub() as stub:
        stub.refuse_token = True
        async with tocsin_run(tmp_path, stub, sqlite_url) as process:
            _, errors = await asyncio.wait_for(process.communicate(), _PATIENCE_SECONDS)

    assert process.returncode == 1
    assert "Discord refuses the bot's token: set DISCORD_TOKEN" in errors.decode()
    assert "Traceback" not in errors.decode()


async def test_a_token_that_the_gateway_refuses_ends_the_process_in_words(sqlite_url: str, tmp_path: Path) -> None:
    async with running_stub() as stub:
        stub.gate.close_code = 4004
        async with tocsin_run(tmp_path, stub, sqlite_url) as process:
            _, errors = await asyncio.wait_for(process.communicate(), _PATIENCE_SECONDS)

    assert process.returncode == 1
    assert "Discord refuses the bot's token: set DISCORD_TOKEN" in errors.decode()
    assert "Traceback" not in errors.decode()


async def test_two_processes_with_names_of_their_own_announce_once(postgres_url: str, tmp_path: Path) -> None:
    await plan_one_due_event(postgres_url)
    async with (
        running_stub() as stub,
        tocsin_run(tmp_path, stub, postgres_url, TOCSIN__CLUSTER__INSTANCE="one") as one,
        tocsin_run(tmp_path, stub, postgres_url, TOCSIN__CLUSTER__INSTANCE="two") as two,
    ):
        await until(lambda: stub.identified == 2 and len(stub.visible) > 0)
        await stop(one)
        await stop(two)

    assert stub.visible == ["#1"]
    assert [success for success, _ in await log_rows(postgres_url)] == [True]


async def test_a_second_process_of_the_same_name_is_refused(postgres_url: str, tmp_path: Path) -> None:
    async with (
        running_stub() as stub,
        tocsin_run(tmp_path, stub, postgres_url, TOCSIN__CLUSTER__INSTANCE="one"),
    ):
        await until(lambda: stub.identified == 1)
        async with tocsin_run(tmp_path, stub, postgres_url, TOCSIN__CLUSTER__INSTANCE="one") as second:
            _, errors = await asyncio.wait_for(second.communicate(), _PATIENCE_SECONDS)

    assert second.returncode == 1
    assert "already holds the instance name 'one'" in errors.decode()


async def test_a_database_that_hangs_does_not_hold_the_stop_past_its_time(sqlite_url: str, tmp_path: Path) -> None:
    await plan_one_due_event(sqlite_url)
    grace = {"TOCSIN__PROCESS__SHUTDOWN_GRACE_SECONDS": "1"}
    async with running_stub() as stub, tocsin_run(tmp_path, stub, sqlite_url, **grace) as process:
        await until(lambda: len(stub.visible) > 0)
        with contextlib.closing(sqlite3.connect(sqlite_url.removeprefix("sqlite://"), isolation_level=None)) as other:
            # Another process holds the write lock for longer than the whole stop may take.
            other.execute("BEGIN IMMEDIATE")
            took = await stop(process)
            other.execute("ROLLBACK")
        assert process.stderr is not None
        said = (await process.stderr.read()).decode()

    assert took <= 5
    assert "Traceback" not in said
    assert stub.visible == ["#1"]
