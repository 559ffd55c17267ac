"""
The record of who changed what: the only writer of ``AuditLog``, and it only ever adds.

Called inside the transaction of the change, so that neither exists without the other.
"""

import datetime as dt
from collections.abc import Mapping

from models.audit_log import AuditLog


async def record(
    action: str,
    *,
    guild_id: int | None,
    now: dt.datetime,
    actor_user_id: int | None = None,
    subject_id: int | None = None,
    before: Mapping[str, object] | None = None,
    after: Mapping[str, object] | None = None,
    instance: str | None = None,
) -> None:
    """
    Add one row; ``actor_user_id`` None: the system. ``subject_id``: the row that changed.

    ``before`` and ``after`` hold what changed, as JSON values: never a code, an NDA, an announcement's text or an
    answer.
    """
    row = AuditLog(
        guild_id=guild_id,
        actor_user_id=actor_user_id,
        subject_id=subject_id,
        action=action,
        before=dict(before) if before is not None else None,
        after=dict(after) if after is not None else None,
        instance=instance,
        created_at=now,
    )
    await row.save()
