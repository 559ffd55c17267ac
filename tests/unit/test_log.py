import dataclasses
import datetime as dt
import io
import json
import logging
import re
import sqlite3
from collections.abc import Awaitable, Callable, Iterator
from types import SimpleNamespace
from typing import Literal

import aiohttp
import asyncpg
import discord
import pytest
import structlog
from hypothesis import given
from hypothesis import strategies as st
from tortoise.exceptions import IntegrityError, ValidationError

from bot import log
from bot.log import configure_logging, hide_secret, keep_secrets

TOKEN = "MTAxMjM0NTY3ODkwMTIzNDU2Nw.GxYzAb.planted-planted-planted-planted-12"
# Every way of quoting changes one of its characters.
CODE = "planted 'co\"de\\ \u00e9"

FormatName = Literal["console", "json"]


@pytest.fixture(autouse=True)
def _restored_logging(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    monkeypatch.setattr(log, "_secrets", set())
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    structlog.reset_defaults()
    structlog.contextvars.clear_contextvars()


@pytest.fixture(params=["console", "json"])
def form(request: pytest.FixtureRequest) -> FormatName:
    return "json" if request.param == "json" else "console"


@pytest.fixture
def stream(form: FormatName) -> io.StringIO:
    stream = io.StringIO()
    configure_logging("debug", form, stream)
    return stream


@dataclasses.dataclass
class Holder:
    inner: str


def refuse(secret: str) -> None:
    raise ValueError(f"refused {secret}")


def refuse_twice(secret: str) -> None:
    try:
        refuse(secret)
    except ValueError as error:
        error.add_note(secret)
        raise RuntimeError("later") from error


def raise_and_log(secret: str) -> None:
    try:
        refuse(secret)
    except ValueError:
        structlog.get_logger("bot.x").exception("failed")
        logging.getLogger("tortoise").exception("failed")


def raise_from_and_log(secret: str) -> None:
    try:
        refuse_twice(secret)
    except RuntimeError:
        structlog.get_logger("bot.x").exception("failed")


class Unprintable:
    def __str__(self) -> str:
        raise RuntimeError(CODE)


# ------------------------------------------------------------------------------------------------------- what is shown


def test_a_json_event_is_one_line_with_its_fields() -> None:
    stream = io.StringIO()
    configure_logging("info", "json", stream)

    structlog.get_logger("bot.x").info(
        "reminder_sent", guild=5, key=("event", 7), at=dt.datetime(2026, 1, 2, tzinfo=dt.UTC)
    )

    line = json.loads(stream.getvalue())
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", line.pop("timestamp"))
    assert line == {
        "event": "reminder_sent",
        "level": "info",
        "logger": "bot.x",
        "guild": 5,
        "key": ["event", 7],
        "at": "2026-01-02T00:00:00+00:00",
    }


def test_a_console_event_is_one_line_with_its_fields() -> None:
    stream = io.StringIO()
    configure_logging("info", "console", stream)

    structlog.get_logger("bot.x").info("reminder_sent", guild=5)

    assert re.fullmatch(r"\S+Z \[info +\] reminder_sent +\[bot\.x\] guild=5\n", stream.getvalue())


def test_stderr_is_written_to_by_default(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging("info", "json")

    structlog.get_logger("bot.x").info("started")

    assert capsys.readouterr().out == ""


def test_records_of_the_standard_library_come_out_alike(form: FormatName, stream: io.StringIO) -> None:
    logging.getLogger("discord.client").warning("logged in as %s", 5)

    line = stream.getvalue()
    assert "logged in as 5" in line
    assert "discord.client" in line
    assert "warning" in line
    assert form == "console" or json.loads(line)["timestamp"].endswith("Z")


def test_a_domain_module_needs_nothing_but_structlog(stream: io.StringIO) -> None:
    structlog.get_logger("bot.leases.claim").info("claimed")

    assert "bot.leases.claim" in stream.getvalue()


def test_context_variables_are_fields(stream: io.StringIO) -> None:
    with structlog.contextvars.bound_contextvars(guild=12345):
        structlog.get_logger("bot.x").info("one")

    assert "12345" in stream.getvalue()


def test_an_exception_is_written_with_its_traceback(stream: io.StringIO) -> None:
    raise_and_log("no row")

    assert stream.getvalue().count("ValueError: refused no row") == 2
    assert stream.getvalue().count("Traceback (most recent call last)") == 2


@pytest.mark.parametrize(
    ("level", "shown"),
    [
        ("debug", ["debug", "info", "warning", "error"]),
        ("info", ["info", "warning", "error"]),
        ("warning", ["warning", "error"]),
        ("error", ["error"]),
    ],
)
def test_only_the_level_and_above_is_written(
    level: Literal["debug", "info", "warning", "error"], shown: list[str]
) -> None:
    stream = io.StringIO()
    configure_logging(level, "json", stream)

    for name in ("debug", "info", "warning", "error"):
        getattr(structlog.get_logger("bot.x"), name)("said")
        getattr(logging.getLogger("bot.y"), name)("said")

    levels = [json.loads(line)["level"] for line in stream.getvalue().splitlines()]
    assert levels == [name for name in shown for _ in range(2)]


def test_a_later_call_replaces_the_earlier_one() -> None:
    first, second = io.StringIO(), io.StringIO()
    logger = structlog.get_logger("bot.x")
    configure_logging("info", "json", first)
    logger.info("one")

    configure_logging("info", "json", second)
    logger.info("two")

    assert len(first.getvalue().splitlines()) == 1
    assert len(second.getvalue().splitlines()) == 1


@pytest.mark.parametrize(
    "name", ["tortoise", "tortoise.db_client", "aiosqlite", "asyncpg", "discord.http", "discord.gateway"]
)
@pytest.mark.parametrize("level", ["debug", "info"])
def test_what_libraries_say_for_debugging_is_never_written(name: str, level: Literal["debug", "info"]) -> None:
    stream = io.StringIO()
    configure_logging(level, "json", stream)

    logging.getLogger(name).debug("INSERT INTO code VALUES (?): %s", ["ABCD-EFGH"])

    assert stream.getvalue() == ""


@pytest.mark.parametrize("text", ["a\nforged 2026-01-01 [info] line", "a\r\x1b[2Jb", "a\u2028b\x85c"])
def test_no_text_can_forge_a_second_line(stream: io.StringIO, text: str) -> None:
    structlog.get_logger("bot.x").info(text, field=text)
    logging.getLogger("discord.x").info("%s", text)

    assert len(stream.getvalue().splitlines()) == 2
    raise_and_log(text)
    starts = [line for line in stream.getvalue().splitlines() if line.startswith(("2", "forged", "{"))]
    assert len(starts) == 4
    assert "\x1b" not in stream.getvalue()


def test_a_value_that_cannot_be_shown_costs_no_event(form: FormatName) -> None:
    # Configured here, not by the fixture: it takes the place of pytest's own handler, which would raise.
    stream = io.StringIO()
    configure_logging("info", form, stream)
    loop: dict[str, object] = {}
    loop["self"] = loop

    structlog.get_logger("bot.x").info(
        "odd", bad=Unprintable(), loop=loop, huge=1 << 20_000, nan=float("nan"), none=None
    )

    line = stream.getvalue()
    assert "planted" not in line
    assert "<Unprintable that cannot be shown: RuntimeError>" in line
    assert form == "console" or json.loads(line)["nan"] == "nan"


def test_a_record_that_cannot_be_formatted_keeps_its_arguments_to_itself(
    form: FormatName, capsys: pytest.CaptureFixture[str]
) -> None:
    # As above.
    stream = io.StringIO()
    configure_logging("info", form, stream)

    logging.getLogger("discord.x").warning("%d", TOKEN)

    assert stream.getvalue() == ""
    assert capsys.readouterr().err == "A log record of discord.x could not be written.\n"


# ------------------------------------------------------------------------------------------------------------- secrets


def bind_and_log(secret: str) -> None:
    structlog.contextvars.bind_contextvars(value=secret)
    structlog.get_logger("bot.x").info("got")


WAYS: dict[str, Callable[[str], None]] = {
    "event": lambda secret: structlog.get_logger("bot.x").info(f"got {secret}!"),
    "field": lambda secret: structlog.get_logger("bot.x").info("got", value=secret),
    "field name": lambda secret: structlog.get_logger("bot.x").info("got", **{f"a {secret}": 1}),
    "bound field": lambda secret: structlog.get_logger("bot.x").bind(value=secret).info("got"),
    "nested field": lambda secret: structlog.get_logger("bot.x").info(
        "got", value={"a": [("b", {secret}, {secret: 1})]}
    ),
    "object": lambda secret: structlog.get_logger("bot.x").info("got", value=Holder(secret)),
    "object in a list": lambda secret: structlog.get_logger("bot.x").info("got", value=[Holder(secret)]),
    "bytes": lambda secret: structlog.get_logger("bot.x").info("got", value=f"x{secret}".encode("ascii", "ignore")),
    "exception field": lambda secret: structlog.get_logger("bot.x").warning("got", error=ValueError(secret)),
    "exception": raise_and_log,
    "exception's cause and note": raise_from_and_log,
    "json in a text": lambda secret: structlog.get_logger("bot.x").info("got", body=json.dumps({"code": secret})),
    "positional argument": lambda secret: structlog.get_logger("bot.x").info("got %s", secret),
    "record": lambda secret: logging.getLogger("discord.http").warning("got " + secret),  # noqa: G003
    "record's argument": lambda secret: logging.getLogger("discord.http").warning("got %r", [secret]),
    "record's stack": lambda secret: logging.getLogger("discord.http").warning(secret, stack_info=True),
    "logger's name": lambda secret: logging.getLogger(f"x.{secret}").warning("got"),
    "context variable": bind_and_log,
}


@pytest.mark.parametrize("way", WAYS)
def test_a_registered_secret_is_never_written(stream: io.StringIO, way: str) -> None:
    hide_secret(CODE)
    # What is left of it in ASCII bytes is another value.
    hide_secret(CODE.encode("ascii", "ignore").decode())

    WAYS[way](CODE)

    assert "planted" not in stream.getvalue()
    assert "[hidden]" in stream.getvalue()


@pytest.mark.parametrize("way", WAYS)
def test_what_looks_like_a_token_is_never_written(stream: io.StringIO, way: str) -> None:
    WAYS[way](TOKEN)

    assert "planted" not in stream.getvalue()
    assert "[hidden]" in stream.getvalue()


@pytest.mark.parametrize("way", WAYS)
def test_a_password_in_an_address_is_never_written(stream: io.StringIO, way: str) -> None:
    WAYS[way]("postgres://bot:planted@db:5432/tocsin")

    assert "planted" not in stream.getvalue()
    assert "postgres://bot:[hidden]@db:5432/tocsin" in stream.getvalue()


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (f"Authorization: Bot {TOKEN}, so", "Authorization: Bot [hidden], so"),
        (f"<{TOKEN}>.", "<[hidden]>."),
        ("redis://:planted@host", "redis://:[hidden]@host"),
        ("postgres://bot:pl@nted:/planted@db/x and more", "postgres://bot:[hidden]@db/x and more"),
        ("https://h/x?a=1&password=planted&b=2", "https://h/x?a=1&password=[hidden]&b=2"),
        ("https://h/x?access_token=planted", "https://h/x?access_token=[hidden]"),
        (
            "POST https://discord.com/api/v10/webhooks/1/planted-_x/messages/2 429",
            "POST https://discord.com/api/v10/webhooks/1/[hidden]/messages/2 429",
        ),
        ("/interactions/123/planted/callback", "/interactions/123/[hidden]/callback"),
        ("https://discord.com/api/v10/channels/1/messages", "https://discord.com/api/v10/channels/1/messages"),
        ("postgres://bot@db:5432/tocsin", "postgres://bot@db:5432/tocsin"),
        ("discord.ext.commands.errors.CommandInvokeError", "discord.ext.commands.errors.CommandInvokeError"),
        ("mail me@example.org at 10:30", "mail me@example.org at 10:30"),
    ],
)
def test_only_the_secret_part_of_a_text_is_hidden(text: str, shown: str) -> None:
    assert keep_secrets(None, "info", {"event": text}) == {"event": shown}


