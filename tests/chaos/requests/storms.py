"""
Storms of refusals, each against the whole bot: what Discord counts as invalid is counted at the stub.

A storm is its fault script and its load. None may cost more than 500 invalid requests in any ten minutes.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from bot.leases.failures import ErrorClass
from bot.leases.keys import MessageKey
from bot.leases.ports import ChannelTarget
from bot.leases.reports import SendReport, SendResult
from bot.message.outgoing import OutgoingMessage
from models.discord_message_log import DiscordMessageLog
from tests.chaos.requests.wire_world import FIRST_CHANNEL, FIRST_PERSON, WireWorld, message
from tests.wire import faults
from tests.wire.discord_stub import GUILD
from tests.wire.faults import ANY, MESSAGES, NO_INTERACTIONS, OPENINGS, Rule, Seen, most_within

WINDOW = 600.0
MOST_INVALID = 500
HARD_STOP_AT = 1_000
_POLL_SECONDS = 30.0
_SOURCE = "proof_post"
_DMS = r"/channels/(?!2\d{4}/|900\d/)\d+/messages"
_CHANNELS = r"/channels/2\d{4}/messages"

Load = Callable[[WireWorld], Awaitable[None]]
Rules = Callable[[random.Random], Sequence[Rule]]


@dataclass(frozen=True, slots=True)
class Storm:
    """
    One scenario; it goes on for ``minutes``. ``stops``: the process has to say why it cannot go on.

    ``least``: fewer refusals than that, and the storm was none.
    """

    name: str
    rules: Rules
    load: Load
    least: int
    minutes: float = 13.0
    channels: int = 0
    stops: bool = False


async def post_until_sent(world: WireWorld, channels: Sequence[int], *, each: int = 1) -> None:
    """Let posts be due in these channels, and poll for those that are not sent, as the bot does."""
    waiting = {(channel, number) for channel in channels for number in range(each)}

    async def _try(channel: int, number: int) -> None:
        async def _render() -> OutgoingMessage:
            return message(f"post-{channel}-{number}")

        await world.bot.services.out.send_once(
            MessageKey(_SOURCE, channel, part=number),
            guild_id=GUILD,
            target=ChannelTarget(GUILD, channel),
            render=_render,
        )

    while waiting:
        await asyncio.gather(*(_try(*one) for one in sorted(waiting)))
        sent = await DiscordMessageLog.filter(source=_SOURCE, success=True).values_list("source_id", "part")
        if waiting := waiting - set(sent):
            await asyncio.sleep(_POLL_SECONDS)


def _dms(count: int, *, opened_before: bool = True) -> Load:
    async def _load(world: WireWorld) -> None:
        people = range(FIRST_PERSON, FIRST_PERSON + count)
        assert await world.queue_dms(people, opened_before=opened_before) == count

    return _load


def _posts(count: int, *, dms: int = 0) -> Load:
    async def _load(world: WireWorld) -> None:
        await _dms(dms)(world)
        await post_until_sent(world, range(FIRST_CHANNEL, FIRST_CHANNEL + count))

    return _load


def _answers(chance: random.Random) -> Rule:
    shortest = chance.choice([0.0, 0.06, 0.2])
    return Rule("*", ANY, faults.slow(shortest, shortest + chance.choice([0.0, 0.3, 0.9])))


STORMS: tuple[Storm, ...] = (
    Storm(
        "closed DMs",
        lambda chance: [
            _answers(chance),
            Rule("POST", _DMS, faults.refused(403, chance.choice([50007, 50278]))),
        ],
        _dms(700),
        least=600,
    ),
    Storm(
        "10,000 DMs that are all refused",
        lambda chance: [_answers(chance), Rule("POST", _DMS, faults.refused(403, 50001))],
        _dms(10_000),
        least=500,
        minutes=11,
    ),
    Storm(
        "forbidden channels",
        lambda chance: [_answers(chance), Rule("POST", _CHANNELS, faults.refused(403, 50013))],
        _posts(150),
        least=200,
        minutes=65,
        channels=150,
    ),
    Storm(
        "global 429",
        lambda chance: [
            _answers(chance),
            Rule(
                "*",
                NO_INTERACTIONS,
                faults.rate_limited(chance.choice([0.5, 1, 2, 40]), everywhere=True),
                within=(3.5, 700),
            ),
        ],
        _posts(150, dms=200),
        least=10,
        minutes=14,
        channels=150,
    ),
    Storm(
        "429 of every route",
        lambda chance: [
            _answers(chance),
            Rule("POST", MESSAGES, faults.rate_limited(chance.choice([0.5, 1, 40])), within=(0, 700)),
        ],
        _posts(80, dms=200),
        least=80,
        minutes=14,
        channels=80,
    ),
    Storm(
        "a block before Discord",
        lambda chance: [
            _answers(chance),
            Rule("*", ANY, faults.blocked(chance.choice([403, 429]), chance.choice([None, 600])), within=(3.3, 1_900)),
        ],
        _posts(200, dms=200),
        least=3,
        minutes=34,
        channels=200,
    ),
    Storm(
        "flagged for opening channels",
        lambda chance: [
            _answers(chance),
            Rule(
                "POST",
                OPENINGS,
                faults.refused(chance.choice([400, 403, 429]), 40003),
                after=chance.randrange(20),
            ),
        ],
        _dms(300, opened_before=False),
        least=1,
        minutes=40,
    ),
    Storm(
        "a refused token",
        lambda chance: [_answers(chance), Rule("*", NO_INTERACTIONS, faults.refused(401, 0), within=(4, 1e9))],
        _posts(200, dms=200),
        least=1,
        minutes=11,
        channels=200,
        stops=True,
    ),
)


HARD_STOP = Storm(
    "refusals without end",
    lambda chance: [_answers(chance), Rule("POST", _DMS, faults.refused(403, 50007))],
    _dms(1_200),
    least=1_000,
    minutes=11,
)
"""For a process that starts DMs all the same: nothing at all may leave it from 1,000 on."""


def sent_while_stopped(seen: Sequence[Seen]) -> int | None:
    """How many requests left between the thousandth refusal and room in the window; None: it never came to that."""
    invalid = sorted(one.answered_at for one in seen if one.is_invalid and one.answered_at is not None)
    if len(invalid) < HARD_STOP_AT:
        return None
    # To the millisecond: what is told in microseconds may round down.
    return sum(invalid[HARD_STOP_AT - 1] < one.at < invalid[0] + WINDOW - 0.001 for one in seen)


async def rage(storm: Storm, world: WireWorld) -> list[str]:
    """Let a storm go its length; return what broke."""
    until = asyncio.get_running_loop().time() + storm.minutes * 60
    load = asyncio.create_task(_named(storm.load(world)))
    await asyncio.sleep(until - asyncio.get_running_loop().time())
    broken = [repr(load.exception())] if load.done() and load.exception() is not None else []
    load.cancel()
    await asyncio.gather(load, return_exceptions=True)
    invalid = most_invalid(world.script.seen)
    if (met := refusals(world.script.seen)) < storm.least:
        broken.append(f"only {met} refusals, at least {storm.least}")
    if invalid > MOST_INVALID:
        broken.append(f"{invalid} invalid requests in ten minutes")
    if (after := after_refusal(world.script.seen)) > 3:
        broken.append(f"{after} requests after the token was refused")
    if world.logged("dm_circuit_opened"):
        broken.append("the breaker opened")
    if bool(world.stopped) is not storm.stops:
        broken.append(f"told to stop: {world.stopped}")
    return broken + not_kept(world)


async def _named(load: Awaitable[None]) -> None:
    await load


def refusals(seen: Sequence[Seen]) -> int:
    """How many requests were refused; beside the invalid ones, a flag may be told by a 400."""
    return sum(one.status in {400, 401, 403, 429} for one in seen)


def most_invalid(seen: Sequence[Seen]) -> int:
    """The most invalid requests in any ten minutes."""
    return most_within(WINDOW, (one.answered_at for one in seen if one.is_invalid and one.answered_at is not None))


def after_refusal(seen: Sequence[Seen]) -> int:
    """How many requests came after the first 401 was answered."""
    refused = [one.answered_at for one in seen if one.status == 401 and one.answered_at is not None]
    return sum(one.at > min(refused) for one in seen) if refused else 0


def not_kept(world: WireWorld) -> list[str]:
    """Return what became of DMs that Discord did not refuse for their own sake."""
    refused_for_good = {ErrorClass.RECIPIENT_UNREACHABLE, ErrorClass.FORBIDDEN}
    wrong = [
        f"the DM to {who} ended: {report}"
        for who, report in world.letters.ends
        if not isinstance(report, SendReport)
        or (
            report.result is SendResult.FAILED_PERMANENT
            and (report.error is None or report.error.error_class not in refused_for_good)
        )
    ]
    return wrong[:3]
