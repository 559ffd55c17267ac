"""
Tell whoever moved up from a waiting list, or is offered a place: one direct message each, through the queue.

Nothing is kept for it but the row itself: ``promotions`` counts how often a person moved up, and the message log says
whether they were told of it. So whatever dies in between, the next pass of any process finds who was not. Two that
find the same are told apart by the message's lease. Whoever takes no direct messages is not told, and asked no more.
"""

import datetime as dt
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

import structlog

from bot.clock import Clock
from bot.dm_queue.job import DmJob, JobEnd, JobKind
from bot.dm_queue.queue import DmQueue
from bot.events.signups.attendee_roles import MemberPort
from bot.leases.failures import PERMANENT, ErrorClass
from bot.leases.keys import PROMOTION, MessageKey
from bot.leases.reports import SendReport, SendResult, WithdrawnError
from bot.leases.send_once import OneWayOut
from bot.message.outgoing import OutgoingMessage
from bot.reminders.promotion_wording import offer_dm, promotion_dm
from bot.scheduling.agenda import Agenda
from bot.scheduling.bodies import TELL_PROMOTIONS
from bot.transactions import fetch, integer, moment
from models.event import Event

_log = structlog.get_logger(__name__)

_PAGE: Final = 500
_LOOK_AGAIN: Final = dt.timedelta(seconds=30)
# Too late is too late only as long as the event stays where it is: it may be put off.
SETTLED: Final = (PERMANENT | {ErrorClass.UNKNOWN_OUTCOME}) - {ErrorClass.EVENT_STARTED}
"""Failures after which somebody is not told any more that they moved up."""

_MOVED_UP: Final = (
    "SELECT s.id, s.event_id, s.user_id, s.promotions, s.offered_until, e.guild_id, e.scheduled_at"
    " FROM event e JOIN event_signup s ON s.event_id = e.id"
    " WHERE e.state IN ('signups_open', 'roll_call') AND e.scheduled_at > $1 AND s.promotions > 0"
    " AND (s.status IN ('signed_up', 'confirmed') OR (s.status = 'waitlisted' AND s.offered_until > $1))"
)
# The log's rows of a key; each look-up a sub-select in brackets, which stays a probe of an index: see reminders.fire.
_LOGGED: Final = (
    "(SELECT id FROM discord_message_log WHERE source = 'promotion' AND source_id = s.event_id"
    " AND recipient_id = s.user_id AND part = s.promotions AND {} LIMIT 1) IS NULL"
)
_NO_MORE: Final = ", ".join(f"'{one.value}'" for one in sorted(SETTLED))
_UNTOLD: Final = " AND ".join(
    [
        _MOVED_UP,
        _LOGGED.format("(success IS NULL OR success)"),
        _LOGGED.format(f"NOT success AND (next_attempt_at > $2 OR error_class IN ({_NO_MORE}))"),
        "s.id > $3 ORDER BY s.id LIMIT $4",
    ]
)

LetGo = Callable[..., Awaitable[None]]
"""Take the place that was held for somebody who left back, and ask the next in line."""


@dataclass(frozen=True, slots=True)
class MovedUp:
    """Somebody who moved up and is to be told; ``until``: a place is held for them until then, None: it is theirs."""

    event_id: int
    user_id: int
    guild_id: int
    promotions: int
    until: dt.datetime | None
    starts_at: dt.datetime

    @property
    def key(self) -> MessageKey:
        """The message's key."""
        return MessageKey(PROMOTION, self.event_id, self.user_id, self.promotions)


