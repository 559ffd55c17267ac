"""
Discord's limits on what a message may hold, and the cut that keeps them.

Source: Discord's documentation of messages and embeds. Discord counts some of them in UTF-16 units, so a text has to
fit in code points and in UTF-16 units alike.
"""

from collections.abc import Iterator

import regex

CONTENT = 2_000
EMBED_TITLE = 256
EMBED_DESCRIPTION = 4_096
EMBED_FIELD_NAME = 256
EMBED_FIELD_VALUE = 1_024
EMBED_FIELDS = 25
EMBED_FOOTER = 2_048
EMBED_TOTAL = 6_000
NONCE = 25
CUSTOM_ID = 100
CHOICE_NAME = 100
CHOICES = 25
BUTTON_LABEL = 80
BUTTONS = 25

# What must stay whole when a text is cut, beside each grapheme: a mention, a timestamp, an emoji of a server, a
# command, a link with or without a text of its own, and an escaped character.
_WHOLE = regex.compile(
    r"<(?:@[!&]?|\#|t:|id:|a?:\w+:)[^<>\s]{1,80}>"
    r"|</[^<>\n]{1,120}>"
    r"|\[[^\[\]\n]+\]\([^()\s]+\)"
    r"|https?://\S+"
    r"|\\\X",
    regex.VERSION1,
)
_GRAPHEME = regex.compile(r"\X", regex.VERSION1)


def length(text: str) -> int:
    """Return how long Discord may hold ``text`` to be: the larger of its code points and its UTF-16 units."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def cut(text: str, limit: int, *, ending: str = "…") -> str:
    """
    Return ``text`` whole where it fits ``limit``, else as many whole pieces as fit, then ``ending``.

    It never cuts inside a grapheme, a mention, a link or a timestamp. ``limit`` counts as :func:`length` does.

    Raises:
        ValueError: ``ending`` alone does not fit.
    """
    if length(text) <= limit:
        return text
    room = limit - length(ending)
    if room < 0:
        message = f"an ending of {length(ending)} does not fit into {limit}"
        raise ValueError(message)
    kept: list[str] = []
    for piece in _pieces(text):
        room -= length(piece)
        if room < 0:
            break
        kept.append(piece)
    return "".join(kept).rstrip() + ending


def _pieces(text: str) -> Iterator[str]:
    """Yield ``text`` in the shortest pieces that may stand alone: it may be cut after each of them."""
    wholes = iter(_WHOLE.finditer(text))
    whole = next(wholes, None)
    start = 0
    for grapheme in _GRAPHEME.finditer(text):
        end = grapheme.end()
        while whole is not None and whole.end() <= end:
            whole = next(wholes, None)
        if whole is None or whole.start() >= end:
            yield text[start:end]
            start = end
