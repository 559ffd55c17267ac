"""What admins change over a day, and what people are told of it: broken copies are found, and nothing is excused."""

import dataclasses
import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import pytest

from bot.changes import edited_event, realign, series_edit, series_skips, series_sync
from bot.changes.event_time import EventTimes
from bot.changes.realign import StoredEvent
from bot.changes.series_values import SCHEDULE_FIELDS
from bot.changes.withdrawal import Removal
from bot.message.proposal import Reply
from bot.reminders.promotions import PromotionTeller
from bot.reminders.time_changes import TimeChangeTeller
from bot.transactions import Dialect
from tests.chaos.days import bot_days
from tests.chaos.days.day_changes import plan_changed_day
from tests.chaos.days.day_oracle import Oracle
from tests.chaos.days.day_plan import Act, ActKind, DayPlan, Entry, read_plan
from tests.chaos.days.test_bot_days import SERIES, at, morning, verdict_on
from tests.throwaway import Databases

# Days take seconds; a machine under load may take minutes for them.
pytestmark = pytest.mark.timeout(900)

Break = Callable[[], AbstractContextManager[None]]


async def _nothing(*_of: object, **_how: object) -> None:
    return None


async def _none_touched(*_of: object, **_how: object) -> list[object]:
    return []


async def _as_if_deleted(*_of: object, **_how: object) -> Removal:
    return Removal.DELETED


@contextmanager
def promotions_are_not_told() -> Iterator[None]:
    """Take everybody who moved up for told."""
    with patch.object(PromotionTeller, "_offer", lambda *_: True):
        yield


@contextmanager
def new_times_are_not_told() -> Iterator[None]:
    """Begin no message about a new time."""
    with patch.object(TimeChangeTeller, "_begin", _nothing):
        yield


@contextmanager
def skipped_events_stay() -> Iterator[None]:
    """Note the date as skipped, and leave its event where it is."""
    with patch.object(series_skips, "withdraw", _as_if_deleted):
        yield


@contextmanager
def series_values_stay_behind() -> Iterator[None]:
    """Store what a series is to be, and leave its events as they were."""
    with patch.object(series_sync, "_hand_down", _none_touched):
        yield


@contextmanager
def edited_offsets_are_not_due_anew() -> Iterator[None]:
    """Store other hours before the start, and let what is due stand as it was."""
    blind = SimpleNamespace(refresh=_nothing)
    with patch.object(series_sync, "due_rows", blind), patch.object(edited_event, "due_rows", blind):
        yield


BROKEN = {
    "promotions are not told": (promotions_are_not_told, 3, "lost: promotion 1 of event"),
    "new times are not told": (new_times_are_not_told, 0, "lost: time_changed 1 of event"),
    "skipped events are announced": (skipped_events_stay, 16, "the event was removed"),
    "series values stay behind": (series_values_stay_behind, 0, "was asked"),
    "edited offsets are not due anew": (edited_offsets_are_not_due_anew, 14, "lost: attendance_post of event"),
}


@pytest.mark.parametrize(("broken", "seed", "words"), list(BROKEN.values()), ids=list(BROKEN))
def test_a_day_finds_a_copy_that_loses_a_change(databases: Databases, broken: Break, seed: int, words: str) -> None:
    with broken():
        verdict = verdict_on(plan_changed_day(seed), databases)

    assert any(words in fault for fault in verdict.faults), verdict.faults[:3]


@contextmanager
def whoever_signed_up_is_told_all_the_same() -> Iterator[None]:
    """Tell people of a new time also where the admin said that nobody is to be told."""
    original = EventTimes.propose

    async def _telling(self: EventTimes, *typed: str, tell: bool | None, **by: Any) -> Reply:  # noqa: ANN401
        return await original(self, *typed, tell=None, **by)

    with patch.object(EventTimes, "propose", _telling):
        yield


@contextmanager
def edited_events_go_unasked() -> Iterator[None]:
    """Let a new schedule take along what was edited by itself."""
    why = realign._why_it_stays

    def _why(event: StoredEvent) -> realign.Stays | None:
        found = why(event)
        return None if found is realign.Stays.EDITED else found

    with patch.object(realign, "_why_it_stays", _why):
        yield


@contextmanager
def ticks_are_forgotten() -> Iterator[None]:
    """Let an edited event stay, whether it was ticked to go or not."""
    with patch.object(series_edit, "replace", lambda wish, **_: wish):
        yield


@contextmanager
def zones_are_no_schedule() -> Iterator[None]:
    """Store another zone of a series, and leave its events at their times."""
    with patch.object(series_edit, "SCHEDULE_FIELDS", SCHEDULE_FIELDS - {"timezone"}):
        yield


def act(clock: str, kind: ActKind, what: Entry, which: float = 0.0) -> Act:
    return Act(at(clock), kind, 0, which, json.dumps(what))


def seen(plan: DayPlan, databases: Databases) -> list[tuple[str, str]]:
    """Live a day in which all must be well; return what was said of its first event, and when."""
    record = bot_days.live(plan, Dialect.SQLITE, databases)
    assert Oracle(record).judge().faults == []
    return sorted({(one.kind, f"{one.left_at:%H:%M}") for one in record.seen if one.event_id == 1})


def test_an_edited_offset_moves_the_message_and_an_edit_back_moves_it_back(databases: Databases) -> None:
    later = act("01:00", ActKind.EDIT_SERIES, {"discord_announcement_hours": 1})
    series = SERIES | {"signup_opens_hours": 2}

    def _announced(*acts: Act) -> list[str]:
        plan = dataclasses.replace(morning(*acts), series=(series,))
        return [when for kind, when in seen(plan, databases) if kind == "announcement"]

    assert _announced() == ["02:00"]
    assert _announced(later) == ["05:00"]
    assert _announced(later, act("01:30", ActKind.EDIT_SERIES, {"discord_announcement_hours": 4})) == ["02:00"]


