"""
What became of leases that nobody finished, and when failures may be tried again.

An open row is first fenced, then looked up in its channel's history: found, it is finalized; not found, it is released
and its sender goes on; not readable, it stays as it is and is shown. Nothing is sent here. Source: 03-delivery.md,
"Sweeper" and "Unknown outcome"; event-reminder-scheduling.md, "Stale-lease sweeper".
"""

import datetime as dt
from dataclasses import dataclass
from typing import Protocol

import structlog

from bot.leases import failed_rows, ledger
from bot.leases.failures import ErrorClass, SendError
from bot.leases.keys import EVENT_REPOST, NATIVE_EVENT, PROMOTION, SIDE_POSTS, TIME_CHANGED
from bot.leases.ledger import HeldRow, Lease
from bot.leases.ports import (
    AnyTarget,
    Attempt,
    ChannelTarget,
    Delivered,
    DmTarget,
    HistoryUnreadableError,
    NativeTarget,
)
from bot.leases.recorder import Outcome
from bot.leases.send_once import OneWayOut
from bot.leases.staleness import Holder, SweepOptions, reconcilable_at
from bot.scheduling import due_rows
from bot.scheduling.agenda import Agenda
from bot.scheduling.bodies import CHECK_EVENT_REMINDERS, SENDERS, TELL_OPS_NOTES
from bot.scheduling.registry import REMINDERS, registered
from bot.transactions import atomic, fetch, moment

_log = structlog.get_logger(__name__)

# Whose open row is removed once it is known that nothing arrived: a poll, or a running fan-out, claims it anew.
_CLAIMED_ANEW = frozenset(entry.log_source for entry in REMINDERS) | {
    *SIDE_POSTS,
    NATIVE_EVENT,
    PROMOTION,
    TIME_CHANGED,
}
# Sources whose id is an event's: their open rows end with the event's start.
_EVENT_SOURCES = _CLAIMED_ANEW | {EVENT_REPOST}
_AGAIN = dt.timedelta(minutes=1)


class HistoryReporter(Protocol):
    """Whoever tells the admins that a history cannot be read, and when that is over."""

    async def __call__(self, row: HeldRow, unreadable: HistoryUnreadableError | None, now: dt.datetime) -> None:
        """Note why the history of the row's channel cannot be read; None: it can be read."""
        ...


@dataclass(slots=True)
class SweepCounts:
    """What one process's sweeps did since its start."""

    found: int = 0
    released: int = 0
    unreadable: int = 0
    given_up: int = 0


@dataclass(frozen=True, slots=True)
class _Visit:
    """
    What came of looking at one row.

    ``again``: when to look once more, None for never. ``released``: whoever waits for it may go on. ``told``: admins
    were told.
    """

    again: dt.datetime | None = None
    released: bool = False
    told: bool = False


