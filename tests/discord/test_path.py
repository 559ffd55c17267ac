"""The whole way of one announcement, by the real bodies and the real client: from its series to the end of its post."""

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import discord
import pytest

from bot.demo.driver import Driver
from bot.events.series import create_series
from bot.events.series_spec import SeriesSpec
from models.discord_message_log import DiscordMessageLog
from models.event import Event
from models.states import EventState
from tests.builders import make_guild, utc

if TYPE_CHECKING:
    from tests.discord.simulated import SimulatedDiscord

RAID = {
    "name": "Raid night @everyone",
    "description": "Bring a lamp.",
    "frequency": "weekly",
    "day_of_week": "TU",
    "time_of_day": "19:00",
    "timezone": "UTC",
    "starts_at": "2026-03-03",
    "ends_at": "2026-03-03",
    "discord_announcement_hours": 24,
    "signup_opens_hours": 12,
    "duration_minutes": 120,
}
ANNOUNCED = utc("2026-03-02 19:00")
OPENED = utc("2026-03-03 07:00")
BEGUN = utc("2026-03-03 19:00")
OVER = utc("2026-03-03 21:00")
MOMENT = dt.timedelta(seconds=10)


@dataclass
class Story:
    """A guild with one series of one event, driven through the world's time."""

    discord_: "SimulatedDiscord"
    driver: Driver
    seen: list[tuple[dt.datetime, int]] = field(default_factory=list)

    def hear(self, payload: Mapping[str, Any]) -> None:
        self.seen.append((self.discord_.world.now(), int(payload["channel_id"])))

    async def until(self, moment: dt.datetime) -> None:
        await self.driver.run_until(moment)

    def announcements(self) -> list[dt.datetime]:
        return [at for at, channel_id in self.seen if channel_id == self.discord_.place.announcements_id]

    def post(self) -> discord.Embed:
        (message,) = self.discord_.messages()
        return message.embeds[0]

    def signups(self) -> str | None:
        return next(one.value for one in self.post().fields if one.name == "Sign-ups")

    def notes(self) -> list[str]:
        messages = self.discord_.messages(self.discord_.place.ops_id)
        return [message.embeds[0].description or "" for message in messages]


@pytest.fixture
async def story(simcord_world_everywhere: "SimulatedDiscord") -> Story:
    discord_ = simcord_world_everywhere
    place = discord_.place
    await make_guild(place.guild_id, announcement_channel_id=place.announcements_id, ops_channel_id=place.ops_id)
    await create_series(
        [SeriesSpec.model_validate(RAID)], guild_id=place.guild_id, created_by=None, now=discord_.world.now()
    )
    told = Story(discord_, Driver(discord_.world, discord_.bot.services))
    discord_.world.on_message(told.hear)
    return told


async def test_a_series_is_announced_once_when_due_and_its_post_follows_the_event(story: Story) -> None:
    await story.until(ANNOUNCED)
    assert story.seen == []

    await story.until(ANNOUNCED + MOMENT)
    assert story.seen == [(ANNOUNCED, story.discord_.place.announcements_id)]
    assert "Raid night" in (story.post().title or "")
    assert (story.signups() or "").startswith("Open <t:")

    await story.until(OPENED + MOMENT)
    assert story.signups() == "Open"

    await story.until(BEGUN + MOMENT)
    assert story.signups() == "Closed: it is running"

    await story.until(OVER + MOMENT)
    assert story.signups() == "Closed: it is over"

    await story.until(OVER + dt.timedelta(days=2))
    event = await Event.get()
    log = await DiscordMessageLog.get()
    assert story.announcements() == [ANNOUNCED]
    assert (event.state, event.announcement_message_id) == (EventState.COMPLETED, story.discord_.messages()[0].id)
    assert (log.success, log.attempts, log.discord_message_id) == (True, 1, event.announcement_message_id)
    assert story.notes() == []


async def test_a_post_that_somebody_deleted_is_posted_again_once_and_followed_there(story: Story) -> None:
    await story.until(ANNOUNCED + MOMENT)
    event = await Event.get()
    deleted, channel_id = event.announcement_message_id, event.announcement_channel_id
    assert deleted is not None
    assert channel_id is not None
    story.discord_.world.delete_message(channel_id, deleted)

    await story.until(OPENED + MOMENT)
    await event.refresh_from_db()
    assert len(story.announcements()) == 2
    assert story.post().footer.text == f"#{event.id}.1"
    assert event.announcement_message_id == story.discord_.messages()[0].id

    await story.until(OVER + MOMENT)
    assert story.signups() == "Closed: it is over"
    assert len(story.announcements()) == 2


async def test_a_post_deleted_after_the_event_began_is_not_posted_again(story: Story) -> None:
    await story.until(BEGUN + MOMENT)
    event = await Event.get()
    assert event.announcement_message_id is not None
    story.discord_.world.delete_message(story.discord_.place.announcements_id, event.announcement_message_id)

    await story.until(OVER + MOMENT)

    await event.refresh_from_db()
    assert story.announcements() == [ANNOUNCED]
    assert story.discord_.messages() == []
    assert (event.announcement_message_id, event.post_due_at) == (None, None)


async def test_a_forbidden_channel_costs_an_attempt_an_hour_and_one_note_until_it_is_mended(story: Story) -> None:
    channel_id = story.discord_.place.announcements_id
    story.discord_.let_bot_post(channel_id, allowed=False)

    await story.until(ANNOUNCED + dt.timedelta(hours=2, minutes=30))
    attempts = await DiscordMessageLog.filter(source="event_announcement").order_by("-id").first()
    (note,) = story.notes()
    assert attempts is not None
    assert (attempts.attempts, attempts.error_class) == (3, "forbidden")
    assert f"<#{channel_id}>" in note
    assert "Send Messages" in note
    assert story.announcements() == []

    story.discord_.let_bot_post(channel_id, allowed=True)
    await story.until(ANNOUNCED + dt.timedelta(hours=4))
    assert story.announcements() == [ANNOUNCED + dt.timedelta(hours=3)]
    assert len(story.notes()) == 1


async def test_after_a_server_error_the_announcement_is_sent_once_and_never_lost(story: Story) -> None:
    story.discord_.env.inject_error("POST", "/channels/*/messages", status=502)

    await story.until(ANNOUNCED + dt.timedelta(minutes=5))

    # Nobody knew, the history said no a minute later, and the next poll sent it.
    (sent,) = story.announcements()
    assert ANNOUNCED + dt.timedelta(seconds=60) <= sent <= ANNOUNCED + dt.timedelta(seconds=90)


async def test_an_announcement_that_arrived_without_an_answer_is_found_and_not_sent_again(
    story: Story, monkeypatch: pytest.MonkeyPatch
) -> None:
    http = story.discord_.bot.http
    original, cut = http.request, 0

    async def _cut_after_the_first_message(route: Any, **kwargs: Any) -> Any:  # noqa: ANN401 -- the library's own
        nonlocal cut
        answer = await original(route, **kwargs)
        if route.method == "POST" and not cut:
            cut += 1
            # simcord's transport has no trace; what a real cut leaves open, a 5xx does here.
            story.discord_.env.inject_error("POST", "/channels/*/messages", status=502)
            return await original(route, **kwargs)
        return answer

    monkeypatch.setattr(http, "request", _cut_after_the_first_message)

    await story.until(ANNOUNCED + dt.timedelta(minutes=5))

    event = await Event.get()
    assert cut == 1
    assert story.announcements() == [ANNOUNCED]
    assert event.announcement_message_id == story.discord_.messages()[0].id
