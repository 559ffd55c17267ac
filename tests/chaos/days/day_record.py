"""
What a simulated day leaves to be judged: every message with the moment it left, and what people had said by when.

Facts (who signed up, how each event stands) are read from the rows right before and after each act, past the faults, so
that it is known what an act that failed has changed, and how everything stood at any moment.
"""

import dataclasses
import datetime as dt
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from bot.demo.trace import Trace
from bot.demo.troubled_life import Disturbance
from bot.transactions import fetch, integer
from tests.chaos.days.day_plan import DayPlan, Entry
from tests.chaos.days.day_rows import Fact

_EVER = dt.datetime(2000, 1, 1, tzinfo=dt.UTC)


@dataclass(frozen=True, slots=True)
class Seen:
    """A message that became visible; ``left_at`` and ``left_by_bot``: when its request left, by world and by bot."""

    at: dt.datetime
    left_at: dt.datetime
    left_by_bot: dt.datetime
    kind: str
    event_id: int
    part: int
    recipient: int

    @property
    def key(self) -> tuple[str, int, int, int]:
        return self.kind, self.event_id, self.part, self.recipient


@dataclass(frozen=True, slots=True)
class LogRow:
    kind: str
    event_id: int
    recipient: int
    part: int
    success: bool | None
    error_class: str | None


class Facts:
    """Facts with their moments, as far as somebody's act changed them."""

    def __init__(self) -> None:
        self._moments: dict[Fact, list[dt.datetime]] = defaultdict(list)
        self._values: dict[Fact, list[Any]] = defaultdict(list)

    def note(self, before: dict[Fact, Any], after: dict[Fact, Any], at: dt.datetime) -> None:
        """
        Keep what is different from before, as of ``at``.

        An event that was not known until then has stood so since it was made: what time alone moves is no change.
        """
        for known in (before, after):
            for fact, row in known.items():
                if fact[0] == "event" and not self._moments.get(fact):
                    state = row.state if row.state == "cancelled" else "upcoming"
                    self._keep(fact, _EVER, dataclasses.replace(row, state=state))
        for fact in sorted(before.keys() | after.keys()):
            is_new = fact[0] == "event" and fact not in before
            if before.get(fact) != after.get(fact) and not is_new:
                self._keep(fact, at, after.get(fact))

    def _keep(self, fact: Fact, at: dt.datetime, value: object) -> None:
        self._moments[fact].append(at)
        self._values[fact].append(value)

    def excepted(self, series_id: int) -> set[dt.date]:
        """Return the dates that a series skipped, or from which an event was moved, at any time."""
        return {dt.date.fromordinal(fact[2]) for fact in self._moments if fact[:2] == ("excepted", series_id)}

    def events(self) -> list[int]:
        """Return the ids of all events that were ever seen."""
        return sorted(fact[1] for fact, moments in self._moments.items() if fact[0] == "event" and moments)

    def at(self, fact: Fact, when: dt.datetime) -> Any:  # noqa: ANN401 -- each kind has its own values
        """Return what was so at a moment, None: nothing was said of it by then."""
        place = bisect_right(self._moments[fact], when)
        return self._values[fact][place - 1] if place else None

    def changes(self, facts: Iterable[Fact]) -> list[dt.datetime]:
        """Return when any of these changed."""
        return sorted({when for fact in facts for when in self._moments[fact]})

    def history(self, fact: Fact) -> list[tuple[dt.datetime, Any]]:
        return list(zip(self._moments[fact], self._values[fact], strict=True))


@dataclass(slots=True)
class SeriesCourse:
    """
    What was asked for of a series: each entry since when.

    ``is_whole``: it was neither paused nor deleted, so that every event that is due to be made was made.
    """

    entries: list[tuple[dt.datetime, Entry]]
    is_whole: bool = True

    @property
    def entry(self) -> Entry:
        """What was asked for last."""
        return self.entries[-1][1]


@dataclass(slots=True)
class DayRecord:
    """
    Everything that is judged of a day.

    ``notes``: what each ops note is about, and how often its words changed. ``moved``: the events that an admin moved.
    ``removed``: since when an event should be gone that still stood. ``wrong_rows``: what an act should have made of
    the rows and did not, by the count that it belongs to.
    """

    plan: DayPlan
    trace: Trace
    ended_at: dt.datetime
    user_ids: tuple[int, ...] = ()
    seen: list[Seen] = field(default_factory=list)
    facts: Facts = field(default_factory=Facts)
    log: list[LogRow] = field(default_factory=list)
    series: dict[int, SeriesCourse] = field(default_factory=dict)
    moved: frozenset[int] = frozenset()
    removed: dict[int, dt.datetime] = field(default_factory=dict)
    wrong_rows: list[tuple[str, str]] = field(default_factory=list)
    notes: dict[int, tuple[str, int]] = field(default_factory=dict)
    disturbances: list[Disturbance] = field(default_factory=list)
    attempted: int = 0
    acknowledged: int = 0
    recovered: int = 0
    kills: int = 0


async def read_notes() -> dict[int, tuple[str, int]]:
    """Return each ops note's fault and revision."""
    rows = await fetch("SELECT id, fault, revision FROM ops_note ORDER BY id")
    return {integer(row["id"]): (str(row["fault"]), integer(row["revision"])) for row in rows}


_KINDS = {"event_announcement": "announcement"}


async def read_log() -> list[LogRow]:
    """Return the message log, oldest first, with the kinds that the markers know."""
    rows = await fetch(
        "SELECT source, source_id, recipient_id, part, success, error_class FROM discord_message_log ORDER BY id"
    )
    return [
        LogRow(
            _KINDS.get(str(row["source"]), str(row["source"])),
            integer(row["source_id"]),
            integer(row["recipient_id"]),
            integer(row["part"]),
            None if row["success"] is None else bool(row["success"]),
            str(row["error_class"]) if row["error_class"] is not None else None,
        )
        for row in rows
    ]
