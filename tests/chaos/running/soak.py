"""
R15: hours of work under a gateway that drops again and again leave memory, threads, descriptors and tasks flat.

``python -m tests.chaos.running.soak [--minutes 480] [--drops 100] [--seed N] [--database NAME] [--dry]`` renews the row
in docs/promises.md; a shorter one is judged and leaves the row as it is. It runs in real time, a process against the
stub: what grows with every reconnect, message or press shows in no simulated hour. Flat: the least of the last quarter
(of memory the median) is not above that of the second by more than the margin. The least, since a burst of presses
opens connections that live on for some seconds; the second, since a process fills its caches and arenas in the first.
"""

import argparse
import asyncio
import contextlib
import datetime as dt
import random
import signal
import statistics
import sys
import tempfile
from collections.abc import AsyncIterator, Coroutine, Sequence
from dataclasses import dataclass
from pathlib import Path

from aiohttp import web

from bot.transactions import Dialect
from tests.chaos import table
from tests.chaos.proof import Figures, Finding, Proof, Share, at_most, none_of
from tests.chaos.running.soak_load import SoakLoad
from tests.chaos.running.stop_moments import Handler
from tests.chaos.running.stops import STOP_SECONDS, traces
from tests.chaos.running.watched_bot import command
from tests.throwaway import throw_away
from tests.wire.bot_process import BotProcess, bot_process, open_files, until
from tests.wire.discord_stub import GUILD, OPS, DiscordStub, running_stub
from tests.wire.gateway import RESUMED, Drop, Gateway

_PATIENCE_SECONDS = 120
_OUTAGE_SECONDS = 0.1
MARGINS: dict[str, float] = {"resident MB": 8.0, "threads": 1.0, "descriptors": 3.0, "tasks": 3.0}
"""By how much the last quarter may be above the second."""
_LOST: tuple[Drop, ...] = tuple(how for how in Drop if how not in RESUMED and how is not Drop.DUPLICATES)
_AT_ONCE: tuple[Drop, ...] = tuple(how for how in Drop if how in RESUMED and how is not Drop.SILENT)


