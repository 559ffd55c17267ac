"""
Tell those who signed up for an event that it has another time: one direct message each, for the last time alone.

Nothing is kept for it but the row itself: ``time_changes`` counts the new times that people were to hear of, and the
message log says whether they were told of the last one. So whatever dies in between, the next pass of any process finds
it. What was begun for an earlier time is taken back as far as it has not gone out.
"""

import datetime as dt
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Final

import structlog

from bot.clock import Clock, LeaseClock
from bot.dm_queue.fan_out import FanOuts
from bot.dm_queue.fan_out_plan import FanOutPlan, Standing
from bot.dm_queue.job import JobKind
from bot.events.notifications import silenced
from bot.leases import ledger
from bot.leases.failures import ErrorClass
from bot.leases.keys import TIME_CHANGED, MessageKey
from bot.leases.reports import WithdrawnError
from bot.message.outgoing import OutgoingMessage
from bot.reminders.missed import tell_missed
from bot.reminders.wording import time_changed_dm
from bot.scheduling.agenda import Agenda
from bot.scheduling.bodies import TELL_OPS_NOTES
from bot.transactions import atomic, fetch, in_list, integer
from models.event import Event
from models.states import MAY_COME, OPEN_FOR_PEOPLE, EventState

_log = structlog.get_logger(__name__)

# A sub-select in brackets stays a probe of the log's index, see bot.reminders.fire.
_UNTOLD: Final = (
    "SELECT e.id FROM event e WHERE e.time_changes > 0 AND e.scheduled_at > $1"  # noqa: S608 -- our own words
    f" AND e.state IN ({', '.join(repr(state.value) for state in OPEN_FOR_PEOPLE)})"
    " AND (SELECT l.id FROM discord_message_log l WHERE l.source = $2 AND l.source_id = e.id AND l.recipient_id = 0"
    " AND l.part = e.time_changes AND (l.success IS NULL OR l.success) LIMIT 1) IS NULL ORDER BY e.scheduled_at, e.id"
)
# Whatever became of them is recorded; so is that they were never begun.
_BEGUN_UNTOLD: Final = (
    "SELECT e.id FROM event e WHERE e.time_changes > 0 AND e.scheduled_at <= $1 AND e.scheduled_at > $3"  # noqa: S608
    f" AND e.state IN ({', '.join(repr(state.value) for state in EventState if state is not EventState.CANCELLED)})"
    " AND (SELECT l.id FROM discord_message_log l WHERE l.source = $2 AND l.source_id = e.id AND l.recipient_id = 0"
    " AND l.part = e.time_changes AND (l.success IS NULL OR l.success) LIMIT 1) IS NULL"
    " AND (SELECT l.id FROM discord_message_log l WHERE l.source = $2 AND l.source_id = e.id AND l.recipient_id = 0"
    " AND l.part = e.time_changes AND NOT l.success LIMIT 1) IS NULL ORDER BY e.scheduled_at, e.id"
)
_LOOKED_BACK: Final = dt.timedelta(days=1)


class TimeChangeTeller:
    """Begins the messages about new times, for one process."""

    def __init__(
        self,
        fan_outs: FanOuts,
        *,
        clock: Clock,
        lease_clock: LeaseClock,
        agenda: Agenda,
        is_available: Callable[[int], bool],
    ) -> None:
        self._fan_outs = fan_outs
        self._clock = clock
        self._lease_clock = lease_clock
        self._agenda = agenda
        self._is_available = is_available

    async def tell_time_changes(self, now: dt.datetime) -> dt.datetime | None:
        """Begin what nobody was told of and nobody is telling, and record what events have begun without."""
        for row in await fetch(_UNTOLD, [now, TIME_CHANGED]):
            await self._one(integer(row["id"]), self._begin)
        for row in await fetch(_BEGUN_UNTOLD, [now, TIME_CHANGED, now - _LOOKED_BACK]):
            await self._one(integer(row["id"]), self._record_missed)
        return None

    async def _one(self, event_id: int, do: Callable[[Event], Awaitable[object]]) -> None:
        """Do something about one event; one that fails does not stop the rest, and is tried again at the next pass."""
        try:
            event = await Event.get_or_none(id=event_id)
            if event is not None and self._is_available(event.guild_id):
                await do(event)
        except Exception:  # noqa: BLE001 -- logged
            _log.exception("time_change_not_told", event_id=event_id)

    async def _begin(self, event: Event) -> None:
        plan = FanOutPlan(
            key=MessageKey(TIME_CHANGED, event.id, part=event.time_changes),
            guild_id=event.guild_id,
            kind=JobKind.REMINDER,
            ends_at=event.scheduled_at,
            recipients=await to_tell(event),
            render=partial(self._render, event.id, event.time_changes),
            standing=partial(_standing, event.id, event.time_changes, event.scheduled_at),
            tell_too_late=partial(self._tell_too_late, event),
        )
        await self._fan_outs.begin(plan)

    async def _record_missed(self, event: Event) -> None:
        if not await to_tell(event):
            return
        key = MessageKey(TIME_CHANGED, event.id, part=event.time_changes)

        async def _unit() -> None:
            # Held, so that of two processes one records.
            await Event.filter(id=event.id).select_for_update(no_key=True).first()
            recorded = await ledger.record_unsent(
                key,
                guild_id=event.guild_id,
                error_class=ErrorClass.EVENT_STARTED,
                text="the event began before anybody was told",
                lease_clock=self._lease_clock,
            )
            if recorded:
                await self._tell_too_late(event)

        await atomic(_unit)
        self._agenda.wake(TELL_OPS_NOTES, self._clock.now())

    async def _render(self, event_id: int, part: int, recipient_id: int) -> OutgoingMessage:
        event = await Event.get_or_none(id=event_id)
        if event is None or not _is_wanted(event, part) or event.scheduled_at <= self._clock.now():
            raise WithdrawnError
        if recipient_id not in await to_tell(event, [recipient_id]):
            raise WithdrawnError
        return time_changed_dm(event)

    async def _tell_too_late(self, event: Event) -> None:
        await tell_missed(event.guild_id, [(event.id, TIME_CHANGED)], now=self._clock.now())


async def to_tell(event: Event, among: Sequence[int] | None = None) -> tuple[int, ...]:
    """Return those who may come to the event and want its direct messages; ``among`` these alone."""
    if among is not None and not among:
        return ()
    statuses = [status.value for status in MAY_COME]
    only = "" if among is None else f" AND user_id IN {in_list(among, first=2 + len(statuses))}"
    rows = await fetch(
        f"SELECT user_id FROM event_signup WHERE event_id = $1 AND status IN {in_list(statuses, first=2)}{only}"  # noqa: S608
        " ORDER BY changed_at, id",
        [event.id, *statuses, *(among or ())],
    )
    people = [integer(row["user_id"]) for row in rows]
    out = await silenced(TIME_CHANGED, event.series_id, people, guild_id=event.guild_id)
    return tuple(one for one in people if one not in out)


def _is_wanted(event: Event, part: int) -> bool:
    """Return whether this is still the time that people are to hear of."""
    return event.state in OPEN_FOR_PEOPLE and event.time_changes == part


async def _standing(event_id: int, part: int, starts_at: dt.datetime, now: dt.datetime) -> Standing:
    event = await Event.get_or_none(id=event_id)
    if event is None or event.time_changes != part or event.scheduled_at != starts_at:
        return Standing.CHANGED
    if now >= starts_at and event.state is not EventState.CANCELLED:
        return Standing.OVER
    return Standing.AS_PLANNED if _is_wanted(event, part) else Standing.CHANGED
