"""What the server's own list of scheduled events shows, as it changes; a change that members do not see is left out."""

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, Final

from bot.demo.world import World


class Change(Enum):
    """What became of a scheduled event."""

    ADDED = auto()
    RESCHEDULED = auto()
    STARTED = auto()
    ENDED = auto()
    REMOVED = auto()
    EDITED = auto()


@dataclass(frozen=True, slots=True)
class Listed:
    """One change of the list: at which moment of the world, of which event, and when that begins by now."""

    at: dt.datetime
    change: Change
    name: str
    begins: dt.datetime


# Discord's numbers of where a scheduled event stands; source: its documentation, "Guild Scheduled Event Status".
_LIVE: Final = frozenset({1, 2})
_BY_STATUS: Final = {2: Change.STARTED, 3: Change.ENDED, 4: Change.REMOVED}


@dataclass(frozen=True, slots=True)
class _Shown:
    status: int
    name: str
    begins: dt.datetime
    description: str
    location: str


class ListWatcher:
    """Hears each change of the list as it happens, and keeps it until it is taken."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._shown: dict[int, _Shown] = {}
        self._changes: list[Listed] = []
        world.on_list_change(self._hear)

    def _hear(self, native_id: int, payload: Mapping[str, Any] | None) -> None:
        before = self._shown.pop(native_id, None)
        if payload is None:
            if before is not None and before.status in _LIVE:
                self._note(Change.REMOVED, before)
            return
        shown = self._shown[native_id] = _shown(payload)
        if shown != before:
            self._note(_change(before, shown), shown)

    def _note(self, change: Change, shown: _Shown) -> None:
        self._changes.append(Listed(self._world.now(), change, shown.name, shown.begins))

    def take(self) -> list[Listed]:
        """Return what changed since the last call, in order."""
        changes, self._changes = self._changes, []
        return changes


def _shown(payload: Mapping[str, Any]) -> _Shown:
    begins = dt.datetime.fromisoformat(payload["scheduled_start_time"])
    metadata = payload["entity_metadata"] or {}
    texts = (payload["description"] or "", metadata.get("location") or "")
    return _Shown(payload["status"], payload["name"], begins.astimezone(dt.UTC), *texts)


def _change(before: _Shown | None, shown: _Shown) -> Change:
    if before is None:
        return Change.ADDED
    if before.status != shown.status:
        return _BY_STATUS[shown.status]
    return Change.RESCHEDULED if before.begins != shown.begins else Change.EDITED
