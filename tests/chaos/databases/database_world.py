"""
A quarter of an hour of one bot in which every path that keeps rows is taken, driven as the real loops would drive it.

The world is always the same, so that a run whose database broke must come to rest as one whose database did not.
Discord drops no second copy: the leases alone keep a key at one message.
"""

import asyncio
import datetime as dt
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from bot.bootstrap import ServiceOptions
from bot.clock import ManualClock
from bot.dm_queue.circuit_breaker import BreakerOptions
from bot.dm_queue.worker import DmQueueOptions
from bot.events.signups.rules import Press
from bot.leases.failures import ErrorClass
from bot.leases.ports import Delivered, Target
from bot.message.outgoing import OutgoingMessage
from bot.scheduling.agenda import Body
from bot.transactions import DATABASE_ERRORS
from models.event import Event
from models.repeater_subscription import RepeaterSubscription
from models.states import EventState
from tests.builders import (
    CHANNEL,
    DAY,
    HOUR,
    MINUTE,
    OTHER_CHANNEL,
    OTHER_GUILD,
    SECOND,
    FakeDiscord,
    Process,
    make_event,
    make_guild,
    make_series,
    refused,
)
from tests.people import REQUIRED_FIELD, know, sign_up, subscribe

BEGIN = dt.datetime(2026, 3, 1, 12, 0, tzinfo=dt.UTC)
LENGTH = 14 * MINUTE
REST = 10 * MINUTE
"""How long nothing breaks any more: a minute until a lease is looked into, and another until it is sent."""

_PEOPLE = (101, 102, 103, 104)
_TAKES_NO_DMS = 103
_AGAIN = 5 * SECOND
_MOST_ROUNDS = 500
_OPTIONS = ServiceOptions(
    dm_queue=DmQueueOptions(breaker=BreakerOptions(failures=2, within=MINUTE, open_for=MINUTE)),
)

Deed = Callable[[], Awaitable[object]]


class WrittenDiscord(FakeDiscord):
    """A Discord that loses its first answer to some markers: after it took the message, or before."""

    def __init__(self, clock: ManualClock) -> None:
        super().__init__(clock)
        self.loses_after: set[str] = set()
        self.loses_before: set[str] = set()

    async def send(
        self,
        target: Target,
        message: OutgoingMessage,
        *,
        nonce: str,
        before_request: Callable[[], Awaitable[None]],
    ) -> Delivered:
        """Post a message as the script says."""
        if message.marker in self.loses_before:
            await before_request()
            self.loses_before.discard(message.marker)
            raise refused(ErrorClass.OUTAGE, arrived=True)
        delivered = await super().send(target, message, nonce=nonce, before_request=before_request)
        if message.marker in self.loses_after:
            self.loses_after.discard(message.marker)
            raise refused(ErrorClass.OUTAGE, arrived=True)
        return delivered


