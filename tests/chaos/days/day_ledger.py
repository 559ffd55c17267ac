"""
What admins asked for, kept apart from the bot's rows: how each series and event is to stand after every act.

An upcoming event follows its series in all that was not edited there; one whose sign-ups are open, an extra one and one
that an admin moved keep what they have. Occurrences are reckoned by dateutil.
"""

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tests.chaos.days.day_plan import ActKind, Entry
from tests.chaos.days.day_record import SeriesCourse
from tests.chaos.days.day_rows import EventRow, Fact, Values, normal
from tests.schedules import expected_occurrences

_AHEAD = {"upcoming", "signups_open", "roll_call"}
_TOLD = {"signed_up", "confirmed", "tentative", "waitlisted"}
_REALIGNS = {ActKind.EDIT_SERIES, ActKind.SPLIT, ActKind.RESUME}
_DAY = dt.timedelta(days=1)

Snapshot = dict[Fact, Any]


@dataclass(slots=True)
class Asked:
    """
    What an act was to do; ``target`` is the id of its series or event.

    ``bot_now``: the moment by the bot's clock. ``is_made`` None: nobody knows, as the answer was lost. ``ticks``: every
    edited event that the new schedule does not have was ticked to go.
    """

    kind: ActKind
    target: int
    given: Mapping[str, Any]
    bot_now: dt.datetime
    is_made: bool | None = None
    ticks: bool = False


