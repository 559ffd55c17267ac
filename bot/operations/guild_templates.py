"""A server's templates, set and cleared value by value by its admins. A change has its audit row."""

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from bot import audit
from bot.events.series import ensure_guild
from bot.events.templates import (
    TemplateKind,
    check_template,
    group_of,
    groups,
    groups_in,
    option_of,
    template_of,
    value_in_words,
)
from bot.message.choice import Found
from bot.message.escaping import escape
from bot.message.folding import folded
from bot.message.limits import CHOICES
from bot.operations.template_values import OPTIONS, TemplateRefusedError, group_called, read_value
from bot.transactions import atomic
from models.guild_settings import GuildSettings

EVERYTHING: Final = "everything"
"""What is given to clear a whole template."""

_COMMANDS: Final = {TemplateKind.SERIES: "/series create", TemplateKind.EVENT: "/event create"}
_NEW_ONES: Final = {TemplateKind.SERIES: "new series", TemplateKind.EVENT: "new events"}


@dataclass(frozen=True, slots=True)
class TemplateChange:
    """What an admin asks for: ``option`` to have ``value``, or ``clear``, one option or everything; or nothing."""

    option: str | None = None
    value: str | None = None
    clear: str | None = None


async def show_template(kind: TemplateKind, *, guild_id: int) -> str:
    """Return a server's template in words, ready for Discord."""
    return _described(kind, await template_of(guild_id, kind))


async def change_template(
    kind: TemplateKind,
    change: TemplateChange,
    *,
    guild_id: int,
    actor: int,
    default_timezone: str,
    now: dt.datetime,
) -> str:
    """
    Change a server's template as asked for and return it in words; asked for nothing, return it as it is.

    Raises:
        TemplateRefusedError, RequestRefusedError: it cannot be; nothing was changed.
    """
    if change == TemplateChange():
        return await show_template(kind, guild_id=guild_id)
    if (change.option is None) is not (change.value is None):
        raise TemplateRefusedError("Give an option together with the value that it is to have.")
    cleared = None if change.clear is None else _cleared(kind, change.clear.strip())
    added = read_value(kind, change.option, change.value, guild_id=guild_id) if change.option and change.value else {}

    async def _unit() -> tuple[dict[str, object], dict[str, object]]:
        _ = await ensure_guild(guild_id, timezone=default_timezone)
        settings = await GuildSettings.filter(guild_id=guild_id).select_for_update().get()
        before: dict[str, object] = getattr(settings, kind.column)
        gone = set(groups(kind)) if cleared == EVERYTHING else {cleared}
        gone |= {group_of(field) for field in added}
        known = {field: value for field, value in before.items() if group_of(field) in groups(kind)}
        after = {**{field: value for field, value in known.items() if group_of(field) not in gone}, **added}
        check_template(kind, after, options=OPTIONS[kind])
        if before != after:
            setattr(settings, kind.column, after)
            await settings.save(update_fields=[kind.column])
            await audit.record(
                "settings.edit",
                guild_id=guild_id,
                actor_user_id=actor,
                now=now,
                before={kind.column: before},
                after={kind.column: after},
            )
        return before, after

    before, after = await atomic(_unit)
    return ("Nothing changed: it is set so already.\n" if before == after else "Saved.\n") + _described(kind, after)


def _described(kind: TemplateKind, template: Mapping[str, object]) -> str:
    heading = f"{_NEW_ONES[kind].capitalize()}, where {_COMMANDS[kind]} leaves it out"
    if not template:
        return f"{heading}, have the built-in values: nothing is set."
    lines = [
        f"- {escape(option_of(group, OPTIONS[kind]))}: {value_in_words(group, template)}"
        for group in groups_in(template)
    ]
    return "\n".join([f"{heading}, have:", *lines, "The rest has its built-in value."])


async def search_set(typed: str, kind: TemplateKind, *, guild_id: int) -> list[Found]:
    """Return everything, and the options that are set, likewise."""
    template = await template_of(guild_id, kind)
    found = [Found(EVERYTHING, EVERYTHING)]
    for group in groups_in(template):
        name = option_of(group, OPTIONS[kind])
        found.append(Found(name, name))
    return [one for one in found if folded(typed) in folded(one.label)][:CHOICES]


def _cleared(kind: TemplateKind, named: str) -> str:
    return EVERYTHING if named == EVERYTHING else group_called(kind, named)
