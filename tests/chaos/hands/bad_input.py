"""
R18: every option of every command, every line of every form and every custom id, filled with what nobody means well.

Generated from the command tree. A seed is one budget of examples for each of them; then everything that was stored is
read back by every command that shows rows, and announced. See :mod:`tests.chaos.hands.answers` for what must hold.
"""

import asyncio
import datetime as dt
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any

import hypothesis
from discord import AppCommandOptionType as Kind
from hypothesis import strategies as st

from bot.calendars.lines import looks_like_calendar
from bot.events.schedule_file import read_schedule
from bot.message.custom_ids import Verb, encode
from bot.operations.calendar_import import import_calendar
from bot.operations.schedule_import import import_schedule
from bot.transactions import Dialect
from models.guild_settings import GuildSettings
from tests.chaos.hands import hostile
from tests.chaos.hands import raw_interactions as raw
from tests.chaos.hands.answers import Answers
from tests.chaos.hands.command_world import CommandWorld, command_world
from tests.chaos.hands.generated_options import Command, commands, variants
from tests.chaos.hands.wrong_hands import FORM_VALUES
from tests.chaos.official_checks import REQUESTS, checked_finding
from tests.chaos.proof import Figures, Finding, Proof, Share, none_of
from tests.official.checks import CHECKS, watch_simulated

EXAMPLES = 4
"""How many of each option, completion, form, custom id and file a seed tries, beside what is tried every time."""

_CARRIED_OUT = 8
_BESIDE = 2
_TEN_MEGABYTES = 10_000_000
_LARGE = (b" " * _TEN_MEGABYTES, b'{"series": [' + b"[" * _TEN_MEGABYTES, b"\0" * _TEN_MEGABYTES)
_IN_FORM = 4_000
# Where the announcements of the events, and of the series, that TEXTS names are due.
_DUE = (dt.datetime(2026, 3, 19, 20, tzinfo=dt.UTC), dt.datetime(2026, 3, 28, 20, tzinfo=dt.UTC))


def run(share: Share) -> Figures:
    """Try a budget of examples for each seed."""
    return came_to(share)


def came_to(share: Share, only: str = "") -> Figures:
    """Try what has a name that begins so: a command's own name, ``forms``, ``custom ids``, ``files``, ``read back``."""
    return asyncio.run(_run(share, only))


async def _run(share: Share, only: str) -> Figures:
    figures = Figures()
    watch_simulated()
    before = CHECKS.checked.total()
    for seed in share.seeds:
        figures.runs += 1
        known = len(figures.faults)
        async with share.databases.fresh(share.dialect or Dialect.SQLITE) as url, command_world(url) as world:
            with Answers.kept(world, figures) as answers:
                await _everything(_Tried(world, answers), seed, only)
        figures.faults[known:] = [f"seed {seed}: {one}" for one in dict.fromkeys(figures.faults[known:])]
    figures.sample(REQUESTS, CHECKS.checked.total() - before)
    return figures


def drawn(strategy: st.SearchStrategy[Any], seed: int) -> list[Any]:
    """Return a budget of examples, the same for the same seed."""
    found: list[Any] = []
    wanted = hypothesis.settings(
        max_examples=EXAMPLES,
        database=None,
        deadline=None,
        phases=[hypothesis.Phase.generate],
        suppress_health_check=list(hypothesis.HealthCheck),
    )

    def _keep(one: Any) -> None:  # noqa: ANN401 -- whatever was drawn
        found.append(one)

    hypothesis.seed(seed)(wanted(hypothesis.given(strategy)(_keep)))()
    return found


class _Tried:
    """One seed's examples in one world."""

    def __init__(self, world: CommandWorld, answers: Answers) -> None:
        self.world = world
        self.answers = answers

    async def command(self, command: Command, drawn: dict[str, Any]) -> None:
        """Use a command with good values but for those drawn, carry out a few drafts, and read what they made."""
        stage = self.world.stage
        good = (await variants(command, stage.admin, stage.channel, stage.manager_role))[0]
        use = partial(raw.use, stage.admin, stage.channel, command, good | drawn)
        # Of a file only the name: its bytes may be ten millions.
        told = {name: value[0] if isinstance(value, tuple) else value for name, value in drawn.items()}
        call = await self.answers.to(f"/{command.qualified_name} {told!r}", use)
        if found := raw.custom_ids(call):
            await self.draft(command, call, found[0])

    async def draft(self, command: Command, call: raw.Call, custom_id: str) -> None:
        """Press the first button of a few drafts of each command: each makes rows that are read from then on."""
        stage = self.world.stage
        if self.answers.drafts[command.qualified_name] < _CARRIED_OUT:
            self.answers.drafts[command.qualified_name] += 1
            press = partial(raw.press_shown, stage.admin, stage.channel, call, custom_id)
            await self.answers.to(f"the draft of /{command.qualified_name}", press)

    async def completion(self, command: Command, option: str, typed: str) -> None:
        stage = self.world.stage

        async def _complete() -> raw.Call:
            return await raw.completed(stage.admin, stage.channel, command, option, typed)

        await self.answers.to(f"/{command.qualified_name}, completing {option} from {typed!r}", _complete)

    async def form(self, verb: Verb, values: dict[str, str]) -> None:
        stage, own = self.world.stage, encode(verb, self.world.subject_of(verb) or 0)
        hand_in = partial(raw.hand_in, stage.member, stage.channel, own, values)
        await self.answers.to(f"form {verb} {values!r}", hand_in)
        await self.answers.to(f"button {verb}", partial(raw.press, stage.member, stage.channel, own))

    async def custom_id(self, custom_id: str) -> None:
        stage = self.world.stage
        await self.answers.to(f"button {custom_id!r}", partial(raw.press, stage.member, stage.channel, custom_id))

    async def file(self, document: bytes) -> None:
        """Import a schedule or a calendar file, as the operator does."""
        stage = self.world.stage

        async def _import() -> str:
            if looks_like_calendar(document):
                return "\n".join(await self._calendar(document))
            specs = read_schedule(document)
            done = await import_schedule(
                specs, guild_id=stage.guild_id, announce_in=None, timezone="UTC", now=stage.now()
            )
            return f"{done.series} series"

        await self.answers.to_operator(f"import of {document[:200]!r}", _import)

    async def _calendar(self, document: bytes) -> list[str]:
        stage = self.world.stage
        return await import_calendar(
            document, guild_id=stage.guild_id, announce_in=None, timezone="UTC", now=stage.now(), preview=False
        )

    async def read_back(self) -> None:
        """Use every command that needs nothing typed, and complete every option, over what was stored; announce."""
        stage = self.world.stage
        await self.answers.beside(self.world.refill)
        for command in commands(self.world.bot):
            await self.command(command, {})
            for option in (one.name for one in command.parameters if one.autocomplete):
                await self.completion(command, option, "")
        # Somewhere on the way the server's channels may have been taken back.
        place = stage.discord_.place
        channels = {"announcement_channel_id": place.announcements_id, "ops_channel_id": place.ops_id}
        await self.answers.beside(partial(GuildSettings.filter(guild_id=stage.guild_id).update, **channels))
        for moment in (stage.now(), *_DUE):
            self.world.move(moment - stage.now())
            for body in self.world.bot.services.bodies:
                await self.answers.to_nobody(f"the body {body.name}", lambda body=body: body.step(stage.now()))  # type: ignore[misc]


