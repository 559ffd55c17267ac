"""
The stories about series whose events are announced and listed.

They are realigned, split and deleted, a date is skipped and let return, an extra event comes and goes.
"""

import datetime as dt
from dataclasses import dataclass
from typing import Any, ClassVar, Final

import discord

from bot.changes.extras import ExtraEvents
from bot.events.generate import generate_events_for_repeater
from bot.leases.keys import NATIVE_EVENT, MessageKey
from bot.message.proposal import Proposal
from bot.reminders.tasks import ANNOUNCEMENT
from bot.scheduling.agenda import Agenda
from models.audit_log import AuditLog
from models.event import Event
from models.event_repeater import EventRepeater
from models.event_signup import EventSignup
from models.repeater_exception import RepeaterException
from models.repeater_subscription import RepeaterSubscription
from models.states import EventState, Frequency
from tests.builders import DAY, HOUR, make_series
from tests.chaos.deaths.kill_deeds import ADMIN, Deed, DeedKind
from tests.chaos.deaths.kill_stories import LATER, Story
from tests.chaos.deaths.kill_stub import KillStub
from tests.people import sign_up, subscribe
from tests.wire.discord_stub import CHANNEL, GUILD

NAME: Final = "Changed"
_SUBSCRIBER: Final = 621
_GUEST: Final = 622
_NEVER: Final = dt.datetime.min.replace(tzinfo=dt.UTC)
_DAYS: Final = 3
_FIRST_IN: Final = 8 * HOUR
# The third is further off, by whatever time of day.
_ANNOUNCED: Final = 48 * HOUR
_LATER_BY: Final = 2 * HOUR
_CANCELLED: Final = discord.EventStatus.cancelled.value
_EXTRA_AFTER: Final = 12 * HOUR


@dataclass(slots=True)
class SeriesStory(Story):
    """
    A daily series of three events, the first two announced at once, and what is done to it.

    ``first``: the start of its first event; ``by_day``: the ids of its events. ``LISTED``: whether they
    stand in the server's list.
    """

    LISTED: ClassVar[bool] = True

    series_id: int = 0
    first: dt.datetime = _NEVER
    by_day: tuple[int, ...] = ()

    @classmethod
    async def begun(cls, stub: KillStub, *, now: dt.datetime) -> "SeriesStory":
        first = (now + _FIRST_IN).replace(second=0, microsecond=0)
        series = await make_series(
            now=now,
            guild_id=GUILD,
            name=NAME,
            frequency=Frequency.DAILY,
            day_of_week=None,
            time_of_day=first.strftime("%H:%M"),
            timezone="UTC",
            starts_at=first.date(),
            generate_days_ahead=_DAYS - 1,
            signup_opens_hours=1,
            discord_announcement_hours=_ANNOUNCED // HOUR,
            discord_create_event=cls.LISTED,
        )
        await generate_events_for_repeater(series, now=now)
        ids = tuple(event.id for event in await Event.filter(series_id=series.id).order_by("scheduled_at"))
        story = cls(series_id=series.id, first=first, by_day=ids)
        await story.plan()
        return story

    async def plan(self) -> None:
        """Set the deeds, and which events they take back."""

    def deed(self, kind: DeedKind, **fields: Any) -> Deed:  # noqa: ANN401 -- whatever fields a deed has
        """Return a deed about the series."""
        return Deed(kind, kind.value, self.series_id, **({"after": LATER} | fields))

    @property
    def later(self) -> str:
        """The new time of day."""
        return (self.first + _LATER_BY).strftime("%H:%M")

    async def must_stand(self, series_id: int, *starts: dt.datetime, stub: KillStub) -> None:
        """Expect exactly these events of a series, each announced if it is near, and listed, once."""
        stands = await Event.filter(series_id=series_id).exclude(state=EventState.CANCELLED).order_by("scheduled_at")
        self.should("the events that stand", [event.scheduled_at for event in stands], list(starts))
        for event in stands:
            if event.scheduled_at < self.first - _FIRST_IN + _ANNOUNCED:
                self.expected[CHANNEL, f"#{event.id}"] = MessageKey(ANNOUNCEMENT.log_source, event.id)
            self.must_say(stub, event.id, NAME)
            if not self.LISTED:
                continue
            # One that left the list and returned has a place of its own there.
            again = f"#{event.id}.1"
            was_made_again = any(str(one["description"]).endswith(again) for one in stub.natives.values())
            listed, part = (again, 1) if was_made_again else (f"#{event.id}", 0)
            self.expected[GUILD, listed] = MessageKey(NATIVE_EVENT, event.id, part=part)

    def must_say(self, stub: KillStub, event_id: int, title: str) -> None:
        """Expect the title of an event's post, wherever there is one."""
        for message in stub.messages[CHANNEL]:
            embed = message["embeds"][0]
            if embed["footer"]["text"] == f"#{event_id}" and not str(embed["title"]).startswith(title):
                self.faults.append(f"the post of event {event_id} says {embed['title']} instead of {title}")

    async def must_be_gone(
        self, stub: KillStub, *, title: str, discord_ahead_by: dt.timedelta, action: str = "series.edit", by: int = 0
    ) -> None:
        """
        Expect of those taken back a post that says so, if any, and no request for one since.

        ``action`` and ``by``: under what, and about which event, the audit has what took them back; 0: the series.
        """
        edits = await AuditLog.filter(action=action, subject_id=by or self.series_id).order_by("id")
        self.should(f"{action} in the audit", len(edits), 1)
        for event_id in self.changed:
            self.possible[CHANNEL, f"#{event_id}"] = MessageKey(ANNOUNCEMENT.log_source, event_id)
            self.must_say(stub, event_id, title)
        for asked in stub.asked if edits else ():
            footer = asked.body["embeds"][0]["footer"]["text"] if asked.body.get("embeds") else ""
            listed = str(asked.body.get("description", "")).rpartition("\n")[2]
            about = {f"#{event_id}" for event_id in self.changed}
            is_late = asked.at - discord_ahead_by > edits[0].created_at
            if is_late and (footer in about or (asked.channel_id == GUILD and listed in about)):
                self.faults.append(f"{footer or listed} was asked for after it was taken back")


