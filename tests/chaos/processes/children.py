"""Processes of a proof's own: started cleanly, told what to break, and gone at the end whatever happened."""

import contextlib
import datetime as dt
import multiprocessing
import os
import re
import signal
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from types import ModuleType

from bot.leases import ledger, request_guard
from bot.leases.ledger import Claim, Lease
from tests.chaos.shares import quiet

# Forked from a server that holds no loop, no thread and no connection of this process.
_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(["tests.chaos.processes.contended", "tests.chaos.processes.suspended"])
_PATIENCE_SECONDS = 60


class Child:
    """One process and the line to it."""

    def __init__(self, main: Callable[..., None], *arguments: object, broken: str = "") -> None:
        self.line, theirs = _CONTEXT.Pipe()
        self._process = _CONTEXT.Process(target=_begin, args=(main, theirs, broken, *arguments), daemon=True)
        self._process.start()
        theirs.close()

    def hear(self) -> object:
        """
        Return the next thing that it says.

        Raises:
            TimeoutError: it says nothing for a minute.
            EOFError: it has ended.
        """
        if not self.line.poll(_PATIENCE_SECONDS):
            raise TimeoutError
        return self.line.recv()

    def tell(self, what: object) -> None:
        """Say something to it."""
        self.line.send(what)

    def suspend(self) -> None:
        """Let it stand still where it is."""
        self._signal(signal.SIGSTOP)

    def wake(self) -> None:
        """Let it go on."""
        self._signal(signal.SIGCONT)

    def _signal(self, number: signal.Signals) -> None:
        assert self._process.pid is not None
        os.kill(self._process.pid, number)

    def end(self) -> None:
        """Let go of it: what it had to say was heard."""
        self.line.close()
        # One that stands still is killed too.
        self._process.kill()
        self._process.join()
        self._process.close()


@contextlib.contextmanager
def children() -> Iterator[list[Child]]:
    """Give a list for the children of a unit; those in it are gone afterwards."""
    kept: list[Child] = []
    try:
        yield kept
    finally:
        for child in kept:
            child.end()


def _begin(main: Callable[..., None], line: Connection, broken: str, *arguments: object) -> None:
    quiet()
    for module, name, value in lacking(broken):
        setattr(module, name, value)
    main(line, *arguments)


Change = tuple[ModuleType, str, object]


def lacking(broken: str) -> list[Change]:
    """Return what is to be changed in the bot so that it lacks one of its mechanisms; nothing for an empty name."""
    match broken:
        case "":
            return []
        case "no lease":
            return [(ledger, "claim_lease", _claimed_always)]
        case "no fence":
            return [(ledger, name, _unfenced(name)) for name in ("_TAKE_OVER", "_RENEW", "_SENT", "_FAILED")]
        case "no check after a suspension":
            return [(request_guard, "_TRUSTED_AGE", dt.timedelta.max)]
        case _:
            raise KeyError(broken)


async def _claimed_always(claim: Claim, **_: object) -> Lease:
    return Lease(-1, claim.key, "", 1, dt.datetime.now(dt.UTC))


def _unfenced(name: str) -> str:
    statement: str = getattr(ledger, name)
    unfenced = re.sub(
        r"AND (lease_token|COALESCE\(lease_token, ''\)) = \$2", "AND CAST($2 AS VARCHAR) IS NOT NULL", statement
    )
    assert unfenced != statement
    return unfenced
