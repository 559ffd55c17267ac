"""Copies of the bot with one protection taken out, each made in the process that is to be killed."""

import datetime as dt
import secrets
from collections.abc import Callable, Mapping, Sequence

from bot.clock import LeaseClock
from bot.leases import fan_out_rows, handover, ledger, send_once, staleness, sweep
from bot.leases.failures import SendError
from bot.leases.fan_out_rows import Child
from bot.leases.keys import MessageKey
from bot.leases.ledger import Claim, HeldRow, Lease
from bot.leases.ports import Delivered
from bot.leases.staleness import Holder, SweepOptions
from bot.transactions import fetch
from tests.chaos.deaths import broken_changes

_FENCES = (" AND lease_token = $2", " AND COALESCE(lease_token, '') = $2")


def _replace(owner: object, **replacements: object) -> None:
    for name, replacement in replacements.items():
        setattr(owner, name, replacement)


def _without_lease() -> None:
    """Let every claim succeed, and write nothing down before the message has left."""

    async def _claimed(claim: Claim, *, instance: str, lease_clock: LeaseClock) -> Lease:
        return Lease(0, claim.key, secrets.token_hex(16), 1, await lease_clock.now())

    async def _sent(lease: Lease, delivered: Delivered, *, lease_clock: LeaseClock) -> bool:
        return await _write(lease, lease_clock, success=True, message_id=delivered.message_id)

    async def _failed(lease: Lease, error: SendError, *, next_attempt_at: object, lease_clock: LeaseClock) -> bool:
        return await _write(lease, lease_clock, success=False, error_class=error.error_class.value)

    async def _counted(lease: Lease, counts: str, *, lease_clock: LeaseClock) -> bool:
        return await _write(lease, lease_clock, success=True)

    async def _held(*_: object, **__: object) -> bool:
        return True

    _replace(ledger, claim_lease=_claimed, renew=_held)
    _replace(ledger, finalize_sent=_sent, finalize_failed=_failed, finalize_counted=_counted)


async def _write(
    lease: Lease,
    lease_clock: LeaseClock,
    *,
    success: bool,
    message_id: int | None = None,
    error_class: str | None = None,
) -> bool:
    key, now = lease.key, await lease_clock.now()
    await fetch(
        "INSERT INTO discord_message_log (source, source_id, recipient_id, part, success, discord_message_id,"
        " error_class, history_after, attempts, claimed_at, created_at, finished_at)"
        " VALUES ($1, $2, $3, $4, $5, $6, $7, 0, 1, $8, $8, $8) ON CONFLICT DO NOTHING",
        [key.source, key.source_id, key.recipient_id, key.part, success, message_id, error_class, now],
    )
    return True


def _with_random_nonce() -> None:
    _replace(handover, nonce=lambda *_, **__: secrets.token_hex(12))


def _without_history() -> None:
    """Take every message for one that did not arrive."""

    async def _not_found(*_: object, **__: object) -> None:
        return None

    _replace(send_once.OneWayOut, find=_not_found)


def _without_fence() -> None:
    """Let whoever knows a row write to it, whoever holds it."""

    async def _fetch(query: str, values: Sequence[object] = ()) -> list[dict[str, object]]:
        for fence in _FENCES:
            # The parameter stays, since every statement is handed its values in their order.
            query = query.replace(fence, " AND CAST($2 AS VARCHAR(32)) IS NOT NULL")
        return await fetch(query, values)

    _replace(ledger, fetch=_fetch)


def _without_child_rows() -> None:
    """Take every child of a fan-out for one that was never tried."""

    async def _none(_parent: MessageKey) -> dict[int, Child]:
        return {}

    _replace(fan_out_rows, children=_none)


def _without_minute() -> None:
    """Look at what a dead process left as soon as it is known to be dead."""
    _replace(staleness, RESEND_AFTER=dt.timedelta(0))


def _without_deaths() -> None:
    """Take every process for one that lives."""

    def _at_the_timeout(row: HeldRow, _holder: Holder, options: SweepOptions) -> dt.datetime:
        return row.last_touched + options.lease_timeout

    _replace(sweep, reconcilable_at=_at_the_timeout)


def _all(*parts: Callable[[], None]) -> Callable[[], None]:
    def _break() -> None:
        for part in parts:
            part()

    return _break


BROKEN_COPIES: Mapping[str, Callable[[], None]] = {
    "plain protocol": _all(_without_lease, _with_random_nonce),
    "no lease": _without_lease,
    "random nonce, no history": _all(_with_random_nonce, _without_history),
    "no history": _without_history,
    "no fence": _without_fence,
    "no child rows": _without_child_rows,
    "no minute": _without_minute,
    "deaths unseen": _without_deaths,
    "changes in pieces": broken_changes.in_pieces,
    "open leases overlooked": broken_changes.open_leases_overlooked,
    "announced once cancelled": broken_changes.announced_once_cancelled,
    "roles noted first": broken_changes.roles_noted_first,
}
