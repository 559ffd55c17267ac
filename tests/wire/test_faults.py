"""The fault scripts themselves: what each kind does to a request, and which requests a rule hits."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp
import pytest

from tests.wire import faults
from tests.wire.discord_stub import CHANNEL, DiscordStub, running_stub
from tests.wire.faults import ANY, MESSAGES, OPENINGS, Fault, FaultScript, Rule, most_within


class Caller:
    """Asks the stub behind a script."""

    def __init__(self, stub: DiscordStub, session: aiohttp.ClientSession) -> None:
        self.stub = stub
        self._session = session
        self._sent = 0

    async def post(self) -> aiohttp.ClientResponse:
        self._sent += 1
        body = {"content": "hello", "nonce": f"n{self._sent}", "enforce_nonce": True}
        address = f"{self.stub.base}/api/v10/channels/{CHANNEL}/messages"
        async with self._session.post(address, json=body) as response:
            await response.read()
            return response

    @property
    def taken(self) -> int:
        return len(self.stub.messages[CHANNEL])


@asynccontextmanager
async def behind(script: FaultScript) -> AsyncIterator[Caller]:
    async with running_stub(middlewares=[script.middleware]) as stub, aiohttp.ClientSession() as session:
        yield Caller(stub, session)


@pytest.mark.parametrize(
    ("fault", "status", "taken"),
    [
        (faults.failed(502, accepted=False), 502, 0),
        (faults.failed(502, accepted=True), 502, 1),
        (faults.refused(403, 50007), 403, 0),
        (faults.rate_limited(3), 429, 0),
        (faults.blocked(403), 403, 0),
        (faults.slow(0.0), 200, 1),
    ],
    ids=["before", "after", "refused", "429", "block", "late"],
)
async def test_an_answer_is_replaced_before_or_after_the_stub_took_the_request(
    fault: Fault, status: int, taken: int
) -> None:
    script = FaultScript(Rule("POST", MESSAGES, fault))
    async with behind(script) as caller:
        assert (await caller.post()).status == status
        assert caller.taken == taken

    assert [(one.method, one.nonce, one.status) for one in script.seen] == [("POST", "n1", status)]


@pytest.mark.parametrize("accepted", [False, True])
async def test_a_connection_is_cut_before_or_after(*, accepted: bool) -> None:
    script = FaultScript(Rule("POST", MESSAGES, faults.cut(accepted=accepted)))
    async with behind(script) as caller:
        with pytest.raises(aiohttp.ServerDisconnectedError):
            await caller.post()
        assert caller.taken == accepted

    assert script.seen[0].status is None


async def test_a_request_that_hangs_is_never_taken() -> None:
    async with behind(FaultScript(Rule("POST", MESSAGES, faults.hang()))) as caller:
        asking = asyncio.create_task(caller.post())
        done, _ = await asyncio.wait([asking], timeout=0.1)
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)

        assert not done
        assert caller.taken == 0


async def test_a_429_says_whose_limit_it_is_and_a_block_is_a_page() -> None:
    script = FaultScript(
        Rule("*", ANY, faults.rate_limited(1.5, everywhere=True), times=1),
        Rule("*", ANY, faults.rate_limited(1.5, shared=True), times=1),
        Rule("*", ANY, faults.blocked(429, 60), times=1),
    )
    async with behind(script) as caller:
        answers = [await caller.post() for _ in range(3)]

    assert [one.headers.get("X-RateLimit-Scope") for one in answers] == ["global", "shared", None]
    assert [one.headers["Retry-After"] for one in answers] == ["1.5", "1.5", "60"]
    assert ["Via" in one.headers for one in answers] == [True, True, False]
    assert answers[2].content_type == "text/html"
    assert [one.is_invalid for one in script.seen] == [True, False, True]


async def test_a_rule_hits_after_so_many_so_often_and_its_own_requests_alone() -> None:
    script = FaultScript(
        Rule("POST", OPENINGS, faults.failed(accepted=False)),
        Rule("POST", MESSAGES, faults.failed(accepted=False), after=2, times=2),
    )
    async with behind(script) as caller:
        statuses = [(await caller.post()).status for _ in range(6)]

    assert statuses == [200, 200, 500, 500, 200, 200]


async def test_a_rule_hits_within_its_seconds_alone() -> None:
    now = iter([9.9, 9.9, 10.0, 10.0, 19.9, 19.9, 20.0, 20.0])
    script = FaultScript(
        Rule("POST", MESSAGES, faults.failed(accepted=False), within=(10, 20)), seconds=lambda: next(now)
    )
    async with behind(script) as caller:
        statuses = [(await caller.post()).status for _ in range(4)]

    assert statuses == [200, 500, 500, 200]


async def test_the_same_seed_hits_the_same_requests() -> None:
    async def _statuses(seed: int) -> list[int]:
        rule = Rule("POST", MESSAGES, faults.failed(accepted=False), chance=0.5)
        async with behind(FaultScript(rule, seed=seed)) as caller:
            return [(await caller.post()).status for _ in range(20)]

    assert await _statuses(1) == await _statuses(1) != await _statuses(2)


def test_the_fullest_span_leaves_its_end_out() -> None:
    assert most_within(1, []) == 0
    assert most_within(1, [0, 0.5, 1, 1.2, 3]) == 3
