"""A proof's seeds on every core: cut into shares, each done in a process of its own."""

import concurrent.futures
import logging
import multiprocessing
from collections.abc import Callable, Iterator, Sequence

import structlog
from structlog.typing import EventDict, WrappedLogger

from bot.transactions import Dialect
from tests.chaos.proof import Figures, Proof, Share
from tests.official.checks import CHECKS, watch_simulated
from tests.throwaway import Databases

# So many shares a worker that one slow share does not keep the other ones waiting.
_SHARES_PER_WORKER = 4


def shares(
    seeds: Sequence[int], dialect: Dialect | None, databases: Databases, *, at_once: int, only: str = ""
) -> Iterator[Share]:
    """Cut the seeds into shares, so that every core has some."""
    size = max(1, -(-len(seeds) // (at_once * _SHARES_PER_WORKER)))
    for begin in range(0, len(seeds), size):
        yield Share(seeds[begin : begin + size], dialect, databases, only)


def tried(
    proof: Proof,
    seeds: Sequence[int],
    dialect: Dialect | None,
    databases: Databases,
    *,
    at_once: int,
    only: str = "",
) -> Figures:
    """Run a proof on all cores; return what it came to. ``only``: see :class:`Share`."""
    came_to = Figures()
    parts = list(shares(seeds, dialect, databases, at_once=at_once, only=only))
    # Spawned, not forked: a proof may fork children of its own, which must hold nothing of this process.
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(at_once, mp_context=context, initializer=quiet) as pool:
        for one in pool.map(_done, [proof.run] * len(parts), parts):
            came_to.add(one)
    return came_to


def _done(run: Callable[[Share], Figures], share: Share) -> Figures:
    """Do one share; what it raises, or sends that Discord would not take, is a fault; the other shares go on."""
    seeds = f"seeds {share.seeds[0]} to {share.seeds[-1]}"
    watch_simulated()
    try:
        figures = run(share)
    except Exception as error:  # noqa: BLE001 -- told as what it is
        figures = Figures(faults=[f"{seeds}: {type(error).__name__}: {error}"])
    figures.faults += [f"{seeds}: {one}" for one in dict.fromkeys(CHECKS.taken())]
    return figures


def quiet() -> None:
    """
    Keep the log still: planted faults fill it, and drawing their tracebacks takes longer than a run.

    What a proof hears of the log goes by the processors, so it is they that let everything drop, not the level.
    """
    structlog.configure(processors=[_drop])
    logging.disable(logging.ERROR)


def _drop(_logger: WrappedLogger, _method: str, _event: EventDict) -> EventDict:
    raise structlog.DropEvent
