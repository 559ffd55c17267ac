"""The three reminders that go to many: whom, what, and the posts beside them."""

import datetime as dt
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial

from bot.dm_queue.fan_out_plan import FanOutPlan, SidePost, Standing
from bot.dm_queue.job import JobKind
from bot.leases.keys import MessageKey
from bot.leases.reports import SendResult, WithdrawnError
from bot.message.outgoing import OutgoingMessage
from bot.reminders.missed import tell_missed
from bot.reminders.task_registry import ReminderContext
from bot.scheduling.due import due_at, is_wanted
from bot.scheduling.registry import ScheduledReminder
from models.event import Event
from models.states import EventState

Recipients = Callable[..., Awaitable[tuple[int, ...]]]
"""Gives the people a reminder of an event is for; with a list of people, those of them it is still for."""

Body = Callable[[Event, int], Awaitable[OutgoingMessage]]
"""Gives the DM of one recipient."""


@dataclass(frozen=True, slots=True)
class FanOutReminder:
    """One reminder that is a fan-out: its entry, whom it is for, and the DM of one of them."""

    entry: ScheduledReminder
    recipients: Recipients
    body: Body

    async def begin(self, event: Event, context: ReminderContext, posts: Sequence[SidePost] = ()) -> SendResult:
        """Take the reminder of one event up, unless it is done or somebody is at it."""
        if not self._is_due(event, context.clock.now()):
            return SendResult.WITHDRAWN
        plan = FanOutPlan(
            key=MessageKey(self.entry.log_source, event.id),
            guild_id=event.guild_id,
            kind=JobKind.REMINDER,
            ends_at=event.scheduled_at,
            recipients=await self.recipients(event),
            render=partial(self._render, event.id, context),
            standing=partial(self._standing, event.id, event.scheduled_at),
            tell_too_late=partial(self._tell_too_late, event, context),
            posts=tuple(posts),
        )
        return await context.fan_outs.begin(plan)

    def _is_due(self, event: Event, now: dt.datetime) -> bool:
        due = due_at(event, self.entry)
        return due is not None and due <= now < event.scheduled_at

    async def _standing(self, event_id: int, starts_at: dt.datetime, now: dt.datetime) -> Standing:
        """Return how the reminder stands that was begun for an event when it was to start at ``starts_at``."""
        event = await Event.get_or_none(id=event_id)
        if event is None or event.scheduled_at != starts_at or not is_wanted(event, self.entry):
            return Standing.CHANGED
        if now >= starts_at and event.state is not EventState.CANCELLED:
            return Standing.OVER
        return Standing.AS_PLANNED if self._is_due(event, now) else Standing.CHANGED

    async def fresh(self, event_id: int, context: ReminderContext) -> Event:
        """
        Return the event as it stands now.

        Raises:
            WithdrawnError: its reminder is not to be sent as things stand.
        """
        event = await Event.get_or_none(id=event_id)
        if event is None or not self._is_due(event, context.clock.now()):
            raise WithdrawnError
        return event

    async def _render(self, event_id: int, context: ReminderContext, recipient_id: int) -> OutgoingMessage:
        event = await self.fresh(event_id, context)
        if recipient_id not in await self.recipients(event, [recipient_id]):
            raise WithdrawnError
        return await self.body(event, recipient_id)

    async def _tell_too_late(self, event: Event, context: ReminderContext) -> None:
        await tell_missed(event.guild_id, [(event.id, self.entry.log_source)], now=context.clock.now())
