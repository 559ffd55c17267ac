"""
Which statements a world runs, by kind, and a thief who takes the answer of each kind once, where a seed says.

A kind is the text without what differs from run to run; a COMMIT is told apart by the last change before it. Nobody
lists them: what a good run asks is what the thief is after, and whatever else turns up while things are repaired.
"""

import contextlib
import datetime as dt
import random
import re
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol

import aiosqlite
import pytest

from tests.wire.proxy import START, Fate

_LIST = re.compile(r"\([$?\d, ]+\)")
_NUMBER = re.compile(r"\d+")
_SPACE = re.compile(r"\s+")
_WRITES = ("INSERT", "UPDATE", "DELETE")
_ENDS = ("COMMIT", "ROLLBACK")
_UNFORESEEN = 3
_CLAIM = "INSERT INTO discord_message_log (source, source_id, recipient_id, part, guild_id, channel_id"
_CLAIMS = 3
_PEACE = dt.timedelta(seconds=40)
# What a lost connection costs beside the answer: now and then all others are lost with it.
_CUT_ALL = 0.15


class Watch(Protocol):
    """Whoever is told of each statement that was done; True: its answer is to be lost."""

    def __call__(self, statement: str, connection: object) -> bool:
        """Decide about one answer."""
        ...


class Kinds:
    """Names statements by kind; keeps for each connection what it changed last."""

    def __init__(self) -> None:
        self._changed: dict[int, str] = {}

    def of(self, statement: str, connection: object) -> str:
        """Return the kind of a statement that a connection ran."""
        kind = _LIST.sub("(...)", _SPACE.sub(" ", statement.strip().rstrip(";")))
        first = kind.split(" ", 1)[0].upper()
        if first in _WRITES:
            self._changed[id(connection)] = kind
        if first in {"SAVEPOINT", "RELEASE"} or kind.upper().startswith("ROLLBACK TO"):
            return _NUMBER.sub("n", kind)
        if first in _ENDS:
            return f"{first} after {self._changed.pop(id(connection), 'nothing')}"
        return kind


class Recorder:
    """Counts the kinds of a run in which nothing is lost."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self._kinds = Kinds()

    def __call__(self, statement: str, connection: object) -> bool:
        """Count a statement."""
        self.counts[self._kinds.of(statement, connection)] += 1
        return False


class Thief:
    """
    Takes the answer of each kind once, of a claim three times, at the occurrences that its chance says.

    ``taken`` says what it took. ``note`` is told of each, and ``now`` gives the time: after a claim, or whenever it is
    told that one was lost with its connection, nothing is taken for so long that the process adopts it undisturbed;
    what was to be taken in that time is taken later.
    """

    def __init__(
        self,
        counts: Mapping[str, int],
        *,
        seed: int,
        now: Callable[[], dt.datetime],
        note: Callable[[str], None] = lambda _kind: None,
    ) -> None:
        self.taken: list[str] = []
        self.is_active = True
        self._chance = random.Random(seed)
        self._at = {kind: self._chance.randint(1, count) for kind, count in sorted(counts.items())}
        self._seen: Counter[str] = Counter()
        self._kinds = Kinds()
        self._now, self._note = now, note
        self._peace_until = now()

    def __call__(self, statement: str, connection: object) -> bool:
        """Decide about one answer."""
        kind = self._kinds.of(statement, connection)
        if not self.is_active or kind == START:
            return False
        at = self._at.setdefault(kind, self._chance.randint(1, _UNFORESEEN))
        self._seen[kind] += 1
        if self._seen[kind] != at:
            return False
        if self._now() < self._peace_until:
            self._at[kind] += self._chance.randint(1, _UNFORESEEN)
            return False
        self.taken.append(kind)
        self._note(kind)
        if kind.startswith(_CLAIM):
            self.keep_peace()
            if self.taken.count(kind) < _CLAIMS:
                self._at[kind] += self._chance.randint(2, 8)
        return True

    def keep_peace(self) -> None:
        """Take nothing for so long that a process adopts what it has just lost."""
        self._peace_until = self._now() + _PEACE

    def fate(self, statement: str, connection: object) -> Fate:
        """Decide as a proxy asks it."""
        if not self(statement, connection):
            return Fate.PASS
        return Fate.CUT_ALL if self._chance.random() < _CUT_ALL else Fate.SWALLOW


@contextlib.contextmanager
def sqlite_answers(watch: Watch) -> Iterator[None]:
    """Let ``watch`` decide which statements on SQLite are done and then end as an error of the disk."""
    execute: Any = aiosqlite.Connection._execute  # where every statement of the library passes

    async def _execute(self: aiosqlite.Connection, function: Any, *values: Any, **options: Any) -> Any:  # noqa: ANN401
        answer = await execute(self, function, *values, **options)
        name = str(getattr(function, "__name__", ""))
        statement = values[0] if values and isinstance(values[0], str) else name
        if name in {"close", "cursor", "fetchall", "fetchone"} or statement.startswith("PRAGMA"):
            return answer
        if watch(statement, self):
            error = sqlite3.OperationalError("disk I/O error")
            error.sqlite_errorcode = sqlite3.SQLITE_IOERR
            raise error
        return answer

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(aiosqlite.Connection, "_execute", _execute)
        yield
