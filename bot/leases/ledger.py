"""
The rows of the message log: claim, take over, finalize, release. The only writer of ``DiscordMessageLog``.

Each is one statement, fenced by the lease token, so that whoever lost a lease changes nothing. A claim is its own short
unit and never part of a caller's transaction: on PostgreSQL a lost race would abort it. Source:
event-reminder-scheduling.md, "Lease pattern"; 03-delivery.md, "One way out".
"""

import datetime as dt
import json
import re
import secrets
from dataclasses import dataclass, replace
from functools import lru_cache

from bot.clock import LeaseClock
from bot.leases.failures import UNTOLD, ErrorClass, SendError
from bot.leases.keys import MessageKey
from bot.leases.ports import Delivered
from bot.message.limits import cut
from bot.transactions import Dialect, dialect, fetch, integer, moment

_ERROR_LENGTH = 500
_SQLITE_NOW = "strftime('%Y-%m-%d %H:%M:%f+00:00', 'now')"
_JSON = re.compile(r"\{json (\$\d+)\}")

# The key's parameters stand first in every statement, so that the sub-select can name them again. It reads the failed
# attempts of the key in one probe of their index: how many there were, and when the next may be made.
_CLAIM = """
INSERT INTO discord_message_log
    (source, source_id, recipient_id, part, guild_id, channel_id, embed_data, history_after, lease_token, instance,
     success, claimed_at, created_at, attempts)
SELECT CAST($1 AS VARCHAR(64)), CAST($2 AS BIGINT), CAST($3 AS BIGINT), CAST($4 AS INTEGER), CAST($5 AS BIGINT),
    CAST($6 AS BIGINT), {json $7}, CAST($8 AS BIGINT), CAST($9 AS VARCHAR(32)), CAST($10 AS VARCHAR(32)),
    NULL, {now}, {now}, 1 + COALESCE(tried.attempts, 0)
FROM (SELECT MAX(attempts) AS attempts, MAX(next_attempt_at) AS next_attempt_at FROM discord_message_log
    WHERE source = $1 AND source_id = $2 AND recipient_id = $3 AND part = $4 AND NOT success) tried
WHERE tried.next_attempt_at IS NULL OR tried.next_attempt_at <= {now}
ON CONFLICT DO NOTHING RETURNING id, attempts, claimed_at
"""
_TAKE_OVER = """
UPDATE discord_message_log SET lease_token = $3, instance = $4, renewed_at = {now},
    channel_id = COALESCE($5, channel_id), embed_data = COALESCE({json $6}, embed_data)
WHERE id = $1 AND success IS NULL AND COALESCE(lease_token, '') = $2 RETURNING id
"""
_RENEW = """
UPDATE discord_message_log SET renewed_at = {now} WHERE id = $1 AND lease_token = $2 AND success IS NULL RETURNING id
"""
_SENT = """
UPDATE discord_message_log SET success = TRUE, discord_message_id = $3, channel_id = $4, status_code = $5,
    error = NULL, error_class = NULL, finished_at = {now}
WHERE id = $1 AND lease_token = $2 AND success IS NULL RETURNING id
"""
_COUNTED = """
UPDATE discord_message_log SET success = TRUE, embed_data = {json $3}, error = NULL, error_class = NULL,
    finished_at = {now}
WHERE id = $1 AND lease_token = $2 AND success IS NULL RETURNING id
"""
_FAILED = """
UPDATE discord_message_log SET success = FALSE, status_code = $3, error = $4, error_class = $5, next_attempt_at = $6,
    finished_at = {now}
WHERE id = $1 AND lease_token = $2 AND success IS NULL RETURNING id
"""


_UNTOLD = ", ".join(f"'{one.value}'" for one in sorted(UNTOLD))


@dataclass(frozen=True, slots=True)
class Claim:
    """What is to be claimed; ``embed_data`` is what is meant to be sent, ``history_after`` a snowflake."""

    key: MessageKey
    guild_id: int | None
    channel_id: int | None
    embed_data: dict[str, object] | None
    history_after: int


@dataclass(frozen=True, slots=True)
class Lease:
    """A held row; ``attempts`` counts from 1; ``claimed_at`` is by the lease clock."""

    id: int
    key: MessageKey
    token: str
    attempts: int
    claimed_at: dt.datetime


