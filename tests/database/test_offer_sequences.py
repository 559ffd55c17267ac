"""
Random people, admins, limits and time against a plain model of a line with offers: the same places, the same line.

The model knows nothing of rows. Whatever happens, places that are given and held are no more than there are, but for
those that an admin went over the limit for; nobody waits while a place is free but who let an offer of it pass; and
once all is quiet, everybody who moved up was told of it once, however often the process died.
"""

import asyncio
import contextlib
import contextvars
import datetime as dt
from collections import Counter
from dataclasses import dataclass, field
from typing import Protocol

import structlog.testing
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bot.bootstrap import ServiceOptions
from bot.clock import ManualClock
from bot.database import opened
from bot.dm_queue.worker import DmQueueOptions
from bot.errors import BotError
from bot.events.signups.desk import SignupDesk
from bot.events.signups.people import people_of
from bot.events.signups.rules import Press
from bot.events.signups.waiting_line import PASSED, promote
from bot.message.proposal import Proposal
from bot.scheduling.agenda import Agenda
from bot.scheduling.bodies import DRAIN_DM_QUEUE, OPEN_SCHEDULED_SIGNUPS, TELL_PROMOTIONS
from bot.transactions import atomic
from models.event import Event
from models.event_signup import EventSignup
from models.states import ATTENDING, EventState
from tests.builders import GUILD, HOUR, MINUTE, SECOND, FakeDiscord, Process, make_event, utc

NOW = utc("2026-03-01 12:00")
MINUTES = 30
WAITS, LET_PASS = None, PASSED


@dataclass
class Model:
    """Who comes, by lists; ``line`` holds who is in it with until when a place is held for them."""

    limit: int | None
    offers: bool
    coming: list[int] = field(default_factory=list)
    line: dict[int, dt.datetime | None] = field(default_factory=dict)
    out: dict[int, str] = field(default_factory=dict)
    moved_up: Counter[int] = field(default_factory=Counter)
    over: int = 0

    def held(self) -> list[int]:
        return [one for one, until in self.line.items() if until not in {WAITS, LET_PASS}]

    def waiting(self) -> list[int]:
        return [one for one, until in self.line.items() if until is WAITS]

    def free(self) -> int:
        return 1_000 if self.limit is None else self.limit - len(self.coming) - len(self.held())

    def fill(self, now: dt.datetime, *, freed: bool = False) -> None:
        if freed:
            self.line = {one: WAITS if until == LET_PASS else until for one, until in self.line.items()}
        chosen = list(self.line) if self.limit is None else self.waiting()[: max(0, self.free())]
        for one in chosen:
            self.moved_up[one] += 1
            if self.offers and self.limit is not None:
                self.line[one] = now + MINUTES * MINUTE
            else:
                del self.line[one]
                self.coming.append(one)

    def leave(self, one: int) -> bool:
        """Take somebody off wherever they are; return whether that frees a place that was given."""
        self.line.pop(one, None)
        self.out.pop(one, None)
        if one in self.coming:
            self.coming.remove(one)
            return True
        return False

    def come(self, one: int, now: dt.datetime) -> None:
        """Sign somebody up: into a place, or to the end of the line."""
        until = self.line.get(one)
        has_offer = until is not None and until > now
        is_full = not has_offer and self.free() - len(self.waiting()) <= 0
        self.leave(one)
        if is_full:
            self.line[one] = WAITS
        else:
            self.coming.append(one)
        self.fill(now)

    def end_offers(self, now: dt.datetime) -> None:
        ended = [one for one in self.held() if (self.line[one] or now) <= now]
        for one in ended:
            del self.line[one]
            self.line[one] = LET_PASS
        if ended:
            self.fill(now)


@dataclass
class World:
    """An event with real rows beside its model, and a process that tells."""

    event: Event
    model: Model
    clock: ManualClock
    discord: FakeDiscord
    desk: SignupDesk
    bot: Process

    async def press(self, one: int, press: Press) -> None:
        with contextlib.suppress(BotError):
            await self.bot.services.signups.press(
                press, self.event.id, guild_id=GUILD, user_id=one, role_ids=None, now=self.clock.now()
            )

    async def check(self) -> None:
        model, people = self.model, await people_of(self.event.id)
        assert {person.user_id for person in people.attending} == set(model.coming)
        rows = await EventSignup.filter(event_id=self.event.id).order_by("position")
        line = {row.user_id: row.offered_until for row in rows if row.position is not None}
        assert list(line.items()) == list(model.line.items())
        assert {row.user_id: row.promotions for row in rows if row.promotions} == dict(+model.moved_up)
        if model.limit is not None:
            assert len(model.coming) + len(model.held()) <= max(model.limit, len(model.coming), model.over)
            assert not model.waiting() or model.free() <= 0

    async def tell(self) -> None:
        for body in (TELL_PROMOTIONS, DRAIN_DM_QUEUE, DRAIN_DM_QUEUE):
            await self.bot.services.agenda.run(self.bot.services.body(body), self.clock.now())
            await self.bot.services.settle()


