"""
What people tell a server about themselves, and how they want to be dealt with: the only writer of ``PlayerProfile``.

The server says what it asks (``GuildSettings.profile_fields``); a form that is handed in is stored whole or not at all,
and then holds what the form showed and nothing else.
"""

import datetime as dt
import unicodedata
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import structlog

from bot.errors import BotError
from bot.events.series_fields import BLANK
from bot.message.escaping import escape
from bot.message.limits import length
from bot.transactions import atomic
from models.guild_settings import GuildSettings
from models.player_profile import PlayerProfile

_log = structlog.get_logger(__name__)

MOST_FIELDS: Final = 5
"""How many inputs a form of Discord takes."""

LONGEST_LINE: Final = 100
"""A field that takes more is asked for in several lines."""

LONGEST_VALUE: Final = 4_000
"""What one input of a form takes at most."""

DEFAULT_LENGTH: Final = 100
"""How long an answer may be where the server says nothing of it."""

# Few enough for the parameters of one statement on either database.
_AT_ONCE = 10_000
_INVISIBLE = frozenset({"Cf", "Mn", "Me", "Zs", "Zl", "Zp"})
_SPOILS_A_LINE = frozenset({"Cc", "Cs", "Zl", "Zp"})


@dataclass(frozen=True, slots=True)
class ProfileField:
    """One thing that a server asks; ``max_length`` counts as Discord does, an emoji as two."""

    key: str
    label: str
    required: bool = False
    max_length: int = DEFAULT_LENGTH

    @property
    def is_long(self) -> bool:
        """Whether it is asked for in several lines."""
        return self.max_length > LONGEST_LINE


@dataclass(frozen=True, slots=True)
class Profile:
    """What a server asks and what a person answered so far, by the fields' keys."""

    fields: tuple[ProfileField, ...]
    values: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Preferences:
    """
    How a person wants to be dealt with in one server.

    ``timezone`` None: by the server's clock. ``kinds_off`` are the kinds of DM that they do not want, ``series_off``
    the series of which they want none.
    """

    timezone: str | None = None
    kinds_off: frozenset[str] = frozenset()
    series_off: frozenset[int] = frozenset()


class NoProfileFieldsError(BotError):
    """The server asks nothing."""

    def __init__(self) -> None:
        super().__init__("This server asks for no profile, so there is nothing to fill in.")


class OutdatedFormError(BotError):
    """The server asks something else than the form that was handed in."""

    def __init__(self) -> None:
        super().__init__(
            "This server changed what it asks while you were writing, so nothing was saved: open `/profile` again."
        )


class ProfileRefusedError(BotError):
    """Values that cannot be stored; each has a line."""

    def __init__(self, faults: Sequence[str]) -> None:
        super().__init__("\n".join(["Nothing was saved; mend this and hand it in again:", *faults]))
        self.faults = tuple(faults)


async def fields_of(guild_id: int) -> tuple[ProfileField, ...]:
    """Return what a server asks, in its order, at most five fields; none where it is not known."""
    settings = await GuildSettings.get_or_none(guild_id=guild_id)
    return _fields(settings) if settings is not None else ()


def _fields(settings: GuildSettings) -> tuple[ProfileField, ...]:
    return tuple(
        ProfileField(
            key=str(raw["key"]),
            label=str(raw["label"]),
            required=bool(raw.get("required", False)),
            max_length=_bounded(raw.get("max_length", DEFAULT_LENGTH)),
        )
        for raw in settings.profile_fields[:MOST_FIELDS]
    )


def _bounded(most: object) -> int:
    return min(max(most, 1), LONGEST_VALUE) if isinstance(most, int) else DEFAULT_LENGTH


async def profile_of(user_id: int, *, guild_id: int) -> Profile:
    """
    Return what the person's form shows.

    Raises:
        NoProfileFieldsError: the server asks nothing.
    """
    fields = await fields_of(guild_id)
    if not fields:
        raise NoProfileFieldsError
    row = await PlayerProfile.get_or_none(guild_id=guild_id, user_id=user_id)
    known = row.field_values if row is not None else {}
    return Profile(fields, {field.key: known[field.key] for field in fields if field.key in known})


async def save(values: Mapping[str, str], *, guild_id: int, user_id: int, now: dt.datetime) -> str:
    """
    Store what was handed in, by the fields' keys, all of it or nothing; return the sentence to show.

    Raises:
        NoProfileFieldsError, OutdatedFormError: the server asks nothing, or something else by now.
        ProfileRefusedError: a value is too long, holds control characters, or is blank and must not be.
    """

    async def _unit() -> None:
        # Held, so that of two forms at once one comes first, and the fields stay as they are.
        settings = await GuildSettings.filter(guild_id=guild_id).select_for_update(no_key=True).first()
        fields = _fields(settings) if settings is not None else ()
        if not fields:
            raise NoProfileFieldsError
        stored = _checked(fields, values)
        row = await _held(user_id, guild_id, now)
        row.field_values, row.updated_at = stored, now
        await row.save(update_fields=["field_values", "updated_at"])

    await atomic(_unit)
    _log.info("profile_saved", guild=guild_id, user=user_id)
    return "Your profile for this server is saved. `/profile` shows and changes it."


