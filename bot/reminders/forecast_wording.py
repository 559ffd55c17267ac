"""What an admin reads of what is to come: a pure function of the forecast, by day, with Discord's own times."""

import datetime as dt
import itertools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final
from zoneinfo import ZoneInfo

from bot.events.admin_wording import listed
from bot.message import timestamps
from bot.message.escaping import escape
from bot.message.spreadsheet import csv_file
from bot.reminders.reminder_words import kind_words, reason_words

if TYPE_CHECKING:
    from bot.reminders.forecast import Foreseen

FILE_NAME: Final = "forecast.csv"
# A file that Discord takes from anybody's bot; what lies beyond is told by a forecast for fewer days.
_MOST_ROWS: Final = 20_000
_COLUMNS: Final = ("at (UTC)", "message", "event", "begins (UTC)", "channel", "people", "not sent since")


def forecast_text(seen: Sequence["Foreseen"], zone: ZoneInfo, *, days: int, now: dt.datetime) -> str:
    """Return the list of what is sent and what is not, as far as it fits one message; the rest is counted."""
    span = "24 hours" if days == 1 else f"{days} days"
    if not seen:
        return f"Nothing is to be sent in the next {span}."
    heading = f"What I send in the next {span}, as of {timestamps.full(now)}, if nobody changes anything:"
    return listed(heading, list(_lines(seen, zone)), total=len(seen))


def left_out(seen: Sequence["Foreseen"], text: str) -> bytes | None:
    """Return the whole list as a file for a spreadsheet, None where the text shows all of it."""
    if text.count("\n- ") == len(seen):
        return None
    return csv_file(_COLUMNS, (_row(one) for one in seen[:_MOST_ROWS]))


def _row(one: "Foreseen") -> tuple[object, ...]:
    at, begins = (f"{moment.astimezone(dt.UTC):%Y-%m-%d %H:%M:%S}" for moment in (one.at, one.occurrence))
    # As text: a spreadsheet rounds a number as long as an id.
    channel = f"#{one.channel_id}" if one.channel_id is not None else None
    reason = reason_words(one.reason) if one.reason is not None else None
    return at, kind_words(one.kind), one.name, begins, channel, one.recipients, reason


def _lines(seen: Sequence["Foreseen"], zone: ZoneInfo) -> Iterator[str]:
    """Yield a line for each; the first of a day, by the server's clock, has the day above it."""
    for _, of_day in itertools.groupby(seen, key=lambda one: one.at.astimezone(zone).date()):
        for number, one in enumerate(of_day):
            above = "" if number else f"**{timestamps.day(one.at)}**\n"
            yield above + _line(one)


def _line(one: "Foreseen") -> str:
    what = f"{kind_words(one.kind)} of {escape(one.name)} ({timestamps.short(one.occurrence)})"
    if one.reason is not None:
        return f"- {timestamps.time_of_day(one.at)} ~~{what}~~ not sent: {reason_words(one.reason)}"
    where = f" in <#{one.channel_id}>" if one.channel_id is not None else ""
    people = "1 person" if one.recipients == 1 else f"{one.recipients:,} people" if one.recipients else ""
    whom = f" {'naming' if where else 'to'} {people}" if people else ""
    return f"- {timestamps.time_of_day(one.at)} {what}{where}{whom}"
