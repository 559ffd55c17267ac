"""Planned deaths of a process: at which request, on which side of it, and that the dead ask for nothing more."""

import datetime as dt
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from bot.demo.crashes import MESSAGES, OPENINGS, CrashingTransport, PlannedCrash, SimulatedCrashError, plan_crashes
from tests.builders import HOUR, utc

NOW = utc("2026-03-01 12:00")


@dataclass
class Transport:
    """What a client asks Discord through; it keeps what was asked."""

    taken: list[str] = field(default_factory=list)

    async def request(self, route: Any, **kwargs: Any) -> str:  # noqa: ANN401 -- the library's own signature
        self.taken.append(route.path)
        return "done"


async def ask(transport: Transport, path: str, method: str = "POST") -> Any:  # noqa: ANN401
    return await transport.request(SimpleNamespace(method=method, path=path))


def crashing(*crashes: PlannedCrash, now: dt.datetime = NOW) -> tuple[CrashingTransport, Transport]:
    transport, wrapper = Transport(), CrashingTransport(list(crashes))
    wrapper.wrap(transport, now=lambda: now)
    return wrapper, transport


@pytest.mark.parametrize("path", [MESSAGES, OPENINGS])
@pytest.mark.parametrize("accepted", [True, False])
async def test_a_message_or_an_opening_meets_the_crash_on_the_planned_side(path: str, accepted: bool) -> None:
    wrapper, transport = crashing(PlannedCrash(NOW, accepted=accepted))

    with pytest.raises(SimulatedCrashError):
        await ask(transport, path)

    assert transport.taken == [path] * accepted
    assert (wrapper.crashed, wrapper.met, wrapper.met_after_acceptance) == (True, 1, int(accepted))
    assert wrapper.met_at_opening == (path == OPENINGS)
    assert (wrapper.attempted, wrapper.acknowledged) == (int(path == MESSAGES), 0)


@pytest.mark.parametrize(("path", "method"), [("/users/@me/channels", "GET"), (MESSAGES, "GET"), ("/guilds", "POST")])
async def test_nothing_else_meets_it(path: str, method: str) -> None:
    wrapper, transport = crashing(PlannedCrash(NOW, accepted=False))

    assert await ask(transport, path, method) == "done"

    assert not wrapper.crashed


async def test_the_dead_ask_for_nothing_more() -> None:
    wrapper, transport = crashing()
    wrapper.crash()

    with pytest.raises(SimulatedCrashError):
        await ask(transport, "/guilds", "GET")

    assert transport.taken == []


async def test_a_crash_waits_for_its_moment() -> None:
    wrapper, transport = crashing(PlannedCrash(NOW + HOUR, accepted=True))

    await ask(transport, MESSAGES)

    assert (wrapper.crashed, wrapper.attempted, wrapper.acknowledged) == (False, 1, 1)


def test_planned_crashes_are_the_seeds_own_spread_and_on_both_sides() -> None:
    end = NOW + 100 * HOUR

    plan = plan_crashes(20, seed=3, start=NOW, end=end)

    assert plan == plan_crashes(20, seed=3, start=NOW, end=end) != plan_crashes(20, seed=4, start=NOW, end=end)
    assert [crash.at for crash in plan] == sorted(crash.at for crash in plan)
    assert all(NOW <= crash.at <= NOW + 90 * HOUR for crash in plan)
    assert sum(crash.accepted for crash in plan) == 10
