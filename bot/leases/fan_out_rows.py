"""
The rows of a fan-out: one parent without a message of its own, and one child per recipient.

The parent is a lease like any other, held as long as its children are under way; the children have the parent's source
and id and their recipient's. Source: 03-delivery.md, "Fan-out".
"""

import datetime as dt
import json
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass

from bot.clock import LeaseClock
from bot.leases import ledger
from bot.leases.failures import PERMANENT, ErrorClass
from bot.leases.keys import MessageKey
from bot.leases.ledger import Lease
from bot.transactions import fetch, in_list, integer, moment

# A failure of these classes is not made good by trying again; a child of any other is.
_SETTLED = PERMANENT | {ErrorClass.UNKNOWN_OUTCOME}
# What is done about a post beside a fan-out is an admin's to mend, and is then tried again.
_MENDABLE_POST = frozenset({ErrorClass.FORBIDDEN, ErrorClass.GONE, ErrorClass.NO_CHANNEL})


@dataclass(frozen=True, slots=True)
class FanOutCounts:
    """
    What became of the messages of one fan-out, its posts among them.

    ``unreachable``: the person takes no DM; ``failed``: refused otherwise, or nobody knows; ``withdrawn``: no longer
    wanted when its turn came; ``too_late``: the event had begun.
    """

    sent: int = 0
    unreachable: int = 0
    failed: int = 0
    withdrawn: int = 0
    too_late: int = 0

    @property
    def are_of_nobody(self) -> bool:
        """Return whether there was nobody to ask, or nobody any more when their turn came."""
        return not (self.sent or self.unreachable or self.failed or self.too_late)

    def as_data(self) -> dict[str, int]:
        """Return the counts by their names."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Child:
    """
    What the log says of one child.

    ``sent``: it arrived. ``open``: under way, or nobody knows. Else it failed with ``error_class``, for good where
    ``settled``, or until ``next_attempt_at``, None: it may be tried at once.
    """

    sent: bool = False
    open: bool = False
    error_class: ErrorClass | None = None
    settled: bool = False
    next_attempt_at: dt.datetime | None = None

    def is_wanted(self, *, is_over: bool) -> bool:
        """
        Return whether something is still to come of a child, or to be recorded: it is neither sent nor settled.

        What was too late is not, unless the occasion is over: it was put off.
        """
        if self.error_class is ErrorClass.EVENT_STARTED and not is_over:
            return True
        return not (self.sent or self.settled)

    def is_due(self, clock: dt.datetime) -> bool:
        """Return whether a child that is neither sent nor open nor settled may be tried, by the lease clock."""
        return self.next_attempt_at is None or self.next_attempt_at <= clock


async def children(parent: MessageKey) -> dict[int, Child]:
    """Return what the log says of the children of a parent, by recipient; one that was never tried is not in it."""
    # In two halves, since the live and the failed rows of the log have an index each.
    half = (
        "SELECT id, recipient_id, success, error_class, next_attempt_at FROM discord_message_log"
        " WHERE source = $1 AND source_id = $2 AND recipient_id <> 0 AND part = $3"
    )
    rows = await fetch(
        f"{half} AND (success IS NULL OR success) UNION ALL {half} AND NOT success ORDER BY id",
        [parent.source, parent.source_id, parent.part],
    )
    found: dict[int, Child] = {}
    for row in rows:
        recipient = integer(row["recipient_id"])
        if row["success"] is None or row["success"] or not _is_live(found.get(recipient)):
            found[recipient] = _child(row, _SETTLED)
    return found


def _is_live(child: Child | None) -> bool:
    return child is not None and (child.sent or child.open)


async def post_row(key: MessageKey) -> Child | None:
    """Return what the log says of a post beside a fan-out; None: it was never tried."""
    # In two halves, as above: asked for at once, neither index is used.
    half = (
        "SELECT id, success, error_class, next_attempt_at FROM discord_message_log"
        " WHERE source = $1 AND source_id = $2 AND recipient_id = $3 AND part = $4"
    )
    rows = await fetch(
        f"{half} AND (success IS NULL OR success) UNION ALL {half} AND NOT success ORDER BY id DESC LIMIT 1",
        [key.source, key.source_id, key.recipient_id, key.part],
    )
    return _child(rows[0], _SETTLED - _MENDABLE_POST) if rows else None


def _child(row: dict[str, object], settled: Collection[ErrorClass]) -> Child:
    if row["success"] is None:
        return Child(open=True)
    if row["success"]:
        return Child(sent=True)
    error_class = _error_class(row["error_class"])
    if error_class is None or error_class in settled:
        return Child(error_class=error_class, settled=True)
    again = moment(row["next_attempt_at"]) if row["next_attempt_at"] is not None else None
    return Child(error_class=error_class, next_attempt_at=again)


def _error_class(value: object) -> ErrorClass | None:
    """Return the class of a failed row; None for one that only another version of the bot knows."""
    return next((known for known in ErrorClass if known.value == value), None)


async def finish_parent(lease: Lease, counts: FanOutCounts, *, lease_clock: LeaseClock) -> bool:
    """Record that every child of a parent is settled, with how many became what; False: the lease was taken away."""
    return await ledger.finalize_counted(lease, json.dumps(counts.as_data()), lease_clock=lease_clock)


async def asked_nobody(event_id: int, sources: Sequence[str]) -> frozenset[str]:
    """Return of which of the sources the fan-out about an event is finished, and had nobody to ask."""
    if not sources:
        return frozenset()
    rows = await fetch(
        "SELECT source, embed_data FROM discord_message_log WHERE success AND source_id = $1 AND recipient_id = 0"  # noqa: S608
        f" AND part = 0 AND source IN {in_list(sources, first=2)}",
        [event_id, *sources],
    )
    return frozenset(str(row["source"]) for row in rows if _counted(row["embed_data"]).are_of_nobody)


def _counted(data: object) -> FanOutCounts:
    known = json.loads(data) if isinstance(data, str) else data
    # What another version of the bot wrote may have counted somebody.
    return FanOutCounts(**known) if isinstance(known, dict) and known.keys() == _NAMES else FanOutCounts(sent=1)


_NAMES = FanOutCounts().as_data().keys()
