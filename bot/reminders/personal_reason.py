"""Whether one person is told by one reminder, and if not, why not: from the rows, and by the functions that send."""

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass

from bot.events.profiles import preferences_of
from bot.leases.failures import ErrorClass
from bot.reminders.attempts import Attempts, LoggedAttempt
from bot.reminders.lots import Lot
from bot.reminders.outlook import Outlook, Reason
from bot.reminders.reach import Reach
from bot.scheduling.registry import ScheduledReminder
from bot.transactions import fetch
from models.event import Event
from models.states import SignupStatus

BY_STATUS = {
    SignupStatus.TENTATIVE: Lot.TENTATIVE,
    SignupStatus.WAITLISTED: Lot.WAITLISTED,
    SignupStatus.DECLINED: Lot.DECLINED,
    SignupStatus.REMOVED: Lot.REMOVED,
}
"""Why whoever has no place is not told what those hear who have one."""

_BY_FAILURE = {ErrorClass.RECIPIENT_UNREACHABLE.value: Lot.DMS_CLOSED, ErrorClass.EVENT_STARTED.value: Lot.TOO_LATE}


@dataclass(frozen=True, slots=True)
class PersonalReason:
    """What becomes of a person, ``at`` what moment where one is known, and what failed where the lot leaves it open."""

    lot: Lot
    at: dt.datetime | None = None
    failure: LoggedAttempt | None = None


async def personal_reason(
    person: int,
    event: Event,
    entry: ScheduledReminder,
    *,
    comes: Outlook,
    reaches: Sequence[Reach],
    attempts: Attempts,
) -> PersonalReason:
    """Return what becomes of one person at a reminder by DM; ``reaches`` are its messages as the rows stand."""
    if (known := _from_the_log(person, entry, attempts, comes)) is not None:
        return known
    direct = [reach for reach in reaches if not reach.is_post]
    if any(person in (reach.wanting or ()) for reach in direct):
        if comes.reason in {None, Reason.UNDER_WAY}:
            return PersonalReason(Lot.WILL_BE_TOLD, comes.at)
        return PersonalReason(Lot.WITHDRAWN if comes.reason is Reason.ALREADY_SENT else Lot.NOT_SENT)
    return PersonalReason(await _why_not(person, event, entry, reaches))


def _from_the_log(person: int, entry: ScheduledReminder, attempts: Attempts, comes: Outlook) -> PersonalReason | None:
    live = attempts.live(entry.log_source, person)
    if live is not None:
        return PersonalReason(Lot.TOLD if live.success else Lot.UNDER_WAY, live.began_at)
    failed = attempts.last_failure(entry.log_source, person)
    if failed is None or (failed.error_class == ErrorClass.EVENT_STARTED and comes.reason is None):
        return None
    lot = lot_of_failure(failed)
    return PersonalReason(lot, failed.began_at, failed if lot is Lot.FAILED else None)


def lot_of_failure(failed: LoggedAttempt) -> Lot:
    """Return what became of somebody at whom the last attempt failed."""
    return _BY_FAILURE.get(failed.error_class or "", Lot.FAILED)


async def _why_not(person: int, event: Event, entry: ScheduledReminder, reaches: Sequence[Reach]) -> Lot:
    if any(reach.wanting is None for reach in reaches):
        return Lot.UNKNOWN
    if all(reach.is_post for reach in reaches) and any(person in reach.meant for reach in reaches):
        return Lot.BY_POST
    if any(person in reach.meant for reach in reaches if not reach.is_post):
        return await _which_is_off(person, event, entry)
    return await _why_not_meant(person, event, entry)


async def _which_is_off(person: int, event: Event, entry: ScheduledReminder) -> Lot:
    preferred = await preferences_of(person, guild_id=event.guild_id)
    return Lot.KIND_OFF if entry.key in preferred.kinds_off else Lot.SERIES_OFF


async def _why_not_meant(person: int, event: Event, entry: ScheduledReminder) -> Lot:
    status = await signup_status(person, event)
    if entry.key == "signup_reminder":
        return Lot.HAS_ANSWERED if await _is_subscribed(person, event) else Lot.NOT_SUBSCRIBED
    if status is None:
        return Lot.NO_SIGNUP
    if status in BY_STATUS:
        return BY_STATUS[status]
    if entry.key == "profile_reminder":
        return Lot.PROFILE_COMPLETE
    return Lot.CONFIRMED if status is SignupStatus.CONFIRMED else Lot.NOT_MEANT


async def signup_status(person: int, event: Event) -> SignupStatus | None:
    """Return what a person said about an event, None: nothing."""
    rows = await fetch("SELECT status FROM event_signup WHERE event_id = $1 AND user_id = $2", [event.id, person])
    return SignupStatus(str(rows[0]["status"])) if rows else None


async def _is_subscribed(person: int, event: Event) -> bool:
    rows = await fetch(
        "SELECT id FROM repeater_subscription WHERE series_id = $1 AND user_id = $2", [event.series_id, person]
    )
    return bool(rows)
