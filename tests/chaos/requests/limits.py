"""R8 and R9: what Discord counts as invalid stays few in every storm, and its limits are kept whatever happens."""

import random
from collections.abc import Sequence
from unittest.mock import patch

from bot.delivery import request_gate
from tests.chaos.proof import Figures, Finding, Proof, Share, at_most, none_of
from tests.chaos.requests import rush
from tests.chaos.requests.storms import (
    HARD_STOP,
    MOST_INVALID,
    STORMS,
    Storm,
    after_refusal,
    most_invalid,
    rage,
    sent_while_stopped,
)
from tests.chaos.requests.virtual_loop import run_virtually
from tests.chaos.requests.wire_world import wire_world
from tests.wire.faults import FaultScript

_UNSTOPPED = "invalid without the stop of DMs"
_WHILE_STOPPED = "sent between the thousandth invalid one and room"


def run_storms(share: Share, storms: Sequence[Storm] = (*STORMS, HARD_STOP)) -> Figures:
    """Let every storm rage once for each seed."""
    figures = Figures()
    for seed in share.seeds:
        for storm in storms:
            rages = _hard_stop(share, seed, figures) if storm is HARD_STOP else _storm(share, seed, storm, figures)
            run_virtually(rages)
    return figures


async def _storm(share: Share, seed: int, storm: Storm, figures: Figures) -> None:
    assert share.dialect is not None
    chance = random.Random(f"{storm.name} {seed}")
    async with share.databases.fresh(share.dialect) as url:
        script = FaultScript(*storm.rules(chance), seed=seed)
        async with wire_world(url, script, channels=storm.channels) as world:
            broken = await rage(storm, world)
    figures.runs += 1
    figures.attempted += len(script.seen)
    figures.ok += sum(one.status in range(200, 300) for one in script.seen)
    figures.unexpected += len(broken)
    figures.sample("invalid", most_invalid(script.seen))
    figures.sample("after 401", after_refusal(script.seen))
    figures.faults += [f"seed {seed}: {storm.name}: {one}" for one in broken]


async def _hard_stop(share: Share, seed: int, figures: Figures) -> None:
    """Take the stop of the DMs out, so that it comes to the last one."""
    assert share.dialect is not None
    async with share.databases.fresh(share.dialect) as url:
        script = FaultScript(*HARD_STOP.rules(random.Random(seed)), seed=seed)
        with patch.object(request_gate, "NO_DMS_FROM", 1_000_000):
            async with wire_world(url, script) as world:
                broken = [one for one in await rage(HARD_STOP, world) if "invalid requests" not in one]
                if world.logged("invalid_requests_stop_all") != 1:
                    broken.append("the hard stop was not told once")
    if (sent := sent_while_stopped(script.seen)) is None:
        broken.append("it never came to the hard stop")
    else:
        figures.sample(_WHILE_STOPPED, sent)
    figures.runs += 1
    figures.unexpected += len(broken)
    figures.sample(_UNSTOPPED, most_invalid(script.seen))
    figures.faults += [f"seed {seed}: {HARD_STOP.name}: {one}" for one in broken]


def judge_storms(figures: Figures) -> list[Finding]:
    """No storm cost more than 500 invalid requests in ten minutes, nor more than three after a 401."""
    most = {name: max(values) for name, values in figures.samples.items()}
    limits = {"invalid": MOST_INVALID, _WHILE_STOPPED: 0, "after 401": 3}
    return [
        *(at_most(name, most[name], limit, unit="") for name, limit in limits.items() if name in most),
        *none_of(figures, "unexpected"),
    ]


PROOFS: tuple[Proof, ...] = (
    Proof(
        "R8",
        "Invalid requests (401, 403, 429) <= 500 in any 10 minutes in every storm; after a 401 at most 3 more",
        run_storms,
        judge_storms,
        seeds=10,
    ),
    Proof(
        "R9",
        "<= 50 requests in any second, none before Retry-After ends, DM starts <= 6 in any second and <= 51 in any ten",
        rush.run,
        rush.judge,
        seeds=50,
    ),
)
