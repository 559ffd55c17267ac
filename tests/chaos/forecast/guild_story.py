"""A random server with a past: series, one-offs, people, opt-outs and what is missing, all made of one seed."""

import datetime as dt
import random
from dataclasses import dataclass
from typing import Any

from bot.bootstrap import ServiceOptions
from bot.clock import ManualClock
from bot.dm_queue.worker import DmQueueOptions
from bot.events.generate import generate_events_for_repeater
from models.event import Event
from models.event_repeater import EventRepeater
from models.event_signup import EventSignup
from models.player_profile import PlayerProfile
from models.repeater_exception import RepeaterException
from models.states import AHEAD, EventState, ExceptionKind, Frequency, SignupStatus
from tests.builders import (
    CHANNEL,
    DAY,
    GUILD,
    HOUR,
    MINUTE,
    OTHER_CHANNEL,
    FakeDiscord,
    Process,
    make_event,
    make_guild,
    make_series,
)
from tests.people import change, sign_up, subscribe

PEOPLE = range(101, 113)
_ZONES = ("UTC", "Europe/London", "America/New_York", "Asia/Kathmandu", "Australia/Lord_Howe", "America/Sao_Paulo")
_KINDS = ("signup_reminder", "attendance_reminder", "profile_reminder")
_DAYS = ("MO", "TU,TH", "WE,SA,SU", "FR", None)
_RARELY, _AT_TIMES, _OFTEN = 0.1, 0.3, 0.7

# Nothing of it is on trial here: so that few moments are named in which nothing happens, and no DM waits for its turn.
OPTIONS = ServiceOptions(
    poll=12 * HOUR,
    sweep_every=12 * HOUR,
    sync_every=12 * HOUR,
    state_every=12 * HOUR,
    cleanup_every=12 * HOUR,
    generate_every=5 * HOUR,
    heartbeat_every=12 * HOUR,
    dm_queue=DmQueueOptions(drain_rate=10_000, open_channels_rate=10_000),
)


@dataclass(slots=True)
class GuildStory:
    """The server as it stands when it is asked what is to come; ``now`` is that moment."""

    discord: FakeDiscord
    clock: ManualClock
    bot: Process
    days: int

    @property
    def now(self) -> dt.datetime:
        return self.clock.now()

    def may_post(self, channel_id: int) -> bool:
        """Return whether the bot may post in a channel."""
        return channel_id not in self.discord.forbidden


async def told(seed: int) -> GuildStory:
    """Let the server of a seed come to be, in the database that is open, and live for a while."""
    chance = random.Random(seed)
    # Within the year that has every change of the clocks; not on the hour.
    begin = dt.datetime(2026, 1, 1, tzinfo=dt.UTC) + chance.randrange(365 * 24 * 60) * MINUTE
    clock = ManualClock(begin)
    discord = FakeDiscord(clock)
    if chance.random() < _AT_TIMES:
        discord.forbidden.add(OTHER_CHANNEL)
    await make_guild(
        announcement_channel_id=CHANNEL if chance.random() > _RARELY else None,
        profile_fields=[{"key": "lamp", "label": "Lamp", "required": chance.random() < _OFTEN, "max_length": 50}],
    )
    await _rows(chance, begin)
    bot = await Process(discord, clock, options=OPTIONS).start()
    if chance.random() < _OFTEN:
        await bot.run_until(begin + chance.randrange(36 * 60) * MINUTE)
    if chance.random() < _AT_TIMES:
        bot = await _restarted(bot, discord, clock, chance)
    await _edits(chance, clock.now())
    await _sign_ups(chance, clock.now())
    if chance.random() < _RARELY:
        discord.unavailable.add(GUILD)
    return GuildStory(discord, clock, bot, chance.randint(1, 4))


async def _rows(chance: random.Random, begin: dt.datetime) -> None:
    series = [await _series(chance, number, begin) for number in range(chance.randint(1, 4))]
    for one in series:
        await subscribe(one.id, chance.sample(PEOPLE, chance.randrange(6)))
        if chance.random() < _OFTEN:
            await generate_events_for_repeater(one, now=begin)
    for number in range(chance.randint(1, 4)):
        await _one_off(chance, number, begin)
    for who in PEOPLE:
        await _person(chance, who, [one.id for one in series], begin)
    await _sign_ups(chance, begin)


async def _restarted(bot: Process, discord: FakeDiscord, clock: ManualClock, chance: random.Random) -> Process:
    await bot.services.leave()
    clock.advance(chance.randrange(300) * MINUTE)
    return await Process(discord, clock, options=OPTIONS, name="two").start()


