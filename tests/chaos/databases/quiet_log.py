"""Keeps what a broken world logs out of sight, and counts it: by event, so that a proof can ask what was said."""

import contextlib
from collections import Counter
from collections.abc import Iterator

import structlog
from structlog.typing import EventDict, WrappedLogger


@contextlib.contextmanager
def quiet() -> Iterator[Counter[str]]:
    """Count events instead of writing them."""
    said: Counter[str] = Counter()

    def _count(_logger: WrappedLogger, _method: str, event_dict: EventDict) -> EventDict:
        said[str(event_dict.get("event"))] += 1
        raise structlog.DropEvent

    before = structlog.get_config()
    structlog.configure(processors=[_count])
    try:
        yield said
    finally:
        structlog.configure(**before)
