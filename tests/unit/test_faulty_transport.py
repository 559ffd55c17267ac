"""Requests that fail on either side of their acceptance, and what the client's own tracing hears of each."""

import datetime as dt
from types import SimpleNamespace
from typing import Any

import aiohttp
import discord
import pytest

from bot.demo.crashes import MESSAGES, OPENINGS, SimulatedCrashError
from bot.demo.fault_plan import Fault, FaultKind
from bot.demo.faulty_transport import FaultyTransport
from bot.demo.trace import Trace
from tests.builders import MINUTE, SECOND, utc

NOW = utc("2026-03-01 12:00")
CHANNEL, DM = 5, 6


class Place:
    """A world with a channel and a direct message, whose time moves when it is told to."""

    def __init__(self) -> None:
        self.names = {CHANNEL: "announcements"}
        self.people = {77: "ada"}
        self.moment = NOW

    def now(self) -> dt.datetime:
        return self.moment

    def advance_to(self, moment: dt.datetime) -> None:
        self.moment = max(self.moment, moment)

    def recipient_of(self, channel_id: int) -> int | None:
        return 77 if channel_id == DM else None


class Client:
    """A client's transport that takes everything, and the tracing that came with it, both written down."""

    def __init__(self, world: Place) -> None:
        self.heard: list[str] = []
        self.taken: list[tuple[str, dt.datetime]] = []
        self.hooks = aiohttp.TraceConfig()
        self._world = world
        for name in ("request_start", "request_headers_sent", "request_end", "request_exception"):
            getattr(self.hooks, f"on_{name}").append(self._hears(name))

    def _hears(self, name: str) -> Any:  # noqa: ANN401
        async def _hear(_session: object, _context: object, params: Any) -> None:  # noqa: ANN401
            status = f" {params.response.status}" if hasattr(params, "response") else ""
            self.heard.append(name.removeprefix("request_") + status)

        return _hear

    async def request(self, route: Any, **kwargs: Any) -> dict[str, str]:  # noqa: ANN401
        self.taken.append((route.path, self._world.now()))
        return {"id": "1"}


class Stage:
    """One process's transport in a place, with these faults."""

    def __init__(self, *faults: Fault) -> None:
        self.world = Place()
        self.client = Client(self.world)
        self.trace = Trace(self.world.now)
        self.met: list[Fault] = []
        world: Any = self.world
        self.transport = FaultyTransport(
            list(faults), world=world, bot_now=self.world.now, trace=self.trace, on_met=self.met.append
        )
        self.transport.wrap(self.client, self.client.hooks)

    async def post(self, channel_id: int = CHANNEL, path: str = MESSAGES, method: str = "POST") -> Any:  # noqa: ANN401
        route = SimpleNamespace(
            method=method, path=path, channel_id=channel_id, url=f"https://discord.com/api/v10/channels/{channel_id}"
        )
        body = {"embeds": [{"footer": {"text": "#7"}}]} if path == MESSAGES else {"recipient_id": 77}
        return await self.client.request(route, json=body)


def fault(kind: FaultKind, **more: Any) -> Fault:  # noqa: ANN401
    return Fault(NOW, kind, **more)


async def test_without_a_fault_a_request_goes_through_as_in_life() -> None:
    stage = Stage()

    assert await stage.post() == {"id": "1"}

    assert stage.client.heard == ["start", "headers_sent", "end 200"]
    assert (stage.transport.attempted, stage.transport.acknowledged) == (1, 1)
    assert stage.trace.lines == ["2026-03-01T12:00:00+00:00 POST /channels/announcements/messages #7 -> ok"]


