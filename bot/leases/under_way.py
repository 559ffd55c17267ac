"""What of its own leases this process is at, kept in memory: so that nobody in it takes one for forgotten."""

import asyncio

from bot.leases.keys import MessageKey
from bot.leases.ledger import Lease


class UnderWay:
    """
    The attempts that run, the leases held for longer than one call, and the rows whose request may have left.

    The last are never sent to blindly again, here or, where a row was taken over, elsewhere.
    """

    def __init__(self) -> None:
        self._running: dict[MessageKey, asyncio.Task[object]] = {}
        # Leases without a message of their own: the parents of fan-outs.
        self._held: set[MessageKey] = set()
        self._abandoned: set[MessageKey] = set()
        self._asked: set[int] = set()

    def is_running(self, key: MessageKey) -> bool:
        """Return whether an attempt at the key runs."""
        return key in self._running

    def begin(self, key: MessageKey) -> "asyncio.Task[object]":
        """Note that the current task makes an attempt at the key, until :meth:`end`; return that task."""
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 -- a coroutine runs in a task
        self._running[key] = task
        return task

    def end(self, key: MessageKey) -> None:
        """Note that the attempt at the key has ended."""
        del self._running[key]
        self._abandoned.discard(key)

    def abandon(self, lease: Lease) -> None:
        """Break off the attempt that holds a lease for far too long: its call never returned, and ends as unknown."""
        if (task := self._running.get(lease.key)) is not None and lease.key not in self._abandoned:
            self._abandoned.add(lease.key)
            task.cancel()

    def is_abandoned(self, key: MessageKey) -> bool:
        """Return whether the attempt at the key that runs was broken off."""
        return key in self._abandoned

    def keep(self, key: MessageKey) -> None:
        """Note that this process holds the lease of ``key`` for longer than one call, until :meth:`let_go`."""
        self._held.add(key)

    def let_go(self, key: MessageKey) -> None:
        """Note that this process no longer holds the lease of ``key``."""
        self._held.discard(key)

    def has(self, key: MessageKey) -> bool:
        """Return whether an attempt at the key runs, or its lease is held for longer."""
        return key in self._running or key in self._held

    def note_request(self, row_id: int) -> None:
        """Note that a request for a row may leave from now on."""
        self._asked.add(row_id)

    def forget_request(self, row_id: int) -> None:
        """Note that a row is open no more, or was not taken over after all."""
        self._asked.discard(row_id)

    def asked_rows(self) -> frozenset[int]:
        """Return the rows whose request may have left, as far as this process has not heard of their end."""
        return frozenset(self._asked)

    def may_have_left(self, lease: Lease) -> bool:
        """Return whether a request for the row may have been written, as far as this process knows."""
        return lease.id in self._asked
