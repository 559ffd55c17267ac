"""Everybody who said something about an event, as an admin reads it and as a file holds it: pure functions."""

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from bot.events.admin_wording import STANDS, named
from bot.message import timestamps
from bot.message.lists import listed
from bot.message.spreadsheet import csv_file
from models.states import ATTENDING, SignupStatus

if TYPE_CHECKING:
    from models.event import Event

COLUMNS: Final = ("user id", "name", "status", "position", "signed up at", "confirmed at", "no-show")


@dataclass(frozen=True, slots=True)
class Entry:
    """One person; ``position`` is their place in line, 1 for the first, None off it; ``name`` None: it is not known."""

    user_id: int
    status: SignupStatus
    signed_up_at: dt.datetime
    name: str | None = None
    position: int | None = None
    offered_until: dt.datetime | None = None
    confirmed_at: dt.datetime | None = None
    is_no_show: bool = False


def list_of(event: "Event", entries: Sequence[Entry]) -> str:
    """Return who said what, in one message; what does not fit is counted."""
    heading = f"{named(event)} {timestamps.full(event.scheduled_at)}: {STANDS[event.state]}."
    limit = "" if event.max_players is None else f" of {event.max_players}"
    came = [one for one in entries if one.status in ATTENDING]
    sections = (
        (f"Places ({len(came)}{limit})", came, 520),
        ("Wait-list", _with(entries, SignupStatus.WAITLISTED), 340),
        ("Maybe", _with(entries, SignupStatus.TENTATIVE), 160),
        ("Can't", _with(entries, SignupStatus.DECLINED), 160),
        ("Removed", _with(entries, SignupStatus.REMOVED), 120),
        ("No-shows", [one for one in came if one.is_no_show], 120),
    )
    lines = [
        f"{title if title.endswith(')') else f'{title} ({len(who)})'}: "
        f"{listed([_shown(one) for one in who], most, between=', ')}"
        for title, who, most in sections
        if who
    ]
    return "\n".join([heading, *(lines or ["Nobody has said anything about it yet."])])


def _with(entries: Sequence[Entry], status: SignupStatus) -> list[Entry]:
    return [one for one in entries if one.status is status]


def _shown(one: Entry) -> str:
    place = f"{one.position}. " if one.position is not None else ""
    tick = " ✓" if one.status is SignupStatus.CONFIRMED else ""
    offer = f" (offered until {timestamps.full(one.offered_until)})" if one.offered_until is not None else ""
    return f"{place}<@{one.user_id}>{tick}{offer}"


def csv_of(entries: Sequence[Entry]) -> bytes:
    """Return the same as a CSV file; times are in UTC."""
    rows = (
        (
            one.user_id,
            one.name,
            one.status.value,
            one.position,
            _at(one.signed_up_at),
            _at(one.confirmed_at),
            "yes" if one.is_no_show else "no",
        )
        for one in entries
    )
    return csv_file(COLUMNS, rows)


def _at(moment: dt.datetime | None) -> str:
    return moment.astimezone(dt.UTC).isoformat(timespec="seconds") if moment is not None else ""
