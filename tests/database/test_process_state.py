"""What a process leaves for the next one is kept by its key, the last one alone."""

from bot import process_state
from models.process_state import ProcessState
from tests.builders import MINUTE, utc

NOW = utc("2026-03-01 12:00")


async def test_what_was_kept_last_is_recalled_by_its_key(database: str) -> None:
    await process_state.keep("lamp", {"lit": True}, now=NOW)
    await process_state.keep("bell", {"rung": 3}, now=NOW)
    await process_state.keep("lamp", {"lit": False}, now=NOW + MINUTE)

    assert await process_state.recall("lamp") == {"lit": False}
    assert await process_state.recall("bell") == {"rung": 3}
    assert await process_state.recall("nothing") is None
    assert [row.updated_at for row in await ProcessState.all().order_by("key")] == [NOW, NOW + MINUTE]
