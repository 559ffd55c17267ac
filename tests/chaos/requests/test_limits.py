"""R8 and R9 in small, and that they fail where what they rest on is taken out."""

import dataclasses
import datetime as dt

import pytest

from bot.delivery.request_bucket import RequestBucket
from bot.delivery.request_budget import InvalidRequests
from bot.delivery.request_gate import RequestGate
from bot.delivery.request_pauses import Pauses
from bot.dm_queue.pace import Pace
from bot.leases.blocks import Blocks
from bot.leases.failures import ErrorClass
from bot.transactions import Dialect
from tests.chaos.proof import Figures, Share, unmet
from tests.chaos.requests import limits, rush
from tests.chaos.requests.storms import HARD_STOP, STORMS, Storm, sent_while_stopped
from tests.throwaway import Databases
from tests.wire.faults import Seen

pytestmark = pytest.mark.timeout(600)

BACKENDS = [Dialect.SQLITE, pytest.param(Dialect.POSTGRES, marks=pytest.mark.postgres)]


def storms(*names: str) -> list[Storm]:
    return [storm for storm in (*STORMS, HARD_STOP) if storm.name in names]


def storm_figures(databases: Databases, dialect: Dialect, *names: str, seed: int = 1) -> Figures:
    return limits.run_storms(Share([seed], dialect, databases), storms(*names))


def broken_storm(databases: Databases, name: str, *, seed: int = 1) -> str:
    """Return what a storm finds in a broken copy."""
    figures = storm_figures(databases, Dialect.SQLITE, name, seed=seed)
    assert unmet(figures, limits.judge_storms(figures))
    return " ".join(figures.faults)


def broken_rush(databases: Databases) -> str:
    """Return what a rush finds in a broken copy."""
    figures = rush.run(Share([1], Dialect.SQLITE, databases))
    assert unmet(figures, rush.judge(figures))
    return " ".join(figures.faults)


@pytest.mark.parametrize("dialect", BACKENDS)
def test_no_storm_costs_more_than_five_hundred_invalid_requests(databases: Databases, dialect: Dialect) -> None:
    figures = storm_figures(databases, dialect, "global 429", "a block before Discord", "a refused token")

    assert not unmet(figures, limits.judge_storms(figures)), figures.faults


@pytest.mark.parametrize("name", ["closed DMs", "flagged for opening channels", HARD_STOP.name])
def test_the_other_storms_are_kept_within_their_bounds(databases: Databases, name: str) -> None:
    figures = storm_figures(databases, Dialect.SQLITE, name)

    assert not unmet(figures, limits.judge_storms(figures)), figures.faults


def test_a_bot_that_does_not_count_its_refusals_is_found(databases: Databases, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(InvalidRequests, "rest", lambda self, limit, now: 0.0)

    assert "invalid requests in ten minutes" in broken_storm(databases, "closed DMs")


def test_a_bot_that_goes_on_with_a_refused_token_is_found(
    databases: Databases, monkeypatch: pytest.MonkeyPatch
) -> None:
    really = Blocks.heed

    def _heed(self: Blocks, error_class: ErrorClass | None, *, guild_id: int | None = None) -> None:
        really(self, None if error_class is ErrorClass.UNAUTHORIZED else error_class, guild_id=guild_id)

    monkeypatch.setattr(RequestGate, "_refuse", lambda self: None)
    monkeypatch.setattr(Blocks, "heed", _heed)

    assert "requests after the token was refused" in broken_storm(databases, "a refused token")


def test_a_bot_that_asks_again_and_again_where_it_was_refused_is_found(
    databases: Databases, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(InvalidRequests, "is_suspect", lambda self, route, now: False)

    assert "invalid requests in ten minutes" in broken_storm(databases, "429 of every route", seed=2)


def test_a_storm_that_meets_nothing_is_found(databases: Databases) -> None:
    (storm,) = storms("flagged for opening channels")
    calm = dataclasses.replace(storm, rules=lambda _: [], minutes=1)

    figures = limits.run_storms(Share([0], Dialect.SQLITE, databases), [calm])

    assert unmet(figures, limits.judge_storms(figures))
    assert "only 0 refusals, at least 1" in " ".join(figures.faults)


def refusal(at: float, *, method: str = "POST", path: str = "/channels/20001/messages", seconds: float = 5) -> Seen:
    headers = {"Retry-After": f"{seconds:g}"}
    return Seen(at, method, path, status=429, answered_at=at, headers=headers)


def test_what_leaves_after_the_thousandth_refusal_is_counted_and_what_was_on_its_way_is_not() -> None:
    seen = [refusal(turn / 10) for turn in range(1_000)]
    on_its_way = Seen(99.9, "GET", "/gateway", status=200, answered_at=101)

    assert sent_while_stopped(seen[1:]) is None
    assert sent_while_stopped([*seen, on_its_way, refusal(600)]) == 0
    assert sent_while_stopped([*seen, on_its_way, refusal(99.95)]) == 1


@pytest.mark.parametrize(
    ("method", "path", "count"),
    [
        ("POST", "/channels/20001/messages", 1),
        ("GET", "/channels/20001/messages", 0),
        ("POST", "/channels/20002/messages", 0),
        ("POST", "/channels/20001/messages/7/crosspost", 0),
    ],
)
def test_only_what_shares_its_limit_came_too_early(method: str, path: str, count: int) -> None:
    assert rush.before_retry_after([refusal(0), Seen(1, method, path)]) == count


def test_messages_of_one_channel_share_the_limit_of_their_edits() -> None:
    edits = [f"/channels/20001/messages/{number}" for number in (7, 8)]

    assert rush.before_retry_after([refusal(0, method="PATCH", path=edits[0]), Seen(1, "PATCH", edits[1])]) == 1


@pytest.mark.parametrize("dialect", BACKENDS)
def test_in_a_rush_every_limit_is_kept(databases: Databases, dialect: Dialect) -> None:
    figures = rush.run(Share([0], dialect, databases))

    assert not unmet(figures, rush.judge(figures)), figures.faults


def test_a_bot_without_the_request_bucket_is_found(databases: Databases, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RequestBucket, "take", lambda self, now: 0.0)

    assert "requests in a second" in broken_rush(databases)


def test_a_bot_that_ignores_retry_after_is_found(databases: Databases, monkeypatch: pytest.MonkeyPatch) -> None:
    # What the library does for the one request that was refused stays.
    monkeypatch.setattr(Pauses, "refused", lambda self, route, told, now: now)

    assert "before Retry-After" in broken_rush(databases)


def test_a_bot_without_the_pace_of_dms_is_found(databases: Databases, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Pace, "take", lambda self, now: dt.timedelta(0))

    assert "DM starts in a second" in broken_rush(databases)
