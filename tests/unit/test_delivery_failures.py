"""What Discord's answers mean: every row of the error classes, by its JSON code first and the HTTP status second."""

import datetime as dt
import errno
import socket
from dataclasses import dataclass
from types import SimpleNamespace
from typing import cast

import aiohttp
import discord
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.delivery.failures import error_class_of, send_error
from bot.leases.failures import ErrorClass, Verdict

HTML = "<!DOCTYPE html><HTML lang='en'><body>Access denied</body></HTML>"


@dataclass
class Response:
    """What the library's exceptions read of a response."""

    status: int
    reason: str = "as told"


def refusal(status: int, body: dict[str, object] | str | None) -> discord.HTTPException:
    """Return what the library raises for an answer: as its HTTPClient.request does."""
    response = cast("aiohttp.ClientResponse", Response(status))
    if status == 403:
        return discord.Forbidden(response, body)
    if status == 404:
        return discord.NotFound(response, body)
    if status >= 500:
        return discord.DiscordServerError(response, body)
    return discord.HTTPException(response, body)


def coded(status: int, code: int) -> discord.HTTPException:
    return refusal(status, {"code": code, "message": "as Discord says"})


def connector_error() -> aiohttp.ClientConnectorError:
    key = cast("aiohttp.client_reqrep.ConnectionKey", SimpleNamespace(host="discord.com", port=443, ssl=True))
    return aiohttp.ClientConnectorError(key, OSError(errno.ECONNREFUSED, "refused"))


@pytest.mark.parametrize(
    ("status", "code", "expected"),
    [
        (400, 50007, ErrorClass.RECIPIENT_UNREACHABLE),
        (403, 50007, ErrorClass.RECIPIENT_UNREACHABLE),
        (403, 50278, ErrorClass.RECIPIENT_UNREACHABLE),
        (404, 10013, ErrorClass.RECIPIENT_UNREACHABLE),
        (400, 40003, ErrorClass.OPENING_TOO_FAST),
        (403, 40003, ErrorClass.OPENING_TOO_FAST),
        (429, 40003, ErrorClass.OPENING_TOO_FAST),
        (403, 20026, ErrorClass.OPENING_TOO_FAST),
        (403, 50001, ErrorClass.FORBIDDEN),
        (403, 50013, ErrorClass.FORBIDDEN),
        (400, 50013, ErrorClass.FORBIDDEN),
        (403, 160002, ErrorClass.FORBIDDEN),
        (403, 0, ErrorClass.FORBIDDEN),
        (404, 10003, ErrorClass.GONE),
        (404, 10004, ErrorClass.GONE),
        (404, 10008, ErrorClass.GONE),
        (400, 10008, ErrorClass.GONE),
        (400, 50035, ErrorClass.INVALID),
        (400, 50006, ErrorClass.INVALID),
        (400, 0, ErrorClass.INVALID),
        (429, 0, ErrorClass.RATE_LIMITED),
        (429, 20028, ErrorClass.RATE_LIMITED),
        (401, 0, ErrorClass.UNAUTHORIZED),
        (401, 40001, ErrorClass.UNAUTHORIZED),
        (401, 50027, ErrorClass.INVALID),
        (500, 0, ErrorClass.OUTAGE),
        (502, 0, ErrorClass.OUTAGE),
        (503, 0, ErrorClass.OUTAGE),
        (504, 0, ErrorClass.OUTAGE),
        (524, 0, ErrorClass.OUTAGE),
        (500, 50013, ErrorClass.FORBIDDEN),
    ],
)
def test_the_json_code_decides_and_the_status_only_after_it(status: int, code: int, expected: ErrorClass) -> None:
    error = send_error(coded(status, code), written=False)

    assert error.error_class is expected
    assert error.status == status


@pytest.mark.parametrize("status", [403, 429])
@pytest.mark.parametrize("body", [HTML, "error code: 1015"], ids=["a page", "one line"])
def test_a_page_instead_of_an_answer_is_a_block_before_discord(status: int, body: str) -> None:
    error = send_error(refusal(status, body), written=False)

    assert error.error_class is ErrorClass.CDN_BLOCK
    assert error.verdict is Verdict.TRANSIENT
    assert "html" not in error.text.lower().replace("an html page", "")


def test_a_page_that_comes_with_a_server_error_is_an_outage() -> None:
    error = send_error(refusal(502, HTML), written=False)

    assert error.error_class is ErrorClass.OUTAGE


@pytest.mark.parametrize("body", ["", HTML, "no route", {"code": 0, "message": "404: Not Found"}])
@pytest.mark.parametrize("status", [404, 405, 408, 413, 499])
def test_a_refusal_that_discord_does_not_name_comes_from_somebody_on_the_way(
    status: int, body: dict[str, object] | str
) -> None:
    error = send_error(refusal(status, body), written=False)

    assert error.error_class is ErrorClass.OUTAGE
    assert error.verdict is Verdict.UNKNOWN
    assert error.text == f"Discord answered {status}"


def test_a_code_that_the_bot_does_not_know_is_discords_own_refusal() -> None:
    assert send_error(coded(404, 10_015), written=False).error_class is ErrorClass.INVALID


def test_html_that_discord_quotes_back_in_json_is_no_block() -> None:
    error = send_error(refusal(403, {"code": 50013, "message": "<html> is not allowed here"}), written=False)

    assert error.error_class is ErrorClass.FORBIDDEN


