"""What can only be known at the request itself, by the real client against a real connection."""

import asyncio
import datetime as dt
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import discord
import pytest

from bot.client import point_to
from bot.clock import ManualClock
from bot.delivery import request_trace
from bot.delivery.channel_poster import ChannelPoster
from bot.delivery.request_trace import GuardedCall, RequestTrace, at_once
from bot.leases.failures import ErrorClass, SendError, Verdict
from bot.leases.ports import ChannelTarget, Delivered, DmTarget, HistoryUnreadableError, LeaseLostError, Target
from bot.message.outgoing import OutgoingMessage
from tests.wire.stub import (
    CHANNEL,
    DATE,
    DM_CHANNEL,
    GUILD,
    PERSON,
    Answer,
    Stub,
    guild_payload,
    rate_limited,
)

MARKER = "#7"
MESSAGE = OutgoingMessage(marker=MARKER, content=f"See you there\n{MARKER}")
TARGET = ChannelTarget(GUILD, CHANNEL)
DM = DmTarget(PERSON, DM_CHANNEL)
# Later than every Date that the stub tells: a date ahead of the machine is not believed.
MACHINE_TIME = dt.datetime(2030, 1, 1, tzinfo=dt.UTC)
# The server's silence: nothing but a request that gets no answer is waited for this long.
SHORT = dt.timedelta(seconds=0.2)
LONG = dt.timedelta(seconds=30)
# A deadline that a busy machine keeps too, and a wait for a rate limit that is longer.
PATIENT, PAST_IT = dt.timedelta(seconds=0.6), 0.7
SERVER_ERROR = Answer(500, {"message": "Internal Server Error", "code": 0})
FORBIDDEN = Answer(403, {"message": "Missing Permissions", "code": 50013})


@dataclass
class Waits:
    """Stands in for the library's own sleeps, which then take no time; keeps how long each would have been."""

    seconds: list[float] = field(default_factory=list)
    armed: list[bool] = field(default_factory=list)
    meanwhile: Callable[[], Awaitable[None]] | None = None

    async def sleep(self, seconds: float, *_: object) -> None:
        call = request_trace._CURRENT.get()
        self.seconds.append(seconds)
        self.armed.append(call is not None and call._timer is not None)
        if self.meanwhile is not None:
            await self.meanwhile()

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 -- the rest of asyncio, as it is
        return getattr(asyncio, name)


@dataclass
class Wire:
    """A client that is logged in to the stub, with its trace."""

    stub: Stub
    client: discord.Client
    trace: RequestTrace
    asked: list[str] = field(default_factory=list)

    def poster(self, deadline: dt.timedelta = LONG) -> ChannelPoster:
        return ChannelPoster(self.client, trace=self.trace, timeout=deadline)

    async def ask(self) -> None:
        self.asked.append("asked")

    async def send(self, *, deadline: dt.timedelta = LONG) -> Delivered:
        return await self.poster(deadline).send(TARGET, MESSAGE, nonce="n", before_request=self.ask)

    async def refusal(self, *, deadline: dt.timedelta = LONG) -> SendError:
        with pytest.raises(SendError) as caught:
            await self.send(deadline=deadline)
        return caught.value


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> Waits:
    """Let the library sleep no time."""
    found = Waits()
    monkeypatch.setattr(discord.http, "asyncio", found)
    return found


@asynccontextmanager
async def logged_in(stub: Stub, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Wire]:
    monkeypatch.setattr(discord.http.Route, "BASE", discord.http.Route.BASE)
    point_to(stub.address, "")
    trace = RequestTrace(ManualClock(MACHINE_TIME))
    client = discord.Client(intents=discord.Intents(guilds=True), http_trace=trace.config, max_ratelimit_timeout=30.0)
    await client._async_setup_hook()
    try:
        user = await client.http.static_login("planted.token")
        client._connection.user = discord.ClientUser(state=client._connection, data=user)
        client._connection._add_guild_from_data(guild_payload())  # type: ignore[arg-type]
        yield Wire(stub, client, trace)
    finally:
        await client.close()


@pytest.fixture
async def wire(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Wire]:
    """Log a client in to a stub of its own, which knows the guild."""
    async with Stub() as stub, logged_in(stub, monkeypatch) as found:
        yield found


def forget_the_channel(wire: Wire) -> None:
    """Let the client know the guild and not its channel, so that it asks for it."""
    guild = wire.client.get_guild(GUILD)
    assert guild is not None
    guild._channels.clear()


# ------------------------------------------------------------------------------------------------------- Discord's time


