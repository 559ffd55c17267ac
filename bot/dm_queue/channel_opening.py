"""
Open the DM channel of somebody for whom jobs wait, then let those go; or end them, where it cannot be opened.

How fast channels are opened is the worker's to say. Source: 03-delivery.md, "DM queue".
"""

from collections.abc import Callable
from typing import Protocol

import structlog

from bot.clock import Clock
from bot.dm_queue.channel_book import DmChannelBook
from bot.dm_queue.job import DmJob
from bot.dm_queue.queue import DmQueue
from bot.dm_queue.rests import DmRests
from bot.leases.failures import ErrorClass, SendError
from bot.leases.reports import SendReport
from bot.leases.send_once import OneWayOut
from bot.scheduling.agenda import DATABASE_AGAIN
from bot.transactions import DATABASE_ERRORS

_log = structlog.get_logger(__name__)


class DmOpener(Protocol):
    """Discord, as far as opening DM channels goes."""

    async def open_dm(self, recipient_id: int) -> int:
        """
        Open the DM channel with one person; return its id.

        Raises:
            SendError: it could not be opened.
        """
        ...


class ChannelOpening:
    """Opens channels for one worker; ``end`` is told of each job that ended since its channel could not be opened."""

    def __init__(
        self,
        queue: DmQueue,
        out: OneWayOut,
        opener: DmOpener,
        *,
        clock: Clock,
        rests: DmRests,
        end: Callable[[DmJob, SendReport], None],
    ) -> None:
        self._queue = queue
        self._out = out
        self._opener = opener
        self._clock = clock
        self._rests = rests
        self._end = end

    async def open(self, recipient: int, book: DmChannelBook) -> None:
        """Open the channel of one person, and note it in the book."""
        try:
            channel_id = await self._opener.open_dm(recipient)
            await self._keep(book, recipient, channel_id)
        except SendError as error:
            await self._not_opened(recipient, error)
        else:
            self._queue.opened(recipient)

    async def _keep(self, book: DmChannelBook, recipient: int, channel_id: int) -> None:
        try:
            await book.opened(recipient, channel_id, now=self._clock.now())
        except DATABASE_ERRORS:
            # It is open and known in memory: only a later process opens it again.
            _log.exception("dm_channel_not_kept", recipient=recipient)

    async def _not_opened(self, recipient: int, error: SendError) -> None:
        _log.warning("dm_channel_not_opened", recipient=recipient, error_class=error.error_class, error=error.text)
        jobs = self._queue.waiting_for(recipient)
        self._out.blocks.heed(error.error_class, guild_id=jobs[0].guild_id if jobs else None)
        match error.error_class:
            case ErrorClass.RATE_LIMITED:
                self._rests.pause(error.retry_after)
            case ErrorClass.OPENING_TOO_FAST | ErrorClass.CDN_BLOCK | ErrorClass.UNAUTHORIZED:
                pass  # everything rests, or the process stops; the jobs stay where they are
            case _:
                if error.error_class is ErrorClass.OUTAGE:
                    await self._rests.count_failure()
                for _ in jobs:
                    job = self._queue.take_unopened(recipient)
                    if job is None or not await self._fail(job, error):
                        return

    async def _fail(self, job: DmJob, error: SendError) -> bool:
        """Record that a job could not be tried, as its channel cannot be opened; False: it waits again."""
        try:
            report = await self._out.fail_once(job.key, guild_id=job.guild_id, error=error)
        except DATABASE_ERRORS:
            _log.exception("dm_failure_not_recorded", key=str(job.key), guild=job.guild_id)
            self._rests.pause(DATABASE_AGAIN)
            self._queue.open_again(job)
            return False
        except BaseException:
            self._queue.open_again(job)
            raise
        self._end(job, report)
        return True
