"""
R17: every command, button and form in wrong hands, generated from the command tree and the verbs.

A new command is tried without anybody remembering it; where an option, verb or column is of a kind that nobody has
spoken of, the proof fails with a sentence that says what to add.
"""

import asyncio
import contextlib
import datetime as dt
import itertools
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any
from unittest.mock import patch

from discord import AppCommandOptionType

from bot.command_tree import Access, NotAllowedError, NotServedError, ServerOnlyError, declared_needs
from bot.drafts import GONE, LIVES, NotYoursError
from bot.message.custom_ids import Verb, encode
from bot.transactions import Dialect
from models.event import Event
from models.guild_settings import GuildSettings
from models.states import EventState
from tests.chaos.hands import hostile
from tests.chaos.hands import raw_interactions as raw
from tests.chaos.hands.command_world import CommandWorld, command_world
from tests.chaos.hands.generated_options import TYPED, Command, NothingGeneratedError, commands, variants
from tests.chaos.hands.kept_secrets import kept_secrets
from tests.chaos.hands.refusals import Refusals
from tests.chaos.hands.row_dump import unsorted_columns
from tests.chaos.official_checks import REQUESTS, checked_finding
from tests.chaos.proof import Figures, Finding, Proof, Share, none_of
from tests.official.checks import CHECKS, watch_simulated

FORM_VALUES: Mapping[Verb, Mapping[str, str]] = {Verb.PROFILE: {"lamp": "A lantern"}}
"""What is handed in by each form."""


def run(share: Share) -> Figures:
    """Try everything once for each seed; a seed is only a repetition, since all of it is tried each time."""
    return came_to(share, *PARTS)


def came_to(share: Share, *parts: str) -> Figures:
    """Try some parts of it, by their names."""
    return asyncio.run(_run(share, parts))


async def _run(share: Share, parts: Sequence[str]) -> Figures:
    figures = Figures()
    watch_simulated()
    before = CHECKS.checked.total()
    for seed in share.seeds:
        figures.runs += 1
        known = len(figures.faults)
        try:
            async with share.databases.fresh(share.dialect or Dialect.SQLITE) as url:
                with kept_secrets(figures) as secrets:
                    async with command_world(url) as world:
                        figures.faults += unsorted_columns()
                        tried = await Refusals.of(world, figures)
                        for part in parts:
                            await PARTS[part](tried)
                        if FAILURES in parts:
                            await secrets.through_failures(world)
            figures.faults += CHECKS.taken()
        except NothingGeneratedError as error:
            figures.faults.append(str(error))
        figures.faults[known:] = [f"seed {seed}: {one}" for one in figures.faults[known:]]
    figures.sample(REQUESTS, CHECKS.checked.total() - before)
    return figures


async def _commands(tried: Refusals) -> None:
    for command in commands(tried.world.bot):
        await _wrong_command(tried, command)


async def _buttons(tried: Refusals) -> None:
    for verb in sorted(tried.world.bot.presses.verbs - {Verb.DRAFT}):
        await _wrong_button(tried, Verb(verb))


async def _drafts(tried: Refusals) -> None:
    for command in commands(tried.world.bot):
        await _wrong_draft(tried, command)


async def _replays(tried: Refusals) -> None:
    for command in commands(tried.world.bot):
        for way in await _ways(tried.world, command):
            await tried.after(tried.world.refill)
            use = partial(raw.use, tried.world.stage.admin, tried.world.stage.channel, command, way)
            await tried.done_once(_named(command, way), use)


async def _nothing_more(_tried: Refusals) -> None:
    """The failures have the log and the secrets to themselves."""


FAILURES = "failures"
PARTS: Mapping[str, Callable[[Refusals], Awaitable[None]]] = {
    "commands": _commands,
    "buttons": _buttons,
    "drafts": _drafts,
    "replays": _replays,
    FAILURES: _nothing_more,
}
"""What is tried, by name."""


