"""R17 in small, and what it says of a bot whose guards are taken out one by one."""

import dataclasses
import re
from collections.abc import Awaitable, Callable
from typing import Any
from unittest.mock import patch

import pytest
import structlog
from discord import app_commands

import bot.__main__ as program
import bot.command_tree
from bot import log
from bot.command_tree import Interaction
from bot.delivery.membership import Membership, Presser
from bot.drafts import Drafts
from bot.events import browse, profiles
from bot.message.custom_ids import CustomId
from bot.transactions import Dialect
from models.event import Event
from models.event_repeater import EventRepeater
from tests.chaos.hands import row_dump, wrong_hands
from tests.chaos.hands.broken import everywhere
from tests.chaos.hands.generated_options import NothingGeneratedError, good_value
from tests.chaos.hands.kept_secrets import planted_settings, secret_settings
from tests.chaos.proof import Share, unmet
from tests.throwaway import Databases

pytestmark = pytest.mark.timeout(900)


@pytest.mark.parametrize("dialect", [Dialect.SQLITE, pytest.param(Dialect.POSTGRES, marks=pytest.mark.postgres)])
def test_nothing_is_done_or_told_for_wrong_hands(databases: Databases, dialect: Dialect) -> None:
    figures = wrong_hands.run(Share([0], dialect, databases))

    assert unmet(figures, wrong_hands.judge(figures)) == []
    assert figures.attempted > 300


def broken(databases: Databases, part: str, *, dialect: Dialect = Dialect.SQLITE) -> str:
    """Return what one part of the proof finds."""
    figures = wrong_hands.came_to(Share([0], dialect, databases), part)
    assert unmet(figures, wrong_hands.judge(figures))
    return "\n".join(figures.faults)


def test_it_tells_of_a_bot_that_does_not_check_rights(databases: Databases) -> None:
    async def _let_everybody(_interaction: Interaction) -> None: ...

    with patch.object(bot.command_tree, "require_admin", _let_everybody):
        found = broken(databases, "commands")

    assert re.search("/settings set timezone, without rights: .*guild_settings .* changed in timezone", found)
    assert "/event list, without rights: " in found


def test_it_tells_of_queries_that_do_not_name_the_server(databases: Databases) -> None:
    async def _event(typed: str, *, guild_id: int) -> Event:
        return await Event.get(id=browse.row_id(typed))

    async def _series(typed: str, *, guild_id: int) -> EventRepeater:
        return await EventRepeater.get(id=browse.row_id(typed))

    with everywhere(browse.find_event, _event), everywhere(browse.find_series, _series):
        found = broken(databases, "commands")

    assert "/event show event, from another server: " in found
    assert "shows Ombrelle" in found
    assert re.search("/event start event, from another server: .*event .* changed in state", found)


def test_it_tells_of_presses_that_are_taken_for_the_rows_own_server(databases: Databases) -> None:
    async def _presser(_self: Membership, interaction: Any, server_of_row: Callable[[], Awaitable[int]]) -> Presser:  # noqa: ANN401
        return Presser(await server_of_row(), interaction.user.id, None)

    with patch.object(Membership, "presser", _presser):
        found = broken(databases, "buttons")

    assert re.search("button cant, rival from another server: .*event_signup .* is new", found)
    assert re.search("form profile, by a stranger in a DM: .*player_profile .* is new", found)


def test_it_tells_of_drafts_that_anybody_may_answer(databases: Databases) -> None:
    pressed = Drafts.pressed

    async def _anybodys(self: Drafts, interaction: Interaction, said: CustomId) -> None:
        token = said.subject.rpartition("-")[0]
        if (draft := self._waiting.get(token)) is not None:
            who, where = interaction.user.id, interaction.guild_id
            self._waiting[token] = dataclasses.replace(draft, user_id=who, guild_id=where)
        await pressed(self, interaction, said)

    # The button's handler is bound when the bot is made, so the class is what is broken.
    with patch.object(Drafts, "pressed", _anybodys):
        found = broken(databases, "drafts")

    assert re.search("the draft of /event create, pressed by warden: .*event .* is new", found)


def test_it_tells_of_a_draft_that_can_be_taken_twice(databases: Databases) -> None:
    pressed = Drafts.pressed

    async def _kept(self: Drafts, interaction: Interaction, said: CustomId) -> None:
        waiting = dict(self._waiting)
        await pressed(self, interaction, said)
        self._waiting.update(waiting)

    with patch.object(Drafts, "pressed", _kept):
        found = broken(databases, "drafts")

    assert re.search("the draft of /event create, pressed twice: .*event .* is new", found)


def test_it_tells_of_an_answer_that_is_logged(databases: Databases) -> None:
    save = profiles.save

    async def _loudly(values: Any, **named: Any) -> str:  # noqa: ANN401
        structlog.get_logger("cogs.profile").debug("profile_handed_in", values=values, known="Wimpleshade")
        return await save(values, **named)

    with patch.object(profiles, "save", _loudly):
        found = broken(databases, "buttons")

    assert "the log holds the planted Wimpleshade" in found


def test_it_tells_of_a_setting_that_nobody_hides(databases: Databases) -> None:
    with patch.object(program, "hide_secret", lambda _secret: None):
        found = broken(databases, "failures")

    assert "the log holds the planted Plant3dSecretOfDiscordToken" in found
    assert "the log holds the planted Plant3dSecretOfDatabaseUrl" in found


@pytest.mark.postgres
def test_it_tells_of_errors_that_quote_rows(databases: Databases) -> None:
    with patch.object(log, "_QUOTING", frozenset[str]()):
        found = broken(databases, "failures", dialect=Dialect.POSTGRES)

    assert "the log holds the planted Frostkettle" in found


async def test_an_option_that_nobody_has_spoken_of_is_told() -> None:
    @app_commands.command(name="wish", description="Wish.")
    async def wish(_interaction: Interaction, wish: str) -> None: ...

    with pytest.raises(NothingGeneratedError, match=r"/wish has an option wish of string .*generated_options\.py"):
        await good_value(wish, wish.parameters[0], None, None, None)  # type: ignore[arg-type]


def test_a_column_that_nobody_has_spoken_of_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_dump, "text_columns", lambda: [*row_dump.PEOPLES_TEXT, *row_dump.NO_SECRET, "event.nda"])

    (told,) = row_dump.unsorted_columns()
    assert told.startswith("event.nda holds text: say in tests/chaos/hands/row_dump.py")


def test_every_secret_setting_is_planted() -> None:
    settings = planted_settings()

    assert {("discord_token",), ("database", "url")} <= set(secret_settings())
    assert settings.discord_token is not None
    assert "Plant3d" in settings.database.url.get_secret_value()
