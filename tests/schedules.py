"""
Schedules for tests, and an oracle of what they bring that shares no code with the bot.

The oracle lays each rule out with plain dateutil from its own start, mends a wall time in a gap by walking minutes, and
finds when a row appears by running through the hours one by one: slow, and written differently on purpose.
"""

import datetime as dt
import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple
from zoneinfo import ZoneInfo

import pytest
from dateutil import rrule

Entry = dict[str, Any]
"""One series as a schedule file writes it."""

Announcement = tuple[str, str, str]
"""The series' name, the occurrence and the moment its announcement is due, both as ISO 8601 in UTC."""


class Message(NamedTuple):
    """One message that is to become visible; times as ISO 8601 in UTC, ``recipient`` None for a post."""

    kind: str
    series: str
    occurrence: str
    recipient: str | None
    due: str


_COMMUNITY_MEETINGS = Path(__file__).resolve().parents[2] / "shared" / "data" / "community-meetings.json"
_HOUR = dt.timedelta(hours=1)
_DAYS_OF_EVERY_MONTH = 28
_FREQUENCIES: dict[str, Literal[0, 1, 2, 3]] = {
    "daily": rrule.DAILY,
    "weekly": rrule.WEEKLY,
    "monthly": rrule.MONTHLY,
    "yearly": rrule.YEARLY,
}
_DAYS = {"MO": rrule.MO, "TU": rrule.TU, "WE": rrule.WE, "TH": rrule.TH, "FR": rrule.FR, "SA": rrule.SA, "SU": rrule.SU}

