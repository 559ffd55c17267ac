"""
A series as a file or a form may give it, checked field by field, and its faults in plain sentences.

Every fault is found in one pass, so that whoever wrote the file mends it once. Fields and defaults: 01-domain.md,
"Tables".
"""

import datetime as dt
import difflib
import functools
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError, ValidationInfo, field_validator

from bot.events.series_fields import (
    MAX_DAYS_AHEAD,
    MAX_INTEGER,
    REFUSED,
    UNKNOWN_TIMEZONE,
    EndDate,
    FrequencyField,
    Hours,
    MonthEndField,
    OpensHours,
    OptionalId,
    RoleIds,
    SeriesDescription,
    SeriesName,
    StartDate,
    Switch,
    TimeOfDay,
    Timezone,
    checked_by_day,
    refusal,
)
from bot.message.quoting import MOST_SHOWN, did_you_mean, quoted
from bot.times.known_timezones import known_timezones
from bot.times.recurrence import RULE_FIELDS, SeriesRule
from models.states import Frequency, MonthEnd

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails


# Of 0 to 1. Below it the nearest zone is a stranger: at 0.6 "localtime" would be taken for Lome.
_NEAR_ENOUGH = 0.7


class ConfigSpec(BaseModel):
    """
    What is announced and asked, of a series and of a one-off alike: every field of the tables' mixin.

    Values are taken strictly: a number is no text, and 1 is not true. A Discord id may be its digits. ``*_hours`` are
    whole hours and stored as given: null, 0 and less turn that reminder off. ``discord_announcement`` is on by default,
    unlike in the table: a file or form announces unless it says otherwise.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    discord_announcement: Switch = True
    discord_announcement_hours: Hours = 24
    discord_announcement_channel_id: OptionalId = None
    discord_announcement_role_ids: RoleIds = []
    discord_signup_reminder: Switch = False
    discord_signup_reminder_hours: Hours = 24
    discord_confirm_attendance: Switch = False
    discord_confirm_attendance_hours: Hours = 2
    discord_confirm_attendance_dm: Switch = True
    discord_profile_reminder: Switch = False
    discord_profile_reminder_hours: Hours = 24
    discord_create_event: Switch = False
    signup_opens_hours: OpensHours = 168
    signup_offer_minutes: Annotated[
        int | None,
        Field(ge=1, le=10_080, description="a whole number of minutes from 1 to 10080 (a week), or null for no wait"),
    ] = None
    max_players: Annotated[
        int | None, Field(ge=1, le=MAX_INTEGER, description="a whole number from 1, or null for no limit")
    ] = None
    duration_minutes: Annotated[
        int, Field(ge=1, le=10_080, description="a whole number of minutes from 1 to 10080 (a week)")
    ] = 120
    required_role_id: OptionalId = None
    attendee_role_id: OptionalId = None


class ScheduleSpec(BaseModel):
    """A series' own fields: what it is called and when it returns."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    # The order matters: a field that is checked against another one comes after it.
    name: SeriesName
    description: SeriesDescription = ""
    frequency: FrequencyField
    interval: Annotated[int, Field(ge=1, le=52, description="a whole number from 1 to 52")] = 1
    day_of_week: Annotated[
        str | None, Field(description="weekdays such as TU or TU,TH, with monthly such as 2WE or -1FR, or null")
    ] = None
    time_of_day: TimeOfDay
    timezone: Timezone
    starts_at: StartDate
    ends_at: EndDate = None
    month_end: MonthEndField = MonthEnd.LAST_DAY
    generate_days_ahead: Annotated[
        int, Field(ge=1, le=MAX_DAYS_AHEAD, description=f"a whole number of days from 1 to {MAX_DAYS_AHEAD}")
    ] = 14
    is_active: Switch = True

    @field_validator("day_of_week")
    @classmethod
    def _day_of_week_fits_the_frequency(cls, text: str | None, info: ValidationInfo) -> str | None:
        frequency: Frequency | None = info.data.get("frequency")
        return None if text is None else checked_by_day(text, frequency)

    @field_validator("ends_at")
    @classmethod
    def _ends_no_earlier_than_it_starts(cls, ends_at: dt.date | None, info: ValidationInfo) -> dt.date | None:
        starts_at: dt.date | None = info.data.get("starts_at")
        if ends_at is not None and starts_at is not None and ends_at < starts_at:
            raise refusal(f"is before starts_at ({starts_at}); it must be that day or later, or null")
        return ends_at

    @property
    def rule(self) -> SeriesRule:
        """The schedule fields alone, as :func:`bot.times.recurrence.occurrences` takes them."""
        return SeriesRule(**{name: getattr(self, name) for name in RULE_FIELDS})


