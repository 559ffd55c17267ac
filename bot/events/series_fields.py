"""
What each field of a series may hold: the types that :mod:`bot.events.series_spec` is made of.

A type's ``description`` completes the sentence "it must be ...". A check that can say more refuses with the second half
of a sentence that begins with the field and what was found. Bounds: 01-domain.md, "Tables".
"""

import datetime as dt
import re
import unicodedata
from collections.abc import Callable
from typing import Annotated, Final

from pydantic import AfterValidator, BeforeValidator, Field, ValidationInfo
from pydantic_core import PydanticCustomError

from bot.times.known_timezones import known_timezones
from bot.times.recurrence import parse_by_day
from models.states import Frequency, MonthEnd

MAX_NAME: Final = 100
MAX_DESCRIPTION: Final = 1000
MAX_DAYS_AHEAD: Final = 366
# A week has seven days; the longest list, seven of them counted from the month's end, has 34 characters.
MAX_BY_DAYS: Final = 7
# More cannot ping in one message. Source: Discord's allowed_mentions.
MAX_ROLES: Final = 100
HOURS_A_DAY: Final = 24
# PostgreSQL's INTEGER, which holds whole hours and places.
MIN_INTEGER: Final = -(2**31)
MAX_INTEGER: Final = 2**31 - 1

REFUSED: Final = "refused"
"""The type of a fault whose ``why`` is the second half of its sentence."""

UNKNOWN_TIMEZONE: Final = "unknown_timezone"
"""The type of the fault of naming a zone that the zone database does not have."""

_EARLIEST, _LATEST = dt.date(1970, 1, 1), dt.date(2999, 12, 31)
_TIME = re.compile(r"([01][0-9]|2[0-3]):([0-5][0-9])")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_ID = re.compile(r"[0-9]{1,19}")


def refusal(why: str) -> PydanticCustomError:
    """Return the error of a value that was found; ``why`` follows the field and the value, without a full stop."""
    return PydanticCustomError(REFUSED, "{why}", {"why": why})


def checked_by_day(text: str, frequency: Frequency | None) -> str:
    """
    Return BYDAY in capitals and without spaces, at most 34 characters.

    A ``frequency`` of None is one that is itself at fault: only the form is checked then.

    Raises:
        PydanticCustomError: it is no list of weekdays, or not one for this frequency.
    """
    if frequency in {Frequency.DAILY, Frequency.YEARLY}:
        raise refusal(f"is not allowed with frequency {frequency}; leave it out")
    example = "2WE or -1FR" if frequency is Frequency.MONTHLY else "TU or TU,TH"
    normal = "".join(text.split()).upper()
    try:
        days = parse_by_day(normal)
    except ValueError:
        raise refusal(f"is not a list of weekdays; it must be such as {example}") from None
    if len(days) > MAX_BY_DAYS or len(set(days)) < len(days):
        raise refusal(f"names a day twice or more than {MAX_BY_DAYS} days; it must be such as {example}")
    if frequency is Frequency.WEEKLY and any(day.nth is not None for day in days):
        raise refusal(f"counts within a month, which only monthly does; with weekly it must be such as {example}")
    if frequency is Frequency.MONTHLY and any(day.nth is None for day in days):
        raise refusal(f"does not say which one of the month; with monthly it must be such as {example}")
    return normal


def _check_text(text: str, *, most: int, controls: str) -> str:
    """Refuse control characters but those in ``controls``, and more than ``most`` code points or UTF-16 units."""
    for char in text:
        if unicodedata.category(char) in {"Cc", "Zl", "Zp"} and char not in controls:
            raise refusal(f"contains the control character U+{ord(char):04X}, which is not allowed")
    if len(text) > most:
        raise refusal(f"has {len(text)} characters; at most {most} are allowed")
    # Discord counts what lies beyond the basic plane, such as most emoji, as two.
    units = len(text.encode("utf-16-le")) // 2
    if units > most:
        raise refusal(f"has {units} characters as Discord counts them (an emoji is two); at most {most} are allowed")
    return text


BLANK: Final = "\u115f\u1160\u2800\u3164\uffa0"
"""Letters and symbols by their category that show nothing: the Hangul fillers and the empty Braille cell."""


