"""
Large calendar files: the time and the memory that reading takes, against bare icalendar, and what holds the loop.

A file is imported and exported as an operator does it, on SQLite, while a heartbeat of the same loop looks for how long
it had no turn. Bare icalendar only parses: it understands no rule and checks nothing.
"""

import asyncio
import contextlib
import datetime as dt
import gc
import itertools
import time
import tracemalloc
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from icalendar import Calendar

from bot.calendars.desk import exported
from bot.calendars.file import MOST_SERIES, CalendarFile, Ground, read_calendar
from bot.operations.calendar_import import MAX_BYTES, import_calendar
from bot.times.recurrence import occurrences
from bot.transactions import Dialect
from tests.bench.databases import on
from tests.bench.measure import SECONDS, Goal, Line, Run, Sample, interleaved
from tests.throwaway import Databases

NOW = dt.datetime(2026, 3, 1, 12, tzinfo=dt.UTC)
MEGABYTES = ("MB", 1e-6)
_BEAT = 0.005
_FOLDED = "Bring a lamp\\, and tell whoever has the key that you are on your way.\r\n "
_GROUND = Ground(now=NOW, timezone="Europe/London", most_bytes=MAX_BYTES, series={}, events={})


@dataclass(frozen=True, slots=True)
class Sizes:
    """How many series a file has, how many bytes the one, how often each of the other returns, how many rounds."""

    series: int = MOST_SERIES
    file_bytes: int = MAX_BYTES
    returns: int = 500
    rounds: int = 7


async def large_calendars(databases: Databases, sizes: Sizes) -> list[Line]:
    """Measure the largest file that is read at all, and one whose series return very often."""
    files = {
        f"a calendar of {sizes.file_bytes / 1e6:g} MB": large_file(sizes.series, sizes.file_bytes),
        f"one of {sizes.series * sizes.returns:,} occurrences": frequent_file(sizes.series, sizes.returns),
    }
    lines: list[Line] = []
    for title, raw in files.items():
        lines += await _reading(title, raw, sizes.rounds)
        lines += await _holding(databases, title, raw, sizes.rounds)
    return lines


