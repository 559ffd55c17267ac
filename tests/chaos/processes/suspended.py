"""
R4, a holder that stands still: a process is stopped by SIGSTOP in the middle of a send, and goes on minutes later.

It is a process of the operating system's, and so is the other one on the same PostgreSQL. Time is a file that both
read, so that nobody waits; the Discord is one, and knows no nonce, so that a second copy shows.
"""

import asyncio
import datetime as dt
import random
import tempfile
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum
from multiprocessing.connection import Connection
from pathlib import Path
from typing import cast

import pytest

from bot.bootstrap import DiscordPort, Ports, ServiceOptions, build_services
from bot.clock import InjectedLeaseClock, ManualClock
from bot.database import opened
from bot.leases.failures import ErrorClass
from bot.leases.keys import MessageKey
from bot.leases.ports import ChannelTarget, Delivered, DmTarget, Target
from bot.leases.reports import SendResult
from bot.message.outgoing import OutgoingMessage
from bot.transactions import Dialect, fetch
from tests.builders import CHANNEL, DAY, GUILD, FakeDiscord, Post, Process, dm_channel, make_event, make_guild, refused
from tests.chaos.processes.children import Child, children, lacking
from tests.chaos.proof import Figures, Finding, Share, none_of

SECOND, MINUTE = dt.timedelta(seconds=1), dt.timedelta(minutes=1)
_START = dt.datetime(2026, 3, 1, 12, 0, tzinfo=dt.UTC)
_PERSON = 77
# From then on its leases are another's: 30 s without a heartbeat, and a minute since the claim.
_TAKEN_AFTER = 60 * SECOND


class Where(StrEnum):
    """Where in its send the process stands still."""

    CLAIMED = "the claim is made, no request is written"
    REPEATING = "a request came back as a server error, the next is not written"
    ACCEPTED = "Discord has the message, its answer is not read"
    REFUSED = "Discord refused for a while, which is not recorded"


@dataclass(frozen=True, slots=True)
class Stop:
    """One way to stand still; ``wakes_inside``: it goes on while the other is in the middle of its own send."""

    where: Where
    key: MessageKey
    lasts: dt.timedelta
    wakes_inside: bool

    @property
    def target(self) -> Target:
        """Where the message goes."""
        return DmTarget(_PERSON, dm_channel(_PERSON)) if self.key.recipient_id else ChannelTarget(GUILD, CHANNEL)

    @property
    def is_taken_over(self) -> bool:
        """Whether the other process is to go on with its lease meanwhile."""
        return self.lasts >= _TAKEN_AFTER

    @property
    def tells(self) -> SendResult:
        """What the holder is to tell in the end: that it was followed, where it had not asked Discord before."""
        if self.where is Where.REFUSED:
            return SendResult.FAILED_TRANSIENT
        asked = self.where is Where.ACCEPTED or not self.is_taken_over
        return SendResult.SENT if asked else SendResult.ALREADY_CLAIMED


def stops(seed: int) -> list[Stop]:
    """Return what a unit tries: each place once for a while too short to be followed, once for long, once inside."""
    chance = random.Random(seed)
    short, long = chance.randint(1, 25) * SECOND, chance.randint(75, 900) * SECOND
    found = []
    for number, where in enumerate(Where):
        # By turns what is released to be claimed anew, and what is handed back under its row; a DM and a post.
        source, part = chance.choice([("event_announcement", 0), ("ops_note", 0), ("event_repost", 1)])
        key = MessageKey(source, 1 + number, _PERSON if chance.random() < 0.5 else 0, part)
        found += [Stop(where, key, short, wakes_inside=False), Stop(where, key, long, wakes_inside=False)]
        if where is not Where.ACCEPTED:  # found in the history, nothing is sent again
            found.append(Stop(where, MessageKey("ops_note", 1 + number, key.recipient_id), long, wakes_inside=True))
    return found


