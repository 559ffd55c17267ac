"""What a proof says of its requests, which are held against Discord's own description of its API."""

from tests.chaos.proof import Figures, Finding
from tests.official.description import description

REQUESTS = "requests checked"
"""The sample of a proof's figures that counts its requests."""


def checked_finding(figures: Figures) -> Finding:
    """
    Return how many requests of a proof were checked; that one of them was wrong is among its faults.

    Where Discord's description is not at hand nothing can be held against it: that is told, and breaks no promise.
    """
    count = sum(figures.samples.get(REQUESTS, ()))
    if count or description() is not None:
        return Finding(f"{count:.0f} requests held against Discord's description (at least 1)", count > 0)
    return Finding("NOT held against Discord's description, which is not here", is_met=True)
