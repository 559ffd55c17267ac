"""
What an event should look like in its server's own list of scheduled events, and the way there: pure decisions.

The steps are taken by :mod:`bot.reminders.native_upkeep`; the code calls such an event *native*. An event of a place
outside Discord needs a location and an end: the channel where it is announced, and its duration.
Source: 02-reminders.md, "Loops"; Discord's documentation of guild scheduled events.
"""

import datetime as dt
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from bot.message.limits import cut, length
from bot.message.links import channel_link
from bot.message.native_event import DESCRIPTION, LIVE, NAME, NativeChange, NativeEvent, NativeStatus
from models.states import AHEAD, EventState

if TYPE_CHECKING:
    from bot.events.series_spec import ConfigSpec
    from models.discord_event_config import DiscordEventConfigMixin
    from models.event import Event

Told = Mapping[str, object]
"""What Discord was last told of an event, as its row keeps it; empty where nobody knows."""

NOWHERE: Final = "Discord"
"""The location of an event that is announced nowhere."""

_MADE_AGAIN: Final = 1
_RUNNING = {EventState.IN_PROGRESS: NativeStatus.ACTIVE, EventState.COMPLETED: NativeStatus.COMPLETED}


def marker_of(event_id: int, *, part: int) -> str:
    """Return the last line of a scheduled event's description; one that was made again has its own."""
    return f"#{event_id}.{part}" if part else f"#{event_id}"


def native_event(event: "Event", *, channel_id: int | None, marker: str) -> NativeEvent:
    """Return the event as the server's list should show it; ``channel_id`` is where it is announced."""
    ending = f"\n\n{marker}"
    location = channel_link(event.guild_id, channel_id)
    return NativeEvent(
        marker=marker,
        name=cut(event.name, NAME),
        description=(cut(event.description, DESCRIPTION - length(ending)) + ending).strip(),
        location=location or NOWHERE,
        starts_at=event.scheduled_at,
        ends_at=event.scheduled_at + dt.timedelta(minutes=event.duration_minutes),
        version=event.post_version,
        lost=lost(event.native_told or {}),
    )


def due_when_made(config: "DiscordEventConfigMixin | ConfigSpec", *, now: dt.datetime) -> dt.datetime | None:
    """Return from when on a new event lags behind its server's list, None: it is not to be in it."""
    return now if config.discord_create_event else None


def goal(event: "Event") -> NativeStatus | None:
    """Return where the event should stand there, None: it should not be there at all."""
    if not event.discord_create_event or event.is_withdrawn:
        return None
    if event.state is EventState.CANCELLED:
        return NativeStatus.CANCELED
    return _RUNNING.get(event.state, NativeStatus.SCHEDULED)


def may_be_made(event: "Event", *, now: dt.datetime) -> bool:
    """Return whether one may be made: Discord takes none that has begun, and nobody is to delete it a third time."""
    is_ahead = event.state in AHEAD and event.scheduled_at > now
    return goal(event) is NativeStatus.SCHEDULED and is_ahead and lost(event.native_told or {}) <= _MADE_AGAIN


def lost(told: Told) -> int:
    """Return how often somebody deleted the scheduled event, or ended it before its time."""
    found = told.get("lost", 0)
    return found if isinstance(found, int) else 0


def lags(told: Told, wanted: NativeEvent, status: NativeStatus) -> bool:
    """Return whether Discord was last told something else than what is wanted."""
    return told.get("status") != status.value or any(told.get(name) != text for name, text in wanted.shown().items())


def way(have: NativeStatus, want: NativeStatus) -> tuple[NativeStatus | None, ...]:
    """
    Return the statuses to set one after the other; None: the texts alone, none at all: it has ended.

    Discord lets nobody end what has not begun, cancel what has, or set back either. Source: its documentation of guild
    scheduled events, "Modify".
    """
    if have not in LIVE:
        return ()
    if have is NativeStatus.SCHEDULED:
        ways = {
            NativeStatus.SCHEDULED: (None,),
            NativeStatus.COMPLETED: (NativeStatus.ACTIVE, NativeStatus.COMPLETED),
        }
        return ways.get(want, (want,))
    return (None,) if want in LIVE else (NativeStatus.COMPLETED,)


def was_put_off(told: Told, wanted: NativeEvent, *, now: dt.datetime) -> bool:
    """Return whether an event that runs at Discord is to begin later than Discord was told: it cannot be set back."""
    return wanted.starts_at > now and told.get("starts_at") not in {None, wanted.starts_at.isoformat()}


def change(
    told: Told, wanted: NativeEvent, status: NativeStatus | None, *, runs: bool, now: dt.datetime
) -> NativeChange:
    """
    Return what to tell Discord: what differs from what it was told, and the ``status`` to set, None: as it is.

    The times of what ``runs``, and times that have passed, are left as they are: Discord takes neither.
    """
    differs = {name for name, text in wanted.shown().items() if told.get(name) != text}
    # Both times together: an end before the start that Discord knows would be refused.
    moves = bool({"starts_at", "ends_at"} & differs) and not runs and status is None and wanted.starts_at > now
    return NativeChange(
        name=wanted.name if "name" in differs else None,
        description=wanted.description if "description" in differs else None,
        location=wanted.location if "location" in differs else None,
        starts_at=wanted.starts_at if moves else None,
        ends_at=wanted.ends_at if moves or ("ends_at" in differs and wanted.ends_at > now) else None,
        status=status,
    )
