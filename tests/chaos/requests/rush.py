"""
A rush: everything that the bot does at once, under rate limits of every kind; its limits are read off at the stub.

Posts in many channels, DMs, channels to open, edits, histories and answers to people come together; Discord answers
late, and with 429s of the route, of all that others filled, and of the whole bot.
"""

import asyncio
import contextlib
import random
import re

from discord.webhook.async_ import async_context, interaction_response_params

from bot.delivery.channel_poster import ChannelPoster
from bot.leases.failures import SendError
from bot.leases.ports import ChannelTarget, HistoryUnreadableError
from tests.chaos.proof import Figures, Finding, Share, at_most, none_of
from tests.chaos.requests.storms import MOST_INVALID, most_invalid, post_until_sent
from tests.chaos.requests.virtual_loop import run_virtually
from tests.chaos.requests.wire_world import FIRST_CHANNEL, FIRST_PERSON, WireWorld, message, wire_world
from tests.wire import faults
from tests.wire.discord_stub import BOT, GUILD
from tests.wire.faults import ANY, MESSAGES, NO_INTERACTIONS, FaultScript, Rule, Seen, most_within

_CHANNELS, _EACH, _DMS, _STRANGERS, _READS, _PRESSES = 60, 4, 200, 20, 100, 60
_MOST_SECONDS = 900.0
# A press that is not answered within three seconds is lost.
_ANSWER_WITHIN = 3.0
_LOADS = 2
_FIRST_DM_CHANNEL = 1_000_000


def run(share: Share) -> Figures:
    """Make one rush for each seed."""
    figures = Figures()
    for seed in share.seeds:
        run_virtually(_rush(share, seed, figures))
    return figures


def _rules(chance: random.Random) -> list[Rule]:
    slowest = chance.choice([0.01, 0.3, 0.9])
    limits = [
        Rule("*", NO_INTERACTIONS, faults.rate_limited(chance.uniform(0.3, 20), everywhere=True), after=after, times=1)
        for after in sorted(chance.sample(range(20, 500), 4))
    ]
    return [
        # What the person is told waits for nothing but the network.
        Rule("*", NO_INTERACTIONS, faults.slow(0.0, slowest)),
        *limits,
        Rule("*", r"/channels/\d+/messages.*", faults.rate_limited(chance.uniform(0.2, 6)), chance=0.03),
        Rule("POST", MESSAGES, faults.rate_limited(chance.uniform(0.2, 2), shared=True), chance=0.01),
        Rule("POST", MESSAGES, faults.rate_limited(chance.uniform(31, 60)), chance=0.003),
        Rule("POST", MESSAGES, faults.failed(503, accepted=True), chance=0.01),
        Rule("*", ANY, faults.slow(0.0)),
    ]


async def _rush(share: Share, seed: int, figures: Figures) -> None:
    assert share.dialect is not None
    chance = random.Random(seed)
    async with share.databases.fresh(share.dialect) as url:
        script = FaultScript(*_rules(chance), seed=seed)
        async with wire_world(url, script, channels=_CHANNELS) as world:
            await world.queue_dms(range(FIRST_PERSON, FIRST_PERSON + _DMS))
            strangers = range(FIRST_PERSON + _DMS, FIRST_PERSON + _DMS + _STRANGERS)
            await world.queue_dms(strangers, opened_before=False)
            channels = range(FIRST_CHANNEL, FIRST_CHANNEL + _CHANNELS)
            posts = asyncio.create_task(post_until_sent(world, channels, each=_EACH))
            others = asyncio.create_task(_edits_and_reads(world, chance))
            pressed = await _presses(world, chance)
            await asyncio.gather(others)
            done, _ = await asyncio.wait([posts, asyncio.create_task(_drained(world))], timeout=_MOST_SECONDS)
    _count(figures, seed, script, answered=pressed, in_time=len(done) == _LOADS)


async def _edits_and_reads(world: WireWorld, chance: random.Random) -> None:
    """Edit posts and read histories, all at once."""
    poster = ChannelPoster(world.bot)

    async def _one(number: int) -> None:
        target = ChannelTarget(GUILD, FIRST_CHANNEL + number % _CHANNELS)
        await asyncio.sleep(chance.uniform(0, 20))
        with contextlib.suppress(SendError, HistoryUnreadableError):
            if number % 2:
                await poster.find(target, marker="none", after=0)
            else:
                await poster.edit(target, number, message("edited"))

    await asyncio.gather(*(_one(number) for number in range(_READS)))


