"""The frame of the proofs: what is cut into shares, what the table keeps, and which promises have their place."""

import logging
import re

import pytest
import structlog.testing

from bot.transactions import Dialect
from tests.chaos import table
from tests.chaos.__main__ import proofs
from tests.chaos.proof import Figures, Finding, Proof, Share, at_most, none_of, percentile
from tests.chaos.shares import _done, quiet, shares
from tests.chaos.table import BEGIN, END, keys_of, renewed, row_of
from tests.throwaway import Databases


def _nothing(_: Share) -> Figures:
    return Figures()


def proof(row: str = "R1", promise: str = "it holds") -> Proof:
    return Proof(row, promise, _nothing, lambda _: [], seeds=5)


def line(row: str, *, ok: int, verdict: bool = True, database: str = "sqlite", seeds: int = 5) -> table.Row:
    figures = Figures(runs=1, ok=ok)
    return row_of(proof(row), database, figures, [Finding("0 lost", verdict)], seeds=range(seeds), on="2026-03-01")


KNOWN = keys_of([proof("R2"), proof("R10")])


@pytest.mark.parametrize(("seeds", "cores"), [(200, 2), (5, 2), (1, 8), (0, 2), (17, 3)])
def test_every_seed_is_in_one_share(databases: Databases, seeds: int, cores: int) -> None:
    parts = list(shares(range(7, 7 + seeds), Dialect.SQLITE, databases, at_once=cores))

    assert [seed for part in parts for seed in part.seeds] == list(range(7, 7 + seeds))
    assert len(parts) <= 4 * cores


def test_a_row_is_renewed_and_the_others_stay() -> None:
    page = f"# Promises\n\n{BEGIN}\n{END}\nafter\n"
    first = renewed(page, [line("R10", ok=1), line("R2", ok=2), line("R2", ok=3, database="postgres")], known=KNOWN)
    second = renewed(first, [line("R2", ok=4_000)], known=KNOWN)

    assert second.startswith("# Promises\n")
    assert second.endswith("\nafter\n")
    rows = [[cell.strip() for cell in one.split("|")[1:-1]] for one in second.splitlines() if one.startswith("| R")]
    assert [(cells[0], cells[2], cells[6]) for cells in rows] == [
        ("R2", "postgres", "3"),
        ("R2", "sqlite", "4,000"),
        ("R10", "sqlite", "1"),
    ]
    assert renewed(second, [], known=KNOWN) == second
    assert "| R10 |" not in renewed(second, [], known=keys_of([proof("R2")]))


def test_a_part_takes_no_whole_ones_place_unless_it_is_broken() -> None:
    whole = renewed(f"{BEGIN}\n{END}", [line("R2", ok=5)], known=KNOWN)
    part = renewed(f"{BEGIN}\n{END}", [line("R2", ok=1, seeds=2)], known=KNOWN)

    assert "| holds in part | 0-1 of 5 |" in part
    assert renewed(whole, [line("R2", ok=1, seeds=2)], known=KNOWN) == whole
    assert "BROKEN" in renewed(whole, [line("R2", ok=1, seeds=2, verdict=False)], known=KNOWN)
    assert renewed(part, [line("R2", ok=5)], known=KNOWN) == whole


def test_a_finding_that_is_not_met_or_a_unit_that_broke_is_broken() -> None:
    broken = row_of(
        proof(), "sqlite", Figures(faults=["seed 3: lost"]), [Finding("0 lost", is_met=True)], seeds=range(1), on=""
    )

    assert "BROKEN" in line("R1", ok=1, verdict=False)
    assert "BROKEN" in broken
    assert "holds" in line("R1", ok=1)


def test_a_page_without_a_place_for_the_table_is_refused() -> None:
    with pytest.raises(ValueError, match="the page has no"):
        renewed("# Promises", [], known=())


def test_shares_add_up() -> None:
    whole, part = Figures(runs=1, ok=2), Figures(runs=2, ok=3, lost=1, faults=["seed 4: lost"])
    whole.sample("recovery", 1.0)
    part.sample("recovery", 5.0, 2.0)

    whole.add(part)

    assert (whole.runs, whole.ok, whole.lost, whole.faults) == (3, 5, 1, ["seed 4: lost"])
    assert whole.samples == {"recovery": [1.0, 5.0, 2.0]}
    assert none_of(whole, "lost", "duplicated") == [
        Finding("1 lost", is_met=False),
        Finding("0 duplicated", is_met=True),
    ]


def test_what_a_share_raises_is_a_fault_of_its_seeds(databases: Databases) -> None:
    def _raises(_: Share) -> Figures:
        raise ValueError("no such row")

    told = _done(_raises, Share(range(3, 6), Dialect.SQLITE, databases))

    assert told.faults == ["seeds 3 to 5: ValueError: no such row"]


def test_a_proof_hears_what_is_logged_while_the_log_is_kept_still() -> None:
    config, disabled = structlog.get_config(), logging.root.manager.disable
    try:
        quiet()
        with structlog.testing.capture_logs() as heard:
            structlog.get_logger("bot").warning("loop_late")
    finally:
        structlog.configure(**config)
        logging.disable(disabled)

    assert [one["event"] for one in heard] == ["loop_late"]


def test_a_percentile_is_one_of_the_values() -> None:
    assert percentile([3.0, 1.0, 2.0], 0.5) == 2.0
    assert percentile(range(100), 0.99) == 99
    assert percentile([], 0.99) == 0.0
    assert at_most("p99", 90.5, 90).is_met is False


def test_no_two_proofs_are_one_line_of_the_table() -> None:
    assert len(keys_of(proofs())) == sum(len(one.dialects) for one in proofs())


def test_the_page_has_all_eighteen_promises_and_a_place_for_the_table() -> None:
    page = table.PROMISES.read_text()

    for number in range(1, 19):
        assert f"### R{number} " in page
    for named in re.findall(r"Held by `(.+?)`", page):
        assert (table.PROMISES.parents[1] / named).is_file()
    assert page.count("Held by") == 18
    assert BEGIN in page.partition(END)[0]
