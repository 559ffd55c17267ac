"""Reminder tasks side by side: the same one not twice at a time, and an end that is waited for."""

import asyncio
from typing import cast

from bot.leases.reports import SendResult
from bot.reminders.dispatch import Dispatcher
from bot.reminders.task_registry import ReminderContext
from bot.reminders.tasks import ANNOUNCEMENT

NOTHING = cast("ReminderContext", None)


def dispatcher(task: object) -> Dispatcher:
    return Dispatcher(NOTHING, tasks={ANNOUNCEMENT.task_name: task})  # type: ignore[dict-item]


async def test_the_same_reminder_of_an_event_is_not_started_twice_at_a_time() -> None:
    may_end = asyncio.Event()

    async def _task(event_id: int, _: ReminderContext) -> SendResult:
        await may_end.wait()
        return SendResult.SENT

    work = dispatcher(_task)
    started = [work.dispatch(ANNOUNCEMENT, 1), work.dispatch(ANNOUNCEMENT, 1), work.dispatch(ANNOUNCEMENT, 2)]
    may_end.set()
    await work.drain()

    assert started == [True, False, True]
    assert work.dispatch(ANNOUNCEMENT, 1)
    await work.drain()


async def test_a_task_that_ended_a_moment_ago_holds_up_neither_the_wait_nor_its_next_start() -> None:
    async def _task(event_id: int, _: ReminderContext) -> SendResult:
        return SendResult.SENT

    work = dispatcher(_task)
    work.dispatch(ANNOUNCEMENT, 1)
    # One turn of the loop: the task has ended, and what is called back at its end has not run yet.
    await asyncio.sleep(0)

    await work.drain()

    assert work.dispatch(ANNOUNCEMENT, 1)
    await work.drain()


async def test_one_task_that_fails_is_counted_and_stops_no_other() -> None:
    done: list[int] = []

    async def _task(event_id: int, _: ReminderContext) -> SendResult:
        if event_id == 1:
            raise KeyError("a bug")
        done.append(event_id)
        return SendResult.SENT

    work = dispatcher(_task)
    for event_id in (1, 2, 3):
        work.dispatch(ANNOUNCEMENT, event_id)
    await work.drain()

    assert (done, work.failures) == ([2, 3], 1)
