"""
What will be sent in a server, when, where and to how many, and what will not be and why.

It asks the very functions that fire: the events that generation will make, the states that time brings, when each
reminder is due then, and whom it is for. For a window in which nobody changes anything, it equals what then happens.
Source: 02-reminders.md, "Fire path".
"""

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from bot.events.requests import RequestRefusedError
from bot.events.to_be_made import Passes, to_be_made
from bot.reminders.outlook import UNKNOWN, Known, Outlook, Reason, outlook
from bot.reminders.reach import Reach, reach_of
from bot.scheduling.due_rows import tried_of
from bot.scheduling.registry import ScheduledReminder, registered
from bot.transactions import fetch, integer
from models.event import Event
from models.event_repeater import EventRepeater
from models.states import AHEAD, EventState

_AT_ONCE = 400
EVERY_HOUR = dt.timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Window:
    """What is looked at: from ``start`` on, up to ``end``, which no longer belongs to it."""

    start: dt.datetime
    end: dt.datetime

    @classmethod
    def of_days(cls, days: int, *, now: dt.datetime, most: int) -> "Window":
        """
        Return the coming days, from ``now`` on.

        Raises:
            RequestRefusedError: they are not 1 to ``most``.
        """
        if not 1 <= days <= most:
            raise RequestRefusedError(f"days {days} is not allowed; it must be a whole number from 1 to {most}.")
        return cls(now, now + dt.timedelta(days=days))

    def holds(self, moment: dt.datetime) -> bool:
        """Return whether a moment lies in it."""
        return self.start <= moment < self.end


@dataclass(frozen=True, slots=True)
class Prospects:
    """
    What a running bot knows of what is to come; by default what can be known without one.

    ``generates_at``: when events are made next, None: at once, and then ``generates_every``. ``may_post`` says of a
    channel's id whether the bot may post there.
    """

    generates_at: dt.datetime | None = None
    generates_every: dt.timedelta = EVERY_HOUR
    is_available: bool = True
    may_post: Callable[[int], bool] = lambda _channel_id: True


ANYBODYS = Prospects()


@dataclass(frozen=True, slots=True)
class Foreseen:
    """
    One message to a channel or one reminder to some people, that is sent at ``at`` or is not for a ``reason``.

    ``kind``: the registry's key, or the source of a post beside the DMs. ``event_id`` None: the event is not made yet,
    and ``slot`` names its occurrence. ``recipients``: to how many it goes by DM, or how many a post names; None: not
    known before.
    """

    at: dt.datetime
    kind: str
    name: str
    series_id: int | None
    series: str | None
    event_id: int | None
    slot: str | None
    occurrence: dt.datetime
    channel_id: int | None = None
    recipients: int | None = 0
    reason: Reason | None = None


async def forecast(
    guild_id: int, window: Window, *, now: dt.datetime, prospects: Prospects = ANYBODYS
) -> list[Foreseen]:
    """
    Return every send and every non-send of a server in a window, in the order in which they come.

    A reminder that is switched off is none of both: :mod:`bot.reminders.why` names it. ``window`` may not begin before
    ``now``.
    """
    series = {one.id: one for one in await EventRepeater.filter(guild_id=guild_id).order_by("id")}
    view = _View(window, prospects, {key: one.name for key, one in series.items()})
    stored = await _stored(guild_id, now)
    known = await known_of(guild_id, [event.id for event in stored])
    for event in stored:
        await view.look_at(event, known.get(event.id, {}), now=now)
    passes = Passes(max(prospects.generates_at or now, now), prospects.generates_every, window.end)
    for one in series.values():
        alike: dict[str, list[Reach]] = {}
        for event, made_at in await to_be_made(one, passes):
            await view.look_at(event, {}, now=made_at, is_paused=not one.is_active, alike=alike)
    return sorted(view.seen, key=lambda one: (one.at, one.occurrence, one.event_id or 0, one.slot or "", one.kind))


async def _stored(guild_id: int, now: dt.datetime) -> list[Event]:
    states = [*AHEAD, EventState.CANCELLED]
    return await Event.filter(guild_id=guild_id, scheduled_at__gt=now, state__in=states).order_by("id")


async def known_of(guild_id: int, event_ids: Sequence[int]) -> dict[int, dict[str, Known]]:
    """Return what the log says of the reminders of these events of a server, by event and log source."""
    found: dict[int, dict[str, Known]] = {}
    sources = [entry.log_source for entry in registered()]
    for start in range(0, len(event_ids), _AT_ONCE):
        for event_id, tried in (await tried_of(event_ids[start : start + _AT_ONCE], sources)).items():
            found[event_id] = {source: Known(one) for source, one in tried.items()}
    wanted = set(event_ids)
    rows = await fetch(
        "SELECT source_id, source FROM discord_message_log WHERE success IS NULL AND guild_id = $1"
        " AND recipient_id = 0 AND part = 0",
        [guild_id],
    )
    for row in rows:
        if integer(row["source_id"]) in wanted and row["source"] in sources:
            found.setdefault(integer(row["source_id"]), {})[str(row["source"])] = Known(is_open=True)
    return found


async def _reached(event: Event, entry: ScheduledReminder, alike: dict[str, list[Reach]] | None) -> list[Reach]:
    if alike is None:
        return await reach_of(entry, event)
    if entry.key not in alike:
        alike[entry.key] = await reach_of(entry, event)
    return alike[entry.key]


class _View:
    """Looks at one event after the other, and keeps what it sees."""

    def __init__(self, window: Window, prospects: Prospects, series_names: Mapping[int, str]) -> None:
        self.seen: list[Foreseen] = []
        self._window = window
        self._prospects = prospects
        self._series_names = series_names

    async def look_at(
        self,
        event: Event,
        known: Mapping[str, Known],
        *,
        now: dt.datetime,
        is_paused: bool = False,
        alike: dict[str, list[Reach]] | None = None,
    ) -> None:
        """
        Keep what becomes of an event's reminders.

        ``is_paused``: it would be made, were its series not paused. ``alike``: what the events of one series that are
        not made yet have in common, since nobody has answered to any of them.
        """
        for entry in registered():
            comes = outlook(event, entry, known.get(entry.log_source, UNKNOWN), now=now)
            if comes.reason is Reason.OFF or not self._window.holds(comes.at):
                continue
            if comes.reason is None and is_paused:
                comes = Outlook(comes.at, Reason.SERIES_PAUSED)
            if comes.reason is not None:
                self._keep(event, comes, Reach(entry.key, is_post=False))
                continue
            for reach in await _reached(event, entry, alike):
                self._keep(event, Outlook(comes.at, self._hindrance(reach)), reach)

    def _hindrance(self, reach: Reach) -> Reason | None:
        if not self._prospects.is_available:
            return Reason.GUILD_UNAVAILABLE
        if reach.hindrance is None and reach.channel_id is not None and not self._prospects.may_post(reach.channel_id):
            return Reason.NO_PERMISSION
        return reach.hindrance

    def _keep(self, event: Event, comes: Outlook, reach: Reach) -> None:
        self.seen.append(
            Foreseen(
                at=comes.at,
                kind=reach.kind,
                name=event.name,
                series_id=event.series_id,
                series=self._series_names.get(event.series_id) if event.series_id is not None else None,
                event_id=event.id,
                slot=event.slot,
                occurrence=event.scheduled_at,
                channel_id=reach.channel_id,
                recipients=len(reach.wanting) if reach.wanting is not None else None,
                reason=comes.reason,
            )
        )
