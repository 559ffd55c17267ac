"""
R7: sends that Discord takes and answers by a failure, a fifth of all: each is visible once in the end.

The real client and the one way out against the stub over sockets; the library's own repeats and the sweeper's waits
pass in virtual time. A few arrive so late that their resend overtakes them: what the nonce is for.
"""

import asyncio
import datetime as dt
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from bot.leases.keys import MessageKey
from bot.leases.ports import ChannelTarget, DmTarget, Target
from bot.message.outgoing import OutgoingMessage
from models.discord_message_log import DiscordMessageLog
from tests.chaos.proof import Figures, Finding, Proof, Share, at_most, none_of, percentile
from tests.chaos.requests.storms import MOST_INVALID, most_invalid
from tests.chaos.requests.virtual_loop import run_virtually
from tests.chaos.requests.wire_world import FIRST_CHANNEL, FIRST_PERSON, WireWorld, message, wire_world
from tests.wire import faults
from tests.wire.discord_stub import GUILD, dm_channel
from tests.wire.faults import ANY, MESSAGES, FaultScript, Rule

_POSTS, _DMS, _CHANNELS = 60, 40, 12
_SOURCE = "proof_message"
_POLL_SECONDS = 5.0
_MOST_SECONDS = 1_200.0
# What hangs is given up after 30 s, looked up a minute after its claim, and sent again; twice in a row now and then.
_AT_REST_SECONDS = 240.0
_STARTS_WITHIN = 60.0
_MET_A_FAILURE = "messages that met a failure after acceptance"
WINDOWS: tuple[dt.timedelta | None, ...] = (dt.timedelta(seconds=60), dt.timedelta(seconds=180), None)
"""How long Discord may remember a nonce; None: for ever."""


@dataclass(frozen=True, slots=True)
class _Message:
    key: MessageKey
    target: Target

    @property
    def marker(self) -> str:
        return f"m-{self.key.source_id}"

    async def render(self) -> OutgoingMessage:
        return message(self.marker)


def _messages() -> list[_Message]:
    posts = [
        _Message(MessageKey(_SOURCE, number), ChannelTarget(GUILD, FIRST_CHANNEL + number % _CHANNELS))
        for number in range(_POSTS)
    ]
    people = range(FIRST_PERSON, FIRST_PERSON + _DMS)
    return posts + [
        _Message(MessageKey(_SOURCE, _POSTS + number, who), DmTarget(who, dm_channel(who)))
        for number, who in enumerate(people)
    ]


def _rules(chance: random.Random) -> Sequence[Rule]:
    # Each takes its part of what those before it left: more than a fifth of all meets one of them.
    after_acceptance = [
        faults.failed(500, accepted=True),
        faults.failed(502, accepted=True),
        faults.failed(503, accepted=True),
        faults.cut(accepted=True),
        faults.Fault(faults.failed(504, accepted=True).answer, accepted=True, delay=(6.0, 29.0)),
    ]
    return [
        *(Rule("POST", MESSAGES, fault, chance=0.06) for fault in after_acceptance),
        Rule("POST", MESSAGES, faults.failed(503, accepted=False), chance=0.03),
        Rule("POST", MESSAGES, faults.cut(accepted=False), chance=0.03),
        # The first copy alone: one that arrives more than a nonce's time after another was taken is beyond any client.
        Rule("POST", MESSAGES, faults.slow(62, 90), chance=0.03, first=True),
        Rule("GET", MESSAGES, faults.failed(503, accepted=False), chance=0.05),
        Rule("*", ANY, faults.slow(0.01, chance.choice([0.05, 0.4]))),
    ]


def run(share: Share) -> Figures:
    """Send a hundred messages for each seed."""
    figures = Figures()
    for seed in share.seeds:
        run_virtually(_send_all(share, seed, figures))
    return figures


