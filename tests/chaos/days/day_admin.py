"""
What admins change over a day, by the services that the commands call: shown first, and confirmed at once or later.

What is shown and confirmed only after something else came in between may be refused as stale: that is an answer.
"""

import datetime as dt
import json
from collections.abc import Awaitable, Callable
from typing import Any, Final

from bot.changes.event_edit import EventChanges, EventEdits
from bot.changes.event_time import EventTimes
from bot.changes.extras import ExtraEvents
from bot.changes.series_edit import SeriesEditing, Wish
from bot.changes.series_edit_request import SeriesEditDesk, SeriesEditRequest
from bot.changes.series_removal import SeriesRemoval
from bot.changes.series_skips import SeriesSkips
from bot.changes.series_split import SeriesSplitting
from bot.changes.series_state import propose_resume
from bot.message.proposal import Proposal, Reply
from bot.scheduling.agenda import Agenda
from models.states import Frequency
from tests.chaos.days.day_ledger import Asked, Snapshot
from tests.chaos.days.day_plan import Act, ActKind
from tests.chaos.days.day_rows import EventRow

_DEBOUNCE: Final = dt.timedelta(seconds=3)
_AHEAD: Final = ("upcoming", "signups_open", "roll_call")
_OPTIONS: Final = {
    "duration_minutes": "duration_minutes",
    "max_players": "places",
    "name": "name",
    "signup_opens_hours": "signups_open_hours",
    "signup_offer_minutes": "offer_minutes",
    "frequency": "frequency",
    "time_of_day": "time",
    "timezone": "timezone",
    "day_of_week": "days",
    "discord_announcement_hours": "announce_hours",
    "discord_signup_reminder_hours": "signup_reminder_hours",
    "discord_confirm_attendance_hours": "attendance_hours",
    "discord_profile_reminder_hours": "profile_hours",
}
"""The commands' options, by the fields that they set."""

Proposed = tuple[Asked, Reply]


