"""User text among the bot's own words: shown as typed, never as markup, never as a ping."""

import re

# Discord's markdown, and what begins a mention, a link or a heading. A backslash shows each as itself.
_MARKUP = re.compile(r"([\\*_~`|<>\[\]()#@:-])")


def escape(text: str) -> str:
    """Return ``text`` on one line with everything escaped that Discord would read as markup or as a mention."""
    return _MARKUP.sub(r"\\\1", " ".join(text.split()))
