"""Tables with an invariant have one writer: also where the writing is SQL, which no rule of imports sees."""

import re
from pathlib import Path

import pytest

from bot.events.generate import CASCADED_FIELDS
from bot.events.series_spec import SeriesSpec

ROOT = Path(__file__).resolve().parents[2]
WRITERS = {
    "discord_message_log": {
        "bot/leases/event_rows.py",
        "bot/leases/failed_rows.py",
        "bot/leases/ledger.py",
        "bot/leases/retention.py",
    },
    "reminder_due": {"bot/scheduling/due_rows.py"},
    "audit_log": set[str](),
    "ops_note": {"bot/ops_notes.py"},
    "instance": {"bot/leases/instances.py"},
    "leader_lease": {"bot/leases/leader.py"},
    "event_signup": set[str](),
    "repeater_subscription": set[str](),
    "player_profile": set[str](),
    "dm_channel": {"bot/dm_queue/channel_book.py"},
    "process_state": set[str](),
}
STATE_MOVERS = {"bot/events/lifecycle.py"}
_STATE_MOVE = re.compile(r"\.update\([^)]*\bstate=", re.DOTALL)


def sources() -> dict[str, str]:
    files = [*(ROOT / "bot").rglob("*.py"), *(ROOT / "cogs").rglob("*.py")]
    return {str(path.relative_to(ROOT)): path.read_text("utf-8") for path in files}


def writers_of(table: str, found: dict[str, str]) -> set[str]:
    statement = re.compile(rf"\b(INSERT INTO|UPDATE|DELETE FROM)\s+{table}\b")
    return {name for name, text in found.items() if statement.search(text)}


@pytest.mark.parametrize("table", WRITERS)
def test_no_sql_writes_a_table_but_its_writers(table: str) -> None:
    assert writers_of(table, sources()) <= WRITERS[table]


def test_a_planted_writer_is_found() -> None:
    planted = {"cogs/planted.py": 'await fetch("DELETE  FROM reminder_due WHERE key = $1", [key])'.replace("  ", " ")}

    assert writers_of("reminder_due", planted) == {"cogs/planted.py"}


def test_only_the_lifecycle_moves_states() -> None:
    assert {name for name, text in sources().items() if _STATE_MOVE.search(text)} == STATE_MOVERS


def test_a_field_of_the_mixin_can_be_given_to_a_series() -> None:
    assert set(CASCADED_FIELDS) <= set(SeriesSpec.model_fields)
