"""
What must hold of every answer, whatever was typed.

One private answer in plain words; nothing of SQL, of a stack or of a library in it; nothing in it that pings or turns
the line; what was refused changed nothing; each request fits Discord's own description and pings nobody but the
configured roles and those who are meant; and nothing is logged as a fault.
"""

import contextlib
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Any
from unittest.mock import patch

import structlog

import bot.command_tree
import bot.presses
from bot.errors import BotError
from bot.message.limits import CONTENT, length
from tests.chaos.hands.command_world import CommandWorld
from tests.chaos.hands.hostile import TURNS
from tests.chaos.hands.raw_interactions import Call
from tests.chaos.hands.row_dump import Dump, differences, dumped
from tests.chaos.proof import Figures
from tests.official.checks import CHECKS

_INSIDES = re.compile(
    r"Traceback|File \"|\.py\b|\bSELECT\b|\bINSERT\b|pydantic|validation error|input_value|sqlite|asyncpg|tortoise"
    r"|<class|object at 0x|NoneType|Error\(|codec can't"
)
_PINGS = re.compile(r"(?<!\\)@(?:everyone|here)|(?<!\\)<(?:@[&!]?|#)1>")
_OWN_WORDS = re.compile(
    r"^@everyone is no role|Mention @everyone, @here and All Roles|^@everyone cannot be the manager role"
)
# What people press or hand in for themselves is no admin's act and has no audit row.
_OF_PEOPLE = ("event_signup", "player_profile", "repeater_subscription")
_FAULT_LEVELS = frozenset({"error", "critical"})


class Answers:
    """Looks at one answer after another."""

    def __init__(self, world: CommandWorld, figures: Figures, logged: list[Any]) -> None:
        self._world = world
        self._figures = figures
        self._logged = logged
        self._refused: list[BaseException] = []
        self._dump: Dump | None = None
        self.drafts: Counter[str] = Counter()

    @classmethod
    @contextlib.contextmanager
    def kept(cls, world: CommandWorld, figures: Figures) -> "Iterator[Answers]":
        """Note meanwhile what is refused and what is logged."""
        with structlog.testing.capture_logs() as logged:
            answers = cls(world, figures, logged)
            tell = bot.command_tree.tell_error

            async def _tell(interaction: Any, error: BaseException) -> None:  # noqa: ANN401 -- the library's
                answers._refused.append(error)
                await tell(interaction, error)

            with patch.object(bot.command_tree, "tell_error", _tell), patch.object(bot.presses, "tell_error", _tell):
                yield answers

    async def to(self, what: str, act: Callable[[], Awaitable[Call]]) -> Call:
        """Do something, and look at what came of it."""
        before = self._dump or await dumped()
        self._begin()
        call = await act()
        self._dump = await dumped()
        self._figures.acknowledged += call.result.acknowledged
        faults = [*_answer_faults(call), *self._request_faults(), *self._log_faults()]
        # Refused by an error or in an answer of its own: without an audit row, nothing was done.
        changed = differences(before, self._dump)
        if self._refused or not is_accounted_for(changed):
            faults += [f"{'refused' if self._refused else 'not audited'}, yet {one}" for one in changed]
        self._count(what, faults)
        return call

    async def to_operator(self, what: str, act: Callable[[], Awaitable[str]]) -> None:
        """Do something on the command line, which refuses with an error of the bot's own."""
        before = self._dump or await dumped()
        self._begin()
        faults: list[str] = []
        try:
            said = await act()
        except BotError as error:
            said = str(error)
            faults += [f"refused, yet {one}" for one in differences(before, await dumped())]
        except Exception as error:  # noqa: BLE001 -- that is what is looked for
            said = ""
            faults.append(f"raised {type(error).__name__}: {str(error)[:200]}")
        self._dump = await dumped()
        self._count(what, [*faults, *_text_faults(said, longest=None), *self._log_faults()])

    async def to_nobody(self, what: str, act: Callable[[], Awaitable[object]]) -> None:
        """Let the bot do something by itself."""
        self._begin()
        await act()
        await self._world.bot.services.settle()
        self._dump = None
        self._count(what, [*self._request_faults(), *self._log_faults()])

    async def beside(self, change: Callable[[], Awaitable[object]]) -> None:
        """Change rows beside the bot."""
        await change()
        self._dump = None

    def _begin(self) -> None:
        self._refused.clear()
        self._logged.clear()
        self._world.stage.discord_.env.http_requests.clear()
        _ = CHECKS.taken()

    def _request_faults(self) -> Iterator[str]:
        yield from CHECKS.taken()
        for one in self._world.stage.discord_.env.http_requests:
            body = one.json if isinstance(one.json, dict) else {}
            message = body.get("data") or {} if one.path.endswith("/callback") else body
            if "content" in message or "embeds" in message:
                allowed = message.get("allowed_mentions") or {"parse": ["everyone"]}
                roles = {int(role) for role in allowed.get("roles") or ()} - {self._world.stage.manager_role.id}
                if allowed.get("parse") or roles:
                    yield f"{one.method} {one.path} pings: {allowed}"

    def _log_faults(self) -> Iterator[str]:
        for one in self._logged:
            if one["log_level"] in _FAULT_LEVELS:
                yield f"logged {one['event']}: {one.get('exc_info')!r}"

    def _count(self, what: str, faults: list[str]) -> None:
        self._figures.attempted += 1
        self._figures.ok += not faults
        self._figures.unexpected += bool(faults)
        if faults:
            self._figures.faults.append(f"{what[:300]}: {'; '.join(faults)}")


def is_accounted_for(changed: Sequence[str]) -> bool:
    """Return whether these differences are what people did for themselves, or have their audit row among them."""
    people = tuple(f"{table} " for table in _OF_PEOPLE)
    return all(one.startswith(people) for one in changed) or any(one.startswith("audit_log ") for one in changed)


def _answer_faults(call: Call) -> Iterator[str]:
    result = call.result
    if result.autocomplete_choices is not None or result.modal is not None:
        return
    shown = result.response
    if shown is None:
        yield "no answer"
        return
    if not shown.ephemeral or result.followups:
        yield "not one private answer"
    said = [shown.content, *(str(text) for one in shown.embeds for text in (one.title, one.description) if text)]
    yield from _text_faults("\n".join(said).strip(), longest=None if shown.embeds else CONTENT)


def _text_faults(said: str, *, longest: int | None) -> Iterator[str]:
    if not said or (longest is not None and length(said) > longest):
        yield f"says {len(said)} characters"
    if found := _INSIDES.search(said):
        yield f"tells of its insides: {said[max(0, found.start() - 80) : found.end() + 80]!r}"
    said = _OWN_WORDS.sub("", said)
    if longest is not None and (found := _PINGS.search(said)):
        yield f"shows what was typed as a mention: {said[max(0, found.start() - 80) : found.end() + 80]!r}"
    if any(turn in said for turn in TURNS):
        yield "turns the line"