class PromotionTeller:
    """Queues the DMs of one process; ``members`` are asked whether somebody left before they are offered a place."""

    def __init__(
        self,
        queue: DmQueue,
        out: OneWayOut,
        *,
        clock: Clock,
        agenda: Agenda,
        is_available: Callable[[int], bool],
        members: MemberPort | None,
        let_go: LetGo,
    ) -> None:
        self._queue = queue
        self._lease_clock = out.lease_clock
        self._clock = clock
        self._agenda = agenda
        self._is_available = is_available
        self._members = members
        self._let_go = let_go
        self._queued: set[MessageKey] = set()

    async def tell_promotions(self, now: dt.datetime) -> dt.datetime | None:
        """Queue a DM for everybody who moved up and was not told; return when more are to be."""
        clock = await self._lease_clock.now()
        last, page = 0, [dict[str, object]()]
        while page:
            page = await fetch(_UNTOLD, [now, clock, last, _PAGE])
            for row in page:
                if not self._offer(_moved_up(row), now):
                    return now + _LOOK_AGAIN
                last = integer(row["id"])
        again = await _next_attempt(clock)
        return now + (again - clock) if again is not None else None

    def _offer(self, one: MovedUp, now: dt.datetime) -> bool:
        """Queue one DM unless it waits already; False: there is no room."""
        if one.key in self._queued or not self._is_available(one.guild_id):
            return True
        ends = min(one.until, one.starts_at) if one.until is not None else one.starts_at
        job = DmJob(JobKind.WAITLIST, one.key, one.guild_id, one.user_id, _Letter(self, one), now, ends)
        if not self._queue.offer(job):
            return False
        self._queued.add(one.key)
        return True

    async def render(self, one: MovedUp) -> OutgoingMessage:
        """
        Return the DM as things stand now.

        Raises:
            WithdrawnError: that person no longer has the place, or is no longer offered it.
        """
        now = self._clock.now()
        rows = await fetch(f"{_MOVED_UP} AND s.event_id = $2 AND s.user_id = $3", [now, one.event_id, one.user_id])
        event = await Event.get_or_none(id=one.event_id, guild_id=one.guild_id)
        if event is None or not rows:
            raise WithdrawnError
        fresh = _moved_up(rows[0])
        if fresh.promotions != one.promotions:
            raise WithdrawnError
        if fresh.until is None:
            return promotion_dm(event, part=one.promotions)
        if self._members is not None and await self._members.has_left(one.guild_id, one.user_id):
            await self._let_go(one.event_id, guild_id=one.guild_id, user_id=one.user_id, now=now)
            raise WithdrawnError
        return offer_dm(event, part=one.promotions, until=fresh.until)

    def ended(self, one: MovedUp, report: SendReport | JobEnd) -> None:
        """Note that a job has ended; what it ended in, the log says."""
        self._queued.discard(one.key)
        now = self._clock.now()
        if isinstance(report, SendReport) and report.result is not SendResult.SENT:
            # A failed attempt names its next one; what was withdrawn for whatever reason is looked at once more.
            self._agenda.wake(TELL_PROMOTIONS, now if report.error is not None else now + _LOOK_AGAIN)


async def moved_up_at(event_id: int, *, now: dt.datetime) -> list[MovedUp]:
    """Return those who moved up at an event, or are offered a place there, whether they were told of it or not."""
    rows = await fetch(f"{_MOVED_UP} AND s.event_id = $2 ORDER BY s.id", [now, event_id])
    return [_moved_up(row) for row in rows]


@dataclass(frozen=True, slots=True)
class _Letter:
    teller: PromotionTeller
    one: MovedUp

    async def render(self, _recipient_id: int) -> OutgoingMessage:
        return await self.teller.render(self.one)

    def ended(self, _job: DmJob, report: SendReport | JobEnd) -> None:
        self.teller.ended(self.one, report)


def _moved_up(row: dict[str, object]) -> MovedUp:
    return MovedUp(
        event_id=integer(row["event_id"]),
        user_id=integer(row["user_id"]),
        guild_id=integer(row["guild_id"]),
        promotions=integer(row["promotions"]),
        until=moment(row["offered_until"]) if row["offered_until"] is not None else None,
        starts_at=moment(row["scheduled_at"]),
    )


async def _next_attempt(clock: dt.datetime) -> dt.datetime | None:
    rows = await fetch(
        "SELECT MIN(next_attempt_at) AS again FROM discord_message_log"
        " WHERE NOT success AND next_attempt_at > $1 AND source = 'promotion'",
        [clock],
    )
    return moment(rows[0]["again"]) if rows[0]["again"] is not None else None
