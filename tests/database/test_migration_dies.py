"""A process that dies in the middle of its migrations: the next one makes the tables as if nothing had been."""

import sqlite3
from pathlib import Path

import pytest
from tortoise.migrations.recorder import MigrationRecorder

from bot.database import opened
from bot.migrating import migrate, pending_migrations


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def empty_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Return the address of a database without a table."""
    if request.param == "sqlite":
        return f"sqlite://{tmp_path / 'empty.db'}"
    url: str = request.getfixturevalue("empty_postgres_url")
    return url


@pytest.mark.parametrize("dies_at", [0, 1], ids=["the first record", "the second record"])
async def test_tables_whose_record_was_never_written_are_not_in_the_way_of_the_next_start(
    empty_url: str, monkeypatch: pytest.MonkeyPatch, dies_at: int
) -> None:
    really = MigrationRecorder.record_applied
    written: list[str] = []

    async def _dies(self: MigrationRecorder, app: str, name: str) -> None:
        if len(written) == dies_at:
            raise sqlite3.OperationalError("dead")
        written.append(name)
        await really(self, app, name)

    async with opened(empty_url):
        every = await pending_migrations()
        with monkeypatch.context() as patch:
            patch.setattr(MigrationRecorder, "record_applied", _dies)
            with pytest.raises(sqlite3.OperationalError, match="dead"):
                await migrate(empty_url)

    async with opened(empty_url):
        assert await migrate(empty_url) == every
        assert await pending_migrations() == []
