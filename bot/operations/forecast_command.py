"""``tocsin forecast`` as a command: which guild, how far, and the lines that are printed; it changes nothing."""

import json
from collections.abc import Iterator
from typing import Literal

from bot.database import dialect_of, shown_url, sqlite_path
from bot.errors import UsageError
from bot.reminders.forecast import Foreseen
from bot.reminders.reminder_words import kind_words
from bot.transactions import Dialect
from models.guild_settings import GuildSettings

MOST_DAYS = 366
_MOST_NAMED = 20

Format = Literal["json", "text"]


def check_days(days: int) -> int:
    """
    Return how many days are asked for, 1 to 366.

    Raises:
        UsageError: it is no such number.
    """
    if not 1 <= days <= MOST_DAYS:
        raise UsageError(f"--days is {days}; allowed is a whole number from 1 to {MOST_DAYS}.")
    return days


def require_file(url: str) -> None:
    """
    Refuse a SQLite file that is not there: opening it would make an empty one.

    Raises:
        UsageError: it is not there.
    """
    if dialect_of(url) is Dialect.SQLITE and not sqlite_path(url).is_file():
        raise UsageError(f"There is no database at {shown_url(url)} yet: `tocsin run` or `tocsin import` makes one.")


async def chosen_guild(guild_id: int | None) -> int:
    """
    Return the guild that is meant: the one that is named, else the only one that the database has.

    Raises:
        UsageError: it has none, several, or not the one that is named.
    """
    known: list[int] = sorted([row.guild_id for row in await GuildSettings.all()])
    if not known:
        raise UsageError("The database has no guild yet: import a schedule with `tocsin import`, or create an event.")
    named = ", ".join(str(one) for one in known[:_MOST_NAMED])
    named += f" and {len(known) - _MOST_NAMED:,} more" if len(known) > _MOST_NAMED else ""
    if guild_id is None and len(known) == 1:
        return known[0]
    if guild_id is None:
        raise UsageError(f"The database has {len(known):,} guilds, so say which with --guild: {named}.")
    if guild_id not in known:
        raise UsageError(f"The database has no guild {guild_id}; it has {named}.")
    return guild_id


def lines(seen: list[Foreseen], form: Format) -> Iterator[str]:
    """Yield a line for each send and non-send."""
    if form == "text" and not seen:
        yield "Nothing is to be sent in that time."
    for one in seen:
        yield json.dumps(as_row(one), ensure_ascii=False) if form == "json" else _as_text(one)


def as_row(one: Foreseen) -> dict[str, object]:
    """Return one send or non-send as JSON has it; ``event`` is null for one that is not made yet."""
    return {
        "at": one.at.isoformat(),
        "kind": one.kind,
        "series": one.series,
        "occurrence": one.occurrence.isoformat(),
        "channel": one.channel_id,
        "recipients": one.recipients,
        "reason": one.reason.value if one.reason is not None else None,
        "event": one.event_id,
        "slot": one.slot,
    }


def _as_text(one: Foreseen) -> str:
    where = f"in channel {one.channel_id}" if one.channel_id is not None else ""
    people = "person" if one.recipients == 1 else "people"
    whom = f"to {one.recipients:,} {people}" if one.recipients else ""
    told = (
        f"not sent: {one.reason.value}" if one.reason is not None else " ".join(part for part in (where, whom) if part)
    )
    # A name may hold a line break, or what a terminal takes for a command.
    name = "".join(char if char.isprintable() else " " for char in one.name)
    moment, begins = (f"{time:%Y-%m-%d %H:%M:%S}Z" for time in (one.at, one.occurrence))
    return f"{moment}  {kind_words(one.kind)} of {name} ({begins}): {told or 'sent'}"
