"""A fan-out that this process is at: what of it is queued, what waits for room, and what its posts have come to."""

import datetime as dt
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from bot.clock import Clock
from bot.dm_queue.fan_out_plan import FanOutPlan
from bot.dm_queue.job import DmJob, JobEnd
from bot.dm_queue.queue import DmQueue
from bot.leases.fan_out_rows import Child
from bot.leases.keys import MessageKey
from bot.leases.ledger import Lease
from bot.leases.reports import SendReport, SendResult
from bot.message.outgoing import OutgoingMessage


@dataclass(slots=True, eq=False)
class RunningFanOut:
    """
    One fan-out, and the letter of its jobs.

    ``queued``: recipients whose job waits or is under way; ``rest``: those who have found no room yet; ``withdrawn``:
    those who were not to get it when their turn came; ``posts``: posts of which no more is to come.

    ``stepped_at``, ``again_at``: when the last step was taken, and when the next one is to be; ``woken``: one ended
    since the last step began, which brings it forward; ``is_watching``: the log is to say what became of an attempt;
    ``in_doubt``: the plan may have been changed.
    """

    plan: FanOutPlan
    lease: Lease
    clock: Clock
    renewed_at: dt.datetime
    stepped_at: dt.datetime
    again_at: dt.datetime
    wake: Callable[[], None]
    queued: set[int] = field(default_factory=set)
    rest: deque[int] = field(default_factory=deque)
    withdrawn: set[int] = field(default_factory=set)
    posts: dict[MessageKey, Child] = field(default_factory=dict)
    woken: bool = False
    is_watching: bool = False
    in_doubt: bool = False

    def wants_a_step(self, now: dt.datetime) -> bool:
        """Return whether there may be something to do; those who wait for room are tried whenever any step is."""
        # Not between the two also where the clock was set back.
        return self.woken or self.is_watching or bool(self.rest) or not self.stepped_at <= now < self.again_at

    @property
    def is_sending(self) -> bool:
        """Whether DMs wait or are under way."""
        return bool(self.queued or self.rest)

    def is_over(self, now: dt.datetime) -> bool:
        """Return whether nothing of it may be sent any more."""
        return now >= self.plan.ends_at

    async def render(self, recipient_id: int) -> OutgoingMessage:
        """Return the DM of one recipient."""
        return await self.plan.render(recipient_id)

    def ended(self, job: DmJob, report: SendReport | JobEnd) -> None:
        """Note that the job of a recipient has ended; what it ended in, the log says."""
        recipient = job.key.recipient_id
        self.queued.discard(recipient)
        is_withdrawn = isinstance(report, SendReport) and report.result is SendResult.WITHDRAWN
        # From the end on nobody is to get it, which is no reason of the recipient's own.
        if is_withdrawn and not self.is_over(self.clock.now()):
            self.withdrawn.add(recipient)
        self.in_doubt |= is_withdrawn
        if is_withdrawn or self.rest or not self.queued:
            self.woken = True
            self.wake()

    def fill(self, queue: DmQueue, *, most: int, now: dt.datetime) -> None:
        """Queue the rest, up to ``most`` at a time; who finds no room waits for one of them to end, or a later step."""
        plan = self.plan
        while self.rest and len(self.queued) < most:
            recipient = self.rest[0]
            job = DmJob(plan.kind, plan.child_key(recipient), plan.guild_id, recipient, self, now, plan.ends_at)
            if not queue.offer(job):
                return
            self.queued.add(self.rest.popleft())

    def withdraw_from(self, queue: DmQueue) -> None:
        """Take back what still waits."""
        self.rest.clear()
        for job in queue.remove(lambda job: job.letter is self):
            self.queued.discard(job.key.recipient_id)
