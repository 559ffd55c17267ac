"""R7 in small, and that it fails where what it rests on is taken out."""

import secrets

import pytest

from bot.delivery.channel_poster import ChannelPoster
from bot.leases import handover
from bot.transactions import Dialect
from tests.chaos.proof import Figures, Share, unmet
from tests.chaos.requests import ambiguous_sends
from tests.throwaway import Databases

pytestmark = pytest.mark.timeout(600)

BACKENDS = [Dialect.SQLITE, pytest.param(Dialect.POSTGRES, marks=pytest.mark.postgres)]


def figures_of(databases: Databases, seeds: range, dialect: Dialect = Dialect.SQLITE) -> Figures:
    return ambiguous_sends.run(Share(seeds, dialect, databases))


@pytest.mark.parametrize("dialect", BACKENDS)
def test_what_discord_took_and_answered_by_a_failure_is_visible_once(databases: Databases, dialect: Dialect) -> None:
    figures = figures_of(databases, range(1), dialect)

    assert unmet(figures, ambiguous_sends.judge(figures)) == []
    assert figures.faults == []
    assert figures.recovered > 0


@pytest.mark.parametrize(("invalid", "recovered", "is_met"), [(500, 1, True), (501, 1, False), (0, 0, False)], ids=str)
def test_too_many_invalid_requests_or_a_sweep_that_had_nothing_to_do_are_found(
    invalid: int, recovered: int, is_met: bool
) -> None:
    samples = {"failed after acceptance": [0.3], "invalid": [float(invalid)], "to rest": [1.0]}
    figures = Figures(recovered=recovered, samples=samples)

    assert all(one.is_met for one in ambiguous_sends.judge(figures)) is is_met


def test_a_nonce_that_is_new_each_time_is_found(databases: Databases, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(handover, "nonce", lambda key, *, target_id: secrets.token_hex(8))

    assert figures_of(databases, range(2)).duplicated > 0


def test_a_resend_that_reads_no_history_is_found(databases: Databases, monkeypatch: pytest.MonkeyPatch) -> None:
    async def _nothing(*_: object, **__: object) -> None:
        return None

    monkeypatch.setattr(ChannelPoster, "find", _nothing)

    assert figures_of(databases, range(1)).duplicated > 0
