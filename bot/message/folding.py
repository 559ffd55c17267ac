"""Names as a reader takes them, for telling whether two are the same."""

import unicodedata


def folded(name: str) -> str:
    """Return a name as a reader takes it: letter case, character width and space around it do not count."""
    return unicodedata.normalize("NFKC", name).strip().casefold()