class Realign(SeriesStory):
    """Another time of day: every event goes, and others come."""

    async def plan(self) -> None:
        self.deeds = (self.deed(DeedKind.EDIT, typed=self.later),)
        self.changed = frozenset(self.by_day)

    async def settle(self, stub: KillStub, *, discord_ahead_by: dt.timedelta) -> None:
        starts = [self.first + _LATER_BY + day * DAY for day in range(_DAYS)]
        await self.must_stand(self.series_id, *starts, stub=stub)
        await self.must_be_gone(stub, title="Moved: ", discord_ahead_by=discord_ahead_by)
        realigned = await AuditLog.filter(action="series.realign", subject_id=self.series_id).count()
        self.should("realignments in the audit", realigned, 1)


class Split(SeriesStory):
    """Another time of day from the second event on, not listed: a new series goes on, with the subscribers."""

    LISTED: ClassVar[bool] = False

    async def plan(self) -> None:
        await subscribe(self.series_id, [_SUBSCRIBER])
        self.deeds = (self.deed(DeedKind.SPLIT, typed=self.later, from_event=self.by_day[1]),)
        self.changed = frozenset(self.by_day[1:])

    async def settle(self, stub: KillStub, *, discord_ahead_by: dt.timedelta) -> None:
        series = await EventRepeater.filter(name__startswith=NAME).order_by("id")
        self.should("series", len(series), 2)
        self.should("the last day of the old one", series[0].ends_at, self.first.date())
        starts = [self.first + _LATER_BY + day * DAY for day in range(1, _DAYS)]
        await self.must_stand(series[0].id, self.first, stub=stub)
        await self.must_stand(series[-1].id, *starts, stub=stub)
        await self.must_be_gone(stub, title="Moved: ", discord_ahead_by=discord_ahead_by)
        subscribed = [row.user_id for row in await RepeaterSubscription.filter(series_id=series[-1].id)]
        self.should("subscribers of the new one", subscribed, [_SUBSCRIBER])


class Skip(SeriesStory):
    """The second date is skipped: its event goes."""

    async def plan(self) -> None:
        self.deeds = (self.deed(DeedKind.SKIP, typed=self.day),)
        self.changed = frozenset(self.by_day[1:2])

    @property
    def day(self) -> str:
        """The date that is skipped."""
        return (self.first + DAY).date().isoformat()

    async def settle(self, stub: KillStub, *, discord_ahead_by: dt.timedelta) -> None:
        await self.must_stand(self.series_id, self.first, self.first + 2 * DAY, stub=stub)
        await self.must_be_gone(stub, title="Cancelled: ", discord_ahead_by=discord_ahead_by)
        out = [row.local_date.isoformat() for row in await RepeaterException.filter(series_id=self.series_id)]
        self.should("skipped dates", out, [self.day])


