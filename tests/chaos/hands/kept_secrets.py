"""
Planted secrets: every setting that is one, and what people wrote. None may stand in a log, an audit row or an error.

The log is kept at its most talkative while the calls of a proof run, and while the database and Discord fail with the
secrets in what they say.
"""

import contextlib
import io
import logging
import sqlite3
import typing
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any
from unittest.mock import patch

import aiosqlite
import asyncpg
import discord
import structlog
from pydantic import BaseModel, SecretStr
from simcord.http.client import _FakeResponse

import bot.__main__ as program
from bot import log
from bot.leases.failures import ErrorClass, SendError
from bot.settings import Settings
from models.audit_log import AuditLog
from models.discord_message_log import DiscordMessageLog
from models.ops_note import OpsNote
from tests.chaos.hands import raw_interactions as raw
from tests.chaos.hands.command_world import ANSWER, EVENT_TEXT, NAMES, SERIES_TEXT, CommandWorld
from tests.chaos.hands.generated_options import Command, commands, variants
from tests.chaos.proof import Figures

_PLANTED = "Plant3dSecretOf"
PEOPLES = (ANSWER, EVENT_TEXT, SERIES_TEXT)


def secret_settings(model: type[BaseModel] = Settings, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """Return where the settings hold secrets, by walking them."""
    found: list[tuple[str, ...]] = []
    for name, field in model.model_fields.items():
        annotation = field.annotation
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            found += secret_settings(annotation, (*path, name))
        elif SecretStr in {annotation, *_parts(annotation)}:
            found.append((*path, name))
    return found


def _parts(annotation: object) -> Iterator[object]:
    for one in typing.get_args(annotation):
        yield one
        yield from _parts(one)


def planted(path: tuple[str, ...]) -> str:
    """Return the secret that is planted in a setting."""
    return _PLANTED + "".join(word.title().replace("_", "") for word in path)


def planted_settings() -> Settings:
    """Return settings with a secret of its own in every place for one."""
    values: dict[str, Any] = {}
    for path in secret_settings():
        secret = planted(path)
        inner = values
        for word in path[:-1]:
            inner = inner.setdefault(word, {})
        address = f"postgresql://tocsin:{secret}@localhost/tocsin"
        inner[path[-1]] = SecretStr(address if path[-1] == "url" else secret)
    return Settings(**values)


class KeptSecrets:
    """What is logged meanwhile, and the search through it."""

    def __init__(self, stream: io.StringIO, figures: Figures) -> None:
        self._stream = stream
        self._figures = figures
        self._tokens = [planted(path) for path in secret_settings()]

    async def through_failures(self, world: CommandWorld) -> None:
        """Let everything fail with secrets in what it says, then search what is kept of it."""
        # A token may stand anywhere; what people wrote is quoted by those who refuse it.
        tokens, said = " ".join(self._tokens), " ".join((*PEOPLES, NAMES[0]))
        answers: list[str] = []
        # What fills a command is asked of the bot itself: before anything fails.
        stage = world.stage
        ways = {
            one: (await variants(one, stage.admin, stage.channel, stage.manager_role))[0] for one in commands(world.bot)
        }
        for failing in (
            _failing_database(tokens, said),
            _failing_discord(tokens, said, 400),
            _failing_discord(tokens, said, 500),
        ):
            with failing:
                answers += await _everybody_tries(world, ways)
        with _failing_sends(said):
            for body in world.bot.services.bodies:
                with contextlib.suppress(Exception):  # its loop would say so in the log, as is done here
                    try:
                        await body.step(world.stage.now())
                    except Exception:
                        structlog.get_logger("bot.loops").exception("loop_pass_failed", loop=body.name)
                        raise
        rows = [
            *await AuditLog.all().values(),
            *await DiscordMessageLog.all().values("error"),
            *await OpsNote.all().values(),
        ]
        self.search("an answer", "\n".join(answers), (*self._tokens, *PEOPLES))
        self.search("the audit or an error", str(rows), (*self._tokens, *PEOPLES))

    def search(self, where: str, text: str, secrets: tuple[str, ...]) -> None:
        """Count the secrets that stand in a text."""
        for secret in secrets:
            self._figures.attempted += 1
            if secret not in text:
                self._figures.ok += 1
                continue
            self._figures.unexpected += 1
            place = text.index(secret)
            self._figures.faults.append(
                f"{where} holds the planted {secret}: {text[max(0, place - 300) : place + 60]!r}"
            )

    def search_log(self) -> None:
        """Search the log for everything that may not stand in it."""
        if not (kept := self._stream.getvalue()):
            self._figures.unexpected += 1
            self._figures.faults.append("nothing was logged, so there was nothing to search")
        self.search("the log", kept, (*self._tokens, *PEOPLES, *NAMES))


@contextlib.contextmanager
def kept_secrets(figures: Figures) -> Iterator[KeptSecrets]:
    """Plant the secrets and keep the log, as the program itself sets it up; search it at the end."""
    root, before, levels = logging.getLogger(), structlog.get_config(), dict[str, int]()
    handlers, level, disabled = list(root.handlers), root.level, logging.root.manager.disable
    for name in log._QUIET:
        levels[name] = logging.getLogger(name).level
    stream = io.StringIO()
    hidden = set(log._secrets)
    try:
        with patch.object(program, "load_settings", lambda _config: planted_settings()):
            program._settings(None)
        log.configure_logging("debug", "json", stream)
        # A run at full size keeps the log still.
        logging.disable(logging.NOTSET)
        secrets = KeptSecrets(stream, figures)
        yield secrets
        secrets.search_log()
    finally:
        structlog.configure(**before)
        logging.disable(disabled)
        root.handlers[:] = handlers
        root.setLevel(level)
        for name, kept in levels.items():
            logging.getLogger(name).setLevel(kept)
        log._secrets.clear()
        log._secrets.update(hidden)


async def _everybody_tries(world: CommandWorld, ways: Mapping[Command, Mapping[str, Any]]) -> list[str]:
    stage, read = world.stage, list[str]()
    for command, way in ways.items():
        read.append((await raw.use(stage.admin, stage.channel, command, way)).text)
        for option in (one.name for one in command.parameters if one.autocomplete):
            read += await raw.complete(stage.admin, stage.channel, command, option, "")
    for verb in world.bot.presses.verbs:
        press = partial(raw.press, stage.member, stage.channel)
        read.append((await press(f"t1:{verb}:{world.event_id}")).text)
    return read


@contextlib.contextmanager
def _failing_database(tokens: str, said: str) -> Iterator[None]:
    """Let every statement fail, with values of its rows in what the database says."""
    lite = sqlite3.OperationalError(f"cannot open {tokens} for {said!r}")
    server = asyncpg.UniqueViolationError(f'duplicate key value violates unique constraint "x" {tokens}')
    server.detail = f"Key (guild_id, name)=(1, {said}) already exists."

    async def _lite(*_args: object, **_named: object) -> None:
        raise lite

    async def _server(*_args: object, **_named: object) -> None:
        raise server

    with contextlib.ExitStack() as stack:
        for name in ("execute", "execute_fetchall", "execute_insert"):
            stack.enter_context(patch.object(aiosqlite.Connection, name, _lite))
        for name in ("execute", "fetch", "fetchrow", "fetchval"):
            stack.enter_context(patch.object(asyncpg.Connection, name, _server))
        yield


@contextlib.contextmanager
def _failing_discord(tokens: str, said: str, status: int) -> Iterator[None]:
    """Let Discord refuse every answer, with the secrets in what it says."""
    told = {"code": 50_035, "message": f'Invalid Form Body {tokens}\nIn content: Value "{said}" is not right.'}
    refused = discord.HTTPException(_FakeResponse(status), told)

    def _dispatch(*_args: object, **_named: object) -> None:
        raise refused

    with patch("simcord.http.router.dispatch", _dispatch):
        yield


@contextlib.contextmanager
def _failing_sends(said: str) -> Iterator[None]:
    async def _send(*_args: object, **_named: object) -> None:
        raise SendError(ErrorClass.INVALID, "400 50035: Invalid Form Body", status=400) from asyncpg.DataError(
            f"invalid input for query argument $1: {said!r}"
        )

    with patch("bot.delivery.channel_poster.ChannelPoster.send", _send):
        yield
