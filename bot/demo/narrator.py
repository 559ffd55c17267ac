"""Who tells a story: each line as it comes, of the bot's messages, of the list of events and of what people do."""

from typing import Any, Final

from bot.client import COMMAND_COGS
from bot.demo import bell_tower, pressing, telling
from bot.demo.life import Life
from bot.demo.listed import Listed
from bot.demo.sightings import Sighting


class Narrator:
    """Prints what happens in the life of the demo's guild, which it leads; ``life`` is where time passes."""

    def __init__(self) -> None:
        self._told: Final = telling.Tally()
        self.life: Final = Life(
            bell_tower.START, tell=self._tell, tell_listed=self._tell_listed, extensions=COMMAND_COGS
        )

    def _tell(self, sighting: Sighting) -> None:
        self._told.add(sighting)
        print(telling.line(sighting), flush=True)

    @staticmethod
    def _tell_listed(listed: Listed) -> None:
        print(telling.listed_line(listed), flush=True)

    def narrate(self, what: str) -> None:
        """Print a line on what happens around the bot."""
        print(telling.aside(self.life.now(), what), flush=True)

    async def press(self, player: str, label: str, kind: str, event_id: int) -> None:
        """Let a player press a button of a kind of message about an event, and tell what they read."""
        said = await pressing.press(self.life, player, label, kind, event_id)
        self.narrate(f'{player} presses {label} and reads: "{said}"')

    def read(self, player: str, kind: str, event_id: int) -> None:
        """Tell what a player reads in the newest message of a kind about an event."""
        self.narrate(f'{player} reads: "{pressing.read(self.life, player, kind, event_id)}"')

    async def command(self, name: str, label: str, /, **options: Any) -> None:  # noqa: ANN401 -- of any of Discord's kinds
        """Let the admin use a command and press a button of what it shows, and tell what they read at the end."""
        said = await pressing.command(self.life, name, label, **options)
        self.narrate(f'{bell_tower.ADMIN} uses /{name}, presses {label} and reads: "{said}"')

    def closing(self) -> str:
        """Return the closing count."""
        return self._told.closing()
