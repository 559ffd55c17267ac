"""
What some kills happen to beside the world of all: one change by an admin or a person, with what it brings about.

A story brings its rows and deeds before the first life, and says once all is at rest what must be visible: reckoned
from what was asked for, not from what the bot made of it. Those about series stand in the module beside this one.
"""

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from bot.leases.keys import PROMOTION, TIME_CHANGED, MessageKey
from models.audit_log import AuditLog
from models.discord_message_log import DiscordMessageLog
from models.event import Event
from models.event_signup import EventSignup
from models.states import EventState, SignupStatus
from tests.builders import HOUR, make_event
from tests.chaos.deaths.kill_deeds import Deed, DeedKind
from tests.chaos.deaths.kill_stub import KillStub
from tests.people import sign_up
from tests.wire.discord_stub import GUILD, dm_channel

Place = tuple[int, str]
"""A channel, and the marker of a message in it; the server itself, and that of an event in its list."""

ROLE: Final = 800
SOONER, LATER = dt.timedelta(seconds=3), dt.timedelta(seconds=6)
_PASSED: Final = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_OFFER_ENDS_AFTER: Final = dt.timedelta(seconds=10)
_OFFER: Final = dt.timedelta(minutes=60)


@dataclass(slots=True)
class Story:
    """
    The deeds of one unit and what is to come of them.

    ``changed``: the events whose messages have names of their own among the places. Once all is at rest,
    ``expected`` must be visible once, ``possible`` once at most, and ``faults`` holds what else is wrong.
    """

    deeds: tuple[Deed, ...] = ()
    changed: frozenset[int] = frozenset()
    expected: dict[Place, MessageKey] = field(default_factory=dict)
    possible: dict[Place, MessageKey] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)

    @classmethod
    async def begun(cls, stub: KillStub, *, now: dt.datetime) -> "Story":
        """Store its rows, and return it; this one, that of most kills, has none."""
        return cls()

    async def settle(self, stub: KillStub, *, discord_ahead_by: dt.timedelta) -> None:
        """Read what there must be by now, and what is wrong."""

    def should(self, what: str, found: object, wanted: object) -> None:
        """Note what is not as it should be."""
        if found != wanted:
            self.faults.append(f"{what}: {found} instead of {wanted}")


async def _open_event(now: dt.datetime, **fields: Any) -> Event:  # noqa: ANN401 -- whatever fields an event has
    wanted = {"guild_id": GUILD, "state": EventState.SIGNUPS_OPEN, "discord_announcement": False}
    return await make_event(now=now, starts_in=10 * HOUR, **(wanted | fields))


async def _in_line(event: Event, people: Mapping[int, Mapping[str, Any]], *, at: dt.datetime) -> None:
    for position, (who, fields) in enumerate(people.items(), 1):
        row = EventSignup(event_id=event.id, user_id=who, created_at=at, changed_at=at, position=position, **fields)
        row.status = SignupStatus.WAITLISTED
        await row.save()


async def _answers(event_id: int) -> dict[int, tuple[SignupStatus, int]]:
    """Return what became of everybody: their status, and how often they moved up."""
    return {row.user_id: (row.status, row.promotions) for row in await EventSignup.filter(event_id=event_id)}


class Line(Story):
    """A full event, two who leave it, and two in line who get their places at once."""

    COMING, WAITING = (601, 602), (603, 604)

    @classmethod
    async def begun(cls, stub: KillStub, *, now: dt.datetime) -> "Line":
        event = await _open_event(now, max_players=len(cls.COMING))
        await sign_up(event, cls.COMING, at=now)
        await _in_line(event, {who: {} for who in cls.WAITING}, at=now)
        deeds = [Deed(DeedKind.LEAVE, f"leave-{who}", event.id, SOONER, user_id=who) for who in cls.COMING]
        return cls(tuple(deeds))

    async def settle(self, stub: KillStub, *, discord_ahead_by: dt.timedelta) -> None:
        event_id = self.deeds[0].subject_id
        for who in self.WAITING:
            self.expected[dm_channel(who), f"#{event_id} place 1"] = MessageKey(PROMOTION, event_id, who, 1)
        wanted = dict.fromkeys(self.COMING, (SignupStatus.DECLINED, 0))
        wanted |= dict.fromkeys(self.WAITING, (SignupStatus.SIGNED_UP, 1))
        self.should("who has a place", await _answers(event_id), wanted)


