"""The course of one event over a day: how its row stood at each moment, and the state that time and admins gave it."""

import datetime as dt

from tests.chaos.days.day_record import Facts
from tests.chaos.days.day_rows import EventRow, Fact
from tests.chaos.days.day_troubles import CLOCKS_APART

GONE = "deleted"
_HELD = {"signups_open", "roll_call", "cancelled"}


class Course:
    """One event; its row is known from its first sight on, and each change with its moment."""

    def __init__(self, facts: Facts, event_id: int) -> None:
        self.id = event_id
        self.fact: Fact = ("event", event_id, 0)
        self._facts = facts
        self.rows: list[tuple[dt.datetime, EventRow | None]] = facts.history(self.fact)

    @property
    def versions(self) -> list[tuple[dt.datetime, EventRow]]:
        """How the row stood from when on, for as long as there was one."""
        return [(since, row) for since, row in self.rows if row is not None]

    @property
    def last(self) -> EventRow | None:
        """The row at the end, None: it was deleted."""
        return self.rows[-1][1]

    def row(self, at: dt.datetime) -> EventRow | None:
        """Return the row at a moment."""
        row: EventRow | None = self._facts.at(self.fact, at)
        return row

    def state(self, at: dt.datetime, by_bot: dt.datetime) -> str:
        """Return the state at a moment: time moves it by the bot's clock, admins by their own acts."""
        row = self.row(at)
        if row is None:
            return GONE
        if row.state == "upcoming":
            state = "signups_open" if by_bot >= row.opens_at - CLOCKS_APART else "upcoming"
        else:
            state = row.state if row.state in _HELD else "in_progress"
        return state if state == "cancelled" or by_bot < row.starts_at else "in_progress"

    def starts_at(self, at: dt.datetime) -> dt.datetime:
        """Return when it was to start, as things stood; of one that is gone, when it went."""
        row = self.row(at)
        return row.starts_at if row is not None else at
