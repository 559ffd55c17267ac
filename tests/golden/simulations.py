"""Runs of the simulation for tests, and how what they show is compared with the tests' own oracle."""

import datetime as dt
import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

from bot.demo.counts import Counts
from bot.demo.sightings import Sighting
from bot.demo.simulate import Simulation, simulate
from bot.events.schedule_file import read_schedule
from tests.schedules import Message, expected_messages

START = dt.datetime(2026, 3, 1, tzinfo=dt.UTC)
_A_SECOND = dt.timedelta(seconds=1)
_DMS_A_SECOND = 5

Schedule = dict[str, Any]


async def run(
    schedule: Schedule, url: str, *, days: int, members: int = 5, crashes: int = 0, seed: int = 1
) -> tuple[Counts, list[Sighting]]:
    seen: list[Sighting] = []
    series = read_schedule(json.dumps(schedule).encode())
    plan = Simulation(series, START, days, url, members=members, seed=seed, crashes=crashes)
    return await simulate(plan, tell=seen.append), seen


def as_messages(seen: Sequence[Sighting], due: dict[tuple[str, str, str, str | None], str]) -> Counter[Message]:
    """Return what was seen as the oracle writes it, with the oracle's own due moments; how often each."""
    found: Counter[Message] = Counter()
    for one in seen:
        assert one.series is not None
        assert one.occurrence is not None
        key = (one.kind, one.series, one.occurrence.isoformat(), one.recipient)
        found[Message(*key, due.get(key, "not expected"))] += 1
    return found


def assert_each_once(schedule: Schedule, seen: Sequence[Sighting], *, days: int, members: int = 5) -> None:
    """What became visible is what the oracle expects, both ways, each once and none after its event began."""
    expected = expected_messages(schedule, START, days, members=members)
    found = as_messages(seen, _due_moments(expected))
    assert set(found) - expected == set()
    assert expected - set(found) == set()
    assert {message: times for message, times in found.items() if times > 1} == {}
    assert [one for one in seen if one.occurrence is None or one.at >= one.occurrence] == []


def assert_on_time(schedule: Schedule, seen: Sequence[Sighting], *, days: int, members: int = 5) -> None:
    """A post comes within a second of its due moment, a DM as soon as the rate and its channel allow."""
    due = _due_moments(expected_messages(schedule, START, days, members=members))
    dms: list[tuple[dt.datetime, Sighting]] = []
    for one in seen:
        moment = dt.datetime.fromisoformat(due[one.kind, one.series or "", _iso(one.occurrence), one.recipient])
        assert moment <= one.at, one
        if one.recipient is None:
            assert one.at - moment <= _A_SECOND, one
        else:
            dms.append((moment, one))
    _assert_dms_on_time(dms)


def _assert_dms_on_time(dms: Sequence[tuple[dt.datetime, Sighting]]) -> None:
    """
    Within (those waiting ahead + 1) / 5 seconds and one more, and one for each channel opened until it went.

    ``dms`` are in the order in which they became visible. The channel of a person is opened for the first of theirs.
    """
    opened: dict[str | None, dt.datetime] = {}
    for place, (due, dm) in enumerate(dms):
        opened.setdefault(dm.recipient, dm.at)
        # Nobody waits for hours: those that went before it and after its due moment are just before it in the list.
        before = [(other_due, other) for other_due, other in dms[max(0, place - 2_000) : place] if other.at >= due]
        ahead = sum(1 for other_due, _ in before if other_due <= due)
        openings = sum(1 for moment in opened.values() if moment > due)
        allowed = (ahead + 1) / _DMS_A_SECOND + 1 + openings
        assert (dm.at - due).total_seconds() <= allowed, (dm, ahead, openings)


def _due_moments(expected: set[Message]) -> dict[tuple[str, str, str, str | None], str]:
    return {(one.kind, one.series, one.occurrence, one.recipient): one.due for one in expected}


def _iso(moment: dt.datetime | None) -> str:
    return moment.isoformat() if moment is not None else ""


def faultless(counts: Counts) -> bool:
    """Whether nothing was lost, doubled, sent for nothing or left open."""
    return (counts.lost, counts.duplicated, counts.unexpected, counts.unknown) == (0, 0, 0, 0)
