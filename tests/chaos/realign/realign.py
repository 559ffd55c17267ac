"""
R11: whatever sequence of edits, ticks and deaths, each occurrence that is left has its one message, a removed one none.

A seed is a number of sequences, drawn by hypothesis and each lived in an empty database. One that breaks is shortened
to the acts that break it.
"""

import asyncio
from collections.abc import Sequence
from typing import Any

import hypothesis
import structlog.testing
from hypothesis import strategies as st

from bot.database import opened
from bot.transactions import Dialect
from tests.chaos.days.shrink import shrink
from tests.chaos.deaths.kill_world import empty
from tests.chaos.proof import Figures, Finding, Proof, Share, none_of
from tests.chaos.realign.realign_acts import SEQUENCES, Act
from tests.chaos.realign.realign_world import RealignWorld

SEQUENCES_A_SEED = 50
_MOST_TRIES = 60


def run(share: Share) -> Figures:
    """Live the sequences of each seed."""
    return asyncio.run(_run(share))


async def _run(share: Share) -> Figures:
    figures = Figures()
    assert share.dialect is not None
    async with share.databases.fresh(share.dialect) as url, opened(url):
        for seed in share.seeds:
            for acts in drawn(SEQUENCES, seed):
                await _lived(figures, seed, acts)
    return figures


async def _lived(figures: Figures, seed: int, acts: Sequence[Act]) -> None:
    world = await through(acts)
    figures.runs += 1
    figures.acknowledged += len(world.discord.posts)
    for name in ("attempted", "ok", "lost", "duplicated", "unexpected"):
        setattr(figures, name, getattr(figures, name) + getattr(world.oracle, name))
    if faults := world.oracle.faults:
        told = ", ".join(map(str, await _shortened(acts)))
        figures.faults.append(f"seed {seed}: {faults[0]} [{told}]")


async def _shortened(acts: Sequence[Act]) -> list[Act]:
    """Return the fewest acts that still break something; ``shrink`` asks, so it runs beside this loop's world."""
    loop = asyncio.get_running_loop()

    def _breaks(fewer: list[Act]) -> bool:
        return bool(asyncio.run_coroutine_threadsafe(through(fewer), loop).result().oracle.faults)

    return await asyncio.to_thread(shrink, list(acts), _breaks, most_tries=_MOST_TRIES)


async def through(acts: Sequence[Act]) -> RealignWorld:
    """Live one sequence in the open database, emptied before; return the world as it is at rest."""
    await empty()
    with structlog.testing.capture_logs():
        world = RealignWorld()
        await world.begin()
        for act in acts:
            await world.live(act)
        await world.rest()
    return world


def drawn(strategy: st.SearchStrategy[Any], seed: int, *, number: int = SEQUENCES_A_SEED) -> list[Any]:
    """Return so many examples, the same for the same seed."""
    found: list[Any] = []
    wanted = hypothesis.settings(
        max_examples=number,
        database=None,
        deadline=None,
        phases=[hypothesis.Phase.generate],
        suppress_health_check=list(hypothesis.HealthCheck),
    )

    def _keep(one: Any) -> None:  # noqa: ANN401 -- whatever was drawn
        found.append(one)

    hypothesis.seed(seed)(wanted(hypothesis.given(strategy)(_keep)))()
    return found


def judge(figures: Figures) -> list[Finding]:
    """Return what R11 asks of the figures."""
    return [
        Finding(f"{figures.runs} sequences", figures.runs > 0),
        *none_of(figures, "lost", "duplicated", "unexpected"),
        Finding(f"{figures.ok} of {figures.attempted} occurrences have their message", figures.attempted > 0),
    ]


PROOFS = (
    Proof(
        "R11",
        "Whatever is edited, each occurrence that is left has its one message and a removed one none",
        run,
        judge,
        seeds=100,
        dialects=(Dialect.SQLITE, Dialect.POSTGRES),
    ),
)
