"""R18 in small, and what it says of a bot whose guards are taken out one by one."""

from typing import Any
from unittest.mock import patch

import discord
import pytest

import bot.command_tree
from bot.delivery import channel_poster
from bot.events import profiles, series_fields
from bot.message import escaping
from bot.transactions import Dialect
from models.player_profile import PlayerProfile
from tests.chaos.hands import bad_input
from tests.chaos.hands.answers import is_accounted_for
from tests.chaos.hands.broken import everywhere
from tests.chaos.proof import Share, unmet
from tests.throwaway import Databases

pytestmark = pytest.mark.timeout(900)

DIALECTS = [Dialect.SQLITE, pytest.param(Dialect.POSTGRES, marks=pytest.mark.postgres)]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_whatever_is_typed_is_answered_in_words_and_stored_whole_or_not_at_all(
    databases: Databases, dialect: Dialect
) -> None:
    figures = bad_input.run(Share([0], dialect, databases))

    assert unmet(figures, bad_input.judge(figures)) == []
    assert figures.attempted > 300


def broken(databases: Databases, only: str, *, dialect: Dialect = Dialect.SQLITE) -> str:
    """Return what a part of the proof finds."""
    figures = bad_input.came_to(Share([1], dialect, databases), only)
    assert unmet(figures, bad_input.judge(figures))
    return "\n".join(figures.faults)


def test_it_tells_of_text_that_is_not_escaped(databases: Databases) -> None:
    with everywhere(escaping.escape, str):
        found = broken(databases, "event create")

    assert "shows what was typed as a mention" in found
    assert "turns the line" in found


def test_it_tells_of_answers_that_ping(databases: Databases) -> None:
    with patch.object(bot.command_tree, "_NOBODY", discord.AllowedMentions.all()):
        found = broken(databases, "series create")

    assert " pings: {" in found


def test_it_tells_of_posts_that_ping(databases: Databases) -> None:
    with patch.object(channel_poster, "allowed_mentions", lambda _message: discord.AllowedMentions.all()):
        found = broken(databases, "read back")

    assert "the body check_event_reminders: POST /channels/" in found


@pytest.mark.postgres
def test_it_tells_of_a_text_that_the_database_cannot_hold(databases: Databases) -> None:
    def _as_it_is(text: str, *, most: int, controls: str) -> str:
        return text

    with patch.object(series_fields, "_check_text", _as_it_is):
        found = broken(databases, "series create", dialect=Dialect.POSTGRES)

    assert "body.content holds a NUL" in found
    assert "logged draft_undecided" in found


def test_it_tells_of_what_was_written_before_it_was_refused(databases: Databases) -> None:
    save = profiles.save

    async def _first_written(values: Any, *, guild_id: int, user_id: int, now: Any) -> str:  # noqa: ANN401
        first = {"updated_at": now, "reminder_opt_outs": [repr(values)]}
        await PlayerProfile.update_or_create(first, guild_id=guild_id, user_id=user_id)
        return await save(values, guild_id=guild_id, user_id=user_id, now=now)

    with patch.object(profiles, "save", _first_written):
        found = broken(databases, "forms")

    assert "refused, yet player_profile" in found


@pytest.mark.parametrize(
    ("changed", "is_held"),
    [
        ([], True),
        (["event_signup 1 is new"], True),
        (["audit_log 4 is new", "event 1 changed in name"], True),
        (["event 1 changed in name"], False),
        (["event 1 changed in name", "event_signup 1 is new"], False),
    ],
    ids=str,
)
def test_rows_that_change_without_an_audit_row_are_no_success(changed: list[str], is_held: bool) -> None:
    assert is_accounted_for(changed) is is_held
