"""
Three guilds with the same work for every body, and what has to have become of it in the end.

Every id of a guild lies in a range of its own, so that a fault can be planted for one of the three alone.
"""

import datetime as dt
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from bot.bootstrap import Ports, ServiceOptions, Services, build_services
from bot.clock import InjectedLeaseClock, ManualClock
from bot.dm_queue.worker import DmQueueOptions
from bot.events.signups.people import People
from bot.leases.ports import ChannelTarget
from bot.reminders import content
from bot.scheduling import bodies
from bot.transactions import fetch
from models.discord_message_log import DiscordMessageLog
from models.event import Event
from models.event_signup import EventSignup
from models.instance import Instance
from models.ops_note import OpsNote
from models.repeater_subscription import RepeaterSubscription
from models.states import EventState, Frequency, SignupStatus
from tests.builders import DAY, HOUR, MINUTE, dm_channel, make_event, make_guild, make_series
from tests.chaos.loops.planted_faults import FaultyDiscord

GUILDS = (1, 2, 3)
RANGE = 10_000_000_000
START = dt.datetime(2026, 3, 1, 12, 0, tzinfo=dt.UTC)
"""What of a guild is whose work, counted from the beginning of its range; people's DM channels lie in it too."""
CHANNEL, OPS, PERSON = 1, 2, 50
ANNOUNCED, BEHIND, OPENING, STALE, ASKED, HELD, FULL, MOVED = 10, 11, 13, 14, 18, 16, 19, 20
SERIES, ASKING_SERIES, NOTE = 12, 17, 15


def of(guild: int, what: int) -> int:
    """Return the id of something of a guild."""
    return guild * RANGE + what


def _dm(guild: int) -> int:
    return dm_channel(of(guild, PERSON))


