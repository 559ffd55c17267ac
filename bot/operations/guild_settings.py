"""What a server's admins set up: its time zone, channels, manager role, profile fields. A change has its audit row."""

import datetime as dt
import hashlib
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final

from bot import audit
from bot.errors import BotError
from bot.events.posts import mark_places_changed
from bot.events.profiles import DEFAULT_LENGTH, MOST_FIELDS
from bot.events.series import ensure_guild
from bot.message.escaping import escape
from bot.message.folding import folded
from bot.message.limits import length
from bot.times.known_timezones import known_timezones
from bot.times.typed_time import shown
from bot.transactions import atomic
from models.guild_settings import GuildSettings

MAX_LABEL: Final = 45
"""What Discord shows of an input's label in a form."""

MAX_ANSWER: Final = 300
_LONGEST_STEM: Final = 32
_DIGEST: Final = 8
_WORD: Final = re.compile(r"[a-z0-9]+")


class SettingsRefusedError(BotError):
    """A setting that cannot be taken; nothing was changed."""


class Clearable(StrEnum):
    """A setting that can be taken back, by the name of its column."""

    ANNOUNCEMENT_CHANNEL = "announcement_channel_id"
    OPS_CHANNEL = "ops_channel_id"
    MANAGER_ROLE = "manager_role_id"


@dataclass(frozen=True, slots=True)
class FieldChange:
    """
    A profile field to add, or to change if there is one of that label.

    None leaves what is known of it as it is; a new one is not required and takes 100 characters.
    """

    label: str
    required: bool | None = None
    max_length: int | None = None


@dataclass(frozen=True, slots=True)
class SettingsChange:
    """What an admin asks for; None leaves a setting as it is. ``remove_field`` is a profile field's key or label."""

    timezone: str | None = None
    announcement_channel_id: int | None = None
    ops_channel_id: int | None = None
    manager_role_id: int | None = None
    profile_field: FieldChange | None = None
    remove_field: str | None = None
    clear: Clearable | None = None

    @property
    def is_empty(self) -> bool:
        """Whether nothing was asked for."""
        return self == SettingsChange()


@dataclass(frozen=True, slots=True)
class SettingsView:
    """A server's settings as they stand."""

    timezone: str
    announcement_channel_id: int | None = None
    ops_channel_id: int | None = None
    manager_role_id: int | None = None
    profile_fields: Sequence[Mapping[str, object]] = field(default=())


async def settings_of(guild_id: int, *, default_timezone: str) -> SettingsView:
    """Return a server's settings; what they would be where it has set up nothing."""
    settings = await GuildSettings.get_or_none(guild_id=guild_id)
    return _view(settings) if settings is not None else SettingsView(default_timezone)


async def search_fields(typed: str, *, guild_id: int) -> list[tuple[str, str]]:
    """Return key and label of the server's profile fields whose label holds what was typed."""
    settings = await GuildSettings.get_or_none(guild_id=guild_id)
    fields = settings.profile_fields if settings is not None else []
    named = [(str(one["key"]), str(one["label"])) for one in fields]
    return [(key, label) for key, label in named if folded(typed) in folded(label)]


async def change_settings(
    change: SettingsChange, *, guild_id: int, actor: int | None, default_timezone: str, now: dt.datetime
) -> tuple[SettingsView, SettingsView]:
    """
    Set what is asked for, and return the settings before and after; the same again changes nothing.

    ``actor`` None: the operator, by the command line. Part of the caller's transaction if there is one.

    Raises:
        SettingsRefusedError: it cannot be taken; nothing was changed.
    """
    _check(change, guild_id)

    async def _unit() -> tuple[SettingsView, SettingsView]:
        _ = await ensure_guild(guild_id, timezone=default_timezone)
        settings = await GuildSettings.filter(guild_id=guild_id).select_for_update().get()
        before = _view(settings)
        after = _changed(before, change)
        columns = [name for name in _COLUMNS if getattr(before, name) != getattr(after, name)]
        if columns:
            for name in columns:
                setattr(settings, name, _stored(getattr(after, name)))
            await settings.save(update_fields=columns)
            if before.announcement_channel_id != after.announcement_channel_id:
                await mark_places_changed(guild_id, now=now)
            await audit.record(
                "settings.edit",
                guild_id=guild_id,
                actor_user_id=actor,
                now=now,
                before={name: _stored(getattr(before, name)) for name in columns},
                after={name: _stored(getattr(after, name)) for name in columns},
            )
        return before, after

    return await atomic(_unit)


_COLUMNS: Final = ("timezone", "announcement_channel_id", "ops_channel_id", "manager_role_id", "profile_fields")


def _view(settings: GuildSettings) -> SettingsView:
    return SettingsView(
        timezone=settings.timezone,
        announcement_channel_id=settings.announcement_channel_id,
        ops_channel_id=settings.ops_channel_id,
        manager_role_id=settings.manager_role_id,
        profile_fields=tuple(dict(one) for one in settings.profile_fields),
    )


def _stored(value: object) -> object:
    return [dict(one) for one in value] if isinstance(value, tuple) else value


def _check(change: SettingsChange, guild_id: int) -> None:
    """Refuse what no server could take."""
    if change.is_empty:
        raise SettingsRefusedError("Name at least one setting to change.")
    if change.timezone is not None and change.timezone not in known_timezones():
        raise SettingsRefusedError(
            f"timezone {shown(change.timezone)} is not known; choose one from the list, such as Europe/London."
        )
    if change.manager_role_id == guild_id:
        raise SettingsRefusedError("@everyone cannot be the manager role: everybody would be an admin of this bot.")
    for name in Clearable:
        if change.clear is name and getattr(change, name.value) is not None:
            raise SettingsRefusedError(f"Either set {_words(name)} or clear it, not both.")
    if change.profile_field is not None:
        _check_field(change.profile_field)


