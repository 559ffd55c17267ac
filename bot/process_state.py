"""What a process leaves for the next one, by its key: the only writer of ``ProcessState``."""

import datetime as dt
from collections.abc import Mapping

from bot.transactions import atomic
from models.process_state import ProcessState


async def recall(key: str) -> dict[str, object] | None:
    """Return what was last kept under a key, None if nothing was."""
    row = await ProcessState.get_or_none(key=key)
    return dict(row.value) if row is not None else None


async def keep(key: str, value: Mapping[str, object], *, now: dt.datetime) -> None:
    """Keep a value of JSON under a key, in the place of the last one; part of the caller's transaction if any."""

    async def _unit() -> None:
        await ProcessState.update_or_create(key=key, defaults={"value": dict(value), "updated_at": now})

    await atomic(_unit)
