"""What happened in a run, line by line, and a hash of it: the same seed replays to the same one."""

import datetime as dt
import hashlib
from collections.abc import Callable


class Trace:
    """
    Everything that happened, with the world's time; ``now`` tells it.

    What is random by nature (instances, lease tokens) has no place in it.
    """

    def __init__(self, now: Callable[[], dt.datetime]) -> None:
        self._now = now
        self.lines: list[str] = []

    def add(self, what: str) -> None:
        """Write down what happens now."""
        self.lines.append(f"{self._now().isoformat()} {what}")

    def hash(self) -> str:
        """Return what tells this run from any other."""
        return hashlib.sha256("\n".join(self.lines).encode()).hexdigest()[:16]
