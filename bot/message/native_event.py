"""What is to stand in a server's own list of scheduled events: a plain value, like an outgoing message."""

import datetime as dt
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from bot.message import limits
from bot.message.outgoing import MessageLimitError

NAME: Final = 100
DESCRIPTION: Final = 1_000
LOCATION: Final = 100
"""Discord's limits; source: its description of the API, ``ExternalScheduledEventCreateRequest``."""


class NativeStatus(StrEnum):
    """Where a scheduled event stands at Discord, in its own words."""

    SCHEDULED = "scheduled"
    ACTIVE = "active"
    COMPLETED = "completed"
    CANCELED = "canceled"


LIVE: Final = frozenset({NativeStatus.SCHEDULED, NativeStatus.ACTIVE})
"""Those that members see, and that count towards Discord's limit."""


@dataclass(frozen=True, slots=True)
class NativeState:
    """Where a scheduled event stands at Discord, and how many members are interested in it."""

    status: NativeStatus
    interested: int = 0


@dataclass(frozen=True, slots=True)
class NativeEvent:
    """
    One scheduled event of a server, whole.

    ``marker`` is a line of the description, and what the server's list is searched for: nothing else tells it from
    another. ``version`` counts the changes of the row that it was made from, ``lost`` how often somebody deleted it.

    Raises:
        MessageLimitError: a part is longer than Discord takes, or empty where it takes nothing empty.
    """

    marker: str
    name: str
    description: str
    location: str
    starts_at: dt.datetime
    ends_at: dt.datetime
    version: int = 0
    lost: int = 0

    def __post_init__(self) -> None:
        """Check every limit once, where the value is made."""
        parts = (("name", self.name, NAME), ("description", self.description, DESCRIPTION))
        for part, text, limit in (*parts, ("location", self.location, LOCATION)):
            if not 0 < limits.length(text) <= limit:
                raise MessageLimitError(part, limits.length(text), limit)

    def shown(self) -> dict[str, str]:
        """Return what members see of it, by name, as JSON values."""
        return {
            "name": self.name,
            "description": self.description,
            "location": self.location,
            "starts_at": self.starts_at.isoformat(),
            "ends_at": self.ends_at.isoformat(),
        }

    def as_data(self) -> dict[str, object]:
        """Return what Discord is told when it is made, as JSON values for the message log and the event's row."""
        return {
            "marker": self.marker,
            "version": self.version,
            "lost": self.lost,
            "status": NativeStatus.SCHEDULED.value,
            **self.shown(),
        }


@dataclass(frozen=True, slots=True)
class NativeChange:
    """What of a scheduled event is to be changed; None: it stays as it is."""

    name: str | None = None
    description: str | None = None
    location: str | None = None
    starts_at: dt.datetime | None = None
    ends_at: dt.datetime | None = None
    status: NativeStatus | None = None

    @property
    def is_empty(self) -> bool:
        """Whether nothing is to be changed."""
        return self == NativeChange()
