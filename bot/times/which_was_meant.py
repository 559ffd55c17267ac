"""What is asked where a typed time or date can be several: which of them was meant, with a button for each."""

import datetime as dt
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TypeVar

from bot.message.proposal import Proposal, Reply, Way, leave
from bot.times.typed_date import AmbiguousDate, in_words
from bot.times.when import Ambiguous

_Meant = TypeVar("_Meant")


def ask_which_time(reading: Ambiguous, then: Callable[[dt.datetime, dt.datetime], Awaitable[Reply]]) -> Proposal:
    """Return the question which time was meant; ``then`` goes on with the one taken, and the moment of the press."""
    return _ask(reading.question, [(option.label, option.moment) for option in reading.options], then)


def ask_which_date(reading: AmbiguousDate, then: Callable[[dt.date, dt.datetime], Awaitable[Reply]]) -> Proposal:
    """Return the question which date was meant; ``then`` goes on with the one taken, and the moment of the press."""
    return _ask(reading.question, [(in_words(date), date) for date in reading.dates], then)


def _ask(
    question: str, options: Sequence[tuple[str, _Meant]], then: Callable[[_Meant, dt.datetime], Awaitable[Reply]]
) -> Proposal:
    ways = [Way(label, partial(then, meant)) for label, meant in options]
    return Proposal(question, (*ways, leave()))
