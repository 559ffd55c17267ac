"""
R3: whole days of the whole bot in virtual time, with everything going wrong that a seed has planned.

``python -m tests.chaos.days.bot_days --seed N [--database postgres] [--shrink]`` lives one day and tells what happened;
``--replay FILE`` lives a day that was written down, as a day that failed is.
"""

import argparse
import asyncio
import contextlib
import sys
import tempfile
import time
import zoneinfo
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from bot.database import opened
from bot.demo.fault_plan import Fault
from bot.demo.ordered_loop import OrderedLoop
from bot.log import configure_logging
from bot.migrating import migrate
from bot.transactions import Dialect
from tests.chaos.days.bot_day import BotDay
from tests.chaos.days.day_changes import plan_changed_day
from tests.chaos.days.day_oracle import Oracle, Verdict
from tests.chaos.days.day_plan import Act, DayPlan, read_plan
from tests.chaos.days.day_record import DayRecord
from tests.chaos.days.shrink import shrink
from tests.chaos.proof import Figures, Finding, Proof, Share, none_of
from tests.throwaway import Databases, throw_away

_MOST_UNKNOWN = 0.005
_LIVED_TWICE = 50
_DAYS_A_SECOND = "bot-days a second"


def live(plan: DayPlan, dialect: Dialect, databases: Databases) -> DayRecord:
    """Live one day in a fresh database."""

    async def _live() -> DayRecord:
        async with databases.fresh(dialect) as url:
            return await BotDay(plan).run(url)

    zoneinfo.reset_tzpath(to=[])
    configure_logging("critical", "console")
    with asyncio.Runner(loop_factory=OrderedLoop) as runner:
        return runner.run(_live())


def run_days(share: Share, plan_of: Callable[[int], DayPlan]) -> Figures:
    """Live the day of each seed; the first that fails is shortened, and written down."""
    assert share.dialect is not None
    figures = Figures()
    for seed in share.seeds:
        plan = plan_of(seed)
        began = time.process_time()
        record = live(plan, share.dialect, share.databases)
        figures.sample(_DAYS_A_SECOND, (plan.hours / 24) / (time.process_time() - began))
        verdict = Oracle(record).judge()
        _count(figures, record, verdict)
        if not verdict.holds:
            is_first = not figures.faults
            figures.faults.append(f"seed {seed}: {'; '.join(verdict.faults[:3])}")
            if is_first:
                folder = Path(tempfile.mkdtemp(prefix="bot-day-"))
                figures.faults[-1] += "\n" + shortened(plan, verdict, share.dialect, share.databases, folder=folder)
        if not seed % _LIVED_TWICE and record.trace.hash() != live(plan, share.dialect, share.databases).trace.hash():
            figures.faults.append(f"seed {seed}: lived twice, it left two traces")
    return figures


def _count(figures: Figures, record: DayRecord, verdict: Verdict) -> None:
    figures.runs += 1
    figures.attempted += record.attempted
    figures.acknowledged += record.acknowledged
    figures.ok += verdict.ok
    figures.lost += verdict.lost
    figures.duplicated += verdict.duplicated
    figures.unexpected += verdict.unexpected
    figures.recovered += record.recovered
    figures.unknown += verdict.unknown
    figures.sample("faults met", len(record.disturbances))
    figures.sample("recorded as not sent", verdict.recorded)
    figures.sample("required", verdict.required)


def shortened(plan: DayPlan, verdict: Verdict, dialect: Dialect, databases: Databases, *, folder: Path) -> str:
    """Return the shortest day that fails as this one does, in words; it is written down in ``folder``."""
    kinds = _kinds(verdict)

    def _fails(happenings: list[Fault | Act]) -> bool:
        try:
            record = live(plan.with_only(happenings), dialect, databases)
        except Exception:  # noqa: BLE001 -- another fault than the one that is looked for
            return False
        return bool(kinds & _kinds(Oracle(record).judge()))

    short = plan.with_only(shrink(plan.happenings, _fails))
    path = folder / f"bot-day-{plan.seed}-{dialect.value}.json"
    path.write_text(short.as_json(), encoding="utf-8")
    again = f"python -m tests.chaos.days.bot_days --database {dialect.value} --replay {path}"
    return f"of {len(plan.happenings)} happenings these are enough:\n{short.as_script()}\n  again: {again}"


def _kinds(verdict: Verdict) -> set[str]:
    return {fault.partition(":")[0] for fault in verdict.faults}


def run(share: Share) -> Figures:
    """Live the days of a share."""
    return run_days(share, plan_changed_day)


def judge(figures: Figures) -> list[Finding]:
    """Return what must be true of all the days."""
    share = figures.unknown / max(1, figures.attempted)
    found = none_of(figures, "lost", "duplicated", "unexpected")
    found.append(Finding(f"{figures.unknown} unknown ({share:.2%})", share <= _MOST_UNKNOWN))
    speeds = sorted(figures.samples[_DAYS_A_SECOND])
    met = sum(figures.samples["faults met"])
    required = sum(figures.samples["required"])
    found.append(Finding(f"{required:.0f} had to be visible, {met:.0f} faults met", required > 0 and met > 0))
    if figures.runs >= PROOF.seeds:
        # Of few days one that other processes slowed down would decide.
        found.append(Finding(f"{_median(speeds):.2f} bot-days a second per core (at least 1)", _median(speeds) >= 1))
    return found


def _median(ordered: list[float]) -> float:
    return ordered[len(ordered) // 2] if ordered else 0.0


PROOF = Proof(
    row="R3",
    promise="simulated days of the whole bot, everything going wrong: nothing lost or doubled",
    run=run,
    judge=judge,
    seeds=500,
)
PROOFS = (PROOF,)


@contextlib.contextmanager
def _only_sqlite() -> Iterator[Databases]:
    with tempfile.TemporaryDirectory(prefix="tocsin-") as folder:
        databases = Databases(Path(folder), server="")
        asyncio.run(_make(f"sqlite://{databases._sqlite_template}"))
        yield databases


async def _make(url: str) -> None:
    async with opened(url):
        await migrate(url)


def main() -> int:
    """Live one day and tell what happened."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos.days.bot_days", description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--replay", type=Path, help="a day that was written down")
    parser.add_argument("--database", type=Dialect, choices=list(Dialect), default=Dialect.SQLITE)
    parser.add_argument("--shrink", action="store_true", help="shorten a day that fails")
    asked = parser.parse_args()
    plan = read_plan(asked.replay.read_text(encoding="utf-8")) if asked.replay else plan_changed_day(asked.seed)
    with throw_away() if asked.database is Dialect.POSTGRES else _only_sqlite() as databases:
        record = live(plan, asked.database, databases)
        verdict = Oracle(record).judge()
        print("\n".join(record.trace.lines))
        print(f"seed={plan.seed} trace={record.trace.hash()} faults={dict(Counter(_kinds(verdict)))}")
        for fault in verdict.faults:
            print(f"BROKEN {fault}")
        if asked.shrink and not verdict.holds:
            folder = Path(tempfile.mkdtemp(prefix="bot-day-"))
            print(shortened(plan, verdict, asked.database, databases, folder=folder))
    return int(not verdict.holds)


if __name__ == "__main__":
    sys.exit(main())
