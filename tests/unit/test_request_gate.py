"""What lets a request out, in time that moves by hand; over real connections it is proved in tests/chaos."""

import asyncio
import contextlib
import datetime as dt
from collections.abc import Mapping

import pytest
import structlog.testing
import yarl

from bot.clock import ManualClock
from bot.delivery import request_gate
from bot.delivery.failures import send_error
from bot.delivery.request_budget import NO_DMS_FROM, NOTHING_FROM
from bot.delivery.request_gate import RequestGate, RequestStoppedError
from bot.leases.blocks import Blocks
from bot.leases.failures import ErrorClass, Verdict
from tests.conftest import START

API = yarl.URL("https://discord.com/api/v10")
POST, OTHER = API / "channels/1/messages", API / "channels/2/messages"
CALLBACK = API / "interactions/7/token/callback"
GATEWAY = yarl.URL("wss://gateway.discord.gg/?v=10")
NOTHING = dt.timedelta(0)
VIA = {"Via": "1.1 google"}
GLOBAL = {**VIA, "X-RateLimit-Global": "true"}


class World:
    """A gate whose clock a waiter moves itself, as if nobody else were there."""

    def __init__(self) -> None:
        self.now = 1_000.0
        self.slept = 0.0
        self.gate = RequestGate(seconds=lambda: self.now, sleep=self.sleep)

    async def sleep(self, seconds: float) -> None:
        self.now += seconds
        self.slept += seconds
        await asyncio.sleep(0)

    def answered(self, url: yarl.URL, status: int, headers: Mapping[str, str] | None = None) -> None:
        self.gate.answered("POST", url, status, headers or {})

    async def waits(self, url: yarl.URL, *, goes_ahead: bool = False) -> float:
        """Return how long a request has to wait."""
        before = self.slept
        await self.gate.admit("POST", url, goes_ahead=goes_ahead)
        return self.slept - before


@pytest.fixture
def world() -> World:
    return World()


async def test_what_nothing_forbids_leaves_at_once(world: World) -> None:
    assert await world.waits(POST) == 0


async def test_the_rate_holds_what_the_bot_asks_but_no_answer_to_a_person(world: World) -> None:
    for _ in range(60):
        await world.gate.admit("POST", POST)

    assert await world.waits(CALLBACK) == 0
    assert await world.waits(GATEWAY) == 0
    assert await world.waits(POST) > 0


@pytest.mark.parametrize("headers", [GLOBAL, {**VIA, "X-RateLimit-Scope": "global"}, {}], ids=["old", "scope", "block"])
async def test_a_429_of_the_whole_bot_holds_every_route_but_interactions(world: World, headers: dict[str, str]) -> None:
    world.answered(POST, 429, {"Retry-After": "8", **headers})

    assert await world.waits(CALLBACK) == 0
    assert await world.waits(OTHER) >= 8


async def test_a_429_of_one_route_holds_whoever_asks_for_it_and_no_other(world: World) -> None:
    world.answered(POST, 429, {"Retry-After": "8", **VIA})

    assert await world.waits(OTHER) == 0
    assert await world.waits(POST) == 8
    assert await world.waits(POST) < 1


async def test_a_429_of_an_interaction_holds_its_own_route_alone(world: World) -> None:
    world.answered(CALLBACK, 429, {"Retry-After": "2", **GLOBAL})

    assert await world.waits(POST) == 0
    assert await world.waits(CALLBACK) == 2


@pytest.mark.parametrize("told", [None, "soon", "inf", "-inf", "nan", "1e999"])
async def test_a_429_that_does_not_say_how_long_holds_for_a_second(world: World, told: str | None) -> None:
    world.answered(POST, 429, VIA if told is None else {**VIA, "Retry-After": told})

    assert await world.waits(POST) == 1


@pytest.mark.parametrize("headers", [VIA, GLOBAL], ids=["a route", "the whole bot"])
async def test_a_rest_shorter_than_a_clock_shows_is_slept_through_once(headers: dict[str, str]) -> None:
    world = World()
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)
        assert len(slept) < 3, "it asks for ever"
        # An event loop wakes whoever is due within its clock's resolution, without waiting for it.
        world.now += seconds if seconds > 1e-9 else 0.0

    world.gate = RequestGate(seconds=lambda: world.now, sleep=sleep)
    world.answered(POST, 429, {"Retry-After": "8", **headers})
    world.now += 8 - 2e-10

    await world.gate.admit("POST", POST)

    assert slept == [1e-4]


