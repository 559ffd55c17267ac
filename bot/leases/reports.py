"""What became of one call of the one way out, and how a message is withdrawn before it is claimed."""

import datetime as dt
from dataclasses import dataclass
from enum import StrEnum

from bot.leases.failures import SendError


class SendResult(StrEnum):
    """What became of one call; ``begun``: a fan-out was taken up, its messages follow."""

    SENT = "sent"
    ALREADY_CLAIMED = "already_claimed"
    FAILED_TRANSIENT = "failed_transient"
    FAILED_PERMANENT = "failed_permanent"
    UNKNOWN = "unknown"
    WITHDRAWN = "withdrawn"
    BEGUN = "begun"


@dataclass(frozen=True, slots=True)
class SendReport:
    """
    What became of one call, and why; ``error`` None: it was sent, or never tried.

    ``next_attempt_at`` is by the lease clock; None: nothing is to be tried again by itself, or nobody knows yet.
    """

    result: SendResult
    error: SendError | None = None
    next_attempt_at: dt.datetime | None = None


class WithdrawnError(Exception):
    """Raised by a renderer whose message is no longer to be sent: nothing is claimed."""
