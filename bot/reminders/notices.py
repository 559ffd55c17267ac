"""
What became of the messages about an event that are no reminders: its new time, and a place that became free.

Both are kept by a count in the row and by the message log; read here as those who send them read them.
"""

import datetime as dt
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from bot.events.notifications import silenced
from bot.events.profiles import preferences_of
from bot.leases.keys import PROMOTION, TIME_CHANGED
from bot.reminders.attempts import LoggedAttempt, attempts_at, attempts_to_all
from bot.reminders.lots import Lot
from bot.reminders.outlook import Reason
from bot.reminders.personal_reason import BY_STATUS, PersonalReason, lot_of_failure, signup_status
from bot.reminders.promotions import SETTLED, moved_up_at
from bot.reminders.time_changes import to_tell
from models.event import Event
from models.states import OPEN_FOR_PEOPLE, EventState


@dataclass(frozen=True, slots=True)
class NewTime:
    """
    What became of the word about an event's last new time.

    ``live``: it is done, or under way; ``failed``: the newest attempt that failed; ``reason``: why it does not come,
    None: it does, to ``people``. ``personal``: what becomes of the person who was asked about.
    """

    live: LoggedAttempt | None
    failed: LoggedAttempt | None
    reason: Reason | None
    people: int
    personal: PersonalReason | None = None


@dataclass(frozen=True, slots=True)
class FreePlaces:
    """
    What became of those who got a place, or are offered one, and are to be told of it.

    ``lots``: of how many became what; ``again``: when the first of those who could not be told is tried again.
    """

    lots: Counter[Lot] = field(default_factory=Counter)
    again: dt.datetime | None = None
    personal: PersonalReason | None = None


async def new_time(event: Event, *, now: dt.datetime, person: int | None = None) -> NewTime | None:
    """Return what became of the word about the new time, None: it never had one that people were to hear of."""
    if not event.time_changes:
        return None
    attempts = await attempts_at(
        event.guild_id, event.id, person=person, sources=[TIME_CHANGED], part=event.time_changes
    )
    live, failed = attempts.live(TIME_CHANGED), attempts.last_failure(TIME_CHANGED)
    people = await to_tell(event)
    reason = _why_untold(event, live, people, now)
    personal = None
    if person is not None:
        mine = attempts.live(TIME_CHANGED, person)
        tried = mine or attempts.last_failure(TIME_CHANGED, person)
        personal = _from_attempt(tried) if tried is not None else await _untold(person, event, people, reason)
    return NewTime(live, failed, reason, len(people), personal)


def _why_untold(event: Event, live: LoggedAttempt | None, people: Sequence[int], now: dt.datetime) -> Reason | None:
    if live is not None:
        return Reason.ALREADY_SENT if live.success else Reason.UNDER_WAY
    if event.state is EventState.CANCELLED:
        return Reason.CANCELLED
    if event.state not in OPEN_FOR_PEOPLE or event.scheduled_at <= now:
        return Reason.BEGUN
    return None if people else Reason.NOBODY


async def _untold(person: int, event: Event, people: Sequence[int], reason: Reason | None) -> PersonalReason:
    """Return what becomes of somebody whom no attempt was made at."""
    if person in people:
        if reason in {None, Reason.UNDER_WAY}:
            return PersonalReason(Lot.WILL_BE_TOLD)
        return PersonalReason(Lot.WITHDRAWN if reason is Reason.ALREADY_SENT else Lot.NOT_SENT)
    status = await signup_status(person, event)
    if status is None:
        return PersonalReason(Lot.NO_SIGNUP)
    if await silenced(TIME_CHANGED, event.series_id, [person], guild_id=event.guild_id):
        preferred = await preferences_of(person, guild_id=event.guild_id)
        return PersonalReason(Lot.KIND_OFF if TIME_CHANGED in preferred.kinds_off else Lot.SERIES_OFF)
    return PersonalReason(BY_STATUS.get(status, Lot.NOT_MEANT))


def _from_attempt(one: LoggedAttempt) -> PersonalReason:
    if one.success is not False:
        return PersonalReason(Lot.TOLD if one.success else Lot.UNDER_WAY, one.began_at)
    lot = lot_of_failure(one)
    return PersonalReason(lot, one.began_at, one if lot is Lot.FAILED else None)


async def free_places(event: Event, *, now: dt.datetime, person: int | None = None) -> FreePlaces | None:
    """Return what became of those who are to be told of a place, None: nobody moved up who still has or may have it."""
    moved_up = await moved_up_at(event.id, now=now)
    if not moved_up:
        return None
    tried: dict[tuple[int, int], LoggedAttempt] = {}
    for one in await attempts_to_all(event.guild_id, event.id, PROMOTION):
        before = tried.get((one.recipient_id, one.part))
        if before is None or before.success is False:
            tried[one.recipient_id, one.part] = one
    found = [(one.user_id, tried.get((one.user_id, one.promotions))) for one in moved_up]
    lots = {who: _from_attempt(one) if one is not None else PersonalReason(Lot.WILL_BE_TOLD) for who, one in found}
    moments = [
        one.next_attempt_at
        for _, one in found
        if one is not None
        and one.success is False
        and one.next_attempt_at is not None
        and one.error_class not in SETTLED
    ]
    personal = lots.get(person, PersonalReason(Lot.NOT_MEANT)) if person is not None else None
    return FreePlaces(Counter(one.lot for one in lots.values()), min(moments, default=None), personal)
