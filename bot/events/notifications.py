"""
Which direct messages somebody gets in a server: each kind of them, and each series, can be switched off and on again.

Only what the bot sends by itself: what is posted in a channel is for everybody, and an answer to a press is an answer.
A kind comes from the registry of reminders, so that a new reminder can be switched off without a word here.
"""

import datetime as dt
from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

import structlog

from bot.errors import BotError
from bot.events.admin_wording import listed
from bot.events.browse import find_series, row_id
from bot.events.profiles import Preferences, opted_out, prefer, preferences_of
from bot.leases.keys import TIME_CHANGED
from bot.message.choice import Found
from bot.message.escaping import escape
from bot.message.folding import folded
from bot.message.limits import CHOICE_NAME, CHOICES, cut
from bot.message.outgoing import ButtonStyle
from bot.message.proposal import Proposal, Way
from bot.scheduling.registry import registered
from bot.times.typed_time import shown
from bot.transactions import fetch, in_list, integer
from models.event_repeater import EventRepeater

_log = structlog.get_logger(__name__)

_MOST_BUTTONS: Final = 25
_HEADING: Final = (
    "What I send you by direct message in this server; a post in a channel is for everybody, and may mention you"
    " whatever is off here:"
)


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of direct message: ``key`` is what an opt-out holds, ``words`` what people call it."""

    key: str
    words: str


NOTICES: tuple[Kind, ...] = (Kind(TIME_CHANGED, "new time of an event"),)
"""The kinds that no reminder of the registry sends; whoever sends one by DM names it here."""


class NoSuchNotificationError(BotError):
    """What was typed is no kind of message, and no series of this server."""

    def __init__(self, typed: str) -> None:
        super().__init__(f"There is nothing called {shown(typed)} to turn on or off; choose from the list.")
        self.typed = typed


@dataclass(frozen=True, slots=True)
class Switch:
    """What a person can turn on and off: a kind by its key, or a series, which has an id, by its name."""

    words: str
    is_on: bool
    kind: str | None = None
    series_id: int | None = None

    @property
    def value(self) -> str:
        """What a command is given for it; a kind's key is no number."""
        return self.kind or str(self.series_id)


async def silenced(kind: str, series_id: int | None, user_ids: Collection[int], *, guild_id: int) -> set[int]:
    """
    Return those of the people who want no DM of this kind, or none about this series; ask right before it is sent.

    For whatever the bot sends by DM unasked. ``kind`` is a registry's key or one of :data:`NOTICES`; another one can be
    silenced by its series alone. ``series_id`` None: about no series. A query for thousands.
    """
    return await opted_out(guild_id, kind, user_ids, series_id=series_id)


def kinds() -> tuple[Kind, ...]:
    """Return every kind of DM that can be switched off."""
    reminders = (Kind(entry.key, entry.words) for entry in registered() if entry.to_people)
    return (*reminders, *NOTICES)


async def switches(user_id: int, *, guild_id: int) -> list[Switch]:
    """Return what a person can switch: every kind, then by name each series that concerns them or that is off."""
    preferred = await preferences_of(user_id, guild_id=guild_id)
    found = [Switch(kind.words, kind.key not in preferred.kinds_off, kind=kind.key) for kind in kinds()]
    for series_id, name in await _series(user_id, guild_id, preferred.series_off):
        found.append(Switch(name, series_id not in preferred.series_off, series_id=series_id))
    return found


async def _series(user_id: int, guild_id: int, off: Collection[int]) -> list[tuple[int, str]]:
    also = f" OR s.id IN {in_list(sorted(off), first=3)}" if off else ""
    rows = await fetch(
        "SELECT s.id, s.name FROM event_repeater s WHERE s.guild_id = $1 AND ("  # noqa: S608 -- parameters only
        "s.id IN (SELECT r.series_id FROM repeater_subscription r WHERE r.user_id = $2)"
        " OR s.id IN (SELECT e.series_id FROM event_signup p JOIN event e ON e.id = p.event_id"
        " WHERE p.user_id = $2 AND p.status NOT IN ('declined', 'removed')"
        f" AND e.state IN ('upcoming', 'signups_open', 'roll_call')){also})",
        [guild_id, user_id, *sorted(off)],
    )
    return sorted(((integer(row["id"]), str(row["name"])) for row in rows), key=lambda one: folded(one[1]))


