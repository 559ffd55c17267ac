"""People of a guild, what a fan-out comes to for each of them, and processes that are killed and come again."""

import contextlib
import datetime as dt
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any

from bot.bootstrap import ServiceOptions
from bot.clock import ManualClock
from bot.leases.ports import Delivered, Target
from bot.message.outgoing import OutgoingMessage
from bot.scheduling import due_rows
from bot.scheduling.bodies import INSTANCE_HEARTBEAT
from bot.transactions import atomic
from models.discord_message_log import DiscordMessageLog
from models.dm_channel import DmChannel
from models.event import Event
from models.event_repeater import EventRepeater
from models.event_signup import EventSignup
from models.guild_settings import GuildSettings
from models.player_profile import PlayerProfile
from models.repeater_subscription import RepeaterSubscription
from models.states import EventState, SignupStatus
from tests.builders import (
    GUILD,
    HOUR,
    SECOND,
    FakeDiscord,
    Process,
    dm_channel,
    make_event,
    make_guild,
    make_series,
)
from tests.conftest import START
from tests.fake_discord import CrashError

PEOPLE = tuple(range(101, 111))
REQUIRED_FIELD: dict[str, object] = {"key": "character", "label": "Character name", "required": True}
PASSES_EVERY = 30 * SECOND


async def know(people: Iterable[int]) -> None:
    """Store that the DM channels of these people were opened before."""
    rows = [DmChannel(user_id=who, channel_id=dm_channel(who), opened_at=START) for who in people]
    await DmChannel.bulk_create(rows, ignore_conflicts=True)


async def subscribe(series_id: int, people: Iterable[int]) -> None:
    """Let these people subscribe to a series, in this order."""
    rows = [RepeaterSubscription(series_id=series_id, user_id=who, created_at=START) for who in people]
    await RepeaterSubscription.bulk_create(rows)


async def sign_up(
    event: Event, people: Iterable[int], status: SignupStatus = SignupStatus.SIGNED_UP, *, at: dt.datetime = START
) -> None:
    """Store what these people said about an event, in this order."""
    rows = [EventSignup(event_id=event.id, user_id=who, status=status, created_at=at, changed_at=at) for who in people]
    await EventSignup.bulk_create(rows)


async def opt_out(who: int, reminder: str, **answers: str) -> None:
    """Let somebody want no DM of a reminder; ``answers`` fill their profile."""
    await PlayerProfile.create(
        guild_id=GUILD, user_id=who, reminder_opt_outs=[reminder], field_values=answers, updated_at=START
    )


async def fill_in(who: int, **answers: str) -> None:
    """Fill somebody's profile."""
    await PlayerProfile.create(guild_id=GUILD, user_id=who, field_values=answers, updated_at=START)


async def signup_event(
    people: Sequence[int] = PEOPLE, *, now: dt.datetime = START, starts_in: dt.timedelta = 24 * HOUR, **fields: object
) -> Event:
    """Store an event of a series whose subscribers are to be asked to sign up now, and its guild; no more is due."""
    if not await GuildSettings.exists(guild_id=GUILD):
        await make_guild()
    series = await make_series(now=now, is_active=False, name=f"Series {await EventRepeater.all().count()}")
    await subscribe(series.id, people)
    wanted = {
        "state": EventState.SIGNUPS_OPEN,
        "series_id": series.id,
        "discord_announcement": False,
        "discord_signup_reminder": True,
        "discord_signup_reminder_hours": 24,
    }
    return await make_event(now=now, starts_in=starts_in, **(wanted | fields))


async def asked_event(
    people: Sequence[int] = PEOPLE,
    *,
    now: dt.datetime = START,
    starts_in: dt.timedelta = 2 * HOUR,
    guild: dict[str, Any] | None = None,
    **fields: object,
) -> Event:
    """Store a guild and an event with these people signed up; nothing is due but what ``fields`` switch on."""
    await make_guild(**({"profile_fields": [REQUIRED_FIELD]} | (guild or {})))
    wanted = {"state": EventState.SIGNUPS_OPEN, "discord_announcement": False}
    event = await make_event(now=now, starts_in=starts_in, **(wanted | fields))
    await sign_up(event, people)
    return event


