"""When an open lease may be looked into: a pure decision. Source: 03-delivery.md, "Sweeper"."""

import datetime as dt
from dataclasses import dataclass
from enum import StrEnum

from bot.leases.ledger import HeldRow
from bot.leases.send_once import RESEND_AFTER


class Holder(StrEnum):
    """Who has an open lease, seen from this process."""

    MINE_RUNNING = "mine_running"
    MINE_UNSENT = "mine_unsent"
    MINE_UNKNOWN = "mine_unknown"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class SweepOptions:
    """
    ``lease_timeout``: a call this old never returned; ``dead_after``: a silence after which an instance is dead;
    ``failed_retention``: how long a failure keeps its key; ``give_up_after``: how long an outcome may stay unknown.
    """  # noqa: D205 -- the options are the summary

    lease_timeout: dt.timedelta = dt.timedelta(minutes=5)
    dead_after: dt.timedelta = dt.timedelta(seconds=30)
    failed_retention: dt.timedelta = dt.timedelta(hours=1)
    give_up_after: dt.timedelta = dt.timedelta(hours=24)


def reconcilable_at(row: HeldRow, holder: Holder, options: SweepOptions) -> dt.datetime:
    """
    Return from when on the row may be reconciled: never earlier than a minute after its claim.

    A lease of a running task of this process, or of another that lives, waits for the timeout. One whose outcome this
    process does not know, or whose instance is dead or gone, waits for that minute only; the parent of a fan-out, which
    has no message of its own, for nothing more once its instance is dead or gone. What this process claimed without
    hearing of it, so that no request was written, waits for nothing.
    """
    # Without a marker no request can have left: such a row waits for nothing but its holder.
    earliest = row.last_touched + (RESEND_AFTER if row.marker is not None else dt.timedelta(0))
    timeout = row.last_touched + options.lease_timeout
    match holder:
        case Holder.MINE_RUNNING:
            return timeout
        case Holder.MINE_UNSENT:
            return row.last_touched
        case Holder.MINE_UNKNOWN:
            return earliest
        case Holder.OTHER:
            if row.heartbeat_at is None:
                return earliest
            return max(earliest, min(timeout, row.heartbeat_at + options.dead_after))
