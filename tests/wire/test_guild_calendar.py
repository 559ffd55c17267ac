"""A server's list of scheduled events by the real client: one request at most makes one, whatever is answered."""

import asyncio
import datetime as dt
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import discord
import pytest

from bot.client import point_to
from bot.clock import ManualClock
from bot.delivery.guild_calendar import GuildCalendar
from bot.delivery.request_trace import RequestTrace
from bot.leases.failures import ErrorClass, SendError, Verdict
from bot.leases.ports import HistoryUnreadableError, LeaseLostError
from bot.message.native_event import NativeChange, NativeEvent, NativeState, NativeStatus
from tests.builders import DAY, HOUR, utc
from tests.wire import faults
from tests.wire.discord_stub import BOT, GUILD, DiscordStub, running_stub
from tests.wire.faults import Fault, FaultScript, Rule

STARTS = utc("2030-01-02 19:00")
NATIVES = rf"/guilds/{GUILD}/scheduled-events"
NATIVE = NativeEvent(
    marker="#7",
    name="Raid night",
    description="Bring a torch.\n\n#7",
    location="Discord",
    starts_at=STARTS,
    ends_at=STARTS + HOUR,
)
SHORT = dt.timedelta(seconds=0.2)


class NoSleep:
    """Stands in for the library's own sleeps, which then take no time."""

    async def sleep(self, *_: object) -> None:
        """Go on."""

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 -- the rest of asyncio, as it is
        return getattr(asyncio, name)


@dataclass
class Wire:
    """A client that is logged in to a stub behind a script, and its calendar."""

    stub: DiscordStub
    script: FaultScript
    calendar: GuildCalendar
    asked: list[str] = field(default_factory=list)

    async def ask(self) -> None:
        self.asked.append("asked")

    async def make(self) -> int:
        return (await self.calendar.create(GUILD, NATIVE, before_request=self.ask)).message_id

    async def refusal(self) -> SendError:
        with pytest.raises(SendError) as caught:
            await self.make()
        return caught.value

    @property
    def requests(self) -> list[str]:
        """The requests about scheduled events so far."""
        return [seen.method for seen in self.script.seen if "scheduled-events" in seen.path]


@asynccontextmanager
async def logged_in(
    monkeypatch: pytest.MonkeyPatch, *rules: Rule, deadline: dt.timedelta = dt.timedelta(seconds=30)
) -> AsyncIterator[Wire]:
    script = FaultScript(*rules)
    monkeypatch.setattr(discord.http.Route, "BASE", discord.http.Route.BASE)
    async with running_stub(middlewares=[script.middleware]) as stub:
        point_to(f"{stub.base}/api/v10", "")
        trace = RequestTrace(ManualClock(STARTS - DAY))
        client = discord.Client(
            intents=discord.Intents(guilds=True), http_trace=trace.config, max_ratelimit_timeout=30.0
        )
        await client._async_setup_hook()
        try:
            user = await client.http.static_login("planted.token")
            client._connection.user = discord.ClientUser(state=client._connection, data=user)
            yield Wire(stub, script, GuildCalendar(client, trace=trace, timeout=deadline))
        finally:
            await client.close()


async def test_one_is_made_found_read_changed_and_taken_off(monkeypatch: pytest.MonkeyPatch) -> None:
    async with logged_in(monkeypatch) as wire:
        native_id = await wire.make()
        found = await wire.calendar.find_native(GUILD, marker="#7", after=0)
        state = await wire.calendar.look(GUILD, native_id)
        interested = await wire.calendar.interested(GUILD)
        change = NativeChange(name="Renamed", location="#raids", status=NativeStatus.ACTIVE, ends_at=STARTS + DAY)
        await wire.calendar.change(GUILD, native_id, change)
        changed = dict(wire.stub.natives[native_id])
        await wire.calendar.remove(GUILD, native_id)

    made = wire.stub.asked[0].body
    assert made == {
        "name": "Raid night",
        "description": "Bring a torch.\n\n#7",
        "entity_metadata": {"location": "Discord"},
        "scheduled_start_time": "2030-01-02T19:00:00+00:00",
        "scheduled_end_time": "2030-01-02T20:00:00+00:00",
        "privacy_level": 2,
        "entity_type": 3,
    }
    assert wire.asked == ["asked"]
    assert found is not None
    assert (found.message_id, found.channel_id) == (native_id, GUILD)
    assert (state, interested) == (NativeState(NativeStatus.SCHEDULED, 2), {native_id: 2})
    assert (changed["name"], changed["status"], changed["description"]) == ("Renamed", 2, made["description"])
    assert (changed["entity_metadata"], changed["scheduled_start_time"]) == (
        {"location": "#raids"},
        made["scheduled_start_time"],
    )
    assert wire.stub.natives == {}