async def _wrong_command(tried: Refusals, command: Command) -> None:
    world, stage = tried.world, tried.world.stage
    needed = declared_needs(command)
    foreign = await _foreign(world, command)
    for way in await _ways(world, command):
        name, use = _named(command, way), partial(raw.use, command=command, values=way)
        if needed is None or needed.access is Access.ADMIN:
            act = partial(use, stage.member, stage.channel)
            await tried.refuses(f"{name}, without rights", act, says=str(NotAllowedError()))
        in_dm = partial(use, stage.admin.user, stage.admin.user.dm_channel)
        await tried.refuses(f"{name}, in no server", in_dm, says=str(ServerOnlyError()))
        with _serving_nobody(world):
            act = partial(use, stage.admin, stage.channel)
            await tried.refuses(f"{name}, in a server not served", act, says=str(NotServedError()))
        elsewhere = partial(use, world.rival, world.elsewhere)
        if foreign & way.keys():
            await tried.refuses(f"{name}, from another server", elsewhere)
        else:
            await tried.stays_elsewhere(f"{name}, from another server", elsewhere)
        for option in foreign & way.keys():
            await _stale(tried, command, way, option)


async def _stale(tried: Refusals, command: Command, way: Mapping[str, Any], option: str) -> None:
    world, stage = tried.world, tried.world.stage
    if option not in world.stale:
        raise NothingGeneratedError(
            f"/{command.qualified_name} has an option {option} that names rows: say in `stale` of"
            " tests/chaos/hands/command_world.py what of its kind is gone"
        )
    for why, value in world.stale[option].items():
        act = partial(raw.use, stage.admin, stage.channel, command, {**way, option: value})
        what = f"{_named(command, way)}, {option} {why}"
        if why == "gone":
            await tried.refuses(what, act, of_first=True)
        else:
            await tried.changes_nothing(what, act)


async def _wrong_button(tried: Refusals, verb: Verb) -> None:
    world, stage = tried.world, tried.world.stage
    subject = world.subject_of(verb)
    if subject is None:
        raise NothingGeneratedError(f"say in `subject_of` of tests/chaos/hands/command_world.py what {verb!r} is about")
    ways = [(f"button {verb}", raw.press)]
    if verb in world.bot.presses._forms:
        if verb not in FORM_VALUES:
            raise NothingGeneratedError(
                f"say in FORM_VALUES of tests/chaos/hands/wrong_hands.py what {verb!r} hands in"
            )
        ways.append((f"form {verb}", partial(raw.hand_in, values=FORM_VALUES[verb])))
    own = encode(verb, subject)
    for name, act in ways:
        for who in (world.rival, world.twin):
            away = partial(act, who, world.elsewhere, own)
            await tried.refuses(f"{name}, {who.name} from another server", away)
        alone = partial(act, world.stranger, world.stranger.dm_channel, own)
        await tried.refuses(f"{name}, by a stranger in a DM", alone)
        for unreadable in (encode(verb, 10**15), f"t1:{verb}:x", f"t9:{verb}:{subject}", f"t1:{verb}:{2**63}"):
            lost = partial(act, stage.member, stage.channel, unreadable)
            await tried.refuses(f"{name}, {unreadable}", lost, of_first=True)
        if subject == world.event_id:
            await _wrong_event(tried, verb, name)
        await tried.done_once(name, partial(act, stage.member, stage.channel, own))
        await tried.changes_nothing(f"{name}, twice", partial(act, stage.member, stage.channel, own))


async def _wrong_event(tried: Refusals, verb: Verb, name: str) -> None:
    stage, stale = tried.world.stage, tried.world.stale["event"]
    subjects = {why: event_id for why, event_id in stale.items() if why != "gone"}
    if verb in {Verb.SIGN_UP, Verb.MAYBE, Verb.CONFIRM}:
        subjects["for holders of a role"] = str(tried.world.guarded_id)
    for why, event_id in subjects.items():
        act = partial(raw.press, stage.member, stage.channel, encode(verb, event_id))
        await tried.refuses(f"{name}, {why}", act, of_first=True)


