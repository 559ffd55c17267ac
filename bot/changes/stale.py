"""What an admin was shown, and whether it still holds when they confirm it."""

import datetime as dt

from bot.errors import BotError
from bot.events.admin_wording import STANDS, named
from bot.message import timestamps
from models.event import Event
from models.event_repeater import EventRepeater
from models.states import AHEAD


class StaleError(BotError):
    """What was confirmed is not what would happen now; nothing was done."""

    def __init__(self, row: Event | EventRepeater) -> None:
        super().__init__(
            f"{named(row)} was changed since you were shown this, so nothing was done."
            " Run the command again to see how it stands now."
        )
        self.row_id = row.id


class NotAheadError(BotError):
    """The event has begun, is over or was cancelled, so that nothing of it can be changed any more."""

    def __init__(self, event: Event, *, now: dt.datetime, cannot: str) -> None:
        begun = event.state in AHEAD and event.scheduled_at <= now
        why = f"its start {timestamps.full(event.scheduled_at)} has passed" if begun else STANDS[event.state]
        super().__init__(f"{named(event)} cannot be {cannot}: {why}.")
        self.event_id = event.id


def refuse_unless_ahead(event: Event, *, now: dt.datetime, cannot: str) -> None:
    """
    Refuse what changes an event that is not ahead; ``cannot`` ends "cannot be ...".

    Raises:
        NotAheadError: it has begun, is over or was cancelled.
    """
    if event.state not in AHEAD or event.scheduled_at <= now:
        raise NotAheadError(event, now=now, cannot=cannot)


async def held_series(series: EventRepeater) -> EventRepeater:
    """
    Return a series as it stands, held until the transaction ends; whoever holds one of its events holds it first.

    Raises:
        StaleError: it is gone.
    """
    # Nobody makes an event of it meanwhile: who does holds it as well.
    found = await EventRepeater.filter(id=series.id, guild_id=series.guild_id).select_for_update(no_key=True).first()
    if found is None:
        raise StaleError(series)
    return found


async def hold_events(series: EventRepeater, *, after: dt.datetime | None = None) -> None:
    """
    Hold the events of a held series until the transaction ends, those that begin after ``after`` or all.

    Call it before the series is given another name or deleted. On PostgreSQL both wait for whoever looks at the series
    as the owner of an event, which everybody does who writes an event twice; and who does holds that event by then.
    """
    events = Event.filter(series_id=series.id, guild_id=series.guild_id)
    if after is not None:
        events = events.filter(scheduled_at__gt=after)
    # In the order in which everybody holds several.
    await events.order_by("id").only("id").select_for_update(no_key=True)


async def held_event(event: Event) -> Event:
    """
    Return an event as it stands, held until the transaction ends.

    Raises:
        StaleError: it is gone.
    """
    # In the mode in which due rows hold it: a foreign key may still be checked against it.
    found = await Event.filter(id=event.id, guild_id=event.guild_id).select_for_update(no_key=True).first()
    if found is None:
        raise StaleError(event)
    return found
