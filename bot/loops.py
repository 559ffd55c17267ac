"""
The real loops: a thin shell of ``discord.ext.tasks`` round each background body.

What the library's loop does by itself would silence a bot: an ordinary exception ends it, its intervals follow the wall
clock, so that a clock set back stalls it. So the body cannot raise, the interval is set anew after each pass to the
body's own next moment, a wake shortens the sleep under way, and a supervisor on the monotonic clock restarts a loop
whose last good pass is too old. A pass under way is never cut off but by a stop: the supervisor only tells of it. Each
loop starts once per process, never on a reconnect.
"""

import asyncio
import datetime as dt
import logging
import time
from collections.abc import Callable, Coroutine, Iterable
from typing import Any

import discord
import structlog
from discord.ext import tasks

from bot.clock import Clock
from bot.scheduling.agenda import Agenda, Body
from bot.transactions import own_trouble

Before = Callable[[], Coroutine[Any, Any, None]]

_log = structlog.get_logger(__name__)

# The library's sleep is cancelled and set anew by every change of the interval; closer moments are one pass.
_SHORTEST_SECONDS = 0.05
_SUPERVISE_SECONDS = 10.0
_PERIODS_UNTIL_OVERDUE = 3
# By less a loop may be late, or wake a moment before its time.
_WORTH_STARTING_OVER_SECONDS = 1.0
# What is cancelled at a stop and does not end by then is left to the end of the process.
_CANCEL_SECONDS = 1.0


class BodyLoop:
    """One body in its loop; ``failures`` counts passes that raised."""

    def __init__(self, body: Body, *, agenda: Agenda, clock: Clock, before: Before) -> None:
        self.body = body
        self.failures = 0
        self._agenda = agenda
        self._clock = clock
        self._before = before
        self._last_good = self._last_told = time.monotonic()
        self._passing = False
        self._is_database_away = False
        self._stopping = False
        self._interval = body.period.total_seconds()
        self._loop = self._new_loop()

    def _new_loop(self) -> tasks.Loop[Callable[[], Coroutine[Any, Any, None]]]:
        loop = tasks.loop(seconds=self._interval, name=self.body.name)(self._pass)
        loop.before_loop(self._before)
        return loop

    @property
    def age(self) -> dt.timedelta:
        """How long ago the last good pass was, or the start."""
        return dt.timedelta(seconds=time.monotonic() - self._last_good)

    @property
    def is_running(self) -> bool:
        """Whether the loop runs."""
        return self._loop.is_running()

    def start(self) -> None:
        """Start the loop; a second call changes nothing."""
        if not self._loop.is_running():
            self._begin()

    def _begin(self) -> None:
        self._loop.start().add_done_callback(self._ended)

    def _ended(self, task: "asyncio.Task[None]") -> None:
        # Not by its body, whose errors stay inside the pass; the supervisor starts the loop over.
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.error("loop_ended", loop=self.body.name, exc_info=error)

    @property
    def task(self) -> "asyncio.Task[None] | None":
        """The task that the loop runs in, None before its start."""
        return self._loop.get_task()

    def stop(self) -> None:
        """Stop the loop, whatever it is doing."""
        self._stopping = True
        self._loop.cancel()

    def finish(self) -> None:
        """Stop the loop, after the pass under way if there is one."""
        self._stopping = True
        if self._passing:
            self._loop.stop()
        else:
            self._loop.cancel()

    def wake(self) -> None:
        """Let the next pass come at the body's next moment instead of a whole period later."""
        if self._loop.is_running() and not self._passing:
            self._rest()

    def restart_if_overdue(self) -> None:
        """Start a loop over whose last good pass is three periods old, and say so; again only three periods later."""
        now = time.monotonic()
        patience = self.body.period.total_seconds() * _PERIODS_UNTIL_OVERDUE
        if now - max(self._last_good, self._last_told) <= patience:
            return
        self._last_told = now
        seconds = round(self.age.total_seconds())
        if self._passing:
            _log.error("loop_pass_hangs", loop=self.body.name, age_seconds=seconds)
            return
        _log.error("loop_overdue", loop=self.body.name, age_seconds=seconds)
        self._start_over()

    def _start_over(self) -> None:
        self._loop.cancel()
        self._interval = self.body.period.total_seconds()
        self._loop = self._new_loop()
        self._begin()

    def _seconds_to_wait(self) -> float:
        period = self.body.period.total_seconds()
        upcoming = self._agenda.next(self.body.name)
        if upcoming is None:
            return period
        return min(period, max(_SHORTEST_SECONDS, (upcoming - self._clock.now()).total_seconds()))

    async def _pass(self) -> None:
        self._passing = True
        try:
            await self._agenda.run(self.body, self._clock.now())
        except (Exception, asyncio.CancelledError) as error:
            if isinstance(error, asyncio.CancelledError) and _is_being_cancelled():
                raise
            # The loop must outlive whatever its body does, also a cancellation that leaked out of the body's own work;
            # the next pass comes a period later.
            self.failures += 1
            # The watch tells of the outage; each loop once, not with each try.
            was_away, self._is_database_away = self._is_database_away, own_trouble(error) is not None
            level = logging.DEBUG if was_away and self._is_database_away else logging.ERROR
            _log.log(level, "loop_pass_failed", loop=self.body.name, failures=self.failures, exc_info=True)
        else:
            self._is_database_away = False
            self._last_good = time.monotonic()
        finally:
            self._passing = False
        self._rest()

    def _rest(self) -> None:
        """Set the sleep after this pass; the library counts an interval from the planned begin of the last one."""
        upcoming = self._loop.next_iteration
        if upcoming is None:
            return
        began = upcoming - dt.timedelta(seconds=self._interval)
        since = (discord.utils.utcnow() - began).total_seconds()  # noqa: TID251 -- the clock that the library counts by
        interval = since + self._seconds_to_wait()
        if interval < -_WORTH_STARTING_OVER_SECONDS:
            # The clock was set back past the begin of this pass. The library knows no shorter interval than none, and
            # would sleep until the clock is there again; a loop that is started over counts from now.
            _log.warning("clock_set_back", loop=self.body.name, seconds=round(-since))
            asyncio.get_running_loop().call_soon(self._start_over_unless_stopped, self._loop)
            return
        self._interval = max(0.0, interval)
        self._loop.change_interval(seconds=self._interval)

    def _start_over_unless_stopped(self, loop: tasks.Loop[Callable[[], Coroutine[Any, Any, None]]]) -> None:
        if loop is self._loop and not (self._stopping or self._passing):
            self._start_over()


