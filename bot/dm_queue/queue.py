"""
The jobs that wait: bounded, first in first out, in memory only.

Those whose DM channel is not open yet wait apart from the others, by recipient, so that they hold nobody up; once it is
open they go to the front, as they have waited longest. Source: 03-delivery.md, "DM queue"; dm-queue.txt, "Bounded
in-memory FIFO".
"""

from collections import Counter, deque
from collections.abc import Callable, Container, Iterable, Iterator

from bot.dm_queue.job import FAN_OUTS, DmJob, JobKind


class DmQueue:
    """Holds at most ``max_depth`` jobs; fan-outs fill at most half of it."""

    def __init__(self, *, max_depth: int = 10_000, on_offer: Callable[[], None] = lambda: None) -> None:
        self._max_depth = max_depth
        self._on_offer = on_offer
        self._arrived: deque[DmJob] = deque()
        self._ready: deque[DmJob] = deque()
        # By recipient, in the order in which they came. Lists: most have one job, and a deque is ten times as large.
        self._unopened: dict[int, list[DmJob]] = {}
        self._waiting: Counter[JobKind] = Counter()

    def __len__(self) -> int:
        """Return how many jobs wait."""
        return self._waiting.total()

    def waiting(self) -> dict[JobKind, int]:
        """Return how many jobs of each kind wait."""
        return {kind: count for kind, count in self._waiting.items() if count}

    @property
    def fan_out_room(self) -> int:
        """How many jobs of fan-outs it takes in all."""
        return self._max_depth // 2

    def offer(self, job: DmJob) -> bool:
        """Take a job, at once and without waiting for anything; False: there is no room for it."""
        if len(self) >= self._max_depth:
            return False
        if job.kind in FAN_OUTS and sum(self._waiting[kind] for kind in FAN_OUTS) >= self.fan_out_room:
            return False
        self._arrived.append(job)
        self._waiting[job.kind] += 1
        self._on_offer()
        return True

    def put_back(self, job: DmJob) -> None:
        """Put a job that was taken back to the front, whether there is room or not: it was accepted once."""
        self._ready.appendleft(job)
        self._waiting[job.kind] += 1

    def arrived(self, most: int) -> list[DmJob]:
        """Return up to ``most`` of the jobs that :meth:`sort` has not seen, oldest first."""
        return [job for job, _ in zip(self._arrived, range(most), strict=False)]

    def sort(self, jobs: Iterable[DmJob], *, is_open: Callable[[int], bool]) -> None:
        """Let jobs that :meth:`arrived` gave go on: those whose channel is open, or who need none, may be sent."""
        for job in jobs:
            if not self._arrived or self._arrived[0] is not job:
                continue  # it was removed meanwhile
            self._arrived.popleft()
            recipient = job.recipient_id
            if recipient is None or (recipient not in self._unopened and is_open(recipient)):
                self._ready.append(job)
            else:
                self._unopened.setdefault(recipient, []).append(job)

    @property
    def has_ready(self) -> bool:
        """Whether a job may be sent."""
        return bool(self._ready)

    def take(self) -> DmJob:
        """
        Take the first job that may be sent.

        Raises:
            IndexError: there is none.
        """
        job = self._ready.popleft()
        self._waiting[job.kind] -= 1
        return job

    def unopened(self, *, besides: Container[int]) -> int | None:
        """Return who has waited longest for their channel, ``besides`` those it is being opened for; None: nobody."""
        return next((recipient for recipient in self._unopened if recipient not in besides), None)

    def waiting_for(self, recipient_id: int) -> list[DmJob]:
        """Return the jobs that wait for the channel of a recipient."""
        return list(self._unopened.get(recipient_id, ()))

    def opened(self, recipient_id: int) -> None:
        """Let the jobs of a recipient go first: their channel is open, or will never be."""
        self._ready.extendleft(reversed(self._unopened.pop(recipient_id, ())))

    def open_again(self, job: DmJob) -> None:
        """Put a job back whose channel turned out not to be open."""
        recipient = job.recipient_id
        assert recipient is not None  # noqa: S101 -- a job without one needs no channel
        self._unopened = {recipient: [job, *self._unopened.pop(recipient, ())]} | self._unopened
        self._waiting[job.kind] += 1

    def take_unopened(self, recipient_id: int) -> DmJob | None:
        """Take the first job of a recipient whose channel could not be opened; None: there is none."""
        jobs = self._unopened.get(recipient_id)
        if jobs is None:
            return None
        job = jobs.pop(0)
        if not jobs:
            del self._unopened[recipient_id]
        self._waiting[job.kind] -= 1
        return job

    def remove(self, is_unwanted: Callable[[DmJob], bool]) -> list[DmJob]:
        """Remove the jobs that are no longer wanted; return them in order."""
        removed = [job for job in self if is_unwanted(job)]
        unwanted = {id(job) for job in removed}
        self._arrived = deque(job for job in self._arrived if id(job) not in unwanted)
        self._ready = deque(job for job in self._ready if id(job) not in unwanted)
        kept = {who: [j for j in jobs if id(j) not in unwanted] for who, jobs in self._unopened.items()}
        self._unopened = {who: jobs for who, jobs in kept.items() if jobs}
        self._waiting.subtract(job.kind for job in removed)
        return removed

    def __iter__(self) -> Iterator[DmJob]:
        """Yield every job that waits, in the order in which they would be sent if every channel were open now."""
        yield from self._ready
        for jobs in self._unopened.values():
            yield from jobs
        yield from self._arrived
