"""What tests build rows with, a Discord made by hand for the last edge, and a process of the bot on it."""

import asyncio
import datetime as dt
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass, field

from bot.bootstrap import Ports, ServiceOptions, Services, build_services
from bot.clock import Clock, InjectedLeaseClock, ManualClock
from bot.events.signups.attendee_roles import MemberPort
from bot.leases.failures import ErrorClass, SendError
from bot.leases.ports import ChannelTarget, Delivered, DmTarget, Target
from bot.leases.snowflakes import snowflake_at
from bot.message.outgoing import OutgoingMessage
from bot.scheduling import due_rows
from bot.scheduling.bodies import INSTANCE_HEARTBEAT
from bot.scheduling.due import Tried
from bot.scheduling.due import due_rows as derive
from bot.scheduling.registry import registered
from bot.transactions import atomic
from models.audit_log import AuditLog
from models.discord_message_log import DiscordMessageLog
from models.event import Event
from models.event_repeater import EventRepeater
from models.guild_settings import GuildSettings
from models.reminder_due import ReminderDue
from models.states import EventState, Frequency
from tests.fake_calendar import FakeCalendar

GUILD, OTHER_GUILD = 1_000_001, 1_000_002
CHANNEL, OTHER_CHANNEL, OPS_CHANNEL = 2_000_001, 2_000_002, 2_000_009
HOUR = dt.timedelta(hours=1)
DAY = dt.timedelta(days=1)
MINUTE = dt.timedelta(minutes=1)
SECOND = dt.timedelta(seconds=1)

Hook = Callable[[OutgoingMessage], Awaitable[None]]


def dm_channel(recipient_id: int) -> int:
    """Return the DM channel of a person in a Discord made by hand."""
    return recipient_id + 500_000_000


def utc(text: str) -> dt.datetime:
    """Return the moment that ``2026-03-29 19:00`` names in UTC."""
    return dt.datetime.fromisoformat(text).replace(tzinfo=dt.UTC)


async def make_guild(guild_id: int = GUILD, **fields: object) -> GuildSettings:
    """Store a guild's settings, with an announcement and an ops channel."""
    wanted = {"announcement_channel_id": CHANNEL, "ops_channel_id": OPS_CHANNEL} | fields
    settings = GuildSettings(guild_id=guild_id, **wanted)
    await settings.save(force_create=True)
    return settings


def event_row(*, now: dt.datetime, starts_in: dt.timedelta = 6 * HOUR, **fields: object) -> Event:
    """Return an event that is not stored: announced 24 hours ahead, sign-ups not open, six hours away."""
    wanted = {
        "guild_id": GUILD,
        "name": "Raid night",
        "scheduled_at": now + starts_in,
        "created_at": now,
        "state_since": now,
        "discord_announcement": True,
    }
    return Event(**(wanted | fields))


async def make_event(*, now: dt.datetime, starts_in: dt.timedelta = 6 * HOUR, **fields: object) -> Event:
    """Store an event with what is due for it, as the bot itself would."""
    event = event_row(now=now, starts_in=starts_in, **fields)

    async def _unit() -> None:
        await event.save(force_create=True)
        await due_rows.refresh([event.id])

    await atomic(_unit)
    return event


async def make_series(*, now: dt.datetime, **fields: object) -> EventRepeater:
    """Store a series, without events: London, Sundays at 19:00, announced a day ahead."""
    wanted = {
        "guild_id": GUILD,
        "name": "London Sunday",
        "frequency": Frequency.WEEKLY,
        "day_of_week": "SU",
        "time_of_day": "19:00",
        "timezone": "Europe/London",
        "starts_at": dt.date(2026, 1, 4),
        "created_at": now,
        "discord_announcement": True,
    }
    series = EventRepeater(**(wanted | fields))
    await series.save(force_create=True)
    return series


async def stored_due() -> dict[tuple[int, str], dt.datetime]:
    """Return every stored due row."""
    return {(row.event_id, row.key): row.due_at for row in await ReminderDue.all()}


