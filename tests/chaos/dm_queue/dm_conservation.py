"""
R12: whatever happens, every DM that was taken into the queue is sent, failed, unknown, dropped, waiting or under way.

A unit is 10,000 random operations on one worker with scripted answers, accounted for after each, and within each
whenever a DM ends; then everything that still waits must go out. Applicants, whose sweep belongs to the same promise,
join it with the playtests.
"""

import asyncio
import datetime as dt
import random

from bot.dm_queue.circuit_breaker import BreakerOptions
from bot.dm_queue.job import DmJob, JobEnd, JobKind
from bot.dm_queue.worker import DmQueueOptions
from bot.leases.failures import ErrorClass, SendError
from bot.leases.reports import SendReport, SendResult
from tests.chaos.proof import Figures, Finding, Proof, Share, none_of
from tests.dm_world import NOTHING, DmWorld, Letter, failed

OPERATIONS = 10_000
_DEPTH = 10_000
SECOND = dt.timedelta(seconds=1)
MINUTE = dt.timedelta(minutes=1)
MILLISECOND = dt.timedelta(milliseconds=1)

_ANSWERS: list[SendReport | Exception] = [
    *[SendReport(SendResult.SENT)] * 12,
    SendReport(SendResult.ALREADY_CLAIMED),
    SendReport(SendResult.WITHDRAWN),
    SendReport(SendResult.FAILED_TRANSIENT),
    failed(ErrorClass.RECIPIENT_UNREACHABLE, SendResult.FAILED_PERMANENT),
    failed(ErrorClass.GONE, SendResult.FAILED_PERMANENT),
    failed(ErrorClass.RATE_LIMITED),
    failed(ErrorClass.OPENING_TOO_FAST),
    failed(ErrorClass.OUTAGE, SendResult.UNKNOWN),
    failed(ErrorClass.OUTAGE),
    OSError("no durable claim"),
    RuntimeError("a bug"),
]
_REFUSALS = [
    *[None] * 6,
    ErrorClass.RECIPIENT_UNREACHABLE,
    ErrorClass.OUTAGE,
    ErrorClass.OPENING_TOO_FAST,
    ErrorClass.RATE_LIMITED,
    ErrorClass.CDN_BLOCK,
]
_UNKNOWN = frozenset({SendResult.UNKNOWN, SendResult.BEGUN})


def at_random(chance: random.Random) -> DmWorld:
    """Return a world in which anything may be answered, and half of the time nothing is for a while."""
    options = DmQueueOptions(
        max_depth=100,
        drain_rate=20.0,
        open_channels_rate=5.0,
        opening_pause=20 * SECOND,
        breaker=BreakerOptions(failures=2, within=MINUTE, open_for=30 * SECOND),
    )
    world = DmWorld(options)

    def _answer(_: int) -> SendReport:
        found = chance.choice(_ANSWERS)
        if isinstance(found, Exception):
            raise found
        return found

    def _refuses(_: int) -> SendError | None:
        found = chance.choice(_REFUSALS)
        return SendError(found, found.value) if found is not None else None

    world.out.takes = lambda: chance.choice([NOTHING, NOTHING, 90 * MILLISECOND, SECOND, 4 * SECOND])
    world.out.answer, world.opener.refuses = _answer, _refuses
    world.out.record_fails = lambda: chance.random() < 0.2
    return world


class _CountedLetter(Letter):
    """Looks at the accounts whenever a DM ends, in the middle of whatever else is under way."""

    def __init__(self, world: DmWorld) -> None:
        super().__init__()
        self._world = world
        self.wrong: list[int] = []
        self.is_stopping = False

    def ended(self, job: DmJob, report: SendReport | JobEnd) -> None:
        super().ended(job, report)
        world = self._world
        # What is neither in the queue nor at the way out is held by a task, each of which holds one job at most; only
        # a stop holds all that waited.
        held = world.worker.in_flight - world.out.in_hand
        if missing(world) < 0 or (missing(world) > held and not self.is_stopping):
            self.wrong.append(missing(world))


