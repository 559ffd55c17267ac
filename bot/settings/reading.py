"""Where the settings come from: the environment, over config.toml, over the defaults."""

import json
import os
import re
import stat
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple, get_origin

from pydantic import TypeAdapter, ValidationError
from pydantic.fields import FieldInfo
from pydantic_settings import InitSettingsSource

from bot.settings import faults as say
from bot.settings.faults import KEYS, SECTIONS, ConfigurationError, Key
from bot.settings.sections import Settings

DEFAULT_PATH: Final = Path("config.toml")
MAX_FILE_BYTES: Final = 1_000_000

_PREFIX: Final = "TOCSIN__"
_MAX_FAULTS: Final = 100
# A section in a section: as deep as any key lies.
_DEEPEST_SECTION: Final = 2
_VARIABLES: Final = {_PREFIX + "__".join(key).upper(): key for key in KEYS}
_SECRET_VARIABLES: Final = {"DATABASE_URL": ("database", "url"), "DISCORD_TOKEN": ("discord_token",)}
_SECRET_NAME: Final = re.compile(r"token|passw|secret|api_?key", re.IGNORECASE)


class _UnreadableError(Exception):
    """A file cannot be read; ``str()`` ends the sentence that its name begins."""


class _Given(NamedTuple):
    """A value of the environment, with the variable that the operator would have to mend."""

    variable: str
    value: object


def load_settings(path: Path | None = None, environ: Mapping[str, str] | None = None) -> Settings:
    """
    Read the settings: the environment over the file over the defaults.

    Without ``path``, ``config.toml`` of the working directory is read if it is there; a file that was named must be.
    ``environ`` is the process's own where None. ``DATABASE_URL`` beats ``TOCSIN__DATABASE__URL``; an empty secret
    counts as not set, and spaces and line breaks around one are dropped.

    Raises:
        ConfigurationError: with every fault of the file and the environment; of more than 100, the first 100.
    """
    faults: list[str] = []
    given = _environment(os.environ if environ is None else environ, faults)
    where = path or DEFAULT_PATH
    missing = path is None and not (where.exists() or where.is_symlink())
    table = {} if missing else _file(where, faults)
    faults.extend(say.secret_in_file(f"{where}: {say.dotted(key)}", key) for key in _secrets_taken_out_of(table))
    settings, wrong = _settings(given, table)
    faults.extend(_fault(key, given, table, where) for key in wrong[:_MAX_FAULTS])
    if settings is None or faults:
        unsaid = len(faults) + len(wrong[_MAX_FAULTS:]) - _MAX_FAULTS
        raise ConfigurationError((*faults[:_MAX_FAULTS], *([f"Not named: {unsaid} more."] if unsaid > 0 else [])))
    return settings


def _settings(given: Mapping[Key, _Given], table: dict[str, Any]) -> tuple[Settings | None, list[Key]]:
    """Return the settings, or None and the keys that are wrong."""
    over: dict[str, Any] = {}
    for key, (_, value) in given.items():
        section = over
        for part in key[:-1]:
            section = section.setdefault(part, {})
        section[key[-1]] = value
    # Not as keyword arguments: a key of the file could then be one of the library's own, such as _env_file.
    layers = (InitSettingsSource(Settings, over), InitSettingsSource(Settings, table))
    arguments: dict[str, Any] = {"_build_sources": (layers, {})}
    try:
        return Settings(**arguments), []
    except ValidationError as error:
        places = [fault["loc"] for fault in error.errors(include_url=False, include_context=False, include_input=False)]
    return None, list(dict.fromkeys(map(_key_of, places)))


def _key_of(place: Iterable[int | str]) -> Key:
    """Return the key that a place inside its value belongs to."""
    parts = tuple(map(str, place))
    return next((parts[:depth] for depth in range(1, len(parts)) if parts[:depth] in KEYS), parts)


def _fault(key: Key, given: Mapping[Key, _Given], table: Mapping[str, object], where: Path) -> str:
    if key in given:
        return say.wrong_value(given[key].variable, key, given[key].value)
    value: object = table
    for part in key:
        if not isinstance(value, Mapping) or part not in value:
            return say.wrong_default(key)
        value = value[part]
    name = f"{where}: {say.dotted(key)}"
    return say.wrong_value(name, key, value) if key in KEYS or key in SECTIONS else say.unknown_key(name, key)


