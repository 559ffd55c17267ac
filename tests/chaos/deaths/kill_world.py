"""
What a kill happens to: everything that the bot sends, due at once, a series to go on with, and somebody who presses.

One event to announce, one that begins in the midst of it all, one whose post was deleted, one that is asked about by
DM (who comes, or what a profile lacks, by chance) with a post beside the DMs, one for the list of its server, a
note for the admins, and somebody whom no DM reaches.
"""

import datetime as dt
import random
from dataclasses import dataclass, field
from typing import Any

from bot.database import MODEL_MODULES
from bot.leases.keys import ATTENDANCE_POST, EVENT_REPOST, NATIVE_EVENT, OPS_NOTE, PROFILE_UNREACHABLE, MessageKey
from bot.ops_notes import raise_fault
from bot.reminders import markers
from bot.reminders.fan_out_reminder import FanOutReminder
from bot.reminders.tasks import ANNOUNCEMENT, ATTENDANCE, PROFILE
from bot.transactions import atomic, fetch, moment
from models.dm_channel import DmChannel
from models.event import Event
from models.ops_note import OpsNote
from models.states import EventState, Frequency
from tests.builders import DAY, HOUR, make_event, make_guild, make_series
from tests.chaos.deaths.kill_stories import Place, Story
from tests.people import REQUIRED_FIELD, sign_up
from tests.wire.discord_stub import CHANNEL, GUILD, OPS, DiscordStub, dm_channel

PRESSER = 700
_PEOPLE = (501, 502, 503, 504, 505)
_SERIES_DAYS = 3

_ASKED: tuple[tuple[FanOutReminder, dict[str, Any]], ...] = (
    (ATTENDANCE, {"discord_confirm_attendance": True, "discord_confirm_attendance_hours": 24}),
    (PROFILE, {"discord_profile_reminder": True}),
)

SOON = dt.timedelta(seconds=90)
"""After this the one event begins that is to be announced before."""


async def empty() -> None:
    """Remove every row of the open database."""

    async def _unit() -> None:
        for name in MODEL_MODULES:
            await fetch(f"DELETE FROM {name.removeprefix('models.')}")  # noqa: S608 -- the names of our tables

    await atomic(_unit)


