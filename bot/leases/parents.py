"""
The leases of fan-outs: held without a message for as long as their children are under way.

A parent that its process left behind is dropped by the sweeper, never looked up in a history; the next poll then fans
out again, and only to those who have no message yet. Source: 03-delivery.md, "Fan-out"; 02-reminders.md, "The four
reminders".
"""

from bot.leases import ledger
from bot.leases.fan_out_rows import FanOutCounts
from bot.leases.keys import MessageKey
from bot.leases.ledger import Lease
from bot.leases.ports import Attempt
from bot.leases.recorder import Outcome
from bot.leases.send_once import OneWayOut


class ParentLeases:
    """Takes, renews, finishes and drops the parents of one process's fan-outs."""

    def __init__(self, out: OneWayOut) -> None:
        self._out = out

    async def hold(self, key: MessageKey, *, guild_id: int) -> Lease | None:
        """
        Take the lease of a fan-out; None: it is done, or somebody is at it.

        Raises:
            DATABASE_ERRORS: the claim is not durable; nothing may be sent under it.
        """
        self._out.under_way.keep(key)
        lease = None
        try:
            lease = await self._out.claim(Attempt(key, guild_id, None), None)
        finally:
            if lease is None:
                self._out.under_way.let_go(key)
        return lease

    async def renew(self, lease: Lease) -> bool:
        """Hold the lease anew from now on; False: it was taken away, and this process no longer holds it."""
        held = await ledger.renew(lease, lease_clock=self._out.lease_clock)
        if not held:
            self._out.under_way.let_go(lease.key)
        return held

    async def finish(self, lease: Lease, counts: FanOutCounts, *, guild_id: int) -> bool:
        """
        Record that every child is settled, and tell the parent's observers in the same transaction; False: lost.

        The caller lets the lease go once the transaction is committed.
        """
        return await self._out.recorder.finalize(Outcome(Attempt(lease.key, guild_id, None), lease, counts))

    def let_go(self, lease: Lease) -> None:
        """Note that this process no longer holds the lease: it is finished, or was taken away."""
        self._out.under_way.let_go(lease.key)

    async def drop(self, lease: Lease, *, guild_id: int) -> None:
        """Give the lease up, so that the next poll of any process takes the fan-out up anew."""
        await self._out.recorder.release(Attempt(lease.key, guild_id, None), lease, delete=True)
        self._out.under_way.let_go(lease.key)
