"""
What goes wrong in a simulated world, and when: plain data, so that a run is repeated, shortened and written down.

Some faults are met by a request, the first that comes from their moment on; the others come at their moment, whatever
the bot is doing.
"""

import datetime as dt
import random
from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class FaultKind(StrEnum):
    """
    What goes wrong.

    ``*_after``: Discord took the request, and only the answer is bad. ``suspend*``: the machine stands still while time
    goes on; before the request is written, while it is on its way, or before its answer is read.
    """

    SERVER_ERROR = "server_error"
    SERVER_ERROR_AFTER = "server_error_after"
    RESET = "reset"
    RESET_AFTER = "reset_after"
    UNREACHABLE = "unreachable"
    TIMEOUT = "timeout"
    TIMEOUT_AFTER = "timeout_after"
    RATE_LIMIT = "rate_limit"
    RATE_WAIT = "rate_wait"
    OPENED_TOO_FAST = "opened_too_fast"
    KILL_BEFORE = "kill_before"
    KILL_AFTER = "kill_after"
    SUSPEND_BEFORE = "suspend_before"
    SUSPEND_DURING = "suspend_during"
    SUSPEND_AFTER = "suspend_after"

    KILL = "kill"
    SUSPEND = "suspend"
    DISCORD_DOWN = "discord_down"
    DATABASE_DOWN = "database_down"
    STATEMENT = "statement"
    STATEMENT_AFTER = "statement_after"
    GUILD_AWAY = "guild_away"
    DMS_CLOSED = "dms_closed"
    CLOCK_STEP = "clock_step"
    POST_DELETED = "post_deleted"


MET_BY_REQUESTS: Final = frozenset(
    {
        FaultKind.SERVER_ERROR,
        FaultKind.SERVER_ERROR_AFTER,
        FaultKind.RESET,
        FaultKind.RESET_AFTER,
        FaultKind.UNREACHABLE,
        FaultKind.TIMEOUT,
        FaultKind.TIMEOUT_AFTER,
        FaultKind.RATE_LIMIT,
        FaultKind.RATE_WAIT,
        FaultKind.OPENED_TOO_FAST,
        FaultKind.KILL_BEFORE,
        FaultKind.KILL_AFTER,
        FaultKind.SUSPEND_BEFORE,
        FaultKind.SUSPEND_DURING,
        FaultKind.SUSPEND_AFTER,
    }
)
"""Those that wait for a message, or for the opening of a DM channel."""

# How often each kind comes, and how long it lasts at least and at most, in seconds.
_MIX: Final[tuple[tuple[FaultKind, int, int, int], ...]] = (
    (FaultKind.SERVER_ERROR, 2, 0, 0),
    (FaultKind.SERVER_ERROR_AFTER, 3, 0, 0),
    (FaultKind.RESET, 2, 0, 0),
    (FaultKind.RESET_AFTER, 3, 0, 0),
    (FaultKind.UNREACHABLE, 1, 0, 0),
    (FaultKind.TIMEOUT, 1, 5, 30),
    (FaultKind.TIMEOUT_AFTER, 2, 5, 30),
    (FaultKind.RATE_LIMIT, 1, 31, 120),
    (FaultKind.RATE_WAIT, 1, 1, 29),
    (FaultKind.OPENED_TOO_FAST, 1, 0, 0),
    (FaultKind.KILL_BEFORE, 2, 5, 600),
    (FaultKind.KILL_AFTER, 3, 5, 600),
    (FaultKind.SUSPEND_BEFORE, 1, 30, 1_200),
    (FaultKind.SUSPEND_DURING, 1, 30, 1_200),
    (FaultKind.SUSPEND_AFTER, 1, 30, 1_200),
    (FaultKind.KILL, 1, 5, 1_800),
    (FaultKind.SUSPEND, 1, 60, 1_800),
    (FaultKind.DISCORD_DOWN, 1, 60, 1_800),
    (FaultKind.DATABASE_DOWN, 1, 10, 900),
    (FaultKind.STATEMENT, 2, 0, 0),
    (FaultKind.STATEMENT_AFTER, 2, 0, 0),
    (FaultKind.GUILD_AWAY, 1, 60, 1_800),
    (FaultKind.DMS_CLOSED, 2, 600, 14_400),
    (FaultKind.CLOCK_STEP, 1, 60, 3_600),
    (FaultKind.POST_DELETED, 1, 0, 0),
)
_MOST_TIMES: Final = 4
_MOST_STATEMENTS: Final = 40
_LONGEST_STEP: Final = dt.timedelta(minutes=10)


@dataclass(frozen=True, slots=True)
class Fault:
    """
    One thing that goes wrong.

    ``lasts``: how long, for a kill until the process is back. ``times``: how many requests in a row meet it; for a
    statement, which one from then on. ``which``, from 0 up to 1, picks the person or the post. ``step``: how far the
    clock is set off while it lasts.
    """

    at: dt.datetime
    kind: FaultKind
    lasts: dt.timedelta = dt.timedelta(0)
    times: int = 1
    which: float = 0.0
    step: dt.timedelta = dt.timedelta(0)

    def __str__(self) -> str:
        """Return the fault in words."""
        said = [self.kind.value]
        said += [f"for {self.lasts}"] if self.lasts else []
        said += [f"x{self.times}"] if self.times > 1 else []
        said += [f"by {self.step.total_seconds():+.0f} s"] if self.step else []
        return " ".join(said)


def plan_faults(count: int, *, chance: random.Random, start: dt.datetime, end: dt.datetime) -> list[Fault]:
    """Return faults of every kind, by chance, spread over the time in their order."""
    kinds = [one[0] for one in _MIX]
    spans = {one[0]: one[2:] for one in _MIX}
    found = []
    for kind in chance.choices(kinds, weights=[one[1] for one in _MIX], k=count):
        shortest, longest = spans[kind]
        is_statement = kind in {FaultKind.STATEMENT, FaultKind.STATEMENT_AFTER}
        found.append(
            Fault(
                at=start + dt.timedelta(seconds=chance.randrange(int((end - start).total_seconds()))),
                kind=kind,
                lasts=dt.timedelta(seconds=chance.randint(shortest, longest)),
                times=chance.randint(1, _MOST_STATEMENTS) if is_statement else _few(chance, kind),
                which=chance.randrange(1000) / 1000,
                step=_step(chance) if kind is FaultKind.CLOCK_STEP else dt.timedelta(0),
            )
        )
    return sorted(found, key=lambda one: (one.at, one.kind))


def _few(chance: random.Random, kind: FaultKind) -> int:
    if kind not in MET_BY_REQUESTS or kind in {FaultKind.KILL_BEFORE, FaultKind.KILL_AFTER}:
        return 1
    return chance.randint(1, _MOST_TIMES)


def _step(chance: random.Random) -> dt.timedelta:
    seconds = chance.randint(10, int(_LONGEST_STEP.total_seconds()))
    return dt.timedelta(seconds=seconds if chance.random() < 0.5 else -seconds)  # noqa: PLR2004 -- either way alike
