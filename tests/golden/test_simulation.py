"""The main job on whole schedules: every announcement once, at its moment, and nothing else, crashes or not."""

import dataclasses
import datetime as dt
import itertools
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from bot.clock import LeaseClock
from bot.database import opened
from bot.delivery.channel_poster import ChannelPoster
from bot.demo.sightings import Sighting
from bot.demo.simulate import Counts, DatabaseNotEmptyError, Simulation, simulate
from bot.events.schedule_file import read_schedule
from bot.leases import ledger
from bot.leases.ledger import Lease
from bot.reminders import fire
from bot.scheduling.registry import sendable
from bot.transactions import fetch
from tests.schedules import community_meetings, expected_announcements, mixed_schedule

START = dt.datetime(2026, 3, 1, tzinfo=dt.UTC)
_A_SECOND = dt.timedelta(seconds=1)

Schedule = dict[str, Any]


def community_or_skip() -> Schedule:
    schedule = community_meetings()
    if schedule is None:
        pytest.skip("../shared/data/community-meetings.json is not beside this checkout")
    return schedule


async def run(
    schedule: Schedule, url: str, *, days: int, crashes: int = 0, seed: int = 1
) -> tuple[Counts, list[Sighting]]:
    seen: list[Sighting] = []
    series = read_schedule(json.dumps(schedule).encode())
    plan = Simulation(series, START, days, url, seed=seed, crashes=crashes)
    return await simulate(plan, tell=seen.append), seen


def as_set(seen: list[Sighting]) -> set[tuple[str | None, str | None]]:
    return {(one.series, one.occurrence.isoformat() if one.occurrence is not None else None) for one in seen}


def assert_each_once(schedule: Schedule, seen: list[Sighting], *, days: int) -> None:
    expected = expected_announcements(schedule, START, days)
    announced = [one for one in seen if one.kind == "announcement"]
    assert as_set(announced) == {(series, occurrence) for series, occurrence, _ in expected}
    assert len(announced) == len(expected)
    assert [one for one in announced if one.occurrence is None or one.at >= one.occurrence] == []


def assert_on_time(schedule: Schedule, seen: list[Sighting], *, days: int) -> None:
    due = {
        (series, occurrence): dt.datetime.fromisoformat(at)
        for series, occurrence, at in expected_announcements(schedule, START, days)
    }
    for one in seen:
        assert one.occurrence is not None
        late = one.at - due[(str(one.series), one.occurrence.isoformat())]
        assert dt.timedelta(0) <= late <= _A_SECOND


async def test_forty_mixed_series_are_announced_once_each_and_on_time(tmp_path: Path) -> None:
    schedule = mixed_schedule()

    counts, seen = await run(schedule, f"sqlite://{tmp_path}/fresh.db", days=60)

    assert_each_once(schedule, seen, days=60)
    assert_on_time(schedule, seen, days=60)
    assert (counts.lost, counts.duplicated, counts.unexpected, counts.unknown) == (0, 0, 0, 0)
    assert counts.ok == counts.attempted == counts.acknowledged == len(seen)


async def test_the_real_schedule_is_announced_once_each_over_ninety_days(tmp_path: Path) -> None:
    schedule = community_or_skip()

    counts, seen = await run(schedule, f"sqlite://{tmp_path}/fresh.db", days=90)

    assert_each_once(schedule, seen, days=90)
    assert_on_time(schedule, seen, days=90)
    assert (counts.lost, counts.duplicated, counts.unexpected, counts.unknown) == (0, 0, 0, 0)


async def test_the_real_schedule_keeps_wall_times_and_its_two_week_grid(tmp_path: Path) -> None:
    schedule = community_or_skip()

    _, seen = await run(schedule, f"sqlite://{tmp_path}/fresh.db", days=40)

    entries = {entry["name"]: entry for entry in schedule["series"]}
    by_series: dict[str, list[dt.datetime]] = {}
    for one in seen:
        assert one.series is not None
        assert one.occurrence is not None
        local = one.occurrence.astimezone(ZoneInfo(entries[one.series]["timezone"]))
        assert local.strftime("%H:%M") == entries[one.series]["time_of_day"]
        by_series.setdefault(one.series, []).append(local)
    for name, times in by_series.items():
        if entries[name]["frequency"] == "weekly":
            gaps = {(later.date() - earlier.date()).days for earlier, later in itertools.pairwise(times)}
            assert gaps <= {7 * entries[name]["interval"]}


