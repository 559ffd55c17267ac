"""A few simulated days of R3 and R10, that the same seed is the same day, and that broken copies are caught."""

import dataclasses
import datetime as dt
import itertools
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bot.clock import LeaseClock
from bot.delivery.channel_poster import ChannelPoster
from bot.demo.fault_plan import Fault, FaultKind
from bot.demo.trace import Trace
from bot.demo.troubled_life import Disturbance
from bot.events import generate
from bot.events.signups.rules import Press
from bot.leases import lease_taker, ledger
from bot.leases.keys import MessageKey
from bot.leases.parents import ParentLeases
from bot.leases.ports import Delivered
from bot.leases.send_once import OneWayOut
from bot.leases.sweep import Sweeper
from bot.reminders import fire
from bot.reminders.fire import ReminderClerk
from bot.reminders.post_upkeep import PostUpkeep
from bot.scheduling.registry import REMINDERS
from bot.times.recurrence import Occurrence, SeriesRule
from bot.transactions import Dialect, fetch
from models.event import Event
from models.states import EventState
from tests.chaos.days import bot_days, clock_changes
from tests.chaos.days.day_oracle import Oracle, Verdict
from tests.chaos.days.day_plan import Act, ActKind, DayPlan, Entry, plan_day, read_plan
from tests.chaos.days.day_record import DayRecord, LogRow, Seen
from tests.chaos.proof import Figures, Share, unmet
from tests.throwaway import Databases

# Days take seconds; a machine under load may take minutes for them.
pytestmark = pytest.mark.timeout(900)

START = dt.datetime(2026, 3, 2, tzinfo=dt.UTC)
# Announced at two, asked at three, called at four, profiles at five, begun at six.
SERIES: Entry = {
    "name": "Morning raid",
    "frequency": "daily",
    "interval": 1,
    "day_of_week": None,
    "time_of_day": "06:00",
    "timezone": "UTC",
    "starts_at": "2026-01-01",
    "generate_days_ahead": 1,
    "duration_minutes": 60,
    "max_players": None,
    "signup_opens_hours": None,
    "discord_announcement": True,
    "discord_announcement_hours": 4,
    "discord_signup_reminder": True,
    "discord_signup_reminder_hours": 3,
    "discord_confirm_attendance": True,
    "discord_confirm_attendance_hours": 2,
    "discord_confirm_attendance_dm": True,
    "discord_profile_reminder": True,
    "discord_profile_reminder_hours": 1,
}


def at(clock: str) -> dt.datetime:
    return dt.datetime.fromisoformat(f"2026-03-02T{clock}+00:00")


def morning(*happenings: Fault | Act) -> DayPlan:
    """Return a morning with one event, for which two of four people sign up; ``happenings`` come on top."""
    signups = [Act(at("00:30"), ActKind.PRESS, who, 0.0, "sign_up") for who in range(2)]
    plan = DayPlan(seed=0, start=START, series=(SERIES,), hours=7, members=4)
    return plan.with_only([*signups, *happenings])


def verdict_on(plan: DayPlan, databases: Databases, dialect: Dialect = Dialect.SQLITE) -> Verdict:
    return Oracle(bot_days.live(plan, dialect, databases)).judge()


# --------------------------------------------------------------------------------------------------------- they hold


@pytest.mark.parametrize(
    ("dialect", "seeds"),
    [
        pytest.param(Dialect.SQLITE, [0, 3, 14, 16], id="sqlite"),
        pytest.param(Dialect.POSTGRES, [16, 18], id="postgres", marks=pytest.mark.postgres),
    ],
)
def test_days_in_which_everything_goes_wrong_lose_and_double_nothing(
    databases: Databases, dialect: Dialect, seeds: list[int]
) -> None:
    # Those of SQLite are the ones that find the broken copies of test_day_changes: whole, they are well.
    figures = bot_days.run(Share(seeds, dialect, databases))

    assert unmet(figures, bot_days.judge(figures)) == []


@pytest.mark.parametrize(
    ("dialect", "seeds"),
    [
        pytest.param(Dialect.SQLITE, [0, 13], id="sqlite"),
        pytest.param(Dialect.POSTGRES, [2], id="postgres", marks=pytest.mark.postgres),
    ],
)
def test_clock_changes_with_steps_and_suspends_lose_and_double_nothing(
    databases: Databases, dialect: Dialect, seeds: list[int]
) -> None:
    figures = clock_changes.run(Share(seeds, dialect, databases))

    assert unmet(figures, clock_changes.judge(figures)) == []