# Name, frequency, interval, day_of_week, time_of_day, timezone, starts_at, announcement hours, further fields.
_MIXED: list[tuple[str, str, int, str | None, str, str, str, int, Entry]] = [
    ("Morning stand-up", "daily", 1, None, "08:00", "Europe/Berlin", "2026-01-01", 1, {}),
    ("Night watch", "daily", 1, None, "02:30", "Europe/London", "2026-01-01", 2, {}),
    ("Paris small hours", "daily", 1, None, "02:30", "Europe/Paris", "2026-02-01", 24, {}),
    ("New York small hours", "daily", 1, None, "02:30", "America/New_York", "2026-01-10", 1, {}),
    ("Island quarter past", "daily", 1, None, "02:15", "Australia/Lord_Howe", "2026-01-01", 2, {}),
    ("Cairo midnight", "daily", 1, None, "00:00", "Africa/Cairo", "2026-03-01", 1, {}),
    ("Beirut midnight", "daily", 2, None, "00:00", "Asia/Beirut", "2026-01-03", 24, {}),
    ("Kathmandu midnight", "daily", 1, None, "00:00", "Asia/Kathmandu", "2026-01-01", 24, {"generate_days_ahead": 1}),
    ("Every third day", "daily", 3, None, "12:00", "Pacific/Apia", "2026-01-01", 48, {}),
    ("Every tenth day", "daily", 10, None, "23:59", "America/Sao_Paulo", "2025-12-28", 100, {}),
    ("London Sunday", "weekly", 1, "SU", "19:00", "Europe/London", "2026-01-04", 24, {}),
    ("Ramadan evenings", "weekly", 1, "SU", "21:00", "Africa/Casablanca", "2026-02-01", 2, {}),
    ("Twice a week", "weekly", 1, "TU,TH", "20:00", "America/Los_Angeles", "2026-01-05", 24, {}),
    ("Workdays", "weekly", 1, "MO,TU,WE,TH,FR", "09:30", "Asia/Kolkata", "2026-01-01", 1, {}),
    ("The day it began", "weekly", 1, None, "18:45", "Asia/Tokyo", "2026-01-07", 48, {}),
    ("Every other Tuesday", "weekly", 2, "TU", "17:00", "Europe/Warsaw", "2026-01-05", 24, {}),
    ("Every other from midweek", "weekly", 2, "TU,SA", "10:00", "America/St_Johns", "2026-01-07", 2, {}),
    ("Every other from Sunday", "weekly", 2, "MO", "11:00", "Pacific/Auckland", "2026-01-11", 24, {}),
    ("Every third week", "weekly", 3, "SA", "03:15", "Pacific/Chatham", "2026-01-03", 100, {}),
    ("Every fourth week", "weekly", 4, "WE,FR", "16:00", "America/Santiago", "2026-01-14", 48, {}),
    ("Gaza Saturday", "weekly", 1, "SA", "02:30", "Asia/Gaza", "2026-01-03", 1, {}),
    ("Troll Sunday", "weekly", 1, "SU", "01:30", "Antarctica/Troll", "2026-01-04", 2, {}),
    ("Second Wednesday", "monthly", 1, "2WE", "19:30", "Europe/Lisbon", "2026-01-01", 24, {}),
    ("Last Friday", "monthly", 1, "-1FR", "20:00", "Europe/Kyiv", "2026-01-01", 100, {}),
    ("First and third Monday", "monthly", 1, "1MO,3MO", "18:00", "America/Toronto", "2026-01-05", 24, {}),
    ("Fifth Monday or last", "monthly", 1, "5MO", "18:00", "Australia/Sydney", "2026-01-01", 48, {}),
    ("Fifth Monday if any", "monthly", 1, "5MO", "18:00", "Australia/Adelaide", "2026-01-01", 2, {"month_end": "skip"}),
    ("Month's end", "monthly", 1, None, "12:00", "Europe/Madrid", "2026-01-31", 24, {}),
    ("Only long months", "monthly", 1, None, "12:00", "Europe/Rome", "2026-01-31", 24, {"month_end": "skip"}),
    ("The thirtieth", "monthly", 1, None, "00:00", "Asia/Jerusalem", "2026-01-30", 1, {}),
    ("The twenty-ninth or none", "monthly", 1, None, "06:00", "Asia/Seoul", "2026-01-29", 1, {"month_end": "skip"}),
    ("Every other month's first Sunday", "monthly", 2, "1SU", "02:30", "America/Chicago", "2026-01-20", 24, {}),
    ("Half-yearly", "monthly", 6, None, "15:00", "Pacific/Norfolk", "2026-03-31", 48, {}),
    ("Anniversary", "yearly", 1, None, "18:00", "Atlantic/Azores", "2025-03-29", 100, {}),
    ("Leap day", "yearly", 1, None, "12:00", "UTC", "2024-02-29", 24, {}),
    ("Leap day or none", "yearly", 1, None, "12:00", "Europe/Dublin", "2024-02-29", 24, {"month_end": "skip"}),
    ("Until Easter", "weekly", 1, "FR", "19:00", "Europe/Vienna", "2026-01-02", 24, {"ends_at": "2026-04-03"}),
    ("From the summer on", "weekly", 1, "SA", "14:00", "Europe/Stockholm", "2026-06-20", 24, {}),
    ("From mid-January on", "daily", 1, None, "21:15", "America/Nuuk", "2026-01-15", 2, {"generate_days_ahead": 5}),
    ("Seen far ahead", "weekly", 1, "TH", "13:00", "Pacific/Easter", "2026-01-01", 48, {"generate_days_ahead": 60}),
]  # fmt: skip


def mixed_schedule() -> dict[str, Any]:
    """
    Return a schedule of 40 series in 39 zones with every kind of recurrence, fit for 2026 and after.

    The document is new at each call: a test may change it.
    """
    series = []
    for name, frequency, interval, days, time, zone, starts, hours, more in _MIXED:
        entry: Entry = {
            "name": name,
            "frequency": frequency,
            "interval": interval,
            "time_of_day": time,
            "timezone": zone,
            "starts_at": starts,
            "discord_announcement_hours": hours,
        }
        series.append(entry | ({} if days is None else {"day_of_week": days}) | more)
    return {"source": "made for these tests", "series": series}


def community_meetings() -> dict[str, Any] | None:
    """Return the schedule of a real community, or None where the file beside the repository is not present."""
    if not _COMMUNITY_MEETINGS.is_file():
        return None
    schedule: dict[str, Any] = json.loads(_COMMUNITY_MEETINGS.read_text(encoding="utf-8"))
    return schedule