class Monotonic:
    """A monotonic clock that moves by hand."""

    seconds = 1_000.0

    def monotonic(self) -> float:
        return self.seconds


def test_before_the_first_answer_the_machines_time_has_to_do() -> None:
    assert RequestTrace(ManualClock(MACHINE_TIME)).now() == MACHINE_TIME


async def test_discords_time_is_the_date_of_its_last_answer_carried_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = Monotonic()
    monkeypatch.setattr(request_trace, "time", clock)
    async with Stub() as stub, logged_in(stub, monkeypatch) as wire:
        assert wire.trace.now() == DATE

        clock.seconds += 90
        assert wire.trace.now() == DATE + dt.timedelta(seconds=90)

        stub.date = "Sun, 01 Mar 2026 13:00:05 GMT"
        await wire.send()
        assert wire.trace.now() == DATE + dt.timedelta(hours=1, seconds=5)


async def test_a_refusal_tells_the_time_too(wire: Wire, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_trace, "time", Monotonic())
    wire.stub.date = "Sun, 01 Mar 2026 13:00:05 GMT"
    wire.stub.will("POST", FORBIDDEN)

    await wire.refusal()

    assert wire.trace.now() == DATE + dt.timedelta(hours=1, seconds=5)


async def test_a_date_ahead_of_the_machine_is_not_believed(wire: Wire) -> None:
    wire.stub.date = "Tue, 01 Mar 2095 13:00:05 GMT"

    await wire.send()

    assert wire.trace.now() == MACHINE_TIME


@pytest.mark.parametrize(
    "header", ["yesterday", "", "Sun, 01 Mar 2026 13:00:05 -0000"], ids=["words", "empty", "no zone"]
)
async def test_a_date_that_is_none_changes_nothing(wire: Wire, header: str, monkeypatch: pytest.MonkeyPatch) -> None:
    wire.stub.date = header
    before = wire.trace.now()

    await wire.send()

    assert abs(wire.trace.now() - before) < dt.timedelta(minutes=1)


# --------------------------------------------------------------------------------------------------- before the request


async def test_a_simulated_transport_shows_no_requests_and_a_real_one_does(wire: Wire) -> None:
    assert not RequestTrace(ManualClock(MACHINE_TIME)).sees_requests
    assert wire.trace.sees_requests


async def test_each_request_is_asked_for_once_right_before_it(wire: Wire) -> None:
    wire.stub.on_request = wire.asked.append

    await wire.send()
    await wire.send()

    assert wire.asked == ["asked", "POST", "asked", "POST"]


async def test_the_librarys_own_repeats_after_a_server_error_are_asked_for_too(wire: Wire, waits: Waits) -> None:
    wire.stub.on_request = wire.asked.append
    wire.stub.will("POST", SERVER_ERROR, SERVER_ERROR)

    delivered = await wire.send()

    assert wire.asked == ["asked", "POST"] * 3
    assert waits.seconds[:2] == [1, 3]
    assert delivered.message_id == int(wire.stub.messages[0]["id"])


async def test_what_waits_for_its_turn_in_a_channel_is_asked_for_only_then(wire: Wire) -> None:
    gate, reached, order = asyncio.Event(), asyncio.Event(), list[str]()
    wire.stub.will("POST", Answer(gate=gate))

    def _arrived(method: str) -> None:
        order.append(method)
        reached.set()

    async def _post(name: str) -> None:
        async def _ask() -> None:
            order.append(name)

        await wire.poster().send(TARGET, MESSAGE, nonce=name, before_request=_ask)

    wire.stub.on_request = _arrived
    first = asyncio.create_task(_post("first"))
    await reached.wait()
    second = asyncio.create_task(_post("second"))
    await asyncio.sleep(0)
    gate.set()
    await asyncio.gather(first, second)

    assert order == ["first", "POST", "second", "POST"]


async def test_a_lost_lease_prevents_the_request(wire: Wire) -> None:
    async def _lost() -> None:
        raise LeaseLostError

    with pytest.raises(LeaseLostError):
        await wire.poster().send(TARGET, MESSAGE, nonce="n", before_request=_lost)

    assert wire.stub.posts() == 0


async def test_a_lease_lost_after_a_server_error_prevents_the_repeat(wire: Wire, waits: Waits) -> None:
    wire.stub.will("POST", SERVER_ERROR)

    async def _lost_at_the_second() -> None:
        await wire.ask()
        if len(wire.asked) > 1:
            raise LeaseLostError

    with pytest.raises(LeaseLostError):
        await wire.poster().send(TARGET, MESSAGE, nonce="n", before_request=_lost_at_the_second)

    assert wire.stub.posts() == 1


