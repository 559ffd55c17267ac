"""Who said what about an event, as its rows have it: those with a place, the line as it waits, and the rest."""

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass

from bot.events.signups.waiting_line import PASSED, room_of
from bot.transactions import fetch, integer, moment
from models.states import ATTENDING, SignupStatus


@dataclass(frozen=True, slots=True)
class Person:
    """One person and what they said; ``offered_until``: a place is held for them, who wait, until then."""

    user_id: int
    status: SignupStatus
    offered_until: dt.datetime | None = None


@dataclass(frozen=True, slots=True)
class People:
    """Everybody who said something about an event: those with a place as they came, the line as it waits."""

    attending: tuple[Person, ...] = ()
    waitlisted: tuple[Person, ...] = ()
    tentative: tuple[Person, ...] = ()
    declined: tuple[Person, ...] = ()


async def people_of(event_id: int) -> People:
    """Return everybody who said something about an event, but for those whom an admin took off it."""
    rows = await fetch(
        "SELECT user_id, status, offered_until, position FROM event_signup WHERE event_id = $1 ORDER BY changed_at, id",
        [event_id],
    )
    said: dict[SignupStatus, list[Person]] = {status: [] for status in SignupStatus}
    attending: list[Person] = []
    # A stable order: whoever is not in line has no position, and stays as they came.
    for row in sorted(rows, key=lambda row: integer(row["position"] or 0)):
        person = _person(row)
        (attending if person.status in ATTENDING else said[person.status]).append(person)
    return People(
        attending=tuple(attending),
        waitlisted=tuple(said[SignupStatus.WAITLISTED]),
        tentative=tuple(said[SignupStatus.TENTATIVE]),
        declined=tuple(said[SignupStatus.DECLINED]),
    )


def _person(row: Mapping[str, object]) -> Person:
    held_until = moment(row["offered_until"]) if row["offered_until"] is not None else None
    is_held = held_until is not None and held_until > PASSED
    return Person(integer(row["user_id"]), SignupStatus(str(row["status"])), held_until if is_held else None)


async def places_taken(event_id: int) -> int:
    """Return how many people have a place."""
    return (await room_of(event_id)).attending


async def rank(event_id: int, user_id: int) -> int:
    """Return the place in line of somebody who is in it, 1 for the first."""
    rows = await fetch(
        "SELECT COUNT(*) AS rank FROM event_signup WHERE event_id = $1 AND status = 'waitlisted' AND position <="
        " (SELECT position FROM event_signup WHERE event_id = $1 AND user_id = $2)",
        [event_id, user_id],
    )
    return integer(rows[0]["rank"])