def test_a_seed_replays_to_the_same_trace_in_any_process() -> None:
    found = set()
    for seed_of_hashes in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-m", "tests.chaos.days.bot_days", "--seed", "17"],
            env=os.environ | {"PYTHONHASHSEED": seed_of_hashes},
            cwd=Path(__file__).resolve().parents[3],
            capture_output=True,
            text=True,
            check=True,
        )
        found.add(done.stdout)

    (told,) = found
    assert re.search(r"^seed=17 trace=[0-9a-f]{16} faults=\{\}$", told, re.MULTILINE)
    assert told.count("\n") > 50


def test_a_plan_is_read_back_as_it_was_written() -> None:
    plan = plan_day(5)

    again = read_plan(plan.as_json())

    assert again == plan
    assert again.happenings == plan.happenings


def test_a_message_whose_moment_lay_within_a_suspend_past_the_start_is_recorded(databases: Databases) -> None:
    verdict = verdict_on(morning(Fault(at("01:30"), FaultKind.SUSPEND, lasts=dt.timedelta(hours=5))), databases)

    # An announcement, the roll call with its two messages, two sign-up reminders but for the last person, two profiles.
    assert (verdict.faults, verdict.recorded) == ([], 1 + 3 + 1 + 2)


@pytest.mark.parametrize("way", [True, False], ids=["forward", "back"])
def test_the_seeds_of_clock_changes_reach_every_zone_that_has_them_each_way(way: bool) -> None:
    zones, seeds = clock_changes.ZONES, clock_changes.PROOFS[0].seeds
    changes = [(zones[seed % len(zones)], clock_changes.changed(seed)) for seed in range(seeds)]

    reached = {zone for zone, change in changes if change and clock_changes.goes_forward(zone, change) is way}

    assert seeds == 156
    assert reached == set(zones) - {"Asia/Kathmandu"}
    assert sum(1 for _, change in changes if change is None) >= len(zones) * 2


def test_all_seeds_without_zones_both_ways_are_not_enough() -> None:
    figures = Figures(runs=156, samples={"required": [1.0], "faults met": [1.0], "recorded as not sent": [0.0]})

    assert unmet(figures, clock_changes.judge(figures)) == ["both ways in 0 zones (at least 20)"]


# ------------------------------------------------------------------------------------------ the oracle excuses nothing


def without(record: DayRecord, kind: str, *, reason: str | None) -> DayRecord:
    """Return a day in which no message of a kind became visible, and what the log gives as the reason."""
    log = [row for row in record.log if row.kind != kind]
    log += [LogRow(kind, 1, 0, 0, success=False, error_class=reason)] if reason is not None else []
    return dataclasses.replace(record, seen=[one for one in record.seen if one.kind != kind], log=log)


@pytest.mark.parametrize(
    ("step", "faults"),
    [
        pytest.param(dt.timedelta(hours=-1), ["lost"], id="back"),
        pytest.param(dt.timedelta(hours=5), ["lost"], id="forward, short of the start"),
        pytest.param(dt.timedelta(days=1), [], id="forward, past the start"),
    ],
)
def test_a_step_of_the_clock_excuses_only_what_it_carried_the_clock_past(
    databases: Databases, step: dt.timedelta, faults: list[str]
) -> None:
    fault = Fault(at("00:10"), FaultKind.CLOCK_STEP, lasts=dt.timedelta(minutes=10), step=step)
    record = bot_days.live(dataclasses.replace(morning(), follows=False), Dialect.SQLITE, databases)
    # The day is whole but for what is planted here: only the oracle is on trial.
    record.disturbances.append(Disturbance(fault.at, fault.at + fault.lasts, fault.kind, step))

    verdict = Oracle(without(record, "announcement", reason="event_started")).judge()

    assert [fault.partition(":")[0] for fault in verdict.faults] == faults


def test_a_step_of_the_clock_excuses_no_event_that_was_never_made(databases: Databases) -> None:
    record = bot_days.live(dataclasses.replace(morning(), follows=False), Dialect.SQLITE, databases)
    step = Disturbance(at("00:10"), at("00:20"), FaultKind.CLOCK_STEP, dt.timedelta(hours=1))
    del record.facts._moments["event", 1, 0]
    never = dataclasses.replace(record, disturbances=[step], log=[], seen=[])

    assert "was never made" in Oracle(never).judge().faults[0]


