"""
Whom a reminder is for, read from fresh rows: once for all when it begins, once more for each right before their DM.

Whoever opted out of a kind of reminder gets none of that kind by DM. Source: 02-reminders.md, "The four reminders".
"""

from collections.abc import Sequence

from bot.events import profiles
from bot.transactions import fetch, in_list, integer
from models.event import Event


async def to_sign_up(event: Event, among: Sequence[int] | None = None) -> tuple[int, ...]:
    """Return the subscribers of the event's series who said nothing about it, or declined; ``among`` these alone."""
    if event.series_id is None:
        return ()
    only = "" if among is None else f" AND s.user_id IN {in_list(among, first=3)}"
    rows = await fetch(
        "SELECT s.user_id FROM repeater_subscription s WHERE s.series_id = $1"  # noqa: S608 -- parameters only
        " AND NOT EXISTS (SELECT 1 FROM event_signup e WHERE e.event_id = $2 AND e.user_id = s.user_id"
        f" AND e.status <> 'declined'){only} ORDER BY s.id",
        [event.series_id, event.id, *(among or ())],
    )
    return await _who_wants(event.guild_id, "signup_reminder", [integer(row["user_id"]) for row in rows])


async def signed_up(event: Event) -> tuple[int, ...]:
    """Return everybody who has a place, in the order in which they came."""
    return await _with_status(event, ("signed_up", "confirmed"), None)


async def to_confirm(event: Event, among: Sequence[int] | None = None) -> tuple[int, ...]:
    """Return those with a place who have not confirmed it yet."""
    asked = await _with_status(event, ("signed_up",), among)
    return await _who_wants(event.guild_id, "attendance_reminder", asked)


async def to_fill_in(event: Event, among: Sequence[int] | None = None) -> tuple[int, ...]:
    """Return those with a place whose profile lacks what the guild requires."""
    coming = await _with_status(event, ("signed_up", "confirmed"), among)
    lacking = await profiles.lacking(event.guild_id, coming)
    return await _who_wants(event.guild_id, "profile_reminder", [one for one in coming if one in lacking])


async def _with_status(event: Event, statuses: Sequence[str], among: Sequence[int] | None) -> tuple[int, ...]:
    only = "" if among is None else f" AND user_id IN {in_list(among, first=2 + len(statuses))}"
    rows = await fetch(
        f"SELECT user_id FROM event_signup WHERE event_id = $1 AND status IN {in_list(statuses, first=2)}{only}"  # noqa: S608
        " ORDER BY changed_at, id",
        [event.id, *statuses, *(among or ())],
    )
    return tuple(integer(row["user_id"]) for row in rows)


async def _who_wants(guild_id: int, reminder: str, people: Sequence[int]) -> tuple[int, ...]:
    out = await profiles.opted_out(guild_id, reminder, people)
    return tuple(one for one in people if one not in out)
