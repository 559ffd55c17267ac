"""The guardrails of the reminder registry: what an entry names must exist, and no two may be taken for each other."""

from dataclasses import replace

import pytest
from tortoise import fields

from bot.reminders import markers, tasks
from bot.reminders.task_registry import TASKS, DuplicateTaskError, reminder_task
from bot.scheduling import registry
from bot.scheduling.registry import REMINDERS, DuplicateReminderError, ScheduledReminder, checked, registered
from models.discord_event_config import DiscordEventConfigMixin
from models.states import EventState

MIXIN = DiscordEventConfigMixin._meta.fields_map
# Fields that end in _hours and are no reminder's.
NO_REMINDER = {"signup_opens_hours"}


def test_the_registry_is_the_one_of_the_specification() -> None:
    upcoming, signups_open, roll_call = EventState.UPCOMING, EventState.SIGNUPS_OPEN, EventState.ROLL_CALL

    table = [
        (entry.key, entry.hours_field, entry.enabled_field, set(entry.required_states), entry.log_source)
        for entry in REMINDERS
    ]

    assert table == [
        (
            "announcement",
            "discord_announcement_hours",
            "discord_announcement",
            {upcoming, signups_open},
            "event_announcement",
        ),
        (
            "signup_reminder",
            "discord_signup_reminder_hours",
            "discord_signup_reminder",
            {signups_open},
            "signup_reminder",
        ),
        (
            "attendance_reminder",
            "discord_confirm_attendance_hours",
            "discord_confirm_attendance",
            {signups_open, roll_call},
            "attendance_reminder",
        ),
        (
            "profile_reminder",
            "discord_profile_reminder_hours",
            "discord_profile_reminder",
            {signups_open, roll_call},
            "profile_reminder",
        ),
    ]
    assert [entry.key for entry in REMINDERS if entry.requires_repeater] == ["signup_reminder"]


@pytest.mark.parametrize("entry", REMINDERS, ids=lambda entry: entry.key)
def test_every_entrys_task_resolves(entry: ScheduledReminder) -> None:
    assert entry.task_name in TASKS


def test_every_task_has_an_entry_that_it_sends_for() -> None:
    assert set(TASKS) == {entry.task_name for entry in REMINDERS}
    assert [
        tasks.ANNOUNCEMENT,
        tasks.SIGNUP.entry,
        tasks.ATTENDANCE.entry,
        tasks.PROFILE.entry,
    ] == list(REMINDERS)


@pytest.mark.parametrize("entry", REMINDERS, ids=lambda entry: entry.key)
def test_every_entrys_message_has_a_marker_of_its_own(entry: ScheduledReminder) -> None:
    assert markers.read(markers.mark(entry.key, 7)) == markers.Marked(entry.key, 7)


def test_the_entries_are_those_that_stand_now_not_those_of_the_import(monkeypatch: pytest.MonkeyPatch) -> None:
    fifth = replace(REMINDERS[0], key="fifth", log_source="fifth")
    before = registered()

    monkeypatch.setattr(registry, "REMINDERS", (*REMINDERS, fifth))

    assert before == REMINDERS
    assert registered() == (*REMINDERS, fifth)


@pytest.mark.parametrize("entry", REMINDERS, ids=lambda entry: entry.key)
def test_every_named_field_is_on_the_mixin_with_the_right_type(entry: ScheduledReminder) -> None:
    hours, enabled = MIXIN[entry.hours_field], MIXIN[entry.enabled_field]

    assert isinstance(hours, fields.IntField)
    assert hours.null
    assert isinstance(enabled, fields.BooleanField)
    assert not enabled.null


def test_no_hours_field_of_the_mixin_is_dead() -> None:
    hours = {name for name in MIXIN if name.endswith("_hours")} - NO_REMINDER

    assert hours == {entry.hours_field for entry in REMINDERS}


def test_no_switch_gates_two_reminders() -> None:
    assert len({entry.enabled_field for entry in REMINDERS}) == len(REMINDERS)


@pytest.mark.parametrize(
    ("changed", "what"),
    [
        pytest.param({"log_source": "another"}, "key 'announcement'", id="the same key"),
        pytest.param({"key": "another"}, "log_source 'event_announcement'", id="the same log source"),
    ],
)
def test_two_entries_that_could_send_for_each_other_are_refused(changed: dict[str, str], what: str) -> None:
    twin = replace(REMINDERS[0], **changed)  # type: ignore[arg-type]

    with pytest.raises(DuplicateReminderError, match=what):
        checked([*REMINDERS, twin])


def test_entries_that_differ_are_taken_as_they_are() -> None:
    assert checked(REMINDERS) == REMINDERS


def test_two_tasks_of_one_name_are_refused() -> None:
    with pytest.raises(DuplicateTaskError, match="send_event_announcement"):
        reminder_task("send_event_announcement")(tasks.send_event_announcement)
