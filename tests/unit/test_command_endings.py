"""What ends a command is told in one sentence and an exit code, whatever it was."""

import sqlite3

import pytest
from tortoise.exceptions import OperationalError

from bot.__main__ import _explained
from bot.errors import BotError, UsageError


@pytest.mark.parametrize(
    ("error", "code", "sentence"),
    [
        (BotError("No codes left."), 1, "No codes left."),
        (UsageError("--days is 0."), 2, "--days is 0."),
        (KeyboardInterrupt(), 130, ""),
        (BrokenPipeError(), 1, ""),
        (
            OperationalError(sqlite3.OperationalError("database is locked")),
            1,
            "Stopped: database is locked. What was under way is undone, or repaired at the next start.",
        ),
        (
            ConnectionRefusedError("refused\nby the host"),
            1,
            "Stopped: refused. What was under way is undone, or repaired at the next start.",
        ),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else "",
)
def test_what_is_known_has_its_sentence(error: BaseException, code: int, sentence: str) -> None:
    assert _explained(error) == (code, sentence)


def test_what_is_not_known_shows_a_reference_and_nothing_of_itself() -> None:
    code, sentence = _explained(KeyError("a secret"))

    assert code == 1
    assert "the log has it under" in sentence
    assert "secret" not in sentence
