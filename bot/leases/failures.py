"""
What may become of a send, and what follows from it: pure decisions.

Source: 03-delivery.md, "Error classes" and "Retries".
"""

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum


class ErrorClass(StrEnum):
    """Why a send failed; decided by Discord's JSON code first, by the HTTP status second."""

    RECIPIENT_UNREACHABLE = "recipient_unreachable"
    OPENING_TOO_FAST = "opening_too_fast"
    FORBIDDEN = "forbidden"
    GONE = "gone"
    INVALID = "invalid"
    RATE_LIMITED = "rate_limited"
    CDN_BLOCK = "cdn_block"
    OUTAGE = "outage"
    UNAUTHORIZED = "unauthorized"
    NO_CHANNEL = "no_channel"
    NO_ROOM = "no_room"
    UNKNOWN_OUTCOME = "unknown_outcome"
    EVENT_STARTED = "event_started"


class Verdict(StrEnum):
    """What a failure means for its key."""

    TRANSIENT = "transient"
    PERMANENT = "permanent"
    UNKNOWN = "unknown"


# Not among them: ``unauthorized``. The process stops; its messages are sent once it runs with a token that is taken.
PERMANENT: frozenset[ErrorClass] = frozenset(
    {
        ErrorClass.RECIPIENT_UNREACHABLE,
        ErrorClass.FORBIDDEN,
        ErrorClass.GONE,
        ErrorClass.INVALID,
        ErrorClass.NO_CHANNEL,
        ErrorClass.NO_ROOM,
        ErrorClass.EVENT_STARTED,
    }
)
"""Failures that trying again at once does not make good."""

UNTOLD: frozenset[ErrorClass] = frozenset(
    {
        ErrorClass.OUTAGE,
        ErrorClass.RATE_LIMITED,
        ErrorClass.CDN_BLOCK,
        ErrorClass.UNAUTHORIZED,
        ErrorClass.EVENT_STARTED,
    }
)
"""Failures that no note of their own tells the admins: where one ends a reminder, the reminder itself is told."""


class SendError(Exception):
    """
    A send that did not end in an acknowledged message.

    ``may_have_arrived``: the request was written and Discord did not refuse it, so that the message may be visible.
    ``missing``: the permissions that the bot lacks there. ``retry_after``: how long Discord told it to wait.
    """

    def __init__(
        self,
        error_class: ErrorClass,
        text: str,
        *,
        status: int | None = None,
        may_have_arrived: bool = False,
        missing: Sequence[str] = (),
        retry_after: dt.timedelta | None = None,
    ) -> None:
        super().__init__(text)
        self.error_class = error_class
        self.text = text
        self.status = status
        self.may_have_arrived = may_have_arrived
        self.missing = tuple(missing)
        self.retry_after = retry_after

    @property
    def verdict(self) -> Verdict:
        """Return what follows: an outage after which nobody knows is unknown, never failed."""
        if self.may_have_arrived:
            return Verdict.UNKNOWN
        return Verdict.PERMANENT if self.error_class in PERMANENT else Verdict.TRANSIENT


@dataclass(frozen=True, slots=True)
class Backoff:
    """How long a failed key waits; by default 30 s, 1, 2, 4, 8, then 10 min, and an hour where it is permanent."""

    transient: tuple[dt.timedelta, ...] = tuple(dt.timedelta(seconds=s) for s in (30, 60, 120, 240, 480, 600))
    permanent: dt.timedelta = dt.timedelta(hours=1)

    def wait(self, verdict: Verdict, *, attempts: int, retry_after: dt.timedelta | None = None) -> dt.timedelta:
        """Return the wait after attempt number ``attempts`` (from 1); never shorter than Discord told to wait."""
        step = self.permanent
        if verdict is not Verdict.PERMANENT:
            step = self.transient[min(attempts, len(self.transient)) - 1]
        return max(step, retry_after) if retry_after is not None else step
