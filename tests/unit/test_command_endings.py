"""What ends a command is told in one sentence and an exit code, whatever it was."""

import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from tortoise.exceptions import OperationalError

from bot.errors import BotError, UsageError
from bot.operations.command_ending import explained


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
    assert explained(error) == (code, sentence)


def test_what_is_not_known_shows_a_reference_and_nothing_of_itself() -> None:
    code, sentence = explained(KeyError("a secret"))

    assert code == 1
    assert "the log has it under" in sentence
    assert "secret" not in sentence


# An interrupt that comes where Python cannot raise: in a finalizer, while the bot's own modules are loaded.
_INTERRUPTED_WHILE_IT_LOADS = """
import os, signal, sys

class Gone:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGINT)
        sum(range(100))

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == "bot.process":
            Gone()

sys.meta_path.insert(0, Finder())
sys.argv = ["tocsin", "run"]
from bot.__main__ import main
main()
"""


def test_an_interrupt_while_run_loads_ends_it_without_a_trace(tmp_path: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", _INTERRUPTED_WHILE_IT_LOADS],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert (ended.returncode, ended.stdout, ended.stderr) == (130, "", "")
