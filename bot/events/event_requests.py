"""Create a one-off event: read what was typed, show what it would be, and store it only on a press."""

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

import structlog

from bot.events.admin_wording import config_lines, named, says
from bot.events.config_options import CONFIG_OPTIONS, ConfigOptions, config_given
from bot.events.lifecycle import wake_after_new
from bot.events.one_off import EventSpec, create_event
from bot.events.own_zone import zone_for
from bot.events.requests import given, nowhere_notes
from bot.events.series_spec import ConfigSpec
from bot.events.templates import TemplateKind, filled, template_of
from bot.message import timestamps
from bot.message.escaping import escape
from bot.message.limits import CONTENT, cut
from bot.message.outgoing import ButtonStyle
from bot.message.proposal import Proposal, Reply, Way, leave
from bot.scheduling.agenda import Agenda
from bot.times.when import Ambiguous, read_moment
from bot.times.which_was_meant import ask_which_time
from models.event import Event
from models.guild_settings import GuildSettings
from models.states import EventState

_log = structlog.get_logger(__name__)

OPTIONS: Final = {
    **CONFIG_OPTIONS,
    "scheduled_at": "when",
    "required_role_id": "required_role",
}
"""A spec's fields under the names of the command's options; the others are called the same."""


@dataclass(frozen=True, slots=True)
class EventRequest(ConfigOptions):
    """
    What a command's options say of an event; what is None has the value of the server's template, else the default.

    ``notes`` are sentences that its author should read before it is stored, and so are those that ``look`` returns of
    what comes of it. Without ``from_template`` the defaults alone fill in.
    """

    name: str
    when: str
    description: str = ""
    required_role_id: int | None = None
    attendee_role_id: int | None = None
    notes: Sequence[str] = field(default=())
    look: Callable[[ConfigSpec], Sequence[str]] | None = None
    from_template: bool = True


class EventDesk:
    """Takes requests for one-off events; ``default_timezone`` is for a server that has set up none."""

    def __init__(self, agenda: Agenda, *, default_timezone: str) -> None:
        self._agenda = agenda
        self._default_timezone = default_timezone

    async def propose(self, request: EventRequest, *, guild_id: int, actor: int, now: dt.datetime) -> Reply:
        """
        Return what would be created, or which of several times was meant; nothing is stored.

        Raises:
            WhenError, RequestRefusedError: it cannot be.
        """
        clock = await zone_for(guild_id, actor, default=self._default_timezone)
        request = replace(request, notes=(*clock.notes, *request.notes))
        reading = read_moment(request.when, timezone=clock.timezone, now=now)
        preview = partial(self._preview, request, guild_id, actor)
        if isinstance(reading, Ambiguous):
            # What else is wrong is said first, so that nobody answers a question in vain.
            _spec(request, reading.options[0].moment, await self._template(request, guild_id))
            return ask_which_time(reading, preview)
        return await preview(reading.moment, now)

    async def _preview(
        self, request: EventRequest, guild_id: int, actor: int, moment: dt.datetime, now: dt.datetime
    ) -> Reply:
        spec, from_template = _spec(request, moment, await self._template(request, guild_id))
        settings = await GuildSettings.get_or_none(guild_id=guild_id)
        seen = request.look(spec) if request.look is not None else ()
        notes = [*from_template, *request.notes, *seen, *nowhere_notes(settings, spec)]
        twin = Event.filter(guild_id=guild_id, scheduled_at=moment, name=spec.name)
        if await twin.exclude(state=EventState.CANCELLED).exists():
            notes.append("There is an event of this name at this time already: creating makes a second one.")
        ways = [Way("Create", partial(self._create, spec, guild_id, actor), ButtonStyle.SUCCESS)]
        if from_template:
            plain = replace(request, from_template=False)
            ways.append(Way("Without the template", partial(self._preview, plain, guild_id, actor, moment)))
        return Proposal(_shown(spec, notes, now=now), (*ways, leave()))

    @staticmethod
    async def _template(request: EventRequest, guild_id: int) -> Mapping[str, object]:
        return await template_of(guild_id, TemplateKind.EVENT) if request.from_template else {}

    async def _create(self, spec: EventSpec, guild_id: int, actor: int, now: dt.datetime) -> Reply:
        event = await create_event(spec, guild_id=guild_id, created_by=actor, now=now, timezone=self._default_timezone)
        _log.info("event_created", guild=guild_id, event_id=event.id, actor=actor)
        wake_after_new(self._agenda, now=now)
        return f"{named(event)} was created: {timestamps.full_and_relative(event.scheduled_at)}."


def _spec(
    request: EventRequest, moment: dt.datetime, template: Mapping[str, object]
) -> tuple[EventSpec, Sequence[str]]:
    """Return what would be stored, and the sentence that says what of it came from the template."""
    values = {
        "name": request.name,
        "description": request.description,
        "scheduled_at": moment,
        **given(
            attendee_role_id=request.attendee_role_id,
            required_role_id=request.required_role_id,
        ),
        **config_given(request),
    }
    whole = filled(values, template)
    return whole.checked(EventSpec, options=OPTIONS), whole.notes(OPTIONS)


def _shown(spec: EventSpec, notes: Sequence[str], *, now: dt.datetime) -> str:
    """Return in words what the event would be."""
    ends_at = spec.scheduled_at + dt.timedelta(minutes=spec.duration_minutes)
    places = "without limit" if spec.max_players is None else str(spec.max_players)
    hours = spec.signup_opens_hours
    opens = spec.scheduled_at - dt.timedelta(hours=hours) if hours is not None else now
    lines = [
        f"Create **{escape(spec.name)}**?",
        f"Begins {timestamps.full_and_relative(spec.scheduled_at)}, ends {timestamps.full(ends_at)}.",
        f"Places: {places}. Sign-ups open {timestamps.full(opens) if opens > now else 'at once'}.",
        *config_lines(spec, has_series=False),
        *notes,
        *says(spec.description),
    ]
    return cut("\n".join(lines), CONTENT)
