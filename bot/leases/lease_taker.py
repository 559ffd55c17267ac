"""
Take the lease of a message for this process: claimed anew, or gone on with where it was left open and nothing arrived.

For the one way out, the fan-outs' parents and the sweep. Source: event-reminder-scheduling.md, "Lease pattern".
"""

import datetime as dt
from typing import Final

from bot.clock import LeaseClock
from bot.leases import failed_rows, ledger
from bot.leases.event_rows import still_stands
from bot.leases.ledger import Claim, HeldRow, Lease
from bot.leases.ports import Attempt, DiscordTime
from bot.leases.recorder import OutcomeRecorder
from bot.leases.reports import WithdrawnError
from bot.leases.snowflakes import snowflake_at
from bot.leases.under_way import UnderWay

_HISTORY_SLACK: Final = dt.timedelta(seconds=5)


class LeaseTaker:
    """Takes leases for one instance; ``recorder`` and ``under_way`` know what became of those it had."""

    def __init__(
        self,
        instance: str,
        *,
        lease_clock: LeaseClock,
        discord_time: DiscordTime,
        under_way: UnderWay,
        recorder: OutcomeRecorder,
    ) -> None:
        self._instance = instance
        self._lease_clock = lease_clock
        self._discord_time = discord_time
        self._under_way = under_way
        self._recorder = recorder

    async def take(self, attempt: Attempt, embed_data: dict[str, object] | None) -> Lease | None:
        """
        Take the lease of a key for this instance; None: it is sent, held, or its next attempt lies ahead.

        Raises:
            DATABASE_ERRORS: the claim is not durable.
        """
        after = snowflake_at(self._discord_time.now() - _HISTORY_SLACK)
        claim = Claim(attempt.key, attempt.guild_id, attempt.channel_id, embed_data, after)
        lease = await ledger.claim_lease(claim, instance=self._instance, lease_clock=self._lease_clock)
        if lease is None:
            return await self._adopt(claim)
        if await failed_rows.failed_meanwhile(attempt.key, self._lease_clock):
            await self._recorder.release(attempt, lease, delete=True)
            return None
        return lease

    async def take_standing(self, attempt: Attempt, embed_data: dict[str, object] | None) -> Lease | None:
        """
        Take the lease of a message likewise.

        Raises:
            DATABASE_ERRORS: the claim is not durable.
            WithdrawnError: its event was removed or cancelled meanwhile, or it is no longer for its recipient.
        """
        lease = await self.take(attempt, embed_data)
        if lease is None or await still_stands(attempt.key):
            return lease
        await self._recorder.release(attempt, lease, delete=True)
        raise WithdrawnError

    async def take_over(self, row: HeldRow) -> Lease | None:
        """
        Take an open row over to find out what became of it; None: somebody was faster, or it is finished.

        No sender of this process goes on under it meanwhile: what another instance began may have arrived.
        """
        is_anothers = row.instance != self._instance
        if is_anothers:
            self._under_way.note_request(row.lease.id)
        lease = await ledger.take_over(row.lease, instance=self._instance, lease_clock=self._lease_clock)
        if lease is None and is_anothers:
            self._under_way.forget_request(row.lease.id)
        return lease

    async def _adopt(self, claim: Claim) -> Lease | None:
        """Go on under a row that was handed back, or that this instance claimed without seeing the answer."""
        for row in await ledger.held_rows(claim.key):
            handed_back = row.lease.token == ""
            mine = row.instance == self._instance
            unseen = (
                mine and not self._recorder.awaits_record(row.lease) and not self._under_way.may_have_left(row.lease)
            )
            if handed_back or unseen:
                return await ledger.take_over(
                    row.lease,
                    instance=self._instance,
                    lease_clock=self._lease_clock,
                    channel_id=claim.channel_id,
                    # What is sent now is what the history is searched for, should this attempt end unknown too.
                    embed_data=claim.embed_data,
                )
        return None