class Offer(Story):
    """One place, held for the first in line until a moment of this very life, and one who waits behind."""

    FIRST, NEXT = 605, 606

    @classmethod
    async def begun(cls, stub: KillStub, *, now: dt.datetime) -> "Offer":
        event = await _open_event(now, max_players=1, signup_offer_minutes=_OFFER // dt.timedelta(minutes=1))
        offered = {"offered_until": now + _OFFER_ENDS_AFTER, "promotions": 1}
        await _in_line(event, {cls.FIRST: offered, cls.NEXT: {}}, at=now)
        # They were told, long ago.
        stub.messages[dm_channel(cls.FIRST)] = [{"id": "1", "embeds": [{"footer": {"text": f"#{event.id} place 1"}}]}]
        told = DiscordMessageLog(source=PROMOTION, source_id=event.id, recipient_id=cls.FIRST, part=1, guild_id=GUILD)
        told.success, told.discord_message_id = True, 1
        told.claimed_at = told.created_at = told.finished_at = now
        await told.save()
        return cls(changed=frozenset({event.id}))

    async def settle(self, stub: KillStub, *, discord_ahead_by: dt.timedelta) -> None:
        (event_id,) = self.changed
        for who in (self.FIRST, self.NEXT):
            self.expected[dm_channel(who), f"#{event_id} place 1"] = MessageKey(PROMOTION, event_id, who, 1)
        waits = SignupStatus.WAITLISTED
        self.should("the line", await _answers(event_id), {self.FIRST: (waits, 1), self.NEXT: (waits, 1)})
        line = await EventSignup.filter(event_id=event_id).order_by("position")
        self.should("the order of the line", [row.user_id for row in line], [self.NEXT, self.FIRST])
        held = [row.offered_until for row in line]
        if held[1] != _PASSED or held[0] is None or held[0] <= _PASSED:
            self.faults.append(f"places are held until {held}")


class Accept(Story):
    """One place, which comes with a role, held for the first in line: they accept it; and one who waits behind."""

    FIRST, NEXT = 607, 608
    KIND = DeedKind.ACCEPT

    @classmethod
    async def begun(cls, stub: KillStub, *, now: dt.datetime) -> "Accept":
        event = await _open_event(now, max_players=1, signup_offer_minutes=60, attendee_role_id=ROLE)
        # Nobody told them yet.
        offered = {"offered_until": now + _OFFER, "promotions": 1}
        await _in_line(event, {cls.FIRST: offered, cls.NEXT: {}}, at=now)
        return cls((Deed(cls.KIND, cls.KIND.value, event.id, LATER, user_id=cls.FIRST),))

    async def settle(self, stub: KillStub, *, discord_ahead_by: dt.timedelta) -> None:
        event_id = self.deeds[0].subject_id
        self._hears(self.expected, self.FIRST, event_id)
        wanted = {self.FIRST: (SignupStatus.SIGNED_UP, 1), self.NEXT: (SignupStatus.WAITLISTED, 0)}
        self.should("the line", await _answers(event_id), wanted)
        self.should("who has the role", stub.roles, {(self.FIRST, ROLE)})

    def _hears(self, among: dict[Place, MessageKey], who: int, event_id: int) -> None:
        among[dm_channel(who), f"#{event_id} place 1"] = MessageKey(PROMOTION, event_id, who, 1)


class NoThanks(Accept):
    """The same, and they do not want it: the next in line is asked."""

    KIND = DeedKind.REFUSE

    async def settle(self, stub: KillStub, *, discord_ahead_by: dt.timedelta) -> None:
        event_id = self.deeds[0].subject_id
        # Who said no before they were told hears nothing of it any more.
        self._hears(self.possible, self.FIRST, event_id)
        self._hears(self.expected, self.NEXT, event_id)
        wanted = {self.FIRST: (SignupStatus.DECLINED, 1), self.NEXT: (SignupStatus.WAITLISTED, 1)}
        self.should("the line", await _answers(event_id), wanted)
        held = [row.offered_until for row in await EventSignup.filter(event_id=event_id).order_by("user_id")]
        if held[0] is not None or held[1] is None or held[1] <= _PASSED:
            self.faults.append(f"places are held until {held}")
        self.should("who has the role", stub.roles, set())


class NewTime(Story):
    """An event that is moved, and three who signed up for it; ``TIMES``: how often."""

    PEOPLE, TIMES = (611, 612, 613), 1

    @classmethod
    async def begun(cls, stub: KillStub, *, now: dt.datetime) -> "NewTime":
        event = await _open_event(now)
        await sign_up(event, cls.PEOPLE, at=now)
        deeds = [
            Deed(
                DeedKind.MOVE,
                f"move-{turn}",
                event.id,
                SOONER + turn * SOONER,
                typed=(now + (12 + turn) * HOUR).strftime("%Y-%m-%dT%H:%M+00:00"),
            )
            for turn in range(cls.TIMES)
        ]
        return cls(tuple(deeds))

    async def settle(self, stub: KillStub, *, discord_ahead_by: dt.timedelta) -> None:
        event_id = self.deeds[0].subject_id
        for turn in range(1, self.TIMES + 1):
            # Of an earlier time people hear, or do not; of the last one they do.
            of_turn = self.expected if turn == self.TIMES else self.possible
            for who in self.PEOPLE:
                of_turn[dm_channel(who), f"#{event_id} new time {turn}"] = MessageKey(TIME_CHANGED, event_id, who, turn)
        event = await Event.get(id=event_id)
        self.should("new times", event.time_changes, self.TIMES)
        self.should("its time", event.scheduled_at.strftime("%Y-%m-%dT%H:%M+00:00"), self.deeds[-1].typed)
        moves = await AuditLog.filter(action="event.edit", subject_id=event_id).count()
        self.should("moves in the audit", moves, self.TIMES)
        done = {"source": TIME_CHANGED, "source_id": event_id, "recipient_id": 0, "part": self.TIMES, "success": True}
        self.should("finished fan-outs of the new time", await DiscordMessageLog.filter(**done).count(), 1)


class TwoNewTimes(NewTime):
    """An event that is moved once more while people are told of its new time."""

    TIMES = 2


class Roles(Story):
    """An event that gives a role: one who is to get it, one from whom it is to be taken, and one who signs up."""

    HAS_PLACE, LEFT, COMES = 631, 632, 633

    @classmethod
    async def begun(cls, stub: KillStub, *, now: dt.datetime) -> "Roles":
        event = await _open_event(now, attendee_role_id=ROLE)
        await sign_up(event, [cls.HAS_PLACE], at=now)
        await sign_up(event, [cls.LEFT], SignupStatus.DECLINED, at=now)
        await EventSignup.filter(event_id=event.id, user_id=cls.LEFT).update(has_role=True)
        stub.roles.add((cls.LEFT, ROLE))
        return cls((Deed(DeedKind.SIGN_UP, "role", event.id, SOONER, user_id=cls.COMES),))

    async def settle(self, stub: KillStub, *, discord_ahead_by: dt.timedelta) -> None:
        wanted = {self.HAS_PLACE, self.COMES}
        self.should("who has the role", stub.roles, {(who, ROLE) for who in wanted})
        noted = EventSignup.filter(event_id=self.deeds[0].subject_id, has_role=True)
        self.should("who is known to have it", {row.user_id for row in await noted}, wanted)
