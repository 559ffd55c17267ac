"""
What a server's new series and events have where a command leaves it out: its templates, before the built-in defaults.

A template holds values by the names of the specs' fields: any that is in ``ConfigSpec``, so that one which is added
there can stand in a template at once. A reminder's switch and its hours are one thing: given, or left out.
"""

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from bot.events.one_off import EventSpec
from bot.events.requests import RequestRefusedError, Spec, checked
from bot.events.series_spec import ConfigSpec, SeriesSpec
from bot.message.escaping import escape
from models.guild_settings import GuildSettings

_HOURS: Final = "_hours"
_FROM_TEMPLATE: Final = "What the command leaves out comes from this server's template: `/settings templates` shows it."


class TemplateKind(StrEnum):
    """What a template is for, by the beginning of its column's name."""

    SERIES = "series"
    EVENT = "event"

    @property
    def column(self) -> str:
        """The column of the server's settings that holds it."""
        return f"{self.value}_template"

    @property
    def spec(self) -> type[ConfigSpec]:
        """What its values are checked by."""
        return SeriesSpec if self is TemplateKind.SERIES else EventSpec


# Nobody can be asked to sign up for an event without a series; how far ahead its events are made is a series' alone.
_LESS: Final = {TemplateKind.SERIES: frozenset[str](), TemplateKind.EVENT: frozenset({"discord_signup_reminder"})}
_MORE: Final = {TemplateKind.SERIES: ("generate_days_ahead",), TemplateKind.EVENT: ()}
# What a spec needs beside the values of a template, so that those can be checked alone.
_ELSE: Final[Mapping[TemplateKind, Mapping[str, object]]] = {
    TemplateKind.SERIES: {
        "name": "x",
        "frequency": "daily",
        "time_of_day": "12:00",
        "timezone": "UTC",
        "starts_at": "2026-01-01",
    },
    TemplateKind.EVENT: {"name": "x", "scheduled_at": dt.datetime(2026, 1, 1, tzinfo=dt.UTC)},
}

_MENTIONS: Final = {"_channel_id": "<#{}>", "_role_id": "<@&{}>"}
_MOST_ROLES: Final = 3
_NOTHING: Final = {"max_players": "without limit", "signup_opens_hours": "at once", "signup_offer_minutes": "no wait"}


def group_of(field: str) -> str:
    """Return what a field belongs to: a reminder's hours to its switch, every other to itself."""
    switch = field.removesuffix(_HOURS)
    return switch if field.endswith(_HOURS) and switch in ConfigSpec.model_fields else field


def groups(kind: TemplateKind) -> tuple[str, ...]:
    """Return the fields that a template of this kind may hold, hours left to their switch, in the spec's order."""
    known = dict.fromkeys(group_of(field) for field in ConfigSpec.model_fields)
    return (*(group for group in known if group not in _LESS[kind]), *_MORE[kind])


def groups_in(template: Mapping[str, object]) -> list[str]:
    """Return what a template holds, in the order of :func:`groups`: a database keeps none."""
    order = groups(TemplateKind.SERIES)
    return sorted({group_of(field) for field in template}, key=order.index)


def is_reminder(group: str) -> bool:
    """Return whether it is a switch that has hours."""
    return f"{group}{_HOURS}" in ConfigSpec.model_fields


def option_of(group: str, options: Mapping[str, str]) -> str:
    """Return what people know a field as, ``options`` being the names of a command's by field: ``announce_hours``."""
    field = f"{group}{_HOURS}" if is_reminder(group) else group
    return options.get(field, field.removeprefix("discord_").removesuffix("_id"))


async def template_of(guild_id: int, kind: TemplateKind) -> dict[str, object]:
    """Return a server's template; what this version does not know any more is left out."""
    settings = await GuildSettings.get_or_none(guild_id=guild_id)
    stored: Mapping[str, object] = getattr(settings, kind.column) if settings is not None else {}
    known = set(groups(kind))
    return {field: value for field, value in stored.items() if group_of(field) in known}


def check_template(kind: TemplateKind, values: Mapping[str, object], *, options: Mapping[str, str]) -> None:
    """
    Check what a template would hold.

    Raises:
        RequestRefusedError: with every fault.
    """
    _ = checked(kind.spec, {**_ELSE[kind], **values}, options=options)


@dataclass(frozen=True, slots=True)
class Filled:
    """What was given, with what the template adds; ``added`` are the values from it alone."""

    values: Mapping[str, object]
    added: Mapping[str, object]

    def checked(self, spec: type[Spec], *, options: Mapping[str, str]) -> Spec:
        """
        Return the spec that the values make.

        Raises:
            RequestRefusedError: with every fault, and where it may come from.
        """
        try:
            return checked(spec, self.values, options=options)
        except RequestRefusedError as error:
            if not self.added:
                raise
            raise RequestRefusedError(*error.faults, _FROM_TEMPLATE) from None

    def notes(self, options: Mapping[str, str]) -> list[str]:
        """Return the sentence that says what came from the template, none where nothing did."""
        if not self.added:
            return []
        return [f"From this server's template (`/settings templates`): {in_words(self.added, options)}."]


def filled(given: Mapping[str, object], template: Mapping[str, object]) -> Filled:
    """Return what was given, and from the template whatever that leaves out."""
    said = {group_of(field) for field in given}
    added = {field: value for field, value in template.items() if group_of(field) not in said}
    return Filled({**added, **given}, added)


def in_words(template: Mapping[str, object], options: Mapping[str, str]) -> str:
    """Return the values of a template as a list, ready for Discord: ``places 20, announce_hours off``."""
    named = groups_in(template)
    return ", ".join(f"{escape(option_of(group, options))} {value_in_words(group, template)}" for group in named)


def value_in_words(group: str, template: Mapping[str, object]) -> str:
    """Return one value of a template, ready for Discord."""
    value = template.get(group)
    if is_reminder(group):
        hours = template.get(f"{group}{_HOURS}")
        return f"{hours}" if value and hours else "off"
    if isinstance(value, list):
        more = len(value) - _MOST_ROLES
        return " ".join([*(f"<@&{role}>" for role in value[:_MOST_ROLES]), *([f"+{more} more"] if more > 0 else [])])
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None:
        return nothing_in_words(group)
    shape = next((shape for ending, shape in _MENTIONS.items() if group.endswith(ending)), "{}")
    return shape.format(escape(str(value)))


def nothing_in_words(group: str) -> str:
    """Return what a field without a value means."""
    return _NOTHING.get(group, "none")