@pytest.mark.postgres
async def test_on_postgresql_both_march_changes_are_crossed(empty_postgres_url: str) -> None:
    schedule = community_meetings() or mixed_schedule()

    counts, seen = await run(schedule, empty_postgres_url, days=35)

    assert_each_once(schedule, seen, days=35)
    assert_on_time(schedule, seen, days=35)
    assert (counts.lost, counts.duplicated, counts.unexpected, counts.unknown) == (0, 0, 0, 0)


@pytest.mark.parametrize("seed", [1, 2])
async def test_twenty_crashes_double_and_lose_nothing(tmp_path: Path, seed: int) -> None:
    schedule = mixed_schedule()

    counts, seen = await run(schedule, f"sqlite://{tmp_path}/fresh.db", days=30, crashes=20, seed=seed)

    assert_each_once(schedule, seen, days=30)
    assert counts.crashes == 20
    assert counts.crashes_after_acceptance >= 5
    assert (counts.lost, counts.duplicated, counts.unexpected, counts.unknown) == (0, 0, 0, 0)
    assert counts.recovered > 0


@pytest.mark.postgres
async def test_on_postgresql_twenty_crashes_double_and_lose_nothing(empty_postgres_url: str) -> None:
    schedule = community_meetings() or mixed_schedule()

    counts, seen = await run(schedule, empty_postgres_url, days=20, crashes=20)

    assert_each_once(schedule, seen, days=20)
    assert counts.crashes == 20
    assert counts.crashes_after_acceptance >= 5
    assert (counts.lost, counts.duplicated, counts.unexpected, counts.unknown) == (0, 0, 0, 0)


async def test_without_the_history_check_the_same_crashes_double(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def _blind(*_: object, **__: object) -> None:
        return None

    monkeypatch.setattr(ChannelPoster, "find", _blind)

    counts, seen = await run(mixed_schedule(), f"sqlite://{tmp_path}/fresh.db", days=15, crashes=20)

    times = Counter((one.series, one.occurrence) for one in seen)
    assert max(times.values()) == 2
    assert counts.duplicated >= 5


async def test_without_the_lease_the_same_crashes_double(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    claim_lease = ledger.claim_lease

    async def _no_lease(claim: ledger.Claim, *, instance: str, lease_clock: LeaseClock) -> Lease | None:
        await fetch("DROP INDEX IF EXISTS uniq_discord_message_log_source_event_when_pending_or_success")
        return await claim_lease(claim, instance=instance, lease_clock=lease_clock)

    shed = fire.due_query(sendable()[0])
    no_shedding = re.sub(r" AND \(SELECT l\.id .* IS NULL ORDER BY", " AND $5 <> '' ORDER BY", shed)
    assert no_shedding != shed
    monkeypatch.setattr(ledger, "claim_lease", _no_lease)
    monkeypatch.setattr(fire, "due_query", lambda _: no_shedding)

    counts, _ = await run(mixed_schedule(), f"sqlite://{tmp_path}/fresh.db", days=15, crashes=20)

    assert counts.duplicated >= 5


async def test_the_same_seed_gives_the_same_run(tmp_path: Path) -> None:
    runs = [
        await run(mixed_schedule(), f"sqlite://{tmp_path}/{place}.db", days=5, crashes=5, seed=7) for place in range(2)
    ]

    assert dataclasses.asdict(runs[0][0]) == dataclasses.asdict(runs[1][0])
    assert [one.as_row() for one in runs[0][1]] == [one.as_row() for one in runs[1][1]]


async def test_a_database_that_holds_rows_is_refused(database_url: str) -> None:
    schedule = {"series": mixed_schedule()["series"][:1]}
    await run(schedule, database_url, days=1)

    with pytest.raises(DatabaseNotEmptyError, match="is not empty; a simulation needs one of its own"):
        await run(schedule, database_url, days=1)


async def test_a_stopped_run_leaves_no_open_lease(database_url: str) -> None:
    seen: list[Sighting] = []
    plan = Simulation(read_schedule(json.dumps(mixed_schedule()).encode()), START, 30, database_url)

    await simulate(plan, tell=seen.append, is_stopped=lambda: len(seen) >= 10)

    async with opened(database_url):
        rows = await fetch("SELECT COUNT(*) AS held FROM discord_message_log WHERE success IS NULL")
        sent = await fetch("SELECT COUNT(*) AS sent FROM discord_message_log WHERE success")
    assert rows[0]["held"] == 0
    assert sent[0]["sent"] == len(seen)
