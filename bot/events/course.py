"""
Which states time alone will bring an event to: the rule of :mod:`bot.events.lifecycle`, looked at from before.

What an admin does is not foreseen. Source: 01-domain.md, "Event states".
"""

import datetime as dt
from typing import TYPE_CHECKING

from bot.scheduling.due import Stay
from models.states import AHEAD, EventState

if TYPE_CHECKING:
    from models.event import Event


def opens_at(event: "Event", *, now: dt.datetime) -> dt.datetime | None:
    """Return when time opens the sign-ups, ``now`` where that moment passed; None: it does not, or they were opened."""
    if event.state is not EventState.UPCOMING or event.signups_open_at is None:
        return None
    moment = max(event.signups_open_at, now)
    return moment if moment < event.scheduled_at else None


def stays(event: "Event", *, now: dt.datetime) -> tuple[Stay, ...]:
    """Return the stays of an event from ``now`` until it begins; none of one that has begun or was cancelled."""
    start = event.scheduled_at
    if event.state not in AHEAD or start <= now:
        return ()
    opening = opens_at(event, now=now)
    if opening is None:
        return (Stay(event.state, event.state_since, start),)
    return (
        Stay(event.state, event.state_since, opening),
        Stay(EventState.SIGNUPS_OPEN, opening, start),
    )
