"""
``tocsin demo``: a small guild lives through two weeks in a few seconds, and every visible message is told as a line.

What happens on the way is what a bot has to live through: the process dies right after Discord took a message, a
moderator deletes the post, the channel is closed to the bot for an evening.
"""

import contextlib
import datetime as dt
import tempfile
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bot.bootstrap import ServiceOptions
from bot.database import migrate, opened
from bot.demo.crashes import CrashingTransport, PlannedCrash
from bot.demo.driver import Driver
from bot.demo.page import show_page
from bot.demo.sightings import Sighting, Watcher
from bot.demo.world import Place, World
from bot.events.lifecycle import move
from bot.events.series import create_series
from bot.events.series_spec import SeriesSpec
from bot.scheduling.bodies import SYNC_DISCORD_EVENTS
from models.event import Event
from models.guild_settings import GuildSettings
from models.states import EventState

if TYPE_CHECKING:
    from bot.client import TocsinBot

# The Monday before both clock changes: the times in New York and in Berlin move apart and together again.
_START = dt.datetime(2026, 3, 2, 8, 0, tzinfo=dt.UTC)
_PLAYERS = ("ada", "brook", "cyan", "dale", "ember")
_SERIES = (
    {
        "name": "Friday raid",
        "description": "Bring potions. New faces are welcome.",
        "frequency": "weekly",
        "day_of_week": "FR",
        "time_of_day": "19:30",
        "timezone": "Europe/Berlin",
        "starts_at": "2026-03-02",
        "discord_announcement_hours": 24,
    },
    {
        "name": "Tuesday build review",
        "description": "We play what was built last week.",
        "frequency": "weekly",
        "day_of_week": "TU",
        "time_of_day": "12:00",
        "timezone": "America/New_York",
        "starts_at": "2026-03-02",
        "discord_announcement_hours": 4,
    },
)


@dataclass(slots=True)
class _Told:
    """What was told so far."""

    messages: int = 0
    by_key: Counter[tuple[str, int | None]] = field(default_factory=Counter)


class Story:
    """One world, its bot processes and the telling."""

    def __init__(self) -> None:
        self.world = World(_START)
        self.place: Place | None = None
        self._watcher = Watcher(self.world)
        self._transport = CrashingTransport([])
        self._bot: TocsinBot | None = None
        self._told = _Told()

    async def start_process(self, *crashes: PlannedCrash) -> None:
        """Start a bot process in the world; it dies as planned."""
        self._transport = CrashingTransport(list(crashes))
        self._bot = await self.world.start_process(self._transport, name="demo")

    async def prepare(self) -> None:
        """Found the guild, its channels and its series."""
        self.place = self.world.build(guild_name="The Bell Tower", players=_PLAYERS)
        settings = GuildSettings(
            guild_id=self.place.guild_id,
            timezone="Europe/Berlin",
            announcement_channel_id=self.place.announcements_id,
            ops_channel_id=self.place.ops_id,
        )
        await settings.save(force_create=True)
        specs = [SeriesSpec.model_validate(series) for series in _SERIES]
        await create_series(specs, guild_id=self.place.guild_id, created_by=self.place.admin_id, now=self.world.now())

    async def live_until(self, moment: dt.datetime) -> None:
        """Let the world's time pass, telling what becomes visible; stops where the process dies."""
        assert self._bot is not None  # noqa: S101 -- a process was started before time passes
        driver = Driver(self.world, self._bot.services, is_stopped=lambda: self._transport.crashed)
        await driver.run_until(moment, after_moment=self._tell)
        await self._tell()

    async def die_and_come_back(self) -> None:
        """Drop the dead process with all it had in memory, and start another a little later."""
        assert self._bot is not None  # noqa: S101
        await self._bot.services.dispatcher.stop()
        await self.world.detach()
        self.world.advance_to(self.world.now() + dt.timedelta(seconds=5))
        self.narrate("The bot died right after Discord took a message; it comes back and does not know of it.")
        await self.start_process()

    async def call_the_roll(self, event: Event) -> None:
        """Let the admin close the sign-ups of an event."""
        assert self._bot is not None  # noqa: S101
        assert self.place is not None  # noqa: S101
        now, debounce = self.world.now(), ServiceOptions().edit_debounce
        await move(
            event,
            allowed={EventState.SIGNUPS_OPEN},
            to=EventState.ROLL_CALL,
            now=now,
            debounce=debounce,
            actor_user_id=self.place.admin_id,
        )
        self._bot.services.agenda.wake(SYNC_DISCORD_EVENTS, now + debounce)

    def narrate(self, line: str) -> None:
        """Print one line of what happens around the bot."""
        print(f"{self.world.now():%a %d %b %H:%M} UTC  -- {line}", flush=True)

    async def _tell(self) -> None:
        for sighting in await self._watcher.take():
            self._told.messages += 1
            self._told.by_key[(sighting.kind, sighting.event_id)] += 1
            print(_line(sighting), flush=True)

    def closing(self) -> str:
        """Return the closing count."""
        twice = sum(1 for times in self._told.by_key.values() if times > 1)
        return f"{self._told.messages} messages became visible, {twice} of them twice."