@dataclass(frozen=True, slots=True)
class Plan:
    """
    How long a soak is, what happens in it and how often it is looked at, in seconds.

    ``lost`` of its ``drops`` lose the session, ``silent`` of them are connections that answer no more. ``closes``: no
    connection is kept for the next request. ``mechanism``: a broken copy.
    """

    seconds: float = 8 * 3600.0
    drops: int = 100
    lost: int = 40
    silent: int = 10
    beat: float = 180.0
    sample: float = 10.0
    settings: tuple[tuple[str, str], ...] = ()
    closes: bool = False
    mechanism: str = ""

    def order(self, draw: random.Random) -> list[Drop]:
        """Return the drops as they come, with dispatches that come twice among them."""
        told: list[Drop] = [draw.choice(_LOST) for _ in range(self.lost)]
        told += [Drop.SILENT] * self.silent
        told += [_AT_ONCE[turn % len(_AT_ONCE)] for turn in range(self.drops - len(told))]
        told += [Drop.DUPLICATES] * max(1, self.drops // 10)
        draw.shuffle(told)
        return told


WHOLE = Plan()
"""What the row promises."""
SHORT = Plan(
    seconds=24.0,
    drops=20,
    lost=1,
    silent=1,
    beat=2.0,
    sample=0.25,
    closes=True,
    settings=(
        # More than the five seconds that the library waits before it identifies anew, without reading.
        ("HEARTBEAT_TIMEOUT", "7"),
        ("TOCSIN__REMINDERS__POLL_SECONDS", "1"),
        ("TOCSIN__REMINDERS__SYNC_SECONDS", "1"),
        ("TOCSIN__REMINDERS__EDIT_DEBOUNCE_SECONDS", "1"),
        ("TOCSIN__CLUSTER__HEARTBEAT_SECONDS", "1"),
        ("TOCSIN__DM_QUEUE__OPEN_CHANNELS_PER_SECOND", "20.0"),
    ),
)
"""For CI: the same in half a minute."""


def run(share: Share, plan: Plan = WHOLE) -> Figures:
    """Soak one process a seed."""
    figures = Figures()
    for seed in share.seeds:
        asyncio.run(_seed(seed, share, plan, figures))
    return figures


async def _seed(seed: int, share: Share, plan: Plan, figures: Figures) -> None:
    assert share.dialect is not None
    figures.runs += 1
    draw = random.Random(seed)
    with tempfile.TemporaryDirectory(prefix="tocsin-soak-") as name:
        folder = Path(name)
        middlewares = [_closing] if plan.closes else []
        async with (
            share.databases.fresh(share.dialect) as url,
            running_stub(_stub(plan), middlewares=middlewares) as stub,
        ):
            load = SoakLoad(url, stub, draw)
            await load.prepare()
            settings = dict(plan.settings) | {"TASKS_FILE": str(folder / "tasks"), "TOCSIN__LOGGING__LEVEL": "warning"}
            arguments = command(plan.mechanism)
            async with bot_process(folder, stub, url, arguments=arguments, **settings) as process:
                await until(lambda: stub.identified > 0, within=_PATIENCE_SECONDS)
                broken = await _soaked(process, load, plan, figures, folder / "tasks")
    figures.ok += not broken
    figures.faults += [f"seed {seed}: {fault}" for fault in broken]


@web.middleware
async def _closing(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Close the connection after each answer: kept for the next request it would count as a descriptor meanwhile."""
    response = await handler(request)
    if not isinstance(response, web.WebSocketResponse):
        response.force_close()
    return response


def _stub(plan: Plan) -> DiscordStub:
    stub = DiscordStub()
    if dict(plan.settings).get("HEARTBEAT_TIMEOUT"):
        stub.gate.heartbeat_milliseconds = 1_000
    return stub


async def _soaked(process: BotProcess, load: SoakLoad, plan: Plan, figures: Figures, tasks: Path) -> list[str]:
    """Let everything happen at once for as long as the plan says; then look at what came of it."""
    gate = load.stub.gate
    async with _meanwhile(_beats(load, plan), _samples(process, plan, figures, tasks)):
        began = asyncio.get_running_loop().time()
        order = plan.order(load.draw)
        for turn, how in enumerate(order):
            await _sleep_until(began + plan.seconds * turn / len(order))
            await _drop(gate, how, figures)
        await _sleep_until(began + plan.seconds)
    broken = await _judged(process, load, figures, seconds=plan.seconds)
    process.tell(signal.SIGTERM)
    took = await process.ended(within=_PATIENCE_SECONDS)
    figures.sample("stop", took)
    # A short one runs beside other tests; how fast a stop is, is R16's.
    if process.code != 0 or (plan.seconds >= WHOLE.seconds and took > STOP_SECONDS):
        broken.append(f"stopped with status {process.code} in {took:.1f} s")
    if trace := traces(process.said()):
        broken.append(f"a traceback: {trace}")
    return broken


async def _drop(gate: Gateway, how: Drop, figures: Figures) -> None:
    """Drop the connection and wait until the bot is back; where dispatches come twice the server is away besides."""
    before, began = gate.identified + gate.resumed, asyncio.get_running_loop().time()
    await gate.drop(how)
    if how is Drop.DUPLICATES:
        await gate.outage(GUILD)
        await asyncio.sleep(_OUTAGE_SECONDS)
        await gate.outage_over()
        return
    figures.attempted += 1
    with contextlib.suppress(TimeoutError):
        await until(lambda: gate.identified + gate.resumed > before and gate.is_connected, within=_PATIENCE_SECONDS)
        figures.recovered += 1
        figures.sample("reconnect", asyncio.get_running_loop().time() - began)


async def _beats(load: SoakLoad, plan: Plan) -> None:
    while True:
        await load.beat()
        await asyncio.sleep(plan.beat)


async def _samples(process: BotProcess, plan: Plan, figures: Figures, tasks: Path) -> None:
    while True:
        process.tell(signal.SIGUSR1)
        await asyncio.sleep(plan.sample)
        if process.code is None:
            for name, value in _sample(process.pid).items():
                figures.sample(name, value)
            if told := _read(tasks):
                figures.sample("tasks", float(told))


def _read(path: Path) -> str:
    return path.read_text() if path.exists() else ""


def _sample(pid: int) -> dict[str, float]:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    status = {name: value.split() for name, _, value in (line.partition(":") for line in lines)}
    return {
        "resident MB": float(status["VmRSS"][0]) / 1024,
        "threads": float(status["Threads"][0]),
        "descriptors": float(len(open_files(pid))),
    }


@contextlib.asynccontextmanager
async def _meanwhile(*work: Coroutine[None, None, None]) -> AsyncIterator[None]:
    """Let work go on in the context; what it raises ends the context too."""
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(one) for one in work]
        yield
        for task in tasks:
            task.cancel()


async def _sleep_until(moment: float) -> None:
    await asyncio.sleep(max(0.0, moment - asyncio.get_running_loop().time()))


async def _judged(process: BotProcess, load: SoakLoad, figures: Figures, *, seconds: float) -> list[str]:
    """Wait for the last of the work, and count what stands there."""
    figures.acknowledged += len(load.wanted)
    figures.sample("minutes", seconds / 60)
    with contextlib.suppress(TimeoutError):
        await until(lambda: load.shown().keys() >= load.wanted or process.code is not None, within=_PATIENCE_SECONDS)
    shown = load.shown()
    lost = load.wanted - shown.keys()
    doubled = [one for one, times in shown.items() if times > 1]
    extra = [one for one in shown if one not in load.wanted]
    figures.lost += len(lost)
    figures.duplicated += len(doubled)
    figures.unexpected += len(extra)
    figures.sample("edits", float(load.stub.edits))
    figures.sample("presses answered", float(len(load.stub.answered)))
    broken = [f"{words}: {sorted(what)[:3]}" for words, what in (("lost", lost), ("twice", doubled)) if what]
    if extra:
        where = "the channel for trouble" if extra[0][0] == OPS else extra[0][0]
        broken.append(f"nobody asked for {extra[0][1]} in {where}")
    if load.stub.unknown:
        broken.append(f"asked for what there is not: {load.stub.unknown[0]}")
    return broken


def judge(figures: Figures, plan: Plan = WHOLE) -> list[Finding]:
    """It was as long as planned, nothing lost or doubled, every drop mended, and what is used does not grow."""
    return [
        *worked(figures, plan),
        *(flat(name, figures.samples.get(name, []), margin) for name, margin in MARGINS.items()),
    ]


def worked(figures: Figures, plan: Plan) -> list[Finding]:
    """Return the findings of what was done, for as long and through as many drops as planned."""
    minutes = max(figures.samples.get("minutes", [0.0]))
    presses = max(figures.samples.get("presses answered", [0.0]))
    return [
        Finding(f"{minutes:.3g} min (at least {plan.seconds / 60:.3g})", minutes * 60 >= plan.seconds),
        Finding(f"{figures.attempted} drops (at least {plan.drops})", figures.attempted >= plan.drops),
        Finding(f"{figures.recovered} of {figures.attempted} drops mended", figures.recovered == figures.attempted),
        Finding(f"{figures.acknowledged} messages", figures.acknowledged > 0),
        Finding(f"{presses:.0f} presses answered", presses > 0),
        *none_of(figures, "lost", "duplicated", "unexpected"),
    ]


def flat(name: str, values: Sequence[float], margin: float) -> Finding:
    quarter = len(values) // 4
    if not quarter:
        return Finding(f"{name}: never looked at", is_met=False)
    least = statistics.median if name == "resident MB" else min
    second, last = (least(values[begin : begin + quarter]) for begin in (quarter, 3 * quarter))
    return at_most(f"{name} from {second:.4g} to {last:.4g}: growth", last - second, margin, unit="")


PROOF = Proof("R15", "hours of work under a gateway that drops leave everything flat", run, judge, seeds=1)


def main() -> int:
    """Soak for as long as was asked for, and renew the row."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos.running.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=480.0)
    parser.add_argument("--drops", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--database", choices=[one.value for one in Dialect], default=Dialect.SQLITE.value)
    parser.add_argument("--dry", action="store_true", help="leave docs/promises.md as it is")
    asked = parser.parse_args()
    seconds = asked.minutes * 60
    plan = Plan(
        seconds=seconds,
        drops=asked.drops,
        lost=asked.drops * 2 // 5,
        silent=min(asked.drops // 10, int(asked.minutes / 10)),
        beat=max(5.0, seconds / 160),
        sample=max(0.5, seconds / 2880),
    )
    with throw_away() as databases:
        figures = run(Share([asked.seed], Dialect(asked.database), databases), plan)
    is_whole = plan.seconds >= WHOLE.seconds
    findings = judge(figures, WHOLE if is_whole else plan)
    today = dt.datetime.now(dt.UTC).date().isoformat()
    seeds = range(asked.seed, asked.seed + 1)
    row = table.row_of(PROOF, asked.database, figures, findings, seeds=seeds, on=today)
    print(" | ".join(row))
    for name, values in figures.samples.items():
        print(f"  {name}: {min(values):.4g} to {max(values):.4g}, median {statistics.median(values):.4g}")
    for fault in figures.faults:
        print(f"  BROKEN {fault}")
    if not is_whole:
        print(f"  docs/promises.md is as it was: its row takes {WHOLE.seconds / 60:.0f} minutes.")
    elif not asked.dry:
        table.renew(row)
    return int("BROKEN" in row)


if __name__ == "__main__":
    sys.exit(main())