@pytest.mark.parametrize("name", ["token", "Password", "authorization"])
def test_a_field_named_like_a_secret_is_hidden_whatever_it_holds(name: str) -> None:
    kept = keep_secrets(None, "info", {"event": "x", name: "planted", "inner": [{name: ["planted"]}]})

    assert kept == {"event": "x", name: "[hidden]", "inner": [{name: "[hidden]"}]}


@pytest.mark.parametrize(("secret", "hidden"), [("12345", False), ("123456", True)], ids=["five", "six"])
def test_a_secret_of_six_characters_is_hidden_and_a_shorter_one_is_not(secret: str, hidden: bool) -> None:
    hide_secret(secret)

    kept = keep_secrets(None, "info", {"event": f"x{secret}x", "number": int(secret)})

    assert ("[hidden]" in str(kept["event"])) is hidden
    assert (kept["number"] == "[hidden]") is hidden


def test_of_a_secret_within_another_nothing_is_left() -> None:
    hide_secret("abcdef")
    hide_secret("abcdef-planted")

    assert keep_secrets(None, "info", {"event": "abcdef-planted"}) == {"event": "[hidden]"}


def test_a_long_text_without_a_secret_is_searched_in_no_time() -> None:
    text = "a" * 500_000 + "://a:" * 1000

    assert keep_secrets(None, "info", {"event": text}) == {"event": text}