def large_file(series: int, file_bytes: int) -> bytes:
    """Return a calendar of that size: series, half of them changed once, as many events ahead, many that are over."""
    past = 7 * series
    entries = [
        _series(number, "RRULE:FREQ=WEEKLY\r\nEXDATE;TZID=Europe/Berlin:20260310T{hour}\r\n", "20260106")
        for number in range(series)
    ]
    entries += [_moved(number) for number in range(series // 2)]
    entries += [_single(number, "20260306") for number in range(series)]
    entries += [_single(number, "20250306") for number in range(series, series + past)]
    room = (file_bytes - len("".join(entries))) // len(entries)
    return _calendar([one.replace("END:", f"{_described(room)}END:") for one in entries])


def frequent_file(series: int, returns: int) -> bytes:
    """Return a calendar of daily series, each of which returns so often."""
    raw = _calendar([_series(number, f"RRULE:FREQ=DAILY;COUNT={returns}\r\n", "20260301") for number in range(series)])
    rules = [one.spec.rule for one in read_calendar(raw, _GROUND).series]
    found = sum(len(occurrences(rule, rule.starts_at, rule.starts_at + dt.timedelta(days=1_000))) for rule in rules)
    assert found == series * returns
    return raw


def _series(number: int, rule: str, date: str) -> str:
    return _entry(f"series-{number}", f"Night {number}", rule.format(hour=_hour(number)), date, number)


def _moved(number: int) -> str:
    named = f"RECURRENCE-ID;TZID=Europe/Berlin:20260317T{_hour(number)}\r\n"
    return _entry(f"series-{number}", f"Other night {number}", named, "20260318", number)


def _single(number: int, date: str) -> str:
    return _entry(f"event-{number}", f"Event {number}", "", date, number)


def _entry(uid: str, name: str, more: str, date: str, number: int) -> str:
    return (
        f"BEGIN:VEVENT\r\nUID:{uid}@bench\r\nSUMMARY:{name}\r\nDTSTART;TZID=Europe/Berlin:{date}T{_hour(number)}\r\n"
        f"DURATION:PT2H\r\n{more}END:VEVENT\r\n"
    )


def _hour(number: int) -> str:
    return f"{number % 24:02}{number % 60:02}00"


def _described(size: int) -> str:
    return f"DESCRIPTION:{_FOLDED * (max(size, 0) // len(_FOLDED))}\r\n"


def _calendar(entries: list[str]) -> bytes:
    return f"BEGIN:VCALENDAR\r\nVERSION:2.0\r\n{''.join(entries)}END:VCALENDAR\r\n".encode()


async def _reading(title: str, raw: bytes, rounds: int) -> list[Line]:
    def _ours() -> CalendarFile:
        found = read_calendar(raw, _GROUND)
        assert found.series
        assert not found.refused
        return found

    def _bare() -> Calendar:
        return Calendar.from_ical(raw)

    taken = await interleaved({"ours": _called(_ours), "bare": _called(_bare)}, rounds=rounds)
    peaks = {"ours": _peaks(_ours, rounds), "bare": _peaks(_bare, rounds)}
    return [
        _beside_bare(f"read {title}", taken["ours"], taken["bare"], SECONDS, None),
        # Twice what bare icalendar holds would be a copy of the file too many.
        _beside_bare("   peak memory of it", peaks["ours"], peaks["bare"], MEGABYTES, Goal(0.5, at_least=True)),
    ]


def _beside_bare(figure: str, ours: Sample, bare: Sample, unit: tuple[str, float], goal: Goal | None) -> Line:
    return Line(figure, ours, bare, "bare icalendar", bare.per(ours), goal, unit=unit)


def _called(work: Callable[[], object]) -> Run:
    async def _run() -> object:
        return work()

    return _run


def _peaks(work: Callable[[], object], rounds: int) -> Sample:
    """Return how many bytes were held at most, round by round, beyond what was held before."""
    peaks: list[float] = []
    for _ in range(max(rounds // 2, 2)):
        gc.collect()
        tracemalloc.start()
        try:
            _ = work()
            peaks.append(tracemalloc.get_traced_memory()[1])
        finally:
            tracemalloc.stop()
    return Sample(tuple(peaks))


async def _holding(databases: Databases, title: str, raw: bytes, rounds: int) -> list[Line]:
    holds: dict[str, list[float]] = {"idle": [], "import": [], "export": []}
    guilds = itertools.count(1)

    async def _round() -> None:
        guild_id = next(guilds)

        async def _import() -> None:
            told = await import_calendar(
                raw, guild_id=guild_id, announce_in=None, timezone="Europe/London", now=NOW, preview=False
            )
            assert told[-1].startswith("Imported ")

        async def _export() -> None:
            assert (await exported("ICS", None, guild_id=guild_id, title="Hall", now=NOW)).content

        holds["idle"].append(await _longest_hold(asyncio.sleep(1)))
        holds["import"].append(await _longest_hold(_import()))
        holds["export"].append(await _longest_hold(_export()))

    async with databases.fresh(Dialect.SQLITE) as url, on(url) as bound:
        for _ in range(max(rounds // 2, 2)):
            await bound(_round)()
    idle = Sample(tuple(holds["idle"]))
    return [
        Line(f"   longest hold of the loop, {verb}ed", found, idle, "idle loop", found.per(idle), goal, unit=SECONDS)
        for verb in ("import", "export")
        for found in (Sample(tuple(holds[verb])),)
        for goal in (Goal(1.0, at_least=False, unit=SECONDS),)
    ]


async def _longest_hold(work: Awaitable[object]) -> float:
    """Return for how many seconds at most nothing else had its turn while some work was done."""
    longest = 0.0

    async def _beat() -> None:
        nonlocal longest
        while True:
            begin = time.perf_counter()
            await asyncio.sleep(_BEAT)
            longest = max(longest, time.perf_counter() - begin - _BEAT)

    beat = asyncio.create_task(_beat())
    try:
        await work
        # The hold that ends with the work is seen in the turn after it.
        await asyncio.sleep(2 * _BEAT)
    finally:
        beat.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await beat
    return longest
