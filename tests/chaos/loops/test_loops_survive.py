"""R14 in small, and that it fails where what it rests on is taken out."""

import datetime as dt

import pytest

from bot.events.lifecycle import Lifecycle, transition
from bot.loops import BodyLoop, LoopSet
from bot.scheduling import bodies
from bot.transactions import Dialect
from models.event import Event
from models.states import EventState
from tests.chaos.loops import loops_survive
from tests.chaos.loops.loop_world import a_process
from tests.chaos.loops.loops_survive import seeds_of
from tests.chaos.loops.planted_faults import KINDS, Place
from tests.chaos.proof import Figures, Share, unmet
from tests.throwaway import Databases

BACKENDS = [Dialect.SQLITE, pytest.param(Dialect.POSTGRES, marks=pytest.mark.postgres)]

pytestmark = pytest.mark.timeout(240)


def tried(databases: Databases, *seeds: int, dialect: Dialect = Dialect.SQLITE) -> Figures:
    return loops_survive.run(Share(seeds, dialect, databases))


ASKING = (bodies.CHECK_EVENT_REMINDERS, bodies.DRAIN_DM_QUEUE)
"""Two of the bodies that have items and ask Discord for something: not every one does."""


def striking(place: Place, dialect: Dialect) -> list[int]:
    """Return two seeds whose faults strike at a place."""
    if place in {Place.REQUEST, Place.RESPONSE, Place.ITEM}:
        return [seeds_of(place, body=body, dialect=dialect)[0] for body in ASKING]
    return seeds_of(place, dialect=dialect)[:2]


@pytest.mark.parametrize("dialect", BACKENDS)
@pytest.mark.parametrize("place", list(Place))
def test_a_loop_survives_a_fault(databases: Databases, dialect: Dialect, place: Place) -> None:
    figures = tried(databases, *striking(place, dialect), dialect=dialect)

    assert figures.faults == []
    assert figures.attempted == figures.runs
    assert unmet(figures, loops_survive.judge(figures)) == []


WITHOUT_ITEMS = (bodies.INSTANCE_HEARTBEAT, bodies.TELL_PROMOTIONS)
"""The first has none; what the second finds is read in one statement, and sent by the queue."""


@pytest.mark.parametrize("body", [one.name for one in a_process().services.bodies if one.name not in WITHOUT_ITEMS])
def test_a_bad_item_stops_no_other(databases: Databases, body: str) -> None:
    figures = tried(databases, seeds_of(Place.ITEM, body=body)[0])

    assert figures.faults == []
    assert figures.attempted == 1


def test_a_pass_that_lets_an_exception_through_is_found(databases: Databases, monkeypatch: pytest.MonkeyPatch) -> None:
    async def _pass(self: BodyLoop) -> None:
        await self._agenda.run(self.body, self._clock.now())
        self._rest()

    monkeypatch.setattr(BodyLoop, "_pass", _pass)

    (seed,) = seeds_of(Place.BEGIN, kind="ValueError")[:1]
    assert any("it ended its loop" in fault for fault in tried(databases, seed).faults)


def test_a_supervisor_that_is_off_is_found(databases: Databases, monkeypatch: pytest.MonkeyPatch) -> None:
    async def _supervise(self: LoopSet) -> None:
        """Look after nothing."""

    monkeypatch.setattr(LoopSet, "_supervise", _supervise)
    # Here alone the patience does run out; a slow machine only adds to what is found.
    monkeypatch.setattr(loops_survive, "_PATIENCE_SECONDS", 2)

    before, hang = seeds_of(Place.BEFORE_LOOP)[0], seeds_of(Place.HANG)[0]
    assert any("no good pass" in fault for fault in tried(databases, before).faults)
    assert any("nobody is told that it hangs" in fault for fault in tried(databases, hang).faults)


def test_a_supervisor_that_tells_it_over_and_over_is_found(
    databases: Databases, monkeypatch: pytest.MonkeyPatch
) -> None:
    really = BodyLoop.restart_if_overdue

    def _forgetful(self: BodyLoop) -> None:
        self._last_told = self._last_good
        really(self)

    monkeypatch.setattr(BodyLoop, "restart_if_overdue", _forgetful)

    assert any("more than once in three periods" in fault for fault in tried(databases, seeds_of(Place.HANG)[0]).faults)


def test_a_bad_item_that_stops_the_others_is_found(databases: Databases, monkeypatch: pytest.MonkeyPatch) -> None:
    async def _transition_one(self: Lifecycle, event: Event, to: EventState, now: dt.datetime) -> None:
        await transition(event, allowed={event.state}, to=to, now=now, debounce=self._debounce, instance=self._instance)

    monkeypatch.setattr(Lifecycle, "_transition_one", _transition_one)

    (seed,) = seeds_of(Place.ITEM, body=bodies.OPEN_SCHEDULED_SIGNUPS)[:1]
    assert any("one bad item stopped those of" in fault for fault in tried(databases, seed).faults)


def test_a_place_at_which_nothing_struck_is_found() -> None:
    seeds = loops_survive.PROOFS[0].seeds
    figures = Figures(runs=seeds, attempted=seeds, samples={f"struck {place.value}": [1.0] * 10 for place in Place})
    assert all(one.is_met for one in loops_survive.judge(figures))

    figures.samples[f"struck {Place.RESPONSE.value}"] = [0.0] * 10

    assert unmet(figures, loops_survive.judge(figures)) == ["struck at a request's answer 0 of 10 (at least 30%)"]


def test_the_seeds_cover_what_the_module_says() -> None:
    names = [one.name for one in a_process().services.bodies]
    small, whole = (
        [loops_survive._chosen(seed, names) for seed in range(many)]
        for many in (loops_survive.PROOFS[0].seeds, loops_survive.EVERYTHING)
    )

    assert {(one.name, one.fault.kind) for one in small} == {(name, kind) for name in names for kind in KINDS}
    assert {one.fault.kind for one in small if one.fault.place is Place.STATEMENT} == set(KINDS)
    assert len({(one.name, one.fault.place, one.fault.kind) for one in whole}) == len(names) * (len(KINDS) * 8 - 2)
