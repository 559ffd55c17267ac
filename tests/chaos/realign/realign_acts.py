"""What may befall a series and its events, in any order: the acts of an admin, time, and the end of a process."""

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from hypothesis import strategies as st

from models.states import Frequency


class Kind(StrEnum):
    """What happens."""

    EDIT = "edit"
    EDIT_AND_UNDO = "edit and undo"
    EDIT_WHILE_SENDING = "edit while sending"
    EDIT_STALE = "edit what was edited meanwhile"
    PAUSE = "pause"
    RESUME = "resume"
    SKIP = "skip"
    RETURN = "let return"
    MOVE = "move"
    CANCEL = "cancel"
    EXTRA = "extra"
    OPEN = "open the sign-ups"
    TICK = "tick"
    CRASH_BEFORE = "crash before Discord has it"
    CRASH_AFTER = "crash after Discord has it"


@dataclass(frozen=True, slots=True)
class Act:
    """One thing that happens; ``pick`` chooses which of what there is."""

    kind: Kind
    pick: int

    def of(self, choices: Sequence[object]) -> object:
        """Return the one of the choices that is meant."""
        return choices[self.pick % len(choices)]

    def __str__(self) -> str:
        return f"{self.kind} {self.pick}"


START: Final = dt.datetime(2026, 3, 22, 12, 0, tzinfo=dt.UTC)
"""A week before Europe's clocks change."""

_TODAY = START.date()
_WEEK = dt.timedelta(days=7)
_WEEKLY = {"frequency": Frequency.WEEKLY, "interval": 1}

EDITS: Final[tuple[Mapping[str, object], ...]] = (
    {**_WEEKLY, "day_of_week": "TU"},
    {**_WEEKLY, "day_of_week": "TU,TH"},
    {**_WEEKLY, "day_of_week": "MO,TU,WE,TH,FR,SA,SU"},
    {**_WEEKLY, "interval": 2, "day_of_week": "SU"},
    {"frequency": Frequency.DAILY, "interval": 1, "day_of_week": None},
    {"frequency": Frequency.DAILY, "interval": 3, "day_of_week": None},
    {"frequency": Frequency.MONTHLY, "interval": 1, "day_of_week": "-1SU"},
    {"time_of_day": "19:00"},
    {"time_of_day": "01:30"},
    {"time_of_day": "02:30"},
    {"timezone": "America/New_York"},
    {"timezone": "Europe/London"},
    {"timezone": "Europe/Jersey"},
    {"timezone": "Europe/Dublin"},
    {"starts_at": _TODAY + _WEEK},
    {"starts_at": _TODAY - 12 * _WEEK, "ends_at": None},
    {"ends_at": _TODAY + dt.timedelta(days=3)},
    {"ends_at": _TODAY - _WEEK, "starts_at": _TODAY - 12 * _WEEK},
    {"ends_at": None},
    {"discord_announcement_hours": 1},
    {"discord_announcement_hours": 100},
    {"discord_announcement": False},
    {"discord_announcement": True},
    {"signup_opens_hours": 90},
    {"name": "Another name"},
    {"generate_days_ahead": 3},
)
"""What an admin gives to one edit."""

TICKS: Final = tuple(dt.timedelta(minutes=minutes) for minutes in (1, 10, 61, 300, 1440, 2880))
PAUSES: Final = tuple(dt.timedelta(seconds=seconds) for seconds in (1, 20, 75, 400))
"""How long a process that ended takes to come back."""

_OFTEN = (Kind.EDIT, Kind.EDIT, Kind.EDIT, Kind.TICK, Kind.TICK, Kind.CRASH_BEFORE, Kind.CRASH_AFTER)
_ACT = st.builds(Act, st.sampled_from((*Kind, *_OFTEN)), st.integers(0, 999))

SEQUENCES = st.lists(_ACT, min_size=4, max_size=10)
