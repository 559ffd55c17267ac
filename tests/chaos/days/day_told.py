"""
Direct messages that an act brings about: the new time of an event, and that somebody moved up or is offered a place.

Each goes once per person and new time, or per person and time that they moved up: to whom it was meant for then, and
for as long as that stays so. Each has its own number.
"""

import datetime as dt
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from bot.leases.keys import PROMOTION, TIME_CHANGED
from tests.chaos.days.day_course import Course
from tests.chaos.days.day_record import Facts

if TYPE_CHECKING:
    from tests.chaos.days.day_rows import Fact

_OPEN: Final = {"signups_open", "roll_call"}
_ATTENDING: Final = {"signed_up", "confirmed"}
_MAY_COME: Final = {*_ATTENDING, "tentative", "waitlisted"}


@dataclass(frozen=True, slots=True)
class Notice:
    """One such message: its kind, its number, and who gets it."""

    kind: str
    part: int
    who: int


@dataclass(frozen=True, slots=True)
class Owed:
    """One message that is to go from ``begins`` on, up to ``ends``, by which it is not wanted any more."""

    notice: Notice
    begins: dt.datetime
    ends: dt.datetime


def is_told(facts: Facts, course: Course, notice: Notice, at: dt.datetime) -> bool:
    """Return whether somebody is to hear of this new time, or of having moved up so often, as things stand."""
    row = course.row(at)
    if row is None:
        return False
    said = facts.at(("signup", course.id, notice.who), at)
    if notice.kind == TIME_CHANGED:
        is_on = not is_silent(facts, TIME_CHANGED, row.series_id, notice.who, at)
        return is_on and row.changes == notice.part and said in _MAY_COME
    count, until = facts.at(("moved_up", course.id, notice.who), at) or (0, None)
    has_offer = said == "waitlisted" and until is not None and until > at
    return count == notice.part and (said in _ATTENDING or has_offer)


def is_silent(facts: Facts, kind: str, series_id: int | None, who: int, at: dt.datetime) -> bool:
    """Return whether somebody wants no such message, or none about the series."""
    off = facts.at(("silent", who, 0), at) or frozenset()
    return kind in off or series_id in off


def owed(facts: Facts, course: Course, user_ids: tuple[int, ...]) -> Iterator[Owed]:
    """Return every message that an event's new times, and those who moved up there, bring about."""
    counted = 0
    for since, row in course.versions:
        if row.changes > counted:
            counted = row.changes
            for who in user_ids:
                yield from _owed(facts, course, Notice(TIME_CHANGED, counted, who), since)
    for who in user_ids:
        counted = 0
        for since, moved_up in facts.history(("moved_up", course.id, who)):
            if moved_up is not None and moved_up[0] > counted:
                counted = moved_up[0]
                yield from _owed(facts, course, Notice(PROMOTION, counted, who), since)


def _owed(facts: Facts, course: Course, notice: Notice, begins: dt.datetime) -> Iterator[Owed]:
    def _holds(at: dt.datetime) -> bool:
        return course.state(at, at) in _OPEN and is_told(facts, course, notice, at)

    if not _holds(begins):
        return
    who = notice.who
    about: list[Fact] = [course.fact, ("signup", course.id, who), ("moved_up", course.id, who), ("silent", who, 0)]
    ends = {*facts.changes(about), *(row.starts_at for _, row in course.versions)}
    _, until = facts.at(("moved_up", course.id, who), begins) or (0, None)
    ends |= {until} if until is not None else set()
    yield Owed(notice, begins, next(at for at in sorted(ends) if at > begins and not _holds(at)))
