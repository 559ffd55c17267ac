"""A gate before the database: nothing gets through, or one statement breaks before it ran or after."""

import pytest

from bot.demo.database_gate import DatabaseGate
from bot.transactions import atomic, fetch
from models.process_state import ProcessState
from tests.conftest import START


@pytest.fixture
def gate(database: str) -> DatabaseGate:
    gate = DatabaseGate()
    gate.put_up()
    return gate


async def store(key: str) -> None:
    await ProcessState(key=key, value="1", updated_at=START).save(force_create=True)


async def keys() -> list[str]:
    return [row.key for row in await ProcessState.all().order_by("key")]


async def test_while_it_is_down_nothing_gets_through_but_for_who_looks_on(gate: DatabaseGate) -> None:
    gate.is_down = True

    with pytest.raises(ConnectionResetError):
        await fetch("SELECT 1 AS one")
    with pytest.raises(ConnectionResetError):
        await atomic(lambda: store("in vain"))
    with gate.open():
        await store("seen")

    gate.is_down = False
    assert await keys() == ["seen"]


async def test_the_numbered_statement_breaks_alone_before_it_ran(gate: DatabaseGate) -> None:
    gate.break_statement(2, runs_first=False)

    await store("first")
    with pytest.raises(ConnectionResetError):
        await store("second")
    await store("third")

    assert await keys() == ["first", "third"]


async def test_a_statement_whose_answer_is_lost_was_run(gate: DatabaseGate) -> None:
    gate.break_statement(1, runs_first=True)

    with pytest.raises(ConnectionResetError):
        await store("there")

    assert await keys() == ["there"]


@pytest.mark.parametrize("runs_first", [False, True])
async def test_a_broken_commit_leaves_all_or_nothing_and_a_database_that_works(
    gate: DatabaseGate, runs_first: bool
) -> None:
    async def _both() -> None:
        await store("one")
        await store("two")

    # BEGIN, two statements, COMMIT.
    gate.break_statement(4, runs_first=runs_first)
    with pytest.raises(ConnectionResetError):
        await atomic(_both)
    await store("zzz")

    assert await keys() == (["one", "two", "zzz"] if runs_first else ["zzz"])


async def test_what_breaks_in_a_transaction_undoes_it(gate: DatabaseGate) -> None:
    async def _both() -> None:
        await store("one")
        await store("two")

    gate.break_statement(3, runs_first=True)
    with pytest.raises(ConnectionResetError):
        await atomic(_both)

    assert await keys() == []
