"""
R13: the circuit breaker trips on exactly the 50th failure of Discord, never on people, and rests while it is open.

A unit is 400 DMs on the real queue, one way out and tables, in virtual time, with answers by chance: outages that
arrived or not, people who take no DMs, and successes, thin or thick by turns. An oracle that knows only the rule says
after which answer the breaker must have opened.
"""

import asyncio
import datetime as dt
import random
from collections.abc import Sequence
from dataclasses import dataclass

from bot.bootstrap import ServiceOptions
from bot.clock import ManualClock
from bot.database import opened
from bot.dm_queue.job import DmJob, JobEnd, JobKind
from bot.dm_queue.worker import DmQueueOptions
from bot.leases.failures import ErrorClass, SendError
from bot.leases.keys import MessageKey
from bot.leases.reports import SendReport
from bot.message.outgoing import OutgoingMessage
from models.audit_log import AuditLog
from models.dm_channel import DmChannel
from tests.builders import GUILD, FakeDiscord, dm_channel, process, refused
from tests.chaos.proof import Figures, Finding, Proof, Share, none_of
from tests.conftest import START

PEOPLE = 400
FAILURES, WITHIN, OPEN_FOR = 50, dt.timedelta(seconds=60), dt.timedelta(minutes=5)


@dataclass(frozen=True, slots=True)
class Answered:
    """What Discord answered to one DM, and when; None: it took it."""

    at: dt.datetime
    error: ErrorClass | None


def openings(answers: Sequence[Answered]) -> list[dt.datetime]:
    """Return when a breaker that follows the rule opens: the oracle, which shares nothing with the product."""
    found: list[dt.datetime] = []
    in_a_row: list[dt.datetime] = []
    for one in answers:
        if found and one.at < found[-1] + OPEN_FOR:
            continue  # was under way already, and counts neither way for an open one
        if one.error is None:
            in_a_row = []
        elif one.error is ErrorClass.OUTAGE:
            in_a_row = [*in_a_row, one.at][-FAILURES:]
            if len(in_a_row) == FAILURES and one.at - in_a_row[0] <= WITHIN:
                found.append(one.at)
                in_a_row = []
    return found


class Letter:
    """Words for anybody; counts the ends."""

    def __init__(self) -> None:
        self.ends = 0

    async def render(self, recipient_id: int) -> OutgoingMessage:
        """Return one person's message."""
        return OutgoingMessage(marker=f"approval #{recipient_id}", content=f"You are in!\napproval #{recipient_id}")

    def ended(self, job: DmJob, report: SendReport | JobEnd) -> None:
        """Count an end."""
        del job, report
        self.ends += 1


def scripted(chance: random.Random) -> list[SendError | None]:
    """Return the answers to every DM: long rows of outages, with now and then one that breaks the row or does not."""
    answers: list[SendError | None] = []
    while len(answers) < PEOPLE:
        length = chance.choice([1, 5, 48, 49, 50, 51, 60])
        for _ in range(length):
            if chance.random() < 0.03:
                answers.append(refused(ErrorClass.RECIPIENT_UNREACHABLE))
            answers.append(refused(ErrorClass.OUTAGE, arrived=chance.random() < 0.5))
        answers.extend([None] * chance.choice([0, 0, 1, 2]))
        answers.extend([refused(ErrorClass.RECIPIENT_UNREACHABLE)] * chance.choice([0, 0, 70]))
    return answers[:PEOPLE]


async def _unit(seed: int, url: str) -> Figures:
    chance = random.Random(seed)
    clock = ManualClock(START)
    discord = FakeDiscord(clock)
    answers = scripted(chance)
    discord.next_sends = list(answers)
    met: list[Answered] = []
    really = discord.send

    async def _send(*args: object, **kwargs: object) -> object:
        error = discord.next_sends[0] if discord.next_sends else None
        met.append(Answered(clock.now(), error.error_class if error is not None else None))
        return await really(*args, **kwargs)  # type: ignore[arg-type]

    discord.send = _send  # type: ignore[assignment, method-assign]
    async with opened(url):
        people = range(1, PEOPLE + 1)
        rows = [DmChannel(user_id=who, channel_id=dm_channel(who), opened_at=START) for who in people]
        await DmChannel.bulk_create(rows)
        # At 5 a second 50 take 9.8 s; at 0.8 a second they take 61 s, and never open it.
        rate = chance.choice([5.0, 5.0, 5.0, 0.8])
        bot = await process(discord, clock, options=ServiceOptions(dm_queue=DmQueueOptions(drain_rate=rate)))
        letter = Letter()
        for who in people:
            job = DmJob(JobKind.APPROVAL, MessageKey("approval_dm", who, who), GUILD, who, letter, clock.now())
            bot.services.dms.queue.offer(job)
        await bot.run_until(START + dt.timedelta(hours=3), at_most_apart=dt.timedelta(minutes=10))
        audit = await AuditLog.filter(action__startswith="dm.").order_by("id").values("action", "created_at", "after")
    return _counted(seed, met, audit, ended=letter.ends)


def _counted(seed: int, met: Sequence[Answered], audit: Sequence[dict[str, object]], *, ended: int) -> Figures:
    expected = openings(met)
    happened = [row["created_at"] for row in audit if row["action"] == "dm.circuit_opened"]
    closed = [row["created_at"] for row in audit if row["action"] == "dm.circuit_closed"]
    taken_while_open = [one for one in met if any(at < one.at < at + OPEN_FOR for at in expected)]
    figures = Figures(runs=1, attempted=len(met), acknowledged=sum(one.error is None for one in met))
    figures.ok = ended
    figures.lost = PEOPLE - min(ended, PEOPLE)
    figures.unexpected = len(taken_while_open)
    figures.sample("openings", len(happened))
    if happened != expected:
        figures.faults.append(f"seed {seed}: it opened at {happened}, the rule says {expected}")
    if closed != [at + OPEN_FOR for at in expected]:
        figures.faults.append(f"seed {seed}: it closed at {closed}, opened at {expected}")
    return figures


async def _share(share: Share) -> Figures:
    figures = Figures()
    assert share.dialect is not None
    for seed in share.seeds:
        async with share.databases.fresh(share.dialect) as url:
            figures.add(await _unit(seed, url))
    return figures


def run(share: Share) -> Figures:
    """Do one share."""
    return asyncio.run(_share(share))


def judge(figures: Figures) -> list[Finding]:
    """Return what must hold of the breaker."""
    times = int(sum(figures.samples["openings"]))
    told = f"opened {times} times, each on the 50th, closed after 5 min, one row each"
    return [*none_of(figures, "lost", "unexpected"), Finding(told, times > 0 and not figures.faults)]


PROOFS = (
    Proof("R13", "The breaker trips on exactly the 50th failure and on nobody's closed DMs", run, judge, seeds=100),
)
