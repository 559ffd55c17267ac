"""
Tell a guild what its events began without.

What was missed since the last note was posted is gathered in one note, so that a long outage is one message and names
every event.
"""

import datetime as dt
from collections.abc import Sequence

from bot.message import timestamps
from bot.message.escaping import escape
from bot.ops_notes import raise_fault, untold_text
from models.event import Event

FAULT = "missed"
_HEADING = "Not announced before they began, since I was not running or could not reach Discord:"
_MOST_LINES = 15


async def tell_missed(guild_id: int, event_ids: Sequence[int], *, now: dt.datetime) -> None:
    """Write down that these events of the guild began without their reminder; call it in the recording transaction."""
    before = (await untold_text(guild_id, FAULT)).splitlines()[1:]
    events = await Event.filter(guild_id=guild_id, id__in=list(event_ids)).order_by("scheduled_at", "id")
    lines = [*before, *(f"- {escape(event.name)}, {timestamps.full(event.scheduled_at)}" for event in events)]
    # The newest stay: what is cut off stands in the log.
    shown = lines[-_MOST_LINES:] if len(lines) <= _MOST_LINES else ["- and earlier ones", *lines[-_MOST_LINES + 1 :]]
    await raise_fault(guild_id, FAULT, "\n".join([_HEADING, *shown]), now=now)
