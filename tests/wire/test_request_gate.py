"""Where the gate stands: before the deadline of a request and before its lease is asked for."""

import asyncio
import datetime as dt

import discord
import pytest
import yarl

from bot.delivery import request_trace
from bot.delivery.request_gate import RequestGate
from bot.leases.failures import ErrorClass, SendError, Verdict
from bot.leases.ports import HistoryUnreadableError
from bot.message.outgoing import OutgoingMessage
from tests.wire.stub import PERSON, Answer, Stub, rate_limited
from tests.wire.test_request_trace import DM, FORBIDDEN, MARKER, SHORT, TARGET, Waits, Wire, logged_in

UNAUTHORIZED = Answer(401, {"message": "401: Unauthorized", "code": 0})
SERVER_ERROR = Answer(500, {"message": "Internal Server Error", "code": 0})


class Gated:
    """A gate in time that moves by hand; keeps what happened while it held a request."""

    def __init__(self, wire: Wire) -> None:
        self.now = 0.0
        self.waits: list[tuple[float, int, bool]] = []
        self.wire = wire
        self.gate = wire.trace._gate = RequestGate(seconds=lambda: self.now, sleep=self.sleep)
        self.gate.take_over(wire.client.http)

    async def sleep(self, seconds: float) -> None:
        call = request_trace._CURRENT.get()
        self.waits.append((seconds, len(self.wire.asked), call is not None and call._timer is not None))
        self.now += seconds
        await asyncio.sleep(0)

    def hold(self, seconds: float) -> None:
        """Let Discord have told the whole bot to wait."""
        api = yarl.URL(self.wire.stub.address)
        self.gate.answered("GET", api / "users/@me", 429, {"Retry-After": str(seconds)})


async def test_the_wait_is_before_the_lease_is_asked_for_and_none_of_the_deadlines(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with Stub() as stub, logged_in(stub, monkeypatch) as wire:
        gated = Gated(wire)
        gated.hold(20)

        await wire.send(deadline=SHORT)

    assert sum(seconds for seconds, _, _ in gated.waits) >= 20
    assert {(asked, armed) for _, asked, armed in gated.waits} == {(0, False)}
    assert wire.asked == ["asked"]


async def test_a_post_that_would_wait_too_long_is_transient_and_nothing_is_asked_or_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with Stub() as stub, logged_in(stub, monkeypatch) as wire:
        Gated(wire).hold(45)

        error = await wire.refusal()

    assert (error.error_class, error.verdict) == (ErrorClass.RATE_LIMITED, Verdict.TRANSIENT)
    assert error.retry_after == dt.timedelta(seconds=45)
    assert wire.asked == []
    assert stub.posts() == 0


async def test_whoever_asks_is_held_a_dm_a_channel_an_edit_and_a_history(monkeypatch: pytest.MonkeyPatch) -> None:
    async with Stub() as stub, logged_in(stub, monkeypatch) as wire:
        Gated(wire).hold(45)
        poster, before = wire.poster(), len(stub.asked)

        for work in (
            poster.send(DM, OutgoingMessage(marker=MARKER, content=MARKER), nonce="n", before_request=wire.ask),
            poster.open_dm(PERSON),
            poster.edit(TARGET, 1, OutgoingMessage(marker=MARKER, content=MARKER)),
        ):
            with pytest.raises(SendError) as caught:
                await work
            assert caught.value.error_class is ErrorClass.RATE_LIMITED
            assert not caught.value.may_have_arrived
        with pytest.raises(HistoryUnreadableError):
            await poster.find(TARGET, marker=MARKER, after=0)

        assert len(stub.asked) == before


async def test_a_refused_token_is_known_from_any_request_and_nothing_more_is_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with Stub() as stub, logged_in(stub, monkeypatch) as wire:
        Gated(wire)
        stub.will("POST", UNAUTHORIZED)

        first, second = await wire.refusal(), await wire.refusal()

    assert first.error_class is second.error_class is ErrorClass.UNAUTHORIZED
    assert stub.posts() == 1


async def test_every_refusal_is_counted_whatever_was_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    async with Stub() as stub, logged_in(stub, monkeypatch) as wire:
        gated = Gated(wire)
        stub.will("POST", FORBIDDEN)
        stub.will("PATCH", FORBIDDEN)
        stub.will("GET", FORBIDDEN)

        await wire.refusal()
        with pytest.raises(SendError):
            await wire.poster().edit(TARGET, 1, OutgoingMessage(marker=MARKER, content=MARKER))
        with pytest.raises(HistoryUnreadableError):
            await wire.poster().find(TARGET, marker=MARKER, after=0)

        assert len(gated.gate._invalid._moments) == 3


async def test_a_repeat_that_is_not_let_out_leaves_open_what_the_first_became(monkeypatch: pytest.MonkeyPatch) -> None:
    async with Stub() as stub, logged_in(stub, monkeypatch) as wire:
        gated = Gated(wire)

        async def _hold() -> None:
            gated.hold(45)

        monkeypatch.setattr(discord.http, "asyncio", Waits(meanwhile=_hold))
        stub.will("POST", SERVER_ERROR)

        error = await wire.refusal()

    assert error.verdict is Verdict.UNKNOWN
    assert stub.posts() == 1


async def test_the_wait_that_discord_told_holds_for_the_next_who_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    async with Stub() as stub, logged_in(stub, monkeypatch) as wire:
        gated = Gated(wire)
        stub.will("POST", rate_limited(31))
        await wire.refusal()

        gated.now += 1
        await wire.send()

    assert gated.waits[0][0] == 30


async def test_somebody_cancelled_in_a_wait_of_the_whole_bot_leaves_nobody_waiting_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with Stub() as stub, logged_in(stub, monkeypatch) as wire:
        gated, sleeping = Gated(wire), asyncio.Event()

        async def _sleep() -> None:
            if not sleeping.is_set():
                sleeping.set()
                await asyncio.Event().wait()

        monkeypatch.setattr(discord.http, "asyncio", Waits(meanwhile=_sleep))
        stub.will("POST", rate_limited(20, everywhere=True))
        first = asyncio.create_task(wire.send())
        await sleeping.wait()
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)

        async with asyncio.timeout(5):
            await wire.send()

    assert sum(seconds for seconds, _, _ in gated.waits) >= 20
