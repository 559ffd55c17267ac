"""
The plan of a simulated day as data: which series, who does what, what goes wrong, each with its moment.

A plan is made of its seed alone, is written to a file and read again, and can be shortened: what happens picks its
event or person by a share of those that are there, so that it means something whatever else is left out.
"""

import dataclasses
import datetime as dt
import json
import random
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from bot.demo.fault_plan import Fault, FaultKind, plan_faults
from bot.events.signups.rules import Press

if TYPE_CHECKING:
    from collections.abc import Callable

Entry = dict[str, Any]

HOURS = 26
_FAULTS_UNTIL = dt.timedelta(hours=24)
_FIRST_DAY = dt.date(2026, 1, 2)
_DAYS = 1_400
ZONES = (
    "Europe/Berlin",
    "Europe/London",
    "America/New_York",
    "America/St_Johns",
    "Australia/Lord_Howe",
    "Asia/Kathmandu",
    "Asia/Tokyo",
    "Africa/Casablanca",
    "Pacific/Chatham",
    "UTC",
)


class ActKind(StrEnum):
    """What people and admins do."""

    PRESS = "press"
    CLICK = "click"
    SUBSCRIBE = "subscribe"
    UNSUBSCRIBE = "unsubscribe"
    FILL_IN = "fill_in"
    CREATE = "create"
    CREATE_SERIES = "create_series"
    CANCEL = "cancel"
    MOVE = "move"
    PAUSE = "pause"
    RESUME = "resume"
    EDIT_SERIES = "edit_series"
    SPLIT = "split"
    DELETE_SERIES = "delete_series"
    SKIP = "skip"
    UNSKIP = "unskip"
    EXTRA = "extra"
    EDIT_EVENT = "edit_event"
    MOVE_EVENT = "move_event"
    REMOVE = "remove"
    ANSWER = "answer"
    NOTIFY = "notify"


@dataclass(frozen=True, slots=True)
class Act:
    """
    One thing that somebody does.

    ``who`` counts the members from 0. ``which``, from 0 up to 1, picks the event or series. ``what``: the button, the
    move, or the fields of what is created.
    """

    at: dt.datetime
    kind: ActKind
    who: int = 0
    which: float = 0.0
    what: str = ""

    def __str__(self) -> str:
        return f"{self.kind} {self.what} by {self.who} which {self.which}"


@dataclass(frozen=True, slots=True)
class DayPlan:
    """One simulated day; ``follows``: the bot goes by a database whose clock is right."""

    seed: int
    start: dt.datetime
    series: tuple[Entry, ...]
    hours: int = HOURS
    members: int = 6
    follows: bool = True
    faults: tuple[Fault, ...] = ()
    acts: tuple[Act, ...] = ()

    @property
    def end(self) -> dt.datetime:
        return self.start + dt.timedelta(hours=self.hours)

    @property
    def happenings(self) -> list[Fault | Act]:
        """Return what happens, in its order."""
        return sorted([*self.faults, *self.acts], key=lambda one: one.at)

    def with_only(self, happenings: list[Fault | Act]) -> "DayPlan":
        """Return the same day with these happenings and no others."""
        return dataclasses.replace(
            self,
            faults=tuple(one for one in happenings if isinstance(one, Fault)),
            acts=tuple(one for one in happenings if isinstance(one, Act)),
        )

    def as_json(self) -> str:
        return json.dumps(dataclasses.asdict(self), default=_plain, indent=1)

    def as_script(self) -> str:
        """Return what happens, one line each."""
        return "\n".join(f"  {one.at:%d %H:%M:%S} {one}" for one in self.happenings)


def _plain(value: object) -> object:
    if isinstance(value, dt.datetime):
        return value.isoformat()
    if isinstance(value, dt.timedelta):
        return value.total_seconds()
    raise TypeError(type(value))


def read_plan(text: str) -> DayPlan:
    """Return the plan that :meth:`DayPlan.as_json` wrote."""
    data = json.loads(text)
    faults = [
        Fault(
            at=dt.datetime.fromisoformat(one["at"]),
            kind=FaultKind(one["kind"]),
            lasts=dt.timedelta(seconds=one["lasts"]),
            times=one["times"],
            which=one["which"],
            step=dt.timedelta(seconds=one["step"]),
        )
        for one in data["faults"]
    ]
    acts = [
        Act(dt.datetime.fromisoformat(one["at"]), ActKind(one["kind"]), one["who"], one["which"], one["what"])
        for one in data["acts"]
    ]
    start = dt.datetime.fromisoformat(data["start"])
    lists = {"series": tuple(data["series"]), "faults": tuple(faults), "acts": tuple(acts)}
    return DayPlan(**(data | {"start": start} | lists))