async def change(event: Event, **fields: object) -> None:
    """Change an event as an admin's edit does, due rows and all."""

    async def _unit() -> None:
        await Event.filter(id=event.id).update(**fields)
        await due_rows.refresh([event.id])

    await atomic(_unit)


def reached(discord: FakeDiscord, people: Iterable[int] = PEOPLE) -> dict[int, int]:
    """Return how many DMs each of them sees."""
    return {who: len(discord.dms(who)) for who in people}


def each_once(people: Iterable[int] = PEOPLE, *, but: Iterable[int] = ()) -> dict[int, int]:
    """Return one DM for each of them, and none for some."""
    return {who: 0 if who in but else 1 for who in people}


async def parent(source: str = "signup_reminder") -> DiscordMessageLog | None:
    """Return the newest row of the only fan-out of a reminder, None where there is none."""
    return await DiscordMessageLog.filter(source=source, recipient_id=0, part=0).order_by("-id").first()


async def counts(source: str = "signup_reminder") -> dict[str, object] | None:
    """Return what the finished fan-out of a reminder recorded, None where it is not finished."""
    row = await parent(source)
    return row.embed_data if row is not None and row.success else None


def counted(**numbers: int) -> dict[str, object]:
    """Return the counts of a fan-out; what is not named is none."""
    return dict(dict.fromkeys(("sent", "unreachable", "failed", "withdrawn", "too_late"), 0) | numbers)


async def children(source: str = "signup_reminder") -> dict[int, list[tuple[bool | None, str | None]]]:
    """Return each recipient's rows, oldest first: success, and the class of a failure."""
    found: dict[int, list[tuple[bool | None, str | None]]] = {}
    for row in await DiscordMessageLog.filter(source=source).exclude(recipient_id=0).order_by("id"):
        found.setdefault(row.recipient_id, []).append((row.success, row.error_class))
    return found


async def ends(source: str = "signup_reminder") -> Counter[str]:
    """Return how many recipients ended how, by their newest row."""
    return Counter(
        "open" if rows[-1][0] is None else "sent" if rows[-1][0] else str(rows[-1][1])
        for rows in (await children(source)).values()
    )


class SteadyClock:
    """Discord's own time: it goes on with a clock, and does not follow where that one is set forward or back."""

    def __init__(self, clock: ManualClock) -> None:
        self._clock = clock
        self._ahead_by = dt.timedelta(0)

    def now(self) -> dt.datetime:
        return self._clock.now() + self._ahead_by

    async def sleep(self, seconds: float) -> None:
        raise AssertionError("Discord waits for nobody")

    def step(self, by: dt.timedelta) -> None:
        """Set the other clock, and stay."""
        self._clock.advance(by)
        self._ahead_by -= by


class Line(FakeDiscord):
    """
    One process's own line to a Discord that it shares with others.

    ``crash_at``: the process dies in its so-many-th call of a kind, before Discord took it or after. From then on, as
    from :meth:`cut`, nothing of the process reaches Discord any more. ``throttle`` is awaited once, between the claim
    of a message and its request.
    """

    def __init__(self, discord: FakeDiscord, *, crash_at: tuple[str, int, str] | None = None) -> None:
        # The very lists and sets of the other: what one posts, all see.
        self.__dict__.update(discord.__dict__)
        self.before_send = None
        self.crash_at = crash_at
        self.throttle: Callable[[], Awaitable[None]] | None = None
        self.is_cut = False
        self._calls: Counter[str] = Counter()

    def cut(self) -> None:
        """Let the process reach Discord no more."""
        self.is_cut = True

    def crash_next(self, kind: str, when: str) -> None:
        """Let the process die in its next call of a kind."""
        self.crash_at = (kind, self._calls[kind] + 1, when)

    def _meets(self, kind: str, moment: str) -> None:
        if self.is_cut or (kind, self._calls[kind], moment) == self.crash_at:
            self.is_cut = True
            raise CrashError

    async def send(
        self,
        target: Target,
        message: OutgoingMessage,
        *,
        nonce: str,
        before_request: Callable[[], Awaitable[None]],
    ) -> Delivered:
        kind = "dm" if target.channel_id > dm_channel(0) else "post"
        self._calls[kind] += 1

        throttle, self.throttle = self.throttle, None
        if throttle is not None:
            await throttle()

        async def _leave() -> None:
            await before_request()
            self._meets(kind, "before")

        delivered = await super().send(target, message, nonce=nonce, before_request=_leave)
        self._meets(kind, "after")
        return delivered

    async def open_dm(self, recipient_id: int) -> int:
        self._calls["opening"] += 1
        self._meets("opening", "before")
        channel_id = await super().open_dm(recipient_id)
        self._meets("opening", "after")
        return channel_id

    async def find(self, target: Target, *, marker: str, after: int) -> Delivered | None:
        self._calls["find"] += 1
        self._meets("find", "before")
        found = await super().find(target, marker=marker, after=after)
        self._meets("find", "after")
        return found