class SharedTime(ManualClock):
    """A clock that every process reads from one file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        super().__init__(_START)

    def now(self) -> dt.datetime:
        """Return the moment in the file."""
        return dt.datetime.fromisoformat(self._path.read_text())

    def set(self, moment: dt.datetime) -> None:
        """Write a moment into the file, whole."""
        new = self._path.with_suffix(".new")
        new.write_text(moment.isoformat())
        new.replace(self._path)

    def advance(self, by: dt.timedelta) -> None:
        """Move on by a span."""
        self.set(self.now() + by)


def _render(key: MessageKey) -> Callable[[], Awaitable[OutgoingMessage]]:
    async def _rendered() -> OutgoingMessage:
        return OutgoingMessage(marker=str(key), content=str(key))

    return _rendered


# ------------------------------------------------------------------------------------------------- the one that stops


class DistantDiscord:
    """Discord at the end of a line, for the process that is to be stopped at one place."""

    def __init__(self, line: Connection, where: Where) -> None:
        self._line, self._where = line, where

    async def send(
        self, target: Target, message: OutgoingMessage, *, nonce: str, before_request: Callable[[], Awaitable[None]]
    ) -> Delivered:
        """Post a message."""
        self._reach(Where.CLAIMED)
        await before_request()
        if self._where is Where.REPEATING:
            self._ask("refuse", target, message)
            self._reach(Where.REPEATING)
            await before_request()
        if self._where is Where.REFUSED:
            self._ask("refuse", target, message)
            self._reach(Where.REFUSED)
            raise refused(ErrorClass.RATE_LIMITED)
        delivered = self._ask("post", target, message)
        self._reach(Where.ACCEPTED)
        return cast("Delivered", delivered)

    def _reach(self, where: Where) -> None:
        """Say where it is and do nothing more, the whole process, until told to go on."""
        if where is self._where:
            self._ask("reached")

    def _ask(self, what: str, *about: object) -> object:
        self._line.send((what, *about))
        return self._line.recv()


def hold(line: Connection, url: str, path: Path, stop: Stop) -> None:
    """Be the process that stands still: send one message, and tell what came of it."""
    clock = SharedTime(path)

    async def _send() -> SendResult:
        async with opened(url, pool_size=1):
            ports = Ports(
                discord=cast("DiscordPort", DistantDiscord(line, stop.where)),
                discord_time=clock,
                clock=clock,
                lease_clock=InjectedLeaseClock(clock),
                is_available=lambda _: True,
                stop=lambda _: None,
            )
            services = build_services(ports, ServiceOptions(), instance_name="the one that stops")
            await services.register.enter()
            return await services.out.send_once(stop.key, guild_id=GUILD, target=stop.target, render=_render(stop.key))

    line.send(("ended", asyncio.run(_send())))


# ------------------------------------------------------------------------------------------------------ the other one


class World:
    """One stop, seen from the other process: its Discord, its clock, and what the stopped one still does."""

    def __init__(self, stop: Stop, clock: SharedTime, holder: Child) -> None:
        self.stop, self.clock, self.holder = stop, clock, holder
        self.discord = FakeDiscord(clock)
        self.late: list[str] = []
        self.result: object = None
        self._is_stopped = False

    async def run(self) -> None:
        """Stop the holder at its place, let the other go on for the time it lasts and five minutes more."""
        self._serve(until="reached")
        self.holder.suspend()
        self._is_stopped = True
        stopped_at = self.clock.now()
        if self.stop.wakes_inside:
            self.discord.before_send = self._wake_inside
        other = await Process(self.discord, self.clock, name="the other").start()
        await self._go_on(other, stopped_at + self.stop.lasts)
        if self._is_stopped:
            self._wake()
        await self._go_on(other, stopped_at + self.stop.lasts + 5 * MINUTE)

    async def _go_on(self, other: Process, end: dt.datetime) -> None:
        """Run every body of the other, and let it want the message all the time; it follows within 150 s."""
        begin = self.clock.now()
        while True:
            step = 10 * SECOND if self.clock.now() < begin + 150 * SECOND else MINUTE
            await other.run_until(min(end, self.clock.now() + step))
            await other.services.out.send_once(
                self.stop.key, guild_id=GUILD, target=self.stop.target, render=_render(self.stop.key)
            )
            if self.clock.now() >= end:
                return

    async def _wake_inside(self, _message: OutgoingMessage) -> None:
        if self._is_stopped:
            self._wake()

    def _wake(self) -> None:
        self._is_stopped = False
        self.holder.wake()
        self.holder.tell("go on")
        self.result = self._serve(until="ended", is_late=True)

    def _serve(self, *, until: str, is_late: bool = False) -> object:
        """Be the holder's Discord until it says a certain thing; return what it said with it."""
        while True:
            what, *about = cast("tuple[object, ...]", self.holder.hear())
            if what == until:
                return about[0] if about else None
            target, message = cast("tuple[Target, OutgoingMessage]", tuple(about))
            self.late += [message.marker] if is_late else []
            self.holder.tell(self._take(target, message) if what == "post" else None)

    def _take(self, target: Target, message: OutgoingMessage) -> Delivered:
        now = self.clock.now()
        post = Post(
            len(self.discord.posts) + (int((now.timestamp() - 1_420_070_400) * 1_000) << 22),
            target.channel_id,
            message,
            now,
        )
        self.discord.posts.append(post)
        return Delivered(post.message_id, post.channel_id)


