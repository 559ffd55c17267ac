"""
Why an event that is to stand in its server's own list of scheduled events does not stand there: one line for an admin.

The steps are taken by :mod:`bot.reminders.native_upkeep`, which writes the faults named here down as notes.
"""

import datetime as dt
from collections.abc import Collection
from typing import TYPE_CHECKING, Final

from bot.events import guild_sync
from bot.leases.keys import NATIVE_EVENT
from bot.message import timestamps
from bot.transactions import fetch
from models.states import AHEAD, EventState

if TYPE_CHECKING:
    from models.event import Event

FORBIDDEN: Final = "native:forbidden"
FULL: Final = "native:full"
"""The faults of a server in which the bot may not keep the list, and of one whose list takes no more."""

UNKNOWN: Final = "native:unknown"
"""Not a note: a request for it is out, and nobody knows yet whether it arrived."""

# The loop that takes the steps runs once a minute.
_SOON: Final = dt.timedelta(minutes=2)
_OVER: Final = frozenset({EventState.COMPLETED, EventState.CANCELLED})


def refused(event_id: int) -> str:
    """Return the fault of an event whose scheduled event Discord refused as invalid."""
    return f"native:invalid:{event_id}"


async def list_lines(event: "Event", *, now: dt.datetime) -> list[str]:
    """Return in a line why an event does not stand in its server's list; none where it does, or is over."""
    if event.discord_scheduled_event_id is not None or event.state in _OVER:
        return []
    if not event.discord_create_event:
        return ["It is not to stand in this server's list of scheduled events: that is off."]
    return [f"It does not stand in that list: {why_not_listed(event, await _faults(event), now=now)}."]


def why_not_listed(event: "Event", faults: Collection[str], *, now: dt.datetime) -> str:  # noqa: PLR0911 -- one each
    """Return why an event that is to stand in the list does not, given the ``faults`` that are not mended."""
    if event.state not in AHEAD or event.scheduled_at <= now:
        return "it has begun, and Discord takes none that has"
    if not guild_sync.may_be_made(event, now=now):
        return "somebody deleted it there by hand, and again when I made it anew; I do not make it a third time"
    if UNKNOWN in faults:
        return "I asked Discord for it and do not know yet whether that arrived; I look again every minute"
    if FORBIDDEN in faults:
        return "I lack Create Events or Manage Events; grant me both, I try again every hour"
    if refused(event.id) in faults:
        return "Discord refused it as invalid, which is a fault of mine and in the log; I try again every hour"
    again = event.native_due_at
    if FULL in faults:
        return "the list is full, as Discord takes 100 of a server; it gets its place once there is room"
    if again is not None and again > now + _SOON:
        return f"Discord takes nothing from me just now; I try again {timestamps.relative(again)}"
    return "I put it there within a minute or two"


async def _faults(event: "Event") -> set[str]:
    named = [FORBIDDEN, FULL, refused(event.id)]
    rows = await fetch(
        "SELECT fault FROM ops_note WHERE guild_id = $1 AND fault IN ($2, $3, $4) AND says <> ''",
        [event.guild_id, *named],
    )
    out = await fetch(
        "SELECT id FROM discord_message_log WHERE source = $1 AND source_id = $2 AND recipient_id = 0"
        " AND success IS NULL LIMIT 1",
        [NATIVE_EVENT, event.id],
    )
    return {str(row["fault"]) for row in rows} | ({UNKNOWN} if out else set())
