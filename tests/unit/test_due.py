"""When a reminder of an event is due: the pure decision, at each of its boundaries."""

import datetime as dt
from dataclasses import dataclass, replace

import pytest

from bot.scheduling.due import Tried, due_at, due_rows
from bot.scheduling.registry import REMINDERS, ScheduledReminder
from models.states import EventState

START = dt.datetime(2026, 3, 8, 19, tzinfo=dt.UTC)
HOUR = dt.timedelta(hours=1)
MICROSECOND = dt.timedelta(microseconds=1)
REMINDER = {entry.key: entry for entry in REMINDERS}
ANNOUNCEMENT = REMINDER["announcement"]


@dataclass(frozen=True)
class Plain:
    """An event without its table."""

    state: EventState = EventState.SIGNUPS_OPEN
    scheduled_at: dt.datetime = START
    state_since: dt.datetime = START - 200 * HOUR
    series_id: int | None = 7
    discord_announcement: bool = True
    discord_announcement_hours: int | None = 24
    discord_signup_reminder: bool = True
    discord_signup_reminder_hours: int | None = 24
    discord_confirm_attendance: bool = True
    discord_confirm_attendance_hours: int | None = 2
    discord_profile_reminder: bool = True
    discord_profile_reminder_hours: int | None = 12


@pytest.mark.parametrize(
    ("key", "hours"),
    [("announcement", 24), ("signup_reminder", 24), ("attendance_reminder", 2), ("profile_reminder", 12)],
)
def test_a_reminder_is_due_its_own_hours_before_the_start(key: str, hours: int) -> None:
    assert due_at(Plain(), REMINDER[key]) == START - hours * HOUR


def test_hours_are_counted_on_instants_where_the_clock_goes_back() -> None:
    # London, 25 October 2026: 01:30 comes at 00:30 UTC and again at 01:30 UTC, an hour later.
    second_pass = dt.datetime(2026, 10, 25, 1, 30, tzinfo=dt.UTC)
    event = replace(Plain(), scheduled_at=second_pass, discord_announcement_hours=1)

    assert due_at(event, ANNOUNCEMENT) == dt.datetime(2026, 10, 25, 0, 30, tzinfo=dt.UTC)


@pytest.mark.parametrize("state", EventState)
@pytest.mark.parametrize("reminder", REMINDERS, ids=lambda entry: entry.key)
def test_a_reminder_is_due_in_its_own_states_and_in_no_other(reminder: ScheduledReminder, state: EventState) -> None:
    due = due_at(replace(Plain(), state=state), reminder)

    assert (due is not None) == (state in reminder.required_states)


def test_what_is_switched_off_is_never_due() -> None:
    assert due_at(replace(Plain(), discord_announcement=False), ANNOUNCEMENT) is None


@pytest.mark.parametrize(
    ("hours", "due"),
    [
        pytest.param(None, None, id="null is off"),
        pytest.param(0, None, id="zero is off"),
        pytest.param(-1, None, id="negative is off"),
        pytest.param(1, START - HOUR, id="one hour"),
        pytest.param(24 * 366, START - 24 * 366 * HOUR, id="a year"),
    ],
)
def test_only_whole_hours_above_zero_are_a_time(hours: int | None, due: dt.datetime | None) -> None:
    since_ever = dt.datetime(2000, 1, 1, tzinfo=dt.UTC)

    event = replace(Plain(), discord_announcement_hours=hours, state_since=since_ever)

    assert due_at(event, ANNOUNCEMENT) == due


def test_the_sign_up_reminder_is_for_series_alone() -> None:
    one_off = replace(Plain(), series_id=None)

    due = {entry.key for entry in REMINDERS if due_at(one_off, entry) is not None}

    assert due == {"announcement", "attendance_reminder", "profile_reminder"}


def test_what_was_sent_is_due_no_more() -> None:
    assert due_at(Plain(), ANNOUNCEMENT, Tried(sent=True)) is None


@pytest.mark.parametrize(
    ("state_since", "due"),
    [
        pytest.param(START - 25 * HOUR, START - 24 * HOUR, id="eligible before"),
        pytest.param(START - 24 * HOUR, START - 24 * HOUR, id="eligible at that moment"),
        pytest.param(START - 3 * HOUR, START - 3 * HOUR, id="eligible only later: at once"),
    ],
)
def test_an_event_that_appears_late_is_due_at_once(state_since: dt.datetime, due: dt.datetime) -> None:
    assert due_at(replace(Plain(), state_since=state_since), ANNOUNCEMENT) == due


@pytest.mark.parametrize(
    ("again", "due"),
    [
        pytest.param(START - 30 * HOUR, START - 24 * HOUR, id="before its hours: never earlier than they say"),
        pytest.param(START - 2 * HOUR, START - 2 * HOUR, id="after its hours: when it may be tried again"),
    ],
)
def test_a_failed_attempt_is_repeated_at_its_next_moment(again: dt.datetime, due: dt.datetime) -> None:
    assert due_at(Plain(), ANNOUNCEMENT, Tried(next_attempt_at=again)) == due


@pytest.mark.parametrize(
    ("again", "is_row"),
    [
        pytest.param(START - MICROSECOND, True, id="just before the start"),
        pytest.param(START, False, id="exactly at the start"),
        pytest.param(START + MICROSECOND, False, id="just past the start"),
    ],
)
def test_nothing_is_to_be_sent_from_the_start_on(again: dt.datetime, is_row: bool) -> None:
    rows = due_rows(Plain(), [ANNOUNCEMENT], {"event_announcement": Tried(next_attempt_at=again)})

    assert rows == ({"announcement": again} if is_row else {})


@pytest.mark.parametrize(
    ("gave_up_at", "due"),
    [
        pytest.param(START - MICROSECOND, START - 24 * HOUR, id="for an earlier start: put off since"),
        pytest.param(START, None, id="for this start"),
        pytest.param(dt.datetime.max.replace(tzinfo=dt.UTC), None, id="for every start: it may have arrived"),
    ],
)
def test_what_was_given_up_comes_back_only_for_a_later_start(gave_up_at: dt.datetime, due: dt.datetime | None) -> None:
    assert due_at(Plain(), ANNOUNCEMENT, Tried(gave_up_at=gave_up_at)) == due


def test_each_reminder_goes_by_its_own_log_source() -> None:
    tried = {"event_announcement": Tried(sent=True), "attendance_reminder": Tried(next_attempt_at=START - HOUR)}

    rows = due_rows(Plain(), REMINDERS, tried)

    assert rows == {
        "signup_reminder": START - 24 * HOUR,
        "attendance_reminder": START - HOUR,
        "profile_reminder": START - 12 * HOUR,
    }
