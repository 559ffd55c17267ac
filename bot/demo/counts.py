"""What a run came to: the eight counts, over every kind of message and everybody it was for. Source: 08-quality.md."""

import datetime as dt
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, fields

from bot.demo.crashes import CrashingTransport
from bot.demo.expected import Wanted, wanted
from bot.demo.people import Members
from bot.demo.sightings import Sighting
from bot.leases.keys import ATTENDANCE_POST, EVENT_REPOST, PROFILE_UNREACHABLE
from bot.leases.sweep import SweepCounts
from bot.reminders import markers
from bot.scheduling.registry import REMINDERS
from bot.transactions import fetch, integer
from models.event import Event
from models.states import EventState

_Key = tuple[str, int, int]
"""A kind of message, an event's id, and to whom; 0: a post."""

# What no rule asks for beforehand: a post again after it was deleted, and who could not be reached.
_BROUGHT_BY_FAULTS = frozenset({EVENT_REPOST, PROFILE_UNREACHABLE})
_PARENTS = {ATTENDANCE_POST: markers.ATTENDANCE_REMINDER, PROFILE_UNREACHABLE: markers.PROFILE_REMINDER}
_SOURCES = {entry.log_source: entry.key for entry in REMINDERS}


@dataclass(slots=True)
class Counts:
    """
    The eight counts of a run, and how often the process died.

    ``attempted``: requests for a message; ``acknowledged``: those that were answered; ``ok``: messages that are visible
    once; ``lost``: due, and neither visible nor recorded as not sent; ``duplicated``: copies of one message;
    ``unexpected``: about an event that had begun, or that nobody asked for; ``recovered``: leases that a sweep brought
    to an end; ``unknown``: outcomes still open.
    """

    attempted: int = 0
    acknowledged: int = 0
    ok: int = 0
    lost: int = 0
    duplicated: int = 0
    unexpected: int = 0
    recovered: int = 0
    unknown: int = 0
    crashes: int = 0
    crashes_after_acceptance: int = 0
    crashes_at_opening: int = 0

    def as_line(self) -> str:
        """Return the counts on one line, name by name."""
        return " ".join(f"{one.name}={getattr(self, one.name)}" for one in fields(self))

    def add_process(self, transport: CrashingTransport, sweeps: SweepCounts) -> None:
        """Add what one process did until its end."""
        self.recovered += sweeps.found + sweeps.released
        self.attempted += transport.attempted
        self.acknowledged += transport.acknowledged
        self.crashes += transport.met
        self.crashes_after_acceptance += transport.met_after_acceptance
        self.crashes_at_opening += transport.met_at_opening

    async def judge(
        self, sightings: Sequence[Sighting], members: Members, *, start: dt.datetime, end: dt.datetime
    ) -> None:
        """Compare what became visible with what the rows ask for from ``start`` on, up to what was due at ``end``."""
        visible = Counter(one.key for one in sightings)
        self.ok = sum(1 for times in visible.values() if times == 1)
        self.duplicated = sum(times - 1 for times in visible.values())
        asked_for = [one for event in await Event.all() if not _was_cancelled(event) for one in wanted(event, members)]
        self.unexpected = _unexpected(sightings, {_key(one) for one in asked_for})
        settled = {_seen_key(one) for one in sightings} | await _recorded()
        due = [one for one in asked_for if start <= one.due_at < end]
        self.lost = sum(1 for one in due if not _is_settled(one, settled, members))
        rows = await fetch("SELECT COUNT(*) AS open FROM discord_message_log WHERE success IS NULL")
        self.unknown = integer(rows[0]["open"])


def _key(one: Wanted) -> _Key:
    return one.kind, one.event_id, one.recipient_id


def _seen_key(one: Sighting) -> _Key:
    return one.kind, one.event_id or 0, one.recipient_id


def _was_cancelled(event: Event) -> bool:
    """Return whether an event was cancelled before it began; one that never opened is cancelled a day later."""
    return event.state is EventState.CANCELLED and event.state_since < event.scheduled_at


def _is_settled(one: Wanted, settled: Collection[_Key], members: Members) -> bool:
    """Return whether a message is visible or there is a reason: its own, or that of the whole reminder."""
    whole = (_PARENTS.get(one.kind, one.kind), one.event_id, 0)
    return _key(one) in settled or whole in settled or members.was_shut_out(one.event_id, one.recipient_id)


def _unexpected(sightings: Sequence[Sighting], asked_for: Collection[_Key]) -> int:
    late = [one for one in sightings if one.occurrence is not None and (one.left_at or one.at) >= one.occurrence]
    nobodys = [
        one
        for one in sightings
        if one.event_id is not None and one.kind not in _BROUGHT_BY_FAULTS and _seen_key(one) not in asked_for
    ]
    return len({id(one) for one in [*late, *nobodys]})


async def _recorded() -> set[_Key]:
    """Return what the log has a reason for: those not sent are told there, and are not lost."""
    rows = await fetch(
        "SELECT DISTINCT source, source_id, recipient_id FROM discord_message_log WHERE success IS NOT NULL"
        " AND NOT success"
    )
    return {
        (_SOURCES.get(str(row["source"]), str(row["source"])), integer(row["source_id"]), integer(row["recipient_id"]))
        for row in rows
    }
