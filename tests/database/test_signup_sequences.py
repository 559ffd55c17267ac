"""
Random people, buttons and limits against a plain model of who comes: the same answers, the same line, the same places.

The model knows nothing of rows; whatever happens, nobody waits while a place is free.
"""

import asyncio
import contextlib
import contextvars
import datetime as dt
from dataclasses import dataclass, field
from typing import Protocol

import pytest
import structlog.testing
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bot.database import opened
from bot.errors import BotError
from bot.events.signups.people import people_of
from bot.events.signups.rules import Press
from bot.events.signups.sign_up import Signups
from bot.events.signups.waiting_line import fill_places
from bot.scheduling.agenda import Agenda
from bot.transactions import atomic
from models.event import Event
from models.states import EventState
from tests.builders import GUILD, SECOND, make_event, utc

NOW = utc("2026-03-01 12:00")
SIGN_UP, MAYBE, CANT, CONFIRM, CANT_MAKE_IT = Press


@dataclass
class Model:
    """Who comes, by lists: ``coming`` and ``line`` in their order, ``others`` by what they said."""

    limit: int | None
    roll_call: bool = False
    coming: list[int] = field(default_factory=list)
    confirmed: set[int] = field(default_factory=set)
    line: list[int] = field(default_factory=list)
    others: dict[int, str] = field(default_factory=dict)

    def fill(self) -> list[int]:
        promoted = []
        while self.line and (self.limit is None or len(self.coming) < self.limit):
            promoted.append(self.line.pop(0))
            self.coming.append(promoted[-1])
        return promoted

    def status(self, person: int) -> str:
        if person in self.coming:
            return "confirmed" if person in self.confirmed else "signed_up"
        return "waitlisted" if person in self.line else self.others.get(person, "nothing")

    def press(self, person: int, press: Press) -> tuple[str, str, list[int]]:
        """Return whether it was refused, changed something or nothing; what the person is then; who moved up."""
        before = self.status(person)
        if self._settled(before, press):
            return "same", before, []
        if self._refused(before, press):
            return "refused", before, []
        if press is CONFIRM:
            self.confirmed.add(person)
            return "changed", "confirmed", []
        self._leave(person)
        if press is SIGN_UP:
            self.line.append(person)
        else:
            self.others[person] = "tentative" if press is MAYBE else "declined"
        promoted = self.fill()
        return "changed", self.status(person), [one for one in promoted if press is not SIGN_UP or one != person]

    def _settled(self, status: str, press: Press) -> bool:
        same = {SIGN_UP: {"signed_up", "confirmed", "waitlisted"}, MAYBE: {"tentative"}, CONFIRM: {"confirmed"}}
        return status in same.get(press, {"declined"})

    def _refused(self, status: str, press: Press) -> bool:
        holds = status in {"signed_up", "confirmed", "waitlisted"}
        match press:
            case Press.SIGN_UP | Press.MAYBE:
                return self.roll_call
            case Press.CANT:
                return self.roll_call and not holds
            case Press.CONFIRM:
                return status not in {"signed_up", "confirmed"}
            case Press.CANT_MAKE_IT:
                return not holds

    def _leave(self, person: int) -> None:
        self.confirmed.discard(person)
        self.others.pop(person, None)
        for place in (self.coming, self.line):
            if person in place:
                place.remove(person)


@dataclass
class World:
    """An event with real rows beside its model; each step is a second later."""

    event: Event
    model: Model
    signups: Signups
    now: dt.datetime = NOW

    async def check(self) -> None:
        people = await people_of(self.event.id)
        came = [person.user_id for person in people.attending]
        assert sorted(came) == sorted(self.model.coming)
        assert [person.user_id for person in people.waitlisted] == self.model.line
        said = {one.user_id: one.status.value for one in (*people.attending, *people.tentative, *people.declined)}
        assert said == {one: self.model.status(one) for one in (*self.model.coming, *self.model.others)}
        if people.waitlisted:
            assert self.model.limit is not None
            assert len(came) >= self.model.limit


class Step(Protocol):
    """One thing that happens."""

    async def take(self, world: World) -> None: ...


