"""What became visible in a world: each new message told as one row."""

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bot.demo.world import World
from bot.leases.keys import EVENT_REPOST, OPS_NOTE
from bot.reminders.tasks import ANNOUNCEMENT
from models.event import Event


@dataclass(frozen=True, slots=True)
class Sighting:
    """
    One message that became visible.

    ``due_at``: when it was due, for what the registry sends; else None.
    """

    at: dt.datetime
    kind: str
    event_id: int | None
    series: str | None
    occurrence: dt.datetime | None
    due_at: dt.datetime | None
    channel: str | None
    recipient: str | None
    title: str

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
    marker: str
    title: str


class Watcher:
    """Hears each message as it becomes visible, and tells what it was once the rows can be asked."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._seen: list[_Seen] = []
        world.on_message(self._hear)

    def _hear(self, payload: Mapping[str, Any]) -> None:
        embeds = payload.get("embeds") or [{}]
        footer = (embeds[0].get("footer") or {}).get("text", "")
        is_note = not footer.startswith("#")
        title = embeds[0].get("description" if is_note else "title") or str(payload.get("content", ""))
        self._seen.append(_Seen(self._world.now(), int(payload["channel_id"]), footer, title))

    async def take(self) -> list[Sighting]:
        """Return what became visible since the last call, in order."""
        seen, self._seen = self._seen, []
        return [await self._tell(one) for one in seen]

    async def _tell(self, one: _Seen) -> Sighting:
        kind, event_id = _kind_of(one.marker)
        event = await Event.get_or_none(id=event_id).prefetch_related("series") if event_id is not None else None
        series = event.series if event is not None else None
        return Sighting(
            at=one.at,
            kind=kind,
            event_id=event_id,
            series=series.name if series is not None else None,
            occurrence=event.scheduled_at if event is not None else None,
            due_at=announcement_due_at(event) if event is not None and kind == ANNOUNCEMENT.key else None,
            channel=self._world.names.get(one.channel_id, str(one.channel_id)),
            recipient=None,  # every message of this version is a post
            title=one.title.replace("\\", ""),
        )


def announcement_due_at(event: Event) -> dt.datetime:
    """Return when the announcement of an event was first due: its hours before the start, or its creation."""
    hours = dt.timedelta(hours=event.discord_announcement_hours or 0)
    return max(event.scheduled_at - hours, event.created_at)


def _kind_of(marker: str) -> tuple[str, int | None]:
    """Return what a marker says: the kind of message, and the event it belongs to."""
    if not marker.startswith("#"):
        return OPS_NOTE, None
    event_id, _, repost = marker.removeprefix("#").partition(".")
    return EVENT_REPOST if repost else ANNOUNCEMENT.key, int(event_id)