# The bases' fields come from the last base to the first: hours are checked against generate_days_ahead.
class SeriesSpec(ConfigSpec, ScheduleSpec):
    """
    One series with every field that a file or form may give; what it leaves out has its default.

    Values are taken strictly: a number is no text, and 1 is not true. A time may be text such as ``19:30``, a date such
    as ``2026-03-29``, a Discord id its digits. ``*_hours`` are whole hours and stored as given: null, 0 and less turn
    that reminder off. ``name`` and ``description`` fit their limits in code points and in UTF-16 units. That names are
    unique is for the caller to see to. ``discord_announcement`` is on by default, unlike in the table: a file announces
    unless it says otherwise.

    Raises:
        pydantic.ValidationError: with every fault; :func:`describe_faults` turns it into sentences.
    """


def describe_faults(error: ValidationError) -> tuple[str, ...]:
    """
    Return one sentence for each fault of a series: the field, what was found, what is allowed.

    At most 60 characters of a value are quoted, and the sentences hold printable characters only, whatever the input.
    """
    return tuple(each_fault(error))


def each_fault(error: ValidationError, *, spec: type[BaseModel] = SeriesSpec) -> Iterator[str]:
    """Yield what :func:`describe_faults` returns, of any ``spec``, each sentence worked out only when asked for."""
    yield from (_sentence(fault, spec) for fault in error.errors(include_url=False))


def _sentence(fault: "ErrorDetails", spec: type[BaseModel]) -> str:
    kind, found = fault["type"], quoted(fault["input"])
    if not fault["loc"] and kind != "string_unicode":
        return f"a series must be an object with its fields, not {found}."
    # A key that UTF-8 cannot write, half of a surrogate pair, is told without a place and as if it were the value.
    field, *path = fault["loc"] or (fault["input"],)
    known = spec.model_fields.get(str(field))
    if known is None:
        return f"{quoted(field)} is not a field of a series{did_you_mean(str(field), spec.model_fields)}"
    # The path goes on through branches of a union, which its author does not know, to an item, which they do.
    place = next((f" item {step + 1}" for step in path if isinstance(step, int)), "")
    allowed = "a Discord id" if place else known.description
    match kind:
        case "missing":
            verdict = f"is missing; it must be {allowed}."
        case _ if kind == UNKNOWN_TIMEZONE:
            verdict = f"{found} is not known{_nearest_timezone(fault['input'])}"
        case _ if kind == REFUSED:
            verdict = f"{found} {fault['ctx']['why']}."
        case _:
            verdict = f"{found} is not allowed; it must be {allowed}."
    return f"{field}{place} {verdict}"


@functools.lru_cache(maxsize=256)
def _nearest_timezone(text: str) -> str:
    """Suggest a zone by its whole key or, since many write only that, by its city; letter case aside."""
    by_lower = {key.rpartition("/")[2].lower(): key for key in sorted(known_timezones(), reverse=True)}
    by_lower |= {key.lower(): key for key in known_timezones()}
    word = text[:MOST_SHOWN].lower().replace(" ", "_")
    near = difflib.get_close_matches(word, by_lower, n=1, cutoff=_NEAR_ENOUGH)
    return f"; did you mean {by_lower[near[0]]}?" if near else "; it must be a name such as Europe/London."
