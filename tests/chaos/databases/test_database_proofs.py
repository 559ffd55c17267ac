"""R5 and R6 in small, and that they fail where what they rest on is taken out."""

import asyncio
import contextlib
import datetime as dt
from collections.abc import Iterator
from typing import Any

import pytest

from bot.dm_queue import fan_out, worker
from bot.leases import ledger, send_once
from bot.leases.keys import MessageKey
from bot.leases.lease_taker import LeaseTaker
from bot.leases.ledger import Claim, Lease
from bot.leases.staleness import Holder
from bot.leases.sweep import Sweeper
from bot.leases.under_way import UnderWay
from bot.scheduling import agenda
from bot.sqlite_client import ImmediateTransactionWrapper
from bot.transactions import DATABASE_ERRORS, Dialect
from tests.chaos.databases import database_stops, swallowed_answers
from tests.chaos.databases.claim_watch import ClaimWatch
from tests.chaos.databases.database_rest import Rest
from tests.chaos.databases.database_story import good_run_faults, must_be_visible
from tests.chaos.databases.database_world import BEGIN, World
from tests.chaos.databases.first_send import OWN_TIME, REAL_TIME
from tests.chaos.proof import Figures, Finding, Share
from tests.throwaway import Databases
from tests.wire.postgres_cluster import Cluster, own_cluster

pytestmark = pytest.mark.timeout(300)
AT_A_CLAIM = 4
"""The seed of an early stop, right at a claim, after which much waits."""
BACKENDS = [Dialect.SQLITE, pytest.param(Dialect.POSTGRES, marks=pytest.mark.postgres)]


def broken(findings: list[Finding]) -> list[str]:
    return [one.words for one in findings if not one.is_met]


def swallow(databases: Databases, dialect: Dialect = Dialect.SQLITE, *, seeds: int = 1) -> Figures:
    return swallowed_answers.run(Share(range(seeds), dialect, databases))


def refuse(databases: Databases, *seeds: int) -> Figures:
    return database_stops.run(Share(seeds, Dialect.SQLITE, databases))


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with own_cluster() as cluster:
        yield cluster


# ------------------------------------------------------------------------------------------ R6: answers that are lost


@pytest.mark.parametrize("dialect", BACKENDS)
def test_no_answer_that_is_lost_doubles_or_loses_a_message(databases: Databases, dialect: Dialect) -> None:
    # Real servers race here: of 24 runs each adopted one to four, but a single one under load may adopt none.
    figures = swallow(databases, dialect, seeds=4)

    assert broken(swallowed_answers.judge(figures)) == [], figures.faults
    assert min(figures.samples["taken"]) > 60  # that the kinds of statement were found at all
    assert figures.samples["adopted"]


def test_the_good_run_is_itself_held_against_what_is_written_down() -> None:
    """Otherwise what never works would be missing from both sides."""
    whole = Rest(dict.fromkeys(must_be_visible(loaded=False), BEGIN), (), {}, ())
    lacking = Rest(dict(list(whole.visible.items())[1:]), ("one",), {}, ("another",))

    assert good_run_faults(whole, loaded=False) == []
    assert len(good_run_faults(lacking, loaded=False)) == 3
    assert len(good_run_faults(whole, loaded=True)) == 80


def test_a_run_in_which_nothing_is_adopted_or_something_never_is_does_not_hold() -> None:
    nothing = Figures(samples={"taken": [70.0], "adopted": []})
    never = Figures(samples={"taken": [70.0], "adopted": [30.0], "never adopted": [0.0, 1.0]})

    assert broken(swallowed_answers.judge(nothing)) == ["0 of its own leases adopted, 0 never"]
    assert broken(swallowed_answers.judge(never)) == ["1 of its own leases adopted, 1 never"]


async def test_an_adoption_that_does_not_work_is_none() -> None:
    world = World()
    watch = ClaimWatch(world)
    lease = Lease(1, MessageKey("event_announcement", 1), "", 1, BEGIN)

    async def _lost() -> Lease | None:
        raise OSError

    async def _not_taken() -> Lease | None:
        return None

    async def _taken() -> Lease | None:
        return lease

    claim = Claim(lease.key, guild_id=1, channel_id=2, embed_data=None, history_after=0)
    with contextlib.suppress(OSError):
        await watch._claimed(claim, _lost())
    await watch._taken_over(lease, _not_taken())
    assert (watch.adopted, watch.never) == ([], 1)

    await watch._taken_over(lease, _taken())
    assert (watch.adopted, watch.never) == ([0.0], 0)