def plan_day(seed: int) -> DayPlan:
    """Return the day of a seed."""
    chance = random.Random(f"day {seed}")
    start = dt.datetime.combine(_FIRST_DAY + dt.timedelta(days=chance.randrange(_DAYS)), dt.time(0), dt.UTC)
    members = chance.randint(3, 7)
    return DayPlan(
        seed=seed,
        start=start,
        series=tuple(_series(chance, number, start.date()) for number in range(chance.randint(3, 4))),
        members=members,
        follows=chance.random() < 0.7,
        faults=tuple(plan_faults(chance.randint(5, 12), chance=chance, start=start, end=start + _FAULTS_UNTIL)),
        acts=tuple(sorted(_acts(chance, start, members), key=lambda one: one.at)),
    )


def _series(chance: random.Random, number: int, today: dt.date) -> Entry:
    daily = chance.random() < 0.6
    opens = chance.choice([None, 3, 12, 30, 48])
    return {
        "name": f"Series {number}",
        "frequency": "daily" if daily else "weekly",
        "interval": 1,
        "day_of_week": None
        if daily
        else ",".join(sorted(chance.sample(["MO", "TU", "WE", "TH", "FR", "SA", "SU"], 3))),
        "time_of_day": f"{chance.randrange(24):02}:{chance.choice((0, 15, 30, 45)):02}",
        "timezone": chance.choice(ZONES),
        "starts_at": (today - dt.timedelta(days=chance.randint(0, 40))).isoformat(),
        "generate_days_ahead": chance.randint(1, 3),
        "duration_minutes": chance.choice((30, 120)),
        "max_players": chance.choice((None, 1, 2, 3)),
        "signup_opens_hours": opens,
        **reminders(chance),
    }


def reminders(chance: random.Random) -> Entry:
    """Return all four reminders at hours of a day or less."""
    return {
        "discord_announcement": True,
        "discord_announcement_hours": chance.choice((1, 2, 6, 12, 20, 24)),
        "discord_signup_reminder": True,
        "discord_signup_reminder_hours": chance.choice((1, 3, 8, 16, 24)),
        "discord_confirm_attendance": True,
        "discord_confirm_attendance_hours": chance.choice((1, 2, 5)),
        "discord_confirm_attendance_dm": chance.random() < 0.8,
        "discord_profile_reminder": True,
        "discord_profile_reminder_hours": chance.choice((1, 4, 10, 24)),
    }


def _acts(chance: random.Random, start: dt.datetime, members: int) -> list[Act]:
    kinds = [
        *[ActKind.PRESS] * chance.randint(15, 30),
        *[ActKind.CLICK] * chance.randint(1, 3),
        *[ActKind.CREATE] * chance.randint(0, 2),
        *[ActKind.CREATE_SERIES] * (chance.random() < 0.3),
        *[ActKind.CANCEL] * chance.randint(0, 2),
        *[ActKind.MOVE] * chance.randint(0, 3),
        *[ActKind.PAUSE, ActKind.RESUME] * chance.randint(0, 1),
        *[ActKind.SUBSCRIBE, ActKind.UNSUBSCRIBE] * chance.randint(0, 2),
        *[ActKind.FILL_IN] * chance.randint(0, 2),
    ]
    return [
        Act(
            at=start + dt.timedelta(seconds=chance.randrange(int(_FAULTS_UNTIL.total_seconds()))),
            kind=kind,
            who=chance.randrange(members),
            which=chance.randrange(1000) / 1000,
            what=_what(chance, kind, start.date()),
        )
        for kind in kinds
    ]


def _what(chance: random.Random, kind: ActKind, today: dt.date) -> str:
    said: dict[ActKind, Callable[[], str]] = {
        ActKind.PRESS: lambda: chance.choices(list(Press), weights=[6, 1, 2, 2, 1])[0].value,
        ActKind.CLICK: lambda: chance.choice(("Sign up", "Maybe", "Can't")),
        ActKind.MOVE: lambda: chance.choice(("open-signups", "roll-call", "roll-call", "reopen", "start")),
        ActKind.CREATE: lambda: json.dumps(_one_off(chance)),
        ActKind.CREATE_SERIES: lambda: json.dumps(_series(chance, 9, today)),
    }
    return said[kind]() if kind in said else ""


def one_off_entry(options: Entry) -> Entry:
    """Return what the options of an event without a series ask for, by the fields of a series' entry."""
    return {
        "max_players": options["places"],
        "signup_opens_hours": options["signups_open_hours"] or None,
        "discord_announcement": bool(options["announce_hours"]),
        "discord_announcement_hours": options["announce_hours"],
        "discord_confirm_attendance": bool(options["attendance_hours"]),
        "discord_confirm_attendance_hours": options["attendance_hours"],
        "discord_confirm_attendance_dm": True,
        "discord_profile_reminder": bool(options["profile_hours"]),
        "discord_profile_reminder_hours": options["profile_hours"],
    }


def _one_off(chance: random.Random) -> Entry:
    return {
        "in_minutes": chance.randint(20, 900),
        "announce_hours": chance.choice((0, 1, 3, 12)),
        "attendance_hours": chance.choice((0, 1, 2)),
        "profile_hours": chance.choice((0, 1, 4)),
        "signups_open_hours": chance.choice((0, 2, 168)),
        "places": chance.choice((None, 2)),
    }
