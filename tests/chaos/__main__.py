"""
Try the promises at full size and renew their table in docs/promises.md.

``python -m tests.chaos [R1 ...] [--seeds N] [--from N] [--database sqlite|postgres] [--points WORDS] [--dry]``.
Without a row: all of them. ``--points`` tries the kill points alone whose name has one of these words in it, between
``|``, and leaves the table as it is. The status is 1 when a promise broke; each broken unit is told with its seed, and
``--from SEED --seeds 1`` repeats it.
"""

import argparse
import datetime as dt
import importlib
import os
import signal
import sys
import time
from collections.abc import Iterator, Sequence

from bot.transactions import Dialect
from tests.chaos import table
from tests.chaos.proof import Proof
from tests.chaos.shares import tried
from tests.throwaway import throw_away

_MODULES: tuple[str, ...] = (
    "deaths.kill_matrix",
    "hands.wrong_hands",
    "hands.bad_input",
    "requests.ambiguous_sends",
    "requests.limits",
    "dm_queue.breaker",
    "dm_queue.dm_conservation",
    "processes.two_processes",
    "databases.database_stops",
    "databases.swallowed_answers",
    "days.bot_days",
    "days.clock_changes",
    "realign.realign",
    "loops.loops_survive",
    "running.stops",
)
"""Each has its ``PROOFS``; a new proof is a line here."""

_APART = ("running.soak",)
"""Each has a ``PROOF`` with a command of its own, and a row in the same table."""


def proofs() -> list[Proof]:
    """Return every proof, in the order of the promises."""
    found = [one for name in _MODULES for one in importlib.import_module(f"tests.chaos.{name}").PROOFS]
    return sorted(found, key=lambda one: int(one.row.removeprefix("R")))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("rows", nargs="*", help="R1 and so on; all without any")
    parser.add_argument("--seeds", type=int, help="how many, instead of each proof's own number")
    parser.add_argument("--from", type=int, default=0, dest="first", help="the first seed")
    parser.add_argument("--database", choices=[one.value for one in Dialect], help="only there")
    parser.add_argument("--points", default="", help="R1 and R2: only the points with these words in their name")
    parser.add_argument("--dry", action="store_true", help="leave docs/promises.md as it is")
    asked = parser.parse_args(arguments)
    chosen = [one for one in proofs() if not asked.rows or one.row in asked.rows]
    if missing := set(asked.rows) - {one.row for one in chosen}:
        parser.error(f"there is no proof of {', '.join(sorted(missing))}")
    known = table.keys_of([*proofs(), *(importlib.import_module(f"tests.chaos.{name}").PROOF for name in _APART)])
    is_broken = False
    # Told to end, it still takes its server away.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    with throw_away() as databases:
        for proof, dialect in _wanted(chosen, only=asked.database):
            seeds = range(asked.first, asked.first + (asked.seeds or proof.seeds))
            began = time.monotonic()
            at_once = (os.cpu_count() or 1) * (2 if proof.mostly_waits else 1)
            figures = tried(proof, seeds, dialect, databases, at_once=at_once, only=asked.points)
            today = dt.datetime.now(dt.UTC).date().isoformat()
            row = table.row_of(proof, table.name_of(dialect), figures, proof.judge(figures), seeds=seeds, on=today)
            is_broken |= "BROKEN" in row
            print(f"{' | '.join(row)} [{time.monotonic() - began:.0f} s]", flush=True)
            for fault in figures.faults:
                print(f"  BROKEN {fault}", flush=True)
            if not (asked.dry or asked.points):  # a part of the points is not the promise
                table.renew(row, known=known)
    return int(is_broken)


def _wanted(chosen: Sequence[Proof], *, only: str | None) -> Iterator[tuple[Proof, Dialect | None]]:
    for proof in chosen:
        for dialect in proof.dialects:
            if only in {None, table.name_of(dialect)}:
                yield proof, dialect


if __name__ == "__main__":
    sys.exit(main())