def community_or_skip() -> dict[str, Any]:
    """Return the schedule of a real community; a test without it is skipped."""
    schedule = community_meetings()
    if schedule is None:
        pytest.skip("../shared/data/community-meetings.json is not beside this checkout")
    return schedule


def with_all_reminders(schedule: dict[str, Any]) -> dict[str, Any]:
    """Return the schedule with all four reminders on, a day before the start, but for the roll call two hours."""
    every = {
        "discord_announcement": True,
        "discord_announcement_hours": 24,
        "discord_signup_reminder": True,
        "discord_signup_reminder_hours": 24,
        "discord_confirm_attendance": True,
        "discord_confirm_attendance_hours": 2,
        "discord_confirm_attendance_dm": True,
        "discord_profile_reminder": True,
        "discord_profile_reminder_hours": 24,
    }
    return schedule | {"series": [entry | every for entry in schedule["series"]]}


def with_varied_reminders(schedule: dict[str, Any]) -> dict[str, Any]:
    """Return the schedule with reminders that differ as they can: off, early, late, before sign-ups open, no DMs."""
    varied = []
    for place, entry in enumerate(schedule["series"]):
        most = 24 * entry.get("generate_days_ahead", 14)
        varied.append(
            entry
            | {
                "discord_signup_reminder": place % 5 != 0,
                "discord_signup_reminder_hours": min(most, (1, 24, 100, 200)[place % 4]),
                "discord_confirm_attendance": place % 7 != 0,
                "discord_confirm_attendance_hours": min(most, (1, 2, 30)[place % 3]),
                "discord_confirm_attendance_dm": place % 4 != 1,
                "discord_profile_reminder": place % 3 != 0,
                "discord_profile_reminder_hours": (None, 3, 24, min(most, 300))[place % 4],
                "signup_opens_hours": (168, 48, 2, None, 1)[place % 5],
                "max_players": (None, 1, 2)[place % 3],
            }
        )
    return schedule | {"series": varied}


def expected_occurrences(entry: Entry, first: dt.date, last: dt.date) -> list[tuple[dt.datetime, dt.date]]:
    """Return each occurrence from ``first`` to ``last``, inclusive: its aware UTC instant and its wanted local date."""
    time, zone = dt.time.fromisoformat(entry["time_of_day"]), ZoneInfo(entry["timezone"])
    last = min(last, dt.date.fromisoformat(entry.get("ends_at") or "9999-12-31"))
    days = itertools.takewhile(lambda day: day <= last, (moment.date() for moment in _rule(entry)))
    return [(_instant(dt.datetime.combine(day, time), zone), day) for day in days if day >= first]


def expected_announcements(schedule: dict[str, Any], start: dt.datetime, days: int) -> set[Announcement]:
    """
    Return what a bot that imports ``schedule`` at ``start`` announces in the ``days`` days from then.

    ``start`` is midnight UTC. The series generate at ``start`` and then on each full hour, each for its local today and
    ``generate_days_ahead`` days after it; an announcement is due at its hours before the occurrence, or when the row
    appears if that is later. It counts when it is due before the occurrence and before the days are over.
    """
    found = expected_messages(schedule, start, days, members=0)
    return {(one.series, one.occurrence, one.due) for one in found if one.kind == "announcement"}


def expected_messages(schedule: dict[str, Any], start: dt.datetime, days: int, *, members: int) -> set[Message]:
    """
    Return everything that a bot which imports ``schedule`` at ``start`` sends in the ``days`` days from then.

    Members 1 to ``members`` subscribed to every series. The odd ones sign up the moment sign-ups open, as far as there
    are places, and only the first of them has a profile. Nothing but the announcement is due before sign-ups open.
    """
    over = start + dt.timedelta(days=days)
    return {
        message
        for entry in schedule["series"]
        if entry.get("is_active", True)
        for occurrence, appears in _rows(entry, start, days)
        for message in _about(entry, occurrence, appears, members)
        if dt.datetime.fromisoformat(message.due) < min(occurrence, over)
    }


