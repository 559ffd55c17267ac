"""What an admin asked for by a command's options: checked by the specs, its faults told in the options' names."""

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, TypeVar

from pydantic import BaseModel, ValidationError

from bot.errors import BotError
from bot.events.series_spec import ConfigSpec, each_fault
from bot.message import limits
from bot.message.escaping import escape
from bot.message.limits import cut

if TYPE_CHECKING:
    from models.guild_settings import GuildSettings

Spec = TypeVar("Spec", bound=BaseModel)

# A file writes null for what a command's option leaves out.
_NOT_GIVEN: Final = {"or null": "or left out"}


class RequestRefusedError(BotError):
    """What was asked for breaks a rule; nothing was stored. Each fault is one sentence on a line of its own."""

    def __init__(self, *faults: str) -> None:
        super().__init__(cut("\n".join(faults), limits.CONTENT))
        self.faults = faults


def checked(spec: type[Spec], values: Mapping[str, object], *, options: Mapping[str, str]) -> Spec:
    """
    Return the spec that the values make; ``options`` is what the person knows its fields as.

    Raises:
        RequestRefusedError: with every fault.
    """
    try:
        return spec.model_validate(dict(values))
    except ValidationError as error:
        faults = [_in_option_names(fault, options) for fault in each_fault(error, spec=spec)]
        raise RequestRefusedError(*faults) from None


def nowhere_notes(settings: "GuildSettings | None", spec: ConfigSpec) -> list[str]:
    """Return what to read where something is to be announced and there is no channel for it."""
    channel = spec.discord_announcement_channel_id or (settings.announcement_channel_id if settings else None)
    if channel is not None or not spec.discord_announcement:
        return []
    return ["There is no channel to announce it in yet: set one with /settings set announcement_channel."]


def given(**fields: object) -> dict[str, object]:
    """Return the fields that an option gave: those that are not None."""
    return {field: value for field, value in fields.items() if value is not None}


def given_or_none(**numbers: int | None) -> dict[str, object]:
    """Return the fields likewise, a number of 0 as None, which is what such a field holds for "no such thing"."""
    return {field: number or None for field, number in numbers.items() if number is not None}


def hours_fields(prefix: str, hours: int | None) -> dict[str, object]:
    """Return a reminder's switch and hours as an option gives them: 0 is off; left out, neither."""
    if hours is None:
        return {}
    return {prefix: True, f"{prefix}_hours": hours} if hours else {prefix: False}


def _in_option_names(fault: str, options: Mapping[str, str]) -> str:
    """Return a fault in the options' names, ready for Discord; what the person typed stands in it as it was typed."""
    names = "|".join(sorted(options, key=len, reverse=True))
    told = re.sub(
        rf"""'[^']*'|"[^"]*"|\b(?P<field>{names})\b|\bor null\b""",
        lambda found: options[found["field"]] if found["field"] else _NOT_GIVEN.get(found[0], found[0]),
        fault,
    )
    return escape(told)