class Admin:
    """One admin of one server; ``agenda`` gives that of the process now running."""

    def __init__(self, guild_id: int, admin_id: int, *, agenda: Callable[[], Agenda]) -> None:
        self._guild_id = guild_id
        self._admin_id = admin_id
        self._agenda = agenda

    async def propose(self, act: Act, now: Snapshot, bot_now: dt.datetime) -> Proposed | None:
        """Return what an act asks for and what its admin is shown, None: there is nothing to do it to."""
        do = _ACTS[act.kind]
        given = json.loads(act.what) if act.what else {}
        given.pop("confirmed_after", None)
        series_ids = sorted(fact[1] for fact in now if fact[0] == "active")
        if act.kind in _TO_EVENTS:
            events = [
                (fact[1], row)
                for fact, row in now.items()
                if fact[0] == "event" and row.state in _AHEAD and row.starts_at > bot_now
            ]
            if act.kind is ActKind.SPLIT:
                events = [(event_id, row) for event_id, row in events if row.slot is not None]
            if not events:
                return None
            event_id, row = events[int(act.which * len(events))]
            return await do(self, event_id, row, given, bot_now)
        if not series_ids:
            return None
        return await do(self, series_ids[int(act.which * len(series_ids))], now, given, bot_now)

    @property
    def _who(self) -> dict[str, int]:
        return {"guild_id": self._guild_id, "actor": self._admin_id}

    async def _edit_series(
        self, series_id: int, _now: Snapshot, given: dict[str, Any], bot_now: dt.datetime
    ) -> Proposed:
        ticks = bool(given.pop("tick", False))
        asked = Asked(ActKind.EDIT_SERIES, series_id, given, bot_now, ticks=ticks)
        agenda = self._agenda()
        desk = SeriesEditDesk(SeriesEditing(agenda, debounce=_DEBOUNCE), SeriesSplitting(agenda, debounce=_DEBOUNCE))
        request = SeriesEditRequest(str(series_id), **_options(given))
        reply = await desk.propose(request, **self._who, now=bot_now)
        ticked: set[str] = set()
        while ticks and isinstance(reply, Proposal):
            left = [way for way in reply.ways if way.label.startswith("Also remove") and way.label not in ticked]
            if not left:
                break
            ticked.add(left[0].label)
            reply = await left[0].then(bot_now)
        return asked, reply

    async def _split(self, event_id: int, row: EventRow, given: dict[str, Any], bot_now: dt.datetime) -> Proposed:
        date = str(row.slot).partition("T")[0]
        asked = Asked(ActKind.SPLIT, row.series_id or 0, {"given": given, "date": date}, bot_now)
        wish = Wish(row.series_id or 0, self._guild_id, self._admin_id, _fields(given))
        splitting = SeriesSplitting(self._agenda(), debounce=_DEBOUNCE)
        return asked, await splitting.propose(wish, event_id, now=bot_now)

    async def _edit_event(self, event_id: int, _row: EventRow, given: dict[str, Any], bot_now: dt.datetime) -> Proposed:
        asked = Asked(ActKind.EDIT_EVENT, event_id, given, bot_now)
        edits = EventEdits(self._agenda(), debounce=_DEBOUNCE)
        return asked, await edits.propose(str(event_id), EventChanges(**_options(given)), **self._who, now=bot_now)

    async def _move_event(self, event_id: int, row: EventRow, given: dict[str, Any], bot_now: dt.datetime) -> Proposed:
        to = row.starts_at + dt.timedelta(minutes=given["by_minutes"])
        tell = given.get("tell")
        asked = Asked(ActKind.MOVE_EVENT, event_id, {"to": to, "tell": tell}, bot_now)
        times = EventTimes(self._agenda(), debounce=_DEBOUNCE, default_timezone="UTC")
        when = f"<t:{int(to.timestamp())}>"
        return asked, await times.propose(str(event_id), when, tell=tell, **self._who, now=bot_now)

    async def _skip(
        self, series_id: int, now: Snapshot, given: dict[str, Any], bot_now: dt.datetime
    ) -> Proposed | None:
        dates = _dates(series_id, now, bot_now, _AHEAD)
        if not dates:
            return None
        date = dates[int(given["date"] * len(dates))]
        skips = SeriesSkips(self._agenda(), debounce=_DEBOUNCE)
        asked = Asked(ActKind.SKIP, series_id, {"date": date}, bot_now)
        return asked, await skips.propose_skip(str(series_id), date, **self._who, now=bot_now)

    async def _unskip(self, _any: int, now: Snapshot, given: dict[str, Any], bot_now: dt.datetime) -> Proposed | None:
        skipped = sorted((fact[1], fact[2]) for fact, kind in now.items() if fact[0] == "excepted" and kind == "skip")
        if not skipped:
            return None
        series_id, day = skipped[int(given["date"] * len(skipped))]
        date = dt.date.fromordinal(day).isoformat()
        skips = SeriesSkips(self._agenda(), debounce=_DEBOUNCE)
        asked = Asked(ActKind.UNSKIP, series_id, {"date": date}, bot_now)
        return asked, await skips.propose_return(str(series_id), date, **self._who, now=bot_now)

    async def _extra(self, series_id: int, _now: Snapshot, given: dict[str, Any], bot_now: dt.datetime) -> Proposed:
        to = (bot_now + dt.timedelta(minutes=given["in_minutes"])).replace(second=0, microsecond=0)
        extras = ExtraEvents(self._agenda(), debounce=_DEBOUNCE, default_timezone="UTC")
        asked = Asked(ActKind.EXTRA, series_id, given, bot_now)
        return asked, await extras.propose(str(series_id), f"<t:{int(to.timestamp())}>", **self._who, now=bot_now)

    async def _delete_series(
        self, series_id: int, _now: Snapshot, given: dict[str, Any], bot_now: dt.datetime
    ) -> Proposed:
        removal = SeriesRemoval(self._agenda(), debounce=_DEBOUNCE)
        asked = Asked(ActKind.DELETE_SERIES, series_id, given, bot_now)
        return asked, await removal.propose(str(series_id), **self._who, now=bot_now)

    async def _resume(self, series_id: int, _now: Snapshot, given: dict[str, Any], bot_now: dt.datetime) -> Proposed:
        asked = Asked(ActKind.RESUME, series_id, given, bot_now)
        reply = await propose_resume(
            str(series_id), **self._who, now=bot_now, agenda=self._agenda(), debounce=_DEBOUNCE
        )
        return asked, reply


def _options(given: dict[str, Any]) -> dict[str, Any]:
    """Return fields as a command's options."""
    return {_OPTIONS[name]: Frequency(value) if name == "frequency" else value for name, value in given.items()}


def _fields(given: dict[str, Any]) -> dict[str, Any]:
    """Return fields as a wish has them, which the options of a command are read into."""
    found = dict(given)
    if "time_of_day" in found:
        found["time_of_day"] = dt.time.fromisoformat(found["time_of_day"])
    for name in given:
        if name.startswith("discord_"):
            found[name.removesuffix("_hours")] = True
    return found


def _dates(series_id: int, now: Snapshot, bot_now: dt.datetime, states: tuple[str, ...]) -> list[str]:
    rows = [row for fact, row in now.items() if fact[0] == "event" and row.series_id == series_id]
    return sorted(
        {row.slot.partition("T")[0] for row in rows if row.slot and row.state in states and row.starts_at > bot_now}
    )


_TO_EVENTS: Final = frozenset({ActKind.SPLIT, ActKind.EDIT_EVENT, ActKind.MOVE_EVENT})
_ACTS: Final[dict[ActKind, Callable[..., Awaitable[Proposed | None]]]] = {
    ActKind.EDIT_SERIES: Admin._edit_series,
    ActKind.SPLIT: Admin._split,
    ActKind.EDIT_EVENT: Admin._edit_event,
    ActKind.MOVE_EVENT: Admin._move_event,
    ActKind.SKIP: Admin._skip,
    ActKind.UNSKIP: Admin._unskip,
    ActKind.EXTRA: Admin._extra,
    ActKind.DELETE_SERIES: Admin._delete_series,
    ActKind.RESUME: Admin._resume,
}
ADMIN_ACTS: Final = frozenset(_ACTS)
"""The acts that an admin is shown before they are done."""
