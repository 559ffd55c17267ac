"""
Who is reminded of the sign-ups of which series: the only writer of ``RepeaterSubscription``.

Subscribing twice is subscribing once. A series of another server answers as one that is gone.
"""

import datetime as dt
from dataclasses import dataclass

import structlog

from bot.errors import GoneError
from bot.events.admin_wording import named
from bot.events.profiles import preferences_of
from bot.message.choice import Found
from bot.message.folding import folded
from bot.message.limits import CHOICES
from bot.transactions import atomic, integer
from models.event_repeater import EventRepeater
from models.repeater_subscription import RepeaterSubscription

_log = structlog.get_logger(__name__)

_HOW_TO_STOP = "`/unsubscribe` ends it."


class SeriesGoneError(GoneError):
    """The series was deleted, or is another server's."""

    def __init__(self, series_id: int) -> None:
        super().__init__()
        self.series_id = series_id


@dataclass(frozen=True, slots=True)
class SubscriptionAnswer:
    """What became of the wish to be reminded or not; ``sentence`` is what the person reads, privately."""

    sentence: str
    changed: bool


async def subscribe(series_id: int, *, guild_id: int, user_id: int, now: dt.datetime) -> SubscriptionAnswer:
    """
    Remind a person of the sign-ups of a series from now on.

    Raises:
        SeriesGoneError: the server has no such series.
    """

    async def _unit() -> SubscriptionAnswer:
        series = await _locked(series_id, guild_id)
        if await RepeaterSubscription.exists(series_id=series_id, user_id=user_id):
            return SubscriptionAnswer(f"You are reminded of {named(series)} already. {_HOW_TO_STOP}", changed=False)
        await RepeaterSubscription(series_id=series_id, user_id=user_id, created_at=now).save()
        sentence = f"I will remind you of the sign-ups for {named(series)} by DM. {_HOW_TO_STOP}{_silence(series)}"
        sentence += await _unwanted(series, user_id)
        return SubscriptionAnswer(sentence, changed=True)

    return _noted(await atomic(_unit), "subscribed", guild_id, series_id, user_id)


async def unsubscribe(series_id: int, *, guild_id: int, user_id: int) -> SubscriptionAnswer:
    """
    Remind a person of a series no more.

    Raises:
        SeriesGoneError: the server has no such series.
    """

    async def _unit() -> SubscriptionAnswer:
        series = await _locked(series_id, guild_id)
        if not await RepeaterSubscription.filter(series_id=series_id, user_id=user_id).delete():
            return SubscriptionAnswer(f"You were not reminded of {named(series)}, so nothing changes.", changed=False)
        return SubscriptionAnswer(f"I will no longer remind you of {named(series)}.", changed=True)

    return _noted(await atomic(_unit), "unsubscribed", guild_id, series_id, user_id)


async def _locked(series_id: int, guild_id: int) -> EventRepeater:
    # Held, so that of two presses at once the second sees what the first stored.
    series = await EventRepeater.filter(id=series_id, guild_id=guild_id).select_for_update(no_key=True).first()
    if series is None:
        raise SeriesGoneError(series_id)
    return series


def _noted(answer: SubscriptionAnswer, what: str, guild_id: int, series_id: int, user_id: int) -> SubscriptionAnswer:
    if answer.changed:
        _log.info(what, guild=guild_id, series=series_id, user=user_id)
    return answer


def _silence(series: EventRepeater) -> str:
    """Say why nothing comes for now, where that is so."""
    if not series.is_active:
        return " The series is paused now, so nothing comes until an admin resumes it."
    hours = series.discord_signup_reminder_hours
    if not series.discord_signup_reminder or hours is None or hours <= 0:
        return " Its sign-up reminder is switched off now, so nothing comes until an admin switches it on."
    return ""


async def _unwanted(series: EventRepeater, user_id: int) -> str:
    """Say so where the person themself turned off what they now ask for."""
    preferred = await preferences_of(user_id, guild_id=series.guild_id)
    if series.id not in preferred.series_off and "signup_reminder" not in preferred.kinds_off:
        return ""
    return " You turned these direct messages off, so nothing comes until you turn them on in `/notifications`."


async def guild_of_series(series_id: int) -> int:
    """
    Return the server of a series, for a press in a DM, which says none.

    Raises:
        SeriesGoneError: there is no such series.
    """
    found = await EventRepeater.filter(id=series_id).values_list("guild_id", flat=True)
    if not found:
        raise SeriesGoneError(series_id)
    return integer(found[0])


async def search_subscriptions(typed: str, *, guild_id: int, user_id: int) -> list[Found]:
    """Return at most 25 series of the server that a person subscribed to and whose name holds what was typed."""
    wanted = folded(typed)
    mine = [one for one in await subscriptions_of(user_id, guild_id=guild_id) if wanted in folded(one.label)]
    return sorted(mine, key=lambda one: not folded(one.label).startswith(wanted))[:CHOICES]


async def subscriptions_of(user_id: int, *, guild_id: int) -> list[Found]:
    """Return every series of the server that a person subscribed to, by name."""
    rows = RepeaterSubscription.filter(user_id=user_id, series__guild_id=guild_id)
    named = await rows.values_list("series_id", "series__name")
    return sorted((Found(str(name), str(series_id)) for series_id, name in named), key=lambda one: folded(one.label))


async def copy_subscriptions(series_id: int, *, to_series_id: int, now: dt.datetime) -> int:
    """Let everybody who is reminded of a series be reminded of another too; return how many. Part of a transaction."""
    people = await RepeaterSubscription.filter(series_id=series_id).values_list("user_id", flat=True)
    rows = [RepeaterSubscription(series_id=to_series_id, user_id=user, created_at=now) for user in people]
    if rows:
        await RepeaterSubscription.bulk_create(rows, ignore_conflicts=True)
    return len(rows)
