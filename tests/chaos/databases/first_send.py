"""How long after a database is back the first message of those that waited goes out."""

import datetime as dt
import time
from dataclasses import dataclass

from bot.message.outgoing import OutgoingMessage
from tests.chaos.databases.database_world import World
from tests.chaos.proof import Figures

OWN_TIME, REAL_TIME = "first send", "first send, really"
"""The samples of the time to the first send: by the bot's own clock, and what the machine needed besides."""
WAITING = (
    "SELECT COUNT(*) FROM reminder_due d JOIN event e ON e.id = d.event_id WHERE d.key = 'announcement'"
    " AND d.due_at <= {moment} AND e.state = 'upcoming' AND e.name LIKE 'Load%' AND NOT EXISTS (SELECT 1"
    " FROM discord_message_log l WHERE l.source = 'event_announcement' AND l.source_id = e.id)"
)
"""How many announcements of the load waited at a ``moment``: the parameter as a database spells it."""


@dataclass(slots=True)
class FirstSend:
    """Takes the time of one outage of one world."""

    world: World
    took: tuple[float, float] | None = None
    _back: tuple[dt.datetime, float] | None = None

    def await_one(self) -> None:
        """Begin: the database is back, and something waits."""
        self._back = (self.world.clock.now(), time.monotonic())
        self.world.discord.before_send = self._sent

    async def _sent(self, _message: OutgoingMessage) -> None:
        if self._back is not None:
            by_clock = (self.world.clock.now() - self._back[0]).total_seconds()
            self.took = by_clock, time.monotonic() - self._back[1]
        self._back = self.world.discord.before_send = None

    def count(self, figures: Figures) -> None:
        """Keep both times, where something waited."""
        if self.took is not None:
            figures.sample(OWN_TIME, self.took[0])
            figures.sample(REAL_TIME, self.took[1])
