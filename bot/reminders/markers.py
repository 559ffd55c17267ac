"""
What a message about an event is told by in a history, and by whoever watches what becomes visible: made and read here.

A marker stands in the message itself and is one key's alone: the event's id, and a word for each kind of message but
the announcement. A post that was posted again has how often in the word's place.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from bot.leases.keys import ATTENDANCE_POST, EVENT_REPOST, PROFILE_UNREACHABLE, PROMOTION, TIME_CHANGED

ANNOUNCEMENT: Final = "announcement"
SIGNUP_REMINDER: Final = "signup_reminder"
ATTENDANCE_REMINDER: Final = "attendance_reminder"
PROFILE_REMINDER: Final = "profile_reminder"
"""Kinds of messages about an event: the registry's keys; beside them the posts of :mod:`bot.leases.keys`."""

# These stand in messages that Discord keeps: a word that changes loses what was sent under it.
_WORDS: Final[Mapping[str, str]] = {
    SIGNUP_REMINDER: "sign-up",
    ATTENDANCE_REMINDER: "attendance",
    ATTENDANCE_POST: "roll call",
    PROFILE_REMINDER: "profile",
    PROFILE_UNREACHABLE: "profiles",
    PROMOTION: "place",
    TIME_CHANGED: "new time",
}
_KINDS: Final = {word: kind for kind, word in _WORDS.items()}
_FORM: Final = re.compile(
    r"#(?P<event>[1-9][0-9]{0,18})"
    r"(?:\.(?P<reposts>[1-9][0-9]{0,9})| (?P<word>[a-z][a-z -]*[a-z])(?: (?P<part>[1-9][0-9]{0,9}))?)?"
)


@dataclass(frozen=True, slots=True)
class Marked:
    """
    What a marker says: the kind of message, its event, and how often it had been posted again.

    ``part`` numbers what comes more than once about an event, from 1; 0: it comes once.
    """

    kind: str
    event_id: int
    reposts: int = 0
    part: int = 0


def mark(kind: str, event_id: int, *, part: int = 0) -> str:
    """
    Return the marker of a message about an event; ``part`` numbers one that comes more than once.

    Raises:
        KeyError: no such kind of message has a marker.
    """
    if kind == ANNOUNCEMENT:
        return f"#{event_id}"
    return f"#{event_id} {_WORDS[kind]} {part}" if part else f"#{event_id} {_WORDS[kind]}"


def mark_post(event_id: int, *, reposts: int) -> str:
    """Return the marker of the one post of an event; one posted again has its own."""
    return f"#{event_id}.{reposts}" if reposts else mark(ANNOUNCEMENT, event_id)


def read(marker: str) -> Marked | None:
    """Return what a marker says, None where it is not one of a message about an event."""
    found = _FORM.fullmatch(marker)
    if found is None:
        return None
    event_id, reposts, word = int(found["event"]), int(found["reposts"] or 0), found["word"]
    if reposts:
        return Marked(EVENT_REPOST, event_id, reposts)
    kind = ANNOUNCEMENT if word is None else _KINDS.get(word)
    return Marked(kind, event_id, part=int(found["part"] or 0)) if kind is not None else None
