"""What people do while a process of the kill matrix lives, and do again with the next one until they are answered."""

import datetime as dt
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from bot.bootstrap import ServiceOptions, Services
from bot.changes.event_time import EventTimes
from bot.changes.extras import ExtraEvents
from bot.changes.series_edit import SeriesEditing, Wish
from bot.changes.series_removal import SeriesRemoval
from bot.changes.series_skips import SeriesSkips
from bot.changes.series_split import SeriesSplitting
from bot.errors import BotError
from bot.events.signups.rules import Press
from bot.events.transitions import Transitions
from bot.message.proposal import Proposal, Reply
from tests.wire.discord_stub import GUILD

ADMIN: Final = 42
_DEBOUNCE = ServiceOptions().edit_debounce


class DeedKind(StrEnum):
    """What somebody does: two buttons of a post, two of an offer, and what an admin confirms at once."""

    SIGN_UP = "sign up"
    LEAVE = "leave"
    ACCEPT = "accept"
    REFUSE = "refuse"
    EDIT = "edit"
    SPLIT = "split"
    SKIP = "skip"
    RETURN = "return"
    MOVE = "move"
    DELETE = "delete"
    EXTRA = "extra"
    CANCEL = "cancel"


@dataclass(frozen=True, slots=True)
class Deed:
    """
    One deed: about which series or event, by whom, and what was typed; ``token``: what its answer comes under.

    ``after``: how long a process has lived when it comes. ``from_event``: a split's place.
    """

    kind: DeedKind
    token: str
    subject_id: int
    after: dt.timedelta
    typed: str = ""
    user_id: int = ADMIN
    from_event: int = 0


async def do(deed: Deed, services: Services, *, now: dt.datetime) -> str:
    """Do it, and return what the person reads; what was done before is refused in a sentence, or changes nothing."""
    try:
        return await _DEEDS[deed.kind](deed, services, now)
    except BotError as refusal:
        return str(refusal)


async def _press(press: Press, deed: Deed, services: Services, now: dt.datetime) -> str:
    answer = await services.signups.press(
        press, deed.subject_id, guild_id=GUILD, user_id=deed.user_id, role_ids=frozenset(), now=now
    )
    return answer.sentence


async def _sign_up(deed: Deed, services: Services, now: dt.datetime) -> str:
    return await _press(Press.SIGN_UP, deed, services, now)


async def _leave(deed: Deed, services: Services, now: dt.datetime) -> str:
    return await _press(Press.CANT, deed, services, now)


async def _offer(deed: Deed, services: Services, now: dt.datetime) -> str:
    answer = await services.signups.answer_offer(
        deed.subject_id,
        accepts=deed.kind is DeedKind.ACCEPT,
        guild_id=GUILD,
        user_id=deed.user_id,
        role_ids=frozenset(),
        now=now,
    )
    return answer.sentence


def _wish(deed: Deed) -> Wish:
    return Wish(deed.subject_id, GUILD, deed.user_id, {"time_of_day": deed.typed})


async def _edit(deed: Deed, services: Services, now: dt.datetime) -> str:
    editing = SeriesEditing(services.agenda, debounce=_DEBOUNCE)
    return await _confirmed(await editing.propose(_wish(deed), now=now), now)


async def _split(deed: Deed, services: Services, now: dt.datetime) -> str:
    splitting = SeriesSplitting(services.agenda, debounce=_DEBOUNCE)
    return await _confirmed(await splitting.propose(_wish(deed), deed.from_event, now=now), now)


async def _skip(deed: Deed, services: Services, now: dt.datetime) -> str:
    skips, typed = SeriesSkips(services.agenda, debounce=_DEBOUNCE), str(deed.subject_id)
    return await _confirmed(
        await skips.propose_skip(typed, deed.typed, guild_id=GUILD, actor=deed.user_id, now=now), now
    )


async def _return(deed: Deed, services: Services, now: dt.datetime) -> str:
    skips, typed = SeriesSkips(services.agenda, debounce=_DEBOUNCE), str(deed.subject_id)
    return await _confirmed(
        await skips.propose_return(typed, deed.typed, guild_id=GUILD, actor=deed.user_id, now=now), now
    )


async def _move(deed: Deed, services: Services, now: dt.datetime) -> str:
    times, typed = EventTimes(services.agenda, debounce=_DEBOUNCE, default_timezone="UTC"), str(deed.subject_id)
    asked = times.propose(typed, deed.typed, tell=None, guild_id=GUILD, actor=deed.user_id, now=now)
    return await _confirmed(await asked, now)


async def _delete(deed: Deed, services: Services, now: dt.datetime) -> str:
    removal, typed = SeriesRemoval(services.agenda, debounce=_DEBOUNCE), str(deed.subject_id)
    return await _confirmed(await removal.propose(typed, guild_id=GUILD, actor=deed.user_id, now=now), now)


async def _extra(deed: Deed, services: Services, now: dt.datetime) -> str:
    extras, typed = ExtraEvents(services.agenda, debounce=_DEBOUNCE, default_timezone="UTC"), str(deed.subject_id)
    return await _confirmed(await extras.propose(typed, deed.typed, guild_id=GUILD, actor=deed.user_id, now=now), now)


async def _cancel(deed: Deed, services: Services, now: dt.datetime) -> str:
    transitions, typed = Transitions(services.agenda, debounce=_DEBOUNCE), str(deed.subject_id)
    return await _confirmed(await transitions.propose_cancel(typed, guild_id=GUILD, actor=deed.user_id, now=now), now)


async def _confirmed(reply: Reply, now: dt.datetime) -> str:
    """Take the first way, which does what was shown."""
    if isinstance(reply, Proposal):
        reply = await reply.ways[0].then(now)
    return reply if isinstance(reply, str) else reply.text


_DEEDS: Final[Mapping[DeedKind, Callable[[Deed, Services, dt.datetime], Awaitable[str]]]] = {
    DeedKind.SIGN_UP: _sign_up,
    DeedKind.LEAVE: _leave,
    DeedKind.ACCEPT: _offer,
    DeedKind.REFUSE: _offer,
    DeedKind.EDIT: _edit,
    DeedKind.SPLIT: _split,
    DeedKind.SKIP: _skip,
    DeedKind.RETURN: _return,
    DeedKind.MOVE: _move,
    DeedKind.DELETE: _delete,
    DeedKind.EXTRA: _extra,
    DeedKind.CANCEL: _cancel,
}