@pytest.mark.parametrize("headers", [VIA, GLOBAL], ids=["a route", "the whole bot"])
async def test_no_429_holds_for_longer_than_a_day(world: World, headers: dict[str, str]) -> None:
    world.answered(POST, 429, {"Retry-After": "1e15", **headers})

    with pytest.raises(RequestStoppedError) as caught:
        await world.gate.admit("POST", POST)

    assert caught.value.retry_after == dt.timedelta(days=1)
    assert world.gate.rest_of_dms() <= dt.timedelta(days=1, minutes=1)


async def test_a_wait_beyond_half_a_minute_is_told_instead_of_waited_for(world: World) -> None:
    world.answered(POST, 429, {"Retry-After": "45", **VIA})

    with pytest.raises(RequestStoppedError) as caught:
        await world.gate.admit("POST", POST)

    assert caught.value.error_class is ErrorClass.RATE_LIMITED
    assert caught.value.retry_after == dt.timedelta(seconds=45)
    assert world.slept == 0


async def test_who_waits_for_one_route_holds_nobody_up_who_comes_after(world: World) -> None:
    gate, order = RequestGate(seconds=lambda: world.now, sleep=lambda _: asyncio.sleep(0)), []
    gate.answered("POST", POST, 429, {"Retry-After": "20", **VIA})

    async def _ask(url: yarl.URL, name: str) -> None:
        await gate.admit("POST", url)
        order.append(name)

    held = asyncio.create_task(_ask(POST, "held"))
    await asyncio.sleep(0)
    await _ask(OTHER, "free")
    world.now += 20
    await held

    assert order == ["free", "held"]


async def test_a_direct_message_goes_ahead_of_those_who_stand_in_line(world: World) -> None:
    order: list[str] = []

    async def _ask(name: str, *, goes_ahead: bool = False) -> None:
        await world.gate.admit("POST", POST, goes_ahead=goes_ahead)
        order.append(name)

    waiting = [asyncio.create_task(_ask(f"post {number}")) for number in range(20)]
    await asyncio.sleep(0)
    await _ask("dm", goes_ahead=True)
    await asyncio.gather(*waiting)

    assert order.index("dm") <= 6


async def test_its_share_of_the_rate_is_this_processs(world: World) -> None:
    world.gate.divide(4)
    began = world.now
    for _ in range(46):
        await world.gate.admit("POST", POST)

    assert 3.8 <= world.now - began <= 4.2


# ---------------------------------------------------------------------------------------------------- invalid requests


@pytest.mark.parametrize("status", [401, 403, 429])
async def test_no_dm_is_started_from_four_hundred_on_until_the_window_has_room(world: World, status: int) -> None:
    for _ in range(NO_DMS_FROM - 1):
        world.answered(CALLBACK, status, {"Retry-After": "0", **VIA})
    assert world.gate.rest_of_dms() == NOTHING

    world.answered(CALLBACK, status, {"Retry-After": "0", **VIA})

    assert world.gate.rest_of_dms() == dt.timedelta(minutes=10)
    assert world.gate.rest_of_all() == NOTHING
    world.now += 600
    assert world.gate.rest_of_dms() == NOTHING


@pytest.mark.parametrize("url", [POST, CALLBACK], ids=["the bot's", "an answer"])
async def test_nothing_leaves_from_a_thousand_on_until_the_window_has_room(world: World, url: yarl.URL) -> None:
    for _ in range(NOTHING_FROM):
        world.answered(OTHER, 403)

    with pytest.raises(RequestStoppedError) as caught:
        await world.gate.admit("POST", url)

    assert caught.value.error_class is ErrorClass.RATE_LIMITED
    assert caught.value.retry_after == world.gate.rest_of_all() == dt.timedelta(minutes=10)
    world.now += 600
    assert await world.waits(url) == 0


async def test_a_429_of_a_limit_that_others_filled_counts_for_nothing(world: World) -> None:
    for _ in range(NOTHING_FROM):
        world.answered(OTHER, 429, {**VIA, "X-RateLimit-Scope": "shared", "Retry-After": "0"})

    assert world.gate.rest_of_dms() == NOTHING


@pytest.mark.parametrize("status", [200, 400, 404, 500, 503])
async def test_other_answers_count_for_nothing(world: World, status: int) -> None:
    for _ in range(NOTHING_FROM):
        world.answered(OTHER, status)

    assert world.gate.rest_of_dms() == NOTHING