def is_of_second(subjects: Iterable[object]) -> bool:
    """Return whether ids of the second guild are meant and none of the others'."""
    named = {one // RANGE for one in subjects if isinstance(one, int) and not isinstance(one, bool)}
    return named & set(GUILDS) == {2}


@dataclass(slots=True)
class LoopWorld:
    """One process on a database, a Discord and a clock that is moved by hand."""

    clock: ManualClock
    discord: FaultyDiscord
    services: Services

    async def unfinished(self) -> dict[str, set[int]]:
        """Return of which guilds the work is not done, by the body whose work it is."""
        shown = Counter((post.channel_id, post.message.marker) for post in self.discord.posts)
        edited = {post.channel_id for post in self.discord.posts if post.edits}
        state = {event.id: event.state for event in await Event.all()}
        made = {
            int(str(row["series_id"])) for row in await fetch("SELECT DISTINCT series_id FROM event WHERE slot <> ''")
        }
        held = {row.guild_id for row in await DiscordMessageLog.filter(success=None)}
        # A message that cannot be made ends with its reason.
        given_up = {row.source_id for row in await DiscordMessageLog.filter(success=False, error_class="invalid")}
        asked = {g for g in GUILDS if shown[_dm(g), f"#{of(g, ASKED)} sign-up"] or of(g, ASKED) in given_up}
        done = {
            bodies.CHECK_EVENT_REMINDERS: {g for g in GUILDS if shown[of(g, CHANNEL), f"#{of(g, ANNOUNCED)}"]},
            bodies.SYNC_DISCORD_EVENTS: {g for g in GUILDS if of(g, CHANNEL) in edited},
            bodies.GENERATE_UPCOMING_EVENTS: {g for g in GUILDS if of(g, SERIES) in made},
            bodies.OPEN_SCHEDULED_SIGNUPS: {g for g in GUILDS if state[of(g, OPENING)] is EventState.SIGNUPS_OPEN},
            bodies.CLEANUP_STALE_EVENTS: {g for g in GUILDS if state[of(g, STALE)] is EventState.CANCELLED},
            bodies.TELL_OPS_NOTES: {g for g in GUILDS if shown[of(g, OPS), f"note #{of(g, NOTE)}.1"]},
            bodies.SWEEP_STALE_DISCORD_LEASES: {g for g in GUILDS if of(g, 0) not in held},
            bodies.DRAIN_DM_QUEUE: asked,
            bodies.TELL_PROMOTIONS: {
                g for g in GUILDS if shown[_dm(g), f"#{of(g, FULL)} place 1"] or of(g, FULL) in given_up
            },
            bodies.TELL_TIME_CHANGES: {
                g for g in GUILDS if shown[_dm(g), f"#{of(g, MOVED)} new time 1"] or of(g, MOVED) in given_up
            },
            bodies.SYNC_ATTENDEE_ROLES: {
                g for g in GUILDS if await EventSignup.filter(event_id=of(g, FULL), has_role=True).exists()
            },
            bodies.DRIVE_FAN_OUTS: {g for g in asked if of(g, 0) not in held},
            bodies.INSTANCE_HEARTBEAT: set(GUILDS) if await self._is_alive() else set(),
        }
        return {name: set(GUILDS) - guilds for name, guilds in done.items() if guilds != set(GUILDS)}

    async def _is_alive(self) -> bool:
        return await Instance.filter(id=self.services.register.instance).exists()

    def doubled(self) -> list[str]:
        """Return what stands more than once in a channel."""
        shown = Counter((post.channel_id, post.message.marker) for post in self.discord.posts)
        return [f"{marker} in {channel}" for (channel, marker), times in shown.items() if times > 1]


def a_process() -> LoopWorld:
    """Return a process that nothing is stored for; nothing runs yet."""
    clock = ManualClock(START)
    discord = FaultyDiscord(clock)
    options = ServiceOptions(dm_queue=DmQueueOptions(drain_rate=50.0, open_channels_rate=50.0))
    ports = Ports(
        discord=discord,
        discord_time=discord,
        clock=clock,
        lease_clock=InjectedLeaseClock(clock),
        is_available=lambda _: True,
        stop=lambda _: None,
        members=discord,
    )
    return LoopWorld(clock, discord, build_services(ports, options, instance_name="loops"))


async def stored(world: LoopWorld) -> LoopWorld:
    """Store the work of the three guilds in the open database; return their world."""
    for guild in GUILDS:
        await _store(guild, world.discord)
    return world


async def _store(guild: int, discord: FaultyDiscord) -> None:
    await make_guild(of(guild, 0), announcement_channel_id=of(guild, CHANNEL), ops_channel_id=of(guild, OPS))
    quiet: dict[str, Any] = {"now": START, "guild_id": of(guild, 0), "discord_announcement": False}
    await make_event(**quiet | {"id": of(guild, ANNOUNCED), "discord_announcement": True})
    await make_event(**quiet, id=of(guild, OPENING), starts_in=2 * DAY, signups_open_at=START - MINUTE)
    await make_event(**quiet, id=of(guild, STALE), starts_in=-3 * DAY)
    await _store_post_behind(guild, discord, quiet)
    await _store_held(guild, discord, quiet)
    await make_series(**quiet, id=of(guild, SERIES), frequency=Frequency.DAILY, day_of_week="", generate_days_ahead=2)
    await make_series(**quiet, id=of(guild, ASKING_SERIES), name="Asked", is_active=False)
    await RepeaterSubscription.create(
        id=of(guild, 1), series_id=of(guild, ASKING_SERIES), user_id=of(guild, PERSON), created_at=START
    )
    await make_event(
        **quiet,
        id=of(guild, ASKED),
        starts_in=20 * HOUR,
        series_id=of(guild, ASKING_SERIES),
        state=EventState.SIGNUPS_OPEN,
        discord_signup_reminder=True,
    )
    await make_event(
        **quiet, id=of(guild, FULL), starts_in=2 * DAY, state=EventState.SIGNUPS_OPEN, attendee_role_id=of(guild, 1)
    )
    await EventSignup.create(
        id=of(guild, 1),
        event_id=of(guild, FULL),
        user_id=of(guild, PERSON),
        status=SignupStatus.SIGNED_UP,
        promotions=1,
        created_at=START,
        changed_at=START,
    )
    await make_event(**quiet, id=of(guild, MOVED), starts_in=2 * DAY, state=EventState.SIGNUPS_OPEN, time_changes=1)
    await EventSignup.create(
        id=of(guild, 2),
        event_id=of(guild, MOVED),
        user_id=of(guild, PERSON),
        status=SignupStatus.SIGNED_UP,
        created_at=START,
        changed_at=START,
    )
    await OpsNote.create(id=of(guild, NOTE), guild_id=of(guild, 0), fault="planted", says="a fault", updated_at=START)
    assert dm_channel(of(guild, PERSON)) // RANGE == guild


async def _store_post_behind(guild: int, discord: FaultyDiscord, quiet: dict[str, Any]) -> None:
    event = await make_event(**quiet, id=of(guild, BEHIND), starts_in=2 * DAY)
    posted = await _post(event, guild, discord)
    await Event.filter(id=event.id).update(
        announcement_channel_id=of(guild, CHANNEL), announcement_message_id=posted, post_due_at=START
    )


async def _store_held(guild: int, discord: FaultyDiscord, quiet: dict[str, Any]) -> None:
    """Store a lease that its dead holder never finished, though its message arrived."""
    event = await make_event(**quiet, id=of(guild, HELD), starts_in=2 * DAY)
    await _post(event, guild, discord)
    await DiscordMessageLog.create(
        id=of(guild, 1),
        guild_id=of(guild, 0),
        source="event_announcement",
        source_id=event.id,
        channel_id=of(guild, CHANNEL),
        embed_data={"marker": f"#{event.id}"},
        claimed_at=START - HOUR,
        created_at=START - HOUR,
        lease_token="of the dead",
        instance="dead",
    )


async def _post(event: Event, guild: int, discord: FaultyDiscord) -> int:
    async def _ready() -> None:
        """Nothing is asked before the request."""

    message = content.announcement(event, People())
    target = ChannelTarget(of(guild, 0), of(guild, CHANNEL))
    return (await discord.send(target, message, nonce="", before_request=_ready)).message_id
