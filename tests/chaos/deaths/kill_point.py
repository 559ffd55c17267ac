"""
What a point of the kill matrix is: a place in the life of a process, and what led to it.

The words of the places are those of :mod:`tests.chaos.deaths.crash_points`.
"""

import datetime as dt
from dataclasses import dataclass
from signal import SIGKILL, SIGSTOP

from tests.chaos.deaths.crash_points import Step
from tests.chaos.deaths.kill_stories import Story


@dataclass(frozen=True, slots=True)
class Point:
    """
    One named point; ``place``: where the process dies.

    ``after``: it is the successor that dies, of a process that died there; ``pause``: how long after, None: by chance
    of the seed. ``stops``: the process is told to stop in the middle of its work. ``most``: up to which passing of the
    place, by chance of the seed. ``hangs``: the process is not killed but stands still, and wakes while its successor
    reads the history. ``story``: what the world has beside what every world has.
    """

    name: str
    place: str
    after: str | None = None
    pause: dt.timedelta | None = None
    stops: bool = False
    most: int = 1
    hangs: bool = False
    story: type[Story] | None = None

    def step(self, nth: int) -> Step:
        """Return what befalls the process."""
        return Step((self.place,), nth, SIGSTOP if self.hangs else SIGKILL)

    @property
    def once_awake(self) -> Step:
        """What a process that hung dies at: whatever becomes of the attempt that it was at."""
        return Step((f"accepted: {self.kind}", f"reported: {self.kind}", "swept"))

    @property
    def kind(self) -> str:
        """The kind of message that the place is about."""
        return self.place.rpartition(": ")[2]
