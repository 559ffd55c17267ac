"""
Make every long-lived object once and join them: the one place that knows all of them.

What reaches Discord, and what tells the time, is handed in; so the bot, the tests and the simulation run the same
services.
"""

import datetime as dt
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

from bot.clock import Clock, LeaseClock
from bot.database_watch import DatabaseWatch
from bot.dm_queue.breaker_record import BreakerRecord
from bot.dm_queue.channel_opening import DmOpener
from bot.dm_queue.fan_out import FanOuts
from bot.dm_queue.queue import DmQueue
from bot.dm_queue.too_fast import note_too_fast
from bot.dm_queue.worker import DmQueueOptions, DmWorker
from bot.events.generate import Generator
from bot.events.lifecycle import Lifecycle
from bot.events.signups.attendee_roles import AttendeeRoles, MemberPort
from bot.events.signups.sign_up import Signups
from bot.leases.blocks import RequestLimits
from bot.leases.failures import Backoff
from bot.leases.instances import InstanceRegister, new_instance_id
from bot.leases.ports import DiscordTime, MessagePort, NativePort
from bot.leases.retention import Retention
from bot.leases.send_once import OneWayOut, SendOptions
from bot.leases.staleness import SweepOptions
from bot.leases.sweep import Sweeper
from bot.ops_notes import OpsNoteTeller, tell_unreadable
from bot.reminders import tasks as _registers_the_tasks  # noqa: F401 -- the decorators run on import
from bot.reminders.dispatch import Dispatcher
from bot.reminders.fire import ReminderClerk
from bot.reminders.native_steps import NativeEditor
from bot.reminders.native_upkeep import NativeUpkeep
from bot.reminders.observers import outcome_observers
from bot.reminders.post_upkeep import PostEditor, PostUpkeep
from bot.reminders.promotions import PromotionTeller
from bot.reminders.task_registry import ReminderContext
from bot.reminders.time_changes import TimeChangeTeller
from bot.scheduling import bodies
from bot.scheduling.agenda import Agenda, Body, together


class DiscordPort(MessagePort, PostEditor, DmOpener, Protocol):
    """Everything that the services ask of Discord."""


class CalendarPort(NativePort, NativeEditor, Protocol):
    """The servers' own lists of scheduled events."""


@dataclass(frozen=True, slots=True)
class ServiceOptions:
    """The figures of config.toml as the services take them; the defaults are the file's own."""

    poll: dt.timedelta = dt.timedelta(seconds=30)
    sweep_every: dt.timedelta = dt.timedelta(seconds=60)
    sync_every: dt.timedelta = dt.timedelta(seconds=60)
    state_every: dt.timedelta = dt.timedelta(seconds=60)
    generate_every: dt.timedelta = dt.timedelta(hours=1)
    cleanup_every: dt.timedelta = dt.timedelta(hours=1)
    edit_debounce: dt.timedelta = dt.timedelta(seconds=3)
    heartbeat_every: dt.timedelta = dt.timedelta(seconds=10)
    dm_queue: DmQueueOptions = field(default_factory=DmQueueOptions)
    sweep: SweepOptions = field(default_factory=SweepOptions)
    sent_retention: dt.timedelta = dt.timedelta(days=90)
    backoff: Backoff = field(default_factory=Backoff)


@dataclass(frozen=True, slots=True)
class Ports:
    """
    What the services need from outside.

    ``share``: told among how many living processes the bot's allowances are divided, whenever that changes.
    ``limits``: what all requests came to, None: there are none, as in a simulated transport. ``members``: the members
    of servers, None: nobody's roles are given or asked for. ``calendar``: the servers' own lists of scheduled
    events, None: no event gets a place in one.
    """

    discord: DiscordPort
    discord_time: DiscordTime
    clock: Clock
    lease_clock: LeaseClock
    is_available: Callable[[int], bool]
    stop: Callable[[str], None]
    keep_name: Callable[[], Awaitable[None]] | None = None
    follow: Callable[[dt.datetime], dt.timedelta] | None = None
    share: Callable[[int], None] | None = None
    limits: RequestLimits | None = None
    calendar: CalendarPort | None = None
    members: MemberPort | None = None


