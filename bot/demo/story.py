"""
``tocsin demo --story``: days of the demo's guild in a few seconds, and every visible message is told as a line.

What happens on the way is what a bot has to live through: the process dies right after Discord took a message, a
moderator deletes the post, Discord is down when a reminder is due, a player takes no direct messages. Then comes what
people live through, see :mod:`bot.demo.hunt`.
"""

import datetime as dt
from typing import Final

from bot.demo import bell_tower
from bot.demo.crashes import PlannedCrash
from bot.demo.faults import Outage
from bot.demo.hunt import Hunt
from bot.demo.life import temporary_database
from bot.demo.narrator import Narrator
from bot.leases.keys import ATTENDANCE_POST, EVENT_REPOST
from bot.reminders import markers
from models.event import Event

_ANNOUNCED: Final = dt.datetime(2026, 3, 5, 18, 30, tzinfo=dt.UTC)
_SIGN_UP_REMINDER: Final = dt.datetime(2026, 3, 6, 6, 30, tzinfo=dt.UTC)
_PROFILE_REMINDER: Final = dt.datetime(2026, 3, 6, 12, 30, tzinfo=dt.UTC)
_ROLL_CALL: Final = dt.datetime(2026, 3, 6, 16, 30, tzinfo=dt.UTC)
_NEXT_DAY: Final = dt.datetime(2026, 3, 7, 0, 0, tzinfo=dt.UTC)
_A_LITTLE: Final = dt.timedelta(minutes=5)


class Raid:
    """The telling of the first part: one evening of the series."""

    def __init__(self, narrator: Narrator) -> None:
        self._narrator = narrator
        self._life = narrator.life
        self._event_id = 0

    async def tell(self) -> None:
        """Tell all of it, from the beginning of the life."""
        await self.announcement_and_a_death()
        await self.sign_ups_and_a_deleted_post()
        await self.a_reminder_in_an_outage()
        await self.a_closed_door()
        await self.roll_call_and_another_death()

    async def announcement_and_a_death(self) -> None:
        """The raid is announced; the process dies at that very moment, and the next one does not post it again."""
        await self._life.begin()
        self._life.plan_crash(PlannedCrash(_ANNOUNCED, accepted=True))
        event = await Event.filter(series_id=self._life.series_id).order_by("scheduled_at").first()
        assert event is not None  # noqa: S101 -- it was generated with the series
        self._event_id = event.id
        self._narrator.narrate("The Bell Tower raids on Fridays at 19:30 in Berlin. The bot has just been started.")
        await self._life.run_until(_ANNOUNCED + _A_LITTLE)
        self._narrator.narrate(
            "The bot died right after Discord took a message; it comes back and does not know of it."
        )
        await self._life.restart()
        await self._life.run_until(_ANNOUNCED + dt.timedelta(minutes=10))

    async def sign_ups_and_a_deleted_post(self) -> None:
        """People sign up by the buttons; the post is deleted, and comes back once at the next change."""
        for player, label in (("ada", "Sign up"), ("brook", "Sign up"), ("cyan", "Sign up"), ("dale", "Maybe")):
            await self._press(player, label, markers.ANNOUNCEMENT)
        await self._press("ember", "Notify me", markers.ANNOUNCEMENT)
        await self._press("dale", "Notify me", markers.ANNOUNCEMENT)
        await self._life.run_until(self._life.now() + _A_LITTLE)
        await self._lose_the_post()
        await self._press("brook", "Maybe", EVENT_REPOST)
        await self._press("brook", "Sign up", EVENT_REPOST)

    async def _lose_the_post(self) -> None:
        event = await Event.get(id=self._event_id)
        assert event.announcement_channel_id is not None  # noqa: S101 -- it was announced
        assert event.announcement_message_id is not None  # noqa: S101
        await self._press("dale", "Can't", markers.ANNOUNCEMENT)
        self._life.world.delete_message(event.announcement_channel_id, event.announcement_message_id)
        self._narrator.narrate("A moderator deletes the post by mistake, just before the bot edits it.")
        await self._life.run_until(self._life.now() + _A_LITTLE)

    async def a_reminder_in_an_outage(self) -> None:
        """Discord is down when the sign-up reminder is due; each subscriber without a place gets it once, later."""
        await self._life.run_until(_SIGN_UP_REMINDER)
        self._narrator.narrate("Discord answers nothing but 503 for a minute, just when the sign-up reminder is due.")
        self._life.faults.plan_outage(Outage(_SIGN_UP_REMINDER, _SIGN_UP_REMINDER + dt.timedelta(minutes=1)))
        await self._life.run_until(_SIGN_UP_REMINDER + dt.timedelta(minutes=10))
        await self._press("ember", "Sign up", markers.SIGNUP_REMINDER)

    async def a_closed_door(self) -> None:
        """Those without a profile are asked for it; who takes no direct messages is named in the channel."""
        await self._life.run_until(_PROFILE_REMINDER - _A_LITTLE)
        self._close_dms("cyan")
        await self._life.run_until(_PROFILE_REMINDER + _A_LITTLE)

    def _close_dms(self, player: str) -> None:
        self._life.faults.close_dms(self._life.place.player_ids[bell_tower.PLAYERS.index(player)])
        self._narrator.narrate(f"{player} closes their direct messages.")

    async def roll_call_and_another_death(self) -> None:
        """The bot dies again in the middle of the roll call, and asks nobody twice."""
        self._life.plan_crash(PlannedCrash(_ROLL_CALL + dt.timedelta(milliseconds=300), accepted=True))
        await self._life.run_until(_ROLL_CALL + _A_LITTLE)
        self._narrator.narrate("It died in the middle of the roll call, with a message just taken; it comes back.")
        await self._life.restart()
        await self._life.run_until(_ROLL_CALL + dt.timedelta(minutes=15))
        await self._press("ada", "I'll be there", markers.ATTENDANCE_REMINDER)
        await self._press("cyan", "Can't make it", ATTENDANCE_POST)
        await self._life.run_until(_NEXT_DAY)
        self._narrator.narrate("The raid is over.")

    async def _press(self, player: str, label: str, kind: str) -> None:
        await self._narrator.press(player, label, kind, self._event_id)


async def tell_story() -> None:
    """Tell the story and close it with a count; leaves nothing behind."""
    async with temporary_database():
        narrator = Narrator()
        try:
            await Raid(narrator).tell()
            await Hunt(narrator).tell()
        finally:
            await narrator.life.end()
        print(narrator.closing(), flush=True)