async def _send_all(share: Share, seed: int, figures: Figures) -> None:
    assert share.dialect is not None
    script = FaultScript(*_rules(random.Random(seed)), seed=seed)
    wanted = _messages()
    async with (
        share.databases.fresh(share.dialect) as url,
        wire_world(url, script, channels=_CHANNELS) as world,
    ):
        world.stub.nonce_window = WINDOWS[seed % len(WINDOWS)]
        for one in wanted:
            world.stub.messages.setdefault(one.target.channel_id, [])
        ended = await _until_all_sent(world, wanted, random.Random(seed))
        # What is still on its way arrives too.
        await asyncio.sleep(120)
        open_rows = await DiscordMessageLog.filter(success__isnull=True).count()
        visible = _visible(world)
        swept = world.bot.services.sweeper.counts
    _count(figures, seed, script, {one.marker: visible[one.marker] for one in wanted}, ended)
    figures.unknown += open_rows
    figures.recovered += swept.found + swept.released
    figures.unexpected += len(set(visible) - {one.marker for one in wanted})


async def _until_all_sent(world: WireWorld, wanted: Sequence[_Message], chance: random.Random) -> dict[int, float]:
    """Send, and send again what is not recorded as sent, as the poll does; return how long each took."""
    began, loop = {}, asyncio.get_running_loop()
    ended: dict[int, float] = {}

    async def _begin(one: _Message) -> None:
        await asyncio.sleep(chance.uniform(0, _STARTS_WITHIN))
        began[one.key.source_id] = loop.time()
        await _send(world, one)

    first = [asyncio.create_task(_begin(one)) for one in wanted]
    until = loop.time() + _MOST_SECONDS
    while len(ended) < len(wanted) and loop.time() < until:
        await asyncio.sleep(_POLL_SECONDS)
        for number in await DiscordMessageLog.filter(source=_SOURCE, success=True).values_list("source_id", flat=True):
            ended.setdefault(int(str(number)), loop.time())
        again = [one for one, task in zip(wanted, first, strict=True) if task.done()]
        await asyncio.gather(*(_send(world, one) for one in again if one.key.source_id not in ended))
    await asyncio.gather(*first)
    return {number: at - began[number] for number, at in ended.items()}


async def _send(world: WireWorld, one: _Message) -> None:
    await world.bot.services.out.send_once(one.key, guild_id=GUILD, target=one.target, render=one.render)


def _visible(world: WireWorld) -> Counter[str]:
    return Counter(str(row["content"]).splitlines()[-1] for channel in world.stub.messages.values() for row in channel)


def _count(figures: Figures, seed: int, script: FaultScript, visible: dict[str, int], ended: dict[int, float]) -> None:
    sends = [one for one in script.seen if one.nonce is not None]
    failed = [one for one in sends if one.fault is not None and one.fault.accepted]
    figures.runs += 1
    figures.attempted += len(visible)
    figures.acknowledged += len(ended)
    figures.ok += sum(count == 1 for count in visible.values())
    figures.sample("failed after acceptance", len(failed) / len(sends))
    figures.sample("to rest", *ended.values())
    figures.sample("invalid", most_invalid(script.seen))
    for name, broken in (
        ("duplicated", [marker for marker, count in visible.items() if count > 1]),
        ("lost", [marker for marker, count in visible.items() if count == 0 or int(marker[2:]) not in ended]),
    ):
        setattr(figures, name, getattr(figures, name) + len(broken))
        figures.faults += [f"seed {seed}: {marker} was {name}" for marker in broken]
    figures.sample(_MET_A_FAILURE, len({one.nonce for one in failed}))


def judge(figures: Figures) -> list[Finding]:
    """Nothing is doubled or lost, and a fifth of the sends did meet a failure."""
    shares = figures.samples["failed after acceptance"]
    share = sum(shares) / len(shares)
    return [
        *none_of(figures, "duplicated", "lost", "unexpected", "unknown"),
        Finding(f"{share:.0%} of the sends failed after acceptance (at least 20 %)", share >= 0.2),
        Finding(f"the sweep brought {figures.recovered} to an end (at least 1)", figures.recovered > 0),
        at_most("most invalid in ten minutes", max(figures.samples["invalid"]), MOST_INVALID, unit=""),
        at_most("to rest p99", percentile(figures.samples["to rest"], 0.99), _AT_REST_SECONDS),
    ]


PROOFS: tuple[Proof, ...] = (
    Proof(
        "R7",
        "Sends answered by failure after acceptance, 20 % of 10,000, nonce window 60 s and more: 0 duplicated",
        run,
        judge,
        seeds=100,
    ),
)