@dataclass(frozen=True, slots=True)
class HeldRow:
    """A row whose outcome is open, as the sweeper sees it; ``heartbeat_at`` None: its instance is gone."""

    lease: Lease
    guild_id: int | None
    channel_id: int | None
    marker: str | None
    version: int
    history_after: int
    instance: str | None
    renewed_at: dt.datetime | None
    heartbeat_at: dt.datetime | None

    @property
    def last_touched(self) -> dt.datetime:
        """The later of the claim and its last renewal."""
        return max(self.lease.claimed_at, self.renewed_at or self.lease.claimed_at)


@lru_cache(maxsize=32)
def _in_dialect(template: str, spoken: Dialect, stamp: str) -> str:
    if spoken is Dialect.SQLITE:
        now, as_json = f"COALESCE({stamp}, {_SQLITE_NOW})", r"\1"
    else:
        now, as_json = f"COALESCE(CAST({stamp} AS TIMESTAMPTZ), clock_timestamp())", r"CAST(\1 AS JSONB)"
    return _JSON.sub(as_json, template.replace("{now}", now))


async def run_stamped(template: str, values: list[object], lease_clock: LeaseClock) -> list[dict[str, object]]:
    """Run a statement whose ``{now}`` is the lease clock's: its last parameter, or the database's own time."""
    statement = _in_dialect(template, dialect(), f"${len(values) + 1}")
    return await fetch(statement, [*values, lease_clock.stamp()])


async def claim_lease(claim: Claim, *, instance: str, lease_clock: LeaseClock) -> Lease | None:
    """
    Take the lease of a key, or return None: it is sent, somebody holds it, or its next attempt lies ahead.

    Raises:
        DATABASE_ERRORS: no durable claim; nothing may be sent.
    """
    token = secrets.token_hex(16)
    key = claim.key
    rows = await run_stamped(
        _CLAIM,
        [
            key.source,
            key.source_id,
            key.recipient_id,
            key.part,
            claim.guild_id,
            claim.channel_id,
            _as_json(claim.embed_data),
            claim.history_after,
            token,
            instance,
        ],
        lease_clock,
    )
    if not rows:
        return None
    return Lease(integer(rows[0]["id"]), key, token, integer(rows[0]["attempts"]), moment(rows[0]["claimed_at"]))


def _as_json(data: dict[str, object] | None) -> str | None:
    return json.dumps(data) if data is not None else None


async def take_over(
    lease: Lease,
    *,
    instance: str,
    lease_clock: LeaseClock,
    channel_id: int | None = None,
    embed_data: dict[str, object] | None = None,
) -> Lease | None:
    """
    Fence a held row for this instance with a new token; None: somebody was faster, or it is finished.

    ``channel_id`` and ``embed_data``: where it goes now and what is sent, None where that stays as it was claimed.
    """
    token = secrets.token_hex(16)
    values = [lease.id, lease.token, token, instance, channel_id, _as_json(embed_data)]
    rows = await run_stamped(_TAKE_OVER, values, lease_clock)
    return replace(lease, token=token) if rows else None


async def renew(lease: Lease, *, lease_clock: LeaseClock) -> bool:
    """Hold the lease anew from now on, right before a request; False: it was taken away."""
    return bool(await run_stamped(_RENEW, [lease.id, lease.token], lease_clock))


async def finalize_sent(lease: Lease, delivered: Delivered, *, lease_clock: LeaseClock) -> bool:
    """Record that the message is visible; False: the lease was taken away, and nothing is changed."""
    values = [lease.id, lease.token, delivered.message_id, delivered.channel_id, delivered.status]
    return bool(await run_stamped(_SENT, values, lease_clock))


async def finalize_failed(
    lease: Lease, error: SendError, *, next_attempt_at: dt.datetime | None, lease_clock: LeaseClock
) -> bool:
    """Record that the attempt failed; ``next_attempt_at`` None: never again by itself. False: the lease was lost."""
    text = cut(error.text, _ERROR_LENGTH)
    values = [lease.id, lease.token, error.status, text, error.error_class.value, next_attempt_at]
    return bool(await run_stamped(_FAILED, values, lease_clock))


async def finalize_counted(lease: Lease, counts: str, *, lease_clock: LeaseClock) -> bool:
    """Record that what a lease without a message stood for is done; ``counts`` is JSON. False: the lease was lost."""
    return bool(await run_stamped(_COUNTED, [lease.id, lease.token, counts], lease_clock))


async def note_unknown(lease: Lease, error: SendError) -> None:
    """Note on the open row why its outcome is not known."""
    await fetch(
        "UPDATE discord_message_log SET error = $3, error_class = $4, status_code = $5"
        " WHERE id = $1 AND lease_token = $2 AND success IS NULL",
        [lease.id, lease.token, cut(error.text, _ERROR_LENGTH), error.error_class.value, error.status],
    )


