"""Hand a due reminder to its task, by name, and keep track of what is under way."""

import asyncio
from collections.abc import Mapping

import structlog

from bot.reminders.task_registry import TASKS, ReminderContext, ReminderTask
from bot.scheduling.registry import ScheduledReminder
from bot.transactions import DATABASE_ERRORS

_log = structlog.get_logger(__name__)


class Dispatcher:
    """Runs reminder tasks side by side; the same reminder of the same event not twice at a time."""

    def __init__(self, context: ReminderContext, *, tasks: Mapping[str, ReminderTask] | None = None) -> None:
        self._context = context
        self._tasks = TASKS if tasks is None else tasks
        self._under_way: dict[tuple[str, int], asyncio.Task[None]] = {}
        self.failures = 0

    def dispatch(self, reminder: ScheduledReminder, event_id: int) -> bool:
        """Start the task of a reminder; False: this process is at it already. Call it outside any transaction."""
        key = (reminder.key, event_id)
        known = self._under_way.get(key)
        if known is not None and not known.done():
            return False
        task = asyncio.create_task(self._run(reminder, event_id))
        self._under_way[key] = task
        task.add_done_callback(lambda done: self._ended(key, done))
        return True

    @property
    def under_way(self) -> int:
        """How many tasks run."""
        return sum(1 for task in self._under_way.values() if not task.done())

    def _ended(self, key: tuple[str, int], task: "asyncio.Task[None]") -> None:
        if self._under_way.get(key) is task:
            del self._under_way[key]
        if not task.cancelled():
            task.exception()  # what is no Exception ends the process elsewhere; here it must only not be forgotten

    async def _run(self, reminder: ScheduledReminder, event_id: int) -> None:
        try:
            task = self._tasks[reminder.task_name]
            result = await task(event_id, self._context)
        except Exception as error:  # noqa: BLE001 -- see below
            # One failing event must not stop the rest; its due row stays, so that the next poll tries it again.
            self.failures += 1
            _log.exception("reminder_failed", reminder=reminder.key, event_id=event_id)
            if isinstance(error, DATABASE_ERRORS):
                self._context.out.try_again_soon(error)
        else:
            _log.debug("reminder_done", reminder=reminder.key, event_id=event_id, outcome=result.value)

    async def drain(self) -> None:
        """Wait until nothing is under way."""
        # Only for what still runs: from Python 3.12 on, waiting for what has ended gives nobody else a turn, and who
        # takes it off the list would never come to do so.
        while running := [task for task in self._under_way.values() if not task.done()]:
            await asyncio.gather(*running, return_exceptions=True)

    async def stop(self) -> None:
        """Cancel what is under way and wait for it."""
        for task in list(self._under_way.values()):
            task.cancel()
        await self.drain()