async def one_thing(world: DmWorld, letter: _CountedLetter, chance: random.Random) -> int:
    """Let one thing happen; return how many operations it was."""
    match chance.randrange(20):
        case 0:
            world.offer(None)
        case 1:
            who = chance.randrange(1, 4_000)
            world.withdrawn += len(world.queue.remove(lambda job: job.recipient_id == who))
        case 2:
            world.out.blocks.paused_until = world.clock.now() + chance.randrange(20) * SECOND
        case 3 if chance.random() < 0.02:
            letter.is_stopping = True
            await world.worker.stop()
            letter.is_stopping = False
        case 4 | 5 | 6 | 7 | 8:
            before = len(world.out.starts) + len(world.opener.opened) + world.letter.ends.total()
            await world.run_for(chance.choice([NOTHING, 50 * MILLISECOND, SECOND / 5, SECOND, 30 * SECOND]))
            return max(1, len(world.out.starts) + len(world.opener.opened) + world.letter.ends.total() - before)
        case _:
            kind = chance.choice(sorted(JobKind))
            world.offer(chance.randrange(1, 4_000), kind=kind, known=chance.random() < 0.6)
    return 1


def missing(world: DmWorld) -> int:
    """Return how many jobs are unaccounted for; negative: accounted for more than once."""
    return world.enqueued - world.accounted


async def _unit(seed: int, operations: int) -> Figures:
    chance = random.Random(seed)
    world, done, figures = at_random(chance), 0, Figures(runs=1)
    letter = _CountedLetter(world)
    world.letter = letter
    while done < operations and not figures.faults:
        done += await one_thing(world, letter, chance)
        if missing(world):
            figures.faults.append(f"seed {seed}: {missing(world)} jobs missing after {done} operations")
        if letter.wrong:
            figures.faults.append(f"seed {seed}: {letter.wrong[0]} jobs missing within operation {done}")
    world.out.blocks.paused_until = None
    world.out.answer = lambda _: SendReport(SendResult.SENT)
    world.opener.refuses, world.out.record_fails = (lambda _: None), (lambda: False)
    await world.run_for(20 * MINUTE)
    ends = world.letter.ends
    figures.attempted = world.enqueued
    figures.acknowledged = ends[SendResult.SENT]
    figures.unknown = sum(ends[one] for one in _UNKNOWN)
    figures.lost = max(0, missing(world)) + len(world.queue) + world.out.in_hand
    figures.duplicated = max(0, -missing(world))
    figures.ok = world.enqueued - figures.lost - figures.unknown
    if not (world.refused and ends[JobEnd.MISSING_RECIPIENT] and ends[SendResult.SENT]):
        figures.faults.append(f"seed {seed}: the run met no full queue, no missing recipient or no success")
    if (what := _unpaired([said for said, _ in world.record.said])) is not None:
        figures.faults.append(f"seed {seed}: {what}")
    if not _is_refused_in_the_same_call():
        figures.faults.append(f"seed {seed}: the 10,001st was not refused in the same call")
    figures.sample("operations", done)
    figures.sample("asked", operations)
    return figures


def _unpaired(said: list[str]) -> str | None:
    return None if said == ["opened", "closed"] * (len(said) // 2) else "the breaker's record does not alternate"


def _is_refused_in_the_same_call() -> bool:
    """Return whether a full queue says so at once: nothing here is awaited."""
    world = DmWorld(DmQueueOptions(max_depth=_DEPTH))
    taken = [world.offer(who) for who in range(1, _DEPTH + 2)]
    return taken == [True] * _DEPTH + [False] and len(world.queue) == _DEPTH


def run(share: Share, *, operations: int = OPERATIONS) -> Figures:
    """Do one share."""
    figures = Figures()
    for seed in share.seeds:
        figures.add(asyncio.run(_unit(seed, operations)))
    return figures


def judge(figures: Figures) -> list[Finding]:
    """Return what must hold of the queue's accounts."""
    operations, asked = (int(sum(figures.samples[name])) for name in ("operations", "asked"))
    told = Finding(f"{operations:,} operations (at least {asked:,})", operations >= asked > 0)
    return [*none_of(figures, "lost", "duplicated"), told]


PROOFS = (Proof("R12", "DM conservation: no job is lost or counted twice", run, judge, seeds=100, dialects=(None,)),)
