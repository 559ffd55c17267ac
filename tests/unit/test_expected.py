"""What a simulated guild's rows ask for, by hand: each message about an event, for whom and from when on."""

import datetime as dt
from typing import Any

import pytest

from bot.demo.expected import Wanted, due_moment, wanted
from bot.demo.people import Members, member_names
from bot.leases.keys import ATTENDANCE_POST, EVENT_REPOST, OPS_NOTE, PROFILE_UNREACHABLE
from bot.reminders.markers import ANNOUNCEMENT, ATTENDANCE_REMINDER, PROFILE_REMINDER, SIGNUP_REMINDER
from models.event import Event
from tests.builders import DAY, GUILD, HOUR, event_row, utc

NOW = utc("2026-03-01 12:00")
START = utc("2026-03-08 19:00")
OPENS = utc("2026-03-01 19:00")
MEMBERS = Members(GUILD, (11, 12, 13, 14, 15))


def an_event(*, series_id: int | None = 3, **fields: object) -> Event:
    wanted_fields = {
        "id": 7,
        "scheduled_at": START,
        "signups_open_at": OPENS,
        "discord_signup_reminder": True,
        "discord_confirm_attendance": True,
        "discord_profile_reminder": True,
    }
    event = event_row(now=NOW).update_from_dict(wanted_fields | fields)
    event.series_id = series_id
    return event


def test_of_five_members_each_gets_what_is_theirs() -> None:
    a_day, two_hours = START - DAY, START - 2 * HOUR

    found = list(wanted(an_event(), MEMBERS))

    assert found == [
        Wanted(ANNOUNCEMENT, 7, 0, a_day),
        Wanted(SIGNUP_REMINDER, 7, 12, a_day),
        Wanted(SIGNUP_REMINDER, 7, 14, a_day),
        Wanted(ATTENDANCE_POST, 7, 0, two_hours),
        Wanted(ATTENDANCE_REMINDER, 7, 11, two_hours),
        Wanted(ATTENDANCE_REMINDER, 7, 13, two_hours),
        Wanted(ATTENDANCE_REMINDER, 7, 15, two_hours),
        Wanted(PROFILE_REMINDER, 7, 13, a_day),
        Wanted(PROFILE_REMINDER, 7, 15, a_day),
    ]


def test_who_finds_no_place_is_not_called() -> None:
    found = list(wanted(an_event(max_players=2), MEMBERS))

    assert [one.recipient_id for one in found if one.kind == ATTENDANCE_REMINDER] == [11, 13]
    assert [one.recipient_id for one in found if one.kind == PROFILE_REMINDER] == [13]


def test_nobody_to_ask_leaves_the_announcement() -> None:
    assert [one.kind for one in wanted(an_event(), Members(GUILD, ()))] == [ANNOUNCEMENT]


@pytest.mark.parametrize(
    ("fields", "kind", "due"),
    [
        ({}, ANNOUNCEMENT, START - DAY),
        ({"discord_announcement": False}, ANNOUNCEMENT, None),
        ({"discord_announcement_hours": 0}, ANNOUNCEMENT, None),
        ({"discord_announcement_hours": 400}, ANNOUNCEMENT, NOW),
        ({"created_at": START}, ANNOUNCEMENT, None),
        ({"discord_signup_reminder_hours": 400}, SIGNUP_REMINDER, OPENS),
        ({"signups_open_at": START - HOUR}, SIGNUP_REMINDER, START - HOUR),
        ({"signups_open_at": START}, SIGNUP_REMINDER, None),
        ({"signups_open_at": None}, SIGNUP_REMINDER, None),
        ({"signups_open_at": None}, ANNOUNCEMENT, START - DAY),
        ({"series_id": None}, SIGNUP_REMINDER, None),
        ({"series_id": None}, ATTENDANCE_REMINDER, START - 2 * HOUR),
        ({}, ATTENDANCE_POST, START - 2 * HOUR),
        ({}, PROFILE_UNREACHABLE, START - DAY),
        ({}, EVENT_REPOST, None),
        ({}, OPS_NOTE, None),
    ],
)
def test_a_kind_is_due_as_worked_out_by_hand(fields: dict[str, Any], kind: str, due: dt.datetime | None) -> None:
    assert due_moment(an_event(**fields), kind) == due


def test_members_are_called_by_their_numbers() -> None:
    assert member_names(3) == ["member-1", "member-2", "member-3"]
    assert (MEMBERS.signing_up, MEMBERS.only_subscribed, MEMBERS.without_profile) == ((11, 13, 15), (12, 14), (13, 15))