def _switches(chance: random.Random, most: int) -> dict[str, Any]:
    def _hours() -> int | None:
        return chance.choice([1, 2, 3, 6, 12, 24, 24, min(48, most), most, None])

    return {
        "discord_announcement": chance.random() < _OFTEN,
        "discord_announcement_hours": _hours(),
        "discord_announcement_channel_id": OTHER_CHANNEL if chance.random() < _AT_TIMES else None,
        "discord_confirm_attendance": chance.random() < _OFTEN,
        "discord_confirm_attendance_hours": _hours(),
        "discord_confirm_attendance_dm": chance.random() < _OFTEN,
        "discord_profile_reminder": chance.random() < _OFTEN,
        "discord_profile_reminder_hours": _hours(),
        "signup_opens_hours": chance.choice([None, None, 1, 12, 24, 168, 168]),
        "max_players": chance.choice([None, 1, 5]),
    }


async def _series(chance: random.Random, number: int, now: dt.datetime) -> EventRepeater:
    ahead = chance.choice([1, 2, 4, 7])
    frequency = chance.choice([Frequency.DAILY, Frequency.DAILY, Frequency.WEEKLY, Frequency.MONTHLY])
    most = 24 * ahead
    series = await make_series(
        now=now,
        name=f"Series {number}",
        frequency=frequency,
        interval=chance.choice([1, 1, 2]),
        day_of_week=chance.choice(_DAYS) if frequency is Frequency.WEEKLY else None,
        time_of_day=chance.choice(["00:00", "02:30", "06:15", "19:00", "23:59"]),
        timezone=chance.choice(_ZONES),
        starts_at=now.date() - chance.randrange(20) * DAY,
        ends_at=now.date() + chance.randrange(6) * DAY if chance.random() < _RARELY else None,
        generate_days_ahead=ahead,
        is_active=chance.random() > _RARELY,
        **_switches(chance, most),
        discord_signup_reminder=chance.random() < _OFTEN,
        discord_signup_reminder_hours=chance.choice([1, 6, 24, most]),
    )
    for day in range(ahead):
        if chance.random() < _RARELY:
            await RepeaterException.create(series=series, local_date=now.date() + day * DAY, kind=ExceptionKind.SKIP)
    return series


async def _one_off(chance: random.Random, number: int, now: dt.datetime) -> Event:
    starts_in = chance.randrange(5, 6 * 24 * 60) * MINUTE
    switches = _switches(chance, 96)
    opens = chance.choice([None, now, now + starts_in - HOUR, now + starts_in + HOUR, now + starts_in / 2])
    return await make_event(
        now=now,
        starts_in=starts_in,
        name=f"One-off {number}",
        signups_open_at=opens,
        state=chance.choice([*AHEAD, EventState.UPCOMING, EventState.CANCELLED]),
        **switches,
    )


async def _person(chance: random.Random, who: int, series: list[int], now: dt.datetime) -> None:
    if chance.random() < _OFTEN:
        await PlayerProfile.create(
            guild_id=GUILD,
            user_id=who,
            field_values={"lamp": "green"} if chance.random() < _AT_TIMES else {},
            reminder_opt_outs=[kind for kind in _KINDS if chance.random() < _AT_TIMES],
            series_opt_outs=[one for one in series if chance.random() < _AT_TIMES],
            updated_at=now,
        )


async def _sign_ups(chance: random.Random, now: dt.datetime) -> None:
    """Let people answer about the events that take answers; who has answered stays with it."""
    open_for = (EventState.SIGNUPS_OPEN, EventState.ROLL_CALL)
    for event in await Event.filter(state__in=open_for, scheduled_at__gt=now).order_by("id"):
        said = {row.user_id for row in await EventSignup.filter(event_id=event.id)}
        for who in chance.sample(PEOPLE, chance.randrange(8)):
            if who not in said:
                await sign_up(event, [who], chance.choice(list(SignupStatus)), at=now)


async def _edits(chance: random.Random, now: dt.datetime) -> None:
    """Put some events off, past the moment at which they were announced."""
    for event in await Event.filter(state__in=AHEAD, scheduled_at__gt=now).order_by("id"):
        if chance.random() < _RARELY:
            later = event.scheduled_at + chance.choice([HOUR, 30 * HOUR])
            await change(event, scheduled_at=later, overridden_fields=["scheduled_at"])