async def test_the_database_that_fails_while_asking_prevents_the_request_and_is_no_failure_of_discord(
    wire: Wire,
) -> None:
    lost = OSError("the database is gone")

    async def _fails() -> None:
        raise lost

    with pytest.raises(OSError, match="the database is gone") as caught:
        await wire.poster().send(TARGET, MESSAGE, nonce="n", before_request=_fails)

    assert caught.value is lost
    assert wire.stub.posts() == 0


# --------------------------------------------------------------------------------------------------------- the deadline


@pytest.mark.parametrize("after_the_head", [False, True], ids=["no answer", "an answer whose body never comes"])
async def test_a_request_without_an_answer_in_time_is_unknown_and_not_failed(wire: Wire, after_the_head: bool) -> None:
    silence = Answer(body_never_comes=True) if after_the_head else Answer(gate=asyncio.Event())
    wire.stub.will("POST", silence)

    error = await wire.refusal(deadline=SHORT)

    assert (error.error_class, error.verdict) == (ErrorClass.OUTAGE, Verdict.UNKNOWN)
    assert error.text == "no answer in time"
    assert wire.stub.posts() == 1


async def test_after_a_deadline_the_task_can_go_on_and_be_bounded_again(wire: Wire) -> None:
    wire.stub.will("POST", Answer(gate=asyncio.Event()))
    await wire.refusal(deadline=SHORT)

    async with asyncio.timeout(10):
        delivered = await wire.send()

    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0
    assert delivered.message_id


async def test_a_channel_that_cannot_be_looked_up_in_time_leaves_nothing_open(wire: Wire) -> None:
    forget_the_channel(wire)
    wire.stub.will("GET", Answer(gate=asyncio.Event()))

    error = await wire.refusal(deadline=SHORT)

    assert (error.error_class, error.verdict) == (ErrorClass.OUTAGE, Verdict.TRANSIENT)
    assert wire.stub.posts() == 0


@pytest.mark.parametrize(
    ("target", "deadlines"),
    [
        pytest.param(TARGET, {"timeout": SHORT, "dm_timeout": LONG}, id="post"),
        pytest.param(DM, {"timeout": LONG, "dm_timeout": SHORT}, id="DM"),
    ],
)
async def test_a_post_and_a_dm_have_a_deadline_each(
    wire: Wire, target: Target, deadlines: dict[str, dt.timedelta]
) -> None:
    wire.stub.will("POST", Answer(gate=asyncio.Event()))
    poster = ChannelPoster(wire.client, trace=wire.trace, **deadlines)

    with pytest.raises(SendError) as caught:
        async with asyncio.timeout(LONG.total_seconds() / 2):
            await poster.send(target, MESSAGE, nonce="n", before_request=wire.ask)

    assert (caught.value.verdict, caught.value.text) == (Verdict.UNKNOWN, "no answer in time")


async def test_a_channel_that_is_not_opened_in_time_leaves_nothing_open(wire: Wire) -> None:
    wire.stub.will("POST", Answer(gate=asyncio.Event()))
    poster = ChannelPoster(wire.client, trace=wire.trace, timeout=LONG, dm_timeout=SHORT)

    with pytest.raises(SendError) as caught:
        async with asyncio.timeout(LONG.total_seconds() / 2):
            await poster.open_dm(PERSON)

    assert (caught.value.error_class, caught.value.verdict) == (ErrorClass.OUTAGE, Verdict.TRANSIENT)


async def test_a_dm_is_opened_and_sent_over_the_wire_each_by_one_request(wire: Wire) -> None:
    channel_id = await wire.poster().open_dm(PERSON)
    wire.stub.on_request = wire.asked.append

    delivered = await wire.poster().send(DM, MESSAGE, nonce="n", before_request=wire.ask)

    assert (channel_id, delivered.channel_id) == (DM_CHANNEL, DM_CHANNEL)
    assert wire.asked == ["asked", "POST"]
    assert [path.removeprefix("/api/v10") for method, path in wire.stub.asked if method == "POST"] == [
        "/users/@me/channels",
        f"/channels/{DM_CHANNEL}/messages",
    ]


async def test_an_opening_that_a_server_error_answers_is_repeated_by_the_library_and_nothing_is_in_doubt(
    wire: Wire, waits: Waits
) -> None:
    wire.stub.will("POST", *[SERVER_ERROR] * 5)

    with pytest.raises(SendError) as caught:
        await wire.poster().open_dm(PERSON)

    assert (caught.value.error_class, caught.value.verdict) == (ErrorClass.OUTAGE, Verdict.TRANSIENT)
    assert wire.stub.posts() == 5