def test_a_moved_event_keeps_what_was_sent_and_is_told_once(databases: Databases) -> None:
    said = seen(morning(act("03:30", ActKind.MOVE_EVENT, {"by_minutes": 45})), databases)

    assert ("announcement", "02:00") in said
    assert ("time_changed", "03:30") in said
    assert ("attendance_post", "04:45") in said


def test_an_edit_brings_back_nothing_that_was_called_off_for_its_date(databases: Databases) -> None:
    cancel, edit = act("01:00", ActKind.CANCEL, {}), act("01:30", ActKind.EDIT_SERIES, {"time_of_day": "05:00"})
    record = bot_days.live(morning(cancel, edit), Dialect.SQLITE, databases)

    assert Oracle(record).judge().faults == []
    # Where only the bot took it away, the same day lacks an event.
    by_nobody = dataclasses.replace(record, plan=record.plan.with_only([edit]))
    assert any("was never made" in fault for fault in Oracle(by_nobody).judge().faults)


def test_what_is_confirmed_after_something_came_between_is_stale_and_does_nothing(databases: Databases) -> None:
    slow = act("01:00", ActKind.MOVE_EVENT, {"by_minutes": 60, "confirmed_after": 600})
    fast = act("01:05", ActKind.MOVE_EVENT, {"by_minutes": 30})
    record = bot_days.live(morning(slow, fast), Dialect.SQLITE, databases)

    assert Oracle(record).judge().faults == []
    assert any("move_event confirmed: StaleError" in line for line in record.trace.lines)
    row = record.facts.history(("event", 1, 0))[-1][1]
    assert row.starts_at == at("06:30")


def test_who_switched_a_kind_off_is_not_reminded_and_the_others_are(databases: Databases) -> None:
    off = Act(at("01:00"), ActKind.NOTIFY, 0, 0.0, json.dumps({"turn": "off", "kind": "attendance_reminder"}))
    record = bot_days.live(morning(off), Dialect.SQLITE, databases)
    asked = [one.recipient for one in record.seen if one.kind == "attendance_reminder"]

    assert Oracle(record).judge().faults == []
    assert asked == [record.user_ids[1]]
    late = [one for one in record.seen if one.kind == "attendance_reminder"]
    more = [*record.seen, dataclasses.replace(late[0], recipient=record.user_ids[0])]
    told = Oracle(dataclasses.replace(record, seen=more)).judge().faults
    assert any("it is not for them" in fault for fault in told)


QUIET_MOVE = {"by_minutes": 45, "tell": False}
TWO_DAYS = SERIES | {"signup_opens_hours": 1, "generate_days_ahead": 2}


def two_days(*acts: Act) -> DayPlan:
    """Return a morning with three events of a series, none of which is open for a while; nobody signs up."""
    return dataclasses.replace(morning().with_only([*acts]), series=(TWO_DAYS,))


def edited_then(what: Entry) -> DayPlan:
    """Return a morning on which the second event gets a name of its own, and then the series is edited."""
    return two_days(act("00:20", ActKind.EDIT_EVENT, {"name": "Special"}, 0.5), act("00:40", ActKind.EDIT_SERIES, what))


DIRECTED = {
    "a move that nobody is told of": (
        whoever_signed_up_is_told_all_the_same,
        morning(act("03:30", ActKind.MOVE_EVENT, QUIET_MOVE)),
        "counts 1 new times after 0, tells: False",
    ),
    "an edited event of another schedule": (
        edited_events_go_unasked,
        edited_then({"time_of_day": "09:10"}),
        "was edited by itself and went unasked",
    ),
    "an edited event that was ticked": (
        ticks_are_forgotten,
        edited_then({"time_of_day": "09:10", "tick": True}),
        "was ticked to go and stands",
    ),
    "another zone": (
        zones_are_no_schedule,
        two_days(act("00:40", ActKind.EDIT_SERIES, {"timezone": "Asia/Kathmandu"})),
        "where its series has none",
    ),
}


@pytest.mark.parametrize(("broken", "plan", "words"), list(DIRECTED.values()), ids=list(DIRECTED))
def test_a_morning_finds_a_copy_that_does_it_otherwise_and_whole_it_is_well(
    databases: Databases, broken: Break, plan: DayPlan, words: str
) -> None:
    assert verdict_on(plan, databases).faults == []
    with broken():
        verdict = verdict_on(plan, databases)

    assert any(words in fault for fault in verdict.faults), verdict.faults[:3]


def test_what_was_ticked_goes_and_what_was_not_stays(databases: Databases) -> None:
    def _named(what: Entry) -> list[str]:
        record = bot_days.live(edited_then(what), Dialect.SQLITE, databases)
        assert Oracle(record).judge().faults == []
        rows = [record.facts.history(("event", event_id, 0))[-1][1] for event_id in record.facts.events()]
        return [f"{row.starts_at:%d %H:%M}" for row in rows if row is not None and row.values["name"] == "Special"]

    assert _named({"time_of_day": "09:10"}) == ["03 06:00"]
    assert _named({"time_of_day": "09:10", "tick": True}) == []


def test_a_plan_with_changes_is_read_back_as_it_was_written() -> None:
    plan = plan_changed_day(5)

    assert read_plan(plan.as_json()) == plan
    assert {one.kind for seed in range(40) for one in plan_changed_day(seed).acts} == set(ActKind)