async def test_from_four_hundred_on_nothing_is_asked_again_where_it_was_refused(world: World) -> None:
    for _ in range(NO_DMS_FROM):
        world.answered(POST, 403)

    with pytest.raises(RequestStoppedError):
        await world.gate.admit("POST", POST)
    assert await world.waits(OTHER) == 0


@pytest.mark.parametrize(("status", "asked"), [(204, True), (404, True), (400, False), (500, False), (503, False)])
async def test_a_refused_route_is_asked_again_once_it_was_taken_and_not_after_an_error_of_a_server(
    world: World, status: int, *, asked: bool
) -> None:
    for _ in range(NO_DMS_FROM):
        world.answered(POST, 403)

    world.answered(POST, status)

    with contextlib.nullcontext() if asked else pytest.raises(RequestStoppedError):
        await world.gate.admit("POST", POST)


async def test_each_stop_is_told_once_a_window(world: World) -> None:
    with structlog.testing.capture_logs() as log:
        for _ in range(1_200):
            world.answered(POST, 403)
        world.now += 601
        for _ in range(NO_DMS_FROM):
            world.answered(POST, 403)

    assert [line["event"] for line in log] == [
        "invalid_requests_stop_dms",
        "invalid_requests_stop_all",
        "invalid_requests_stop_dms",
    ]


# ------------------------------------------------------------------------------------------------------- refused token


async def test_a_refused_token_lets_nothing_out_any_more_and_is_told_once(world: World) -> None:
    told: list[str] = []
    world.gate.on_refused(lambda: told.append("refused"))

    world.answered(POST, 401)
    world.answered(OTHER, 401)

    assert told == ["refused"]
    for url in (POST, OTHER, CALLBACK):
        with pytest.raises(RequestStoppedError) as caught:
            await world.gate.admit("POST", url)
        assert caught.value.error_class is ErrorClass.UNAUTHORIZED


@pytest.mark.parametrize("url", [CALLBACK, API / "webhooks/7/token/messages/@original"], ids=["callback", "edit"])
async def test_an_expired_interaction_is_no_refused_token(world: World, url: yarl.URL) -> None:
    world.answered(url, 401)

    assert await world.waits(POST) == 0


@pytest.mark.parametrize("written", [False, True], ids=["first", "a repeat after a 5xx"])
def test_what_was_not_let_out_is_no_outage_and_unknown_only_where_an_earlier_one_left(*, written: bool) -> None:
    error = RequestStoppedError(ErrorClass.RATE_LIMITED, "wait", dt.timedelta(seconds=40))

    means = send_error(error, written=written)

    assert (means.error_class, means.retry_after) == (ErrorClass.RATE_LIMITED, dt.timedelta(seconds=40))
    assert means.verdict is (Verdict.UNKNOWN if written else Verdict.TRANSIENT)


# ----------------------------------------------------------------------------------------- what the services hear of it


def blocks_of(world: World, stopped: list[str]) -> Blocks:
    blocks = Blocks(clock=ManualClock(START), stop=stopped.append)
    blocks.follow(world.gate)
    return blocks


def test_the_stop_of_dms_is_none_of_the_posts(world: World) -> None:
    blocks = blocks_of(world, [])
    assert blocks.dms_pause_until is None
    for _ in range(NO_DMS_FROM):
        world.answered(OTHER, 403)

    assert blocks.dms_pause_until == START + dt.timedelta(minutes=10)
    assert not blocks.is_paused()


def test_the_hard_stop_pauses_everything_and_a_longer_block_outlasts_it(world: World) -> None:
    blocks = blocks_of(world, [])
    for _ in range(NOTHING_FROM):
        world.answered(OTHER, 403)
    world.now += 300
    assert blocks.paused_until == START + dt.timedelta(minutes=5)

    blocks.heed(ErrorClass.CDN_BLOCK)

    assert blocks.paused_until == START + dt.timedelta(minutes=10)


def test_a_refused_token_stops_the_process_whoever_asked(world: World) -> None:
    stopped: list[str] = []
    blocks = blocks_of(world, stopped)

    world.answered(API / "users/@me", 401)

    assert len(stopped) == 1
    assert blocks.is_paused()


def test_without_a_gate_nothing_rests() -> None:
    blocks = Blocks(clock=ManualClock(START), stop=lambda _: None)

    assert blocks.dms_pause_until is None
    assert blocks.paused_until is None


def test_the_gate_goes_by_a_clock_that_is_never_set_back() -> None:
    assert asyncio.run(_loop_time()) == pytest.approx(0, abs=5)


async def _loop_time() -> float:
    return request_gate.RequestGate()._seconds() - asyncio.get_running_loop().time()
