"""How the demo tells what becomes visible: a line for each message, and how many there were."""

import datetime as dt
from collections import Counter

from bot.demo.sightings import Sighting


def moment(at: dt.datetime) -> str:
    """Return a moment as the demo writes it."""
    return f"{at:%a %d %b %H:%M:%S} UTC"


def line(sighting: Sighting) -> str:
    """Return one message as a line: when, where or to whom, what, and whom it pings."""
    text = " ".join(sighting.title.split())
    where = f"#{sighting.channel}" if sighting.recipient is None else f"DM to {sighting.recipient}"
    about = text
    if sighting.occurrence is not None:
        about = f'"{text}" on {sighting.occurrence:%a %d %b %H:%M} UTC'
    pings = f", pings {', '.join(sighting.names)}" if sighting.names else ""
    return f"{moment(sighting.at)}  {where}  {sighting.kind}: {about}{pings}"


def aside(at: dt.datetime, what: str) -> str:
    """Return a line on what happens around the bot."""
    return f"{moment(at)}  -- {what}"


class Tally:
    """Counts what was told."""

    def __init__(self) -> None:
        self._seen: Counter[tuple[str, int]] = Counter()

    def add(self, sighting: Sighting) -> None:
        """Count one message."""
        self._seen[sighting.key] += 1

    @property
    def messages(self) -> int:
        """How many messages became visible."""
        return self._seen.total()

    def closing(self) -> str:
        """Return the closing count."""
        twice = sum(1 for times in self._seen.values() if times > 1)
        plural = "" if self.messages == 1 else "s"
        return f"{self.messages} message{plural} became visible, {twice} of them twice."