def _check_field(asked: FieldChange) -> None:
    if not asked.label:
        raise SettingsRefusedError("profile_required and profile_max_length are about a profile_field: name it too.")
    label = asked.label.strip()
    if not label or not label.isprintable() or not any(char.isalnum() for char in label):
        raise SettingsRefusedError(
            f"profile_field must be a label of 1 to {MAX_LABEL} characters on one line, with a letter or digit in it"
            " and nothing invisible."
        )
    if length(label) > MAX_LABEL:
        raise SettingsRefusedError(
            f"profile_field {shown(label)} has {length(label)} characters as Discord counts them; at most {MAX_LABEL}"
            " are allowed."
        )
    if asked.max_length is not None and not 1 <= asked.max_length <= MAX_ANSWER:
        raise SettingsRefusedError(f"profile_max_length must be a whole number from 1 to {MAX_ANSWER}.")


def _words(name: Clearable) -> str:
    return f"the {name.value.removesuffix('_id').replace('_', ' ')}"


def _changed(before: SettingsView, change: SettingsChange) -> SettingsView:
    after = replace(
        before,
        timezone=change.timezone or before.timezone,
        announcement_channel_id=change.announcement_channel_id or before.announcement_channel_id,
        ops_channel_id=change.ops_channel_id or before.ops_channel_id,
        manager_role_id=change.manager_role_id or before.manager_role_id,
    )
    match change.clear:
        case Clearable.ANNOUNCEMENT_CHANNEL:
            after = replace(after, announcement_channel_id=None)
        case Clearable.OPS_CHANNEL:
            after = replace(after, ops_channel_id=None)
        case Clearable.MANAGER_ROLE:
            after = replace(after, manager_role_id=None)
        case None:
            pass
    if change.remove_field is not None:
        after = replace(after, profile_fields=_without(after.profile_fields, change.remove_field))
    if change.profile_field is not None:
        after = replace(after, profile_fields=_with(after.profile_fields, change.profile_field))
    return after


def _without(fields: Sequence[Mapping[str, object]], named: str) -> tuple[Mapping[str, object], ...]:
    # A key first: that is what the list gives, and another field's label may read like it.
    found = next((one for one in fields if one["key"] == named), None) or _of_label(fields, named)
    if found is None:
        raise SettingsRefusedError(f"There is no profile field {shown(named)}; choose one from the list.")
    return tuple(one for one in fields if one is not found)


def _of_label(fields: Sequence[Mapping[str, object]], label: str) -> Mapping[str, object] | None:
    return next((one for one in fields if folded(str(one["label"])) == folded(label)), None)


def _with(fields: Sequence[Mapping[str, object]], asked: FieldChange) -> tuple[Mapping[str, object], ...]:
    label = asked.label.strip()
    known = _of_label(fields, label)
    if known is None and len(fields) >= MOST_FIELDS:
        raise SettingsRefusedError(
            f"There are {MOST_FIELDS} profile fields already, which is what a form of Discord holds; remove one first."
        )
    base = known or {"key": _key_of(label)}
    wanted = {
        "key": base["key"],
        "label": label,
        "required": base.get("required", False) if asked.required is None else asked.required,
        "max_length": base.get("max_length", DEFAULT_LENGTH) if asked.max_length is None else asked.max_length,
    }
    return tuple(wanted if one is known else one for one in fields) + (() if known is not None else (wanted,))


def _key_of(label: str) -> str:
    """
    Return the key of a label, at most 41 characters; the same label gives it again, so that answers are found.

    Another label gives another, so that nobody's answer to one question is taken for an answer to the next.
    """
    words = _WORD.findall(unicodedata.normalize("NFKD", label).casefold())
    stem = "_".join(words)[:_LONGEST_STEM].strip("_")
    if stem and stem.replace("_", " ") == folded(label):
        return stem
    # The words leave something out, all of it where the script has other letters.
    digest = hashlib.sha256(folded(label).encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST]
    return f"{stem or 'field'}_{digest}"


def described(view: SettingsView) -> str:
    """Return the settings in words, ready for Discord."""
    channel, ops, role = view.announcement_channel_id, view.ops_channel_id, view.manager_role_id
    gone = "" if view.timezone in known_timezones() else ": not known any more, set another one"
    lines = [
        f"Time zone: {escape(view.timezone)}{gone}",
        f"Announcements: {f'<#{channel}>' if channel else 'nowhere: set announcement_channel'}",
        f"Trouble is told in: {f'<#{ops}>' if ops else 'the log alone: set ops_channel'}",
        f"Manager role: {f'<@&{role}>' if role else 'none: only people with Manage Server are admins'}",
        "Profile fields: " + (", ".join(_field(one) for one in view.profile_fields) or "none"),
    ]
    return "\n".join(lines)


def _field(one: Mapping[str, object]) -> str:
    kind = "required" if one.get("required", False) else "optional"
    return f"{escape(str(one['label']))} ({kind}, up to {one.get('max_length', DEFAULT_LENGTH)})"


def confirmation(before: SettingsView, after: SettingsView) -> str:
    """Return what an admin reads after a change, or that there was none."""
    if before == after:
        return f"Nothing changed: it is set so already.\n{described(after)}"
    lines = ["Saved.", described(after)]
    if before.timezone != after.timezone:
        lines.append("Times are typed in the new zone from now on; series and events that exist keep theirs.")
    return "\n".join(lines)