def run(share: Share, *, broken: str = "", wanted: Callable[[Stop], bool] = lambda _: True) -> Figures:
    """Try each seed's stops, those that are wanted; ``broken``: what the bot lacks, in both processes."""
    figures = Figures()
    for seed in share.seeds:
        for stop in filter(wanted, stops(seed)):
            with pytest.MonkeyPatch.context() as patch:
                for module, name, value in lacking(broken):
                    patch.setattr(module, name, value)
                asyncio.run(_unit(share, seed, stop, figures, broken))
    return figures


async def _unit(share: Share, seed: int, stop: Stop, figures: Figures, broken: str) -> None:
    with tempfile.TemporaryDirectory(prefix="tocsin-") as folder, children() as those:
        path = Path(folder) / "now"
        path.touch()
        clock = SharedTime(path)
        clock.set(_START)
        async with share.databases.fresh(Dialect.POSTGRES) as url, opened(url):
            await make_guild()
            # What is sent for an event goes out only while that stands.
            await make_event(now=_START, starts_in=30 * DAY, id=stop.key.source_id, discord_announcement=False)
            those.append(Child(hold, url, path, stop, broken=broken))
            world = World(stop, clock, those[0])
            await world.run()
            rows = await fetch(
                "SELECT success, discord_message_id FROM discord_message_log WHERE source_id = $1", [stop.key.source_id]
            )
    _count(seed, world, [(row["success"], row["discord_message_id"]) for row in rows], figures)


def _count(seed: int, world: World, rows: list[tuple[object, object]], figures: Figures) -> None:
    stop, visible = world.stop, world.discord.in_channel(world.stop.target.channel_id)
    is_recorded = rows.count((True, visible[0].message_id if visible else None)) == 1 and (None, None) not in rows
    figures.runs += 1
    figures.attempted += 1
    figures.acknowledged += sum(success is True for success, _ in rows)
    figures.ok += len(visible) == 1 and is_recorded
    figures.lost += not visible
    figures.duplicated += max(0, len(visible) - 1)
    late = len(world.late) if stop.is_taken_over else 0
    figures.unexpected += late
    figures.recovered += stop.is_taken_over
    figures.unknown += sum(success is None for success, _ in rows)
    if len(visible) != 1 or not is_recorded or late or world.result is not stop.tells:
        figures.faults.append(
            f"seed {seed}: {stop.where.value}; {stop.key} for {stop.lasts}, inside {stop.wakes_inside}:"
            f" {len(visible)} visible, rows {rows}, {late} late requests, it says {world.result}"
        )


def judge(figures: Figures) -> list[Finding]:
    """Return what must be true."""
    return [
        Finding(f"{figures.ok:,} of {figures.attempted:,} sent and recorded once", figures.ok == figures.attempted),
        Finding(f"{figures.recovered:,} were followed while they stood still", figures.recovered > 0),
        Finding(f"{figures.unexpected} requests of a holder that was followed", figures.unexpected == 0),
        *none_of(figures, "lost", "duplicated", "unknown"),
    ]