@dataclass(frozen=True, slots=True)
class Services:
    """The joined objects of one process's life."""

    agenda: Agenda
    out: OneWayOut
    dispatcher: Dispatcher
    dms: DmWorker
    fan_outs: FanOuts
    signups: Signups
    sweeper: Sweeper
    register: InstanceRegister
    breaker_record: BreakerRecord
    bodies: tuple[Body, ...]

    def body(self, name: str) -> Body:
        """
        Return one background body by its name.

        Raises:
            KeyError: there is none of that name.
        """
        return {body.name: body for body in self.bodies}[name]

    async def enter(self, now: dt.datetime) -> None:
        """Say that this process lives, close what a dead one of its name left open, and let every body run at once."""
        await self.register.enter()
        await self.breaker_record.closed(now=now)
        self.wake_all(now)

    def wake_all(self, now: dt.datetime) -> None:
        """Let every body run at once."""
        for body in self.bodies:
            self.agenda.wake(body.name, now)

    async def settle(self) -> None:
        """Wait until nothing that a body started is under way; what waits in a queue goes on waiting."""
        while True:
            await self.dispatcher.drain()
            await self.fan_outs.settle()
            await self.dms.settle()
            if not self.is_busy:
                return

    @property
    def is_busy(self) -> bool:
        """Whether something that a body started is under way."""
        return bool(self.dispatcher.under_way or self.fan_outs.under_way or self.dms.in_flight)

    async def cut_off(self) -> None:
        """Cancel what is under way where it stands; what is held stays held, as after a kill."""
        await self.dispatcher.stop()
        await self.fan_outs.stop()
        await self.dms.stop()

    async def leave(self) -> None:
        """Cancel what is still under way, record what is known, and give the instance up."""
        await self.dispatcher.stop()
        await self.dms.stop()
        await self.fan_outs.leave()
        await self.out.recorder.settle()
        await self.register.leave()


def build_services(ports: Ports, options: ServiceOptions, *, instance_name: str) -> Services:
    """Return the services of one process, joined; nothing runs yet and nothing is stored."""
    agenda = Agenda()
    instance = new_instance_id()
    out = OneWayOut(
        ports.discord,
        clock=ports.clock,
        lease_clock=ports.lease_clock,
        discord_time=ports.discord_time,
        instance=instance,
        agenda=agenda,
        observers=outcome_observers(agenda, debounce=options.edit_debounce),
        stop=ports.stop,
        natives=ports.calendar,
        options=SendOptions(backoff=options.backoff),
    )
    if ports.limits is not None:
        out.blocks.follow(ports.limits)
    queue = DmQueue(
        max_depth=options.dm_queue.max_depth,
        on_offer=lambda: agenda.wake(bodies.DRAIN_DM_QUEUE, ports.clock.now()),
    )
    record = BreakerRecord(instance_name, instance=instance)
    dms = DmWorker(
        queue,
        out,
        ports.discord,
        clock=ports.clock,
        agenda=agenda,
        record=record,
        on_too_fast=partial(note_too_fast, agenda=agenda, clock=ports.clock),
        options=options.dm_queue,
    )
    fan_outs = FanOuts(queue, out, clock=ports.clock, agenda=agenda)
    new_times = TimeChangeTeller(
        fan_outs, clock=ports.clock, lease_clock=ports.lease_clock, agenda=agenda, is_available=ports.is_available
    )
    signups = Signups(agenda, debounce=options.edit_debounce)
    promotions = PromotionTeller(
        queue,
        out,
        clock=ports.clock,
        agenda=agenda,
        is_available=ports.is_available,
        members=ports.members,
        let_go=signups.let_go,
    )
    roles = AttendeeRoles(ports.members, is_available=ports.is_available, agenda=agenda)
    dispatcher = Dispatcher(ReminderContext(out, ports.clock, fan_outs))
    sweeper = Sweeper(out, agenda=agenda, options=options.sweep, tell_unreadable=tell_unreadable)

    def _share(instances: int) -> None:
        dms.divide(instances)
        if ports.share is not None:
            ports.share(instances)

    register = InstanceRegister(
        instance,
        instance_name,
        lease_clock=ports.lease_clock,
        keep_name=ports.keep_name,
        follow=ports.follow,
        share=_share,
        dead_after=options.sweep.dead_after,
    )
    return Services(
        agenda=agenda,
        out=out,
        dispatcher=dispatcher,
        dms=dms,
        fan_outs=fan_outs,
        signups=signups,
        sweeper=sweeper,
        register=register,
        breaker_record=record,
        bodies=(
            *_bodies(ports, options, agenda, out, dispatcher, sweeper, register),
            Body(bodies.TELL_TIME_CHANGES, options.sync_every, new_times.tell_time_changes),
            Body(bodies.DRIVE_FAN_OUTS, options.poll, fan_outs.drive_fan_outs),
            Body(bodies.TELL_PROMOTIONS, options.poll, promotions.tell_promotions),
            Body(bodies.SYNC_ATTENDEE_ROLES, options.sync_every, roles.sync_attendee_roles),
            Body(bodies.DRAIN_DM_QUEUE, options.poll, dms.drain_dm_queue),
        ),
    )


