"""
One cause, many DMs: a parent lease, a child per recipient, and the posts that belong to them.

The parent is held, and renewed, for as long as anything of it is open. A child is claimed only when its turn in the
queue has come. What the log says of the children decides everything: so a crash, a restart or another process goes on
with those alone who have no message yet. Source: 02-reminders.md, "The four reminders"; 03-delivery.md, "Fan-out".
"""

import asyncio
import datetime as dt
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import structlog

from bot.clock import Clock
from bot.dm_queue.fan_out_plan import FanOutPlan, Standing
from bot.dm_queue.queue import DmQueue
from bot.dm_queue.running_fan_out import RunningFanOut
from bot.dm_queue.side_posts import LOOK_AGAIN, drive_post, record_too_late
from bot.leases import fan_out_rows
from bot.leases.failures import ErrorClass
from bot.leases.fan_out_rows import Child, FanOutCounts
from bot.leases.parents import ParentLeases
from bot.leases.reports import SendResult
from bot.leases.send_once import OneWayOut
from bot.scheduling.agenda import DATABASE_AGAIN, Agenda
from bot.scheduling.bodies import CHECK_EVENT_REMINDERS, DRIVE_FAN_OUTS, TELL_OPS_NOTES
from bot.transactions import DATABASE_ERRORS, atomic

if TYPE_CHECKING:
    from bot.leases.keys import MessageKey

_log = structlog.get_logger(__name__)

# Well within the five minutes after which a lease counts as forgotten.
_RENEW_EVERY = dt.timedelta(minutes=1)
_PAGE = 500


class _ChangedMeanwhileError(Exception):
    """The plan of a fan-out that asked nobody was changed while it was being finished."""