def _environment(environ: Mapping[str, str], faults: list[str]) -> dict[Key, _Given]:
    given: dict[Key, _Given] = {}
    for variable, text in sorted(environ.items()):
        if key := _VARIABLES.get(variable):
            given[key] = _Given(variable, _meant(text, KEYS[key]))
        elif variable.startswith(_PREFIX):
            name = say.dotted((variable,))
            known = [say.variable_for((variable,))] if _SECRET_NAME.search(variable) else []
            faults.append(say.unknown_name(name, variable.upper(), () if known else _VARIABLES, known))
    for variable, key in _SECRET_VARIABLES.items():
        if secret := _secret(variable, environ, faults):
            given[key] = secret
    return given


def _meant(text: str, field: FieldInfo) -> object:
    """Return what an environment's text stands for; the text itself, to be refused, where it stands for nothing."""
    try:
        if get_origin(field.annotation) is tuple:
            return json.loads(text)
        if field.annotation in {int, float, bool}:
            return TypeAdapter(field.annotation).validate_strings(text, strict=False)
    except (ValueError, RecursionError):
        return text
    return text


def _secret(variable: str, environ: Mapping[str, str], faults: list[str]) -> _Given | None:
    direct, path = environ.get(variable, "").strip(), environ.get(f"{variable}_FILE", "").strip()
    if direct and path:
        faults.append(f"{variable} and {variable}_FILE are both set, allowed is one of them.")
    if direct or not path:
        return _Given(variable, direct) if direct else None
    try:
        if text := _text_of(Path(path)).strip():
            return _Given(f"{variable}_FILE", text)
        reason = "is empty, allowed is a file that holds the secret"
    except _UnreadableError as unreadable:
        reason = str(unreadable)
    # The path is shown as a value is: a token pasted where a path belongs must stay hidden.
    faults.append(f"{variable}_FILE names {say.shown(path)}, which {reason}.")
    return None


def _file(path: Path, faults: list[str]) -> dict[str, Any]:
    try:
        return tomllib.loads(_text_of(path))
    except _UnreadableError as unreadable:
        faults.append(f"{path} {unreadable}.")
    except RecursionError:
        faults.append(f"{path} nests its values too deeply to be read, allowed is [section] and key = value.")
    except ValueError as error:
        # The rest of the message may quote the file.
        place = re.search(r"line \d+, column \d+|end of document", str(error))
        faults.append(f"{path} is not valid TOML at {place[0] if place else 'an unknown place'}, allowed is TOML 1.0.")
    return {}


def _text_of(path: Path) -> str:
    """Return the text of a regular file of at most 1 MB, or raise _UnreadableError."""
    try:
        mode = path.stat().st_mode
        # Opening a pipe would wait for its writer.
        content = _start_of(path) if stat.S_ISREG(mode) else None
    except FileNotFoundError:
        raise _UnreadableError("does not exist") from None
    except (OSError, ValueError) as error:
        raise _UnreadableError(f"cannot be read ({getattr(error, 'strerror', error)})") from None
    if content is None:
        raise _UnreadableError(f"is {'a directory' if stat.S_ISDIR(mode) else 'a device or pipe'}, allowed is a file")
    if len(content) > MAX_FILE_BYTES:
        raise _UnreadableError("is larger than 1 MB, allowed is less")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise _UnreadableError(f"is not UTF-8 text in line {line}, allowed is UTF-8") from None


def _start_of(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(MAX_FILE_BYTES + 1)


def _secrets_taken_out_of(table: dict[str, Any], above: Key = ()) -> Iterator[Key]:
    """Remove what must not stand in the file and name the key of each."""
    for name, value in list(table.items()):
        key = (*above, name)
        if _SECRET_NAME.search(name) or (key == ("database", "url") and say.holds_password(value)):
            del table[name]
            yield key
        elif isinstance(value, dict) and len(key) <= _DEEPEST_SECTION:
            yield from _secrets_taken_out_of(value, key)
