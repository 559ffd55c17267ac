"""What an admin is told of the DM queue: figures of the whole process, failures of their own server alone."""

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bot.dm_queue.job import JobKind
from bot.dm_queue.recent_failures import RecentFailure
from bot.dm_queue.worker import DmWorker
from bot.message import timestamps
from bot.message.escaping import escape

_MOST_SHOWN = 5


@dataclass(frozen=True, slots=True)
class DmQueueStatus:
    """
    The queue at one moment.

    ``rate`` is in starts a second; ``oldest``: since when the oldest has waited, None: nothing waits; ``resumes_at``:
    until when nothing is taken from it, None: it drains; ``is_open``: that is since Discord does not answer;
    ``is_held_back``: it is since Discord refused too much of late.
    """

    waiting: Mapping[JobKind, int]
    in_flight: int
    rate: float
    oldest: dt.datetime | None
    resumes_at: dt.datetime | None
    is_open: bool
    failures: Sequence[RecentFailure]
    is_held_back: bool = False


def status_of(worker: DmWorker, *, guild_id: int) -> DmQueueStatus:
    """Return how the queue of this process stands, with the recent failures of one guild."""
    return DmQueueStatus(
        waiting=worker.queue.waiting(),
        in_flight=worker.in_flight,
        rate=worker.rate,
        oldest=min((job.queued_at for job in worker.queue), default=None),
        resumes_at=worker.resumes_at(),
        is_open=worker.breaker.open_until is not None,
        failures=[one for one in worker.recent_failures if one.guild_id == guild_id][-_MOST_SHOWN:],
        is_held_back=worker.is_held_back,
    )


def status_text(status: DmQueueStatus) -> str:
    """Return what an admin reads, line by line."""
    return "\n".join([_depth(status), _pace(status), *_failed(status.failures)])


def _depth(status: DmQueueStatus) -> str:
    total = sum(status.waiting.values())
    if not total:
        return f"No direct message waits; {status.in_flight} under way."
    kinds = ", ".join(f"{kind.value} {count}" for kind, count in sorted(status.waiting.items()))
    since = f", the oldest since {timestamps.relative(status.oldest)}" if status.oldest is not None else ""
    return f"{total} direct messages wait ({kinds}){since}; {status.in_flight} under way."


def _pace(status: DmQueueStatus) -> str:
    if status.resumes_at is None:
        return f"I start at most {status.rate:g} a second."
    when = timestamps.full_and_relative(status.resumes_at)
    if status.is_open:
        return f"Discord does not answer, so everything is kept and goes on {when}."
    if status.is_held_back:
        return f"Discord refused too many requests of late, so I hold back: everything is kept and goes on {when}."
    return f"Direct messages rest for now; everything is kept and goes on {when}."


def _failed(failures: Sequence[RecentFailure]) -> list[str]:
    if not failures:
        return ["None failed in this server lately."]
    lines = [
        f"- {timestamps.relative(one.at)}"
        + (f" to <@{one.recipient_id}>" if one.recipient_id is not None else "")
        + f": {escape(one.why)}"
        for one in reversed(failures)
    ]
    return ["Failed in this server lately:", *lines]
