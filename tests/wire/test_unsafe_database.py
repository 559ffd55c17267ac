"""``tocsin run`` and ``tocsin check`` on a PostgreSQL that acknowledges what a crash may undo."""

from pathlib import Path

import pytest

from tests.throwaway import statement
from tests.wire.bot_process import bot_process, environment
from tests.wire.discord_stub import running_stub
from tests.wire.test_check import check

pytestmark = [pytest.mark.postgres, pytest.mark.timeout(120)]


async def test_a_start_is_refused_in_words_before_discord_is_asked(postgres_url: str, tmp_path: Path) -> None:
    database = postgres_url.partition("/t")[2].partition("?")[0]
    await statement(postgres_url, f"ALTER DATABASE t{database} SET synchronous_commit = off")
    async with running_stub() as stub:
        async with bot_process(tmp_path, stub, postgres_url) as process:
            await process.ended()
        code, found = await check(tmp_path, stub, postgres_url)

    said = process.said()
    assert process.code == 1
    assert "has synchronous_commit = off: a crash of its machine could undo claims" in said
    assert f"run `ALTER DATABASE t{database} SET synchronous_commit = on;` there, then start again." in said
    assert "Traceback" not in said
    assert environment(stub, postgres_url)["DISCORD_TOKEN"] not in said
    assert (stub.identified, code) == (0, 1)
    assert "FAIL  The database at " in found