async def search_switches(typed: str, *, on: bool, guild_id: int, user_id: int) -> list[Found]:
    """Return at most 25 of what is on, or of what is off, and whose words hold what was typed; series first."""
    found = [one for one in await switches(user_id, guild_id=guild_id) if one.is_on is on]
    found.sort(key=lambda one: one.series_id is None)
    named = [Found(cut(_called(one), CHOICE_NAME), one.value) for one in found]
    return [one for one in named if folded(typed) in folded(one.label)][:CHOICES]


def _called(one: Switch) -> str:
    return one.words if one.series_id is None else f"series {one.words}"


async def turn(off: str | None = None, on: str | None = None, *, guild_id: int, user_id: int, now: dt.datetime) -> str:
    """
    Turn one kind or series off and another on, as :func:`search_switches` gives them; return the sentences to show.

    Raises:
        NoSuchNotificationError, NoSuchSeriesError: the server has no such thing; nothing was changed.
    """
    asked = [await _found(value, guild_id) for value in (off, on) if value is not None]
    turned = [to for value, to in ((off, False), (on, True)) if value is not None]
    said = [
        await _turned(one, on=to, guild_id=guild_id, user_id=user_id, now=now)
        for one, to in zip(asked, turned, strict=True)
    ]
    return "\n".join(said)


async def _found(value: str, guild_id: int) -> Switch:
    kind = next((kind for kind in kinds() if value.strip() == kind.key), None)
    if kind is not None:
        return Switch(kind.words, is_on=True, kind=kind.key)
    if row_id(value) is None:
        raise NoSuchNotificationError(value)
    series = await find_series(value, guild_id=guild_id)
    return Switch(series.name, is_on=True, series_id=series.id)


async def _turned(one: Switch, *, on: bool, guild_id: int, user_id: int, now: dt.datetime) -> str:
    there = frozenset({row[0] for row in await EventRepeater.filter(guild_id=guild_id).values_list("id")})
    before, after = await prefer(partial(_preferring, one, there, on=on), guild_id=guild_id, user_id=user_id, now=now)
    what, turned = _called_in_bold(one), "on" if on else "off"
    if (before.kinds_off, before.series_off) == (after.kinds_off, after.series_off):
        return f"The direct messages are {turned} already: {what}."
    _log.info("notification_turned", guild=guild_id, user=user_id, what=one.value, on=on)
    return f"The direct messages are {turned} now: {what}."


def _preferring(one: Switch, there: frozenset[int], before: Preferences, *, on: bool) -> Preferences:
    # A series that was deleted since is forgotten on the way.
    kinds_off, series_off = before.kinds_off, before.series_off & there
    if one.kind is not None:
        kinds_off = kinds_off - {one.kind} if on else kinds_off | {one.kind}
    if one.series_id is not None:
        series_off = series_off - {one.series_id} if on else series_off | {one.series_id}
    return replace(before, kinds_off=kinds_off, series_off=series_off)


async def page(user_id: int, *, guild_id: int, said: str = "") -> Proposal:
    """Return what a person gets, with a button that turns each of it on or off; ``said`` is shown above."""
    found = await switches(user_id, guild_id=guild_id)
    lines = [f"- {_called_in_bold(one)}: {'on' if one.is_on else '**off**'}" for one in found]
    text = listed("\n".join(part for part in (said, _HEADING) if part), lines, total=len(lines))
    ways = [_turning(one, user_id, guild_id) for one in found[:_MOST_BUTTONS]]
    return Proposal(text, tuple(ways))


def _called_in_bold(one: Switch) -> str:
    return one.words if one.series_id is None else f"everything about **{escape(one.words)}**"


def _turning(one: Switch, user_id: int, guild_id: int) -> Way:
    async def _turn(now: dt.datetime) -> Proposal:
        there = await _found(one.value, guild_id)
        said = await _turned(there, on=not one.is_on, guild_id=guild_id, user_id=user_id, now=now)
        return await page(user_id, guild_id=guild_id, said=said)

    label = f"Turn {'off' if one.is_on else 'on'}: {one.words}"
    return Way(label, _turn, ButtonStyle.SECONDARY if one.is_on else ButtonStyle.SUCCESS)
