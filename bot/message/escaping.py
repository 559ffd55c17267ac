"""User text among the bot's own words: shown as typed, never as markup, never as a ping."""

import re

# Discord's markdown, and what begins a mention, a link or a heading. A backslash shows each as itself.
_MARKUP = re.compile(r"([\\*_~`|<>\[\]()#@:-])")
# Left open, these turn the direction of whatever follows them on the line: the bot's own words too.
_TURNS = re.compile("[\u202a-\u202e\u2066-\u2069]")


def escape(text: str) -> str:
    """
    Return ``text`` on one line with everything escaped that Discord would read as markup or as a mention.

    The marks that embed or override a direction are left out; letters that run from right to left need none.
    """
    return _MARKUP.sub(r"\\\1", " ".join(_TURNS.sub("", text).split()))
