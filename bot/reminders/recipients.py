"""
Whom a reminder is for, read from fresh rows: once for all when it begins, once more for each right before their DM.

Whoever switched a kind of reminder off, or all of a series, gets none of it by DM; a post in a channel names and pings
them all the same, since it is one for everybody. Source: 02-reminders.md, "The four reminders".
"""

from collections.abc import Collection, Sequence

from bot.events import profiles
from bot.events.notifications import silenced
from bot.scheduling.registry import entry_of
from bot.transactions import fetch, in_list, integer
from models.event import Event
from models.states import ATTENDING, SignupStatus


async def to_sign_up(event: Event, among: Sequence[int] | None = None) -> tuple[int, ...]:
    """Return the subscribers of the event's series who said nothing about it, or declined; ``among`` these alone."""
    return await who_wants(event, "signup_reminder", await meant_to_sign_up(event, among))


async def meant_to_sign_up(event: Event, among: Sequence[int] | None = None) -> tuple[int, ...]:
    """Return the same, and those too who switched it off."""
    if event.series_id is None:
        return ()
    only = "" if among is None else f" AND s.user_id IN {in_list(among, first=3)}"
    rows = await fetch(
        "SELECT s.user_id FROM repeater_subscription s WHERE s.series_id = $1"  # noqa: S608 -- parameters only
        " AND NOT EXISTS (SELECT 1 FROM event_signup e WHERE e.event_id = $2 AND e.user_id = s.user_id"
        f" AND e.status <> 'declined'){only} ORDER BY s.id",
        [event.series_id, event.id, *(among or ())],
    )
    return tuple(integer(row["user_id"]) for row in rows)


async def signed_up(event: Event) -> tuple[int, ...]:
    """Return everybody who has a place, in the order in which they came."""
    return await _with_status(event, ATTENDING, None)


async def to_confirm(event: Event, among: Sequence[int] | None = None) -> tuple[int, ...]:
    """Return those with a place who have not confirmed it yet."""
    return await who_wants(event, "attendance_reminder", await meant_to_confirm(event, among))


async def meant_to_confirm(event: Event, among: Sequence[int] | None = None) -> tuple[int, ...]:
    """Return the same, and those too who switched it off."""
    return await _with_status(event, entry_of("attendance_reminder").only_for, among)


async def to_fill_in(event: Event, among: Sequence[int] | None = None) -> tuple[int, ...]:
    """Return those with a place whose profile lacks what the guild requires."""
    return await who_wants(event, "profile_reminder", await meant_to_fill_in(event, among))


async def meant_to_fill_in(event: Event, among: Sequence[int] | None = None) -> tuple[int, ...]:
    """Return the same, and those too who switched it off."""
    coming = await _with_status(event, entry_of("profile_reminder").only_for, among)
    lacking = await profiles.lacking(event.guild_id, coming)
    return tuple(one for one in coming if one in lacking)


async def _with_status(event: Event, said: Collection[SignupStatus], among: Sequence[int] | None) -> tuple[int, ...]:
    statuses = sorted(status.value for status in said)
    only = "" if among is None else f" AND user_id IN {in_list(among, first=2 + len(statuses))}"
    rows = await fetch(
        f"SELECT user_id FROM event_signup WHERE event_id = $1 AND status IN {in_list(statuses, first=2)}{only}"  # noqa: S608
        " ORDER BY changed_at, id",
        [event.id, *statuses, *(among or ())],
    )
    return tuple(integer(row["user_id"]) for row in rows)


async def who_wants(event: Event, reminder: str, people: Sequence[int]) -> tuple[int, ...]:
    """Return those of the people who have not switched a reminder of this event off."""
    out = await silenced(reminder, event.series_id, people, guild_id=event.guild_id)
    return tuple(one for one in people if one not in out)
