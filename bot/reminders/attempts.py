"""What the message log holds of one event's messages, as an admin asks for it."""

import datetime as dt
import json
from collections.abc import Sequence
from dataclasses import dataclass, field

from bot.leases.keys import SIDE_POSTS
from bot.scheduling.registry import registered
from bot.transactions import fetch, in_list, integer, moment


@dataclass(frozen=True, slots=True)
class LoggedAttempt:
    """
    One attempt.

    ``part`` counts what may come again. ``success`` None: it is under way, or nobody knows yet what became of it.
    ``counts``: what became of how many, for a reminder to many that is done.
    """

    source: str
    recipient_id: int
    success: bool | None
    began_at: dt.datetime
    part: int = 0
    error_class: str | None = None
    next_attempt_at: dt.datetime | None = None
    channel_id: int | None = None
    message_id: int | None = None
    counts: dict[str, int] = field(default_factory=dict)


class Attempts:
    """The attempts at an event's reminders, oldest first."""

    def __init__(self, attempts: Sequence[LoggedAttempt]) -> None:
        self._attempts = attempts

    def live(self, source: str, recipient_id: int = 0) -> LoggedAttempt | None:
        """Return the attempt that arrived, or is under way."""
        return next((one for one in self._of(source, recipient_id) if one.success is not False), None)

    def last_failure(self, source: str, recipient_id: int = 0) -> LoggedAttempt | None:
        """Return the newest attempt that failed."""
        return next((one for one in reversed(self._of(source, recipient_id)) if one.success is False), None)

    def _of(self, source: str, recipient_id: int) -> list[LoggedAttempt]:
        return [one for one in self._attempts if (one.source, one.recipient_id) == (source, recipient_id)]


async def attempts_at(
    guild_id: int,
    event_id: int,
    *,
    person: int | None = None,
    sources: Sequence[str] | None = None,
    part: int = 0,
) -> Attempts:
    """
    Return the attempts at what an event sends as a whole, and at the DMs of one person.

    ``sources`` None: its reminders and the posts beside them.
    """
    asked = sources if sources is not None else [*(entry.log_source for entry in registered()), *SIDE_POSTS]
    people = [0, *([person] if person is not None else [])]
    where = f"source IN {in_list(asked, first=4)} AND recipient_id IN {in_list(people, first=4 + len(asked))}"
    return Attempts(await _read(f"{where} AND part = $3", [guild_id, event_id, part, *asked, *people]))


async def attempts_to_all(guild_id: int, event_id: int, source: str) -> list[LoggedAttempt]:
    """Return the attempts at everybody's DMs of one source, oldest first, whatever their parts."""
    return await _read("source = $3 AND recipient_id <> 0", [guild_id, event_id, source])


async def _read(where: str, values: Sequence[object]) -> list[LoggedAttempt]:
    # In two halves, since the live and the failed rows of the log have an index each.
    half = (
        "SELECT id, source, recipient_id, part, success, claimed_at, error_class, next_attempt_at, channel_id,"  # noqa: S608
        f" discord_message_id, embed_data FROM discord_message_log WHERE {where}"
        " AND source_id = $2 AND guild_id = $1"
    )
    rows = await fetch(f"{half} AND (success IS NULL OR success) UNION ALL {half} AND NOT success", list(values))
    return [_attempt(row) for row in sorted(rows, key=lambda row: integer(row["id"]))]


def _attempt(row: dict[str, object]) -> LoggedAttempt:
    success = row["success"]
    return LoggedAttempt(
        source=str(row["source"]),
        recipient_id=integer(row["recipient_id"]),
        success=bool(success) if success is not None else None,
        began_at=moment(row["claimed_at"]),
        part=integer(row["part"]),
        error_class=str(row["error_class"]) if row["error_class"] is not None else None,
        next_attempt_at=moment(row["next_attempt_at"]) if row["next_attempt_at"] is not None else None,
        channel_id=integer(row["channel_id"]) if row["channel_id"] is not None else None,
        message_id=integer(row["discord_message_id"]) if row["discord_message_id"] is not None else None,
        counts=_counts(row["embed_data"]) if success else {},
    )


def _counts(data: object) -> dict[str, int]:
    known = json.loads(data) if isinstance(data, str) else data
    if not isinstance(known, dict):
        return {}
    return {str(name): count for name, count in known.items() if isinstance(count, int)}
