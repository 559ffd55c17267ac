"""
What a simulated day leaves to be judged: every message with the moment it left, and what people had said by when.

Facts (who signed up, which state an admin moved an event to) are read from the rows right before and after each act,
past the faults, so that it is known what an act that failed has changed.
"""

import datetime as dt
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from bot.demo.trace import Trace
from bot.demo.troubled_life import Disturbance
from bot.transactions import fetch, integer, moment
from tests.chaos.days.day_plan import DayPlan, Entry

Fact = tuple[str, int, int]
"""What it is about: a kind of fact, and one or two ids."""


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
class StoredEvent:
    """An event as it is stored; ``entry`` is what was asked for when it or its series was created."""

    id: int
    series_id: int | None
    name: str
    starts_at: dt.datetime
    created_at: dt.datetime
    entry: Entry


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
        """Keep what is different from before, as of ``at``; that an event is there is no move of its state."""
        for fact in sorted(before.keys() | after.keys()):
            is_new = fact[0] == "state" and fact not in before
            if before.get(fact) != after.get(fact) and not is_new:
                self._moments[fact].append(at)
                self._values[fact].append(after.get(fact))

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
class DayRecord:
    """Everything that is judged of a day; ``notes``: what each ops note is about, and how often its words changed."""

    plan: DayPlan
    trace: Trace
    ended_at: dt.datetime
    user_ids: tuple[int, ...] = ()
    seen: list[Seen] = field(default_factory=list)
    facts: Facts = field(default_factory=Facts)
    events: list[StoredEvent] = field(default_factory=list)
    log: list[LogRow] = field(default_factory=list)
    series: dict[int, Entry] = field(default_factory=dict)
    notes: dict[int, tuple[str, int]] = field(default_factory=dict)
    disturbances: list[Disturbance] = field(default_factory=list)
    attempted: int = 0
    acknowledged: int = 0
    recovered: int = 0
    kills: int = 0


async def read_facts() -> dict[Fact, Any]:
    """Return what is so now, by the rows."""
    found: dict[Fact, Any] = {}
    for row in await fetch("SELECT event_id, user_id, status FROM event_signup"):
        found["signup", integer(row["event_id"]), integer(row["user_id"])] = str(row["status"])
    for row in await fetch("SELECT series_id, user_id FROM repeater_subscription"):
        found["subscribed", integer(row["series_id"]), integer(row["user_id"])] = True
    for row in await fetch("SELECT user_id FROM player_profile"):
        found["profile", integer(row["user_id"]), 0] = True
    for row in await fetch("SELECT id, state FROM event"):
        found["state", integer(row["id"]), 0] = str(row["state"])
    for row in await fetch("SELECT id, is_active FROM event_repeater"):
        found["active", integer(row["id"]), 0] = bool(row["is_active"])
    return found


async def read_events(entries: dict[str, Entry]) -> list[StoredEvent]:
    """Return every stored event with what was asked for under its name."""
    rows = await fetch("SELECT id, series_id, name, scheduled_at, created_at FROM event ORDER BY id")
    return [
        StoredEvent(
            integer(row["id"]),
            integer(row["series_id"]) if row["series_id"] is not None else None,
            str(row["name"]),
            moment(row["scheduled_at"]),
            moment(row["created_at"]),
            entries[str(row["name"])],
        )
        for row in rows
    ]


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