@pytest.mark.parametrize(
    "fault",
    [
        faults.failed(500, accepted=True),
        faults.failed(502, accepted=False),
        faults.failed(503, accepted=True),
        faults.failed(504, accepted=True),
        faults.cut(accepted=True),
        faults.cut(accepted=False),
    ],
    ids=["500, taken", "502", "503, taken", "504, taken", "cut, taken", "cut"],
)
async def test_after_an_answer_that_says_nothing_it_is_unknown_and_not_asked_for_again(
    monkeypatch: pytest.MonkeyPatch, fault: Fault
) -> None:
    async with logged_in(monkeypatch, Rule("POST", NATIVES, fault)) as wire:
        monkeypatch.setattr(discord.http, "asyncio", NoSleep())
        error = await wire.refusal()

    assert (error.error_class, error.verdict) == (ErrorClass.OUTAGE, Verdict.UNKNOWN)
    assert wire.requests == ["POST"]


async def test_without_any_answer_it_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    async with logged_in(monkeypatch, Rule("POST", NATIVES, faults.hang()), deadline=SHORT) as wire:
        error = await wire.refusal()

    assert (error.error_class, error.verdict) == (ErrorClass.OUTAGE, Verdict.UNKNOWN)


@pytest.mark.parametrize(
    ("status", "code", "expected"),
    [
        (403, 50013, ErrorClass.FORBIDDEN),
        (403, 50001, ErrorClass.FORBIDDEN),
        (400, 30038, ErrorClass.NO_ROOM),
        (400, 50035, ErrorClass.INVALID),
        (400, 180000, ErrorClass.GONE),
        (404, 10070, ErrorClass.GONE),
    ],
)
async def test_what_discord_refused_was_not_taken(
    monkeypatch: pytest.MonkeyPatch, status: int, code: int, expected: ErrorClass
) -> None:
    async with logged_in(monkeypatch, Rule("POST", NATIVES, faults.refused(status, code))) as wire:
        error = await wire.refusal()

    assert (error.error_class, error.verdict) == (expected, Verdict.PERMANENT)
    assert wire.requests == ["POST"]


async def test_a_limit_of_requests_is_waited_for_and_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    async with logged_in(monkeypatch, Rule("POST", NATIVES, faults.rate_limited(0.01), times=1)) as wire:
        await wire.make()

    assert (wire.requests, wire.asked) == (["POST", "POST"], ["asked", "asked"])
    assert len(wire.stub.natives) == 1


async def test_a_lost_lease_lets_nothing_leave(monkeypatch: pytest.MonkeyPatch) -> None:
    async def _lost() -> None:
        raise LeaseLostError

    async with logged_in(monkeypatch) as wire:
        with pytest.raises(LeaseLostError):
            await wire.calendar.create(GUILD, NATIVE, before_request=_lost)

    assert wire.requests == []


@pytest.mark.parametrize("fault", [faults.failed(503, accepted=False), faults.refused(403, 50001)])
async def test_a_list_that_cannot_be_read_shows_nothing(monkeypatch: pytest.MonkeyPatch, fault: Fault) -> None:
    async with logged_in(monkeypatch, Rule("GET", NATIVES, fault)) as wire:
        with pytest.raises(HistoryUnreadableError):
            await wire.calendar.find_native(GUILD, marker="#7", after=0)


async def test_only_a_live_one_of_its_own_that_ends_with_the_marker_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    async with logged_in(monkeypatch) as wire:
        native_id = await wire.make()
        right = wire.stub.natives[native_id]
        wrong = {
            "creator_id": str(BOT + 1),
            "status": 3,
            "description": "#7\n\n#8",
            "id": str(native_id - 1),
        }
        found = []
        for key, value in wrong.items():
            wire.stub.natives = {native_id: right | {key: value}}
            found.append(await wire.calendar.find_native(GUILD, marker="#7", after=native_id))
        wire.stub.natives = {native_id: right | {"description": None}}
        found.append(await wire.calendar.find_native(GUILD, marker="#7", after=native_id))
        wire.stub.natives = {native_id: right}
        rightly = await wire.calendar.find_native(GUILD, marker="#7", after=native_id)

    assert found == [None] * 5
    assert rightly is not None


async def test_a_step_at_one_that_is_gone_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    async with logged_in(monkeypatch) as wire:
        refusals = []
        for step in (
            wire.calendar.look(GUILD, 1),
            wire.calendar.change(GUILD, 1, NativeChange(name="Renamed")),
            wire.calendar.remove(GUILD, 1),
        ):
            with pytest.raises(SendError) as caught:
                await step
            refusals.append(caught.value.error_class)

    assert refusals == [ErrorClass.GONE] * 3


def test_a_version_does_not_reach_discord() -> None:
    assert replace(NATIVE, version=5).shown() == NATIVE.shown()
