"""
Tell a guild what its events began without.

What was missed since the last note was posted is gathered in one note, so that a long outage is one message and names
every event.
"""

import datetime as dt
from collections.abc import Collection, Sequence

from bot.message import timestamps
from bot.message.escaping import escape
from bot.message.limits import length
from bot.ops_notes import LONGEST, raise_fault, untold_text
from bot.scheduling.registry import words_of
from models.event import Event

FAULT = "missed"
_HEADING = "Not sent before the event began, since I was not running or could not reach Discord:"
_MOST_LINES = 15

Missed = tuple[int, str]
"""An event's id, and the log source of the reminder that it began without, wholly or in part."""


async def tell_missed(guild_id: int, missed: Collection[Missed], *, now: dt.datetime) -> None:
    """Write down what events of the guild began without; call it in the recording transaction."""
    before = (await untold_text(guild_id, FAULT)).splitlines()[1:]
    events = await Event.filter(guild_id=guild_id, id__in=[event_id for event_id, _ in missed])
    lines = [*before]
    for event in sorted(events, key=lambda event: (event.scheduled_at, event.id)):
        what = [words_of(source) for event_id, source in missed if event_id == event.id]
        lines.append(f"- {escape(event.name)}, {timestamps.full(event.scheduled_at)}: {', '.join(what)}")
    await raise_fault(guild_id, FAULT, _note(lines), now=now)


def _note(lines: Sequence[str]) -> str:
    """Return the note with the newest of the lines, as many as fit: what is left out stands in the log."""
    shown = list(lines[-_MOST_LINES:])
    while True:
        left_out = ["- and earlier ones"] if len(shown) < len(lines) else []
        text = "\n".join([_HEADING, *left_out, *shown])
        if (length(text) <= LONGEST and len(left_out + shown) <= _MOST_LINES) or len(shown) <= 1:
            return text
        del shown[0]