class Step(Protocol):
    """One thing that happens."""

    async def take(self, world: World) -> None: ...


@dataclass(frozen=True, slots=True)
class Pressed:
    """A person presses a button of the post."""

    person: int
    press: Press

    async def take(self, world: World) -> None:
        model, now, one = world.model, world.clock.now(), self.person
        await world.press(one, self.press)
        if model.out.get(one) == "removed":
            return
        if self.press is Press.SIGN_UP:
            if one not in model.coming and model.line.get(one, LET_PASS) is not WAITS:
                model.come(one, now)
        elif model.out.get(one) != "declined":
            freed = model.leave(one)
            model.out[one] = "declined"
            model.fill(now, freed=freed)


@dataclass(frozen=True, slots=True)
class Answered:
    """A person answers an offer, or what they take for one."""

    person: int
    accepts: bool

    async def take(self, world: World) -> None:
        model, now, one = world.model, world.clock.now(), self.person
        until = model.line.get(one)
        has_offer = until is not None and until > now
        try:
            answer = await world.bot.services.signups.answer_offer(
                world.event.id, accepts=self.accepts, guild_id=GUILD, user_id=one, role_ids=None, now=now
            )
        except BotError:
            assert not has_offer
            return
        assert answer.changed == has_offer
        if not has_offer:
            return
        model.leave(one)
        if self.accepts:
            model.coming.append(one)
        else:
            model.out[one] = "declined"
        model.fill(now)


@dataclass(frozen=True, slots=True)
class Added:
    """An admin adds a person; where it is full, lets them wait or goes over the limit."""

    person: int
    over: bool

    async def take(self, world: World) -> None:
        model, now, one = world.model, world.clock.now(), self.person
        reply = await world.desk.add(str(world.event.id), one, guild_id=GUILD, actor=1, now=now)
        if one in model.coming:
            assert not isinstance(reply, Proposal)
            return
        until = model.line.get(one)
        is_full = not (until is not None and until > now) and model.free() - len(model.waiting()) <= 0
        assert isinstance(reply, Proposal) == is_full
        if isinstance(reply, Proposal):
            label = "Go over the limit" if self.over else "Put on the wait-list"
            ways = [way for way in reply.ways if way.label == label]
            if not ways:
                return
            await ways[0].then(now)
        waited = one in model.line
        model.leave(one)
        if is_full and not self.over:
            model.line[one] = WAITS
        else:
            model.coming.append(one)
            model.moved_up[one] += waited
            model.over = max(model.over, len(model.coming) + len(model.held()))
        if waited:
            model.fill(now)


@dataclass(frozen=True, slots=True)
class Removed:
    """An admin takes a person off."""

    person: int

    async def take(self, world: World) -> None:
        model, now, one = world.model, world.clock.now(), self.person
        await world.desk.remove(str(world.event.id), one, guild_id=GUILD, actor=1, now=now)
        is_known = one in model.coming or one in model.line or model.out.get(one) == "declined"
        if is_known:
            freed = model.leave(one)
            model.out[one] = "removed"
            model.fill(now, freed=freed)


@dataclass(frozen=True, slots=True)
class Limited:
    """An admin sets another limit, or none."""

    limit: int | None

    async def take(self, world: World) -> None:
        model, now = world.model, world.clock.now()
        was = model.limit

        async def _unit() -> None:
            await Event.filter(id=world.event.id).update(max_players=self.limit)
            await promote(world.event.id, was=was, now=now)

        await atomic(_unit)
        rose = was is not None and (self.limit is None or self.limit > was)
        model.limit = self.limit
        model.over = len(model.coming)
        if self.limit is not None:
            for one in model.held()[::-1][: max(0, -model.free())]:
                model.line[one] = WAITS
        model.fill(now, freed=rose)


