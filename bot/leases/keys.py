"""What makes a message the same message: its key, and the nonce made of it."""

import hashlib
from dataclasses import dataclass

from bot.message import limits

OPS_NOTE = "ops_note"
EVENT_REPOST = "event_repost"
NATIVE_EVENT = "native_event"
"""Sources beside the registry's: a note's id, and an event's; ``part`` counts revisions, and those before."""

PROMOTION = "promotion"
"""Who moved up from a waiting list, by the event's id and the person; ``part`` counts how often they did."""

TIME_CHANGED = "time_changed"
"""A new time, told to those who signed up, by the event's id; ``part`` counts the new times."""

ATTENDANCE_POST = "attendance_post"
PROFILE_UNREACHABLE = "profile_unreachable"
SIDE_POSTS = (ATTENDANCE_POST, PROFILE_UNREACHABLE)
"""Posts beside a fan-out, by the event's id: the fan-out drives their retries."""


@dataclass(frozen=True, slots=True)
class MessageKey:
    """
    One message that must not be doubled.

    ``recipient_id`` 0: not to one person. ``part`` 0: the first; what may happen again counts in it.
    """

    source: str
    source_id: int
    recipient_id: int = 0
    part: int = 0

    def __str__(self) -> str:
        """Return the key as a log shows it."""
        return f"{self.source}/{self.source_id}/{self.recipient_id}/{self.part}"


def nonce(key: MessageKey, *, target_id: int) -> str:
    """
    Return what Discord itself tells a second copy by: the same for every attempt at one message to one target.

    At most 25 characters, Discord's limit; a longer one is refused there and not checked by the library.
    """
    digest = hashlib.sha256(f"{key}@{target_id}".encode()).hexdigest()
    return digest[: limits.NONCE - 1]
