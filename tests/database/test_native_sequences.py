"""Whatever befalls it in whatever order, an event never stands twice in its server's list, and at last as its row."""

import asyncio
import random
from collections import Counter

import pytest

from bot.clock import ManualClock
from bot.events import guild_sync
from bot.events.lifecycle import Also, transition
from bot.events.posts import mark_changed
from bot.leases.failures import ErrorClass
from bot.message.native_event import LIVE, NativeEvent, NativeStatus
from bot.reminders.native_steps import wanted
from bot.scheduling.bodies import SYNC_DISCORD_EVENTS
from bot.transactions import atomic
from models.event import Event
from models.states import AHEAD, EventState
from tests.builders import DAY, GUILD, HOUR, MINUTE, SECOND, FakeDiscord, Process, make_event, make_guild, process, utc
from tests.fake_calendar import Native, native_refused

NOW = utc("2026-03-01 12:00")
DEBOUNCE = 3 * SECOND
STEPS = 25
FAULTS = (ErrorClass.OUTAGE, ErrorClass.RATE_LIMITED, ErrorClass.INVALID, ErrorClass.FORBIDDEN, ErrorClass.NO_ROOM)


class KilledError(BaseException):
    """A process ends here."""


class Story:
    """Two processes, three events, and what befalls them by chance of a seed."""

    def __init__(self, seed: int, discord: FakeDiscord, clock: ManualClock) -> None:
        self.chance = random.Random(seed)
        self.discord = discord
        self.calendar = discord.calendar
        self.clock = clock
        self.processes: list[Process] = []
        self.told: list[str] = []

    async def begin(self) -> None:
        """Store the events, one of which begins in the midst of it all, and start the processes."""
        await make_guild()
        for starts_in in (40 * MINUTE, 2 * DAY, 5 * DAY):
            announced = self.chance.random() < 0.5
            await make_event(
                now=NOW,
                starts_in=starts_in,
                state=EventState.SIGNUPS_OPEN,
                discord_create_event=True,
                discord_announcement=announced,
                discord_announcement_hours=48,
                native_due_at=NOW,
            )
        self.processes = [await process(self.discord, self.clock, name=name) for name in ("one", "two")]

    async def befall(self) -> None:
        """Let one thing happen, and see that no event stands twice in the list."""
        happening = self.chance.choice(
            [self.edit, self.switch, self.turn, self.human, self.fail, self.die, self.run, self.run, self.run]
        )
        self.told.append(happening.__name__)
        await happening()
        doubled = [key for key, times in Counter(one.shows.marker for one in self.live()).items() if times > 1]
        events = Counter(one.shows.marker.partition(".")[0] for one in self.live())
        assert (doubled, [key for key, times in events.items() if times > 1]) == ([], []), self.told

    def live(self) -> list[Native]:
        """Return what members see."""
        return self.calendar.live(GUILD)

    async def _change(self, event: Event, **fields: object) -> None:
        async def _unit() -> None:
            await Event.filter(id=event.id).update(**fields)
            await mark_changed(event.id, now=self.clock.now(), debounce=DEBOUNCE)

        await atomic(_unit)
        for one in self.processes:
            one.services.agenda.wake(SYNC_DISCORD_EVENTS, self.clock.now() + DEBOUNCE)

    async def _event(self) -> Event:
        return self.chance.choice(await Event.all().order_by("id"))

    async def edit(self) -> None:
        """Rename an event, or put it off."""
        event = await self._event()
        if event.state in AHEAD and self.chance.random() < 0.5:
            await self._change(event, scheduled_at=event.scheduled_at + self.chance.randint(1, 90) * MINUTE)
        else:
            await self._change(
                event, name=f"Name {self.chance.random()}", duration_minutes=self.chance.randint(60, 600)
            )

    async def switch(self) -> None:
        """Turn an event's place in the list off or on."""
        event = await self._event()
        await self._change(event, discord_create_event=not event.discord_create_event)

    async def turn(self) -> None:
        """Cancel an event, withdraw it, or let it return."""
        event, now = await self._event(), self.clock.now()
        if event.state in AHEAD:
            marks = Also("event.realign", {"is_withdrawn": self.chance.random() < 0.7})
            await transition(event, allowed=AHEAD, to=EventState.CANCELLED, now=now, debounce=DEBOUNCE, also=marks)
        elif event.is_withdrawn and event.scheduled_at > now:
            marks = Also("event.realign", {"is_withdrawn": False})
            allowed = {EventState.CANCELLED}
            await transition(event, allowed=allowed, to=EventState.UPCOMING, now=now, debounce=DEBOUNCE, also=marks)

    async def human(self) -> None:
        """Let somebody delete, cancel, start or like one in Discord."""
        if not self.live():
            return
        native = self.chance.choice(self.live())
        match self.chance.randrange(4):
            case 0:
                self.calendar.delete(native)
            case 1 if native.status is NativeStatus.SCHEDULED:
                native.status = self.chance.choice([NativeStatus.CANCELED, NativeStatus.ACTIVE])
            case _:
                native.interested += 1

    async def fail(self) -> None:
        """Let some of the next requests fail, on either side of the acceptance."""
        for script in (self.calendar.next_creates, self.calendar.next_steps):
            script.append(None if self.chance.random() < 0.3 else self._fault())
        self.calendar.unreadable = {GUILD} if self.chance.random() < 0.2 else set()

    def _fault(self) -> BaseException:
        if self.chance.random() < 0.5:
            return native_refused(ErrorClass.OUTAGE, arrived=True)
        return native_refused(self.chance.choice(FAULTS))

    async def die(self) -> None:
        """Let a process die in its next create, before or after the acceptance; another takes its name."""
        place, arrives = self.chance.randrange(2), self.chance.random() < 0.5

        async def _die(native: NativeEvent) -> None:
            self.calendar.before_create = None
            if arrives:
                self.calendar.natives.append(Native((1 << 61) + len(self.calendar.natives), GUILD, native))
            raise KilledError

        self.calendar.before_create = _die
        try:
            await self.processes[place].run(SYNC_DISCORD_EVENTS)
        except KilledError:
            await self.processes[place].crash()
            self.processes[place] = await process(self.discord, self.clock, name=("one", "two")[place])
        self.calendar.before_create = None

    async def run(self) -> None:
        """Let time go by, and both processes run at once."""
        self.clock.advance(self.chance.choice([SECOND, 4 * SECOND, 35 * SECOND, 2 * MINUTE, 15 * MINUTE]))
        if self.chance.random() < 0.5:
            self.calendar.by_itself()
        if self.chance.random() < 0.5:
            await asyncio.gather(*(one.run(SYNC_DISCORD_EVENTS) for one in self.processes))
        else:
            for one in self.processes:
                await one.tick()

    async def end(self) -> None:
        """Let everything come to rest, after one more change each: what somebody deleted is noticed at the next one."""
        self.calendar.next_creates, self.calendar.next_steps, self.calendar.unreadable = [], [], set()
        for event in await Event.all():
            await self._change(event, name=f"Last {event.id}")
        for _ in range(3):
            self.calendar.by_itself()
            for one in self.processes:
                await one.run_until(self.clock.now() + HOUR + MINUTE, at_most_apart=20 * MINUTE)


