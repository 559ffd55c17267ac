"""The main job on whole schedules: every announcement once, at its moment, and nothing else, crashes or not."""

import dataclasses
import itertools
import json
import re
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

import pytest

from bot.clock import LeaseClock
from bot.database import opened
from bot.delivery.channel_poster import ChannelPoster
from bot.demo.simulate import DatabaseNotEmptyError, Simulation, simulate
from bot.events.schedule_file import read_schedule
from bot.leases import ledger
from bot.leases.ledger import Lease
from bot.reminders import fire
from bot.scheduling.registry import REMINDERS
from bot.transactions import fetch
from tests.golden.simulations import START, assert_each_once, assert_on_time, faultless, run
from tests.schedules import community_meetings, community_or_skip, mixed_schedule, with_all_reminders

if TYPE_CHECKING:
    import datetime as dt

    from bot.demo.sightings import Sighting


async def test_forty_mixed_series_are_announced_once_each_and_on_time(tmp_path: Path) -> None:
    schedule = mixed_schedule()

    counts, seen = await run(schedule, f"sqlite://{tmp_path}/fresh.db", members=0, days=40)

    assert_each_once(schedule, seen, members=0, days=40)
    assert_on_time(schedule, seen, members=0, days=40)
    assert faultless(counts)
    assert counts.ok == counts.attempted == counts.acknowledged == len(seen)


async def test_the_real_schedule_is_announced_once_each_over_ninety_days(tmp_path: Path) -> None:
    schedule = community_or_skip()

    counts, seen = await run(schedule, f"sqlite://{tmp_path}/fresh.db", members=0, days=90)

    assert_each_once(schedule, seen, members=0, days=90)
    assert_on_time(schedule, seen, members=0, days=90)
    assert faultless(counts)


async def test_the_real_schedule_keeps_wall_times_and_its_two_week_grid(tmp_path: Path) -> None:
    schedule = community_or_skip()

    _, seen = await run(schedule, f"sqlite://{tmp_path}/fresh.db", members=0, days=40)

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
    # A third of it: both clock changes are in every part, and a statement costs several times what it does on SQLite.
    schedule = {"series": (community_meetings() or mixed_schedule())["series"][::3]}

    counts, seen = await run(schedule, empty_postgres_url, members=0, days=35)

    assert_each_once(schedule, seen, members=0, days=35)
    assert_on_time(schedule, seen, members=0, days=35)
    assert faultless(counts)


async def test_twenty_crashes_double_and_lose_nothing(tmp_path: Path) -> None:
    schedule = mixed_schedule()

    counts, seen = await run(schedule, f"sqlite://{tmp_path}/fresh.db", members=0, days=30, crashes=20)

    assert_each_once(schedule, seen, members=0, days=30)
    assert counts.crashes == 20
    assert counts.crashes_after_acceptance >= 5
    assert faultless(counts)
    assert counts.recovered > 0


@pytest.mark.postgres
async def test_on_postgresql_twenty_crashes_double_and_lose_nothing(empty_postgres_url: str) -> None:
    schedule = {"series": (community_meetings() or mixed_schedule())["series"][::2]}

    counts, seen = await run(schedule, empty_postgres_url, members=0, days=20, crashes=20)

    assert_each_once(schedule, seen, members=0, days=20)
    assert counts.crashes == 20
    assert counts.crashes_after_acceptance >= 5
    assert faultless(counts)


async def test_without_the_history_check_the_same_crashes_double(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def _blind(*_: object, **__: object) -> None:
        return None

    monkeypatch.setattr(ChannelPoster, "find", _blind)

    counts, seen = await run(mixed_schedule(), f"sqlite://{tmp_path}/fresh.db", days=15, crashes=20)

    assert max(Counter(one.key for one in seen).values()) == 2
    assert counts.duplicated >= 5


async def test_without_the_lease_the_same_crashes_double(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    claim_lease = ledger.claim_lease

    async def _no_lease(claim: ledger.Claim, *, instance: str, lease_clock: LeaseClock) -> Lease | None:
        await fetch("DROP INDEX IF EXISTS uniq_discord_message_log_source_event_when_pending_or_success")
        return await claim_lease(claim, instance=instance, lease_clock=lease_clock)

    shed = fire.due_query(REMINDERS[0])
    no_shedding = re.sub(r" AND \(SELECT l\.id .* IS NULL ORDER BY", " AND $5 <> '' ORDER BY", shed)
    assert no_shedding != shed
    monkeypatch.setattr(ledger, "claim_lease", _no_lease)
    monkeypatch.setattr(fire, "due_query", lambda _: no_shedding)

    counts, _ = await run(mixed_schedule(), f"sqlite://{tmp_path}/fresh.db", days=15, crashes=20)

    assert counts.duplicated >= 5


async def test_the_same_seed_gives_the_same_run(tmp_path: Path) -> None:
    schedule = with_all_reminders(mixed_schedule())

    runs = [await run(schedule, f"sqlite://{tmp_path}/{place}.db", days=3, crashes=8, seed=7) for place in range(2)]

    assert dataclasses.asdict(runs[0][0]) == dataclasses.asdict(runs[1][0])
    assert [one.as_row() for one in runs[0][1]] == [one.as_row() for one in runs[1][1]]


async def test_a_database_that_holds_rows_is_refused(database_url: str) -> None:
    schedule = {"series": mixed_schedule()["series"][:1]}
    await run(schedule, database_url, days=1)

    with pytest.raises(DatabaseNotEmptyError, match="is not empty; a simulation needs one of its own"):
        await run(schedule, database_url, days=1)


@pytest.mark.parametrize("messages", [1, 10, 25])
async def test_a_stopped_run_leaves_no_open_lease(database_url: str, messages: int) -> None:
    seen: list[Sighting] = []
    schedule = with_all_reminders(mixed_schedule())
    plan = Simulation(read_schedule(json.dumps(schedule).encode()), START, 30, database_url)

    counts = await simulate(plan, tell=seen.append, is_stopped=lambda: len(seen) >= messages)

    async with opened(database_url):
        held = await fetch("SELECT COUNT(*) AS held FROM discord_message_log WHERE success IS NULL")
        sent = await fetch("SELECT COUNT(*) AS sent FROM discord_message_log WHERE discord_message_id IS NOT NULL")
    assert (held[0]["held"], counts.unknown) == (0, 0)
    assert sent[0]["sent"] == len(seen)