@pytest.mark.parametrize(
    ("kind", "error", "is_taken", "heard"),
    [
        (FaultKind.SERVER_ERROR, discord.DiscordServerError, False, ["start", "headers_sent", "end 503"]),
        (FaultKind.SERVER_ERROR_AFTER, discord.DiscordServerError, True, ["start", "headers_sent", "end 503"]),
        (FaultKind.RESET, aiohttp.ServerDisconnectedError, False, ["start", "headers_sent", "exception"]),
        (FaultKind.RESET_AFTER, aiohttp.ServerDisconnectedError, True, ["start", "headers_sent", "exception"]),
        (FaultKind.UNREACHABLE, ConnectionRefusedError, False, ["start", "exception"]),
        (FaultKind.TIMEOUT, TimeoutError, False, ["start", "headers_sent", "exception"]),
        (FaultKind.TIMEOUT_AFTER, TimeoutError, True, ["start", "headers_sent", "exception"]),
        (FaultKind.RATE_LIMIT, discord.RateLimited, False, ["start", "headers_sent", "end 429"]),
        (FaultKind.KILL_BEFORE, SimulatedCrashError, False, ["start", "headers_sent"]),
        (FaultKind.KILL_AFTER, SimulatedCrashError, True, ["start", "headers_sent"]),
    ],
)
async def test_a_fault_is_on_its_side_of_the_acceptance_and_heard_as_in_life(
    kind: FaultKind, error: type[BaseException], is_taken: bool, heard: list[str]
) -> None:
    stage = Stage(fault(kind, lasts=MINUTE))

    with pytest.raises(error):
        await stage.post()

    assert (bool(stage.client.taken), stage.client.heard) == (is_taken, heard)
    assert stage.met == [fault(kind, lasts=MINUTE)]


async def test_the_dead_ask_for_nothing_more() -> None:
    stage = Stage(fault(FaultKind.KILL_AFTER))
    with pytest.raises(SimulatedCrashError):
        await stage.post()

    with pytest.raises(SimulatedCrashError):
        await stage.post(method="GET")

    assert len(stage.client.taken) == 1


@pytest.mark.parametrize(
    ("kind", "taken_at"),
    [
        (FaultKind.SUSPEND_BEFORE, NOW + MINUTE),
        (FaultKind.SUSPEND_DURING, NOW + MINUTE),
        (FaultKind.SUSPEND_AFTER, NOW),
    ],
)
async def test_a_machine_that_stands_still_sends_or_hears_late(kind: FaultKind, taken_at: dt.datetime) -> None:
    stage = Stage(fault(kind, lasts=MINUTE))

    await stage.post()

    assert stage.client.taken == [(MESSAGES, taken_at)]
    assert stage.world.now() == NOW + MINUTE


async def test_a_short_wait_is_waited_by_the_library_which_asks_again() -> None:
    stage = Stage(fault(FaultKind.RATE_WAIT, lasts=5 * SECOND))

    await stage.post()

    assert stage.client.heard == ["start", "headers_sent", "end 429", "start", "headers_sent", "end 200"]
    assert stage.client.taken == [(MESSAGES, NOW + 5 * SECOND)]


async def test_only_direct_messages_are_opened_too_fast() -> None:
    stage = Stage(fault(FaultKind.OPENED_TOO_FAST))

    await stage.post(CHANNEL)
    with pytest.raises(discord.Forbidden) as refused:
        await stage.post(DM)
    await stage.post(path=OPENINGS)

    assert refused.value.code == 40003


async def test_so_many_requests_in_a_row_meet_a_fault_and_none_before_its_time() -> None:
    stage = Stage(Fault(NOW + MINUTE, FaultKind.RESET, times=2))
    await stage.post()
    stage.world.advance_to(NOW + MINUTE)

    for _ in range(2):
        with pytest.raises(aiohttp.ServerDisconnectedError):
            await stage.post()
    await stage.post()

    assert len(stage.client.taken) == 2


async def test_while_discord_is_down_nothing_is_taken_or_read() -> None:
    stage = Stage()
    stage.transport.is_down = True

    for method in ("POST", "GET", "PATCH"):
        with pytest.raises(discord.DiscordServerError):
            await stage.post(method=method)

    assert stage.client.taken == []
