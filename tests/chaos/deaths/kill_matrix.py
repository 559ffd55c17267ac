"""
R1 and R2: SIGKILL at every named point of the way, and what the successors make of it.

A seed kills once at every eighth of the points, the next seed at the next ones; the nonce window turns with both, so
that twenty-four seeds in a row make the whole matrix of points and windows. Everything else is chance of the seed: the
people, the passing of the point, whether the process comes back or another takes its work over, how long that takes,
and in some whether the successor dies too. All of it is in virtual time; the deaths are real ones of real processes.
"""

import asyncio
import datetime as dt
import pickle
from collections.abc import Iterator, Sequence

from bot.database import opened
from tests.chaos.deaths.kill_oracle import REPEAT, RESEND, RESEND_AFTER, RESTART, STUCK, TAKE_OVER
from tests.chaos.deaths.kill_points import POINTS
from tests.chaos.deaths.kill_run import Matrix, Unit
from tests.chaos.proof import Figures, Finding, Proof, Share, at_most, none_of, percentile

WINDOWS: tuple[dt.timedelta | None, ...] = (dt.timedelta(0), dt.timedelta(seconds=180), None)
"""How long Discord remembers a nonce; None: for ever."""

SEEDS_FOR_ALL_POINTS = 8
"""More, where there are more points: two hundred seeds are to take a third of an hour on each database."""

_LANES = 2


def units(seed: int, only: str = "") -> Iterator[Unit]:
    """Yield the kills of one seed: an eighth of the points, each under one of the windows; ``only`` as in a share."""
    for place, point in enumerate(POINTS):
        if (
            any(words in point.name for words in only.split("|"))
            and place % SEEDS_FOR_ALL_POINTS == seed % SEEDS_FOR_ALL_POINTS
        ):
            turn = place // SEEDS_FOR_ALL_POINTS + seed // SEEDS_FOR_ALL_POINTS
            yield Unit(seed, point, WINDOWS[turn % len(WINDOWS)])


async def _lane(share: Share, kills: Sequence[Unit], broken: str | None) -> Figures:
    figures = Figures()
    assert share.dialect is not None
    async with share.databases.fresh(share.dialect) as url, opened(url):
        matrix = Matrix(share, url, broken=broken)
        try:
            for unit in kills:
                figures.add(await matrix.tried(unit))
        finally:
            matrix.close()
    return figures


async def _all(share: Share, kills: Sequence[Unit], broken: str | None) -> Figures:
    figures = Figures()
    # Side by side, since half of a unit is waiting for somebody else; each lane has a database of its own.
    for one in await asyncio.gather(*(_lane(share, kills[lane::_LANES], broken) for lane in range(_LANES))):
        figures.add(one)
    return figures


def tried(share: Share, kills: Sequence[Unit], *, broken: str | None = None) -> Figures:
    """Return what these kills come to, of the bot or of one of its broken copies."""
    return asyncio.run(_all(share, kills, broken))


def run(share: Share) -> Figures:
    """Return what the share's seeds come to; what was run once for one of the two promises is kept for the other."""
    assert share.dialect is not None
    name = f"kills-{share.dialect.value}-{share.seeds[0]}-{share.seeds[-1]}-{share.only}"
    kept = share.databases.folder / name.replace("/", " ")
    if kept.exists():
        found: Figures = pickle.loads(kept.read_bytes())  # noqa: S301 -- our own, written below
        return found
    figures = tried(share, [unit for seed in share.seeds for unit in units(seed, share.only)])
    kept.write_bytes(pickle.dumps(figures))
    return figures


def judge(figures: Figures) -> list[Finding]:
    """Return what R1 asks of the figures."""
    stuck = len(figures.samples.get(STUCK, []))
    share = figures.unknown / max(1, figures.runs)
    return [
        Finding(f"{figures.runs} kills", figures.runs > 0),
        *none_of(figures, "duplicated", "lost", "unexpected"),
        Finding(f"{stuck} stuck", stuck == 0),
        at_most("unknown, of the kills,", 100 * share, 0.5, unit="%"),
    ]


def judge_recovery(figures: Figures) -> list[Finding]:
    """Return what R2 asks of the figures."""
    restarts, take_overs, resends = (figures.samples.get(name, []) for name in (RESTART, TAKE_OVER, RESEND))
    repeats, sixty = figures.samples.get(REPEAT, []), RESEND_AFTER.total_seconds()
    first_resend, first_repeat = min(resends, default=0.0), min(repeats, default=sixty)
    return [
        *(
            Finding(f"{len(measured)} {name} measured", bool(measured))
            for name, measured in (("restarts", restarts), ("take-overs", take_overs), ("resends", resends))
        ),
        at_most(f"at rest after {len(restarts)} restarts, p99", percentile(restarts, 0.99), 90),
        at_most(f"after {len(take_overs)} take-overs, max", max(take_overs, default=0.0), 150),
        Finding(
            f"first resend {first_resend:.4g} s after its claim (at least 60)", not resends or first_resend >= sixty
        ),
        # Most of what Discord was asked for before a death it has, so that few are asked for twice.
        Finding(
            f"first of {len(repeats)} repeats {first_repeat:.4g} s after the request before it (at least 60)",
            first_repeat >= sixty,
        ),
    ]


PROOFS = (
    Proof("R1", "Killed at any point of the way, nothing is doubled, lost or stuck", run, judge),
    Proof("R2", "After a death everything is at rest in time, nothing sent again too early", run, judge_recovery),
)