@pytest.mark.parametrize("seed", range(4))
async def test_whatever_befalls_an_event_it_stands_in_the_list_once_and_in_the_end_as_its_row(
    database: str, clock: ManualClock, seed: int
) -> None:
    clock.set(NOW)
    story = Story(seed, FakeDiscord(clock), clock)
    await story.begin()

    await story.fail()
    await story.die()
    for _ in range(STEPS):
        await story.befall()
    await story.end()

    for event in await Event.all().order_by("id"):
        here = [one for one in story.live() if one.shows.marker.partition(".")[0] == f"#{event.id}"]
        goal, known = guild_sync.goal(event), event.discord_scheduled_event_id
        # One whose time passed before its sign-ups opened stays upcoming for a day, while Discord has ended it.
        is_over = event.state in AHEAD and event.scheduled_at <= clock.now()
        assert is_over or [one.native_id for one in here] == ([known] if known is not None else []), story.told
        if goal not in LIVE:
            assert here == [], story.told
        elif guild_sync.may_be_made(event, now=clock.now()):
            assert len(here) == 1, story.told
        for one in here:
            should = (await wanted(event, one.shows.marker)).shown()
            # What runs has the start that Discord knew, and what somebody started early may run.
            assert one.shows.name == should["name"], story.told
            assert one.status in ({goal} if goal is NativeStatus.ACTIVE else LIVE), story.told
            if one.status is NativeStatus.SCHEDULED:
                assert one.shows.shown() == should, story.told