async def test_a_dm_that_a_throttle_holds_past_its_end_is_not_sent(wire: Wire, waits: Waits) -> None:
    wire.stub.will("POST", rate_limited(2.0))
    began = SendError(ErrorClass.EVENT_STARTED, "the event began")

    async def _too_late_at_the_second() -> None:
        await wire.ask()
        if len(wire.asked) > 1:
            raise began

    with pytest.raises(SendError) as caught:
        await wire.poster().send(DM, MESSAGE, nonce="n", before_request=_too_late_at_the_second)

    assert caught.value is began
    assert (wire.stub.posts(), wire.stub.messages) == (1, [])


async def test_an_edit_without_an_answer_in_time_is_an_outage(wire: Wire) -> None:
    wire.stub.will("PATCH", Answer(gate=asyncio.Event()))

    with pytest.raises(SendError) as caught:
        await wire.poster(SHORT).edit(TARGET, 4_000_001, MESSAGE)

    assert caught.value.error_class is ErrorClass.OUTAGE


async def test_a_history_without_an_answer_in_time_is_unread(wire: Wire) -> None:
    wire.stub.will("GET", Answer(gate=asyncio.Event()))

    with pytest.raises(HistoryUnreadableError):
        await wire.poster(SHORT).find(TARGET, marker=MARKER, after=0)


async def test_a_post_is_found_in_the_history_over_the_wire(wire: Wire) -> None:
    sent = await wire.send()

    assert await wire.poster().find(TARGET, marker=MARKER, after=0) == sent


@pytest.mark.parametrize("everywhere", [False, True], ids=["one channel", "global"])
async def test_a_rate_limit_longer_than_the_deadline_is_waited_for(wire: Wire, everywhere: bool) -> None:
    wire.stub.will("POST", rate_limited(PAST_IT, everywhere=everywhere))
    wire.stub.on_request = wire.asked.append

    delivered = await wire.send(deadline=PATIENT)

    assert delivered.message_id == int(wire.stub.messages[0]["id"])
    assert wire.asked == ["asked", "POST", "asked", "POST"]


async def test_the_wait_for_an_empty_bucket_does_not_turn_a_delivered_message_into_an_unknown_one(
    wire: Wire,
) -> None:
    emptied = {
        "X-RateLimit-Limit": "1",
        "X-RateLimit-Remaining": "0",
        "X-RateLimit-Reset-After": str(PAST_IT),
        "X-RateLimit-Bucket": "messages",
    }
    wire.stub.will("POST", Answer(headers=emptied))

    delivered = await wire.send(deadline=PATIENT)

    assert delivered.message_id == int(wire.stub.messages[0]["id"])


