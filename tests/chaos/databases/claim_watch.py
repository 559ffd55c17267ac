"""Sees every claim, renewal and take-over of the message log while it is on: how soon a lost claim is adopted again."""

import contextlib
import datetime as dt
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from bot.leases import ledger
from bot.leases.keys import MessageKey
from bot.leases.ledger import Lease
from bot.transactions import DATABASE_ERRORS
from tests.chaos.databases.database_world import World
from tests.chaos.proof import Figures


@dataclass(slots=True)
class ClaimWatch:
    """
    ``acknowledged``: the leases that the process was told of; ``adopted``: seconds from a claim whose answer was lost
    until the process took its row over; ``never``: how many it neither took over nor claimed again. ``on_lost`` is
    called whenever a claim is lost.
    """  # noqa: D205 -- the fields are the summary

    world: World
    acknowledged: dict[int, Lease] = field(default_factory=dict)
    adopted: list[float] = field(default_factory=list)
    attempted: int = 0
    on_lost: Callable[[], None] = lambda: None
    _held: set[MessageKey] = field(default_factory=set)
    _lost: dict[MessageKey, dt.datetime] = field(default_factory=dict)

    @property
    def never(self) -> int:
        """How many claims whose answer was lost nobody came back to."""
        return len(self._lost)

    def count(self, figures: Figures) -> None:
        """Add what was claimed to the figures."""
        figures.attempted += self.attempted
        figures.acknowledged += len(self.acknowledged)

    @contextlib.contextmanager
    def on(self) -> Iterator[None]:
        """Watch for the length of the context."""
        claim, take_over, delete = ledger.claim_lease, ledger.take_over, ledger.delete_held

        async def _claim(claimed: ledger.Claim, **options: Any) -> Lease | None:  # noqa: ANN401
            return await self._claimed(claimed, claim(claimed, **options))

        async def _take_over(lease: Lease, **options: Any) -> Lease | None:  # noqa: ANN401
            return await self._taken_over(lease, take_over(lease, **options))

        async def _delete(lease: Lease) -> bool:
            self.acknowledged.pop(lease.id, None)
            return await delete(lease)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(ledger, "claim_lease", _claim)
            patch.setattr(ledger, "take_over", _take_over)
            patch.setattr(ledger, "delete_held", _delete)
            yield

    async def _claimed(self, claimed: ledger.Claim, work: Awaitable[Lease | None]) -> Lease | None:
        self.attempted += 1
        try:
            lease = await work
        except DATABASE_ERRORS:
            # Of a key that was held before nobody can tell here whether this claim made a row, or found that one.
            if claimed.key not in self._held:
                self._lost.setdefault(claimed.key, self.world.clock.now())
                self.on_lost()
            raise
        if lease is not None:
            self._lost.pop(claimed.key, None)
            self._keep(lease)
        return lease

    async def _taken_over(self, lease: Lease, work: Awaitable[Lease | None]) -> Lease | None:
        taken = await work
        if taken is not None:
            if (lost := self._lost.pop(lease.key, None)) is not None:
                self.adopted.append((self.world.clock.now() - lost).total_seconds())
            self._keep(taken)
        return taken

    def _keep(self, lease: Lease) -> None:
        self.acknowledged[lease.id] = lease
        self._held.add(lease.key)