def test_a_process_that_does_not_adopt_its_own_claims_is_found(
    databases: Databases, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def _never(_self: LeaseTaker, _claim: Claim) -> None:
        return None

    monkeypatch.setattr(LeaseTaker, "_adopt", _never)
    monkeypatch.setattr(Sweeper, "_holder", lambda *_: Holder.MINE_RUNNING)

    figures = swallow(databases)

    assert figures.lost + figures.unknown > 0, broken(swallowed_answers.judge(figures))


def test_a_request_that_may_have_left_and_is_repeated_blindly_is_found(
    databases: Databases, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(UnderWay, "may_have_left", lambda *_: False)

    assert swallow(databases).duplicated > 0


def test_what_stays_in_memory_after_a_lost_answer_is_found(
    databases: Databases, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(UnderWay, "asked_rows", lambda _: frozenset())

    assert any("asked rows" in one for one in swallow(databases, seeds=2).faults)


def test_a_transaction_that_a_failed_begin_leaves_open_is_found(
    databases: Databases, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def _leave(_self: ImmediateTransactionWrapper) -> None:
        return None

    monkeypatch.setattr(ImmediateTransactionWrapper, "_undo", _leave)

    assert swallow(databases).lost > 0


# ---------------------------------------------------------------------------------- R5: the database stops or refuses


def test_a_file_that_refuses_for_a_while_costs_no_message(databases: Databases) -> None:
    figures = refuse(databases, 0, 5)

    assert broken(database_stops.judge(figures, by_own_clock=True)) == [], figures.faults


def test_a_full_run_adds_what_the_machine_needed_to_the_time_of_the_first_send() -> None:
    figures = Figures(samples={OWN_TIME: [6.0, 9.0], REAL_TIME: [1.0, 2.0]})

    assert broken(database_stops.judge(figures)) == ["first send once the database is back: longest 11 s (at most 10)"]
    assert broken(database_stops.judge(figures, by_own_clock=True)) == []


def test_no_stop_is_planned_among_the_last_claims() -> None:
    """Where a run in another order may never come to."""
    world = World(side_by_side=True)
    watch, anywhere = ClaimWatch(world), (200, 200)
    stops = [database_stops.Stop(None, world, watch, seed, "", anywhere)._at for seed in range(50)]  # type: ignore[arg-type]

    assert 1 <= min(stops) < max(stops) <= 180


@pytest.mark.postgres
def test_a_server_that_stops_at_once_costs_no_claim(databases: Databases, cluster: Cluster) -> None:
    figures = asyncio.run(database_stops.tried(Share((AT_A_CLAIM,), Dialect.POSTGRES, databases), cluster))

    assert broken(database_stops.judge(figures, by_own_clock=True)) == [], figures.faults


@pytest.mark.postgres
def test_claims_that_are_acknowledged_before_they_are_durable_are_found(databases: Databases, cluster: Cluster) -> None:
    lost = 0.0
    cluster.session = "&synchronous_commit=off"
    try:
        # One stop loses them, unless the server's own writer comes by in between, as it does every ten seconds.
        for seed in (AT_A_CLAIM, 7, 1):
            figures = asyncio.run(database_stops.tried(Share((seed,), Dialect.POSTGRES, databases), cluster))
            lost = sum(figures.samples["lost claims"])
            if lost:
                break
    finally:
        cluster.session = ""

    assert lost > 0


def test_a_claim_that_is_taken_for_granted_although_it_failed_is_found(
    databases: Databases, monkeypatch: pytest.MonkeyPatch
) -> None:
    really = ledger.claim_lease

    async def _claim(claim: Claim, **options: Any) -> Lease | None:  # noqa: ANN401
        try:
            return await really(claim, **options)
        except DATABASE_ERRORS:
            return Lease(0, claim.key, "", 1, await options["lease_clock"].now())

    monkeypatch.setattr(ledger, "claim_lease", _claim)

    assert refuse(databases, 5).duplicated > 0


def test_a_bot_that_asks_the_database_again_only_after_a_minute_is_found(
    databases: Databases, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module, name in (
        (agenda, "DATABASE_AGAIN"),
        (send_once, "DATABASE_AGAIN"),
        (fan_out, "DATABASE_AGAIN"),
        (worker, "DATABASE_AGAIN"),
    ):
        monkeypatch.setattr(module, name, dt.timedelta(minutes=1))

    found = broken(database_stops.judge(refuse(databases, 13), by_own_clock=True))

    assert any("first send" in one for one in found), found
