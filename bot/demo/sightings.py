"""What became visible in a world: each new message of the bot told as one row."""

import datetime as dt
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from bot.demo.expected import due_moment
from bot.demo.world import World
from bot.leases.keys import OPS_NOTE
from bot.reminders import markers
from models.event import Event

# Discord's flag of a message that only one person sees: an answer, which may come as often as somebody asks.
_EPHEMERAL = 1 << 6
_CHANNEL = re.compile(r"<#(\d+)>")


@dataclass(frozen=True, slots=True)
class Sighting:
    """
    One message that became visible.

    ``marker``: what it is told by, its key's alone but for the recipient. ``due_at``: when it was due, for what the
    registry sends; else None. ``recipient``: to whom it went as a DM, None for a post, which has a channel instead.
    ``names``: whom it pings. ``left_at``: when its request was written, where that is not the same.
    """

    at: dt.datetime
    marker: str
    kind: str
    event_id: int | None
    series: str | None
    occurrence: dt.datetime | None
    due_at: dt.datetime | None
    channel: str | None
    recipient: str | None
    recipient_id: int
    title: str
    names: tuple[str, ...] = ()
    left_at: dt.datetime | None = None

    @property
    def key(self) -> tuple[str, int]:
        """What must not become visible twice."""
        return self.marker, self.recipient_id

    def as_row(self) -> dict[str, str | None]:
        """Return the row that ``tocsin simulate`` prints."""
        return {
            "at": self.at.isoformat(),
            "kind": self.kind,
            "series": self.series,
            "occurrence": self.occurrence.isoformat() if self.occurrence is not None else None,
            "channel": self.channel,
            "recipient": self.recipient,
        }


@dataclass(frozen=True, slots=True)
class _Seen:
    at: dt.datetime
    channel_id: int
    recipient_id: int
    marker: str
    title: str
    named: tuple[int, ...]
    left_at: dt.datetime | None


class Watcher:
    """
    Hears each message as it becomes visible, and tells what it was once the rows can be asked.

    ``left_at`` tells when the request was written that Discord takes now, None: it is not known.
    """

    def __init__(self, world: World, *, left_at: Callable[[], dt.datetime | None] = lambda: None) -> None:
        self._world = world
        self._left_at = left_at
        self._seen: list[_Seen] = []
        world.on_message(self._hear)

    def _hear(self, payload: Mapping[str, Any]) -> None:
        if int(payload.get("flags") or 0) & _EPHEMERAL or not self._world.is_bot(int(payload["author"]["id"])):
            return
        embed = (payload.get("embeds") or [{}])[0]
        marker = (embed.get("footer") or {}).get("text", "")
        shown = embed.get("title" if markers.read(marker) is not None else "description")
        channel_id = int(payload["channel_id"])
        recipient_id = self._world.recipient_of(channel_id) or 0
        title = str(shown or payload.get("content", ""))
        named = tuple(int(user["id"]) for user in payload.get("mentions") or ())
        seen = _Seen(self._world.now(), channel_id, recipient_id, marker, title, named, self._left_at())
        self._seen.append(seen)

    async def take(self) -> list[Sighting]:
        """Return what became visible since the last call, in order."""
        seen, self._seen = self._seen, []
        if not seen:
            return []
        about = {found.event_id for one in seen if (found := markers.read(one.marker)) is not None}
        events = {event.id: event for event in await Event.filter(id__in=about).prefetch_related("series")}
        return [self._tell(one, events) for one in seen]

    def _tell(self, one: _Seen, events: Mapping[int, Event]) -> Sighting:
        # Whatever the bot says by itself is about an event, or a note for the admins.
        marked = markers.read(one.marker)
        event = events.get(marked.event_id) if marked is not None else None
        kind = marked.kind if marked is not None else OPS_NOTE
        is_dm = one.recipient_id != 0
        return Sighting(
            at=one.at,
            marker=one.marker,
            kind=kind,
            event_id=marked.event_id if marked is not None else None,
            series=event.series.name if event is not None and event.series is not None else None,
            occurrence=event.scheduled_at if event is not None else None,
            due_at=due_moment(event, kind) if event is not None else None,
            channel=None if is_dm else self._world.names.get(one.channel_id, str(one.channel_id)),
            recipient=self._name(one.recipient_id) if is_dm else None,
            recipient_id=one.recipient_id,
            title=self._in_words(one.title),
            names=tuple(self._name(user_id) for user_id in one.named),
            left_at=one.left_at,
        )

    def _in_words(self, text: str) -> str:
        return _CHANNEL.sub(lambda found: f"#{self._world.names.get(int(found[1]), found[1])}", text.replace("\\", ""))

    def _name(self, user_id: int) -> str:
        return self._world.people.get(user_id, str(user_id))