def test_what_a_wrong_clock_showed_too_soon_must_at_least_be_written_down(databases: Databases) -> None:
    record = bot_days.live(dataclasses.replace(morning(), follows=False), Dialect.SQLITE, databases)
    record.disturbances.append(Disturbance(at("00:10"), at("00:20"), FaultKind.CLOCK_STEP, dt.timedelta(hours=4)))
    assert Oracle(record).judge().faults == []

    verdict = Oracle(without(record, "signup_reminder", reason=None)).judge()

    assert verdict.lost >= 1
    assert "due by a wrong clock and not even recorded" in verdict.faults[0]


def test_closed_dms_of_one_person_excuse_nobody_else(databases: Databases) -> None:
    record = bot_days.live(morning(), Dialect.SQLITE, databases)
    reached, other = record.user_ids[:2]
    key = ("profile_reminder", 1, 0, reached)
    record.seen = [one for one in record.seen if one.key != key]
    record.log = [row for row in record.log if (row.kind, row.event_id, row.part, row.recipient) != key]
    record.log.append(LogRow("profile_reminder", 1, reached, 0, success=False, error_class="recipient_unreachable"))
    told = LogRow("profile_unreachable", 1, 0, 0, success=True, error_class=None)
    left = next(one for one in record.seen if one.kind == "profile_reminder")
    named = dataclasses.replace(left, kind="profile_unreachable", recipient=0)

    def _with(who: int, *, is_named: bool) -> Verdict:
        closed = Disturbance(at("01:00"), at("05:59"), FaultKind.DMS_CLOSED, about=who)
        more = ([told], [named]) if is_named else ([], [])
        log, seen = [*record.log, *more[0]], [*record.seen, *more[1]]
        return Oracle(dataclasses.replace(record, disturbances=[closed], log=log, seen=seen)).judge()

    assert _with(reached, is_named=True).faults == []
    assert kinds(_with(other, is_named=True)) == {"lost"}
    # Who could not be reached is named in the channel, or that is lost.
    assert "profile_unreachable 0 of event 1" in _with(reached, is_named=False).faults[0]


def test_posts_and_notes_without_a_cause_are_unexpected(databases: Databases) -> None:
    record = bot_days.live(morning(), Dialect.SQLITE, databases)
    post = next(one for one in record.seen if one.kind == "announcement")
    again = [dataclasses.replace(post, kind="event_repost", part=number) for number in range(1, 6)]
    notes = [dataclasses.replace(post, kind="ops_note", event_id=1, part=number) for number in range(1, 51)]

    def _with(more: list[Seen], **known: Any) -> Verdict:  # noqa: ANN401
        log = [LogRow(one.kind, one.event_id, one.recipient, one.part, success=True, error_class=None) for one in more]
        changed = dataclasses.replace(record, seen=[*record.seen, *more], log=[*record.log, *log], **known)
        return Oracle(changed).judge()

    assert _with(again).unexpected == 5
    deleted = [Disturbance(post.left_at, post.left_at, FaultKind.POST_DELETED, about=1)]
    assert _with(again, disturbances=deleted).unexpected == 4
    assert _with(again[:1], disturbances=deleted).unexpected == 0
    assert _with(notes).unexpected == 50
    assert _with(notes, notes={1: ("database", 3)}).unexpected == 48
    down = [Disturbance(at("00:10"), at("00:11"), FaultKind.DATABASE_DOWN)]
    assert _with(notes[:1], notes={1: ("database", 1)}, disturbances=down).unexpected == 0


