"""
The second part of the story: an event with few places that also stands in the server's own list of events.

A place becomes free and is held for the first in line, who lets the time run out; the next one accepts. The event is
moved to another time, gets one place more, begins and ends.
"""

import datetime as dt
from typing import Final

from bot.demo.narrator import Narrator
from bot.leases.keys import PROMOTION
from bot.reminders import markers
from models.event import Event

_NAME: Final = "Dragon hunt"
_MADE: Final = dt.datetime(2026, 3, 7, 10, 0, tzinfo=dt.UTC)
_BEGINS: Final = dt.datetime(2026, 3, 7, 20, 0, tzinfo=dt.UTC)
_OVER: Final = dt.datetime(2026, 3, 7, 22, 30, tzinfo=dt.UTC)
_A_LITTLE: Final = dt.timedelta(minutes=5)
_HELD_FOR: Final = dt.timedelta(hours=1)


class Hunt:
    """The telling of one Saturday."""

    def __init__(self, narrator: Narrator) -> None:
        self._narrator = narrator
        self._life = narrator.life
        self._event_id = 0

    async def tell(self) -> None:
        """Tell all of it, from where the life stands."""
        await self._life.run_until(_MADE)
        await self.a_full_event_in_the_servers_own_list()
        await self.a_place_that_becomes_free()
        await self.another_time()
        await self.one_place_more()
        await self.beginning_and_end()

    async def a_full_event_in_the_servers_own_list(self) -> None:
        """The admin makes an event for two, which is listed; four want to come."""
        self._narrator.narrate(
            "Next is a hunt for two, also in the server's own list; a place that becomes free is held for an hour."
        )
        await self._narrator.command(
            "event create",
            "Create",
            name=_NAME,
            when="today 8pm",
            places=2,
            offer_minutes=_HELD_FOR // dt.timedelta(minutes=1),
            native_event=True,
        )
        event = await Event.filter(name=_NAME).first()
        assert event is not None  # noqa: S101 -- it was just made
        self._event_id = event.id
        await self._pass(_A_LITTLE)
        for player in ("ada", "brook", "dale", "ember"):
            await self._press(player, "Sign up", markers.ANNOUNCEMENT)

    async def a_place_that_becomes_free(self) -> None:
        """A place is held for the first in line until the time is up, then for the next one, who takes it."""
        await self._pass(_A_LITTLE)
        await self._press("brook", "Can't", markers.ANNOUNCEMENT)
        await self._pass(_A_LITTLE)
        self._read("dale")
        await self._pass(_HELD_FOR)
        self._narrator.narrate("dale did not answer in time: the place is held for the next one.")
        await self._press("ember", "Accept", PROMOTION)

    async def another_time(self) -> None:
        """The admin moves the event; those who come or wait are told, and the list shows it."""
        await self._pass(_A_LITTLE)
        await self._narrator.command("event move", "Move the event", event=str(self._event_id), when="today 9pm")
        await self._pass(_A_LITTLE)

    async def one_place_more(self) -> None:
        """With a third place, and nobody asked first any more, who waits moves up at once."""
        self._narrator.narrate("A third place is added, and nobody is asked first any more.")
        await self._narrator.command("event edit", "Change it", event=str(self._event_id), places=3, offer_minutes=0)
        await self._pass(_A_LITTLE)
        self._read("dale")

    async def beginning_and_end(self) -> None:
        """The event begins and ends by itself, in the list too."""
        await self._life.run_until(_BEGINS + _A_LITTLE)
        await self._life.run_until(_OVER)
        self._narrator.narrate("The hunt is over.")

    async def _pass(self, span: dt.timedelta) -> None:
        await self._life.run_until(self._life.now() + span)

    async def _press(self, player: str, label: str, kind: str) -> None:
        await self._narrator.press(player, label, kind, self._event_id)

    def _read(self, player: str) -> None:
        self._narrator.read(player, PROMOTION, self._event_id)