async def _everything(tried: _Tried, seed: int, only: str) -> None:
    kinds: dict[str, Callable[[_Tried, int], Awaitable[None]]] = {
        **{one.qualified_name: partial(_fill, command=one) for one in commands(tried.world.bot)},
        "forms": _forms,
        "custom ids": _presses,
        "files": _imports,
        "read back": _read_back,
    }
    for name, kind in kinds.items():
        if name.startswith(only):
            await kind(tried, seed)


async def _forms(tried: _Tried, seed: int) -> None:
    for verb, good in FORM_VALUES.items():
        always = [{**good, key: text} for key in good for text in hostile.ALWAYS]
        for lines in [*always, *drawn(st.fixed_dictionaries({key: hostile.texts(0, _IN_FORM) for key in good}), seed)]:
            await tried.form(verb, dict(lines))


async def _presses(tried: _Tried, seed: int) -> None:
    for custom_id in drawn(_custom_ids(sorted(tried.world.bot.presses.verbs)), seed):
        await tried.custom_id(custom_id)


async def _imports(tried: _Tried, seed: int) -> None:
    calendars = [content for _, content in (*hostile.FILES, *drawn(hostile.files(), seed))]
    for document in (*_LARGE, *drawn(_files(), seed), *calendars):
        await tried.file(document)


async def _read_back(tried: _Tried, _seed: int) -> None:
    await tried.read_back()


async def _fill(tried: _Tried, seed: int, *, command: Command) -> None:
    """Give each option of a command bad values, alone and beside a few others with bad values."""
    stage = tried.world.stage
    handles = {
        Kind.channel: (stage.channel,),
        Kind.role: (stage.manager_role, stage.admin.guild.default_role),
        Kind.user: (stage.member, tried.world.stranger),
    }
    each = {one.name: hostile.values(one, handles) for one in command.parameters}
    for option in command.parameters:
        beside = st.lists(st.sampled_from(sorted(each)), max_size=_BESIDE, unique=True)
        filled = beside.flatmap(partial(_with, each, option.name))
        always: Sequence[object] = hostile.ALWAYS if hostile.is_free_text(option) else ()
        always = hostile.FILES if option.type is Kind.attachment else always
        for values in [*({option.name: text} for text in always), *drawn(filled, seed)]:
            await tried.command(command, values)
        for typed in drawn(hostile.texts(0, _IN_FORM), seed) if option.autocomplete else ():
            await tried.completion(command, option.name, typed)


def _with(
    each: Mapping[str, st.SearchStrategy[Any]], name: str, others: Sequence[str]
) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({one: each[one] for one in (name, *others)})


def _custom_ids(verbs: list[str]) -> st.SearchStrategy[str]:
    return st.builds(lambda verb, text: f"t1:{verb}:{text}"[:100], st.sampled_from(verbs), hostile.texts(1, 60))


def _files() -> st.SearchStrategy[bytes]:
    """Return schedule files of two series, of which the second has a bad value."""
    good = {"name": "Good", "frequency": "weekly", "time_of_day": "19:00", "timezone": "UTC", "starts_at": "2026-04-05"}
    bad = st.sampled_from(sorted({*good, "description", "day_of_week", "ends_at"})).flatmap(
        lambda name: st.builds(lambda text: {name: text}, hostile.texts(0, 1_000))
    )
    return bad.map(lambda field: json.dumps({"series": [good, good | {"name": "Other"} | field]}).encode())


def judge(figures: Figures) -> list[Finding]:
    """Return the goal figures of the row."""
    tried = Finding(f"{figures.attempted} bad inputs, {figures.ok} answered well", figures.attempted == figures.ok > 0)
    return [tried, *none_of(figures, "unexpected", "lost"), checked_finding(figures)]


PROOFS = (
    Proof(
        row="R18",
        promise="Bad input: a clear sentence or success, no partial write, no ping, no limit broken",
        run=run,
        judge=judge,
        seeds=40,
    ),
)