def _about(entry: Entry, occurrence: dt.datetime, appears: dt.datetime, members: int) -> Iterator[Message]:
    """Yield the messages about one occurrence, those too that would be due only when it has begun."""
    opening = entry.get("signup_opens_hours", 168)
    opens = appears if opening is None else max(appears, occurrence - opening * _HOUR)
    coming = [f"member-{number}" for number in range(1, members + 1, 2)][: entry.get("max_players")]
    watching = [f"member-{number}" for number in range(2, members + 1, 2)]
    confirm = "discord_confirm_attendance"

    def _due(switch: str, not_before: dt.datetime, *, default: bool, hours: int) -> str | None:
        before = entry.get(f"{switch}_hours", hours)
        if not entry.get(switch, default) or before is None or before <= 0:
            return None
        due: dt.datetime = max(occurrence - before * _HOUR, not_before)
        return due.isoformat()

    announced = _due("discord_announcement", appears, default=True, hours=24)
    asked = _due("discord_signup_reminder", opens, default=False, hours=24)
    called = _due(confirm, opens, default=False, hours=2)
    profiled = _due("discord_profile_reminder", opens, default=False, hours=24)
    by_dm = coming if entry.get(f"{confirm}_dm", True) else []
    planned: list[tuple[str, str | None, list[str | None]]] = [
        ("announcement", announced, [None]),
        ("signup_reminder", asked, [*watching]),
        ("attendance_post", called, [None] if coming else []),
        ("attendance_reminder", called, [*by_dm]),
        ("profile_reminder", profiled, [who for who in coming if who != "member-1"]),
    ]
    for kind, due, recipients in planned:
        if due is not None:
            yield from (Message(kind, entry["name"], occurrence.isoformat(), who, due) for who in recipients)


def _rows(entry: Entry, start: dt.datetime, days: int) -> Iterator[tuple[dt.datetime, dt.datetime]]:
    """Yield each occurrence with the hourly pass that makes its row."""
    zone = ZoneInfo(entry["timezone"])
    ahead = dt.timedelta(days=entry.get("generate_days_ahead", 14))
    reach = dt.timedelta(days=days + 2)
    waiting = expected_occurrences(entry, start.date() - dt.timedelta(days=2), start.date() + reach + ahead)
    for step in range(days * 24):
        now = start + step * _HOUR
        today = now.astimezone(zone).date()
        reached = [instant for instant, day in waiting if today <= day <= today + ahead and instant > now]
        waiting = [(instant, day) for instant, day in waiting if day > today + ahead]
        yield from ((instant, now) for instant in reached)


def _rule(entry: Entry) -> rrule.rrule:
    """Return the rule in local dates, from its own start and without an end."""
    begin = dt.datetime.fromisoformat(entry["starts_at"])
    frequency, falls_back = entry["frequency"], entry.get("month_end", "last_day") == "last_day"
    parts: dict[str, Any] = {}
    if entry.get("day_of_week"):
        parts["byweekday"] = [_weekday(text, falls_back=falls_back) for text in entry["day_of_week"].split(",")]
    elif frequency in {"monthly", "yearly"} and begin.day > _DAYS_OF_EVERY_MONTH and falls_back:
        # The last of those of these days that the month has.
        parts = {"bymonthday": list(range(_DAYS_OF_EVERY_MONTH, begin.day + 1)), "bysetpos": -1}
        parts |= {"bymonth": begin.month} if frequency == "yearly" else {}
    return rrule.rrule(
        _FREQUENCIES[frequency], interval=entry.get("interval", 1), dtstart=begin, wkst=rrule.MO, **parts
    )


def _weekday(text: str, *, falls_back: bool) -> rrule.weekday:
    day, number = _DAYS[text[-2:]], int(text[:-2] or 0)
    if number == 0:
        return day
    # A fifth that falls back is the last of four and the last of five alike.
    return day({5: -1, -5: 1}.get(number, number) if falls_back else number)


def _instant(local: dt.datetime, zone: ZoneInfo) -> dt.datetime:
    """Return the first instant that shows ``local``, walking on by minutes while the clock never shows it."""
    while True:
        instant = local.replace(tzinfo=zone).astimezone(dt.UTC)
        if instant.astimezone(zone).replace(tzinfo=None) == local:
            return instant
        local += dt.timedelta(minutes=1)