async def _wrong_draft(tried: Refusals, command: Command) -> None:
    """Try the buttons of a draft, if that is what a command answers with."""
    world, stage = tried.world, tried.world.stage
    place, asker = stage.channel, stage.manager
    name, asked = f"the draft of /{command.qualified_name}", itertools.count()

    async def _asked() -> raw.Call:
        way = (await variants(command, asker, place, stage.manager_role))[0]
        way = _made_new(command, way, next(asked))
        return await raw.use(asker, place, command, way)

    found = raw.custom_ids(await _asked())
    for number in range(len(found)):
        await tried.after(world.refill)
        shown = await _asked()
        pressed = raw.custom_ids(shown)[number]
        for who, where in ((stage.admin, place), (stage.member, place), (world.twin, world.elsewhere)):
            act = partial(raw.press, who, where, pressed)
            await tried.refuses(f"{name}, pressed by {who.name}", act, says=str(NotYoursError()), of_first=True)
        settings = GuildSettings.filter(guild_id=stage.guild_id)
        await tried.after(partial(settings.update, manager_role_id=None))
        lost = partial(raw.press, asker, place, pressed)
        if declared_needs(command) is None or declared_needs(command).access is Access.ADMIN:  # type: ignore[union-attr]
            await tried.changes_nothing(f"{name}, rights lost", lost)
        await tried.after(partial(settings.update, manager_role_id=stage.manager_role.id))
        shown = await _asked()
        world.move(LIVES + dt.timedelta(seconds=1))
        late = partial(raw.press, asker, place, raw.custom_ids(shown)[number])
        await tried.refuses(f"{name}, expired", late, says=GONE, of_first=True)
        await _stale_draft(tried, name, command, number)
        shown = await _asked()
        pressed = raw.custom_ids(shown)[number]
        await tried.done_once(name, partial(raw.press_shown, asker, place, shown, pressed))
        twice = partial(raw.press, asker, place, pressed)
        await tried.refuses(f"{name}, pressed twice", twice, says=GONE, of_first=True)


def _made_new(command: Command, way: Mapping[str, Any], number: int) -> dict[str, Any]:
    """Return values with names and times of their own: a draft that was carried out has taken its own, or a file's."""
    attached = {one.name for one in command.parameters if one.type is AppCommandOptionType.attachment}
    new = {name: hostile.calendar(number) for name in attached & way.keys()}
    day = dt.date(2026, 3, 29) + dt.timedelta(weeks=number)
    own = {"name": f"Lantern walk {number}", "when": f"{day} 21:30", "date": str(day)}
    return {**way, **new} | {name: value for name, value in own.items() if name in way}


async def _stale_draft(tried: Refusals, name: str, command: Command, number: int) -> None:
    """Press a draft whose event was cancelled, or is gone, since it was shown."""
    stage = tried.world.stage
    for state in (EventState.CANCELLED, None):
        way = (await variants(command, stage.manager, stage.channel, stage.manager_role))[0]
        if "event" not in way:
            return
        shown = await raw.use(stage.manager, stage.channel, command, way)
        event = Event.filter(id=int(way["event"]))
        await tried.after(event.delete if state is None else partial(event.update, state=state))
        act = partial(raw.press_shown, stage.manager, stage.channel, shown, raw.custom_ids(shown)[number])
        await tried.changes_nothing(f"{name}, its event {'gone' if state is None else 'cancelled'}", act)


async def _ways(world: CommandWorld, command: Command) -> list[dict[str, Any]]:
    return await variants(command, world.stage.admin, world.stage.channel, world.stage.manager_role)


async def _foreign(world: CommandWorld, command: Command) -> set[str]:
    """Return the options that name rows of one server: what they offer there is not offered elsewhere."""
    found = set()
    for one in (one for one in command.parameters if one.autocomplete):
        typed = TYPED.get(one.name, "")
        here = await raw.complete(world.stage.admin, world.stage.channel, command, one.name, typed)
        there = await raw.complete(world.rival, world.elsewhere, command, one.name, typed)
        if set(here) - set(there):
            found.add(one.name)
    return found


@contextlib.contextmanager
def _serving_nobody(world: CommandWorld) -> Iterator[None]:
    with patch.object(world.bot.presence, "_allow_list", frozenset({1})):
        yield


def _named(command: Command, way: Mapping[str, Any]) -> str:
    return f"/{command.qualified_name} {', '.join(way)}".strip()


def judge(figures: Figures) -> list[Finding]:
    """Return the goal figures of the row."""
    tried = Finding(f"{figures.attempted} wrong calls, {figures.ok} refused", figures.attempted == figures.ok > 0)
    return [tried, *none_of(figures, "unexpected", "lost"), checked_finding(figures)]


PROOFS = (
    Proof(
        row="R17",
        promise="Wrong hands: refused in one private sentence, nothing changed, nothing told",
        run=run,
        judge=judge,
        seeds=4,
    ),
)
