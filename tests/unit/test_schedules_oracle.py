"""The tests' own oracle agrees with the bot on every schedule at hand, and with announcements worked out by hand."""

import datetime as dt

import pytest

from bot.events.series_spec import SeriesSpec
from bot.times.recurrence import occurrences
from tests.schedules import Entry, community_or_skip, expected_announcements, expected_occurrences, mixed_schedule

MIXED = mixed_schedule()["series"]
START = dt.datetime(2026, 3, 1, tzinfo=dt.UTC)


def schedule_of(fields: Entry) -> dict[str, list[Entry]]:
    entry: Entry = {"name": "A", "frequency": "weekly", "time_of_day": "19:00", "timezone": "UTC"}
    return {"series": [entry | {"starts_at": "2026-01-01"} | fields]}


@pytest.mark.parametrize("entry", MIXED, ids=lambda entry: entry["name"])
def test_the_oracle_and_the_bot_lay_out_the_same_occurrences(entry: Entry) -> None:
    first, last = dt.date(2025, 12, 1), dt.date(2029, 12, 31)

    found = occurrences(SeriesSpec.model_validate(entry).rule, first, last)

    assert found
    assert [(one.starts_at, one.local_date) for one in found] == expected_occurrences(entry, first, last)


def test_the_oracle_and_the_bot_agree_on_a_real_communitys_meetings() -> None:
    schedule = community_or_skip()
    first, last = dt.date(2026, 1, 1), dt.date(2027, 12, 31)

    for entry in schedule["series"]:
        found = occurrences(SeriesSpec.model_validate(entry).rule, first, last)
        assert [(one.starts_at, one.local_date) for one in found] == expected_occurrences(entry, first, last)


def test_the_mixed_schedule_is_as_mixed_as_it_says() -> None:
    assert len(MIXED) == len({entry["name"] for entry in MIXED}) == 40
    assert len({entry["timezone"] for entry in MIXED}) == 39
    assert {entry["discord_announcement_hours"] for entry in MIXED} == {1, 2, 24, 48, 100}
    assert {entry["frequency"] for entry in MIXED} == {"daily", "weekly", "monthly", "yearly"}


def test_the_mixed_schedule_is_made_anew_at_each_call() -> None:
    mixed_schedule()["series"][0]["name"] = "changed"

    assert mixed_schedule()["series"] == MIXED


@pytest.mark.parametrize(
    ("fields", "days", "expected"),
    [
        pytest.param(
            {"day_of_week": "TU"}, 7, [("2026-03-03T19:00", "2026-03-02T19:00")], id="24 hours before, by default"
        ),
        pytest.param(
            {"day_of_week": "SU"},
            7,
            [("2026-03-01T19:00", "2026-03-01T00:00"), ("2026-03-08T19:00", "2026-03-07T19:00")],
            id="already due at the import: at once",
        ),
        pytest.param(
            {"day_of_week": "SA", "generate_days_ahead": 2, "discord_announcement_hours": 100},
            7,
            [("2026-03-07T19:00", "2026-03-05T00:00")],
            id="due before its row appears: with the row",
        ),
        pytest.param(
            {"day_of_week": "SA", "timezone": "Asia/Kathmandu", "generate_days_ahead": 1, "time_of_day": "00:00"},
            7,
            # Midnight in Kathmandu is 18:15 UTC: the first pass on the day before is at 19:00.
            [("2026-03-06T18:15", "2026-03-05T19:00")],
            id="rows appear on the full hour",
        ),
        pytest.param(
            {"day_of_week": "SU", "time_of_day": "00:00"},
            7,
            [("2026-03-08T00:00", "2026-03-07T00:00")],
            id="begun at the import: never",
        ),
        pytest.param({"day_of_week": "TU", "discord_announcement_hours": 0}, 7, [], id="off by its hours"),
        pytest.param({"day_of_week": "TU", "discord_announcement_hours": None}, 7, [], id="off by null hours"),
        pytest.param({"day_of_week": "TU", "discord_announcement": False}, 7, [], id="off"),
        pytest.param({"day_of_week": "TU", "is_active": False}, 7, [], id="paused"),
        pytest.param({"day_of_week": "TU", "time_of_day": "00:00"}, 1, [], id="due just when the days are over"),
        pytest.param(
            {"day_of_week": "TU", "time_of_day": "00:00"},
            2,
            [("2026-03-03T00:00", "2026-03-02T00:00")],
            id="due just before they are",
        ),
        pytest.param({"day_of_week": "TU", "ends_at": "2026-03-02"}, 7, [], id="ended"),
    ],
)  # fmt: skip
def test_announcements_are_due_as_worked_out_by_hand(fields: Entry, days: int, expected: list[tuple[str, str]]) -> None:
    found = expected_announcements(schedule_of(fields), START, days)

    assert found == {("A", f"{occurrence}:00+00:00", f"{due}:00+00:00") for occurrence, due in expected}


def test_each_announcement_of_the_mixed_schedule_is_due_once_and_in_time() -> None:
    found = expected_announcements(mixed_schedule(), START, 90)

    assert len({(name, occurrence) for name, occurrence, _ in found}) == len(found) > 500
    assert all(due < occurrence for _, occurrence, due in found)
