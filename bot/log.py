"""
The log: one event at a time on one stream, as console text or JSON lines, with every secret hidden.

Modules call ``structlog.get_logger(__name__)``; after ``configure_logging`` it and the standard library's loggers
(discord.py's, Tortoise's) end in the same handler. Each field is made plain data and searched for secrets before
anything is rendered, so that no renderer and no quoting can let one through.
"""

import datetime as dt
import logging
import re
import sys
import traceback
from collections.abc import Collection, Mapping
from collections.abc import Set as AbstractSet
from json import dumps
from typing import Final, Literal, TextIO
from urllib.parse import quote

import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

from bot.transactions import own_trouble

HIDDEN: Final = "[hidden]"
SHORTEST_SECRET: Final = 6

# What these say below the level named holds SQL parameters, message texts and tokens: not even for debugging.
_QUIET: Final = {
    "aiosqlite": logging.INFO,
    "asyncpg": logging.INFO,
    "discord": logging.INFO,
    "pydantic_settings": logging.INFO,
    "tortoise": logging.INFO,
}
_DEEPEST: Final = 8
_SECRET_FIELDS: Final = frozenset({"adt_token", "authorization", "discord_token", "password", "secret", "token"})
_PART: Final = r"[A-Za-z0-9_-]"
_PATTERNS: Final = (
    # A bot token: id, time and signature in base64url. The look-behind keeps the search linear.
    (re.compile(rf"(?<!{_PART}){_PART}{{18,}}\.{_PART}{{5,}}\.{_PART}{{20,}}"), HIDDEN),
    # A password in an address, up to the last @ of the word: passwords are pasted unquoted.
    (re.compile(r"(://[^\s/:@]*:)\S{1,1024}@"), rf"\1{HIDDEN}@"),
    (re.compile(r"([?&]\w{0,32}(?:password|token)=)[^\s&'\"]+", re.IGNORECASE), rf"\1{HIDDEN}"),
    # discord.py names the address in its warnings, and an interaction's or webhook's address is its token.
    (re.compile(rf"(/(?:interactions|webhooks)/\d+/){_PART}+"), rf"\1{HIDDEN}"),
)
_WRITABLE: Final = re.compile(r"None|True|False|-?[\d.]+(e[+-]\d+)?")
_TRACEBACKS: Final = ("exception", "stack")
# Whose errors quote what stood in a row or a message; PostgreSQL's go on to quote the row on lines of their own.
_QUOTING: Final = frozenset({"asyncpg", "discord", "pydantic", "sqlite3", "tortoise"})
_SAYS_ROWS: Final = frozenset({"asyncpg", "tortoise"})
# The names of columns and constraints, which are no secret, stand in double quotes without a colon before them.
_QUOTED: Final = re.compile(r"""'[^\n]*'|(?<=: )"[^\n]*"|(?<=Value )"[^\n]*\"""")
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")

_secrets: set[str] = set()


class _Handler(logging.StreamHandler[TextIO]):
    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802  the standard library's name
        # The standard library would print the record's arguments here, past the filter.
        sys.stderr.write(f"A log record of {record.name} could not be written.\n")


def hide_secret(value: str) -> None:
    """
    Show ``value`` as ``[hidden]`` in every later event, also where it is quoted, escaped or part of a longer text.

    Values under 6 characters are not registered: they would hide half the log. Registering twice is harmless.
    """
    if len(value) >= SHORTEST_SECRET:
        quoted = (repr(value)[1:-1], dumps(value)[1:-1], dumps(value, ensure_ascii=False)[1:-1])
        _secrets.update({value, *quoted, quote(value), quote(value, safe="")})


def configure_logging(
    level: Literal["debug", "info", "warning", "error", "critical"],
    format: Literal["console", "json"],  # noqa: A002  the configuration key's name
    stream: TextIO | None = None,
) -> None:
    """
    Route structlog and the standard library's logging to ``stream``, stderr where None; a later call replaces it.

    A console event is one line, and a traceback after it on indented lines; a JSON event is one line with all. Times
    are ISO 8601 in UTC. discord.py and the database libraries say nothing below info at any level: their debug
    records hold parameters, message texts and tokens.
    """
    target = stream or sys.stderr
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            database_trouble_in_words,
            *shared,
            structlog.processors.StackInfoRenderer(),
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
    )
    handler = _Handler(target)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                structlog.processors.ExceptionRenderer(_traceback),
                keep_secrets,
                *_renderers(format, target),
            ],
        )
    )
    _set_loggers(handler, logging.getLevelNamesMapping()[level.upper()])


