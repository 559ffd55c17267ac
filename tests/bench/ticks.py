"""P2: the queries of one tick over the whole registry, against an existence query per event and reminder."""

import contextlib
import datetime as dt
from collections.abc import AsyncIterator
from dataclasses import dataclass

from bot.reminders.fire import find_due
from bot.scheduling.due_rows import begun_unopened, begun_unsent, next_due
from bot.scheduling.registry import REMINDERS, ScheduledReminder
from bot.transactions import Dialect, connection, dialect, fetch, integer
from models.event_repeater import EventRepeater
from models.states import Frequency
from tests.bench.databases import Bind, on
from tests.bench.measure import MILLISECONDS, SECONDS, Goal, Line, Run, Sample, interleaved
from tests.throwaway import Databases

NOW = dt.datetime(2026, 3, 1, 12, 0, tzinfo=dt.UTC)
# Everything that is due has been so for minutes at most, so that an hour earlier nothing is.
IDLE = NOW - dt.timedelta(hours=1)
HORIZON = dt.timedelta(days=14)
HOURS = {"announcement": 24, "signup_reminder": 24, "attendance_reminder": 2, "profile_reminder": 24}

DUE_GOALS = {Dialect.SQLITE: 0.005, Dialect.POSTGRES: 0.010}
IDLE_GOALS = {Dialect.SQLITE: 0.001, Dialect.POSTGRES: 0.002}
NAMES = {Dialect.SQLITE: "SQLite", Dialect.POSTGRES: "PostgreSQL"}


@dataclass(frozen=True, slots=True)
class Sizes:
    """
    ``stored`` events in all, ``horizon`` of them ahead within 14 days, ``due`` of each reminder at once.

    ``ticks`` of each kind a round; the reference runs once a round.
    """

    stored: int = 1_000_000
    horizon: int = 10_000
    due: int = 50
    ticks: int = 20
    rounds: int = 9


async def ticks(databases: Databases, kind: Dialect, sizes: Sizes) -> list[Line]:
    """P2 on one database: due, idle, and how both grow from the horizon alone to everything stored."""
    small_size = Sizes(sizes.horizon, sizes.horizon, sizes.due, sizes.ticks, sizes.rounds)
    async with _filled(databases, kind, sizes) as large, _filled(databases, kind, small_size) as small:
        due, idle = _batch(sizes, NOW, len(REMINDERS) * sizes.due), _batch(sizes, IDLE, 0)
        taken = await interleaved(
            {
                "due": large(due),
                "idle": large(idle),
                "due, small": small(due),
                "idle, small": small(idle),
                "earlier": large(_earlier_design(sizes)),
            },
            rounds=sizes.rounds,
        )
    each = {name: taken[name].shared_among(sizes.ticks) for name in taken if name != "earlier"}
    return _lines(kind, sizes, each, taken["earlier"])


def _lines(kind: Dialect, sizes: Sizes, each: dict[str, Sample], earlier: Sample) -> list[Line]:
    where = f"{NAMES[kind]}, {sizes.stored:,} stored"
    goals = {"due": DUE_GOALS[kind], "idle": IDLE_GOALS[kind]}
    says = {"due": f"{len(REMINDERS) * sizes.due} due", "idle": "nothing due"}
    lines = [
        Line(
            f"P2 tick, {says[name]}, {where}",
            each[name],
            earlier,
            "a query per event and reminder",
            earlier.per(each[name]),
            Goal(bound, at_least=False, unit=MILLISECONDS),
            reference_unit=SECONDS,
        )
        for name, bound in goals.items()
    ]
    for name in goals:
        small = each[f"{name}, small"]
        ratio, goal = each[name].per(small), Goal(2, at_least=False)
        lines.append(Line(f"   growth, {says[name]}", each[name], small, f"{sizes.horizon:,} stored", ratio, goal))
    return lines


def _batch(sizes: Sizes, now: dt.datetime, expected: int) -> Run:
    async def _run() -> None:
        for _ in range(sizes.ticks):
            found = 0
            for reminder in REMINDERS:
                async for _due in find_due(reminder, now=now):
                    found += 1
            assert found == expected, found
            assert await begun_unsent(now=now) == []
            assert await begun_unopened(now=now) == []
            assert await next_due(after=now) is not None

    return _run


def _earlier_design(sizes: Sizes) -> Run:
    async def _run() -> None:
        rows = await fetch(
            "SELECT id FROM event WHERE state IN ('upcoming', 'signups_open', 'roll_call')"
            " AND scheduled_at > $1 AND scheduled_at <= $2",
            [NOW, NOW + HORIZON],
        )
        assert len(rows) == sizes.horizon, len(rows)
        announced = 0
        for row in rows:
            for reminder in REMINDERS:
                announced += await _is_sent(reminder, integer(row["id"]))
        assert announced == sizes.horizon // 2, announced

    return _run


async def _is_sent(reminder: ScheduledReminder, event_id: int) -> bool:
    return bool(
        await fetch(
            "SELECT 1 AS one FROM discord_message_log WHERE source = $1 AND source_id = $2 AND recipient_id = 0"
            " AND part = 0 AND (success IS NULL OR success) LIMIT 1",
            [reminder.log_source, event_id],
        )
    )


