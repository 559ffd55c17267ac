"""The table of reported faults names tests that exist."""

import re
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]


def test_every_test_that_the_table_names_exists() -> None:
    named = set(re.findall(r"`(test_\w+)`", (TESTS / "README.md").read_text()))

    written = {name for path in TESTS.rglob("test_*.py") for name in re.findall(r"def (test_\w+)", path.read_text())}

    assert named
    assert sorted(named - written) == []