class Ledger:
    """
    Keeps what is to be; ``wrong`` gathers what is not, as a count and words.

    ``removed``: since when an event that still stands should be gone.
    ``one_offs`` are what was asked for of events without a series, by name; it grows.
    """

    def __init__(self, one_offs: Mapping[str, Entry]) -> None:
        self.wrong: list[tuple[str, str]] = []
        self.series: dict[int, SeriesCourse] = {}
        self.removed: dict[int, dt.datetime] = {}
        self._one_offs = one_offs
        self._values: dict[int, Values] = {}
        self._own: dict[int, set[str]] = {}
        self._moved: set[int] = set()

    def add_series(self, series_id: int, entry: Entry, at: dt.datetime) -> None:
        """Keep what a new series is to be."""
        self.series[series_id] = SeriesCourse([(at, entry)])

    def look(self, now: Snapshot, at: dt.datetime) -> None:
        """See that every event ahead, and every series, stands as it is to."""
        for event_id, row in _events(now).items():
            if event_id not in self._values:
                self._values[event_id] = self._as_asked(row)
            wanted = self._values[event_id]
            off = {name: row.values[name] for name in wanted if row.values[name] != wanted[name]}
            if off and row.state in _AHEAD:
                self._fault(
                    at, f"event {event_id} has {off} where { ({name: wanted[name] for name in off}) } was asked"
                )
                self._values[event_id] = wanted | off  # told once
        for series_id, course in self.series.items():
            stored = now.get(("series", series_id, 0))
            if stored is None:
                continue
            asked = _series_values(course.entry)
            off = {name: stored[name] for name in asked if stored[name] != asked[name]}
            if off and at >= course.entries[-1][0]:
                self._fault(
                    at, f"series {series_id} has {off} where { ({name: asked[name] for name in off}) } was asked"
                )
                course.entries.append((at, course.entry | off))

    def judge(self, asked: Asked | None, before: Snapshot, after: Snapshot, at: dt.datetime) -> None:
        """Take in what an act was to do, and see that it did; ``asked`` None: it was to edit nothing."""
        self.look(before, at)
        is_made = asked is not None and (_differ(before, after) if asked.is_made is None else asked.is_made)
        done = asked if is_made else None
        if done is not None:
            self._take_in(done, before, after, at)
        self._see_moves(done, before, after, at)
        for series_id, course in self.series.items():
            course.is_whole &= bool(after.get(("active", series_id, 0)))
        self.look(after, at)
        if done is not None and done.kind in _REALIGNS:
            self._see_schedules(done, after, at)

    def _take_in(self, asked: Asked, before: Snapshot, after: Snapshot, at: dt.datetime) -> None:
        rows = _events(after)
        match asked.kind:
            case ActKind.EDIT_SERIES:
                course = self.series[asked.target]
                was, entry = course.entry, _merged(course.entry, asked.given)
                course.entries.append((at, entry))
                self._see_edited(asked, before, after, at, grid=_grid(entry, asked) if _differs(was, entry) else None)
                self._follow(asked.target, rows, asked.bot_now)
            case ActKind.SPLIT:
                self._follow(self._split(asked, before, after, at), rows, asked.bot_now)
            case ActKind.UNSKIP | ActKind.RESUME:
                self._follow(asked.target, rows, asked.bot_now)
            case ActKind.EDIT_EVENT:
                self._edit_event(asked, rows[asked.target])
            case ActKind.MOVE_EVENT:
                self._moved.add(asked.target)
                if (stands := rows[asked.target].starts_at) != (wanted := asked.given["to"]):
                    self._fault(at, f"event {asked.target} was moved to {wanted} and stands at {stands}")
            case ActKind.SKIP | ActKind.DELETE_SERIES:
                self._see_gone(asked, before, after, at)
            case _:
                pass

    def _see_edited(
        self, asked: Asked, before: Snapshot, after: Snapshot, at: dt.datetime, *, grid: set[str] | None
    ) -> None:
        """See that what was edited by itself goes where it was ticked, and nowhere else; ``grid`` None: none went."""
        rows = _events(after)
        for event_id, row in _events(before).items():
            is_ahead = row.state == "upcoming" and not row.is_extra and row.starts_at > asked.bot_now
            if row.series_id != asked.target or not is_ahead:
                continue
            stands = event_id in rows and rows[event_id].state == "upcoming"
            is_edited = bool(self._own.get(event_id)) or row.starts_at != _moment_of(row)
            if is_edited and not asked.ticks and not stands:
                self._fault(at, f"event {event_id} was edited by itself and went unasked")
            is_off = grid is not None and stands and rows[event_id].slot not in grid
            if asked.ticks and is_off and after.get(("active", asked.target, 0)):
                self._fault(at, f"event {event_id} was ticked to go and stands")

    def _follow(self, series_id: int, rows: Mapping[int, EventRow], now: dt.datetime) -> None:
        """Let the upcoming events of a series be as it is, but for what was edited there."""
        for event_id, row in rows.items():
            if row.series_id == series_id and row.state == "upcoming" and not row.is_extra and row.starts_at > now:
                known = self._values.get(event_id, {})
                own = {name: known[name] for name in self._own.get(event_id, ())}
                self._values[event_id] = normal(self.series[series_id].entry) | own

    def _split(self, asked: Asked, before: Snapshot, after: Snapshot, at: dt.datetime) -> int:
        (new_id,) = _all(after, "active").keys() - _all(before, "active").keys()
        old, date = self.series[asked.target], dt.date.fromisoformat(asked.given["date"])
        given = asked.given["given"] | {"starts_at": date.isoformat()}
        self.series[new_id] = SeriesCourse([*old.entries, (at, _merged(old.entry, given))], old.is_whole)
        old.entries.append((at, old.entry | {"ends_at": (date - _DAY).isoformat()}))
        return new_id

    def _edit_event(self, asked: Asked, row: EventRow) -> None:
        given = normal(asked.given)
        values = self._values.setdefault(asked.target, dict(row.values))
        values |= given
        if row.series_id is not None:
            of_series = normal(self.series[row.series_id].entry)
            own = self._own.setdefault(asked.target, set())
            own.difference_update(given)
            own.update(name for name in given if given[name] != of_series.get(name))

    def _see_gone(self, asked: Asked, before: Snapshot, after: Snapshot, at: dt.datetime) -> None:
        """See that a skipped date has no event, and a deleted series none that nobody could sign up for."""
        rows = _events(after)
        for event_id, row in _events(before).items():
            if row.series_id != asked.target or row.starts_at <= asked.bot_now:
                continue
            goes = row.state == "upcoming"
            if asked.kind is ActKind.SKIP:
                goes = row.state in _AHEAD and (row.slot or "").startswith(f"{asked.given['date']}T")
            if goes and event_id in rows and rows[event_id].state in _AHEAD:
                self._fault(at, f"event {event_id} still stands after {asked.kind}")
                self.removed[event_id] = at

    def _see_moves(self, asked: Asked | None, before: Snapshot, after: Snapshot, at: dt.datetime) -> None:
        """See that a new time is counted where people are to hear of it, and nowhere else."""
        rows = _events(before)
        for event_id, row in _events(after).items():
            was = rows.get(event_id)
            if was is None:
                continue
            said = [status for (kind, event, _), status in before.items() if kind == "signup" and event == event_id]
            tells = asked is not None and asked.kind is ActKind.MOVE_EVENT and asked.target == event_id
            tells &= was.state != "upcoming" and bool(_TOLD & set(said))
            tells &= asked is not None and asked.given.get("tell") is not False
            if row.changes - was.changes != tells:
                self._fault(at, f"event {event_id} counts {row.changes} new times after {was.changes}, tells: {tells}")

    def _see_schedules(self, asked: Asked, after: Snapshot, at: dt.datetime) -> None:
        """See that every event that follows its series begins when that returns."""
        for series_id, course in self.series.items():
            if not after.get(("active", series_id, 0)):
                continue
            first = asked.bot_now.date() - 2 * _DAY
            wanted = {one for one, _ in expected_occurrences(course.entry, first, first + 40 * _DAY)}
            for event_id, row in _events(after).items():
                follows = row.series_id == series_id and row.state == "upcoming" and not row.is_extra
                follows &= event_id not in self._moved and not self._own.get(event_id)
                if follows and row.starts_at > asked.bot_now and row.starts_at not in wanted:
                    self._fault(at, f"event {event_id} stands at {row.starts_at}, where its series has none")

    @property
    def moved(self) -> frozenset[int]:
        """The events that an admin moved."""
        return frozenset(self._moved)

    def _as_asked(self, row: EventRow) -> Values:
        if row.series_id is None:
            return normal(self._one_offs.get(row.values["name"], {}))
        return normal(self.series[row.series_id].entry)

    def _fault(self, at: dt.datetime, words: str) -> None:
        self.wrong.append(("unexpected", f"at {at}: {words}"))