async def derived_due() -> dict[tuple[int, str], dt.datetime]:
    """Return what the due rows should hold, derived from the other tables by the pure function."""
    tried: dict[int, dict[str, Tried]] = {}
    for row in await DiscordMessageLog.filter(recipient_id=0, part=0, success__isnull=False).order_by("id"):
        known = tried.setdefault(row.source_id, {})
        if row.success:
            known[row.source] = Tried(sent=True)
        elif not known.get(row.source, Tried()).sent:
            known[row.source] = Tried(next_attempt_at=row.next_attempt_at, gave_up_at=_gave_up_at(row))
    return {
        (event.id, key): moment
        for event in await Event.all()
        for key, moment in derive(event, registered(), tried.get(event.id, {})).items()
    }


def _gave_up_at(row: DiscordMessageLog) -> dt.datetime | None:
    if row.next_attempt_at is not None or row.finished_at is None:
        return None
    if row.error_class == ErrorClass.UNKNOWN_OUTCOME:
        return dt.datetime.max.replace(tzinfo=dt.UTC)
    return row.finished_at + MINUTE


async def log_rows(source: str = "event_announcement") -> list[DiscordMessageLog]:
    """Return the message log's rows of one source, in order."""
    return await DiscordMessageLog.filter(source=source).order_by("id")


async def audit_actions() -> list[str]:
    """Return the actions of the audit, in order."""
    return [row.action for row in await AuditLog.all().order_by("id")]


async def state_of(event: Event) -> EventState:
    """Return the state that the event has now."""
    return (await Event.get(id=event.id)).state


def refused(error_class: ErrorClass, *, arrived: bool = False, missing: Collection[str] = ()) -> SendError:
    """Return a failure as the poster reports it."""
    return SendError(error_class, error_class.value, may_have_arrived=arrived, missing=tuple(missing))


@dataclass(slots=True)
class Post:
    """One message that Discord holds, or held."""

    message_id: int
    channel_id: int
    message: OutgoingMessage
    sent_at: dt.datetime
    edits: list[OutgoingMessage] = field(default_factory=list)
    deleted: bool = False

    @property
    def shown(self) -> OutgoingMessage:
        """What the post says now."""
        return self.edits[-1] if self.edits else self.message


class FakeDiscord:
    """
    Discord as the services see it: posts that stay, channels that may be forbidden, failures by script.

    It knows no nonce, so that a second copy shows. ``before_send`` and ``before_edit`` are awaited once the request is
    written, before it takes effect: a test changes the world, or waits, there. It is also Discord's time.
    """

    def __init__(self, clock: Clock) -> None:
        self.posts: list[Post] = []
        self.attempts: list[tuple[dt.datetime, int]] = []
        self.edit_attempts = 0
        self.forbidden: set[int] = set()
        self.unavailable: set[int] = set()
        self.next_sends: list[SendError | None] = []
        self.next_openings: list[SendError | None] = []
        self.opened: list[tuple[dt.datetime, int]] = []
        self.closed_dms: set[int] = set()
        self.next_edits: list[SendError] = []
        self.before_send: Hook | None = None
        self.before_edit: Hook | None = None
        self.calendar = FakeCalendar(clock)
        self._clock = clock

    def now(self) -> dt.datetime:
        """Return Discord's own time."""
        return self._clock.now()

    def dms(self, recipient_id: int) -> list[Post]:
        """Return what is visible in the DM channel of a person, oldest first."""
        return self.in_channel(dm_channel(recipient_id))

    async def open_dm(self, recipient_id: int) -> int:
        """Open a DM channel, unless the script forbids."""
        self.opened.append((self._clock.now(), recipient_id))
        error = self.next_openings.pop(0) if self.next_openings else None
        if error is not None:
            raise error
        return dm_channel(recipient_id)

    def in_channel(self, channel_id: int = CHANNEL) -> list[Post]:
        """Return what is visible in a channel, oldest first."""
        return [post for post in self.posts if post.channel_id == channel_id and not post.deleted]

    def titles(self, channel_id: int = CHANNEL) -> list[str]:
        """Return the titles that are visible in a channel, oldest first."""
        return [post.shown.embed.title for post in self.in_channel(channel_id) if post.shown.embed]

    async def send(
        self,
        target: Target,
        message: OutgoingMessage,
        *,
        nonce: str,
        before_request: Callable[[], Awaitable[None]],
    ) -> Delivered:
        """Post a message, unless the script or the channel forbids."""
        await before_request()
        self.attempts.append((self._clock.now(), target.channel_id))
        if self.before_send is not None:
            await self.before_send(message)
        error = self.next_sends.pop(0) if self.next_sends else None
        if error is None and isinstance(target, DmTarget) and target.recipient_id in self.closed_dms:
            error = refused(ErrorClass.RECIPIENT_UNREACHABLE)
        if error is None and target.channel_id in self.forbidden:
            error = refused(ErrorClass.FORBIDDEN, missing=["Send Messages"])
        if error is not None and not error.may_have_arrived:
            raise error
        message_id = snowflake_at(self._clock.now()) + len(self.posts) + 1
        self.posts.append(Post(message_id, target.channel_id, message, self._clock.now()))
        if error is not None:
            raise error
        return Delivered(message_id, target.channel_id)

    async def find(self, target: Target, *, marker: str, after: int) -> Delivered | None:
        """Look a message up by its marker."""
        for post in reversed(self.in_channel(target.channel_id)):
            if post.message_id >= after and post.message.marker == marker:
                return Delivered(post.message_id, post.channel_id)
        return None

    async def edit(self, target: ChannelTarget, message_id: int, message: OutgoingMessage) -> None:
        """Edit a post, unless it is gone or the script forbids."""
        self.edit_attempts += 1
        if self.before_edit is not None:
            await self.before_edit(message)
        if self.next_edits:
            raise self.next_edits.pop(0)
        for post in self.in_channel(target.channel_id):
            if post.message_id == message_id:
                post.edits.append(message)
                return
        raise refused(ErrorClass.GONE)