def test_a_bare_404_does_not_say_that_anything_is_gone() -> None:
    error = send_error(refusal(404, "404 page not found"), written=False)

    assert error.error_class is ErrorClass.OUTAGE


def test_an_over_long_field_is_named() -> None:
    body: dict[str, object] = {
        "code": 50035,
        "message": "Invalid Form Body",
        "errors": {
            "embeds": {"0": {"title": {"_errors": [{"code": "BASE_TYPE_MAX_LENGTH", "message": "256 or fewer"}]}}}
        },
    }

    error = send_error(refusal(400, body), written=False)

    assert error.error_class is ErrorClass.INVALID
    assert "embeds.0.title" in error.text


@pytest.mark.parametrize("body", [None, "", {}, {"code": 0}], ids=repr)
@pytest.mark.parametrize("status", [400, 403, 404, 429, 500])
def test_an_answer_that_says_nothing_has_a_class(status: int, body: dict[str, object] | str | None) -> None:
    error = send_error(refusal(status, body), written=False)

    assert error.error_class in ErrorClass


@pytest.mark.parametrize("status", [500, 502, 503, 504, 524])
def test_after_a_server_error_nobody_knows(status: int) -> None:
    error = send_error(coded(status, 0), written=False)

    assert error.may_have_arrived
    assert error.verdict is Verdict.UNKNOWN


@pytest.mark.parametrize(
    ("status", "code", "verdict"),
    [
        (403, 50013, Verdict.PERMANENT),
        (404, 10003, Verdict.PERMANENT),
        (400, 50035, Verdict.PERMANENT),
        (403, 50007, Verdict.PERMANENT),
        (429, 0, Verdict.TRANSIENT),
        (403, 40003, Verdict.TRANSIENT),
    ],
)
def test_a_refusal_of_the_only_request_leaves_nothing_open(status: int, code: int, verdict: Verdict) -> None:
    error = send_error(coded(status, code), written=False)

    assert not error.may_have_arrived
    assert error.verdict is verdict


@pytest.mark.parametrize(
    "last",
    [coded(403, 50013), coded(429, 0), discord.RateLimited(40.0), connector_error()],
    ids=["forbidden", "429", "rate limited for too long", "refused connection"],
)
def test_a_refusal_of_a_repeat_leaves_the_first_request_open(last: Exception) -> None:
    error = send_error(last, written=True)

    assert error.verdict is Verdict.UNKNOWN


def test_a_rate_limit_that_is_too_long_keeps_how_long_it_is() -> None:
    error = send_error(discord.RateLimited(41.5), written=False)

    assert error.error_class is ErrorClass.RATE_LIMITED
    assert error.retry_after == dt.timedelta(seconds=41.5)
    assert error.verdict is Verdict.TRANSIENT


@pytest.mark.parametrize(
    "raised",
    [
        aiohttp.ServerDisconnectedError(),
        aiohttp.ClientOSError(errno.ECONNRESET, "reset"),
        aiohttp.ClientPayloadError("cut"),
        aiohttp.ServerTimeoutError("slow"),
        aiohttp.ConnectionTimeoutError("slow to connect"),
        ConnectionResetError(),
        BrokenPipeError(),
        socket.gaierror(),
        TimeoutError(),
    ],
    ids=lambda raised: type(raised).__name__,
)
def test_a_broken_connection_is_unknown_only_once_the_request_left(raised: Exception) -> None:
    before, after = send_error(raised, written=False), send_error(raised, written=True)

    assert before.error_class is after.error_class is ErrorClass.OUTAGE
    assert before.verdict is Verdict.TRANSIENT
    assert after.verdict is Verdict.UNKNOWN


def test_a_connection_that_was_never_made_has_sent_nothing() -> None:
    error = send_error(connector_error(), written=False)

    assert error.error_class is ErrorClass.OUTAGE
    assert error.text == "Discord could not be reached"
    assert error.verdict is Verdict.TRANSIENT


@pytest.mark.parametrize("raised", [KeyError("id"), RuntimeError("Session is closed"), discord.ClientException("odd")])
def test_what_the_client_trips_over_is_invalid_and_unknown_once_the_request_left(raised: Exception) -> None:
    before, after = send_error(raised, written=False), send_error(raised, written=True)

    assert before.error_class is after.error_class is ErrorClass.INVALID
    assert before.verdict is Verdict.PERMANENT
    assert after.verdict is Verdict.UNKNOWN


@given(status=st.integers(-1, 1000), code=st.integers() | st.sampled_from([0, 50007, 40003, 50027]), text=st.text())
def test_every_answer_has_a_class(status: int, code: int, text: str) -> None:
    assert error_class_of(status, code, text) in ErrorClass


@given(
    status=st.integers(100, 599),
    body=st.none()
    | st.text()
    | st.fixed_dictionaries({}, optional={"code": st.integers() | st.text() | st.none(), "message": st.text()}),
    written=st.booleans(),
)
def test_every_exception_of_the_library_becomes_an_error_with_a_verdict(
    status: int, body: dict[str, object] | str | None, *, written: bool
) -> None:
    error = send_error(refusal(status, body), written=written)

    assert error.verdict in Verdict
    assert error.verdict is Verdict.UNKNOWN or not written