@contextlib.asynccontextmanager
async def _filled(databases: Databases, kind: Dialect, sizes: Sizes) -> AsyncIterator[Bind]:
    async def _unit() -> None:
        await fill(sizes)
        await analyze()

    async with databases.fresh(kind) as url, on(url) as bound:
        await bound(_unit)()
        yield bound


async def fill(sizes: Sizes) -> None:
    """
    Store the events, what of them is due and what was sent, as the bot would have left them at ``NOW``.

    In order of time: half of what lies outside the horizon is past, announced and completed; then the horizon, every
    other event announced and open; then the other half, far ahead and waiting.
    """
    series = await _series()
    await _run(_EVENTS, sizes, series=str(series.id))
    await _run(_ANNOUNCED, sizes)
    await _run(_DUE, sizes, key="announcement", parity="1")
    for key in HOURS.keys() - {"announcement"}:
        await _run(_DUE, sizes, key=key, parity="0")


async def analyze() -> None:
    """Do what PostgreSQL's autovacuum comes round to by itself, so that it falls into no round."""
    await connection().execute_script("ANALYZE" if dialect() is Dialect.SQLITE else "VACUUM (ANALYZE)")


async def _series() -> EventRepeater:
    return await EventRepeater.create(
        guild_id=1,
        name="All of them",
        frequency=Frequency.DAILY,
        time_of_day="12:00",
        timezone="UTC",
        starts_at=dt.date(2026, 1, 1),
        created_at=NOW,
    )


# k counts the events of the horizon from 1; those before are past, those after far ahead.
_EVENTS = """
INSERT INTO event (id, guild_id, series_id, slot, scheduled_at, name, description, state, created_at, state_since,
    is_off_schedule, overridden_fields, reposts, post_version, discord_announcement, discord_announcement_hours,
    discord_announcement_role_ids, discord_signup_reminder, discord_signup_reminder_hours,
    discord_confirm_attendance, discord_confirm_attendance_hours, discord_confirm_attendance_dm,
    discord_profile_reminder, discord_profile_reminder_hours, discord_create_event, duration_minutes)
WITH RECURSIVE n (k) AS (SELECT 1 - {past} UNION ALL SELECT k + 1 FROM n WHERE k < {stored} - {past})
SELECT k + {past}, 1, {series}, 'slot ' || k, {scheduled}, 'Event ' || k, 'What everybody comes for.',
    CASE WHEN k < 1 THEN 'completed' WHEN k <= {horizon} AND k % 2 = 0 THEN 'signups_open' ELSE 'upcoming' END,
    {long_ago}, {long_ago}, FALSE, '[]', 0, 0, TRUE, 24, '[]', TRUE, 24, TRUE, 2, TRUE, TRUE, 24, FALSE, 120 FROM n
"""
_ANNOUNCED = """
INSERT INTO discord_message_log (guild_id, source, source_id, recipient_id, part, channel_id, success, claimed_at,
    history_after, lease_token, instance, attempts, discord_message_id, status_code, created_at, finished_at)
SELECT 1, 'event_announcement', id, 0, 0, 2, TRUE, {long_ago}, 1, '0123456789abcdef0123456789abcdef', 'bench', 1,
    id, 200, {long_ago}, {long_ago} FROM event WHERE state <> 'upcoming'
"""
_DUE = """
INSERT INTO reminder_due (event_id, key, due_at)
SELECT id, '{key}', {due_at} FROM (SELECT id, id - {past} AS k FROM event) numbered
WHERE (k BETWEEN 1 AND {horizon} AND k % 2 = {parity}) OR (k > {horizon} AND '{key}' = 'announcement')
"""
# Seconds from now. Past: a minute apart, up to yesterday. Ahead: over the horizon, then a minute apart.
_SCHEDULED = (
    "(CASE WHEN k < 1 THEN k * 60 - 86400 WHEN k <= {horizon} THEN 7200 + k * {step}"
    " ELSE 1296000 + (k - {horizon}) * 60 END)"
)
_DUE_AT = (
    "(CASE WHEN k <= 2 * {due} THEN 0 - k WHEN {scheduled} - {hours} * 3600 > 60 THEN {scheduled} - {hours} * 3600"
    " ELSE 60 + k END)"
)


async def _run(template: str, sizes: Sizes, *, key: str = "announcement", parity: str = "", series: str = "") -> None:
    facts = {
        "past": str((sizes.stored - sizes.horizon) // 2),
        "stored": str(sizes.stored),
        "horizon": str(sizes.horizon),
        "step": str((HORIZON.total_seconds() - 7200) / sizes.horizon),
        "due": str(sizes.due),
        "hours": str(HOURS[key]),
        "key": key,
        "parity": parity,
        "series": series,
    }
    scheduled = _SCHEDULED.format(**facts)
    times = {
        "scheduled": _moment(scheduled),
        "due_at": _moment(_DUE_AT.format(scheduled=scheduled, **facts)),
        "long_ago": _moment("-2592000"),
    }
    await connection().execute_script(template.format(**facts, **times))


def _moment(seconds: str) -> str:
    """Return SQL for the moment that lies so many seconds after ``NOW``, as the database stores it."""
    since = f"{int(NOW.timestamp())} + {seconds}"
    if dialect() is Dialect.SQLITE:
        return f"strftime('%Y-%m-%d %H:%M:%S+00:00', {since}, 'unixepoch')"
    return f"to_timestamp({since})"
