"""How the demo tells what becomes visible: a line for each message and each change of the list of events; a count."""

import datetime as dt
from collections import Counter

from bot.demo.listed import Change, Listed
from bot.demo.sightings import Sighting

_NOW_LISTED = {
    Change.ADDED: 'now has "{name}" on {begins} UTC',
    Change.RESCHEDULED: 'moves "{name}" to {begins} UTC',
    Change.STARTED: 'shows "{name}" as running',
    Change.ENDED: 'shows "{name}" as over',
    Change.REMOVED: 'no longer has "{name}"',
    Change.EDITED: 'shows "{name}" with new words',
}


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


def listed_line(listed: Listed) -> str:
    """Return one change of the server's own list of events as a line."""
    says = _NOW_LISTED[listed.change].format(name=listed.name, begins=f"{listed.begins:%a %d %b %H:%M}")
    return f"{moment(listed.at)}  The server's list of events {says}"


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
