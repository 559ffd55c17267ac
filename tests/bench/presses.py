"""The slowest answer to Sign up while a crowd presses it on SQLite, against a bare transaction that writes as much."""

import asyncio
import contextlib
import datetime as dt
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass

import aiosqlite
import structlog.testing

from bot.database import sqlite_path
from bot.events.signups.people import people_of
from bot.events.signups.rules import Press
from bot.events.signups.sign_up import Signups
from bot.scheduling.agenda import Agenda
from bot.transactions import Dialect
from models.event import Event
from models.states import EventState
from tests.bench.databases import on
from tests.bench.measure import MILLISECONDS, Goal, Line, Sample
from tests.throwaway import Databases

NOW = dt.datetime(2026, 3, 1, 12, 0, tzinfo=dt.UTC)
GUILD, PLACES = 11, 20
# A press that is not answered by then is dead. Source: Discord's documentation of interactions.
ANSWERED_WITHIN = 3.0

_INSERT = """
INSERT INTO event_signup (event_id, user_id, status, position, created_at, changed_at)
VALUES (?, ?, 'declined', NULL, '2026-03-01 12:00:00+00:00', '2026-03-01 12:00:00+00:00')
"""
_UPDATE = "UPDATE event SET post_version = post_version + 1 WHERE id = ?"

PressOne = Callable[[int], Awaitable[object]]


@dataclass(frozen=True, slots=True)
class Sizes:
    """How many press, evenly spread over how many seconds, and how many rounds."""

    presses: int = 200
    seconds: float = 2.0
    rounds: int = 5


async def presses_on_sqlite(databases: Databases, sizes: Sizes) -> list[Line]:
    """Let a crowd press through the real service; everybody is recorded, and the slowest of them counts."""
    ours: list[float] = []
    bare: list[float] = []
    async with databases.fresh(Dialect.SQLITE) as url, on(url) as bound, _aiosqlite(url) as session:

        async def _round() -> None:
            ours.append(await _crowd(sizes))
            bare.append(await _bare_crowd(session, sizes))

        for _ in range(sizes.rounds):
            await bound(_round)()
    measured, reference = Sample(tuple(ours)), Sample(tuple(bare))
    return [
        Line(
            f"Sign up, {sizes.presses} presses in {sizes.seconds:g} s, SQLite: slowest answer",
            measured,
            reference,
            "bare transaction",
            reference.per(measured),
            Goal(ANSWERED_WITHIN, at_least=False, unit=MILLISECONDS),
            unit=MILLISECONDS,
        )
    ]


async def _crowd(sizes: Sizes) -> float:
    event, signups = await _event(), Signups(Agenda(), debounce=dt.timedelta(seconds=3))

    async def _press(user_id: int) -> None:
        await signups.press(Press.SIGN_UP, event.id, guild_id=GUILD, user_id=user_id, role_ids=frozenset(), now=NOW)

    with structlog.testing.capture_logs():  # a line for each press would bury the table
        slowest = await _slowest(_press, sizes)
    people = await people_of(event.id)
    recorded = len(people.attending), len(people.waitlisted)
    assert recorded == (min(PLACES, sizes.presses), max(0, sizes.presses - PLACES)), recorded
    return slowest


async def _bare_crowd(session: aiosqlite.Connection, sizes: Sizes) -> float:
    event, turn = await _event(), asyncio.Lock()

    async def _write(user_id: int) -> None:
        async with turn:
            await session.execute("BEGIN IMMEDIATE")
            await session.execute(_INSERT, [event.id, user_id])
            await session.execute(_UPDATE, [event.id])
            await session.execute("COMMIT")

    return await _slowest(_write, sizes)


async def _slowest(one: PressOne, sizes: Sizes) -> float:
    """Return how many seconds the slowest of the crowd waited."""
    between = sizes.seconds / sizes.presses

    async def _timed(number: int) -> float:
        await asyncio.sleep(number * between)
        begin = time.perf_counter()
        await one(number)
        return time.perf_counter() - begin

    return max(await asyncio.gather(*(_timed(number) for number in range(1, sizes.presses + 1))))


async def _event() -> Event:
    event = Event(
        guild_id=GUILD,
        name="Raid night",
        scheduled_at=NOW + dt.timedelta(hours=6),
        created_at=NOW,
        state_since=NOW,
        state=EventState.SIGNUPS_OPEN,
        max_players=PLACES,
    )
    await event.save()
    return event


@contextlib.asynccontextmanager
async def _aiosqlite(url: str) -> AsyncIterator[aiosqlite.Connection]:
    async with aiosqlite.connect(sqlite_path(url), isolation_level=None) as session:
        await session.execute("PRAGMA synchronous=FULL")
        yield session
