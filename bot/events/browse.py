"""
Find the events and series of one server by what was typed, and look at them; another server's are never there.

What a command is given is the id of a row, chosen from the list that appears while somebody types. Whatever else was
typed, and every id of another server, is answered as if there were no such row.
"""

import datetime as dt
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import Final, TypeVar
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from bot.errors import BotError
from bot.message.choice import Found
from bot.message.folding import folded
from bot.message.limits import CHOICE_NAME, CHOICES, cut, length
from bot.times.typed_time import shown
from bot.transactions import fetch, in_list, integer
from models.event import Event
from models.event_repeater import EventRepeater
from models.guild_settings import GuildSettings
from models.states import EventState, SignupStatus

Row = TypeVar("Row")

# So many of the nearest are looked through; what SQLite takes for the same letter is ASCII alone.
_LOOKED_THROUGH: Final = 1_000
# What is older is shown by its id alone: a server may keep events of many years.
_LOOKED_BACK: Final = dt.timedelta(days=366)
_MOST_TYPED: Final = 100
EVERY_STATE: Final = frozenset(EventState)


class NoSuchEventError(BotError):
    """Nothing of this server's is what was typed."""

    def __init__(self, typed: str) -> None:
        super().__init__(f"There is no event {shown(typed)} here; choose one from the list that appears as you type.")
        self.typed = typed


class NoSuchSeriesError(BotError):
    """Nothing of this server's is what was typed."""

    def __init__(self, typed: str) -> None:
        super().__init__(f"There is no series {shown(typed)} here; choose one from the list that appears as you type.")
        self.typed = typed


def row_id(typed: str) -> int | None:
    """Return what was typed as the id of a row, None if it is none."""
    text = typed.strip()
    known = text.isascii() and text.isdigit() and len(text) < _MOST_TYPED
    return int(text) if known and int(text) < 2**63 else None


async def find_event(typed: str, *, guild_id: int) -> Event:
    """
    Return the event of this server whose id was chosen.

    Raises:
        NoSuchEventError: there is none.
    """
    event_id = row_id(typed)
    event = await Event.get_or_none(id=event_id, guild_id=guild_id) if event_id is not None else None
    if event is None:
        raise NoSuchEventError(typed)
    return event


async def find_series(typed: str, *, guild_id: int) -> EventRepeater:
    """
    Return the series of this server whose id was chosen.

    Raises:
        NoSuchSeriesError: there is none.
    """
    series_id = row_id(typed)
    series = await EventRepeater.get_or_none(id=series_id, guild_id=guild_id) if series_id is not None else None
    if series is None:
        raise NoSuchSeriesError(typed)
    return series


async def guild_timezone(guild_id: int, *, default: str) -> str:
    """Return the server's time zone, ``default`` where it has set up nothing yet."""
    settings = await GuildSettings.get_or_none(guild_id=guild_id)
    return settings.timezone if settings is not None else default


async def search_events(
    typed: str, *, guild_id: int, now: dt.datetime, states: Collection[EventState] = EVERY_STATE, timezone: str = "UTC"
) -> list[Found]:
    """
    Return at most 25 events of the server whose name holds what was typed, letter case aside.

    Those ahead come first, soonest first, then those of the last year, latest first; among each, names that begin so.
    ``timezone`` is for a server that has set none: times are shown by the server's own clock.
    """
    zone = _zone(await guild_timezone(guild_id, default=timezone))
    found: list[Found] = []
    for ahead in (True, False):
        rows = await _events(typed, guild_id, now, states, ahead=ahead)
        found += [_found(*row, zone) for row in _matching(typed, ((str(row[1]), row) for row in rows))]
    return found[:CHOICES]


async def search_series(typed: str, *, guild_id: int, active: bool | None = None) -> list[Found]:
    """Return at most 25 series of the server likewise, by name; ``active`` None: the paused ones too."""
    query = EventRepeater.filter(guild_id=guild_id)
    if active is not None:
        query = query.filter(is_active=active)
    rows = await query.order_by("name").values_list("id", "name", "is_active")
    matching = _matching(typed, ((str(row[1]), row) for row in rows))
    return [Found(_label(str(name), "" if goes else " (paused)"), str(key)) for key, name, goes in matching][:CHOICES]


async def answer_counts(event_ids: Collection[int]) -> Mapping[int, Counter[SignupStatus]]:
    """Return how many people said what, by event."""
    found: dict[int, Counter[SignupStatus]] = {event_id: Counter() for event_id in event_ids}
    if not found:
        return found
    rows = await fetch(
        "SELECT event_id, status, COUNT(*) AS people FROM event_signup"  # noqa: S608 -- parameters only
        f" WHERE event_id IN {in_list(list(found), first=1)} GROUP BY event_id, status",
        list(found),
    )
    for row in rows:
        found[integer(row["event_id"])][SignupStatus(str(row["status"]))] = integer(row["people"])
    return found


async def _events(
    typed: str, guild_id: int, now: dt.datetime, states: Collection[EventState], *, ahead: bool
) -> list[tuple[int, str, dt.datetime, EventState]]:
    query = Event.filter(guild_id=guild_id, state__in=list(states))
    if ahead:
        query = query.filter(scheduled_at__gt=now)
    else:
        query = query.filter(scheduled_at__lte=now, scheduled_at__gt=now - _LOOKED_BACK)
    text = typed.strip()
    if text.isascii() and text.isprintable():
        query = query.filter(name__icontains=text)
    order = ("scheduled_at", "id") if ahead else ("-scheduled_at", "-id")
    return await query.order_by(*order).limit(_LOOKED_THROUGH).values_list("id", "name", "scheduled_at", "state")


def _matching(typed: str, named: Iterable[tuple[str, Row]]) -> list[Row]:
    """Return the rows whose name holds what was typed, in their order, those that begin so first."""
    wanted = folded(typed[:_MOST_TYPED])
    holding = [(folded(name), row) for name, row in named if wanted in folded(name)]
    begins = [row for name, row in holding if name.startswith(wanted)]
    return begins + [row for name, row in holding if not name.startswith(wanted)]


def _found(event_id: int, name: str, at: dt.datetime, state: EventState, zone: ZoneInfo) -> Found:
    ending = f" · {at.astimezone(zone):%a %d %b %Y %H:%M}" + (" (cancelled)" if state is EventState.CANCELLED else "")
    return Found(_label(name, ending), str(event_id))


def _label(name: str, ending: str) -> str:
    return cut(name, CHOICE_NAME - length(ending)) + ending


def _zone(key: str) -> ZoneInfo:
    try:
        return ZoneInfo(key)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return ZoneInfo("UTC")
