"""The reminder tasks by name: what a registry entry's ``task_name`` is resolved through at dispatch."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from bot.clock import Clock
from bot.dm_queue.fan_out import FanOuts
from bot.leases.reports import SendResult
from bot.leases.send_once import OneWayOut


@dataclass(frozen=True, slots=True)
class ReminderContext:
    """What every task works with."""

    out: OneWayOut
    clock: Clock
    fan_outs: FanOuts


ReminderTask = Callable[[int, ReminderContext], Awaitable[SendResult]]

TASKS: dict[str, ReminderTask] = {}


class DuplicateTaskError(ValueError):
    """Two functions were registered under one name."""


def reminder_task(name: str) -> Callable[[ReminderTask], ReminderTask]:
    """
    Register a task function under ``name``; it takes an event id and the context.

    Raises:
        DuplicateTaskError: the name is taken.
    """

    def _register(task: ReminderTask) -> ReminderTask:
        if name in TASKS:
            message = f"two reminder tasks are called {name!r}"
            raise DuplicateTaskError(message)
        TASKS[name] = task
        return task

    return _register
