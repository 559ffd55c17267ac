"""``tocsin simulate`` as a command: reads the file, finds a database, prints rows on stdout and counts on stderr."""

import asyncio
import contextlib
import datetime as dt
import json
import signal
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from bot.demo.sightings import Sighting
from bot.demo.simulate import Simulation, simulate, with_all_reminders
from bot.demo.simulate_faults import simulate_with_faults
from bot.errors import UsageError
from bot.operations.schedule_import import read_schedule_file

_MOST_DAYS = 366
_MOST_MEMBERS = 100
_MOST_CRASHES = 1_000
# Discord's ids begin in 2015; beyond the last year a date has no next one.
_FIRST_YEAR, _LAST_YEAR = 2016, 2900


async def simulate_file(  # noqa: PLR0913 -- one for each option
    file: Path,
    *,
    start: dt.date,
    days: int,
    members: int,
    all_reminders: bool,
    seed: int,
    crashes: int,
    faults: bool,
    database: str | None,
) -> int:
    """
    Simulate a schedule file, with faults on the way if they are wanted; return the exit code.

    It is 0, or 1 where the run was stopped before its end.

    Raises:
        UsageError: an option is out of range, or the file cannot be read.
        ScheduleFileError: what is in the file is refused.
        DatabaseNotEmptyError: the named database holds rows.
    """
    _check_range("--days", days, 1, _MOST_DAYS)
    _check_range("--members", members, 0, _MOST_MEMBERS)
    _check_range("--crashes", crashes, 0, _MOST_CRASHES)
    _check_range("--start: the year", start.year, _FIRST_YEAR, _LAST_YEAR)
    series = read_schedule_file(file)
    with _database(database) as url:
        plan = Simulation(
            series=with_all_reminders(series) if all_reminders else series,
            start=dt.datetime.combine(start, dt.time(0), dt.UTC),
            days=days,
            database_url=url,
            members=members,
            seed=seed,
            crashes=crashes,
        )
        stopped = _stop_on_signals()
        run = simulate_with_faults if faults else simulate
        came_to = await run(plan, tell=_print_row, is_stopped=stopped.is_set)
    print(f"seed={seed} {came_to.as_line()}", file=sys.stderr)
    if stopped.is_set():
        print("Stopped before the end.", file=sys.stderr)
    return int(stopped.is_set())


def _check_range(option: str, value: int, least: int, most: int) -> None:
    if not least <= value <= most:
        sentence = f"{option} is {value}; allowed is a whole number from {least} to {most}."
        raise UsageError(sentence)


def _print_row(sighting: Sighting) -> None:
    print(json.dumps(sighting.as_row(), ensure_ascii=False), flush=True)


@contextlib.contextmanager
def _database(named: str | None) -> Iterator[str]:
    if named is not None:
        yield named
        return
    with tempfile.TemporaryDirectory(prefix="tocsin-") as folder:
        yield f"sqlite://{folder}/simulated.db"


def _stop_on_signals() -> asyncio.Event:
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    return stopped