def _line(sighting: Sighting) -> str:
    text = " ".join(sighting.title.split())
    what = f'"{text}"' if sighting.event_id is not None else text
    when = f" on {sighting.occurrence:%a %d %b %H:%M} UTC" if sighting.occurrence is not None else ""
    return f"{sighting.at:%a %d %b %H:%M} UTC  #{sighting.channel}  {sighting.kind}: {what}{when}"


async def demo(*, with_page: bool) -> None:
    """Tell the story; with a page, show the guild in the browser afterwards until Ctrl-C. Leaves nothing behind."""
    async with _temporary_database():
        story = Story()
        try:
            await _tell_story(story)
            if with_page and story.place is not None:
                await show_page(story.world, story.place)
        finally:
            await story.world.detach()


@contextlib.asynccontextmanager
async def _temporary_database() -> AsyncIterator[None]:
    with tempfile.TemporaryDirectory(prefix="tocsin-") as folder:
        url = f"sqlite://{folder}/demo.db"
        async with opened(url, everywhere=True):
            await migrate(url)
            yield


async def _tell_story(story: Story) -> None:
    first_friday = dt.datetime(2026, 3, 5, 18, 30, tzinfo=dt.UTC)
    await story.start_process(PlannedCrash(first_friday, accepted=True))
    await story.prepare()
    story.narrate("Two series are set up: a raid on Fridays in Berlin, a review on Tuesdays in New York.")
    await story.live_until(first_friday + dt.timedelta(minutes=1))
    await story.die_and_come_back()
    await story.live_until(first_friday + dt.timedelta(hours=2))
    await _lose_the_post(story)
    await story.live_until(dt.datetime(2026, 3, 12, 18, 0, tzinfo=dt.UTC))
    await _close_the_channel(story)
    print(story.closing(), flush=True)


async def _lose_the_post(story: Story) -> None:
    """A moderator deletes the post; at the next change of the event the bot posts it again, once."""
    event = await Event.filter(name="Friday raid", announcement_message_id__not_isnull=True).first()
    if event is None or event.announcement_channel_id is None or event.announcement_message_id is None:
        return
    story.world.delete_message(event.announcement_channel_id, event.announcement_message_id)
    story.narrate("A moderator deletes the post of the raid by mistake; then the warden closes its sign-ups.")
    await story.call_the_roll(event)
    await story.live_until(story.world.now() + dt.timedelta(minutes=5))


async def _announcement_channel() -> int:
    settings = await GuildSettings.all().first()
    assert settings is not None  # noqa: S101 -- the story set it
    assert settings.announcement_channel_id is not None  # noqa: S101
    channel_id: int = settings.announcement_channel_id
    return channel_id


async def _close_the_channel(story: Story) -> None:
    """The bot may not post for three hours: one note, an attempt an hour, and the post once it may again."""
    story.narrate("Somebody takes the bot's right to post in #announcements, shortly before the next announcement.")
    channel_id = await _announcement_channel()
    story.world.let_bot_post(channel_id, allowed=False)
    await story.live_until(dt.datetime(2026, 3, 12, 21, 0, tzinfo=dt.UTC))
    story.narrate("An admin read the note and gives the right back.")
    story.world.let_bot_post(channel_id, allowed=True)
    await story.live_until(dt.datetime(2026, 3, 14, 0, 0, tzinfo=dt.UTC))
