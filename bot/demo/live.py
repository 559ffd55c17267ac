"""
``tocsin demo``: the guild lives in real time, on a page and in the terminal, until Ctrl-C.

The world's time runs with the visitor's, in short steps, and faster at their word. Everything is done one after the
other: what was typed, then what is due, then the page.
"""

import asyncio
import datetime as dt
import signal
import sys
from collections.abc import Callable
from typing import Final

from bot.client import COMMAND_COGS
from bot.demo import bell_tower, telling, terminal
from bot.demo.life import Life, temporary_database
from bot.demo.page import Page, open_browser
from bot.demo.sightings import Sighting
from bot.demo.typed_lines import TypedLines
from bot.demo.visitor import Visitor
from bot.events.signups.rules import Press
from bot.events.subscriptions import subscribe
from models.event import Event

_STEP_SECONDS: Final = 0.25
# Closed at the start, its number may be that of any other file by now.
_NO_INPUT: Final = -1
_SUBSCRIBED: Final = ("brook", "ember")
_COMING: Final = ("cyan", "dale")
_TO_TRY: Final = """\
Five things to try:
  1. Press Sign up on the page; "Viewing as" makes you somebody else, also the admin, who has more slash commands.
  2. Type next, and again: the reminders go out, one after the other.
  3. Type view brook: the page shows what brook gets directly; view announcements goes back.
  4. Type close cyan before the reminder of the profiles: the channel asks cyan instead.
  5. Type down next, then next: Discord is down just then. Type restart: the bot is killed. Nothing comes twice.

All commands:
"""


class LiveDemo:
    """One visit to the guild; ``say`` gets each line for the terminal, ``told`` counts the messages among them."""

    def __init__(self, *, say: Callable[[str], None]) -> None:
        self.say = say
        self._stopped = asyncio.Event()
        self.told = telling.Tally()
        self.life = Life(
            bell_tower.START,
            tell=self._tell,
            tell_listed=lambda listed: self.say(telling.listed_line(listed)),
            extensions=COMMAND_COGS,
            is_stopped=self._stopped.is_set,
        )
        self._page: Page | None = None

    @property
    def page(self) -> Page:
        """The page, once it is open."""
        assert self._page is not None  # noqa: S101 -- begin() opened it
        return self._page

    @property
    def is_stopped(self) -> bool:
        """Whether the visit is to end."""
        return self._stopped.is_set()

    def stop(self) -> None:
        """Let the visit end soon."""
        self._stopped.set()

    async def begin(self) -> None:
        """Found the guild, let its people do what they do, and open the page."""
        await self.life.begin()
        await self.life.run_until(self.life.now() + dt.timedelta(seconds=1))
        await self._let_people_in()
        self._page = Page(self.life.world, self.life.place)
        await self.page.show(bell_tower.CHANNELS[0])

    async def _let_people_in(self) -> None:
        guild_id, now = self.life.place.guild_id, self.life.now()
        ids = dict(zip(bell_tower.PLAYERS, self.life.place.player_ids, strict=True))
        for name in _SUBSCRIBED:
            await subscribe(self.life.series_id, guild_id=guild_id, user_id=ids[name], now=now)
        event = await Event.filter(series_id=self.life.series_id).order_by("scheduled_at").first()
        assert event is not None  # noqa: S101 -- it was generated with the series
        for name in _COMING:
            await self.life.services.signups.press(
                Press.SIGN_UP, event.id, guild_id=guild_id, user_id=ids[name], role_ids=frozenset(), now=now
            )

    def visitor(self) -> Visitor:
        """Return who carries out what is typed."""
        return Visitor(self.life, self.page, say=self.say, sent=lambda: self.told.messages, leave=self.stop)

    async def live(self, lines: TypedLines) -> None:
        """Do what is typed and let time pass, until stopped."""
        visitor = self.visitor()
        clock = asyncio.get_running_loop().time
        before = clock()
        while not self.is_stopped:
            line = await lines.next(within=_STEP_SECONDS)
            if line is not None:
                await visitor.do(line)
                before = clock()
                continue
            now = clock()
            await self.life.run_until(self.life.now() + dt.timedelta(seconds=now - before))
            before = now
            await self.page.follow()

    def _tell(self, sighting: Sighting) -> None:
        self.told.add(sighting)
        self.say(telling.line(sighting))

    async def end(self) -> None:
        """Close the page and end the bot."""
        if self._page is not None:
            await self._page.close()
        await self.life.end()


def _print(text: str) -> None:
    print(text, flush=True)


async def visit() -> None:
    """Let a visitor live with the guild until Ctrl-C; leaves nothing behind."""
    async with temporary_database():
        demo = LiveDemo(say=_print)
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, demo.stop)
        try:
            await demo.begin()
            _print(f"The announcement channel as a player sees it: {demo.page.address}\n\n{_TO_TRY}{terminal.HELP}\n")
            _print("Ctrl-C ends the demo; nothing is left behind.\n")
            open_browser(demo.page.address)
            lines = TypedLines(sys.stdin.fileno() if sys.stdin is not None else _NO_INPUT)
            lines.start()
            await demo.live(lines)
        finally:
            await demo.end()
        _print(demo.told.closing())