class Return(Skip):
    """The second date is skipped, and returns a little later."""

    async def plan(self) -> None:
        await super().plan()
        self.deeds = (*self.deeds, self.deed(DeedKind.RETURN, typed=self.day, after=5 * LATER))

    async def settle(self, stub: KillStub, *, discord_ahead_by: dt.timedelta) -> None:
        starts = [self.first + day * DAY for day in range(_DAYS)]
        await self.must_stand(self.series_id, *starts, stub=stub)
        out = await RepeaterException.filter(series_id=self.series_id).count()
        self.should("skipped dates", out, 0)
        edits = await AuditLog.filter(action="series.edit", subject_id=self.series_id).count()
        self.should("edits in the audit", edits, 2)


class Delete(SeriesStory):
    """
    The series is deleted: its first event, which people signed up for, stays and belongs to no series any more.

    The second, which was announced, is cancelled; of the third nobody knows, and it goes.
    """

    async def plan(self) -> None:
        first, _, third = self.by_day
        event = await Event.get(id=first)
        await Event.filter(id=first).update(state=EventState.SIGNUPS_OPEN, signups_open_at=event.created_at)
        await sign_up(event, [_GUEST], at=event.created_at)
        await Event.filter(id=third).update(discord_create_event=False)
        self.deeds = (self.deed(DeedKind.DELETE),)
        self.changed = frozenset(self.by_day[1:])

    async def settle(self, stub: KillStub, *, discord_ahead_by: dt.timedelta) -> None:
        first, second, third = self.by_day
        self.should("series", await EventRepeater.filter(id=self.series_id).count(), 0)
        self.expected[CHANNEL, f"#{first}"] = MessageKey(ANNOUNCEMENT.log_source, first)
        self.expected[GUILD, f"#{first}"] = MessageKey(NATIVE_EVENT, first)
        self.must_say(stub, first, NAME)
        stays = await Event.get(id=first)
        self.should("what stays", (stays.state, stays.series_id), (EventState.SIGNUPS_OPEN, None))
        self.should("who comes", [row.user_id for row in await EventSignup.filter(event_id=first)], [_GUEST])
        rows = {event.id: event.state for event in await Event.filter(id__in=[second, third])}
        self.should("what went", rows, {second: EventState.CANCELLED})
        await self.must_be_gone(stub, title="Cancelled: ", discord_ahead_by=discord_ahead_by, action="series.delete")


class Extra(SeriesStory):
    """An extra event is added between the first and the second."""

    async def plan(self) -> None:
        self.deeds = (self.deed(DeedKind.EXTRA, typed=f"<t:{int(self.between.timestamp())}>"),)

    @property
    def between(self) -> dt.datetime:
        """When the extra event begins."""
        return self.first + _EXTRA_AFTER

    async def settle(self, stub: KillStub, *, discord_ahead_by: dt.timedelta) -> None:
        starts = sorted([self.between, *(self.first + day * DAY for day in range(_DAYS))])
        await self.must_stand(self.series_id, *starts, stub=stub)
        extras = await Event.filter(series_id=self.series_id, is_off_schedule=True)
        self.should("extra events", [(one.scheduled_at, one.slot) for one in extras], [(self.between, None)])
        for one in extras:
            made = await AuditLog.filter(action="event.create", subject_id=one.id).count()
            self.should("extra events in the audit", made, 1)


class ExtraRemoved(Extra):
    """An extra event that was added long ago is cancelled."""

    async def plan(self) -> None:
        await super().plan()
        agenda, begun = Agenda(), self.first - _FIRST_IN
        extras = ExtraEvents(agenda, debounce=dt.timedelta(0), default_timezone="UTC")
        reply = await extras.propose(str(self.series_id), self.deeds[0].typed, guild_id=GUILD, actor=ADMIN, now=begun)
        assert isinstance(reply, Proposal)
        await reply.ways[0].then(begun)
        extra = await Event.get(series_id=self.series_id, is_off_schedule=True)
        self.deeds = (Deed(DeedKind.CANCEL, DeedKind.CANCEL.value, extra.id, LATER),)
        self.changed = frozenset({extra.id})

    async def settle(self, stub: KillStub, *, discord_ahead_by: dt.timedelta) -> None:
        await self.must_stand(self.series_id, *(self.first + day * DAY for day in range(_DAYS)), stub=stub)
        (extra,) = self.changed
        # One that is cancelled leaves the list by its status: Discord goes on knowing it.
        listed = [one for one in stub.natives.values() if str(one["description"]).endswith(f"#{extra}")]
        self.should("its place in the list", {one["status"] for one in listed} - {_CANCELLED}, set())
        if listed:
            self.possible[GUILD, f"#{extra}"] = MessageKey(NATIVE_EVENT, extra)
        await self.must_be_gone(
            stub, title="Cancelled: ", discord_ahead_by=discord_ahead_by, action="event.cancel", by=extra
        )