def _bodies(  # noqa: PLR0917 -- the joint of all bodies
    ports: Ports,
    options: ServiceOptions,
    agenda: Agenda,
    out: OneWayOut,
    dispatcher: Dispatcher,
    sweeper: Sweeper,
    register: InstanceRegister,
) -> tuple[Body, ...]:
    signed, leadership = register.instance, register.leadership
    watch = DatabaseWatch(register.beat, agenda=agenda)
    out.on_database_error(watch.failed)
    lifecycle = Lifecycle(agenda, instance=signed, debounce=options.edit_debounce, cleanup_every=options.cleanup_every)
    generator = Generator(agenda, instance=signed, debounce=options.edit_debounce, every=options.generate_every)
    clerk = ReminderClerk(dispatcher, is_available=ports.is_available, lease_clock=ports.lease_clock, agenda=agenda)
    upkeep = PostUpkeep(
        ports.discord, out, is_available=ports.is_available, agenda=agenda, debounce=options.edit_debounce
    )
    in_line = [upkeep.sync_discord_events]
    if ports.calendar is not None:
        natives = NativeUpkeep(
            ports.calendar, out, is_available=ports.is_available, agenda=agenda, debounce=options.edit_debounce
        )
        in_line.append(natives.sync_native_events)
    retention = Retention(lease_clock=ports.lease_clock, keep=options.sent_retention, every=options.cleanup_every)
    teller = OpsNoteTeller(out, is_available=ports.is_available)
    # In the order in which one moment's work is done: who lives, what stands, what moves, what goes out.
    return (
        Body(bodies.INSTANCE_HEARTBEAT, options.heartbeat_every, watch.beat),
        Body(bodies.SWEEP_STALE_DISCORD_LEASES, options.sweep_every, sweeper.sweep_stale_discord_leases),
        Body(
            bodies.GENERATE_UPCOMING_EVENTS,
            options.generate_every,
            leadership.only(bodies.GENERATE_UPCOMING_EVENTS, generator.generate_upcoming_events),
        ),
        Body(bodies.OPEN_SCHEDULED_SIGNUPS, options.state_every, lifecycle.open_scheduled_signups),
        Body(bodies.CHECK_EVENT_REMINDERS, options.poll, clerk.fire_due_reminders),
        Body(bodies.SYNC_DISCORD_EVENTS, options.sync_every, together(*in_line)),
        Body(
            bodies.CLEANUP_STALE_EVENTS,
            options.cleanup_every,
            leadership.only(
                bodies.CLEANUP_STALE_EVENTS, together(lifecycle.cleanup_stale_events, retention.forget_old_messages)
            ),
        ),
        Body(bodies.TELL_OPS_NOTES, options.sync_every, teller.tell_ops_notes),
    )