class FanOuts:
    """The fan-outs of one process."""

    def __init__(self, queue: DmQueue, out: OneWayOut, *, clock: Clock, agenda: Agenda) -> None:
        self._queue = queue
        self._lease_clock = out.lease_clock
        self._parents = ParentLeases(out)
        self._clock = clock
        self._agenda = agenda
        self._running: dict[MessageKey, RunningFanOut] = {}
        self._under_way: dict[MessageKey, asyncio.Task[None]] = {}

    async def begin(self, plan: FanOutPlan) -> SendResult:
        """
        Take a fan-out up unless it is done or somebody is at it; its messages follow by themselves.

        Raises:
            DATABASE_ERRORS: the claim is not durable; nothing is sent.
        """
        if plan.key in self._running:
            return SendResult.ALREADY_CLAIMED
        lease = await self._parents.hold(plan.key, guild_id=plan.guild_id)
        if lease is None:
            return SendResult.ALREADY_CLAIMED
        now = self._clock.now()
        self._running[plan.key] = RunningFanOut(plan, lease, self._clock, now, now, now, self._wake)
        _log.info("fan_out_begun", key=str(plan.key), guild=plan.guild_id, recipients=len(plan.recipients))
        self._wake()
        return SendResult.BEGUN

    def _wake(self) -> None:
        self._agenda.wake(DRIVE_FAN_OUTS, self._clock.now())

    async def drive_fan_outs(self, now: dt.datetime) -> dt.datetime | None:
        """Take every fan-out one step further, side by side: a slow post of one holds no other up."""
        for key, running in list(self._running.items()):
            if key not in self._under_way and running.wants_a_step(now):
                task = self._under_way[key] = asyncio.create_task(self._step(running, now))
                task.add_done_callback(self._stepped)
        # Those under way name their next moment at their end.
        return min((one.again_at for key, one in self._running.items() if key not in self._under_way), default=None)

    def _share(self) -> int:
        """Return how much of the queue one fan-out may hold: so that a large one does not keep the later ones out."""
        return max(1, self._queue.fan_out_room // max(1, len(self._running)))

    def _stepped(self, task: "asyncio.Task[None]") -> None:
        self._under_way = {key: other for key, other in self._under_way.items() if other is not task}
        if not task.cancelled():
            task.exception()  # what is no Exception ends the process elsewhere; here it must only not be forgotten

    async def _step(self, running: RunningFanOut, now: dt.datetime) -> None:
        running.woken, running.stepped_at = False, now
        try:
            again = await self._advance(running, now)
            running.again_at = again or running.again_at
        except Exception as error:  # noqa: BLE001 -- one fan-out must not stop the others, and is taken up again
            _log.exception("fan_out_failed", key=str(running.plan.key), guild=running.plan.guild_id)
            wait = DATABASE_AGAIN if isinstance(error, DATABASE_ERRORS) else LOOK_AGAIN
            again = running.again_at = now + wait
        if running.woken:
            again = self._clock.now()
        # In the next round of the loop, when this step is off the list.
        asyncio.get_running_loop().call_soon(self._agenda.wake, DRIVE_FAN_OUTS, again)

    async def _advance(self, running: RunningFanOut, now: dt.datetime) -> dt.datetime | None:
        """Do what can be done now; return when there is more, None: nothing is left."""
        if not await self._is_held(running, now) or await self._is_dropped(running, now):
            return None
        if running.is_over(now):
            running.withdraw_from(self._queue)
        else:
            running.fill(self._queue, most=self._share(), now=now)
        if running.is_sending:
            moments = await self._drive_posts(running, now, all_settled=False)
        else:
            moments = await self._look(running, now)
            if not moments and not running.is_sending:
                return None
        moments += [] if running.is_over(now) else [running.plan.ends_at]
        moments += [now + LOOK_AGAIN] * bool(running.rest)
        return min([running.renewed_at + _RENEW_EVERY, *moments])

    async def _is_held(self, running: RunningFanOut, now: dt.datetime) -> bool:
        if abs(now - running.renewed_at) < _RENEW_EVERY:
            return True
        if await self._parents.renew(running.lease):
            running.renewed_at = now
            return True
        _log.warning("fan_out_lost", key=str(running.plan.key), guild=running.plan.guild_id)
        self._forget(running)
        return False

    async def _is_dropped(self, running: RunningFanOut, now: dt.datetime) -> bool:
        """Give a fan-out up whose plan was changed: what is still due of it is taken up anew when it is."""
        plan = running.plan
        if running.is_sending and not running.in_doubt and not running.is_over(now):
            return False
        running.in_doubt = False
        if await plan.standing(now) is not Standing.CHANGED:
            return False
        await self._parents.drop(running.lease, guild_id=plan.guild_id)
        self._forget(running)
        self._agenda.wake(CHECK_EVENT_REMINDERS, now)
        _log.info("fan_out_dropped", key=str(plan.key), guild=plan.guild_id)
        return True

    def _forget(self, running: RunningFanOut) -> None:
        running.withdraw_from(self._queue)
        self._running.pop(running.plan.key, None)

    async def _look(self, running: RunningFanOut, now: dt.datetime) -> list[dt.datetime]:
        """Read what became of the children; queue who is to be tried, post what is to be posted, or finish."""
        plan = running.plan
        known = await fan_out_rows.children(plan.key)
        children = {who: known.get(who, Child()) for who in plan.recipients if who not in running.withdrawn}
        is_over = running.is_over(now)
        unsettled = {who: child for who, child in children.items() if child.is_wanted(is_over=is_over)}
        running.is_watching = any(child.open for child in unsettled.values())
        moments = await self._try(running, unsettled, now)
        moments += await self._drive_posts(running, now, all_settled=not unsettled)
        if moments or running.is_sending:
            return moments
        if unsettled:
            # What was queued above ended while a post was under way: how, only another look tells.
            return [now]
        await self._finish(running, known)
        return []

    async def _try(self, running: RunningFanOut, unsettled: Mapping[int, Child], now: dt.datetime) -> list[dt.datetime]:
        """Queue those who are to be tried, or record that it is too late; return when the others may be."""
        moments = [now + LOOK_AGAIN for child in unsettled.values() if child.open]
        waiting = {who: child for who, child in unsettled.items() if not child.open}
        if running.is_over(now):
            await self._record_too_late(running, list(waiting))
            return moments
        clock = await self._lease_clock.now()
        running.rest.extend(who for who, child in waiting.items() if child.is_due(clock))
        running.fill(self._queue, most=self._share(), now=now)
        again = [child.next_attempt_at for child in waiting.values() if not child.is_due(clock)]
        return moments + [now + (at - clock) for at in again if at is not None]

    async def _record_too_late(self, running: RunningFanOut, recipients: Sequence[int]) -> None:
        """Record whom the start overtook, a page at a time: so that others can write between, and the lease is kept."""
        for start in range(0, len(recipients), _PAGE):
            page = recipients[start : start + _PAGE]

            async def _unit(page: Sequence[int] = page) -> None:
                for who in page:
                    key = running.plan.child_key(who)
                    await record_too_late(key, guild_id=running.plan.guild_id, lease_clock=self._lease_clock)

            await atomic(_unit)
            if start and not await self._parents.renew(running.lease):
                running.renewed_at -= _RENEW_EVERY  # somebody else goes on with the rest: the next step finds that out
                return

    async def _drive_posts(self, running: RunningFanOut, now: dt.datetime, *, all_settled: bool) -> list[dt.datetime]:
        moments = [
            await drive_post(running, post, all_settled=all_settled, now=now, lease_clock=self._lease_clock)
            for post in running.plan.posts
        ]
        return [moment for moment in moments if moment is not None]

    async def _finish(self, running: RunningFanOut, children: Mapping[int, Child]) -> None:
        """Record that nothing of the fan-out is open any more, with how many became what."""
        plan = running.plan
        counts = _counts(running, children)

        async def _unit() -> bool:
            done = await self._parents.finish(running.lease, counts, guild_id=plan.guild_id)
            # What asked nobody is not done where the event got another time meanwhile; its row is held by now.
            if done and counts.are_of_nobody and await plan.standing(self._clock.now()) is Standing.CHANGED:
                raise _ChangedMeanwhileError
            if done and counts.too_late:
                await plan.tell_too_late()
            return done

        try:
            done = await atomic(_unit)
        except _ChangedMeanwhileError:
            running.in_doubt = running.woken = True  # the next step gives it up
            return
        self._parents.let_go(running.lease)
        self._forget(running)
        if not done:
            _log.warning("fan_out_lost", key=str(plan.key), guild=plan.guild_id)
            return
        if counts.too_late:
            self._agenda.wake(TELL_OPS_NOTES, self._clock.now())
        _log.info("fan_out_done", key=str(plan.key), guild=plan.guild_id, **counts.as_data())

    @property
    def under_way(self) -> int:
        """How many steps run."""
        return len(self._under_way)

    async def settle(self) -> None:
        """Wait until no step is under way."""
        while self._under_way:
            await asyncio.gather(*self._under_way.values(), return_exceptions=True)
            await asyncio.sleep(0)  # for those who take what has ended off the list
        await asyncio.sleep(0)  # for the wake that the last step left

    async def stop(self) -> None:
        """Cancel the steps under way; what is held stays held."""
        for task in self._under_way.values():
            task.cancel()
        await self.settle()

    async def leave(self) -> None:
        """Give every fan-out up, so that the next process takes it up at once."""
        await self.stop()
        for running in list(self._running.values()):
            try:
                await self._parents.drop(running.lease, guild_id=running.plan.guild_id)
            except DATABASE_ERRORS:
                # The sweeper of the next process drops it.
                _log.exception("fan_out_not_dropped", key=str(running.plan.key), guild=running.plan.guild_id)
            self._forget(running)


def _counts(running: RunningFanOut, children: Mapping[int, Child]) -> FanOutCounts:
    own = [child for who, child in children.items() if who not in running.withdrawn]
    ends = Counter(_end_of(child) for child in [*own, *running.posts.values()])
    return FanOutCounts(
        sent=ends["sent"],
        unreachable=ends["unreachable"],
        failed=ends["failed"],
        withdrawn=len(running.withdrawn),
        too_late=ends["too_late"],
    )


def _end_of(child: Child) -> str:
    if child.sent:
        return "sent"
    match child.error_class:
        case ErrorClass.RECIPIENT_UNREACHABLE:
            return "unreachable"
        case ErrorClass.EVENT_STARTED:
            return "too_late"
        case None if child.settled:
            return "nothing"
        case _:
            return "failed"
