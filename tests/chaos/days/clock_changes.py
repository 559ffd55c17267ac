"""
R10: time itself goes wrong: clocks are set, machines stand still, zones change their clocks, months end early.

A unit is four days around a clock change of one zone (or around 29 February, or the end of a short month), with a
daily, a weekly and a monthly series whose wall time lies at the change, and everything that is due falls into it.
"""

import datetime as dt
import functools
import random
from zoneinfo import ZoneInfo

from bot.demo.fault_plan import Fault, FaultKind
from bot.events.signups.rules import Press
from tests.chaos.days.bot_days import run_days
from tests.chaos.days.day_plan import Act, ActKind, DayPlan, Entry, reminders
from tests.chaos.proof import Figures, Finding, Proof, Share, none_of
from tests.schedules import expected_occurrences

ZONES = (
    "Australia/Lord_Howe",
    "Pacific/Apia",
    "Africa/Casablanca",
    "Asia/Gaza",
    "Europe/Dublin",
    "Europe/Berlin",
    "Europe/London",
    "America/New_York",
    "America/St_Johns",
    "America/Sao_Paulo",
    "Africa/Cairo",
    "Asia/Beirut",
    "Asia/Jerusalem",
    "Pacific/Auckland",
    "Pacific/Chatham",
    "America/Santiago",
    "Antarctica/Troll",
    "America/Nuuk",
    "Pacific/Easter",
    "Pacific/Norfolk",
    "Asia/Tehran",
    "America/Havana",
    "Africa/El_Aaiun",
    "Australia/Adelaide",
    "Asia/Amman",
    "Asia/Kathmandu",
)
"""Among them half hours and three quarters, summer time that is negative, changes at midnight, and none at all."""

_FIRST, _LAST = dt.datetime(2017, 1, 1, tzinfo=dt.UTC), dt.datetime(2031, 1, 1, tzinfo=dt.UTC)
_DATES = (dt.date(2028, 2, 29), dt.date(2027, 2, 28), dt.date(2028, 1, 31), dt.date(2026, 4, 30), dt.date(2027, 12, 31))
_DAY, _HOUR, _MINUTE = dt.timedelta(days=1), dt.timedelta(hours=1), dt.timedelta(minutes=1)
_STEPS = (_HOUR, -_HOUR, _DAY, -_DAY)
_HOURS = 98
_SPECIAL = 2
_SEEDS = 6 * len(ZONES)
_LEAST_ZONES = 20
_FORWARD, _BACK = "zones whose clock went forward", "zones whose clock went back"
_WEEKDAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")


@functools.lru_cache(maxsize=64)
def changes(zone: str) -> tuple[dt.datetime, ...]:
    """Return when the clock of a zone changes, both ways, to the minute."""
    known, found = ZoneInfo(zone), []
    day = _FIRST
    while day < _LAST:
        if day.astimezone(known).utcoffset() != (day + _DAY).astimezone(known).utcoffset():
            low, high = day, day + _DAY
            while high - low > _MINUTE:
                middle = low + (high - low) // 2
                same = middle.astimezone(known).utcoffset() == day.astimezone(known).utcoffset()
                low, high = (middle, high) if same else (low, middle)
            found.append(high.replace(second=0, microsecond=0))
        day += _DAY
    return tuple(found)


def changed(seed: int) -> dt.datetime | None:
    """Return the clock change that the days of a seed lie around, None: a special date."""
    turn, place = divmod(seed, len(ZONES))
    known = changes(ZONES[place])
    if turn % 3 == _SPECIAL or len(known) < 2:
        return None
    # Changes of a zone take turns there and back, but for one for good: so it is asked which way each goes.
    one_way = [at for at in known if goes_forward(ZONES[place], at) is (turn % 3 == 0)]
    return random.Random(f"which change {seed}").choice(one_way or list(known))


def goes_forward(zone: str, change: dt.datetime) -> bool:
    """Return whether a zone's clock is set forward at a change."""
    known = ZoneInfo(zone)
    before, after = ((change + span).astimezone(known).utcoffset() for span in (-_HOUR, _HOUR))
    assert before is not None
    assert after is not None
    return after > before


def plan_change(seed: int) -> DayPlan:
    """Return the days of a seed: zone after zone, around a change one way, the other way, and a special date."""
    chance = random.Random(f"change {seed}")
    zone = ZONES[seed % len(ZONES)]
    change = changed(seed)
    if change is None:
        noon = dt.datetime.combine(chance.choice(_DATES), dt.time(12), ZoneInfo(zone))
        change = noon.astimezone(dt.UTC)
    start = (change - 2 * _DAY).replace(hour=0, minute=0)
    series = tuple(_series(chance, zone, change))
    return DayPlan(
        seed=seed,
        start=start,
        series=series,
        hours=_HOURS,
        members=4,
        follows=chance.random() < 0.5,
        faults=tuple(sorted(_faults(chance, series, start), key=lambda one: one.at)),
        acts=tuple(
            Act(
                start + chance.random() * 4 * _DAY,
                ActKind.PRESS,
                chance.randrange(4),
                chance.randrange(1000) / 1000,
                Press.SIGN_UP,
            )
            for _ in range(24)
        ),
    )