@dataclass(frozen=True, slots=True)
class Pressed:
    """A person presses a button."""

    person: int
    press: Press

    async def take(self, world: World) -> None:
        kind, status, promoted = world.model.press(self.person, self.press)
        version = (await Event.get(id=world.event.id)).post_version
        try:
            answer = await world.signups.press(
                self.press, world.event.id, guild_id=GUILD, user_id=self.person, role_ids=None, now=world.now
            )
        except BotError:
            assert kind == "refused"
        else:
            rank = world.model.line.index(self.person) + 1 if status == "waitlisted" else None
            assert (answer.changed, answer.status, answer.position) == (kind == "changed", status, rank)
            assert list(answer.promoted) == promoted
        assert (await Event.get(id=world.event.id)).post_version == version + (kind == "changed")


@dataclass(frozen=True, slots=True)
class Rush:
    """Several people sign up at once; whoever is first, as many get a place as there are."""

    people: frozenset[int]

    async def take(self, world: World) -> None:
        model = world.model
        fresh = {one for one in self.people if model.status(one) == "nothing"}
        if model.roll_call or not fresh:
            return
        answers = await asyncio.gather(
            *(
                world.signups.press(SIGN_UP, world.event.id, guild_id=GUILD, user_id=one, role_ids=None, now=world.now)
                for one in fresh
            )
        )
        # The rows say in which order they came; the model then has to agree with everything else.
        by_order = sorted(zip(fresh, answers, strict=True), key=lambda pair: pair[1].position or 0)
        for one, answer in by_order:
            assert model.press(one, SIGN_UP)[1] == answer.status


@dataclass(frozen=True, slots=True)
class Limited:
    """An admin sets another limit, or none; whom it lets in moves up."""

    limit: int | None

    async def take(self, world: World) -> None:
        async def _unit() -> tuple[int, ...]:
            event = await Event.filter(id=world.event.id).select_for_update().get()
            event.max_players = self.limit
            await event.save(update_fields=["max_players"])
            return await fill_places(event, now=world.now)

        promoted = await atomic(_unit)
        world.model.limit = self.limit
        assert list(promoted) == world.model.fill()


@dataclass(frozen=True, slots=True)
class RollCall:
    """The roll call begins, or is called off."""

    on: bool

    async def take(self, world: World) -> None:
        state = EventState.ROLL_CALL if self.on else EventState.SIGNUPS_OPEN
        await Event.filter(id=world.event.id).update(state=state)
        world.model.roll_call = self.on


TOO_SLOW = HealthCheck.too_slow
PEOPLE = st.integers(1, 7)
LIMITS = st.none() | st.integers(1, 4)
STEPS = st.one_of(
    st.builds(Pressed, PEOPLE, st.just(SIGN_UP)),
    st.builds(Pressed, PEOPLE, st.sampled_from(Press)),
    st.builds(Rush, st.frozensets(PEOPLE, min_size=2, max_size=5)),
    st.builds(Limited, LIMITS),
    st.builds(RollCall, st.booleans()),
)


async def live(limit: int | None, steps: list[Step]) -> None:
    event = await make_event(now=NOW, state=EventState.SIGNUPS_OPEN, max_players=limit)
    world = World(event, Model(limit), Signups(Agenda(), debounce=3 * SECOND))
    for step in steps:
        await step.take(world)
        await world.check()
        world.now += SECOND


def test_whoever_presses_what_the_rows_agree_with_the_model(database_url: str) -> None:
    # Opened once for all examples: that takes longer than an example does.
    context, held = contextvars.copy_context(), contextlib.AsyncExitStack()
    with asyncio.Runner() as runner, structlog.testing.capture_logs():

        @settings(max_examples=150, deadline=None, derandomize=True, database=None, suppress_health_check=[TOO_SLOW])
        @given(limit=LIMITS, steps=st.lists(STEPS, max_size=20))
        def _agree(limit: int | None, steps: list[Step]) -> None:
            runner.run(live(limit, steps), context=context)

        runner.run(held.enter_async_context(opened(database_url)), context=context)
        try:
            _agree()
        finally:
            runner.run(held.aclose(), context=context)


def test_the_model_itself_keeps_nobody_waiting_while_a_place_is_free() -> None:
    model = Model(limit=1)

    told = [model.press(1, SIGN_UP), model.press(2, SIGN_UP), model.press(1, CANT), model.press(1, SIGN_UP)]

    assert told == [
        ("changed", "signed_up", []),
        ("changed", "waitlisted", []),
        ("changed", "declined", [2]),
        ("changed", "waitlisted", []),
    ]
    assert (model.coming, model.line) == ([2], [1])


@pytest.mark.parametrize("press", Press)
def test_the_model_knows_every_button(press: Press) -> None:
    assert Model(limit=None).press(1, press)[0] in {"changed", "refused"}
