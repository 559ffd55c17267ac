"""
What a button or form says to the bot when it is pressed: a verb and an id, nothing else, so that it works for ever.

The version in front lets a later release read, or politely refuse, what an earlier one posted.
"""

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from bot.message import limits

_VERSION: Final = "t1"

TEMPLATE: Final = re.compile(r"t1:(?P<verb>[a-z_]{1,32}):(?P<subject>[A-Za-z0-9_-]{1,60})")
"""What every custom id of the bot looks like."""


class Verb(StrEnum):
    """
    What a button or form asks for, and of what.

    Of an event: sign up, maybe, can't, and at the roll call: I'll be there, can't make it; of a
    place in it that is held for somebody: accept, no thanks. Of a series: notify me. Of a
    server: open, and hand in, the profile form. Of a draft that waits for its author's word: one of its choices.
    """

    SIGN_UP = "signup"
    MAYBE = "maybe"
    CANT = "cant"
    CONFIRM = "confirm"
    DECLINE = "decline"
    ACCEPT = "accept"
    NO_THANKS = "no_thanks"
    NOTIFY = "notify"
    PROFILE = "profile"
    DRAFT = "draft"


@dataclass(frozen=True, slots=True)
class CustomId:
    """``verb`` says what is asked, ``subject`` of what: the id of a row, or of a draft in memory."""

    verb: str
    subject: str

    def __str__(self) -> str:
        """Return the id as Discord carries it, at most 100 characters."""
        return f"{_VERSION}:{self.verb}:{self.subject}"

    @property
    def row_id(self) -> int:
        """
        The subject as the id of a row.

        Raises:
            ValueError: it is none.
        """
        if not (self.subject.isascii() and self.subject.isdigit()) or int(self.subject) >= 2**63:
            message = f"{self.subject!r} is no id of a row"
            raise ValueError(message)
        return int(self.subject)


def encode(verb: str, subject: int | str) -> str:
    """
    Return the custom id of a button or form.

    Raises:
        ValueError: it would not be read back.
    """
    text = str(CustomId(verb, str(subject)))
    if len(text) > limits.CUSTOM_ID or TEMPLATE.fullmatch(text) is None:
        message = f"{text!r} is no custom id"
        raise ValueError(message)
    return text


def decode(text: str) -> CustomId | None:
    """Return what a custom id says, None for one that is not the bot's or of a version it does not know."""
    match = TEMPLATE.fullmatch(text)
    return CustomId(match["verb"], match["subject"]) if match is not None else None