def _series(chance: random.Random, zone: str, change: dt.datetime) -> list[Entry]:
    local = change.astimezone(ZoneInfo(zone))
    found = []
    for number, frequency in enumerate(("daily", "weekly", "monthly", "yearly")):
        # Within the hours before and after the change, so that some fall into its gap or come twice.
        wall = (local + chance.randrange(-150, 90, 5) * _MINUTE).replace(tzinfo=None)
        first = wall.date()
        if frequency in {"monthly", "yearly"}:
            # The 31st, or 29 February, where the month has no such day or just has it.
            first = dt.date(2016, 2, 29) if local.month == 2 and frequency == "yearly" else first
            first = dt.date(2016, 1, 31) if frequency == "monthly" and local.day > 27 else first
        first = first if first.year < change.year else first - 28 * _DAY if frequency != "yearly" else first
        found.append(
            {
                "name": f"{frequency} {number}",
                "frequency": frequency,
                "interval": 1,
                "day_of_week": _WEEKDAYS[wall.weekday()] if frequency == "weekly" else None,
                "time_of_day": wall.strftime("%H:%M"),
                "timezone": zone,
                "starts_at": first.isoformat(),
                "month_end": chance.choice(("last_day", "last_day", "skip")),
                "generate_days_ahead": chance.randint(1, 6),
                "duration_minutes": 60,
                "max_players": chance.choice((None, 2)),
                "signup_opens_hours": chance.choice((None, 24, 72)),
                **reminders(chance),
            }
        )
    return found


def _faults(chance: random.Random, series: tuple[Entry, ...], start: dt.datetime) -> list[Fault]:
    """Return steps and suspends right before something is due, while it is sent, or when its event begins."""
    starts = [
        (at, entry)
        for entry in series
        for at, _ in expected_occurrences(entry, start.date(), (start + 5 * _DAY).date())
        if start < at < start + 4 * _DAY
    ]
    found = []
    for _ in range(chance.randint(2, 4)):
        at, entry = chance.choice(starts) if starts else (start + _DAY, series[0])
        switch = chance.choice(("announcement", "signup_reminder", "confirm_attendance", "profile_reminder"))
        due = at - entry[f"discord_{switch}_hours"] * _HOUR
        kind = chance.choice(
            (
                FaultKind.CLOCK_STEP,
                FaultKind.SUSPEND,
                FaultKind.SUSPEND_BEFORE,
                FaultKind.SUSPEND_DURING,
                FaultKind.SUSPEND_AFTER,
            )
        )
        is_met = kind not in {FaultKind.CLOCK_STEP, FaultKind.SUSPEND}
        around = due if is_met else chance.choice((due, at)) - chance.randint(0, 40) * _MINUTE
        longest = 480 if chance.random() < 0.5 else 60
        found.append(
            Fault(
                at=max(start + _HOUR, around),
                kind=kind,
                lasts=chance.randint(10, longest) * _MINUTE,
                step=chance.choice(_STEPS) if kind is FaultKind.CLOCK_STEP else dt.timedelta(0),
            )
        )
    return found


def run(share: Share) -> Figures:
    """Live the days of a share."""
    figures = run_days(share, plan_change)
    for seed in share.seeds:
        place, change = seed % len(ZONES), changed(seed)
        if change is not None:
            figures.sample(_FORWARD if goes_forward(ZONES[place], change) else _BACK, place)
    return figures


def judge(figures: Figures) -> list[Finding]:
    """Return what must be true of all of them."""
    required, met = sum(figures.samples["required"]), sum(figures.samples["faults met"])
    told = sum(figures.samples["recorded as not sent"])
    found = [
        *none_of(figures, "lost", "duplicated", "unexpected", "unknown"),
        Finding(f"{required:.0f} had to be visible, {told:.0f} recorded as too late", required > 0),
        Finding(f"{met:.0f} steps and suspends", met > 0),
    ]
    if figures.runs >= _SEEDS:
        # Fewer seeds do not reach every zone.
        both = len(set(figures.samples.get(_FORWARD, ())) & set(figures.samples.get(_BACK, ())))
        found.append(Finding(f"both ways in {both} zones (at least {_LEAST_ZONES})", both >= _LEAST_ZONES))
    return found


PROOFS = (
    Proof(
        row="R10",
        promise=f"clocks set, machines suspended, clock changes of {len(ZONES)} zones: nothing lost or doubled",
        run=run,
        judge=judge,
        seeds=_SEEDS,
    ),
)
