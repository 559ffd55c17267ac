"""
Rows that nobody ordered come back in reverse.

A database may give them in any order, and mostly gives them as they were written: what relies on it passes for months
and fails once. Here it fails at once.
"""

from collections.abc import Sequence
from typing import Any

import pytest
from tortoise.backends.asyncpg.client import AsyncpgDBClient
from tortoise.backends.sqlite.client import SqliteClient

_ANSWERING = ("SELECT", "WITH", "UPDATE", "DELETE")


def answer_backwards(patch: pytest.MonkeyPatch) -> None:
    """Turn the answers of both backends round, transactions included, as long as ``patch`` holds."""
    for client in (AsyncpgDBClient, SqliteClient):
        for name in ("execute_query", "execute_query_dict"):
            patch.setattr(client, name, _turned(getattr(client, name)))


def _turned(really: Any) -> Any:  # noqa: ANN401 -- the library's own methods, of two forms
    async def _call(self: object, query: str, *arguments: Any, **named: Any) -> Any:  # noqa: ANN401
        found = await really(self, query, *arguments, **named)
        words = query.lstrip().upper()
        if not words.startswith(_ANSWERING) or "ORDER BY" in words:
            return found
        return (found[0], _reversed(found[1])) if isinstance(found, tuple) else _reversed(found)

    return _call


def _reversed(rows: Sequence[object]) -> list[object]:
    return list(rows)[::-1]
