"""What is ahead in a server, as one of its members sees it: the events, and where that member stands with each."""

import datetime as dt
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from bot.events.browse import answer_counts
from bot.message import timestamps
from bot.message.escaping import escape
from bot.message.limits import EMBED_DESCRIPTION, length
from bot.message.links import post_link
from bot.transactions import fetch, in_list, integer, moment
from models.event import Event
from models.states import AHEAD, ATTENDING, EventState, SignupStatus

_OWN: Mapping[SignupStatus, str] = {
    SignupStatus.SIGNED_UP: "**you are signed up**",
    SignupStatus.CONFIRMED: "**you have confirmed**",
    SignupStatus.WAITLISTED: "**you are number {position} on the wait-list**",
    SignupStatus.TENTATIVE: "you said maybe",
    SignupStatus.DECLINED: "you said you cannot come",
    SignupStatus.REMOVED: "an admin took you off",
}
# More would not fit into one answer, however short their names are.
_MOST: Final = 60


@dataclass(frozen=True, slots=True)
class Standing:
    """
    What a person is to an event; ``position`` is the rank in line, None off it.

    ``offered_until``: a place is held for them until then, None: none is.
    """

    status: SignupStatus
    position: int | None = None
    offered_until: dt.datetime | None = None


@dataclass(frozen=True, slots=True)
class Ahead:
    """One event ahead; ``link`` leads to its post, if it has one; ``own`` None: the person said nothing about it."""

    name: str
    scheduled_at: dt.datetime
    state: EventState
    signups_open_at: dt.datetime | None
    max_players: int | None
    taken: int
    link: str = ""
    own: Standing | None = None


@dataclass(frozen=True, slots=True)
class Outlook:
    """The nearest events ahead, soonest first, and how many there are in all."""

    events: tuple[Ahead, ...]
    total: int


async def outlook(guild_id: int, user_id: int, *, now: dt.datetime) -> Outlook:
    """Return what is ahead in a server for one of its members."""
    ahead = Event.filter(guild_id=guild_id, state__in=AHEAD, scheduled_at__gt=now)
    events = await ahead.order_by("scheduled_at", "id").limit(_MOST)
    ids = [event.id for event in events]
    counts, standings = await answer_counts(ids), await _standings(user_id, ids, now)
    return Outlook(
        events=tuple(
            Ahead(
                name=event.name,
                scheduled_at=event.scheduled_at,
                state=event.state,
                signups_open_at=event.signups_open_at,
                max_players=event.max_players,
                taken=sum(counts[event.id][status] for status in ATTENDING),
                link=post_link(event.guild_id, event.announcement_channel_id, event.announcement_message_id),
                own=standings.get(event.id),
            )
            for event in events
        ),
        total=len(events) if len(events) < _MOST else await ahead.count(),
    )


async def _standings(user_id: int, event_ids: Collection[int], now: dt.datetime) -> Mapping[int, Standing]:
    if not event_ids:
        return {}
    rows = await fetch(
        "SELECT s.event_id, s.status, s.offered_until, CASE WHEN s.status = 'waitlisted' THEN"  # noqa: S608 -- parameters
        " (SELECT COUNT(*) FROM event_signup l WHERE l.event_id = s.event_id AND l.status = 'waitlisted'"
        " AND l.position <= s.position) ELSE 0 END AS place"
        f" FROM event_signup s WHERE s.user_id = $1 AND s.event_id IN {in_list(list(event_ids), first=2)}",
        [user_id, *event_ids],
    )
    return {
        integer(row["event_id"]): Standing(
            SignupStatus(str(row["status"])), integer(row["place"]) or None, _held_until(row["offered_until"], now)
        )
        for row in rows
    }


def _held_until(stored: object, now: dt.datetime) -> dt.datetime | None:
    """Return until when a place is held, None where no offer stands."""
    until = moment(stored) if stored is not None else None
    return until if until is not None and until > now else None


def listing(found: Outlook, *, most: int = EMBED_DESCRIPTION) -> str:
    """Return the events as paragraphs within ``most`` characters, with how many are left out; never cut inside one."""
    paragraphs = [_paragraph(one) for one in found.events]
    shown = len(paragraphs)
    while shown:
        text = _joined(paragraphs[:shown], found.total - shown)
        if length(text) <= most:
            return text
        shown -= 1
    return _joined([], found.total)


def _joined(paragraphs: Sequence[str], left_out: int) -> str:
    return "\n".join([*paragraphs, *([f"+{left_out} more"] if left_out else [])])


def _paragraph(one: Ahead) -> str:
    name = escape(one.name)
    title = f"[{name}]({one.link})" if one.link else name
    facts = [_places(one), _signups(one), *([_own(one.own)] if one.own is not None else [])]
    return f"**{title}** {timestamps.full_and_relative(one.scheduled_at)}\n{' · '.join(facts)}"


def _places(one: Ahead) -> str:
    if one.max_players is None:
        return f"{one.taken} coming"
    return f"{one.taken} of {one.max_players} places taken"


def _signups(one: Ahead) -> str:
    match one.state:
        case EventState.SIGNUPS_OPEN:
            return "sign-ups open"
        case EventState.ROLL_CALL:
            return "roll call"
        case _:
            opens = one.signups_open_at
            return f"sign-ups open {timestamps.relative(opens)}" if opens is not None else "sign-ups not open yet"


def _own(own: Standing) -> str:
    if own.status is SignupStatus.WAITLISTED and own.offered_until is not None:
        return f"**a place is held for you until {timestamps.full(own.offered_until)}: sign up**"
    return _OWN[own.status].format(position=own.position)
