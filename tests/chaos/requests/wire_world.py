"""
The whole bot in virtual time against the wire stub: real client, real sockets, real rows, and no time that passes.

Only the loops round the bodies are these, since the library's go by the machine's clock.
"""

import asyncio
import contextlib
import datetime as dt
from collections.abc import AsyncIterator, Awaitable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import discord
import structlog.testing

from bot.client import TocsinBot, point_to
from bot.clock import InjectedLeaseClock
from bot.database import opened
from bot.dm_queue.job import DmJob, JobEnd, JobKind
from bot.leases.keys import MessageKey
from bot.leases.reports import SendReport
from bot.message.outgoing import OutgoingMessage
from bot.scheduling.agenda import Body
from models.dm_channel import DmChannel
from tests.chaos.requests.virtual_loop import VirtualClock
from tests.wire.discord_stub import CHANNEL, GUILD, OPS, DiscordStub, dm_channel, running_stub
from tests.wire.faults import FaultScript

START = dt.datetime(2026, 3, 1, 12, 0, tzinfo=dt.UTC)
FIRST_CHANNEL = 20_001
"""The first of the channels beside the two that the stub has by itself."""

FIRST_PERSON = 5_000_001


class WideStub(DiscordStub):
    """The stub with as many channels more as are asked for."""

    more: int = 0

    def channels(self) -> list[int]:
        """The channels beside its own two."""
        return list(range(FIRST_CHANNEL, FIRST_CHANNEL + self.more))

    def guild(self) -> dict[str, Any]:
        found = super().guild()
        found["channels"] = [self.channel(one) for one in (CHANNEL, OPS, *self.channels())]
        return found

    def channel(self, channel_id: int) -> dict[str, Any]:
        if channel_id in {CHANNEL, OPS}:
            return super().channel(channel_id)
        self.messages.setdefault(channel_id, [])
        return {"id": str(channel_id), "type": 0, "guild_id": str(GUILD), "name": f"c{channel_id}", "position": 0} | {
            "permission_overwrites": []
        }


@dataclass
class Letters:
    """DMs to many people, from whichever queue; counts how each ended."""

    ends: list[tuple[int | None, SendReport | JobEnd]] = field(default_factory=list)

    async def render(self, recipient_id: int) -> OutgoingMessage:
        return message(f"dm-{recipient_id}")

    def ended(self, job: DmJob, report: SendReport | JobEnd) -> None:
        self.ends.append((job.recipient_id, report))


def message(marker: str) -> OutgoingMessage:
    """Return a message that is found by its marker."""
    return OutgoingMessage(marker=marker, content=f"Hello\n{marker}")


@dataclass
class WireWorld:
    """One bot before one stub; ``log`` keeps what the bot logged, ``stopped`` why it would have to end."""

    bot: TocsinBot
    stub: WideStub
    script: FaultScript
    clock: VirtualClock
    letters: Letters
    log: list[Any]
    stopped: list[str]

    async def queue_dms(self, people: Sequence[int], *, opened_before: bool = True) -> int:
        """Let a DM to each of these people wait in the queue; return how many there was room for."""
        if opened_before:
            rows = [DmChannel(user_id=who, channel_id=dm_channel(who), opened_at=START) for who in people]
            await DmChannel.bulk_create(rows, ignore_conflicts=True)
        queue, now = self.bot.services.dms.queue, self.clock.now()
        return sum(
            queue.offer(DmJob(JobKind.APPROVAL, MessageKey("approval_dm", who, who), GUILD, who, self.letters, now))
            for who in people
        )

    def logged(self, event: str) -> int:
        """How often the bot logged this."""
        return sum(line["event"] == event for line in self.log)


@contextlib.asynccontextmanager
async def wire_world(url: str, script: FaultScript, *, channels: int = 0) -> AsyncIterator[WireWorld]:
    """Run the bot on the database at ``url`` against a stub behind ``script``, with its loops, until the end."""
    clock = VirtualClock(START)
    stub = WideStub(now=clock.now)
    stub.more = channels
    stopped: list[str] = []
    with structlog.testing.capture_logs() as log, _addresses_kept():
        async with opened(url), running_stub(stub, middlewares=[script.middleware]):
            point_to(f"{stub.base}/api/v10", stub.base.replace("http", "ws") + "/gw/")
            bot = TocsinBot(
                clock=clock,
                lease_clock=InjectedLeaseClock(clock),
                extensions_to_load=(),
                on_stop=stopped.append,
            )
            world = WireWorld(bot, stub, script, clock, Letters(), log, stopped)
            async with asyncio.TaskGroup() as tasks:
                running = [tasks.create_task(_until_closed(bot.start("planted.token")))]
                try:
                    while not bot.is_ready():  # noqa: ASYNC110 -- as long as virtual time is free
                        await asyncio.sleep(0.1)
                    running += [tasks.create_task(_loop(bot, body)) for body in bot.services.bodies]
                    yield world
                finally:
                    for task in running[1:]:
                        task.cancel()
                    await bot.services.cut_off()
                    await bot.close()


async def _until_closed(started: Awaitable[None]) -> None:
    with contextlib.suppress(asyncio.CancelledError):
        await started


async def _loop(bot: TocsinBot, body: Body) -> None:
    """Run one body at each of its moments, and at once when it is woken."""
    agenda, woken = bot.services.agenda, asyncio.Event()
    agenda.on_wake(lambda name: woken.set() if name == body.name else None)
    while True:
        at = agenda.next(body.name)
        wait = body.period if at is None else at - bot.clock.now()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(max(0.0, wait.total_seconds())):
                await woken.wait()
        woken.clear()
        if at is None or (at := agenda.next(body.name)) is None or at <= bot.clock.now():
            await agenda.run(body, bot.clock.now())


@contextlib.contextmanager
def _addresses_kept() -> Iterator[None]:
    base, gateway = discord.http.Route.BASE, discord.gateway.DiscordWebSocket.DEFAULT_GATEWAY
    try:
        yield
    finally:
        discord.http.Route.BASE = base
        discord.gateway.DiscordWebSocket.DEFAULT_GATEWAY = gateway
