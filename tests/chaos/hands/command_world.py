"""
Two servers with rows that nobody of the other may see, people in them, and the bot with all of its commands.

Everybody is shown every command, as a server may decide, so that what refuses is the bot's own code.
"""

import contextlib
import datetime as dt
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass

from simcord.actors import MemberActor
from simcord.builders import ChannelHandle, RoleHandle, UserHandle

from bot.client import COMMAND_COGS, TocsinBot
from bot.database import opened
from bot.events import notifications, profiles, subscriptions
from bot.message.custom_ids import Verb
from bot.scheduling import due_rows
from bot.transactions import atomic
from models.event import Event
from models.event_repeater import EventRepeater
from models.guild_settings import GuildSettings
from models.states import AHEAD, EventState
from tests.builders import HOUR, make_event, make_guild, make_series
from tests.discord.acting import Stage, set_stage, show_commands
from tests.discord.simulated import START, in_world
from tests.people import sign_up

NAMES = ("Zylophant", "Quexmoor", "Ombrelle", "Vantabrew", "Jaspquill")
"""What stands in the first server's rows and nowhere else."""

ANSWER, EVENT_TEXT, SERIES_TEXT = "Wimpleshade", "Frostkettle", "Grubbledown"
"""What nobody may read but whom it is for."""


@dataclass(frozen=True, slots=True)
class CommandWorld:
    """
    The stage, and another server with an admin of its own, ``rival``, who is not in the first.

    ``twin`` is the first's manager in the other, ``stranger`` somebody in neither.

    ``stale`` is what is past its time, by the option that may name it: gone, cancelled, begun.
    """

    stage: Stage
    rival: MemberActor
    twin: MemberActor
    elsewhere: ChannelHandle
    elsewhere_role: RoleHandle
    stranger: UserHandle
    event_id: int
    guarded_id: int
    series_id: int
    stale: Mapping[str, Mapping[str, str]]

    @property
    def bot(self) -> TocsinBot:
        return self.stage.bot

    def subject_of(self, verb: Verb) -> int | None:
        """Return what a button of a verb is about, None: nobody has said."""
        answers = {Verb.SIGN_UP, Verb.MAYBE, Verb.CANT, Verb.CONFIRM, Verb.DECLINE}
        of_event = answers | {Verb.ACCEPT, Verb.NO_THANKS}
        known: Mapping[Verb, int] = {
            **dict.fromkeys(of_event, self.event_id),
            Verb.NOTIFY: self.series_id,
            Verb.PROFILE: self.stage.guild_id,
        }
        return known.get(verb)

    async def refill(self) -> None:
        """Store once more what a command may take: an event in each state ahead, a series of each kind."""
        await _refill(self.stage)

    def move(self, by: dt.timedelta) -> None:
        """Let time pass."""
        self.stage.discord_.world.advance_to(self.stage.now() + by)

    def sent(self) -> list[tuple[str, str]]:
        """Return the bot's requests so far that others than who asked can see."""
        posts = [one for one in self.stage.discord_.env.http_requests if one.method not in {"GET", "PUT"}]
        seen = [one for one in posts if one.path.startswith(("/channels/", "/users/", "/guilds/"))]
        return [(one.method, one.path) for one in seen]


@contextlib.asynccontextmanager
async def command_world(url: str) -> AsyncIterator[CommandWorld]:
    """Open a database and fill it, with a bot on it in a simulated Discord."""
    async with opened(url), in_world(START, extensions=COMMAND_COGS) as discord_:
        yield await _filled(await set_stage(discord_))


async def _filled(stage: Stage) -> CommandWorld:
    guild_id, now = stage.guild_id, stage.now()
    asked = {"key": "lamp", "label": NAMES[4], "required": True, "max_length": 100}
    await GuildSettings.filter(guild_id=guild_id).update(profile_fields=[asked])
    series = await make_series(now=now, guild_id=guild_id, name=NAMES[0], description=SERIES_TEXT)
    await _refill(stage)
    event = await _event(stage, EventState.SIGNUPS_OPEN, signups_open_at=now - HOUR)
    guarded = await _event(stage, EventState.SIGNUPS_OPEN, required_role_id=stage.manager_role.id)
    cancelled = await _event(stage, EventState.CANCELLED)
    begun = await _event(stage, EventState.COMPLETED, starts_in=-24 * HOUR)
    await profiles.save({"lamp": ANSWER}, guild_id=guild_id, user_id=stage.other_member.id, now=now)
    await sign_up(event, [stage.other_member.id])
    await subscriptions.subscribe(series.id, guild_id=guild_id, user_id=stage.admin.id, now=now)
    gone = str(10**15)
    env = stage.discord_.env
    rival, stranger = env.create_user("rival"), env.create_user("stranger")
    other = env.create_guild("Elsewhere", owner=rival)
    channel, role = other.create_text_channel("lobby"), other.create_role("Others")
    await make_guild(other.id, announcement_channel_id=channel.id, ops_channel_id=channel.id)
    await env.settle()
    show_commands(stage.discord_, other)
    return CommandWorld(
        stage=stage,
        rival=MemberActor(env, other, rival),
        twin=other.add_member(stage.manager.user),
        elsewhere=channel,
        elsewhere_role=role,
        stranger=stranger,
        event_id=event.id,
        guarded_id=guarded.id,
        series_id=series.id,
        stale={
            "event": {"gone": gone, "cancelled": str(cancelled.id), "begun": str(begun.id)},
            "series": {"gone": gone},
            "turn_off": {"gone": gone},
            "turn_on": {"gone": gone},
            "remove_profile_field": {"gone": "hat"},
        },
    )


async def _refill(stage: Stage) -> None:
    for state in AHEAD:
        await _event(stage, state)
    for active in (True, False):
        # By the newest that is left, not by how many: one may have been deleted.
        newest = await EventRepeater.all().order_by("-id").first()
        name = f"{NAMES[1]} {newest.id if newest is not None else 0}"
        series = {"guild_id": stage.guild_id, "name": name, "description": SERIES_TEXT, "is_active": active}
        made = await make_series(now=stage.now(), **series)
        for who in (stage.admin, stage.manager):
            # Something that they may turn off, and something that they may turn on again.
            if active:
                await subscriptions.subscribe(made.id, guild_id=stage.guild_id, user_id=who.id, now=stage.now())
            else:
                await notifications.turn(str(made.id), guild_id=stage.guild_id, user_id=who.id, now=stage.now())


async def _event(stage: Stage, state: EventState, *, starts_in: dt.timedelta = 72 * HOUR, **fields: object) -> Event:
    made = await make_event(
        now=stage.now(),
        starts_in=starts_in,
        guild_id=stage.guild_id,
        name=f"{NAMES[2]} {state.value}",
        description=EVENT_TEXT,
        state=state,
        **fields,
    )
    await atomic(lambda: due_rows.refresh([made.id]))
    return made