def _checked(fields: Sequence[ProfileField], values: Mapping[str, str]) -> dict[str, str]:
    """Return the values to store: stripped, and without those that were left blank."""
    if set(values) != {field.key for field in fields}:
        raise OutdatedFormError
    clean = {field.key: _stripped(values[field.key]) for field in fields}
    faults = [f"{escape(field.label)} {why}." for field in fields if (why := _fault(field, clean[field.key]))]
    if faults:
        raise ProfileRefusedError(faults)
    return {key: value for key, value in clean.items() if value}


def _stripped(value: str) -> str:
    text = value.replace("\r\n", "\n").strip()
    return "" if _shows_nothing(text) else text


def _shows_nothing(text: str) -> bool:
    return all(unicodedata.category(char) in _INVISIBLE or char in BLANK for char in text)


def _fault(field: ProfileField, value: str) -> str | None:
    if field.required and not value:
        return "must not be left blank"
    allowed = "\n\t" if field.is_long else ""
    for char in value:
        if unicodedata.category(char) in _SPOILS_A_LINE and char not in allowed:
            return f"holds the control character U+{ord(char):04X}, which is not allowed"
    if (found := length(value)) > field.max_length:
        return (
            f"has {found} characters as Discord counts them (an emoji is two); at most {field.max_length} are allowed"
        )
    return None


async def _held(user_id: int, guild_id: int, now: dt.datetime) -> PlayerProfile:
    """Return the person's row, made where there is none, and held until the transaction ends."""
    empty = PlayerProfile(guild_id=guild_id, user_id=user_id, updated_at=now)
    await PlayerProfile.bulk_create([empty], ignore_conflicts=True)
    return await PlayerProfile.filter(guild_id=guild_id, user_id=user_id).select_for_update().get()


async def preferences_of(user_id: int, *, guild_id: int) -> Preferences:
    """Return what a person prefers in a server; of whom nothing is known, the defaults."""
    row = await PlayerProfile.get_or_none(guild_id=guild_id, user_id=user_id)
    return _preferences(row) if row is not None else Preferences()


async def prefer(
    change: Callable[[Preferences], Preferences], *, guild_id: int, user_id: int, now: dt.datetime
) -> tuple[Preferences, Preferences]:
    """Store what ``change`` makes of a person's preferences, and return those before and after."""

    async def _unit() -> tuple[Preferences, Preferences]:
        row = await _held(user_id, guild_id, now)
        before = _preferences(row)
        after = change(before)
        row.timezone, row.updated_at = after.timezone, now
        row.reminder_opt_outs, row.series_opt_outs = sorted(after.kinds_off), sorted(after.series_off)
        await row.save(update_fields=["timezone", "reminder_opt_outs", "series_opt_outs", "updated_at"])
        return before, after

    return await atomic(_unit)


def _preferences(row: PlayerProfile) -> Preferences:
    return Preferences(row.timezone, frozenset(row.reminder_opt_outs), frozenset(row.series_opt_outs))


async def lacking(guild_id: int, user_ids: Collection[int]) -> set[int]:
    """Return those of the people whose profile lacks something that the server requires; one query for thousands."""
    required = [field.key for field in await fields_of(guild_id) if field.required]
    if not required:
        return set()
    missing, people = set(user_ids), sorted(set(user_ids))
    for start in range(0, len(people), _AT_ONCE):
        some = people[start : start + _AT_ONCE]
        rows = await PlayerProfile.filter(guild_id=guild_id, user_id__in=some).values_list("user_id", "field_values")
        missing -= {user_id for user_id, values in rows if all(values.get(key) for key in required)}
    return missing


async def opted_out(guild_id: int, kind: str, user_ids: Collection[int], *, series_id: int | None = None) -> set[int]:
    """Return those of the people who want no DM of this kind, or none about the series; a query for thousands."""
    out, people = set[int](), sorted(set(user_ids))
    for start in range(0, len(people), _AT_ONCE):
        rows = PlayerProfile.filter(guild_id=guild_id, user_id__in=people[start : start + _AT_ONCE])
        for user, kinds, series in await rows.values_list("user_id", "reminder_opt_outs", "series_opt_outs"):
            if kind in kinds or (series_id is not None and series_id in series):
                out.add(user)
    return out


async def copy_series_opt_outs(series_id: int, *, to_series_id: int, guild_id: int, now: dt.datetime) -> None:
    """Let whoever wants no DM about a series get none about another either; part of the caller's transaction."""
    rows = await PlayerProfile.filter(guild_id=guild_id).values_list("user_id", "series_opt_outs")
    for user in [user for user, series in rows if series_id in series]:
        _ = await prefer(
            lambda before: replace(before, series_off=before.series_off | {to_series_id}),
            guild_id=guild_id,
            user_id=user,
            now=now,
        )