def database_trouble_in_words(_logger: WrappedLogger, _method: str, event_dict: EventDict) -> EventDict:
    """Say why the database is of no use instead of showing where: its tracebacks would bury everything else."""
    error = sys.exc_info()[1] if event_dict.get("exc_info") is True else None
    if error is not None and (why := own_trouble(error)) is not None:
        del event_dict["exc_info"]
        event_dict["database"] = why
    return event_dict


def keep_secrets(_logger: WrappedLogger, _method: str, event_dict: EventDict) -> EventDict:
    """
    Return the event as plain data without a secret: the last processor before the renderer.

    Hidden are registered values, whatever is named or looks like a token, and passwords in addresses.
    """
    return {_hidden(str(name)): _plain(value, name=str(name)) for name, value in event_dict.items()}


def _traceback(exc_info: structlog.typing.ExcInfo) -> str:
    """Return a traceback, in which errors that quote rows and messages say what went wrong and not with which text."""
    shown = traceback.TracebackException(*exc_info)
    waiting = [(exc_info[1], shown)]
    while waiting:
        error, told = waiting.pop()
        if (library := type(error).__module__.partition(".")[0]) in _QUOTING:
            text = str(error).partition("\n")[0] if library in _SAYS_ROWS else str(error)
            # What the standard library prints after the error's name.
            vars(told)["_str"] = _QUOTED.sub(HIDDEN, text)
        inner = [(error.__cause__, told.__cause__), (error.__context__, told.__context__)]
        waiting += [(cause, its) for cause, its in inner if cause is not None and its is not None]
        if isinstance(error, BaseExceptionGroup):
            waiting += zip(error.exceptions, told.exceptions or (), strict=False)
    return "".join(shown.format()).rstrip("\n")


def _set_loggers(handler: logging.Handler, level: int) -> None:
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    for name, floor in _QUIET.items():
        logger = logging.getLogger(name)
        logger.handlers.clear()
        logger.setLevel(max(level, floor))
        logger.propagate = True


def _renderers(form: str, stream: TextIO) -> tuple[Processor, ...]:
    if form == "json":
        return (structlog.processors.JSONRenderer(),)
    return (_on_one_line, structlog.dev.ConsoleRenderer(colors=stream.isatty()))


def _on_one_line(_logger: WrappedLogger, _method: str, event_dict: EventDict) -> EventDict:
    """Escape control characters and indent tracebacks, so that no text can forge a second event."""
    for name, value in event_dict.items():
        if isinstance(value, str):
            lines = value.split("\n") if name in _TRACEBACKS else [value]
            indent = "    " if name in _TRACEBACKS else ""
            event_dict[name] = "\n".join(indent + _CONTROL.sub(_escaped, line) for line in lines)
    return event_dict


def _escaped(control: re.Match[str]) -> str:
    return repr(control[0])[1:-1]


def _plain(value: object, *, name: str = "", depth: int = 0) -> object:
    if name.lower() in _SECRET_FIELDS and value is not None:
        return HIDDEN
    if isinstance(value, (Mapping, list, tuple, AbstractSet)):
        return _plain_items(value, depth) if depth < _DEEPEST else "..."
    if value is None or isinstance(value, (bool, int, float)):
        return _plain_number(value)
    return _hidden(_text(value))


def _plain_items(value: Mapping[object, object] | Collection[object], depth: int) -> object:
    if isinstance(value, Mapping):
        return {_hidden(_text(key)): _plain(item, name=_text(key), depth=depth + 1) for key, item in value.items()}
    return [_plain(item, depth=depth + 1) for item in value]


def _plain_number(value: float | None) -> object:
    text = _text(value)
    # A numeric secret is one too, JSON has no word for nan and inf, and Python writes out no huge integer.
    return value if text == _hidden(text) and _WRITABLE.fullmatch(text) else _hidden(text)


def _text(value: object) -> str:
    try:
        match value:
            case dt.datetime():
                return value.isoformat()
            case BaseException() | bytes():
                return repr(value)
            case _:
                return str(value)
    except Exception as error:  # noqa: BLE001  a foreign __str__ must not cost the event
        return f"<{type(value).__name__} that cannot be shown: {type(error).__name__}>"


def _hidden(text: str) -> str:
    # The longest first: a secret may be part of another.
    for secret in sorted(_secrets, key=len, reverse=True):
        text = text.replace(secret, HIDDEN)
    for pattern, instead in _PATTERNS:
        text = pattern.sub(instead, text)
    return text