class LoopSet:
    """All loops of one process, their wakes and their supervisor; each waits for ``before`` ahead of its first pass."""

    def __init__(self, agenda: Agenda, clock: Clock, *, before: Before) -> None:
        self._agenda = agenda
        self._before = before
        self._clock = clock
        self._loops: dict[str, BodyLoop] = {}
        self._supervisor: asyncio.Task[None] | None = None
        agenda.on_wake(self._woken)

    def add(self, bodies: Iterable[Body]) -> None:
        """
        Start a loop for each body.

        Raises:
            ValueError: one of them has a loop already.
        """
        for body in bodies:
            if body.name in self._loops:
                message = f"the loop {body.name} runs already"
                raise ValueError(message)
            loop = BodyLoop(body, agenda=self._agenda, clock=self._clock, before=self._before)
            self._loops[body.name] = loop
            loop.start()
        if self._supervisor is None:
            self._supervisor = asyncio.create_task(self._supervise(), name="loop_supervisor")

    def remove(self, names: Iterable[str]) -> None:
        """Stop and forget the loops of these bodies."""
        for name in names:
            if (loop := self._loops.pop(name, None)) is not None:
                loop.stop()

    def ages(self) -> dict[str, dt.timedelta]:
        """Return how long ago each loop's last good pass was."""
        return {name: loop.age for name, loop in self._loops.items()}

    async def stop(self, *, grace: dt.timedelta = dt.timedelta(0)) -> None:
        """Stop the supervisor and every loop, and wait for their end; passes under way have ``grace`` to end well."""
        if self._supervisor is not None:
            self._supervisor.cancel()
            await asyncio.gather(self._supervisor, return_exceptions=True)
            self._supervisor = None
        loops, self._loops = list(self._loops.values()), {}
        for loop in loops:
            loop.finish()
        late = await _ended({loop.task for loop in loops if loop.task is not None}, within=grace.total_seconds())
        for task in late:
            task.cancel()
        late = await _ended(late, within=_CANCEL_SECONDS)
        if late:
            _log.error("loops_not_ended", loops=sorted(task.get_name() for task in late))

    def _woken(self, body: str) -> None:
        if (loop := self._loops.get(body)) is not None:
            loop.wake()

    async def _supervise(self) -> None:
        while True:
            await asyncio.sleep(_SUPERVISE_SECONDS)
            for loop in list(self._loops.values()):
                try:
                    loop.restart_if_overdue()
                except Exception:  # noqa: BLE001 -- who looks after all must outlive the trouble with one
                    _log.exception("loop_not_looked_after", loop=loop.body.name)


def _is_being_cancelled() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


async def _ended(running: "set[asyncio.Task[None]]", *, within: float) -> "set[asyncio.Task[None]]":
    """Wait for tasks to end; return those that did not in that many seconds."""
    return (await asyncio.wait(running, timeout=within))[1] if running else set()


def silence_voice_warning() -> None:
    """Keep the library from asking for voice packages that Tocsin never uses."""
    discord.VoiceClient.warn_nacl = False
    discord.VoiceClient.warn_dave = False
