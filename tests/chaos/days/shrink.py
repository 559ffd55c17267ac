"""Shorten what fails to what it fails by: delta debugging over a list of happenings."""

from collections.abc import Callable, Sequence
from typing import TypeVar

Happening = TypeVar("Happening")


def shrink(
    happenings: Sequence[Happening], fails: Callable[[list[Happening]], bool], *, most_tries: int = 200
) -> list[Happening]:
    """
    Return a part of the happenings, in their order, that still fails and of which none can be left out.

    ``fails`` is asked at most ``most_tries`` times; past that what was reached is returned. Halves are tried first,
    then ever smaller pieces: after Zeller's ddmin.
    """
    left, pieces, tries = list(happenings), 2, 0
    if tries < most_tries and fails([]):
        return []
    while left:
        size = max(1, len(left) // pieces)
        for begin in range(0, len(left), size):
            shorter = left[:begin] + left[begin + size :]
            tries += 1
            if tries > most_tries:
                return left
            if fails(shorter):
                left, pieces = shorter, max(2, pieces - 1)
                break
        else:
            if size == 1:
                return left
            pieces = min(len(left), pieces * 2)
    return left