async def test_no_deadline_runs_while_the_library_waits_by_itself(wire: Wire, waits: Waits) -> None:
    emptied = {"X-RateLimit-Limit": "1", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset-After": "5"}
    wire.stub.will(
        "POST", SERVER_ERROR, rate_limited(25.0), rate_limited(7.0, everywhere=True), Answer(headers=emptied)
    )

    await wire.send()

    assert waits.seconds == [1, 25.0, 7.0, 5.0]
    assert waits.armed == [False] * 4


# ---------------------------------------------------------------------------------------------------- what is not known


@pytest.fixture
def refusing_port() -> Iterator[int]:
    """Hold a port on which nobody listens."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield held.getsockname()[1]


async def test_a_refused_connection_has_sent_nothing(wire: Wire, refusing_port: int) -> None:
    point_to(f"http://127.0.0.1:{refusing_port}/api/v10", "")

    error = await wire.refusal()

    assert (error.error_class, error.verdict) == (ErrorClass.OUTAGE, Verdict.TRANSIENT)
    assert error.text == "Discord could not be reached"


async def test_a_connection_cut_after_the_request_may_have_delivered_it(wire: Wire) -> None:
    wire.stub.will("POST", Answer(cut=True))

    error = await wire.refusal()

    assert (error.error_class, error.verdict) == (ErrorClass.OUTAGE, Verdict.UNKNOWN)
    assert wire.stub.posts() == 1


async def test_five_server_errors_are_unknown(wire: Wire, waits: Waits) -> None:
    wire.stub.will("POST", *[SERVER_ERROR] * 5)

    error = await wire.refusal()

    assert (error.error_class, error.verdict) == (ErrorClass.OUTAGE, Verdict.UNKNOWN)
    assert wire.stub.posts() == 5


async def test_a_503_is_unknown_at_once(wire: Wire, waits: Waits) -> None:
    wire.stub.will("POST", Answer(503, "upstream connect error"))

    error = await wire.refusal()

    assert error.verdict is Verdict.UNKNOWN
    assert wire.stub.posts() == 1


async def test_a_repeat_that_is_refused_leaves_the_first_request_open(wire: Wire, waits: Waits) -> None:
    wire.stub.will("POST", SERVER_ERROR, FORBIDDEN)

    error = await wire.refusal()

    assert (error.error_class, error.verdict) == (ErrorClass.FORBIDDEN, Verdict.UNKNOWN)


async def test_a_repeat_that_finds_nobody_leaves_the_first_request_open(wire: Wire, waits: Waits) -> None:
    wire.stub.will("POST", Answer(500, {"code": 0, "message": "down"}, {"Connection": "close"}))
    waits.meanwhile = wire.stub.stop

    error = await wire.refusal()

    assert (error.error_class, error.verdict) == (ErrorClass.OUTAGE, Verdict.UNKNOWN)


async def test_an_answer_that_makes_no_sense_leaves_a_written_request_open(wire: Wire) -> None:
    wire.stub.will("POST", Answer(200, {"surprise": True}))

    error = await wire.refusal()

    assert (error.error_class, error.verdict) == (ErrorClass.INVALID, Verdict.UNKNOWN)


@pytest.mark.parametrize(
    ("answer", "expected", "verdict"),
    [
        (FORBIDDEN, ErrorClass.FORBIDDEN, Verdict.PERMANENT),
        (Answer(404, {"code": 10003, "message": "Unknown Channel"}), ErrorClass.GONE, Verdict.PERMANENT),
        (Answer(400, {"code": 50035, "message": "Invalid Form Body"}), ErrorClass.INVALID, Verdict.PERMANENT),
        (Answer(429, "<html><body>banned</body></html>"), ErrorClass.CDN_BLOCK, Verdict.TRANSIENT),
        (Answer(403, "<html><body>banned</body></html>"), ErrorClass.CDN_BLOCK, Verdict.TRANSIENT),
        (rate_limited(31.0), ErrorClass.RATE_LIMITED, Verdict.TRANSIENT),
    ],
    ids=["forbidden", "gone", "invalid", "html 429", "html 403", "a rate limit over 30 s"],
)
async def test_a_refusal_leaves_nothing_open(
    wire: Wire, answer: Answer, expected: ErrorClass, verdict: Verdict
) -> None:
    wire.stub.will("POST", answer)

    error = await wire.refusal()

    assert (error.error_class, error.verdict) == (expected, verdict)
    assert wire.stub.posts() == 1


async def test_a_message_that_was_deleted_before_its_resend_counts_as_sent(wire: Wire, waits: Waits) -> None:
    wire.stub.will("POST", SERVER_ERROR, Answer(404, {"code": 10008, "message": "Unknown Message"}))

    delivered = await wire.send()

    assert (delivered.message_id, delivered.channel_id) == (0, CHANNEL)


# ----------------------------------------------------------------------------------------- somebody else's cancellation


async def test_a_cancellation_by_somebody_else_stays_one(wire: Wire) -> None:
    reached = asyncio.Event()
    wire.stub.will("POST", Answer(gate=asyncio.Event()))
    wire.stub.on_request = lambda _: reached.set()
    sending = asyncio.create_task(wire.send())
    await reached.wait()

    sending.cancel()

    with pytest.raises(asyncio.CancelledError):
        await sending
    assert sending.cancelled()


async def test_a_cancellation_in_the_moment_of_the_deadline_stays_one() -> None:
    call, waiting = GuardedCall(at_once, timeout=LONG), asyncio.Event()

    async def _work() -> None:
        with call:
            await call.begin()
            waiting.set()
            await asyncio.Event().wait()

    task = asyncio.create_task(_work())
    await waiting.wait()
    call._expire()
    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_bound_of_the_caller_stays_the_callers() -> None:
    call = GuardedCall(at_once, timeout=LONG)

    async def _work() -> str:
        try:
            async with asyncio.timeout(0):
                with call:
                    await call.begin()
                    await asyncio.Event().wait()
        except TimeoutError:
            return "the caller's"
        return "none"

    assert await _work() == "the caller's"
    assert not call._expired


async def test_requests_outside_of_a_call_have_no_deadline_and_ask_nobody(wire: Wire) -> None:
    await wire.client.http.get_channel(CHANNEL)

    assert wire.asked == []
