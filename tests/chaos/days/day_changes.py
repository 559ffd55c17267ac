"""What people and admins change over a day, drawn apart from the rest of the plan: edits, dates, offers, opt-outs."""

import dataclasses
import datetime as dt
import json
import random
from collections.abc import Callable, Iterator
from typing import Any

from bot.events.signups.rules import Press
from tests.chaos.days.day_plan import ZONES, Act, ActKind, DayPlan, Entry, plan_day

_UNTIL = 24 * 3600
_WEEKDAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
_KINDS = ("signup_reminder", "attendance_reminder", "profile_reminder", "time_changed", "series")


def plan_changed_day(seed: int) -> DayPlan:
    """Return the day of a seed with changes: places of some series are offered, and much is edited."""
    chance = random.Random(f"changes {seed}")
    plan = plan_day(seed)
    series = tuple(entry | {"signup_offer_minutes": chance.choice((None, 10, 45, 240))} for entry in plan.series)
    drawn = [*_edits(chance, plan), *_crowds(chance, plan)]
    # Drawn apart, so that what a seed drew before stays as it was.
    more = random.Random(f"more changes {seed}")
    drawn = [*(_in_more_ways(more, one) for one in drawn), *_schedules(more, plan)]
    acts = sorted([*plan.acts, *drawn], key=lambda one: one.at)
    return dataclasses.replace(plan, series=series, acts=tuple(acts))


def _edits(chance: random.Random, plan: DayPlan) -> Iterator[Act]:
    kinds = [
        *[ActKind.EDIT_SERIES] * chance.randint(0, 3),
        *[ActKind.EDIT_EVENT] * chance.randint(0, 3),
        *[ActKind.MOVE_EVENT] * chance.randint(1, 3),
        *[ActKind.SKIP, ActKind.UNSKIP] * chance.randint(0, 2),
        *[ActKind.EXTRA] * chance.randint(0, 1),
        *[ActKind.SPLIT] * (chance.random() < 0.4),
        *[ActKind.DELETE_SERIES] * (chance.random() < 0.2),
        *[ActKind.NOTIFY] * chance.randint(0, 3),
        *[ActKind.REMOVE] * chance.randint(0, 2),
    ]
    for kind in kinds:
        what = _WHAT[kind](chance) if kind in _WHAT else {}
        if kind not in {ActKind.NOTIFY, ActKind.REMOVE} and chance.random() < 0.2:
            what["confirmed_after"] = chance.randint(1, 900)
        yield Act(
            _at(plan, chance.randrange(_UNTIL)),
            kind,
            chance.randrange(plan.members),
            chance.randrange(1000) / 1000,
            json.dumps(what) if what else "",
        )


def _in_more_ways(chance: random.Random, act: Act) -> Act:
    """Let some moves be told to nobody, and some new schedules take along what was edited by itself."""
    given = {ActKind.MOVE_EVENT: {"tell": False}, ActKind.EDIT_SERIES: {"tick": True}}.get(act.kind)
    if given is None or chance.random() < 0.6:
        return act
    return dataclasses.replace(act, what=json.dumps(json.loads(act.what) | given))


def _schedules(chance: random.Random, plan: DayPlan) -> Iterator[Act]:
    """Yield other zones of a series, and new schedules right after an event of theirs was edited by itself."""
    for _ in range(chance.randint(0, 1)):
        when, which = chance.randrange(_UNTIL), chance.randrange(1000) / 1000
        zone = {"timezone": chance.choice(ZONES), "tick": chance.random() < 0.5}
        yield Act(_at(plan, when), ActKind.EDIT_SERIES, 0, which, json.dumps(zone))
    for _ in range(chance.randint(0, 1)):
        begins, which = chance.randrange(_UNTIL - 3600), chance.randrange(1000) / 1000
        if chance.random() < 0.5:
            yield Act(_at(plan, begins), ActKind.MOVE_EVENT, 0, which, json.dumps(_WHAT[ActKind.MOVE_EVENT](chance)))
        else:
            yield Act(_at(plan, begins), ActKind.EDIT_EVENT, 0, which, json.dumps(_of_event(chance)))
        time = {"time_of_day": f"{chance.randrange(24):02}:{chance.choice((10, 40)):02}", "tick": chance.random() < 0.7}
        yield Act(_at(plan, begins + chance.randint(60, 3600)), ActKind.EDIT_SERIES, 0, which, json.dumps(time))