class Sweeper:
    """Looks after the open and the failed rows of the message log."""

    def __init__(
        self, out: OneWayOut, *, agenda: Agenda, options: SweepOptions, tell_unreadable: HistoryReporter | None = None
    ) -> None:
        self.counts = SweepCounts()
        self._out = out
        self._agenda = agenda
        self._options = options
        self._tell_unreadable = tell_unreadable

    async def sweep_stale_discord_leases(self, now: dt.datetime) -> dt.datetime | None:
        """Reconcile what may be reconciled, age failures out, and return the next moment at which there is more."""
        await self._out.recorder.settle()
        clock = await self._out.lease_clock.now()
        upcoming = [await self._reconcile_all(clock, now), await self._age_failures_out(clock, now)]
        waits = [at - clock for at in upcoming if at is not None]
        return now + max(min(waits), dt.timedelta(0)) if waits else None

    async def _reconcile_all(self, clock: dt.datetime, now: dt.datetime) -> dt.datetime | None:
        visits: list[_Visit] = []
        asked = self._out.under_way.asked_rows()
        rows = await ledger.held_rows()
        # Asked before it was read, and not open: closed by a statement whose answer was lost on the way here.
        for row_id in asked - {row.lease.id for row in rows}:
            self._out.under_way.forget_request(row_id)
        for row in rows:
            try:
                visits.append(await self._visit(row, clock))
            except Exception:  # noqa: BLE001 -- one bad row must not stop the rest
                _log.exception("reconcile_failed", key=str(row.lease.key), guild=row.guild_id)
                visits.append(_Visit(again=clock + _AGAIN))
        if any(visit.released for visit in visits):
            for body in SENDERS:
                self._agenda.wake(body, now)
        if any(visit.told for visit in visits):
            self._agenda.wake(TELL_OPS_NOTES, now)
        return min((visit.again for visit in visits if visit.again is not None), default=None)

    async def _visit(self, row: HeldRow, clock: dt.datetime) -> _Visit:
        if row.lease.token == "":
            return await self._end_if_past(row, clock)
        holder = self._holder(row)
        at = reconcilable_at(row, holder, self._options)
        if self._out.blocks.is_paused():
            at = max(at, clock + _AGAIN)  # a block stops the reading of histories too
        if at > clock:
            return _Visit(again=at)
        if holder is Holder.MINE_RUNNING:
            self._out.under_way.abandon(row.lease)
            return _Visit(again=clock + dt.timedelta(seconds=1))
        return await self._reconcile(row, holder, clock)

    def _holder(self, row: HeldRow) -> Holder:
        if row.instance != self._out.instance:
            return Holder.OTHER
        if self._out.is_under_way(row.lease):
            return Holder.MINE_RUNNING
        return Holder.MINE_UNKNOWN if self._out.under_way.may_have_left(row.lease) else Holder.MINE_UNSENT

    async def _reconcile(self, row: HeldRow, holder: Holder, clock: dt.datetime) -> _Visit:
        lease = await self._out.fence(row)
        if lease is None:
            return _Visit()
        attempt = _attempt(row)
        try:
            # What this process wrote no request for needs no history.
            found = await self._look_up(row) if holder is not Holder.MINE_UNSENT else None
        except HistoryUnreadableError as error:
            self._out.blocks.heed(error.error_class, guild_id=row.guild_id)
            settled = await self._stays_unknown(row, lease, clock, error)
            return _Visit(again=None if settled else clock + _AGAIN, told=True)
        if found is not None:
            await self._out.recorder.finalize(Outcome(attempt, lease, found))
            self.counts.found += 1
            _log.info("lease_found_sent", key=str(lease.key), guild=row.guild_id, message=found.message_id)
            return _Visit(released=True)
        is_claimed_anew = lease.key.source in _CLAIMED_ANEW
        await self._out.recorder.release(attempt, lease, delete=is_claimed_anew)
        self.counts.released += 1
        _log.warning("lease_released", key=str(lease.key), guild=row.guild_id)
        ends = None if is_claimed_anew else max(clock, await self._gives_up_at(row))
        return _Visit(again=ends, released=True)

    async def _look_up(self, row: HeldRow) -> Delivered | None:
        target = _target(row)
        if target is None or row.marker is None:
            return None  # never had anywhere to go, so that nothing can have arrived
        found = await self._out.find(target, marker=row.marker, after=row.history_after)
        await self._report(row, None)
        return found

    async def _report(self, row: HeldRow, unreadable: HistoryUnreadableError | None) -> None:
        if self._tell_unreadable is not None:
            await self._tell_unreadable(row, unreadable, await self._out.lease_clock.now())

    async def _stays_unknown(
        self, row: HeldRow, lease: Lease, clock: dt.datetime, unreadable: HistoryUnreadableError
    ) -> bool:
        self.counts.unreadable += 1
        _log.warning("outcome_unknown", key=str(lease.key), guild=row.guild_id, reason=str(unreadable))
        await self._report(row, unreadable)
        if clock < await self._gives_up_at(row):
            return False
        error = SendError(ErrorClass.UNKNOWN_OUTCOME, f"nobody could tell whether it arrived: {unreadable}")
        await self._out.recorder.finalize(Outcome(_attempt(row), lease, error))
        self.counts.given_up += 1
        return True

    async def _gives_up_at(self, row: HeldRow) -> dt.datetime:
        if row.lease.key.source in _EVENT_SOURCES:
            rows = await fetch("SELECT scheduled_at FROM event WHERE id = $1", [row.lease.key.source_id])
            if rows:
                return moment(rows[0]["scheduled_at"])
        return row.lease.claimed_at + self._options.give_up_after

    async def _end_if_past(self, row: HeldRow, clock: dt.datetime) -> _Visit:
        """End a row that was handed back to a sender whose occasion is over: nothing of it arrived."""
        ends = await self._gives_up_at(row)
        if clock < ends:
            return _Visit(again=ends)
        lease = await ledger.take_over(row.lease, instance=self._out.instance, lease_clock=self._out.lease_clock)
        if lease is not None:
            error = SendError(ErrorClass.EVENT_STARTED, "its time had passed before it could be sent again")
            await self._out.recorder.finalize(Outcome(_attempt(row), lease, error))
        return _Visit()

    async def _age_failures_out(self, clock: dt.datetime, now: dt.datetime) -> dt.datetime | None:
        retention = self._options.failed_retention
        expiry = await failed_rows.next_failure_expiry(retention=retention)
        if expiry is None or expiry > clock:
            return expiry

        async def _unit() -> list[int]:
            freed = await failed_rows.delete_old_failures(registered(), before=clock - retention, now=clock)
            await due_rows.refresh(freed)
            return freed

        if await atomic(_unit):
            self._agenda.wake(CHECK_EVENT_REMINDERS, now)
        return await failed_rows.next_failure_expiry(retention=retention)


def _target(row: HeldRow) -> AnyTarget | None:
    if row.channel_id is None:
        return None
    if row.lease.key.source == NATIVE_EVENT:
        return NativeTarget(row.channel_id)
    if row.lease.key.recipient_id:
        return DmTarget(row.lease.key.recipient_id, row.channel_id)
    return ChannelTarget(row.guild_id, row.channel_id) if row.guild_id is not None else None


def _attempt(row: HeldRow) -> Attempt:
    return Attempt(row.lease.key, row.guild_id, row.channel_id, row.version)
