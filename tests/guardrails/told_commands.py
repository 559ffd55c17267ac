"""What Discord is told of the bot's commands, as the checks walk it."""

from collections.abc import Iterator
from typing import Any, Final

from bot.client import TocsinBot

# Discord's kinds of options that are commands themselves; source: its documentation of application commands.
_SUBCOMMANDS: Final = frozenset({1, 2})


def told(bot: TocsinBot) -> list[dict[str, Any]]:
    """Return what Discord is told of the commands."""
    return [command.to_dict(bot.tree) for command in bot.tree.get_commands()]


def parts(node: dict[str, Any], path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each command, group and option under the words that lead to it."""
    here = f"{path} {node['name']}".strip()
    yield here, node
    for option in node.get("options", ()):
        yield from parts(option, here)


def options_of_commands(bot: TocsinBot) -> dict[str, frozenset[str]]:
    """Return the names of the options of each command that somebody can use, by the words that lead to it."""
    return {
        path: frozenset(option["name"] for option in node.get("options", ()))
        for command in told(bot)
        for path, node in parts(command)
        if _is_usable(node, is_top=node is command)
    }


def _is_usable(node: dict[str, Any], *, is_top: bool) -> bool:
    kinds = {option["type"] for option in node.get("options", ())}
    return (is_top or node["type"] in _SUBCOMMANDS) and not kinds & _SUBCOMMANDS