def _crowds(chance: random.Random, plan: DayPlan) -> Iterator[Act]:
    """Yield people who want the same event, some who give their place back, and answers of those next in line."""
    for _ in range(chance.randint(0, 2)):
        which, begins = chance.randrange(1000) / 1000, chance.randrange(_UNTIL - 4 * 3600)
        for who in range(plan.members):
            yield Act(_at(plan, begins + 10 * who), ActKind.PRESS, who, which, Press.SIGN_UP.value)
        for _ in range(chance.randint(1, 3)):
            kind, what = chance.choice(((ActKind.REMOVE, ""), (ActKind.PRESS, Press.CANT.value)))
            yield Act(_at(plan, begins + chance.randint(100, 7200)), kind, chance.randrange(3), which, what)
        for _ in range(chance.randint(1, 3)):
            what = chance.choice(("accept", "refuse"))
            yield Act(
                _at(plan, begins + chance.randint(200, 10_000)), ActKind.ANSWER, 0, chance.randrange(1000) / 1000, what
            )


def _at(plan: DayPlan, seconds: int) -> dt.datetime:
    return plan.start + dt.timedelta(seconds=seconds)


def _of_series(chance: random.Random) -> Entry:
    return chance.choice(
        (
            {"time_of_day": f"{chance.randrange(24):02}:{chance.choice((5, 20, 50)):02}"},
            {"frequency": "weekly", "day_of_week": ",".join(sorted(chance.sample(_WEEKDAYS, 4)))},
            {"frequency": "daily"},
            {"discord_announcement_hours": chance.choice((1, 5, 15, 24))},
            {"discord_signup_reminder_hours": chance.choice((1, 4, 12))},
            {"discord_confirm_attendance_hours": chance.choice((1, 3, 6))},
            {"discord_profile_reminder_hours": chance.choice((2, 8))},
            {"signup_opens_hours": chance.choice((0, 6, 24))},
            {"name": f"Renamed {chance.randrange(1000)}"},
            {"max_players": chance.choice((0, 1, 4)), "discord_announcement_hours": chance.choice((2, 10))},
        )
    )


def _of_event(chance: random.Random) -> Entry:
    return chance.choice(
        (
            {"max_players": chance.choice((0, 1, 2, 5))},
            {"max_players": chance.choice((0, 1, 3)), "duration_minutes": chance.choice((45, 90))},
            {"name": f"Special {chance.randrange(1000)}"},
            {"discord_announcement_hours": chance.choice((0, 1, 4, 16))},
            {"discord_confirm_attendance_hours": chance.choice((0, 1, 4))},
        )
    )


_WHAT: dict[ActKind, Callable[[random.Random], dict[str, Any]]] = {
    ActKind.EDIT_SERIES: _of_series,
    ActKind.EDIT_EVENT: _of_event,
    ActKind.SPLIT: lambda chance: {"name": f"Split {chance.randrange(1000)}"} | _of_series(chance),
    ActKind.MOVE_EVENT: lambda chance: {"by_minutes": chance.choice((-120, -30, 45, 180, 600, 1440))},
    ActKind.SKIP: lambda chance: {"date": chance.randrange(1000) / 1000},
    ActKind.UNSKIP: lambda chance: {"date": chance.randrange(1000) / 1000},
    ActKind.EXTRA: lambda chance: {"in_minutes": chance.randint(30, 900)},
    ActKind.NOTIFY: lambda chance: {"turn": chance.choice(("off", "off", "on")), "kind": chance.choice(_KINDS)},
}
