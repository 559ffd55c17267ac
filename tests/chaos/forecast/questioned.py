"""Why: whoever is said to be told is told, nobody else is, and everybody else is given a reason of their own."""

import datetime as dt
import random

from bot.reminders.lots import Lot
from bot.reminders.why import explain
from bot.scheduling.registry import REMINDERS
from models.discord_message_log import DiscordMessageLog
from models.event import Event
from models.states import AHEAD
from tests.builders import GUILD
from tests.chaos.forecast.guild_story import PEOPLE, GuildStory

_SOURCES = {entry.log_source: entry.key for entry in REMINDERS if entry.to_people}
# Each is asked about twice, which costs more than the window itself.
_ASKED_ABOUT = 4
_Told = set[tuple[str, int]]


class Questioned:
    """One event of a story: of whom it is said before the window that they are told, and of whom after it."""

    def __init__(self, story: GuildStory, seed: int, events: list[Event], end: dt.datetime) -> None:
        chance = random.Random(seed)
        self.told = 0
        self._story = story
        self._event = chance.choice(events) if events else None
        self._people = chance.sample(PEOPLE, _ASKED_ABOUT)
        self._end = end
        self._before: _Told = set()
        self._faults: list[str] = []

    @classmethod
    async def of(cls, story: GuildStory, seed: int, end: dt.datetime) -> "Questioned":
        """Ask about some people at one of the events that are ahead."""
        events = await Event.filter(state__in=AHEAD, scheduled_at__gt=story.now).order_by("id")
        if GUILD in story.discord.unavailable:
            events = []  # of which the rows know nothing
        asked = cls(story, seed, events, end)
        asked._before = await asked._said()
        return asked

    async def _said(self) -> _Told:
        if self._event is None:
            return set()
        said: _Told = set()
        event = await Event.get(id=self._event.id)
        for person in self._people:
            for one in await explain(event, now=self._story.now, person=person):
                if one.personal is None:
                    continue
                will_be = one.personal.lot is Lot.WILL_BE_TOLD and one.comes.at < self._end
                if one.personal.lot is Lot.TOLD or will_be:
                    said.add((one.entry.key, person))
                if one.personal.lot in {Lot.NOT_MEANT, Lot.FAILED, Lot.UNDER_WAY}:
                    self._faults.append(f"{one.entry.key}: {person} {one.personal.lot}")
        return said

    async def compared(self) -> list[str]:
        """Return where what was said differs from what then happened, or from what is said now."""
        if self._event is None:
            return []
        rows = await DiscordMessageLog.filter(
            source__in=list(_SOURCES), source_id=self._event.id, recipient_id__in=self._people, claimed_at__lt=self._end
        )
        told = {(_SOURCES[row.source], row.recipient_id) for row in rows}
        self.told = len(told)
        after = await self._said()
        found = [f"said to be told, and were not: {one}" for one in sorted(self._before - told)]
        found += [f"told without a word of it: {one}" for one in sorted(told - self._before)]
        return self._faults + found + [f"told, and it is not said: {one}" for one in sorted(told - after)]