@dataclass(slots=True)
class World:
    """One bot on the open database; ``unexpected`` are errors that no database makes."""

    clock: ManualClock = field(default_factory=lambda: ManualClock(BEGIN))
    unexpected: list[str] = field(default_factory=list)
    deeds: list[tuple[dt.datetime, Deed]] = field(default_factory=list)
    side_by_side: bool = False
    before_moment: Callable[[dt.datetime], None] = lambda _now: None
    discord: WrittenDiscord = field(init=False)
    bot: Process = field(init=False)
    _latest: dict[str, dt.datetime] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Make the process; nothing runs yet."""
        self.discord = WrittenDiscord(self.clock)
        self.bot = Process(self.discord, self.clock, options=_OPTIONS)

    async def start(self) -> None:
        """Let the process come up; where the database does not let it, it is started again, as a service would be."""
        for _ in range(_MOST_ROUNDS):
            try:
                await self.bot.start()
            except DATABASE_ERRORS:
                self.bot = Process(self.discord, self.clock, options=_OPTIONS)
                self._tick(self.clock.now() + _AGAIN)
            else:
                return
        self.unexpected.append("the process could not be started")

    async def run_until(self, end: dt.datetime) -> None:
        """Go from moment to moment: what bodies name, what people do, and each body at the latest after its period."""
        while self.clock.now() < end:
            await self._moment()
            services = self.bot.services
            named = [services.agenda.next(body.name) for body in services.bodies]
            moments = [at for at in [*named, *self._latest.values(), *(at for at, _ in self.deeds)] if at is not None]
            self._tick(max(self.clock.now(), min([end, *moments])))

    def _tick(self, moment: dt.datetime) -> None:
        self.clock.set(moment)
        self.before_moment(moment)

    async def _moment(self) -> None:
        now = self.clock.now()
        for _ in range(_MOST_ROUNDS):
            due = [self._pass(body) for body in self.bot.services.bodies if self._is_due(body, now)]
            done = [self._do(at, deed) for at, deed in self.deeds if at <= now]
            if not due and not done:
                return
            if self.side_by_side:
                await asyncio.gather(*due, *done)
            else:
                for step in [*due, *done]:
                    await step
            await self.bot.services.settle()
        self.unexpected.append(f"a body asks to run for ever at {now.isoformat()}")

    def _is_due(self, body: Body, now: dt.datetime) -> bool:
        named = self.bot.services.agenda.next(body.name)
        return min(named or dt.datetime.max.replace(tzinfo=dt.UTC), self._latest.get(body.name, now)) <= now

    async def _pass(self, body: Body) -> None:
        """Run one pass as the real loop does: it outlives what its body raises."""
        now = self.clock.now()
        try:
            await self.bot.services.agenda.run(body, now)
        except DATABASE_ERRORS:
            pass
        except Exception as error:  # noqa: BLE001 -- to be told of, whatever it is
            self.unexpected.append(f"{body.name} raised {error!r}")
        self._latest[body.name] = now + body.period

    async def _do(self, at: dt.datetime, deed: Deed) -> None:
        """Let somebody do something; who is told that it did not work tries again a little later."""
        self.deeds.remove((at, deed))
        try:
            await deed()
        except DATABASE_ERRORS:
            self.deeds.append((self.clock.now() + _AGAIN, deed))

    def press(self, press: Press, event: Event, user_id: int) -> Deed:
        """Return the press of a button."""

        async def _press() -> None:
            await self.bot.services.signups.press(
                press,
                event.id,
                guild_id=event.guild_id,
                user_id=user_id,
                role_ids=frozenset(),
                now=self.clock.now(),
            )

        return _press


async def furnish(world: World) -> None:
    """Store the guilds and events of the story, and plan what people and Discord do; before anything breaks."""
    await make_guild(profile_fields=[REQUIRED_FIELD])
    await make_guild(OTHER_GUILD, announcement_channel_id=OTHER_CHANNEL, ops_channel_id=OTHER_CHANNEL + 1)
    series = await make_series(now=BEGIN, name="Weekly")
    await subscribe(series.id, _PEOPLE[:2])
    for place in range(4):
        await _event(f"Post {place}", DAY + (1 + place // 2) * MINUTE)
    lost = await _event("Lost answer", DAY + 2 * MINUTE)
    unsent = await _event("Lost request", DAY + 3 * MINUTE)
    world.discord.loses_after.add(f"#{lost.id}")
    world.discord.loses_before.add(f"#{unsent.id}")
    world.discord.forbidden.add(CHANNEL + 50)
    await _event("Forbidden", DAY + 4 * MINUTE, discord_announcement_channel_id=CHANNEL + 50)
    world.discord.unavailable.add(OTHER_GUILD)
    await _event("Missed", 5 * MINUTE, guild_id=OTHER_GUILD)
    await _event("Opens", 3 * DAY, signups_open_at=BEGIN + 5 * MINUTE)
    await _event("Long over", -2 * DAY, state=EventState.IN_PROGRESS, discord_announcement=False)
    await _fan_outs(world)
    await _presses(world)
    world.deeds.append((BEGIN + 9 * MINUTE, lambda: _see_again(world)))


async def load(world: World) -> None:
    """Store more than one thing to do at a time: posts each minute, DMs to forty, presses in between."""
    crowd = tuple(range(1001, 1041))
    for place in range(40):
        await _event(f"Load {place}", DAY + (1 + place // 5) * MINUTE)
    asked = await make_series(now=BEGIN, name="Crowd", is_active=False)
    await subscribe(asked.id, crowd)
    await know(crowd)
    quiet: dict[str, object] = {"discord_announcement": False, "state": EventState.SIGNUPS_OPEN}
    hours = {"discord_signup_reminder": True, "discord_signup_reminder_hours": 24}
    await _event("Crowd", DAY + 90 * SECOND, series_id=asked.id, **quiet, **hours)
    pressed = await _event("Crowded", 2 * DAY, **quiet)
    world.deeds += [
        (BEGIN + MINUTE + place * 5 * SECOND, world.press(Press.SIGN_UP, pressed, who))
        for place, who in enumerate(crowd)
    ]


async def _event(name: str, starts_in: dt.timedelta, **fields: object) -> Event:
    return await make_event(now=BEGIN, name=name, starts_in=starts_in, **fields)


async def _fan_outs(world: World) -> None:
    quiet: Mapping[str, object] = {"discord_announcement": False, "state": EventState.SIGNUPS_OPEN}
    asked = await make_series(now=BEGIN, name="Asked", is_active=False)
    for who in _PEOPLE:
        await RepeaterSubscription.create(series_id=asked.id, user_id=who, created_at=BEGIN)
    hours = {"discord_signup_reminder": True, "discord_signup_reminder_hours": 24}
    await _event("Signup", DAY + 2 * MINUTE, series_id=asked.id, **quiet, **hours)
    attended = await _event(
        "Attendance",
        2 * HOUR + 6 * MINUTE,
        **quiet,
        discord_confirm_attendance=True,
        discord_confirm_attendance_dm=True,
        discord_confirm_attendance_hours=2,
    )
    profiled = await _event(
        "Profile", 3 * HOUR + 8 * MINUTE, **quiet, discord_profile_reminder=True, discord_profile_reminder_hours=3
    )
    for event in (attended, profiled):
        await sign_up(event, _PEOPLE[1:])
    world.discord.closed_dms.add(_TAKES_NO_DMS)


async def _presses(world: World) -> None:
    full = await _event("Pressed", 2 * DAY, state=EventState.SIGNUPS_OPEN, max_players=2, discord_announcement_hours=72)
    deeds: list[tuple[float, Deed]] = [
        (3, world.press(Press.SIGN_UP, full, 101)),
        (3, world.press(Press.SIGN_UP, full, 102)),
        (4, world.press(Press.SIGN_UP, full, 103)),
        (5, world.press(Press.CANT, full, 101)),
        (6, lambda: _delete_post(world, full.id)),
        (7, world.press(Press.MAYBE, full, 104)),
    ]
    steps = [(BEGIN + minute * MINUTE + place * SECOND, deed) for place, (minute, deed) in enumerate(deeds)]
    world.deeds.append((steps[0][0], _Chain(world, deque(steps))))


@dataclass(slots=True)
class _Chain:
    """Deeds each of which waits for the one before it to have worked."""

    world: World
    steps: deque[tuple[dt.datetime, Deed]]

    async def __call__(self) -> None:
        while self.steps and self.steps[0][0] <= self.world.clock.now():
            await self.steps[0][1]()
            self.steps.popleft()
        if self.steps:
            self.world.deeds.append((self.steps[0][0], self))


async def _delete_post(world: World, event_id: int) -> None:
    for post in world.discord.in_channel():
        if post.message.marker == f"#{event_id}":
            post.deleted = True


async def _see_again(world: World) -> None:
    world.discord.unavailable.discard(OTHER_GUILD)