async def _drained(world: WireWorld) -> None:
    while len(world.letters.ends) < _DMS + _STRANGERS:  # noqa: ASYNC110 -- looked at in virtual time, which costs nothing
        await asyncio.sleep(1)


async def _presses(world: WireWorld, chance: random.Random) -> list[float]:
    """Answer people who press at any time; return how long each answer took."""
    session, took = world.bot.http._HTTPClient__session, []  # type: ignore[attr-defined]

    async def _one(number: int) -> None:
        await asyncio.sleep(chance.uniform(0, 60))
        began = asyncio.get_running_loop().time()
        deferred = interaction_response_params(5)
        await async_context.get().create_interaction_response(
            number, f"press-{number}", session=session, params=deferred
        )
        took.append(asyncio.get_running_loop().time() - began)

    await asyncio.gather(*(_one(BOT + number) for number in range(_PRESSES)))
    return took


def _count(figures: Figures, seed: int, script: FaultScript, *, answered: list[float], in_time: bool) -> None:
    bound = [one for one in script.seen if not one.is_interaction]
    starts = dm_starts(script.seen)
    early = before_retry_after(script.seen)
    limits: dict[str, tuple[float, float]] = {
        "requests in a second": (most_within(1, (one.at for one in bound)), 50),
        "DM starts in a second": (most_within(1, starts), 6),
        "DM starts in ten": (most_within(10, starts), 51),
        "before Retry-After": (early, 0),
        "slowest answer to a press": (max(answered), _ANSWER_WITHIN),
        "invalid": (most_invalid(script.seen), MOST_INVALID),
        "loads that never left": (int(not in_time), 0),
    }
    figures.runs += 1
    figures.attempted += len(script.seen)
    figures.ok += sum(one.status in range(200, 300) for one in script.seen)
    for name, (value, limit) in limits.items():
        figures.sample(name, value)
        if value > limit:
            figures.unexpected += 1
            figures.faults.append(f"seed {seed}: {name}: {value:g}, at most {limit:g}")


def dm_starts(seen: list[Seen]) -> list[float]:
    """When each DM was first asked for; what the library repeats is no start."""
    first: dict[tuple[str, str], float] = {}
    for one in seen:
        if one.nonce is not None and int(one.path.split("/")[2]) > _FIRST_DM_CHANNEL:
            first.setdefault((one.path, one.nonce), one.at)
    return list(first.values())


def before_retry_after(seen: list[Seen]) -> int:
    """How many requests came before a wait that Discord told was over, whoever made them."""
    too_early = 0
    for refused in seen:
        if refused.status != 429 or refused.answered_at is None:
            continue
        headers = refused.headers or {}
        begins, ends = refused.answered_at, refused.answered_at + float(headers["Retry-After"])
        everywhere = "X-RateLimit-Global" in headers
        limited = _limit_of(refused)
        too_early += sum(
            begins < one.at < ends and (not one.is_interaction if everywhere else _limit_of(one) == limited)
            for one in seen
        )
    return too_early


def _limit_of(one: Seen) -> tuple[str, str, str]:
    """Return what shares one limit at Discord: the method, the channel, server or webhook, and the path's shape."""
    owner = re.match(r"/(?:channels|guilds|webhooks)/\d+", one.path)
    return one.method, owner.group() if owner else "", re.sub(r"/\d+(?=/|$)", "/#", one.path)


def judge(figures: Figures) -> list[Finding]:
    """Every limit was kept in every rush."""
    most = {name: max(values) for name, values in figures.samples.items()}
    return [
        at_most("requests in a second", most["requests in a second"], 50, unit=""),
        at_most("before Retry-After", most["before Retry-After"], 0, unit=""),
        at_most("DM starts in a second", most["DM starts in a second"], 6, unit=""),
        at_most("DM starts in ten", most["DM starts in ten"], 51, unit=""),
        at_most("most invalid in ten minutes", most["invalid"], MOST_INVALID, unit=""),
        at_most("answer to a press", most["slowest answer to a press"], _ANSWER_WITHIN),
        *none_of(figures, "unexpected"),
    ]