def _check_name(text: str) -> str:
    name = _check_text(text.strip(), most=MAX_NAME, controls="")
    if all(unicodedata.category(char)[0] in "CMZ" or char in BLANK for char in name):
        raise refusal(f"shows nothing; it must be text of 1 to {MAX_NAME} characters")
    return name


def _check_description(text: str) -> str:
    return _check_text(text, most=MAX_DESCRIPTION, controls="\t\n\r")


def _read_time(value: object) -> object:
    if isinstance(value, str) and (match := _TIME.fullmatch(value)):
        return dt.time(int(match[1]), int(match[2]))
    return value


def _check_time(value: dt.time) -> dt.time:
    if value.tzinfo is not None or value.second or value.microsecond:
        raise refusal("is not a plain wall time; it must be to the minute and without a zone, such as 19:30")
    return value.replace(fold=0)


def _read_date(value: object) -> object:
    if not isinstance(value, str) or not _DATE.fullmatch(value):
        return value
    try:
        return dt.date.fromisoformat(value)
    except ValueError:
        raise refusal("is not a day of the calendar; it must be a date such as 2026-03-29") from None


def _read_id(value: object) -> object:
    # Many tools write a Discord id as text, since it is more than a JavaScript number holds.
    return int(value) if isinstance(value, str) and _ID.fullmatch(value) else value


def _read_choice(choices: type[Frequency] | type[MonthEnd]) -> Callable[[object], object]:
    by_text: dict[object, object] = {choice.value: choice for choice in choices}
    return lambda value: by_text.get(value, value) if isinstance(value, str) else value


def _check_timezone(key: str) -> str:
    if key not in known_timezones():
        raise PydanticCustomError(UNKNOWN_TIMEZONE, "unknown time zone")
    return key


def _check_hours(hours: int | None, info: ValidationInfo) -> int | None:
    days = info.data.get("generate_days_ahead")
    if hours is not None and days is not None and hours > days * HOURS_A_DAY:
        raise refusal(
            f"is more than {days * HOURS_A_DAY}, the hours of generate_days_ahead ({days} days): "
            "the reminder would be due before its event exists"
        )
    return hours


SeriesName = Annotated[
    str, AfterValidator(_check_name), Field(description=f"text of 1 to {MAX_NAME} characters on one line")
]
SeriesDescription = Annotated[
    str, AfterValidator(_check_description), Field(description=f"text of at most {MAX_DESCRIPTION} characters")
]
FrequencyField = Annotated[
    Frequency, BeforeValidator(_read_choice(Frequency)), Field(description=f"one of {', '.join(Frequency)}")
]
MonthEndField = Annotated[
    MonthEnd, BeforeValidator(_read_choice(MonthEnd)), Field(description=f"one of {', '.join(MonthEnd)}")
]
TimeOfDay = Annotated[
    dt.time,
    BeforeValidator(_read_time),
    AfterValidator(_check_time),
    Field(description="a time of day from 00:00 to 23:59, such as 19:30"),
]
Timezone = Annotated[
    str, AfterValidator(_check_timezone), Field(description="the name of a time zone, such as Europe/London")
]
StartDate = Annotated[
    dt.date,
    BeforeValidator(_read_date),
    Field(ge=_EARLIEST, le=_LATEST, description=f"a date from {_EARLIEST} to {_LATEST}, such as 2026-03-29"),
]
EndDate = Annotated[
    dt.date | None, BeforeValidator(_read_date), Field(description="a date such as 2026-03-29, or null for no end")
]
Hours = Annotated[
    int | None,
    Field(ge=MIN_INTEGER, description="a whole number of hours, or null for off"),
    AfterValidator(_check_hours),
]
OpensHours = Annotated[
    int | None,
    Field(
        ge=1,
        le=MAX_DAYS_AHEAD * HOURS_A_DAY,
        description=f"a whole number of hours from 1 to {MAX_DAYS_AHEAD * HOURS_A_DAY}, or null for at once",
    ),
]
_Id = Annotated[int, BeforeValidator(_read_id), Field(ge=1, lt=2**63)]
OptionalId = Annotated[_Id | None, Field(description="a Discord id, or null for none")]
RoleIds = Annotated[list[_Id], Field(max_length=MAX_ROLES, description=f"a list of at most {MAX_ROLES} Discord ids")]
Switch = Annotated[bool, Field(description="true or false")]