@given(
    secret=st.text(st.characters(exclude_categories=["Cs"]), min_size=6, max_size=20).filter(
        lambda secret: secret not in "[hidden]" and not secret.isspace()
    ),
    around=st.text("xyz \"'\\", max_size=5),
)
def test_a_random_secret_is_found_however_it_is_quoted(secret: str, around: str) -> None:
    log._secrets.clear()
    hide_secret(secret)
    texts = [f"{around}{secret}{around}", repr(secret), json.dumps(secret), json.dumps(secret, ensure_ascii=False)]

    for text in texts:
        kept = keep_secrets(None, "info", {"event": "x", "field": text})
        assert secret not in str(kept["field"])
        assert "[hidden]" in str(kept["field"])


def _told_by_postgres() -> Exception:
    told: Exception = asyncpg.NotNullViolationError('null value in column "name" violates not-null constraint')
    vars(told)["detail"] = "Failing row contains (1, planted)."
    return told


@pytest.mark.parametrize(
    ("error", "shown"),
    [
        (_told_by_postgres(), 'null value in column "name" violates not-null constraint'),
        (IntegrityError(_told_by_postgres()), 'null value in column "name" violates not-null constraint'),
        (
            asyncpg.DataError("invalid input for query argument $1: 'planted' ('utf-8' codec can't encode)"),
            "invalid input for query argument $1: [hidden]t encode)",
        ),
        (
            asyncpg.InvalidTextRepresentationError('invalid input syntax for type bigint: "planted"'),
            "invalid input syntax for type bigint: [hidden]",
        ),
        (ValidationError("name: Length of 'planted' 101 > 100"), "name: Length of [hidden] 101 > 100"),
        (sqlite3.OperationalError('near "SELEC": syntax error'), 'near "SELEC": syntax error'),
        (ExceptionGroup("two", [_told_by_postgres()]), "two (1 sub-exception)"),
        (ValueError("what the bot itself says 'stays'"), "what the bot itself says 'stays'"),
    ],
    ids=lambda one: type(one).__name__ if isinstance(one, Exception) else "",
)
def test_a_traceback_says_what_the_database_refused_and_not_with_which_text(error: Exception, shown: str) -> None:
    stream = io.StringIO()
    configure_logging("debug", "json", stream)
    outer = LookupError()
    outer.__cause__ = error
    structlog.get_logger("bot").error("failed", exc_info=outer)

    written = json.loads(stream.getvalue())["exception"]
    assert shown in written
    assert "planted" not in written
    assert "LookupError" in written


