"""
What a service answers: a sentence, or what it would do, with the ways to go on, of which the person takes one.

Nothing is done for a proposal until one of its ways is taken.
"""

import datetime as dt
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeAlias, Union

from bot.message.outgoing import ButtonStyle

NOTHING_CHANGED = "Nothing was changed."

Reply: TypeAlias = Union[str, "Proposal"]
"""What the person reads next."""


@dataclass(frozen=True, slots=True)
class Way:
    """One way to go on: ``then`` takes it, at the moment that it is given, and returns what the person reads next."""

    label: str
    then: Callable[[dt.datetime], Awaitable[Reply]]
    style: ButtonStyle = ButtonStyle.SECONDARY


@dataclass(frozen=True, slots=True)
class Proposal:
    """What would be done, or what is asked, in words that can stand in a Discord message, and one to 25 ways on."""

    text: str
    ways: tuple[Way, ...]


def leave(label: str = "Discard") -> Way:
    """Return the way that changes nothing."""

    async def _leave(_now: dt.datetime) -> str:
        return NOTHING_CHANGED

    return Way(label, _leave)
