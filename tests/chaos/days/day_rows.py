"""The rows that decide what is sent when, as they stand in the database at a moment; read past the bot's own code."""

import datetime as dt
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bot.transactions import fetch, integer, moment

Fact = tuple[str, int, int]
"""What it is about: a kind of fact, and one or two ids."""

Values = dict[str, Any]

_SWITCHES = (
    "discord_announcement",
    "discord_signup_reminder",
    "discord_confirm_attendance",
    "discord_profile_reminder",
)
_PLAIN = ("name", "duration_minutes", "max_players", "signup_opens_hours", "signup_offer_minutes")
_DM = "discord_confirm_attendance_dm"
_COLUMNS = ", ".join([*_PLAIN, _DM, *_SWITCHES, *(f"{switch}_hours" for switch in _SWITCHES)])
_SCHEDULE = (
    "frequency", "interval", "day_of_week", "time_of_day", "timezone", "starts_at", "ends_at", "month_end",
    "generate_days_ahead",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class EventRow:
    """
    An event as it stood; ``values`` are :func:`normal`.

    ``changes`` counts the new times that people are to hear of; ``is_extra``: off its series' schedule.
    """

    series_id: int | None
    slot: str | None
    starts_at: dt.datetime
    created_at: dt.datetime
    state: str
    changes: int
    is_extra: bool
    values: Values

    @property
    def opens_at(self) -> dt.datetime:
        """When sign-ups open by its hours, without hours as soon as it is there."""
        hours = self.values["signup_opens_hours"]
        return self.created_at if hours is None else max(self.created_at, self.starts_at - dt.timedelta(hours=hours))


def normal(values: Mapping[str, Any]) -> Values:
    """
    Return what a row, or the fields somebody gave, say of an event; what is not there is left out.

    A reminder is its hours before the start, None where it is off; no limit, no wait and no hours are None too.
    """
    found: Values = {name: values[name] or None for name in _PLAIN if name in values}
    if _DM in values:
        found[_DM] = bool(values[_DM])
    for switch in _SWITCHES:
        if f"{switch}_hours" in values:
            is_on = bool(values.get(switch, True)) and bool(values[f"{switch}_hours"])
            found[switch] = integer(values[f"{switch}_hours"]) if is_on else None
    return found


async def read_signups() -> dict[Fact, Any]:
    """Return what people said, and how often each moved up and until when a place is held for them."""
    found: dict[Fact, Any] = {}
    for row in await fetch("SELECT event_id, user_id, status, promotions, offered_until FROM event_signup"):
        ids = integer(row["event_id"]), integer(row["user_id"])
        found["signup", *ids] = str(row["status"])
        until = moment(row["offered_until"]) if row["offered_until"] is not None else None
        found["moved_up", *ids] = (integer(row["promotions"]), until)
    return found


async def read_people() -> dict[Fact, Any]:
    """Return what people said and wish now, by the rows."""
    found = await read_signups()
    for row in await fetch("SELECT series_id, user_id FROM repeater_subscription"):
        found["subscribed", integer(row["series_id"]), integer(row["user_id"])] = True
    for row in await fetch("SELECT user_id, field_values, reminder_opt_outs, series_opt_outs FROM player_profile"):
        user_id = integer(row["user_id"])
        if _json(row["field_values"]):
            found["profile", user_id, 0] = True
        if off := [*_json(row["reminder_opt_outs"]), *_json(row["series_opt_outs"])]:
            found["silent", user_id, 0] = frozenset(off)
    return found


async def read_facts() -> dict[Fact, Any]:
    """Return everything that is so now, by the rows."""
    found = await read_people()
    for row in await fetch(
        "SELECT id, series_id, slot, scheduled_at, created_at, state, time_changes, is_off_schedule,"  # noqa: S608
        f" {_COLUMNS} FROM event ORDER BY id"
    ):
        found["event", integer(row["id"]), 0] = _event(row)
    for row in await fetch(f"SELECT id, is_active, {', '.join(_SCHEDULE)}, {_COLUMNS} FROM event_repeater"):  # noqa: S608
        series_id = integer(row["id"])
        found["active", series_id, 0] = bool(row["is_active"])
        found["series", series_id, 0] = {name: _plain(row[name]) for name in _SCHEDULE} | normal(row)
    for row in await fetch("SELECT series_id, local_date, kind FROM repeater_exception"):
        date = dt.date.fromisoformat(str(row["local_date"]))
        found["excepted", integer(row["series_id"]), date.toordinal()] = str(row["kind"])
    return found


def _event(row: Mapping[str, Any]) -> EventRow:
    return EventRow(
        series_id=integer(row["series_id"]) if row["series_id"] is not None else None,
        slot=str(row["slot"]) if row["slot"] is not None else None,
        starts_at=moment(row["scheduled_at"]),
        created_at=moment(row["created_at"]),
        state=str(row["state"]),
        changes=integer(row["time_changes"]),
        is_extra=bool(row["is_off_schedule"]),
        values=normal(row),
    )


def _json(value: object) -> Any:  # noqa: ANN401 -- whatever is in the column
    return json.loads(value) if isinstance(value, str) else value


def _plain(value: object) -> object:
    return str(value) if isinstance(value, dt.date) else value