@dataclass(slots=True)
class World:
    """The rows of one unit, and what is to become of them; ``story``: what there is beside them, often nothing."""

    begun: dt.datetime
    discord_ahead_by: dt.timedelta
    announced_id: int
    soon_id: int
    deleted_id: int
    asked_id: int
    reminder: FanOutReminder
    people: tuple[int, ...]
    closed: int
    slots: tuple[dt.datetime, ...]
    listed_id: int = 0
    series_id: int = 0
    story: Story = field(default_factory=Story)
    expected: dict[Place, MessageKey] = field(default_factory=dict)

    @classmethod
    async def made(
        cls, chance: random.Random, stub: DiscordStub, *, now: dt.datetime, discord_ahead_by: dt.timedelta
    ) -> "World":
        """Store the rows; everything is due at once."""
        await make_guild(GUILD, announcement_channel_id=CHANNEL, ops_channel_id=OPS, profile_fields=[REQUIRED_FIELD])
        wanted: dict[str, Any] = {"guild_id": GUILD, "state": EventState.SIGNUPS_OPEN}
        announced = await make_event(now=now, starts_in=20 * HOUR, **wanted)
        soon = await make_event(now=now, starts_in=SOON, **wanted)
        deleted = await make_event(
            now=now,
            discord_announcement=False,
            announcement_channel_id=CHANNEL,
            announcement_message_id=1,
            post_due_at=now,
            **wanted,
        )
        reminder, switches = chance.choice(_ASKED)
        asked = await make_event(now=now, starts_in=12 * HOUR, discord_announcement=False, **switches, **wanted)
        listed = await make_event(
            now=now, discord_announcement=False, discord_create_event=True, native_due_at=now, **wanted
        )
        await raise_fault(GUILD, "planted", "Something needs an admin.", now=now)
        people = tuple(chance.sample(_PEOPLE, chance.randint(4, len(_PEOPLE))))
        closed, known = chance.choice(people), chance.choice(people)
        await sign_up(asked, people, at=now)
        stub.messages[dm_channel(known)] = []
        await DmChannel.create(user_id=known, channel_id=dm_channel(known), opened_at=now)
        first = (now + 6 * HOUR).replace(second=0, microsecond=0)
        series = await make_series(
            now=now,
            guild_id=GUILD,
            frequency=Frequency.DAILY,
            day_of_week=None,
            time_of_day=first.strftime("%H:%M"),
            timezone="UTC",
            starts_at=first.date(),
            generate_days_ahead=_SERIES_DAYS - 1,
            signup_opens_hours=1,
        )
        stub.closed_dms = {closed}
        slots = tuple(first + day * DAY for day in range(_SERIES_DAYS))
        known_ids = (announced.id, soon.id, deleted.id, asked.id)
        return cls(now, discord_ahead_by, *known_ids, reminder, people, closed, slots, listed.id, series.id)

    async def expect(self) -> None:
        """Read which messages there must be by now."""
        due = [self.announced_id, self.soon_id]
        due += [one.id for one in await Event.filter(series_id=self.series_id, scheduled_at=self.slots[0])]
        for event_id in due:
            place = (CHANNEL, markers.mark(markers.ANNOUNCEMENT, event_id))
            self.expected[place] = MessageKey(ANNOUNCEMENT.log_source, event_id)
        reposted = MessageKey(EVENT_REPOST, self.deleted_id, part=1)
        self.expected[CHANNEL, markers.mark_post(self.deleted_id, reposts=1)] = reposted
        self.expected[GUILD, f"#{self.listed_id}"] = MessageKey(NATIVE_EVENT, self.listed_id)
        for note in await OpsNote.exclude(says=""):
            key = MessageKey(OPS_NOTE, note.id, part=note.revision)
            self.expected[OPS, f"note #{note.id}.{note.revision}"] = key
        side_post = ATTENDANCE_POST if self.reminder is ATTENDANCE else PROFILE_UNREACHABLE
        self.expected[CHANNEL, markers.mark(side_post, self.asked_id)] = MessageKey(side_post, self.asked_id)
        for who in self.people:
            place = (dm_channel(who), markers.mark(self.reminder.entry.key, self.asked_id))
            self.expected[place] = MessageKey(self.reminder.entry.log_source, self.asked_id, who)

    @property
    def soon(self) -> MessageKey:
        """The announcement that is recorded instead of sent, if its event began before anybody could."""
        return MessageKey(ANNOUNCEMENT.log_source, self.soon_id)

    @property
    def parent(self) -> MessageKey:
        """The fan-out, which has no message of its own."""
        return MessageKey(self.reminder.entry.log_source, self.asked_id)


def visible(stub: DiscordStub) -> dict[Place, list[int]]:
    """Return the ids of the messages that stand in the stub's Discord, by place."""
    found: dict[Place, list[int]] = {}
    for channel_id, messages in stub.messages.items():
        for message in messages:
            found.setdefault((channel_id, marker_of(message)), []).append(int(message["id"]))
    for native_id, native in stub.natives.items():
        found.setdefault((GUILD, marker_of(native)), []).append(native_id)
    return found


def marker_of(message: dict[str, object]) -> str:
    """Return the marker of a message or a scheduled event, or of a request for one."""
    if "entity_metadata" in message:
        return str(message["description"]).splitlines()[-1]
    embeds = message.get("embeds")
    if not isinstance(embeds, list) or not embeds:
        return ""
    return str(embeds[0].get("footer", {}).get("text", ""))


async def open_claims() -> dict[MessageKey, dt.datetime]:
    """Return every key whose outcome is open, and when it was claimed."""
    rows = await fetch(
        "SELECT source, source_id, recipient_id, part, claimed_at FROM discord_message_log WHERE success IS NULL"
    )
    return {
        MessageKey(
            str(row["source"]), int(str(row["source_id"])), int(str(row["recipient_id"])), int(str(row["part"]))
        ): moment(row["claimed_at"])
        for row in rows
    }
