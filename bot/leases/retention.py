"""
Let go of rows of the message log whose time is over, so that it does not grow for ever.

A row goes ``keep`` after the later of two moments: its own end, and the end of the event that it is about. Nothing
reads the log of an event that has been over for so long: it is sent nothing, not put off, and its post is known by the
event. What stays, however old: what is open, and whatever else is about its event; a failure that will be tried again;
what is about an event that is ahead, runs, or waits to be told as missed; the last word of each note to admins; and
every source that this version does not know. Source: 06-operations.md, ``sent_retention_days``.
"""

import datetime as dt
from dataclasses import dataclass
from typing import Final

import structlog

from bot.clock import LeaseClock
from bot.leases.event_rows import event_sources
from bot.leases.keys import OPS_NOTE
from bot.transactions import fetch, in_list, integer
from models.states import EventState

_log = structlog.get_logger(__name__)

MOST_A_PASS: Final = 1_000
"""So many rows are looked at in one statement: so that nobody who writes waits for long, however long the log is."""

_GO_ON: Final = dt.timedelta(seconds=1)
_OVER: Final = ", ".join(f"'{state.value}'" for state in (EventState.COMPLETED, EventState.CANCELLED))
# $1 is the last moment whose rows go. ``state_since`` says since when the event is over; one that was cancelled ahead
# of its time may be revived until then.
_ENDED: Final = (
    "SELECT l.id FROM discord_message_log l WHERE l.success IS NOT NULL AND (l.success OR l.next_attempt_at IS NULL)"
    " AND COALESCE(l.finished_at, l.claimed_at) <= $1 AND l.id > $2 AND l.id <= $3"
)
_NOTHING_OPEN: Final = (
    " AND NOT EXISTS (SELECT 1 FROM discord_message_log o WHERE o.success IS NULL AND o.source_id = l.source_id)"
)
_OF_EVENTS: Final = (
    f" AND NOT EXISTS (SELECT 1 FROM event e WHERE e.id = l.source_id"  # noqa: S608 -- our own words
    f" AND NOT (e.state IN ({_OVER}) AND e.state_since <= $1 AND e.scheduled_at <= $1))"
    " AND NOT EXISTS (SELECT 1 FROM reminder_due d WHERE d.event_id = l.source_id)"
)
_OF_NOTES: Final = " AND NOT EXISTS (SELECT 1 FROM ops_note n WHERE n.id = l.source_id AND n.revision <= l.part)"


@dataclass(frozen=True, slots=True)
class Looked:
    """What came of one look: how many rows went, and up to which id it looked; None: it came to the end."""

    gone: int
    up_to: int | None


class Retention:
    """
    Clears the message log, from its beginning to its end and then again.

    ``keep``: how long a row stays once it and its event are over; ``every``: how far apart two such rounds are.
    """

    def __init__(self, *, lease_clock: LeaseClock, keep: dt.timedelta, every: dt.timedelta) -> None:
        self._lease_clock = lease_clock
        self._keep = keep
        self._every = every
        self._up_to = 0

    async def forget_old_messages(self, now: dt.datetime) -> dt.datetime | None:
        """Look at up to :data:`MOST_A_PASS` rows and let go of those whose time is over; return when to go on."""
        before = await self._lease_clock.now() - self._keep
        looked = await forget_ended(before=before, after=self._up_to, most=MOST_A_PASS)
        self._up_to = looked.up_to or 0
        if looked.gone:
            _log.info("old_messages_forgotten", count=looked.gone)
        return now + (_GO_ON if looked.up_to is not None else self._every)


async def forget_ended(*, before: dt.datetime, most: int, after: int = 0) -> Looked:
    """Of the next ``most`` rows whose id is above ``after``, let go of those that ended, as their events did."""
    page = await fetch(
        "SELECT MAX(id) AS last, COUNT(*) AS found FROM"
        " (SELECT id FROM discord_message_log WHERE id > $1 ORDER BY id LIMIT $2) AS page",
        [after, most],
    )
    if not integer(page[0]["found"]):
        return Looked(gone=0, up_to=None)
    last = integer(page[0]["last"])
    sources = event_sources()
    known = f" AND l.source IN {in_list(sources, first=5)}"
    ended = f"{_ENDED}{_NOTHING_OPEN}{known}{_OF_EVENTS} UNION ALL {_ENDED}{_NOTHING_OPEN} AND l.source = $4{_OF_NOTES}"
    rows = await fetch(
        "DELETE FROM discord_message_log WHERE success IS NOT NULL"  # noqa: S608 -- parameters and our own words
        f" AND id > $2 AND id <= $3 AND id IN ({ended}) RETURNING id",
        [before, after, last, OPS_NOTE, *sources],
    )
    return Looked(gone=len(rows), up_to=last if integer(page[0]["found"]) == most else None)
