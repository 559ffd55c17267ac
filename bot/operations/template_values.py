"""How the values of a template are typed: by which name, in which form, and what is offered meanwhile."""

import re
from collections.abc import Mapping
from enum import Enum, auto
from typing import Final, get_args

from bot.errors import BotError
from bot.events import event_requests, series_requests
from bot.events.templates import TemplateKind, groups, is_reminder, nothing_in_words, option_of
from bot.message.choice import Found
from bot.message.escaping import escape
from bot.message.folding import folded
from bot.message.limits import CHOICES
from bot.times.typed_time import shown

OPTIONS: Final = {TemplateKind.SERIES: series_requests.OPTIONS, TemplateKind.EVENT: event_requests.OPTIONS}
"""What people know the fields as: the names of the options of the commands that a template fills in for."""

_MENTION: Final = re.compile(r"<(?:#|@&)([0-9]{1,19})>")
_WHOLE_NUMBER: Final = re.compile(r"[0-9]{1,19}", re.ASCII)
_YES, _NO = frozenset({"yes", "on", "true"}), frozenset({"no", "off", "false"})


class TemplateRefusedError(BotError):
    """A value that no template takes; nothing was changed."""


class ValueKind(Enum):
    """How a value of an option is given."""

    NUMBER = auto()
    SWITCH = auto()
    CHANNEL = auto()
    ROLE = auto()


def search_options(typed: str, kind: TemplateKind) -> list[Found]:
    """Return at most 25 options of a template whose name holds what was typed."""
    names = [option_of(group, OPTIONS[kind]) for group in groups(kind)]
    return [Found(name, name) for name in names if folded(typed) in folded(name)][:CHOICES]


def value_kind(kind: TemplateKind, option: str) -> ValueKind:
    """Return how a value of an option is given; of an unknown one, as a number."""
    group = _groups(kind).get(option.strip(), "")
    if group.endswith("_channel_id"):
        return ValueKind.CHANNEL
    if group.endswith(("_role_id", "_role_ids")):
        return ValueKind.ROLE
    field = kind.spec.model_fields.get(group)
    is_switch = field is not None and field.annotation is bool and not is_reminder(group)
    return ValueKind.SWITCH if is_switch else ValueKind.NUMBER


def search_values(typed: str, kind: TemplateKind, option: str) -> list[Found]:
    """Return what may be given as an option that is a number or a switch: what was typed, else what is usual."""
    if value_kind(kind, option) is ValueKind.SWITCH:
        return [Found(word, word) for word in ("yes", "no") if folded(typed) in word]
    if _WHOLE_NUMBER.fullmatch(typed.strip()):
        return [Found(typed.strip(), typed.strip())]
    group = _groups(kind).get(option.strip(), "discord_announcement")
    usual = kind.spec.model_fields[f"{group}_hours" if is_reminder(group) else group].default
    found = [Found(str(usual), str(usual))] if usual is not None else []
    if is_reminder(group):
        return [*found, Found("0 (off)", "0")]
    return [*found, Found(f"0 ({nothing_in_words(group)})", "0")] if _may_be_none(kind, group) else found


def _groups(kind: TemplateKind) -> Mapping[str, str]:
    return {option_of(group, OPTIONS[kind]): group for group in groups(kind)}


def group_called(kind: TemplateKind, option: str) -> str:
    """
    Return the field that an option of a template stands for.

    Raises:
        TemplateRefusedError: there is no such option.
    """
    group = _groups(kind).get(option.strip())
    if group is None:
        raise TemplateRefusedError(f"There is no option {shown(option)} in a template; choose one from the list.")
    return group


def read_value(kind: TemplateKind, option: str, text: str, *, guild_id: int) -> dict[str, object]:
    """
    Return the fields that an option and its value stand for.

    Raises:
        TemplateRefusedError: there is no such option, or the value is none of its kind.
    """
    group, typed = group_called(kind, option), text.strip()
    match value_kind(kind, option):
        case ValueKind.SWITCH:
            return {group: _switch(option, typed)}
        case ValueKind.CHANNEL:
            return {group: _id(option, typed, "a channel")}
        case ValueKind.ROLE:
            role = _id(option, typed, "a role")
            if role == guild_id:
                raise TemplateRefusedError(f"{escape(option)} cannot be @everyone: choose a role of some people.")
            return {group: [role] if group.endswith("_ids") else role}
        case ValueKind.NUMBER:
            return _number(kind, group, _whole_number(option, typed))


def _switch(option: str, typed: str) -> bool:
    if typed.casefold() not in _YES | _NO:
        raise TemplateRefusedError(f"{escape(option)} must be yes or no, not {shown(typed)}.")
    return typed.casefold() in _YES


def _whole_number(option: str, typed: str) -> int:
    if typed.casefold() in _NO:
        return 0
    if not _WHOLE_NUMBER.fullmatch(typed):
        raise TemplateRefusedError(f"{escape(option)} must be a whole number, not {shown(typed)}.")
    return int(typed)


def _number(kind: TemplateKind, group: str, number: int) -> dict[str, object]:
    if is_reminder(group):
        return {group: True, f"{group}_hours": number} if number else {group: False}
    return {group: None if not number and _may_be_none(kind, group) else number}


def _may_be_none(kind: TemplateKind, group: str) -> bool:
    return type(None) in get_args(kind.spec.model_fields[group].annotation)


def _id(option: str, typed: str, what: str) -> int:
    found = _MENTION.fullmatch(typed)
    digits = found[1] if found else typed
    if not _WHOLE_NUMBER.fullmatch(digits):
        raise TemplateRefusedError(f"{escape(option)} must be {what} of this server: choose one from the list.")
    return int(digits)