class Process:
    """One process of the bot: its services on a database, a clock and a Discord that others may share."""

    def __init__(
        self,
        discord: FakeDiscord,
        clock: ManualClock,
        *,
        options: ServiceOptions | None = None,
        name: str = "one",
        members: MemberPort | None = None,
    ) -> None:
        self.stopped: list[str] = []
        self._clock = clock
        ports = Ports(
            discord=discord,
            discord_time=discord,
            clock=clock,
            lease_clock=InjectedLeaseClock(clock),
            is_available=lambda guild_id: guild_id not in discord.unavailable,
            stop=self.stopped.append,
            calendar=discord.calendar,
            members=members,
        )
        self.services: Services = build_services(ports, options or ServiceOptions(), instance_name=name)

    async def start(self) -> "Process":
        """Register the process and let every body run at once."""
        await self.services.enter(self._clock.now())
        return self

    async def run(self, body: str) -> None:
        """Run one pass of a body now, and what it dispatched to its end."""
        await self.services.agenda.run(self.services.body(body), self._clock.now())
        await self.services.settle()

    def next(self, body: str) -> dt.datetime | None:
        """Return when a body wants to run next."""
        return self.services.agenda.next(body)

    async def tick(self) -> None:
        """Run every body that is due now, again and again until none is; the heartbeat comes first."""
        await self.run(INSTANCE_HEARTBEAT)
        for _ in range(100):
            due = [body.name for body in self.services.bodies if self._is_due(body.name)]
            if not due:
                return
            for name in due:
                await self.run(name)
        raise AssertionError("a body asks to run again and again at one moment")

    async def run_until(self, end: dt.datetime, *, at_most_apart: dt.timedelta = dt.timedelta(days=400)) -> None:
        """Go from one moment that a body names to the next, up to ``end`` inclusive."""
        while self._clock.now() < end:
            await self.tick()
            named = [self.next(body.name) for body in self.services.bodies]
            limit = min(end, self._clock.now() + at_most_apart)
            self._clock.set(min([limit, *(moment for moment in named if moment is not None)]))
        await self.tick()

    async def crash(self) -> None:
        """End what is under way where it stands, as a kill would; nothing is recorded or given up."""
        await self.services.cut_off()

    def _is_due(self, name: str) -> bool:
        at = self.next(name)
        return at is not None and at <= self._clock.now()


async def process(
    discord: FakeDiscord,
    clock: ManualClock,
    *,
    options: ServiceOptions | None = None,
    name: str = "one",
    members: MemberPort | None = None,
) -> Process:
    """Start one process of the bot."""
    return await Process(discord, clock, options=options, name=name, members=members).start()


async def settle() -> None:
    """Let every task that can go on do so, without any real time."""
    for _ in range(50):
        await asyncio.sleep(0)
