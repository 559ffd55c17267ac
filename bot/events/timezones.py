"""Find a time zone by what was typed of its name or its city."""

from bot.events.series_fields import known_timezones
from bot.message.limits import CHOICES

# What is offered before anything is typed: one of each offset where many people live.
_OFTEN = (
    "UTC",
    "Europe/London",
    "Europe/Berlin",
    "Europe/Paris",
    "Europe/Madrid",
    "Europe/Warsaw",
    "Europe/Kyiv",
    "Europe/Istanbul",
    "America/New_York",
    "America/Chicago",
    "America/Denver",
    "America/Los_Angeles",
    "America/Toronto",
    "America/Sao_Paulo",
    "America/Mexico_City",
    "Africa/Cairo",
    "Africa/Lagos",
    "Africa/Johannesburg",
    "Asia/Dubai",
    "Asia/Kolkata",
    "Asia/Singapore",
    "Asia/Shanghai",
    "Asia/Tokyo",
    "Australia/Sydney",
    "Pacific/Auckland",
)


def search_timezones(typed: str) -> list[str]:
    """
    Return at most 25 zones by what was typed, letter case aside: those whose city is or begins so, then the others.

    A space stands for the underscore of the names. Nothing typed: those that are used most.
    """
    wanted = " ".join(typed.split()).replace(" ", "_").casefold()
    if not wanted:
        return [key for key in _OFTEN if key in known_timezones()][:CHOICES]
    holding = sorted(key for key in known_timezones() if wanted in key.casefold())
    return sorted(holding, key=lambda key: _rank(key.casefold(), wanted))[:CHOICES]


def _rank(key: str, wanted: str) -> tuple[bool, ...]:
    city = key.rpartition("/")[2]
    return (key != wanted, city != wanted, not (city.startswith(wanted) or key.startswith(wanted)))