async def refused_by_a_database() -> None:
    await asyncpg.connect("postgresql://u@127.0.0.1:1/x", timeout=5)


async def refused_by_anybody() -> None:
    raise ConnectionRefusedError


async def no_answer_of_anybody() -> None:
    raise TimeoutError


async def refused_by_discord() -> None:
    raise aiohttp.ClientOSError("cut")


async def disk_is_full() -> None:
    raise asyncpg.DiskFullError("x")


@pytest.mark.parametrize(
    ("fails", "says"),
    [
        (refused_by_a_database, "it cannot be reached"),
        (disk_is_full, "its disk is full"),
        (refused_by_anybody, None),
        (no_answer_of_anybody, None),
        (refused_by_discord, None),
    ],
)
async def test_only_the_databases_own_trouble_is_told_without_its_traceback(
    fails: Callable[[], Awaitable[None]], says: str | None
) -> None:
    stream = io.StringIO()
    configure_logging("debug", "json", stream)
    try:
        await fails()
    except Exception:  # noqa: BLE001
        structlog.get_logger("bot").exception("failed")

    written = json.loads(stream.getvalue())
    assert written.get("database") == says
    assert ("exception" in written) is (says is None)


def test_a_refusal_of_discords_names_the_field_and_not_what_stood_in_it() -> None:
    stream = io.StringIO()
    configure_logging("debug", "json", stream)
    answer = SimpleNamespace(status=400, reason="Bad Request")
    told = {"code": 50035, "message": 'Invalid Form Body\nIn nonce: Value "planted" is not int.'}
    structlog.get_logger("bot").error("failed", exc_info=discord.HTTPException(answer, told))

    written = json.loads(stream.getvalue())["exception"]
    assert "In nonce: Value [hidden] is not int." in written
    assert "planted" not in written
