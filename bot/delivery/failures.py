"""
What Discord's answers mean: by its JSON code first, by the HTTP status second.

Never by the exception's class: 50007 has been seen as 400 and as 403, 40003 as 400, 403 and 429. Source:
03-delivery.md, "Error classes".
"""

import datetime as dt

import aiohttp
import discord

from bot.delivery.request_gate import RequestStoppedError
from bot.leases.failures import ErrorClass, SendError

_BY_CODE: dict[int, ErrorClass] = {
    50007: ErrorClass.RECIPIENT_UNREACHABLE,
    50278: ErrorClass.RECIPIENT_UNREACHABLE,
    10013: ErrorClass.RECIPIENT_UNREACHABLE,
    40003: ErrorClass.OPENING_TOO_FAST,
    20026: ErrorClass.OPENING_TOO_FAST,
    50001: ErrorClass.FORBIDDEN,
    50013: ErrorClass.FORBIDDEN,
    10003: ErrorClass.GONE,
    10004: ErrorClass.GONE,
    10008: ErrorClass.GONE,
    10070: ErrorClass.GONE,
    180000: ErrorClass.GONE,
    30038: ErrorClass.NO_ROOM,
    50035: ErrorClass.INVALID,
}
# No 404: what Discord calls gone has its code, and a bare 404 may come from anybody on the way, as a bare 408 or 499
# does. Nobody is to be given up for it.
_BY_STATUS: dict[int, ErrorClass] = {
    400: ErrorClass.INVALID,
    401: ErrorClass.UNAUTHORIZED,
    403: ErrorClass.FORBIDDEN,
    429: ErrorClass.RATE_LIMITED,
}
UNKNOWN_MESSAGE = 10008
# A block before Discord answers with a page, or with one line such as "error code: 1015"; Discord itself with JSON.
_CDN_PAGES = ("<html", "<!doctype html", "error code: 1")
_INVALID_INTERACTION_TOKEN = 50027
_SERVER_ERROR = 500


def error_class_of(status: int, code: int, text: str) -> ErrorClass:
    """Return the class of one refusal; ``code`` 0: Discord named none; ``text`` is the body where it is not JSON."""
    if code in _BY_CODE:
        return _BY_CODE[code]
    if status in {403, 429} and code == 0 and any(mark in text.lower() for mark in _CDN_PAGES):
        return ErrorClass.CDN_BLOCK
    if status >= _SERVER_ERROR:
        return ErrorClass.OUTAGE
    if code == _INVALID_INTERACTION_TOKEN:
        return ErrorClass.INVALID
    return _BY_STATUS.get(status, ErrorClass.INVALID if code else ErrorClass.OUTAGE)


def send_error(error: BaseException, *, written: bool) -> SendError:
    """
    Return what an exception of the client means for a send.

    ``written``: a request left that Discord did not refuse, which leaves the outcome open whatever came after it: the
    library repeats a request that a 5xx answered, and its last attempt may be refused although the first arrived.
    """
    if isinstance(error, RequestStoppedError):
        return SendError(error.error_class, error.text, retry_after=error.retry_after, may_have_arrived=written)
    if isinstance(error, discord.RateLimited):
        wait = dt.timedelta(seconds=error.retry_after)
        text = "rate limited for longer than 30 s"
        return SendError(ErrorClass.RATE_LIMITED, text, status=429, retry_after=wait, may_have_arrived=written)
    if isinstance(error, discord.HTTPException):
        return _refused(error, written=written)
    kind = ErrorClass.OUTAGE if isinstance(error, (aiohttp.ClientError, OSError, TimeoutError)) else ErrorClass.INVALID
    return SendError(kind, _in_words(error), may_have_arrived=written)


def _in_words(error: BaseException) -> str:
    match error:
        case aiohttp.ClientConnectorError():
            return "Discord could not be reached"
        case TimeoutError():
            return "no answer in time"
        case aiohttp.ClientError() | OSError():
            return f"the connection failed: {type(error).__name__}"
        case _:
            return f"the client failed: {type(error).__name__}"


def _refused(error: discord.HTTPException, *, written: bool) -> SendError:
    kind = error_class_of(error.status, error.code, error.text)
    text = f"{error.status} {error.code}: {error.text}"
    if kind is ErrorClass.OUTAGE:
        text = f"Discord answered {error.status}"
    elif kind is ErrorClass.CDN_BLOCK:
        text = "blocked before Discord: an HTML page instead of an answer"
    return SendError(kind, text, status=error.status, may_have_arrived=written or kind is ErrorClass.OUTAGE)
