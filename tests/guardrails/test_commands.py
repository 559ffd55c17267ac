"""What holds for every command, option, button and form, whoever adds one."""

import ast
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from discord import app_commands

from bot.client import COMMAND_COGS, LOOP_COGS, TocsinBot
from bot.command_tree import Access, declared_needs
from bot.message.custom_ids import Verb
from tests.guardrails.told_commands import parts, told

if TYPE_CHECKING:
    from discord.ext import commands

ROOT = Path(__file__).resolve().parents[2]
# Source: Discord's documentation of application commands, "Naming" and "Limits".
NAME = re.compile(r"[-_a-z0-9]{1,32}")
MOST_DESCRIPTION, MOST_OPTIONS, MOST_CHOICES, MOST_IN_ALL = 100, 25, 25, 8_000
# Verbs whose button or form nobody takes yet, and why.
WITHOUT_A_HANDLER: dict[Verb, str] = {}


def leaves(bot: TocsinBot) -> "list[app_commands.Command[commands.Cog, Any, Any]]":
    return [command for command in bot.tree.walk_commands() if isinstance(command, app_commands.Command)]


async def test_every_command_declares_who_may_use_it(bot: TocsinBot) -> None:
    assert [one.qualified_name for one in leaves(bot) if declared_needs(one) is None] == []


async def test_what_admins_use_discord_shows_to_admins_alone_and_what_members_use_to_everybody(bot: TocsinBot) -> None:
    hidden = {command["name"] for command in told(bot) if command.get("default_member_permissions") is not None}
    by_access = {access: set[str]() for access in Access}
    for command in leaves(bot):
        declared = declared_needs(command)
        assert declared is not None
        by_access[declared.access].add(command.qualified_name.split()[0])

    assert hidden == by_access[Access.ADMIN]
    assert not by_access[Access.ADMIN] & by_access[Access.MEMBER]


async def test_every_command_is_for_servers_alone(bot: TocsinBot) -> None:
    assert [command["name"] for command in told(bot) if command["contexts"] != [0]] == []


async def test_every_name_and_description_fits_discords_rules(bot: TocsinBot) -> None:
    for command in told(bot):
        for path, node in parts(command):
            assert NAME.fullmatch(node["name"]), path
            assert 1 <= len(node["description"]) <= MOST_DESCRIPTION, path
            assert node["description"] not in {"…", "..."}, f"{path} has no description"
            assert len(node.get("options", ())) <= MOST_OPTIONS, path
            assert len(node.get("choices", ())) <= MOST_CHOICES, path
            assert all(1 <= len(choice["name"]) <= 100 for choice in node.get("choices", ())), path


def weight(node: dict[str, Any]) -> int:
    own = len(node["name"]) + len(node["description"])
    choices = sum(len(one["name"]) + len(str(one["value"])) for one in node.get("choices", ()))
    return own + choices + sum(weight(option) for option in node.get("options", ()))


async def test_no_command_with_its_subcommands_is_more_than_discord_takes(bot: TocsinBot) -> None:
    assert [command["name"] for command in told(bot) if weight(command) > MOST_IN_ALL] == []


async def test_required_options_come_before_the_others(bot: TocsinBot) -> None:
    for command in told(bot):
        for path, node in parts(command):
            required = [option.get("required", False) for option in node.get("options", ()) if option["type"] > 2]
            assert required == sorted(required, reverse=True), path


async def test_descriptions_are_plain_words(bot: TocsinBot) -> None:
    jargon = re.compile(r"\b(rrule|byday|iana|tz|id|json|regex|null|boolean|integer)\b", re.IGNORECASE)
    found = [path for command in told(bot) for path, node in parts(command) if jargon.search(node["description"])]

    assert found == []


async def test_every_verb_has_a_handler_or_a_reason(bot: TocsinBot) -> None:
    assert set(WITHOUT_A_HANDLER) | bot.presses.verbs == set(Verb)
    assert not set(WITHOUT_A_HANDLER) & bot.presses.verbs


def test_every_cog_is_loaded_by_name() -> None:
    files = {f"cogs.{path.stem}" for path in (ROOT / "cogs").glob("*.py")} - {"cogs.__init__"}

    assert files == set(LOOP_COGS) | set(COMMAND_COGS)
    assert not set(LOOP_COGS) & set(COMMAND_COGS)


@pytest.mark.parametrize("name", COMMAND_COGS)
def test_a_command_cog_has_no_try_no_loop_over_rows_and_no_table(name: str) -> None:
    tree = ast.parse((ROOT / f"{name.replace('.', '/')}.py").read_text())
    found = [type(node).__name__ for node in ast.walk(tree) if isinstance(node, ast.Try | ast.While)]
    imported = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module}

    assert found == []
    assert {module for module in imported if module.startswith(("models", "tortoise"))} <= {"models.states"}
