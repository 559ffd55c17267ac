"""
P6: what a full DM queue takes over an empty one, in a process of its own each time.

``python -m tests.bench.full_queue JOBS traced|resident`` fills one and prints what it grew by and how large the process
was before, in bytes: as the interpreter counts its objects, and as the system counts the process's pages.
"""

import asyncio
import datetime as dt
import gc
import json
import os
import sys
import tracemalloc
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from bot.clock import ManualClock
from bot.dm_queue.fan_out_plan import FanOutPlan, Standing
from bot.dm_queue.job import DmJob, JobEnd, JobKind
from bot.dm_queue.queue import DmQueue
from bot.dm_queue.running_fan_out import RunningFanOut
from bot.leases.keys import MessageKey
from bot.leases.ledger import Lease
from bot.leases.reports import SendReport
from bot.message.outgoing import OutgoingMessage
from tests.bench.measure import Goal, Line, Sample
from tests.throwaway import Databases

NOW = dt.datetime(2026, 3, 1, 12, 0, tzinfo=dt.UTC)
MEGABYTES = ("MB", 1e-6)
MOST = 5e6
# People have ids of 19 digits, each an object of its own.
FIRST_ID = 1_400_000_000_000_000_001
_PAGE = os.sysconf("SC_PAGE_SIZE")
_NAMES = {"traced": "objects", "resident": "resident pages"}


@dataclass(frozen=True, slots=True)
class Sizes:
    """How many jobs, and how many processes fill a queue with them."""

    jobs: int = 10_000
    rounds: int = 5


async def full_queue(_: Databases, sizes: Sizes) -> list[Line]:
    """Fill a queue in one process after another, and compare it with the whole process before."""
    lines = []
    for how, name in _NAMES.items():
        found = [await _in_a_process(sizes.jobs, how) for _ in range(sizes.rounds)]
        grown, before = (Sample(tuple(float(one[which]) for one in found)) for which in ("grown", "before"))
        lines.append(
            Line(
                f"P6 queue of {sizes.jobs:,} DMs over an empty one, {name}",
                grown,
                before,
                "process before",
                before.per(grown),
                Goal(MOST, at_least=False, unit=MEGABYTES),
                unit=MEGABYTES,
            )
        )
    return lines


async def _in_a_process(jobs: int, how: str) -> dict[str, int]:
    child = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.bench.full_queue", str(jobs), how), stdout=asyncio.subprocess.PIPE
    )
    printed, _ = await child.communicate()
    assert child.returncode == 0, child.returncode
    found: dict[str, int] = json.loads(printed)
    return found


class Letter:
    """What every job says."""

    async def render(self, recipient_id: int) -> OutgoingMessage:
        """Render nothing."""
        raise AssertionError("nothing of a full queue is sent here")

    def ended(self, job: DmJob, report: SendReport | JobEnd) -> None:
        """Note nothing."""


def _filled(jobs: int) -> tuple[DmQueue, RunningFanOut]:
    """
    Return a queue that is full of jobs for as many people, half of them of a fan-out, and that fan-out.

    Every channel is unknown, which takes the most: each person has a list of their own there.
    """
    queue, reminder = DmQueue(max_depth=jobs), _reminder(range(FIRST_ID, FIRST_ID + jobs))
    reminder.fill(queue, most=queue.fan_out_room, now=NOW)
    assert len(queue) == len(reminder.queued) == jobs // 2
    for number in range(jobs - len(queue)):
        who = FIRST_ID + jobs + number
        key = MessageKey("approval_dm", 1_000_000 + number, who)
        queued_at = NOW + dt.timedelta(seconds=number)
        assert queue.offer(DmJob(JobKind.APPROVAL, key, FIRST_ID, who, Letter(), queued_at, asked_by=FIRST_ID))
    assert not queue.offer(DmJob(JobKind.APPROVAL, MessageKey("approval_dm", 1, 1), 1, 1, Letter(), NOW))
    while waiting := queue.arrived(500):
        queue.sort(waiting, is_open=lambda _: False)
    return queue, reminder


def _reminder(people: Iterable[int]) -> RunningFanOut:
    """Return a fan-out that has just begun; twice as many as fit are to get it."""

    async def _standing(_: dt.datetime) -> Standing:
        return Standing.AS_PLANNED

    async def _told() -> None: ...

    key = MessageKey("signup_reminder", 1)
    plan = FanOutPlan(key, FIRST_ID, JobKind.REMINDER, NOW, tuple(people), Letter().render, _standing, _told)
    lease = Lease(1, key, "0" * 32, 1, NOW)
    return RunningFanOut(
        plan=plan,
        lease=lease,
        clock=ManualClock(NOW),
        renewed_at=NOW,
        stepped_at=NOW,
        again_at=NOW,
        wake=lambda: None,
        rest=deque(plan.recipients),
    )


def _resident() -> int:
    return int(Path("/proc/self/statm").read_text("ascii").split()[1]) * _PAGE


def _traced() -> int:
    return tracemalloc.get_traced_memory()[0]


def main(arguments: Sequence[str]) -> None:
    """Fill a queue and print what it grew by."""
    jobs, how = int(arguments[0]), arguments[1]
    size = _traced if how == "traced" else _resident
    if how == "traced":
        tracemalloc.start()
    _filled(10)  # whatever the first of its kind brings along
    gc.collect()
    before = size()
    filled = _filled(jobs)
    gc.collect()
    grown = size() - before
    assert len(filled[0]) == jobs
    # Of pages none less than one can be told.
    print(json.dumps({"grown": max(grown, _PAGE), "before": _resident()}))


if __name__ == "__main__":
    main(sys.argv[1:])
