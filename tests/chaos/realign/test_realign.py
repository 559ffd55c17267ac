"""A few of R11's sequences on both databases, and the copies of the bot that they find broken."""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from unittest.mock import patch

import pytest

from bot.changes import realign as realigning
from bot.changes import series_edit, series_sync, withdrawal
from bot.changes.series_sync import sync_future_events
from bot.database import opened
from bot.events import generate
from bot.transactions import Dialect
from models.event import Event
from models.event_repeater import EventRepeater
from tests.builders import FakeDiscord
from tests.chaos.proof import Share, unmet
from tests.chaos.realign import realign
from tests.chaos.realign.realign import judge, run, through
from tests.chaos.realign.realign_acts import Act, Kind
from tests.throwaway import Databases

Break = Callable[[], object]


@pytest.fixture(params=list(Dialect), ids=str)
def share(request: pytest.FixtureRequest, databases: Databases, monkeypatch: pytest.MonkeyPatch) -> Share:
    """Ten sequences of one seed."""
    monkeypatch.setitem(realign.drawn.__kwdefaults__ or {}, "number", 10)
    return Share([11], request.param, databases)


def test_each_occurrence_that_is_left_has_its_one_message(share: Share) -> None:
    figures = run(share)

    assert unmet(figures, judge(figures)) == []
    assert figures.ok >= 30


async def _nothing_known(_events: object) -> dict[int, frozenset[str]]:
    return {}


async def _not_revived(*_of: object, **_how: object) -> bool:
    return False


async def _not_found(*_of: object, **_how: object) -> None:
    return None


async def _no_exceptions(_series_id: int) -> frozenset[object]:
    return frozenset()


def _none_renamed(*_of: object) -> tuple[object, ...]:
    return ()


def _no_dates(*_of: object, **_how: object) -> set[object]:
    return set()


async def _no_dates_stored(**_where: object) -> list[object]:
    return []


def _all_of_them(_staying: object, _ahead: object, arriving: list[object], _renaming: object) -> list[object]:
    return arriving


def _no_moment(*_of: object) -> bool:
    return False


async def _faults(databases: Databases, acts: list[Act]) -> list[str]:
    async with databases.fresh(Dialect.SQLITE) as url, opened(url):
        return (await through(acts)).oracle.faults


async def _never_realigned(series: EventRepeater, **how: object) -> list[Event]:
    return await sync_future_events(series, **{**how, "realign_schedule": False})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("owner", "name", "instead", "acts", "words"),
    [
        pytest.param(
            withdrawal, "known_of", _nothing_known, [Act(Kind.EDIT, 0)], "is gone, and its post says",
            id="told ones are deleted",
        ),
        pytest.param(
            series_sync, "revive", _not_revived, [Act(Kind.EDIT_AND_UNDO, 0)], "an edit and its undoing made",
            id="nothing revives",
        ),
        pytest.param(
            series_edit, "sync_future_events", _never_realigned, [Act(Kind.EDIT, 0)], "where its series has none",
            id="the schedule is not realigned",
        ),
        pytest.param(
            FakeDiscord, "find", _not_found, [Act(Kind.CRASH_AFTER, 4)], "is visible 2 times", id="no history"
        ),
        pytest.param(
            series_sync, "excepted_dates", _no_exceptions, [Act(Kind.SKIP, 5), Act(Kind.EDIT_AND_UNDO, 0)],
            "where its series has none", id="no exceptions",
        ),
    ],
)  # fmt: skip
def test_a_copy_that_lacks_a_mechanism_is_found(
    databases: Databases, *, owner: object, name: str, instead: Break, acts: list[Act], words: str
) -> None:
    whole = asyncio.run(_faults(databases, acts))
    with patch.object(owner, name, instead):
        broken = asyncio.run(_faults(databases, acts))

    assert whole == []
    assert any(words in fault for fault in broken), broken[:3]


@pytest.mark.parametrize(
    ("lacks", "acts", "words"),
    [
        pytest.param(
            {(realigning, "_renamed"): _none_renamed, (realigning, "_beside"): _all_of_them,
             (generate, "_holds_its_moment"): _no_moment},
            [Act(Kind.OPEN, 4), Act(Kind.EDIT, 12)], "of one series all begin", id="another name of a moment",
        ),
        pytest.param(
            {(realigning, "_cancelled_dates"): _no_dates, (generate, "_cancelled_dates"): _no_dates_stored},
            [Act(Kind.CANCEL, 4), Act(Kind.EDIT, 8)], "came back by an edit", id="what was cancelled returns",
        ),
    ],
)  # fmt: skip
def test_a_copy_that_lacks_a_rule_of_planning_and_making_is_found(
    databases: Databases, *, lacks: Mapping[tuple[object, str], Break], acts: list[Act], words: str
) -> None:
    whole = asyncio.run(_faults(databases, acts))
    with ExitStack() as stack:
        for (owner, name), instead in lacks.items():
            stack.enter_context(patch.object(owner, name, instead))
        broken = asyncio.run(_faults(databases, acts))

    assert whole == []
    assert any(words in fault for fault in broken), broken[:3]