def test_a_deleted_post_is_posted_again_at_the_next_change_or_it_is_lost(
    databases: Databases, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = morning(
        Fault(at("02:30"), FaultKind.POST_DELETED), Act(at("02:40"), ActKind.PRESS, 2, 0.0, Press.SIGN_UP.value)
    )
    record = bot_days.live(plan, Dialect.SQLITE, databases)
    verdict = Oracle(record).judge()

    assert [one.part for one in record.seen if one.kind == "event_repost"] == [1]
    assert verdict.faults == []
    forget = PostUpkeep._forget_post

    async def _for_good(upkeep: PostUpkeep, event: Event, now: dt.datetime, *, repost: bool) -> None:
        assert repost
        await forget(upkeep, event, now, repost=False)

    monkeypatch.setattr(PostUpkeep, "_forget_post", _for_good)
    assert "event_repost 1 of event 1" in verdict_on(plan, databases).faults[0]


# --------------------------------------------------------------------------------------------- broken copies are caught


def kinds(verdict: Verdict) -> set[str]:
    return {fault.partition(":")[0] for fault in verdict.faults}


async def _blind(*_: object, **__: object) -> None:
    return None


def test_without_the_history_check_a_lost_answer_doubles_and_the_script_names_it_alone(
    databases: Databases, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    plan = morning(
        Fault(at("01:00"), FaultKind.GUILD_AWAY, lasts=dt.timedelta(minutes=5)),
        Fault(at("01:30"), FaultKind.KILL, lasts=dt.timedelta(seconds=5)),
        Fault(at("02:00"), FaultKind.RESET_AFTER),
        Fault(at("04:30"), FaultKind.STATEMENT, times=3),
        Act(at("03:30"), ActKind.SUBSCRIBE, 3),
    )
    monkeypatch.setattr(ChannelPoster, "find", _blind)

    verdict = verdict_on(plan, databases)
    told = bot_days.shortened(plan, verdict, Dialect.SQLITE, databases, folder=tmp_path)

    assert (verdict.duplicated, kinds(verdict)) == (1, {"duplicated"})
    script = [line for line in told.splitlines() if line.startswith("  02 ")]
    assert script == ["  02 02:00:00 reset_after"]
    again = read_plan(Path(told.rpartition("--replay ")[2]).read_text())
    assert verdict_on(again, databases).duplicated == 1
    monkeypatch.undo()
    assert verdict_on(plan, databases).faults == []


def test_where_a_post_is_posted_again_that_nobody_deleted_it_is_unexpected(
    databases: Databases, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def _always_gone(upkeep: PostUpkeep, event: Event, _channel: int, _message: int, now: dt.datetime) -> None:
        await upkeep._forget_post(event, now, repost=True)

    monkeypatch.setattr(PostUpkeep, "_edit", _always_gone)

    verdict = verdict_on(morning(Act(at("02:40"), ActKind.PRESS, 2, 0.0, Press.SIGN_UP.value)), databases)

    assert verdict.unexpected >= 1
    assert "the post was deleted 0 times" in verdict.faults[0]


def test_a_day_that_leaves_another_trace_the_second_time_is_a_fault(
    databases: Databases, monkeypatch: pytest.MonkeyPatch
) -> None:
    times = itertools.count()
    trace_hash = Trace.hash
    plan = dataclasses.replace(morning(), hours=1)
    monkeypatch.setattr(Trace, "hash", lambda trace: f"{trace_hash(trace)} {next(times)}")

    figures = bot_days.run_days(Share([0], Dialect.SQLITE, databases), lambda _: plan)

    assert figures.faults == ["seed 0: lived twice, it left two traces"]


def test_without_the_lease_a_kill_doubles(databases: Databases, monkeypatch: pytest.MonkeyPatch) -> None:
    claim_lease, due_query = ledger.claim_lease, fire.due_query

    async def _no_lease(claim: ledger.Claim, *, instance: str, lease_clock: LeaseClock) -> ledger.Lease | None:
        await fetch("DROP INDEX IF EXISTS uniq_discord_message_log_source_event_when_pending_or_success")
        return await claim_lease(claim, instance=instance, lease_clock=lease_clock)

    monkeypatch.setattr(ledger, "claim_lease", _no_lease)
    monkeypatch.setattr(
        fire,
        "due_query",
        lambda entry: re.sub(r" AND \(SELECT l\.id .* IS NULL ORDER", " AND $5 <> '' ORDER", due_query(entry)),
    )

    verdict = verdict_on(morning(Fault(at("02:00"), FaultKind.KILL_AFTER, lasts=dt.timedelta(seconds=5))), databases)

    assert verdict.duplicated >= 1


def test_where_the_rows_of_children_are_not_looked_at_a_kill_doubles(
    databases: Databases, monkeypatch: pytest.MonkeyPatch
) -> None:
    hold = ParentLeases.hold

    async def _forgetful(leases: ParentLeases, key: MessageKey, *, guild_id: int) -> ledger.Lease | None:
        await fetch(
            "DELETE FROM discord_message_log WHERE source = $1 AND source_id = $2 AND recipient_id <> 0",
            [key.source, key.source_id],
        )
        return await hold(leases, key, guild_id=guild_id)

    monkeypatch.setattr(ParentLeases, "hold", _forgetful)
    kill = Fault(at("04:00:00.300"), FaultKind.KILL_AFTER, lasts=dt.timedelta(seconds=5))

    assert verdict_on(morning(kill), databases).duplicated >= 1


def test_without_the_check_of_the_start_a_suspend_sends_too_late(
    databases: Databases, monkeypatch: pytest.MonkeyPatch
) -> None:
    report_once = OneWayOut.report_once

    async def _whenever(out: OneWayOut, key: MessageKey, *, not_after: object = None, **more: Any) -> Any:  # noqa: ANN401
        return await report_once(out, key, **more)

    monkeypatch.setattr(OneWayOut, "report_once", _whenever)
    plan = morning(Fault(at("02:00"), FaultKind.SUSPEND_BEFORE, lasts=dt.timedelta(hours=4, minutes=30)))

    verdict = verdict_on(plan, databases)

    assert verdict.unexpected >= 1
    assert "the event had begun" in verdict.faults[0]


async def _always(_key: object) -> bool:
    return True


def test_where_a_cancel_withdraws_nothing_what_follows_it_is_unexpected(
    databases: Databases, monkeypatch: pytest.MonkeyPatch
) -> None:
    for entry in REMINDERS:
        states = entry.required_states
        # Its fields are frozen, and every module holds the same entries.
        object.__setattr__(entry, "required_states", states | {EventState.CANCELLED})
    monkeypatch.setattr(lease_taker, "still_stands", _always)
    try:
        verdict = verdict_on(morning(Act(at("01:00"), ActKind.CANCEL)), databases)
    finally:
        for entry in REMINDERS:
            object.__setattr__(entry, "required_states", entry.required_states - {EventState.CANCELLED})

    assert verdict.unexpected >= 1
    assert "the event is cancelled" in verdict.faults[0]
    assert verdict_on(morning(Act(at("01:00"), ActKind.CANCEL)), databases).faults == []


def test_where_what_nobody_found_is_called_sent_it_is_lost(
    databases: Databases, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def _surely(_sweeper: Sweeper, row: ledger.HeldRow) -> Delivered:
        return Delivered(1, row.channel_id or 0)

    monkeypatch.setattr(Sweeper, "_look_up", _surely)

    verdict = verdict_on(morning(Fault(at("02:00"), FaultKind.RESET)), databases)

    assert verdict.lost >= 1
    assert "called sent and is not visible" in verdict.faults[-1]


def test_where_what_was_missed_is_not_recorded_it_is_lost(
    databases: Databases, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ReminderClerk, "_record_missed", _blind)

    verdict = verdict_on(morning(Fault(at("01:30"), FaultKind.SUSPEND, lasts=dt.timedelta(hours=5))), databases)

    assert verdict.lost >= 1
    assert "not even recorded" in verdict.faults[0]


def test_a_series_that_adds_days_of_24_hours_is_caught_at_a_clock_change(
    databases: Databases, monkeypatch: pytest.MonkeyPatch
) -> None:
    window = generate._window

    def _drifting(rule: SeriesRule, today: dt.date, days_ahead: int) -> tuple[Occurrence, ...]:
        first = window(rule, rule.starts_at, 0)[0]
        days = [today + dt.timedelta(days=number) for number in range(days_ahead + 1)]
        return tuple(
            Occurrence(first.starts_at + (day - rule.starts_at), day, first.slot.replace(str(rule.starts_at), str(day)))
            for day in days
        )

    monkeypatch.setattr(generate, "_window", _drifting)
    series = SERIES | {"timezone": "Europe/Berlin", "starts_at": "2026-03-28"}
    plan = DayPlan(seed=0, start=dt.datetime(2026, 3, 29, tzinfo=dt.UTC), series=(series,), hours=12, members=2)

    verdict = verdict_on(plan, databases)

    assert {"unexpected", "lost"} <= kinds(verdict)
    monkeypatch.undo()
    assert verdict_on(plan, databases).faults == []
