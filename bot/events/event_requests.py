"""Create a one-off event: read what was typed, show what it would be, and store it only on a press."""

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final

import structlog

from bot.events.admin_wording import config_lines, named, says
from bot.events.browse import guild_timezone
from bot.events.one_off import EventSpec, create_event
from bot.events.requests import checked, hours_fields, nowhere_notes
from bot.events.when import Ambiguous, read_moment
from bot.message import timestamps
from bot.message.escaping import escape
from bot.message.outgoing import ButtonStyle
from bot.message.proposal import Proposal, Reply, Way, leave
from bot.scheduling.agenda import Agenda
from bot.scheduling.bodies import CHECK_EVENT_REMINDERS, OPEN_SCHEDULED_SIGNUPS
from models.event import Event
from models.guild_settings import GuildSettings
from models.states import EventState

_log = structlog.get_logger(__name__)

_OPTIONS: Final = {
    "scheduled_at": "when",
    "max_players": "places",
    "discord_announcement_hours": "announce_hours",
    "discord_confirm_attendance_hours": "attendance_hours",
    "discord_profile_reminder_hours": "profile_hours",
    "signup_opens_hours": "signups_open_hours",
    "discord_announcement_channel_id": "channel",
    "discord_announcement_role_ids": "ping_role",
    "required_role_id": "required_role",
}
"""A spec's fields under the names of the command's options; the others are called the same."""


@dataclass(frozen=True, slots=True)
class EventRequest:
    """
    What a command's options say of an event.

    ``*_hours`` of 0 are off; ``signups_open_hours`` of 0 opens at once. ``notes`` are sentences that its author should
    read before it is stored.
    """

    name: str
    when: str
    description: str = ""
    duration_minutes: int = 120
    places: int | None = None
    channel_id: int | None = None
    ping_role_id: int | None = None
    announce_hours: int = 24
    attendance_hours: int = 0
    profile_hours: int = 0
    signups_open_hours: int = 168
    required_role_id: int | None = None
    notes: Sequence[str] = field(default=())


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
        timezone = await guild_timezone(guild_id, default=self._default_timezone)
        reading = read_moment(request.when, timezone=timezone, now=now)
        if isinstance(reading, Ambiguous):
            # What else is wrong is said first, so that nobody answers a question in vain.
            _spec(request, reading.options[0].moment)
            ways = [
                Way(option.label, partial(self._preview, request, option.moment, guild_id, actor))
                for option in reading.options
            ]
            return Proposal(reading.question, (*ways, leave()))
        return await self._preview(request, reading.moment, guild_id, actor, now)

    async def _preview(
        self, request: EventRequest, moment: dt.datetime, guild_id: int, actor: int, now: dt.datetime
    ) -> Reply:
        spec = _spec(request, moment)
        settings = await GuildSettings.get_or_none(guild_id=guild_id)
        notes = [*request.notes, *nowhere_notes(settings, spec)]
        twin = Event.filter(guild_id=guild_id, scheduled_at=moment, name=spec.name)
        if await twin.exclude(state=EventState.CANCELLED).exists():
            notes.append("There is an event of this name at this time already: creating makes a second one.")
        return Proposal(
            _shown(spec, notes, now=now),
            (Way("Create", partial(self._create, spec, guild_id, actor), ButtonStyle.SUCCESS), leave()),
        )

    async def _create(self, spec: EventSpec, guild_id: int, actor: int, now: dt.datetime) -> Reply:
        event = await create_event(spec, guild_id=guild_id, created_by=actor, now=now, timezone=self._default_timezone)
        _log.info("event_created", guild=guild_id, event_id=event.id, actor=actor)
        for body in (CHECK_EVENT_REMINDERS, OPEN_SCHEDULED_SIGNUPS):
            self._agenda.wake(body, now)
        return f"{named(event)} was created: {timestamps.full_and_relative(event.scheduled_at)}."


def _spec(request: EventRequest, moment: dt.datetime) -> EventSpec:
    values: dict[str, object] = {
        "name": request.name,
        "description": request.description,
        "scheduled_at": moment,
        "duration_minutes": request.duration_minutes,
        "max_players": request.places,
        "discord_announcement_channel_id": request.channel_id,
        "discord_announcement_role_ids": [request.ping_role_id] if request.ping_role_id is not None else [],
        "signup_opens_hours": request.signups_open_hours or None,
        "required_role_id": request.required_role_id,
        **hours_fields("discord_announcement", request.announce_hours),
        **hours_fields("discord_confirm_attendance", request.attendance_hours),
        **hours_fields("discord_profile_reminder", request.profile_hours),
    }
    return checked(EventSpec, values, options=_OPTIONS)


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
    return "\n".join(lines)