def _merged(entry: Entry, given: Mapping[str, Any]) -> Entry:
    forgotten = {"day_of_week": None} if given.get("frequency", entry["frequency"]) != entry["frequency"] else {}
    return entry | forgotten | dict(given)


def _differs(was: Entry, entry: Entry) -> bool:
    """Return whether a series returns otherwise than it did."""
    return any(was.get(name) != entry.get(name) for name in ("frequency", "day_of_week", "time_of_day", "timezone"))


def _grid(entry: Entry, asked: Asked) -> set[str]:
    """Return the slots that a series has from now on, for as long as anybody looks."""
    first = asked.bot_now.date() - 2 * _DAY
    dates = [date for _, date in expected_occurrences(entry, first, first + 40 * _DAY)]
    return {f"{date.isoformat()}T{entry['time_of_day']}[{entry['timezone']}]" for date in dates}


def _moment_of(row: EventRow) -> dt.datetime:
    """Return when an event would begin by its slot; of one without, when it does."""
    if row.slot is None:
        return row.starts_at
    local, _, zone = row.slot.removesuffix("]").partition("[")
    (moment,) = [at for at, _ in expected_occurrences(_daily(local, zone), *[dt.date.fromisoformat(local[:10])] * 2)]
    return moment


def _daily(local: str, zone: str) -> Entry:
    return {
        "frequency": "daily",
        "interval": 1,
        "day_of_week": None,
        "time_of_day": local[11:],
        "timezone": zone,
        "starts_at": local[:10],
    }


def _events(now: Snapshot) -> dict[int, EventRow]:
    return {fact[1]: row for fact, row in now.items() if fact[0] == "event"}


def _differ(before: Snapshot, after: Snapshot) -> bool:
    return any(_all(before, kind) != _all(after, kind) for kind in ("event", "series", "active", "excepted"))


def _all(now: Snapshot, kind: str) -> dict[int, Any]:
    return {fact[1]: value for fact, value in now.items() if fact[0] == kind}


_SCHEDULE = ("frequency", "interval", "time_of_day", "timezone", "starts_at", "generate_days_ahead")


def _series_values(entry: Entry) -> Values:
    return {name: entry[name] for name in _SCHEDULE} | {"ends_at": entry.get("ends_at")} | normal(entry)
