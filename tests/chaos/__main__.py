"""
Try the promises at full size and renew their table in docs/promises.md.

``python -m tests.chaos [R1 ...] [--seeds N] [--from N] [--database sqlite|postgres] [--dry]``. Without a row: all of
them. The status is 1 when a promise broke; each broken unit is told with its seed, and ``--from SEED --seeds 1``
repeats it.
"""

import argparse
import concurrent.futures
import datetime as dt
import importlib
import logging
import multiprocessing
import os
import sys
import time
from collections.abc import Iterator, Sequence

import structlog

from bot.transactions import Dialect
from tests.chaos import table
from tests.chaos.proof import Figures, Proof, Share
from tests.throwaway import Databases, throw_away

_MODULES: tuple[str, ...] = (
    "breaker",
    "dm_conservation",
)
"""Each has its ``PROOFS``; a new proof is a line here."""

# So many shares a core that one slow share does not keep the other cores waiting.
_SHARES_PER_CORE = 4


def proofs() -> list[Proof]:
    """Return every proof, in the order of the promises."""
    found = [one for name in _MODULES for one in importlib.import_module(f"tests.chaos.{name}").PROOFS]
    return sorted(found, key=lambda one: int(one.row.removeprefix("R")))


def shares(seeds: Sequence[int], dialect: Dialect | None, databases: Databases, *, cores: int) -> Iterator[Share]:
    """Cut the seeds into shares, so that every core has some."""
    size = max(1, -(-len(seeds) // (cores * _SHARES_PER_CORE)))
    for begin in range(0, len(seeds), size):
        yield Share(seeds[begin : begin + size], dialect, databases)


def tried(proof: Proof, seeds: Sequence[int], dialect: Dialect | None, databases: Databases, *, cores: int) -> Figures:
    """Run a proof on all cores; return what it came to."""
    came_to = Figures()
    parts = list(shares(seeds, dialect, databases, cores=cores))
    # Spawned, not forked: a proof may fork children of its own, which must hold nothing of this process.
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(cores, mp_context=context, initializer=quiet) as pool:
        for one in pool.map(proof.run, parts):
            came_to.add(one)
    return came_to


def quiet() -> None:
    """Keep the log still: planted faults fill it, and drawing their tracebacks takes longer than a run."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    logging.disable(logging.ERROR)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("rows", nargs="*", help="R1 and so on; all without any")
    parser.add_argument("--seeds", type=int, help="how many, instead of each proof's own number")
    parser.add_argument("--from", type=int, default=0, dest="first", help="the first seed")
    parser.add_argument("--database", choices=[one.value for one in Dialect], help="only there")
    parser.add_argument("--dry", action="store_true", help="leave docs/promises.md as it is")
    asked = parser.parse_args(arguments)
    chosen = [one for one in proofs() if not asked.rows or one.row in asked.rows]
    if missing := set(asked.rows) - {one.row for one in chosen}:
        parser.error(f"there is no proof of {', '.join(sorted(missing))}")
    rows: dict[tuple[str, str], table.Row] = {}
    is_broken = False
    with throw_away() as databases:
        for proof in chosen:
            for dialect in proof.dialects:
                name = dialect.value if dialect is not None else "none"
                if asked.database not in {None, name} and dialect is not None:
                    continue
                seeds = range(asked.first, asked.first + (asked.seeds or proof.seeds))
                began = time.monotonic()
                figures = tried(proof, seeds, dialect, databases, cores=os.cpu_count() or 1)
                findings = proof.judge(figures)
                today = dt.datetime.now(dt.UTC).date().isoformat()
                row = table.row_of(
                    proof.row, name, figures, findings, seeds=f"{seeds.start} to {seeds.stop - 1}", on=today
                )
                key = (proof.row, name)
                # A promise may have several proofs; the table tells them apart by what they promise.
                rows[key] = row
                is_broken |= "BROKEN" in row
                print(f"{proof.promise} [{time.monotonic() - began:.0f} s]\n  {' | '.join(row)}", flush=True)
                for fault in figures.faults:
                    print(f"  BROKEN {fault}", flush=True)
    if not asked.dry:
        table.PROMISES.write_text(table.renewed(table.PROMISES.read_text(), rows))
    return int(is_broken)


if __name__ == "__main__":
    sys.exit(main())
