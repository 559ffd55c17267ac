"""
Values for the options of any command, made from what the command tree says of each.

A text that the bot completes gets what it offers; a number its bounds; a free text needs a line in ``TEXTS``.
"""

from collections.abc import Mapping
from typing import Any

from discord import AppCommandOptionType as Kind
from discord import app_commands
from simcord.builders import ChannelHandle, RoleHandle

from bot.client import TocsinBot
from tests.chaos.hands import hostile
from tests.chaos.hands import raw_interactions as raw

Command = app_commands.Command[Any, ..., Any]

TEXTS: Mapping[str, str] = {
    "name": "Lantern walk",
    "when": "2026-03-20 19:30",
    "description": "Bring a lamp.",
    "time": "19:30",
    "starts": "2026-03-29",
    "ends": "2026-12-24",
    "days": "SU",
    "profile_field": "Favourite lamp",
}
"""A good value for each option of free text, by its name."""

TYPED: Mapping[str, str] = {"timezone": "Europe/Lon", "date": "2026-03-29"}
"""What is typed into an option before what it offers is taken; nothing for the others."""

COMPANIONS: Mapping[str, tuple[str, ...]] = {
    "profile_required": ("profile_field",),
    "profile_max_length": ("profile_field",),
    "days": (),
    "option": ("value",),
    "value": ("option",),
}
"""Options that mean something beside others alone."""


class NothingGeneratedError(AssertionError):
    """A command has an option that nobody has said how to fill."""


def commands(bot: TocsinBot) -> list[Command]:
    """Return every command and subcommand of a bot."""
    return [one for one in bot.tree.walk_commands() if isinstance(one, app_commands.Command)]


async def good_value(
    command: Command, option: app_commands.Parameter, who: raw.Person, channel: ChannelHandle, role: RoleHandle
) -> Any:  # noqa: ANN401 -- what an option takes
    """
    Return a value that an option takes from somebody who may use its command.

    Raises:
        NothingGeneratedError: nobody has said how.
    """
    if option.autocomplete:
        return await _offered(command, option, who, channel)
    plain = {
        Kind.string: TEXTS.get(option.name),
        Kind.integer: option.min_value if option.min_value is not None else 1,
        Kind.boolean: True,
        Kind.channel: channel,
        Kind.role: role,
        Kind.user: who,
        Kind.attachment: hostile.CALENDAR,
    }
    found = option.choices[0].value if option.choices else plain.get(option.type)
    if found is None:
        raise NothingGeneratedError(
            f"/{command.qualified_name} has an option {option.name} of {option.type.name} that nothing is generated"
            " for: add it to tests/chaos/hands/generated_options.py"
        )
    return found


async def _offered(command: Command, option: app_commands.Parameter, who: raw.Person, channel: ChannelHandle) -> str:
    found = await raw.complete(who, channel, command, option.name, TYPED.get(option.name, ""))
    if not found:
        raise NothingGeneratedError(
            f"/{command.qualified_name} offers nothing for {option.name}: give tests/chaos/hands/command_world.py a row"
            " for it, or say in TYPED of tests/chaos/hands/generated_options.py what is typed"
        )
    return found[0]


async def variants(command: Command, who: raw.Person, channel: ChannelHandle, role: RoleHandle) -> list[dict[str, Any]]:
    """Return the ways to fill a command: its required options alone, and with each other option in turn."""
    values = {one.name: await good_value(command, one, who, channel, role) for one in command.parameters}
    required = {one.name for one in command.parameters if one.required}
    others = [one.name for one in command.parameters if not one.required]
    ways = [required, *({*required, one, *COMPANIONS.get(one, ())} for one in others)]
    return [{name: values[name] for name in way} for way in ways]
