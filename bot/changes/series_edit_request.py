"""What the options of ``/series edit`` say, read into the fields of a spec; a date that can be two is asked about."""

import datetime as dt
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from functools import partial
from typing import Final

from bot.changes.series_edit import SeriesEditing, Wish
from bot.changes.series_split import SeriesSplitting, split_places
from bot.events import browse
from bot.events.config_options import ConfigOptions, config_given
from bot.events.requests import RequestRefusedError, given, hours_fields
from bot.events.series_spec import ConfigSpec
from bot.message.proposal import Proposal, Reply, Way, leave
from bot.times.known_timezones import known_timezones
from bot.times.plain_words import time_in_figures
from bot.times.recurrence import local_today
from bot.times.typed_date import AmbiguousDate, read_date
from bot.times.which_was_meant import ask_which_date
from models.states import Frequency, MonthEnd


class Clearing(StrEnum):
    """What an option can only say by saying nothing: the field goes back to none."""

    CHANNEL = "channel"
    PING_ROLE = "ping role"
    ATTENDEE_ROLE = "attendee role"
    DESCRIPTION = "description"
    DAYS = "days"
    ENDS = "ends"


_CLEARED: Final[dict[Clearing, dict[str, object]]] = {
    Clearing.CHANNEL: {"discord_announcement_channel_id": None},
    Clearing.PING_ROLE: {"discord_announcement_role_ids": []},
    Clearing.ATTENDEE_ROLE: {"attendee_role_id": None},
    Clearing.DESCRIPTION: {"description": ""},
    Clearing.DAYS: {"day_of_week": None},
    Clearing.ENDS: {"ends_at": None},
}


@dataclass(frozen=True, slots=True)
class SeriesEditRequest(ConfigOptions):
    """What a command's options say of a stored series; None where an option was left out, so that the field stays."""

    series: str
    name: str | None = None
    frequency: Frequency | None = None
    time: str | None = None
    starts: str | None = None
    days: str | None = None
    every: int | None = None
    timezone: str | None = None
    ends: str | None = None
    month_end: MonthEnd | None = None
    description: str | None = None
    signup_reminder_hours: int | None = None
    days_ahead: int | None = None
    attendee_role_id: int | None = None
    clear: Clearing | None = None
    look: Callable[[ConfigSpec], Sequence[str]] | None = None

    @property
    def is_empty(self) -> bool:
        """Whether nothing was given that would change."""
        return all(getattr(self, one.name) is None for one in fields(self) if one.name not in {"series", "look"})


class SeriesEditDesk:
    """Takes requests to edit series, as a whole or from one event on."""

    def __init__(self, editing: SeriesEditing, splitting: SeriesSplitting) -> None:
        self._editing = editing
        self._splitting = splitting

    async def propose(self, request: SeriesEditRequest, *, guild_id: int, actor: int, now: dt.datetime) -> Reply:
        """
        Return what the edit would do, or which of two dates was meant; nothing is stored.

        Raises:
            NoSuchSeriesError, WhenError, RequestRefusedError, SeriesNameTakenError: it cannot be.
        """
        series = await browse.find_series(request.series, guild_id=guild_id)
        if request.is_empty:
            raise RequestRefusedError("Say what to change: give at least one option that does.")
        timezone = request.timezone or series.timezone
        # An unknown zone is told with all other faults; until then any day is as good as another.
        today = local_today(now, timezone if timezone in known_timezones() else "UTC")
        dates: dict[str, object] = {}
        for option, typed in (("starts", request.starts), ("ends", request.ends)):
            if typed is None:
                continue
            reading = read_date(typed, option=option, today=today)
            if isinstance(reading, AmbiguousDate):
                return self._ask(request, option, reading, guild_id, actor)
            dates[f"{option}_at"] = reading.date
        wish = Wish(series.id, guild_id, actor, {**_given(request), **dates}, look=request.look)
        only_later = Way("Only from one event on", partial(self._from_one_on, wish))
        return await self._editing.propose(replace(wish, more=(only_later,)), now=now)

    async def _from_one_on(self, wish: Wish, now: dt.datetime) -> Reply:
        """Ask from which event on."""
        places = await split_places(wish.series_id, guild_id=wish.guild_id, now=now)
        if not places:
            return "There is no event ahead but its first from which on it could change; run the command again."
        ways = [Way(label, partial(self._from_there_on, wish, event_id)) for label, event_id in places]
        return Proposal("From which event on? A new series goes on from there.", (*ways, leave()))

    async def _from_there_on(self, wish: Wish, event_id: int, now: dt.datetime) -> Reply:
        return await self._splitting.propose(wish, event_id, now=now)

    def _ask(
        self, request: SeriesEditRequest, option: str, reading: AmbiguousDate, guild_id: int, actor: int
    ) -> Proposal:
        async def _meant(date: dt.date, now: dt.datetime) -> Reply:
            typed = date.isoformat()
            known = replace(request, starts=typed) if option == "starts" else replace(request, ends=typed)
            return await self.propose(known, guild_id=guild_id, actor=actor, now=now)

        return ask_which_date(reading, _meant)


def _given(request: SeriesEditRequest) -> dict[str, object]:
    return {
        **(_CLEARED[request.clear] if request.clear is not None else {}),
        **given(
            name=request.name,
            description=request.description,
            frequency=request.frequency,
            interval=request.every,
            day_of_week=request.days,
            time_of_day=time_in_figures(request.time) if request.time is not None else None,
            timezone=request.timezone,
            month_end=request.month_end,
            generate_days_ahead=request.days_ahead,
            attendee_role_id=request.attendee_role_id,
        ),
        **config_given(request),
        **hours_fields("discord_signup_reminder", request.signup_reminder_hours),
    }