class Fleet:
    """Processes on one database, one clock and one Discord; each is driven as its real loops would drive it."""

    def __init__(self, discord: FakeDiscord, clock: ManualClock, *, options: ServiceOptions | None = None) -> None:
        self.discord, self.clock = discord, clock
        self.bots: dict[str, Process] = {}
        self.lines: dict[str, Line] = {}
        self.passes_every = PASSES_EVERY
        self._options = options
        self._next_passes = clock.now() + PASSES_EVERY

    async def start(self, name: str = "one", *, crash_at: tuple[str, int, str] | None = None) -> Process:
        """Start a process; one of that name that runs is dead from now on."""
        if name in self.bots:
            await self.kill(name)
        line = self.lines[name] = Line(self.discord, crash_at=crash_at)
        self.bots[name] = await Process(line, self.clock, options=self._options, name=name).start()
        return self.bots[name]

    async def kill(self, name: str) -> None:
        """End a process where it stands."""
        self.lines.pop(name).cut()
        await self.bots.pop(name).crash()

    def suspend(self, name: str) -> Callable[[], None]:
        """Let a process stand still, without a sign of life, until what is returned is called."""
        bot, line = self.bots.pop(name), self.lines.pop(name)

        def _wake() -> None:
            self.bots[name], self.lines[name] = bot, line

        return _wake

    def move_clock(self, by: dt.timedelta) -> None:
        """Set the clock forward or back under the feet of every process."""
        self.clock.advance(by)
        self._next_passes = self.clock.now()

    async def bury(self) -> list[str]:
        """End the processes that have met their crash; return their names."""
        dead = [name for name, line in self.lines.items() if line.is_cut]
        for name in dead:
            await self.kill(name)
        return dead

    async def run_until(self, end: dt.datetime, *, until_crash: bool = False) -> bool:
        """Go from moment to moment up to ``end``; True: stopped early, at a crash."""
        while True:
            for name in list(self.bots):
                await self._run(name, INSTANCE_HEARTBEAT)
            for name, bot in list(self.bots.items()):
                if self.clock.now() >= self._next_passes:
                    bot.services.wake_all(self.clock.now())
                await self._tick(name, bot)
            if await self.bury() and until_crash:
                return True
            if self.clock.now() >= self._next_passes:
                self._next_passes = self.clock.now() + self.passes_every
            if self.clock.now() >= end:
                return False
            named = [bot.next(body.name) for bot in self.bots.values() for body in bot.services.bodies]
            moments = [moment for moment in named if moment is not None]
            self.clock.set(max(min([end, self._next_passes, *moments]), self.clock.now()))

    async def _tick(self, name: str, bot: Process) -> None:
        """Run what is due of one process; one that dies meanwhile does nothing more."""
        line = self.lines[name]
        for _ in range(200):
            due = [body.name for body in bot.services.bodies if bot._is_due(body.name)]
            if not due or line.is_cut:
                return
            for body in due:
                await self._run(name, body)
        raise AssertionError("a body asks to run again and again at one moment")

    async def _run(self, name: str, body: str) -> None:
        if not self.lines[name].is_cut:
            with contextlib.suppress(CrashError):
                await self.bots[name].run(body)
