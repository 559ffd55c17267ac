"""What the proofs say of the requests that are held against Discord's description, and who reads the bad ones."""

import pytest

from tests.chaos import official_checks
from tests.chaos.official_checks import REQUESTS, checked_finding
from tests.chaos.proof import Figures, Share
from tests.chaos.shares import _done
from tests.official.checks import CHECKS, apart
from tests.throwaway import Databases


def _sends_what_nobody_can_read(_: Share) -> Figures:
    CHECKS.note("POST", "/channels/1/messages", {}, {"content": "a\ud800"})
    return Figures(ok=1)


def test_a_bad_request_is_a_fault_of_the_seeds_that_sent_it(databases: Databases) -> None:
    with apart():
        figures = _done(_sends_what_nobody_can_read, Share([3, 4], None, databases))

    assert figures.ok == 1
    assert [one for one in figures.faults if one.startswith("seeds 3 to 4: POST /channels/1/messages is not as")]


def test_without_the_description_the_finding_says_that_nothing_was_held_against_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(official_checks, "description", lambda: None)

    assert checked_finding(Figures()).words == "NOT held against Discord's description, which is not here"


def test_where_the_description_is_nothing_checked_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(official_checks, "description", object)

    assert not checked_finding(Figures()).is_met
    assert checked_finding(Figures(samples={REQUESTS: [1.0]})).is_met