async def delete_held(lease: Lease) -> bool:
    """Remove an open row of which nothing arrived, so that polling claims it anew; False: the lease was lost."""
    rows = await fetch(
        "DELETE FROM discord_message_log WHERE id = $1 AND lease_token = $2 AND success IS NULL RETURNING id",
        [lease.id, lease.token],
    )
    return bool(rows)


async def hand_back(lease: Lease) -> bool:
    """Leave an open row of which nothing arrived to its sender, which goes on under the same row; False: lost."""
    rows = await fetch(
        "UPDATE discord_message_log SET lease_token = NULL, instance = NULL"
        " WHERE id = $1 AND lease_token = $2 AND success IS NULL RETURNING id",
        [lease.id, lease.token],
    )
    return bool(rows)


async def held_rows(key: MessageKey | None = None) -> list[HeldRow]:
    """Return every row whose outcome is open, oldest first, or that of one key."""
    where, values = "l.success IS NULL", list[object]()
    if key is not None:
        where += " AND l.source = $1 AND l.source_id = $2 AND l.recipient_id = $3 AND l.part = $4"
        values = [key.source, key.source_id, key.recipient_id, key.part]
    rows = await fetch(
        "SELECT l.*, i.heartbeat_at FROM discord_message_log l"  # noqa: S608 -- parameters only
        f" LEFT JOIN instance i ON i.id = l.instance WHERE {where} ORDER BY l.claimed_at, l.id",
        values,
    )
    return [_held_row(row) for row in rows]


def _held_row(row: dict[str, object]) -> HeldRow:
    key = MessageKey(str(row["source"]), integer(row["source_id"]), integer(row["recipient_id"]), integer(row["part"]))
    lease = Lease(
        integer(row["id"]), key, str(row["lease_token"] or ""), integer(row["attempts"]), moment(row["claimed_at"])
    )
    data = row["embed_data"]
    meant = json.loads(data) if isinstance(data, str) else data
    return HeldRow(
        lease=lease,
        guild_id=_optional_integer(row["guild_id"]),
        channel_id=_optional_integer(row["channel_id"]),
        marker=str(meant["marker"]) if isinstance(meant, dict) and "marker" in meant else None,
        version=integer(meant.get("version", 0)) if isinstance(meant, dict) else 0,
        history_after=integer(row["history_after"]),
        instance=str(row["instance"]) if row["instance"] is not None else None,
        renewed_at=moment(row["renewed_at"]) if row["renewed_at"] is not None else None,
        heartbeat_at=moment(row["heartbeat_at"]) if row["heartbeat_at"] is not None else None,
    )


def _optional_integer(value: object) -> int | None:
    return integer(value) if value is not None else None


async def record_unsent(
    key: MessageKey, *, guild_id: int, error_class: ErrorClass, text: str, lease_clock: LeaseClock
) -> bool:
    """
    Record why a key that still waited will not be sent.

    False: it is sent, under way, or failed for a reason that the admins were told, and nothing is added.
    """
    template = (
        "INSERT INTO discord_message_log"  # noqa: S608 -- our own words
        " (source, source_id, recipient_id, part, guild_id, error_class, error, success, history_after,"
        " attempts, claimed_at, created_at, finished_at)"
        " SELECT CAST($1 AS VARCHAR(64)), CAST($2 AS BIGINT), CAST($3 AS BIGINT), CAST($4 AS INTEGER),"
        " CAST($5 AS BIGINT), CAST($6 AS VARCHAR(32)), CAST($7 AS VARCHAR(500)), FALSE, 0, 0, {now}, {now}, {now}"
        " WHERE NOT EXISTS (SELECT 1 FROM discord_message_log known WHERE known.source = $1 AND known.source_id = $2"
        " AND known.recipient_id = $3 AND known.part = $4 AND (known.success IS NULL OR known.success))"
        " AND NOT EXISTS (SELECT 1 FROM discord_message_log failed WHERE failed.source = $1 AND failed.source_id = $2"
        " AND failed.recipient_id = $3 AND failed.part = $4 AND NOT failed.success"
        f" AND failed.error_class NOT IN ({_UNTOLD})) RETURNING id"
    )
    values = [key.source, key.source_id, key.recipient_id, key.part, guild_id, error_class.value, text]
    return bool(await run_stamped(template, values, lease_clock))
