"""
Find a time zone by what was typed: its name, a city of it, its country, or a name it once had.

Names and countries are the packaged zone database's own (``zone.tab``, ``iso3166.tab`` and the links of ``tzdata.zi``);
the large cities that no zone is named after stand in :mod:`bot.times.zone_cities`.
"""

import datetime as dt
import functools
import unicodedata
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files
from typing import Final
from zoneinfo import ZoneInfo

from bot.message.choice import Found
from bot.message.limits import CHOICE_NAME, CHOICES, cut, length
from bot.times.known_timezones import known_timezones
from bot.times.zone_cities import CITIES

# What is offered before anything is typed: one of each offset where many people live.
_OFTEN: Final = (
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
_MOST_TYPED: Final = 100
# Letters that are no other letter with a mark, so that no decomposition takes the mark off.
_PLAIN: Final = str.maketrans(
    {"ø": "o", "ł": "l", "đ": "d", "\u0131": "i", "æ": "ae", "œ": "oe", "þ": "th", "-": " ", "_": " "}
)


@dataclass(frozen=True, slots=True)
class _Name:
    """What a zone may be typed as: ``plain`` is compared, ``shown`` told, and a place counts before its country."""

    plain: str
    shown: str
    is_country: bool = False


def search_timezones(typed: str, *, now: dt.datetime) -> list[Found]:
    """
    Return at most 25 zones by what was typed, each with its offset from UTC at ``now``; nothing typed: the usual ones.

    Letter case and accents aside. A name that is or begins so comes first, a place before a country, and a zone before
    the names that the database keeps for old times' sake.
    """
    wanted = _plain(typed[:_MOST_TYPED])
    if not wanted:
        return [_found(key, "", now) for key in _OFTEN if key in known_timezones()]
    order = {key: number for number, key in enumerate(_places())}
    found: list[tuple[int, bool, int, str, str]] = []
    for key, names in _names().items():
        holding = [(_rank(name, wanted), number) for number, name in enumerate(names) if wanted in name.plain]
        if holding:
            rank, number = min(holding)
            # The database lists a country's zones with the most people first.
            place = order.get(key, 0) if names[number].is_country else 0
            found.append((rank, key not in order, place, key, names[number].shown))
    return [_found(key, called, now) for *_, key, called in sorted(found)[:CHOICES]]


def _rank(name: _Name, wanted: str) -> int:
    if name.plain == wanted:
        return 0
    if name.plain.startswith(wanted):
        return 2 if name.is_country else 1
    return 3 if f" {wanted}" in name.plain else 4


def _found(key: str, called: str, now: dt.datetime) -> Found:
    ending = f" · {offset_of(key, now)}"
    also = f" ({called})" if called and called.replace(" ", "_") not in key else ""
    return Found(cut(key + also, CHOICE_NAME - length(ending)) + ending, key)


def offset_of(key: str, now: dt.datetime) -> str:
    """Return how far the clock of a zone is from UTC: ``UTC+05:45``."""
    hours_minutes = f"{now.astimezone(ZoneInfo(key)):%z}"
    return f"UTC{hours_minutes[:3]}:{hours_minutes[3:5]}"


def _plain(text: str) -> str:
    """Return a text without what a hurried person leaves out: case, accents, underscores, more than one space."""
    folded = unicodedata.normalize("NFKD", text.casefold()).translate(_PLAIN)
    return " ".join("".join(char for char in folded if not unicodedata.combining(char)).replace("/", " ").split())


@functools.cache
def _names() -> dict[str, tuple[_Name, ...]]:
    """Return what each zone may be typed as; read once a process."""
    shown: dict[str, list[tuple[str, bool]]] = defaultdict(list)
    for key in known_timezones():
        shown[key] += [(key.rpartition("/")[2].replace("_", " "), False), (key, False)]
    for city, key in CITIES.items():
        shown[key].append((city, False))
    for old, key in _links():
        if old not in _places():
            shown[key].append((old.rpartition("/")[2].replace("_", " "), False))
    for key, country in _places().items():
        shown[key].append((country, True))
    return {
        key: tuple(_Name(_plain(text), text, is_country) for text, is_country in shown[key])
        for key in known_timezones()
    }


@functools.cache
def _places() -> dict[str, str]:
    """Return the zones that stand for a place of today, with their country's English name, and UTC."""
    countries = dict(line.split("\t")[:2] for line in _lines("iso3166.tab"))
    rows = [line.split("\t") for line in _lines("zone.tab")]
    return {"UTC": "", **{row[2]: countries[row[0]] for row in rows}}


def _links() -> Iterator[tuple[str, str]]:
    """Yield each name that is another one's, with that other one."""
    for line in _lines("tzdata.zi"):
        if line.startswith("L "):
            _, target, link = line.split(" ")
            yield link, target


def _lines(name: str) -> Iterator[str]:
    text = files("tzdata").joinpath("zoneinfo", name).read_text("utf-8")
    return (line for line in text.splitlines() if line and not line.startswith("#"))
