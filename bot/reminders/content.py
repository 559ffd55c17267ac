"""What the reminders say: pure functions of fresh rows."""

from typing import TYPE_CHECKING

from bot.message import timestamps
from bot.message.escaping import escape
from bot.message.limits import EMBED_DESCRIPTION, EMBED_TITLE, cut
from bot.message.outgoing import Embed, EmbedField, OutgoingMessage
from models.states import EventState

if TYPE_CHECKING:
    from models.event import Event

_COLORS = {
    EventState.UPCOMING: 0x5865F2,
    EventState.SIGNUPS_OPEN: 0x2E9E5B,
    EventState.ROLL_CALL: 0xE0A030,
    EventState.IN_PROGRESS: 0x2E9E5B,
    EventState.COMPLETED: 0x80848E,
    EventState.CANCELLED: 0xC03C3C,
}


_SIGNUPS = {
    EventState.UPCOMING: "Not open yet",
    EventState.SIGNUPS_OPEN: "Open",
    EventState.ROLL_CALL: "Closed for the roll call",
    EventState.IN_PROGRESS: "Closed: it is running",
    EventState.COMPLETED: "Closed: it is over",
    EventState.CANCELLED: "Closed: it was cancelled",
}


def announcement_marker(event_id: int, *, reposts: int = 0) -> str:
    """Return what the post of an event is found again by; one posted again has its own."""
    return f"#{event_id}.{reposts}" if reposts else f"#{event_id}"


def announcement(event: "Event") -> OutgoingMessage:
    """Return the one post of an event as its row stands; only the series' own roles ping."""
    marker = announcement_marker(event.id, reposts=event.reposts)
    title = escape(event.name)
    if event.state is EventState.CANCELLED:
        title = f"Cancelled: {title}"
    roles = tuple(event.discord_announcement_role_ids)
    return OutgoingMessage(
        marker=marker,
        content=" ".join(f"<@&{role}>" for role in roles),
        embed=Embed(
            title=cut(title, EMBED_TITLE),
            description=cut(event.description, EMBED_DESCRIPTION),
            fields=tuple(_fields(event)),
            footer=marker,
            color=_COLORS[event.state],
        ),
        mention_role_ids=roles,
        version=event.post_version,
    )


def _fields(event: "Event") -> list[EmbedField]:
    places = "No limit" if event.max_players is None else str(event.max_players)
    found = [
        EmbedField("When", timestamps.full_and_relative(event.scheduled_at)),
        EmbedField("Lasts", duration(event.duration_minutes), inline=True),
        EmbedField("Places", places, inline=True),
    ]
    if event.created_by is not None:
        found.append(EmbedField("Host", f"<@{event.created_by}>", inline=True))
    return [*found, EmbedField("Sign-ups", signups(event))]


def signups(event: "Event") -> str:
    """Return one line on whether people can sign up."""
    if event.state is EventState.UPCOMING and event.signups_open_at is not None:
        return f"Open {timestamps.full_and_relative(event.signups_open_at)}"
    return _SIGNUPS[event.state]


def duration(minutes: int) -> str:
    """Return a span in words: ``2 h``, ``1 h 30 min``, ``45 min``."""
    hours, rest = divmod(minutes, 60)
    return " ".join(part for part in (f"{hours} h" if hours else "", f"{rest} min" if rest else "") if part)
