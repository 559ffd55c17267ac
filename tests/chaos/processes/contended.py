"""
R4, contended keys: processes of the one way out that all want to send the same messages at the same time.

Each process is one of the operating system's, with a pool of its own on the one PostgreSQL. What "Discord" takes is a
line in a file that all append to.
"""

import asyncio
import os
import random
import statistics
import tempfile
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import cast

from bot.bootstrap import DiscordPort, Ports, ServiceOptions, Services, build_services
from bot.clock import SystemClock
from bot.database import DatabaseLeaseClock, opened
from bot.leases.keys import MessageKey
from bot.leases.ports import ChannelTarget, Delivered, DmTarget, Target
from bot.leases.reports import SendResult
from bot.message.outgoing import OutgoingMessage
from bot.transactions import Dialect, fetch
from tests.builders import CHANNEL, GUILD, dm_channel
from tests.chaos.processes.children import Child, children
from tests.chaos.proof import Figures, Finding, Share, none_of

KEYS = 1_000
# So many of a process's sends are under way at once.
_AT_ONCE = 16
_CHANNELS = 25
_POOL = 4
_LEAST = "the smallest part of the keys that one process won"


def keys(count: int) -> list[MessageKey]:
    """Return the keys of a unit: half of them to one person each."""
    return [MessageKey("announcement", 1 + place, place if place % 2 else 0) for place in range(count)]


def _target(key: MessageKey) -> Target:
    if key.recipient_id:
        return DmTarget(key.recipient_id, dm_channel(key.recipient_id))
    return ChannelTarget(GUILD, CHANNEL + key.source_id % _CHANNELS)


class Ink:
    """A Discord that writes each message it takes on a line of a file; a line is written whole or not at all."""

    def __init__(self, path: Path, chance: random.Random) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        self._chance = chance

    async def send(
        self, target: Target, message: OutgoingMessage, *, nonce: str, before_request: Callable[[], Awaitable[None]]
    ) -> Delivered:
        """Take a message, sometimes after a while."""
        await before_request()
        if self._chance.random() < 0.1:
            await asyncio.sleep(self._chance.random() / 50)
        os.write(self._file, f"{message.marker}\n".encode())
        return Delivered(self._chance.getrandbits(60), target.channel_id)

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)


def _services(ink: Ink, name: str) -> Services:
    clock = SystemClock()
    ports = Ports(
        discord=cast("DiscordPort", ink),
        discord_time=clock,
        clock=clock,
        lease_clock=DatabaseLeaseClock(),
        is_available=lambda _: True,
        stop=lambda _: None,
    )
    return build_services(ports, ServiceOptions(), instance_name=name)


@dataclass(frozen=True, slots=True)
class Unit:
    """What a seed's processes have in common: their database, where Discord writes, and how many keys there are."""

    seed: int
    url: str
    path: Path
    count: int

    @property
    def processes(self) -> int:
        """How many contend: four in every fifth unit, else two."""
        return 4 if self.seed % 5 == 4 else 2


def contend(line: Connection, unit: Unit, number: int) -> None:
    """Be one of the processes: say that it is ready, wait for the word, try every key, and tell what came of them."""
    seed = unit.seed
    chance = random.Random(f"{seed}/{number}")
    wanted = keys(unit.count)
    # By turns all in one order, each in its own, and against each other.
    match seed % 3:
        case 0:
            random.Random(seed).shuffle(wanted)
        case 1:
            chance.shuffle(wanted)
        case _:
            wanted = wanted[:: -1 if number % 2 else 1]

    async def _all() -> Counter[SendResult]:
        ink = Ink(unit.path, chance)
        async with opened(unit.url, pool_size=_POOL):
            services = _services(ink, f"process {number}")
            await services.register.enter()
            line.send("ready")
            line.recv()
            found = await _try_all(services, wanted)
        ink.close()
        return found

    line.send(asyncio.run(_all()))


async def _try_all(services: Services, wanted: list[MessageKey]) -> Counter[SendResult]:
    found: Counter[SendResult] = Counter()
    waiting = iter(wanted)

    async def _worker() -> None:
        for key in waiting:

            async def _render(marker: str = str(key)) -> OutgoingMessage:
                return OutgoingMessage(marker=marker, content=marker)

            found[await services.out.send_once(key, guild_id=GUILD, target=_target(key), render=_render)] += 1

    await asyncio.gather(*(_worker() for _ in range(_AT_ONCE)))
    return found


def run(share: Share, *, count: int = KEYS, broken: str = "") -> Figures:
    """Let processes contend for each seed's keys."""
    figures = Figures()
    for seed in share.seeds:
        asyncio.run(_unit(share, seed, figures, count, broken))
    return figures


async def _unit(share: Share, seed: int, figures: Figures, count: int, broken: str) -> None:
    with tempfile.TemporaryDirectory(prefix="tocsin-") as folder:
        path = Path(folder) / "sent"
        path.touch()
        async with share.databases.fresh(Dialect.POSTGRES) as url:
            ends = await asyncio.to_thread(_contended, Unit(seed, url, path, count), broken)
            async with opened(url):
                rows = await fetch("SELECT source, source_id, recipient_id, part, success FROM discord_message_log")
        sent = Counter(path.read_text().split())
    wanted = {str(key) for key in keys(count)}
    recorded = Counter(
        f"{row['source']}/{row['source_id']}/{row['recipient_id']}/{row['part']}" for row in rows if row["success"]
    )
    total = sum(ends, Counter[SendResult]())
    missing, doubled = wanted - set(sent), sum(times - 1 for times in sent.values())
    figures.runs += 1
    figures.attempted += count
    figures.acknowledged += total[SendResult.SENT]
    figures.ok += sum(sent[key] == recorded[key] == 1 for key in wanted)
    figures.lost += len(missing)
    figures.duplicated += doubled
    figures.unexpected += len(set(sent) - wanted)
    figures.unknown += sum(row["success"] is None for row in rows)
    figures.sample(_LEAST, min(end[SendResult.SENT] for end in ends) / count)
    refused = total[SendResult.ALREADY_CLAIMED]
    if missing or doubled or recorded != Counter(wanted) or refused != count * (len(ends) - 1):
        figures.faults.append(
            f"seed {seed}: {len(missing)} missing, {doubled} too many, {recorded.total()} of {count} recorded, {total}"
        )


def _contended(unit: Unit, broken: str) -> list[Counter[SendResult]]:
    with children() as those:
        for number in range(unit.processes):
            those.append(Child(contend, unit, number, broken=broken))
        for child in those:
            assert child.hear() == "ready"
        for child in those:
            child.tell("go")
        return [cast("Counter[SendResult]", child.hear()) for child in those]


def judge(figures: Figures) -> list[Finding]:
    """Return what must be true."""
    # Else one process had all keys to itself, and nothing was contended; a busy machine may starve one in some unit.
    least = statistics.median(figures.samples[_LEAST])
    return [
        Finding(
            f"{figures.ok:,} of {figures.attempted:,} keys sent and recorded once", figures.ok == figures.attempted
        ),
        *none_of(figures, "lost", "duplicated", "unexpected", "unknown"),
        Finding(f"the process with the fewest had {least:.0%} of the keys in the median unit", least > 0),
    ]