@dataclass(frozen=True, slots=True)
class Later:
    """Time passes, and the offers whose time ran out are ended, or not yet."""

    minutes: int
    ends: bool

    async def take(self, world: World) -> None:
        world.clock.advance(self.minutes * MINUTE)
        if self.ends:
            await world.bot.run(OPEN_SCHEDULED_SIGNUPS)
            world.model.end_offers(world.clock.now())


@dataclass(frozen=True, slots=True)
class Told:
    """The process tells who moved up, or dies as it is about to, and another takes its place."""

    dies: bool

    async def take(self, world: World) -> None:
        if not self.dies:
            await world.tell()
            return
        await world.bot.services.agenda.run(world.bot.services.body(TELL_PROMOTIONS), world.clock.now())
        await world.bot.crash()
        world.bot = await a_process(world.discord, world.clock)


PEOPLE = st.integers(1, 5)
STEPS = st.one_of(
    st.builds(Pressed, PEOPLE, st.just(Press.SIGN_UP)),
    st.builds(Pressed, PEOPLE, st.just(Press.CANT)),
    st.builds(Answered, PEOPLE, st.booleans()),
    st.builds(Added, PEOPLE, st.booleans()),
    st.builds(Removed, PEOPLE),
    st.builds(Limited, st.none() | st.integers(1, 4)),
    st.builds(Later, st.sampled_from([10, 31]), st.booleans()),
    st.just(Later(31, ends=True)),
    st.builds(Told, st.booleans()),
)


async def a_process(discord: FakeDiscord, clock: ManualClock) -> Process:
    options = ServiceOptions(dm_queue=DmQueueOptions(drain_rate=1_000.0, open_channels_rate=1_000.0))
    bot = Process(discord, clock, options=options)
    await bot.services.register.enter()
    return bot


async def live(*, limit: int | None, offers: bool, crowd: int, steps: list[Step]) -> None:
    clock = ManualClock(NOW)
    event = await make_event(
        now=NOW,
        starts_in=100 * HOUR,
        state=EventState.SIGNUPS_OPEN,
        max_players=limit,
        signup_offer_minutes=MINUTES if offers else None,
        discord_announcement=False,
    )
    discord = FakeDiscord(clock)
    desk = SignupDesk(Agenda(), debounce=3 * SECOND)
    world = World(event, Model(limit, offers), clock, discord, desk, await a_process(discord, clock))
    for step in [*(Pressed(one, Press.SIGN_UP) for one in range(1, crowd + 1)), *steps]:
        await step.take(world)
        await world.check()
        clock.advance(SECOND)
    for _ in range(4):
        await world.tell()
        clock.advance(SECOND)
    await told_once(world)
    # Of the next example none of this is to be told.
    await Event.filter(id=event.id).delete()


async def told_once(world: World) -> None:
    told = Counter((post.channel_id, post.message.marker) for post in world.discord.posts)
    assert set(told.values()) <= {1}
    for row in await EventSignup.filter(event_id=world.event.id):
        has_offer = row.offered_until is not None and row.offered_until > world.clock.now()
        if row.promotions and (row.status in ATTENDING or has_offer):
            markers = [post.message.marker for post in world.discord.dms(row.user_id)]
            assert f"#{world.event.id} place {row.promotions}" in markers


def test_whoever_does_what_the_line_agrees_with_the_model_and_each_is_told_once(database_url: str) -> None:
    # Opened once for all examples: that takes longer than an example does.
    context, opening = contextvars.copy_context(), contextlib.AsyncExitStack()
    with asyncio.Runner() as runner, structlog.testing.capture_logs():

        @settings(
            max_examples=40,
            deadline=None,
            derandomize=True,
            database=None,
            suppress_health_check=[HealthCheck.too_slow],
        )
        @given(
            limit=st.sampled_from([1, 2, 3]),
            offers=st.sampled_from([True, True, False]),
            crowd=st.integers(2, 5),
            steps=st.lists(STEPS, min_size=14, max_size=22),
        )
        def _agree(*, limit: int | None, offers: bool, crowd: int, steps: list[Step]) -> None:
            runner.run(live(limit=limit, offers=offers, crowd=crowd, steps=steps), context=context)

        runner.run(opening.enter_async_context(opened(database_url)), context=context)
        try:
            _agree()
        finally:
            runner.run(opening.aclose(), context=context)
