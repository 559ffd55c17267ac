"""What ended a command, as its exit code and the one sentence on stderr."""

import secrets
from typing import Final

import structlog
from cyclopts import CycloptsError

from bot.errors import BotError, UsageError
from bot.transactions import DATABASE_ERRORS

_log = structlog.get_logger(__name__)

USAGE_ERROR: Final = 2
INTERRUPTED: Final = 130


def explained(error: BaseException) -> tuple[int, str]:  # noqa: PLR0911 -- one return per kind
    """Return the exit code and the one sentence for what ended a command; empty where nobody needs to be told."""
    if isinstance(error, CycloptsError):
        return USAGE_ERROR, f"{str(error).rstrip()} See `tocsin --help`."
    if isinstance(error, BotError):
        return USAGE_ERROR if isinstance(error, UsageError) else 1, str(error)
    if isinstance(error, KeyboardInterrupt):
        return INTERRUPTED, ""
    if isinstance(error, BrokenPipeError):
        return 1, ""  # whoever read the output has what it wanted
    if isinstance(error, DATABASE_ERRORS):
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
        return 1, f"Stopped: {reason}. What was under way is undone, or repaired at the next start."
    reference = secrets.token_hex(4)
    _log.error("command_failed", reference=reference, exc_info=error)
    return 1, f"Tocsin failed in a way it does not know; the log has it under {reference}."
