"""``tocsin run`` as a process of its own against a Discord on loopback: start, death, recovery, stop."""

import asyncio
import contextlib
import datetime as dt
import signal
import sqlite3
from collections.abc import Sequence
from pathlib import Path

import pytest

from bot.clock import SystemClock
from bot.database import opened
from bot.migrating import migrate
from bot.transactions import fetch, moment
from models.repeater_subscription import RepeaterSubscription
from models.states import EventState
from tests.builders import make_event, make_guild, make_series
from tests.wire.bot_process import PATIENCE_SECONDS, bot_process, until
from tests.wire.discord_stub import CHANNEL, GUILD, OPS, dm_channel, running_stub
from tests.wire.due_event import log_rows, plan_one_due_event

pytestmark = pytest.mark.timeout(300)


async def test_a_due_event_is_announced_once_and_the_process_stops_in_time(database_url: str, tmp_path: Path) -> None:
    await plan_one_due_event(database_url)
    async with running_stub() as stub, bot_process(tmp_path, stub, database_url) as process:
        await until(lambda: len(stub.visible) > 0)

        took = await process.stop()
        said = process.said()

    assert process.code == 0
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
        async with bot_process(tmp_path, stub, database_url) as first:
            await until(stub.accepted.is_set)
            await first.kill()
        stub.answer.set()
        stub.nonces.clear()
        held = await log_rows(database_url)
        await age_the_claim(database_url)

        async with bot_process(tmp_path, stub, database_url) as second:
            await until_recorded(database_url)
            await second.stop()

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
    async with asyncio.timeout(PATIENCE_SECONDS):
        while [success for success, _ in await log_rows(url)] != [True] * rows:  # noqa: ASYNC110 -- another process writes them
            await asyncio.sleep(0.05)


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
        async with bot_process(tmp_path, stub, database_url, **one_by_one) as first:
            await until(stub.accepted.is_set)
            await first.kill()
        stub.answer.set()
        stub.nonces.clear()
        before = {who: len(stub.messages.get(dm_channel(who), [])) for who in people}
        await age_the_claim(database_url)

        async with bot_process(tmp_path, stub, database_url, **one_by_one) as second:
            await until_recorded(database_url, rows=4)
            await second.stop()

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
        async with bot_process(tmp_path, stub, sqlite_url) as process:
            await until(stub.accepted.is_set)
            process.tell(signal.SIGTERM)
            await process.has_said("stopping")
            stub.answer.set()
            await process.ended()

    assert process.code == 0
    assert await log_rows(sqlite_url) == [(True, int(stub.messages[CHANNEL][0]["id"]))]


async def test_a_refused_token_ends_the_process_in_words(sqlite_url: str, tmp_path: Path) -> None:
    async with running_stub() as stub:
        stub.refuse_token = True
        async with bot_process(tmp_path, stub, sqlite_url) as process:
            await process.ended()

    assert process.code == 1
    assert "Discord refuses the bot's token: set DISCORD_TOKEN" in process.said()
    assert "Traceback" not in process.said()


async def test_a_token_that_the_gateway_refuses_ends_the_process_in_words(sqlite_url: str, tmp_path: Path) -> None:
    async with running_stub() as stub:
        stub.gate.close_code = 4004
        async with bot_process(tmp_path, stub, sqlite_url) as process:
            await process.ended()

    assert process.code == 1
    assert "Discord refuses the bot's token: set DISCORD_TOKEN" in process.said()
    assert "Traceback" not in process.said()


async def test_two_processes_with_names_of_their_own_announce_once(postgres_url: str, tmp_path: Path) -> None:
    await plan_one_due_event(postgres_url)
    async with (
        running_stub() as stub,
        bot_process(tmp_path, stub, postgres_url, TOCSIN__CLUSTER__INSTANCE="one") as one,
        bot_process(tmp_path, stub, postgres_url, TOCSIN__CLUSTER__INSTANCE="two") as two,
    ):
        await until(lambda: stub.identified == 2 and len(stub.visible) > 0)
        await one.stop()
        await two.stop()

    assert stub.visible == ["#1"]
    assert [success for success, _ in await log_rows(postgres_url)] == [True]


async def test_a_second_process_of_the_same_name_is_refused(postgres_url: str, tmp_path: Path) -> None:
    async with (
        running_stub() as stub,
        bot_process(tmp_path, stub, postgres_url, TOCSIN__CLUSTER__INSTANCE="one"),
    ):
        await until(lambda: stub.identified == 1)
        async with bot_process(tmp_path, stub, postgres_url, TOCSIN__CLUSTER__INSTANCE="one") as second:
            await second.ended()

    assert second.code == 1
    assert "already holds the instance name 'one'" in second.said()


async def test_a_database_that_hangs_does_not_hold_the_stop_past_its_time(sqlite_url: str, tmp_path: Path) -> None:
    await plan_one_due_event(sqlite_url)
    grace = {"TOCSIN__PROCESS__SHUTDOWN_GRACE_SECONDS": "1"}
    async with running_stub() as stub, bot_process(tmp_path, stub, sqlite_url, **grace) as process:
        await until(lambda: len(stub.visible) > 0)
        with contextlib.closing(sqlite3.connect(sqlite_url.removeprefix("sqlite://"), isolation_level=None)) as other:
            # Another process holds the write lock for longer than the whole stop may take.
            other.execute("BEGIN IMMEDIATE")
            took = await process.stop()
            other.execute("ROLLBACK")
        said = process.said()

    # Without the hard end it would wait for the lock as long as SQLite does: 10 s at each statement.
    assert took <= 8
    assert "Traceback" not in said
    assert stub.visible == ["#1"]
