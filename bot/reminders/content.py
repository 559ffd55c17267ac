"""What the reminders say: pure functions of fresh rows."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bot.message import timestamps
from bot.message.escaping import escape
from bot.message.limits import CONTENT, EMBED_DESCRIPTION, EMBED_TITLE, cut, length
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
    roles, pings = role_pings(event.discord_announcement_role_ids)
    return OutgoingMessage(
        marker=marker,
        content=pings,
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


def role_pings(role_ids: Sequence[int]) -> tuple[tuple[int, ...], str]:
    """Return the roles that fit into one message, each once, and the text that pings them; the rest is counted."""
    roles = tuple(dict.fromkeys(role_ids))
    mentions = [f"<@&{role}>" for role in roles]
    text, shown = " ".join(mentions), len(roles)
    while length(text) > CONTENT:
        shown -= 1
        text = " ".join([*mentions[:shown], f"+{len(roles) - shown} more"])
    return roles[:shown], text


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
    """Return a span in words, never empty: ``2 h``, ``1 h 30 min``, ``45 min``."""
    hours, rest = divmod(minutes, 60)
    parts = [f"{hours} h"] if hours else []
    return " ".join([*parts, f"{rest} min"] if rest or not hours else parts)
