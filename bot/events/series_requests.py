"""Create a series: read what was typed, show when it would return, and store it only on a press."""

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

import structlog

from bot.errors import BotError
from bot.events.admin_wording import config_lines, says, signups_open
from bot.events.browse import guild_timezone
from bot.events.config_options import CONFIG_OPTIONS, ConfigOptions, config_given
from bot.events.lifecycle import wake_after_new
from bot.events.requests import given, hours_fields, nowhere_notes
from bot.events.series import NameTakenError, create_series, ensure_guild
from bot.events.series_spec import ConfigSpec, SeriesSpec
from bot.events.templates import TemplateKind, filled, template_of
from bot.message import timestamps
from bot.message.escaping import escape
from bot.message.folding import folded
from bot.message.limits import CONTENT, cut
from bot.message.outgoing import ButtonStyle
from bot.message.proposal import Proposal, Reply, Way, leave
from bot.scheduling.agenda import Agenda
from bot.times.known_timezones import known_timezones
from bot.times.plain_words import time_in_figures
from bot.times.recurrence import local_today, occurrences
from bot.times.rule_words import clock_notes, rule_in_words, span_in_words
from bot.times.typed_date import AmbiguousDate, read_date
from bot.times.which_was_meant import ask_which_date
from bot.transactions import atomic
from models.event import Event
from models.event_repeater import EventRepeater
from models.guild_settings import GuildSettings
from models.states import Frequency, MonthEnd

_log = structlog.get_logger(__name__)

OPTIONS: Final = {
    **CONFIG_OPTIONS,
    "time_of_day": "time",
    "starts_at": "starts",
    "ends_at": "ends",
    "day_of_week": "days",
    "interval": "every",
    "generate_days_ahead": "days_ahead",
    "discord_signup_reminder_hours": "signup_reminder_hours",
}
"""A spec's fields under the names of the command's options; the others are called the same."""

_SHOWN: Final = 3
# As far ahead as a clock change is looked for, and a first occurrence.
_A_YEAR: Final = dt.timedelta(days=366)


class SeriesNameTakenError(BotError):
    """A series of that name stands in the server already."""

    def __init__(self, name: str) -> None:
        super().__init__(f"There is a series named **{escape(name)}** already: give the new one another name.")
        self.name = name


@dataclass(frozen=True, slots=True)
class SeriesRequest(ConfigOptions):
    """
    What a command's options say of a series; what is None has the value of the server's template, else the default.

    ``notes`` are sentences that its author should read before it is stored, and so are those that ``look`` returns of
    what comes of it. Without ``from_template`` the defaults alone fill in.
    """

    name: str
    frequency: Frequency
    time: str
    starts: str | None = None
    days: str | None = None
    every: int = 1
    timezone: str | None = None
    ends: str | None = None
    month_end: MonthEnd = MonthEnd.LAST_DAY
    description: str = ""
    signup_reminder_hours: int | None = None
    days_ahead: int | None = None
    attendee_role_id: int | None = None
    notes: Sequence[str] = field(default=())
    look: Callable[[ConfigSpec], Sequence[str]] | None = None
    from_template: bool = True


