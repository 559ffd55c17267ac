"""
``tocsin`` that tells how many tasks it has: ``python -m tests.chaos.running.watched_bot [MECHANISM]`` runs it.

At SIGUSR1 it writes the number to the file that TASKS_FILE names. HEARTBEAT_TIMEOUT, where given, is after how many
seconds of silence the library takes the gateway for gone; a MECHANISM is broken first.
"""

import asyncio
import os
import signal
import sys
from pathlib import Path
from typing import Any

from discord.ext import commands

from bot.__main__ import main
from tests.chaos.running.broken_bot import BREAKS


def _count_tasks(*_: object) -> None:
    # Written beside and renamed, so that whoever reads it finds a whole number.
    beside = Path(os.environ["TASKS_FILE"] + ".new")
    beside.write_text(str(len(asyncio.all_tasks())))
    beside.rename(os.environ["TASKS_FILE"])


def _be_impatient(seconds: float) -> None:
    really = commands.Bot.__init__

    def _init(self: commands.Bot, *arguments: Any, **named: Any) -> None:  # noqa: ANN401 -- whatever the library takes
        really(self, *arguments, heartbeat_timeout=seconds, **named)

    commands.Bot.__init__ = _init  # type: ignore[method-assign,assignment]


def command(mechanism: str = "") -> tuple[str, ...]:
    """Return the arguments of Python that run it."""
    return ("-m", "tests.chaos.running.watched_bot", *([mechanism] if mechanism else []))


if __name__ == "__main__":
    signal.signal(signal.SIGUSR1, _count_tasks)
    if seconds := os.environ.get("HEARTBEAT_TIMEOUT"):
        _be_impatient(float(seconds))
    if len(sys.argv) > 1:
        BREAKS[sys.argv.pop(1)]()
    sys.argv.append("run")
    main()
