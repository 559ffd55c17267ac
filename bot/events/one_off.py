"""One-off events: what a form may say of one, and its row, its audit and what is due for it in one transaction."""

import datetime as dt
from typing import Annotated, Final

from pydantic import AwareDatetime, Field, ValidationInfo, field_validator

from bot import audit
from bot.errors import BotError
from bot.events.generate import CASCADED_FIELDS, opening_when_made
from bot.events.guild_sync import due_when_made
from bot.events.series import ensure_guild
from bot.events.series_fields import HOURS_A_DAY, MAX_DAYS_AHEAD, SeriesDescription, SeriesName, refusal
from bot.events.series_spec import ConfigSpec
from bot.message import timestamps
from bot.scheduling import due_rows
from bot.transactions import atomic
from models.event import Event
from models.states import EventState

_MOST_HOURS: Final = MAX_DAYS_AHEAD * HOURS_A_DAY


class EventPassedError(BotError):
    """The event was to begin at a moment that has passed."""

    def __init__(self, scheduled_at: dt.datetime) -> None:
        super().__init__(f"{timestamps.full(scheduled_at)} has passed meanwhile; create the event at a later time.")
        self.scheduled_at = scheduled_at


class EventSpec(ConfigSpec):
    """
    One event by itself, with every field that a form may give; what it leaves out has its default.

    The sign-up reminder is refused: it goes to the subscribers of a series. Where an event of a series is checked by
    this, an edited or imported one, that switch is kept out and added afterwards. Hours reach a year back at most.

    Raises:
        pydantic.ValidationError: with every fault.
    """

    name: SeriesName
    description: SeriesDescription = ""
    scheduled_at: Annotated[AwareDatetime, Field(description="a moment with a zone")]

    @field_validator("discord_signup_reminder")
    @classmethod
    def _nobody_to_ask(cls, wanted: bool) -> bool:  # noqa: FBT001 -- the library's signature
        if wanted:
            raise refusal(
                "is not possible for an event without a series: the sign-up reminder goes to a series' subscribers;"
                " use /series create for one"
            )
        return wanted

    @field_validator("*")
    @classmethod
    def _within_a_year(cls, value: object, info: ValidationInfo) -> object:
        is_hours = info.field_name is not None and info.field_name.endswith("_hours")
        if is_hours and isinstance(value, int) and value > _MOST_HOURS:
            raise refusal(f"is more than {_MOST_HOURS}, the hours of {MAX_DAYS_AHEAD} days")
        return value


async def create_event(
    spec: EventSpec, *, guild_id: int, created_by: int | None, now: dt.datetime, timezone: str = "UTC"
) -> Event:
    """
    Store an event with what is due for it; ``timezone`` is for a guild that is new here.

    Sign-ups open their hours before its start; where that moment has passed, or no hours are given, at once.

    Raises:
        EventPassedError: it was to begin before ``now``.
    """
    if spec.scheduled_at <= now:
        raise EventPassedError(spec.scheduled_at)

    async def _unit() -> Event:
        _ = await ensure_guild(guild_id, timezone=timezone)
        event = new_one_off(spec, guild_id=guild_id, created_by=created_by, now=now)
        await event.save(force_create=True)
        await due_rows.refresh([event.id])
        after = {"name": event.name, "scheduled_at": event.scheduled_at.isoformat()}
        await audit.record(
            "event.create", guild_id=guild_id, actor_user_id=created_by, subject_id=event.id, now=now, after=after
        )
        return event

    return await atomic(_unit)


def new_one_off(spec: EventSpec, *, guild_id: int, created_by: int | None, now: dt.datetime) -> Event:
    """Return the event that a spec makes at ``now``; it is not stored."""
    event = Event(
        guild_id=guild_id,
        name=spec.name,
        description=spec.description,
        scheduled_at=spec.scheduled_at,
        state=EventState.UPCOMING,
        created_at=now,
        state_since=now,
        created_by=created_by,
        native_due_at=due_when_made(spec, now=now),
        **{name: getattr(spec, name) for name in CASCADED_FIELDS},
    )
    event.signups_open_at = opening_when_made(event, scheduled_at=spec.scheduled_at, now=now)
    return event