class SeriesDesk:
    """Takes requests for series; ``default_timezone`` is for a server that has set up none."""

    def __init__(self, agenda: Agenda, *, default_timezone: str) -> None:
        self._agenda = agenda
        self._default_timezone = default_timezone

    async def propose(self, request: SeriesRequest, *, guild_id: int, actor: int, now: dt.datetime) -> Reply:
        """
        Return when the series would return, or which of two dates was meant; nothing is stored.

        Raises:
            WhenError, RequestRefusedError, SeriesNameTakenError: it cannot be.
        """
        timezone = request.timezone or await guild_timezone(guild_id, default=self._default_timezone)
        # An unknown zone is told with all other faults; until then any day is as good as another.
        today = local_today(now, timezone if timezone in known_timezones() else "UTC")
        dates: dict[str, dt.date] = {"starts": today}
        for option, typed in (("starts", request.starts), ("ends", request.ends)):
            if typed is None:
                continue
            reading = read_date(typed, option=option, today=today)
            if isinstance(reading, AmbiguousDate):
                return self._ask(request, option, reading, guild_id, actor)
            dates[option] = reading.date
        template = await template_of(guild_id, TemplateKind.SERIES) if request.from_template else {}
        spec, from_template = _spec(request, timezone, dates["starts"], dates.get("ends"), template)
        if folded(spec.name) in {folded(one.name) for one in await EventRepeater.filter(guild_id=guild_id)}:
            raise SeriesNameTakenError(spec.name)
        settings = await GuildSettings.get_or_none(guild_id=guild_id)
        seen = request.look(spec) if request.look is not None else ()
        notes = [*from_template, *request.notes, *seen, *nowhere_notes(settings, spec)]
        ways = [Way("Create", partial(self._create, spec, guild_id, actor), ButtonStyle.SUCCESS)]
        if from_template:
            ways.append(Way("Without the template", partial(self._plain, request, guild_id, actor)))
        return Proposal(_shown(spec, notes, now=now, today=today), (*ways, leave()))

    async def _plain(self, request: SeriesRequest, guild_id: int, actor: int, now: dt.datetime) -> Reply:
        return await self.propose(replace(request, from_template=False), guild_id=guild_id, actor=actor, now=now)

    def _ask(self, request: SeriesRequest, option: str, reading: AmbiguousDate, guild_id: int, actor: int) -> Proposal:
        async def _meant(date: dt.date, now: dt.datetime) -> Reply:
            typed = date.isoformat()
            known = replace(request, starts=typed) if option == "starts" else replace(request, ends=typed)
            return await self.propose(known, guild_id=guild_id, actor=actor, now=now)

        return ask_which_date(reading, _meant)

    async def _create(self, spec: SeriesSpec, guild_id: int, actor: int, now: dt.datetime) -> Reply:
        async def _unit() -> EventRepeater:
            _ = await ensure_guild(guild_id, timezone=self._default_timezone)
            (series,) = await create_series([spec], guild_id=guild_id, created_by=actor, now=now)
            return series

        try:
            series = await atomic(_unit)
        except NameTakenError as error:
            raise SeriesNameTakenError(spec.name) from error
        _log.info("series_created", guild=guild_id, series=series.id, actor=actor)
        wake_after_new(self._agenda, now=now)
        made = await Event.filter(series_id=series.id).count()
        return f"**{escape(spec.name)}** was created; {made} {'event was' if made == 1 else 'events were'} made."


def _spec(
    request: SeriesRequest, timezone: str, starts: dt.date, ends: dt.date | None, template: Mapping[str, object]
) -> tuple[SeriesSpec, Sequence[str]]:
    """Return what would be stored, and the sentence that says what of it came from the template."""
    values: dict[str, object] = {
        "name": request.name,
        "description": request.description,
        "frequency": request.frequency,
        "interval": request.every,
        "day_of_week": request.days,
        "time_of_day": time_in_figures(request.time),
        "timezone": timezone,
        "starts_at": starts,
        "ends_at": ends,
        "month_end": request.month_end,
        **given(
            generate_days_ahead=request.days_ahead,
            attendee_role_id=request.attendee_role_id,
        ),
        **config_given(request),
        **hours_fields("discord_signup_reminder", request.signup_reminder_hours),
    }
    whole = filled(values, template)
    return whole.checked(SeriesSpec, options=OPTIONS), whole.notes(OPTIONS)


def _shown(spec: SeriesSpec, notes: Sequence[str], *, now: dt.datetime, today: dt.date) -> str:
    """Return in words what the series would be; every time as Discord shows it."""
    days = spec.generate_days_ahead
    ahead = [one for one in occurrences(spec.rule, today, today + _A_YEAR) if one.starts_at > now]
    at_once = sum(1 for one in ahead if one.local_date <= today + dt.timedelta(days=days))
    first = ", then ".join(timestamps.full(one.starts_at) for one in ahead[:_SHOWN])
    places = "without limit" if spec.max_players is None else str(spec.max_players)
    opens = signups_open(spec.signup_opens_hours)
    lines = [
        f"Create **{escape(spec.name)}**, {rule_in_words(spec.rule)}, {span_in_words(spec.rule)}?",
        f"First {first}." if first else "Within a year from now it does not return once.",
        f"Events are made {days} {'day' if days == 1 else 'days'} ahead: {at_once} at once.",
        f"Each lasts {spec.duration_minutes} min. Places: {places}. {opens}",
        *config_lines(spec, has_series=True),
        *clock_notes(spec.rule, today, today + _A_YEAR),
        *notes,
        *says(spec.description),
    ]
    return cut("\n".join(lines), CONTENT)
