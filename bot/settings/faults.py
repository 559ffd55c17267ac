"""How a fault of the configuration is worded: where, what was found, what is allowed; one line, never a secret."""

import difflib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from bot.errors import UsageError
from bot.settings.sections import Settings

Key = tuple[str, ...]

# Longer than any right value that is not an address, shorter than any bot token.
_MAX_SHOWN: Final = 40
_MAX_NAME: Final = 64
_MAX_ITEMS: Final = 10
_CREDENTIALS: Final = re.compile(r"://\S*:\S*@|[?&]\w*passw\w*=", re.IGNORECASE)
_SECRETS: Final = (("database", "url"), ("discord_token",))


class ConfigurationError(UsageError):
    """
    The configuration cannot be used.

    ``faults`` are sentences: where, what was found, what is allowed; never a secret. ``str()`` is one a line.
    """

    def __init__(self, faults: tuple[str, ...]) -> None:
        super().__init__("\n".join(faults))
        self.faults = faults


def _keys(model: type[BaseModel], above: Key = ()) -> Iterator[tuple[Key, FieldInfo]]:
    for name, field in model.model_fields.items():
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            yield from _keys(field.annotation, (*above, name))
        elif above:
            yield (*above, name), field


KEYS: Final = dict(_keys(Settings))
SECTIONS: Final = tuple(dict.fromkeys(key[:-1] for key in KEYS))


def wrong_value(where: str, key: Key, value: object) -> str:
    """Return the sentence for a ``value`` that ``key`` may not have; ``where`` names what the operator must mend."""
    hidden = key in _SECRETS and isinstance(value, str)
    return f"{where} is {'a text that is not shown' if hidden else shown(value)}, allowed is {_allowed(key)}."


def wrong_default(key: Key) -> str:
    """Return the sentence for a default that does not fit the value of another key."""
    return f"{dotted(key)} is {shown(KEYS[key].default)} by default, allowed is {_allowed(key)}."


def unknown_key(where: str, key: Key) -> str:
    """Return the sentence for a key or section of the file that no section has, with the likeliest one meant."""
    beside = [name for known in (*SECTIONS, *KEYS) if known[:-1] == key[:-1] and (name := dotted(known))]
    return unknown_name(where, ".".join(key).lower(), [dotted(known) for known in (*SECTIONS, *KEYS)], beside)


def unknown_name(where: str, name: str, known: Iterable[str], beside: Iterable[str] = ()) -> str:
    """Return the sentence for a ``name`` that is not ``known``; ``beside`` are the ones of its own section."""
    close = difflib.get_close_matches(name[:_MAX_NAME], known, 1)
    if close:
        return f"{where} is not a setting, did you mean {close[0]}?"
    return f"{where} is not a setting, allowed is {' or '.join(beside) or 'what config.toml of Tocsin lists'}."


def secret_in_file(where: str, key: Key) -> str:
    """Return the sentence for a secret in the file: it belongs in the environment."""
    return f"{where} holds a secret, allowed in the environment only: take it out and set {variable_for(key)}."


def holds_password(value: object) -> bool:
    """Return whether ``value`` is an address with a password in it; in doubt, yes."""
    return isinstance(value, str) and _CREDENTIALS.search(value) is not None


def variable_for(key: Key) -> str:
    """Return the environment variables that hold what a secret under ``key`` is, judged by its name."""
    name = "_".join(key).lower()
    database = re.search("database|passw", name)
    variable = "ADT_TOKEN" if "adt" in name else "DATABASE_URL" if database else "DISCORD_TOKEN"
    return f"{variable} or {variable}_FILE"


def dotted(key: Key) -> str:
    """Return ``key`` as in ``section.key``, on one line whatever is in it."""
    bare = re.compile(rf"[A-Za-z0-9_-]{{1,{_MAX_NAME}}}")
    return ".".join(part if bare.fullmatch(part) else shown(part) for part in key)


def shown(value: object) -> str:
    """Return ``value`` as an operator would know it again, on one line, and not at all where it may be a secret."""
    match value:
        case str():
            return _shown_text(value)
        case int() if abs(value) > 10**_MAX_SHOWN:
            # Python writes out no integer of more than 4300 digits.
            return "a number too large to show"
        case int() | float():
            return str(value).lower()
        case list() | tuple():
            items = ["a list" if isinstance(item, list) else shown(item) for item in value[:_MAX_ITEMS]]
            return f"[{', '.join(items)}{', ...' if len(value) > _MAX_ITEMS else ''}]"
        case _:
            return "a section" if isinstance(value, Mapping) else f"a {type(value).__name__}"


def _shown_text(text: str) -> str:
    if len(text) > _MAX_SHOWN or holds_password(text):
        return f"a text of {len(text)} characters"
    return json.dumps(text, ensure_ascii=not text.isprintable())


def _allowed(key: Key) -> str:
    if key in SECTIONS:
        return f"a section [{dotted(key)}] with keys"
    return (KEYS.get(key) or Settings.model_fields[key[0]]).description or ""
