"""What a day's disturbances were: when nothing was wrong, whose DMs were closed, and what the bot's clock showed."""

import datetime as dt
import itertools
from collections.abc import Iterator, Sequence

from bot.demo.fault_plan import FaultKind
from bot.demo.troubled_life import Disturbance

QUIET = dt.timedelta(minutes=30)
"""So long after the last fault everything is at rest: the longest wait of a failed message is ten minutes."""
CLOCKS_APART = dt.timedelta(seconds=2)
_NONE = dt.timedelta(0)
# These hold nobody else's messages up.
_HARMLESS = {FaultKind.DMS_CLOSED, FaultKind.POST_DELETED}


class Troubles:
    """The disturbances of one day; ``follows``: the bot went by a clock that nobody set."""

    def __init__(self, disturbances: Sequence[Disturbance], *, follows: bool) -> None:
        self._all = sorted(disturbances, key=lambda one: one.begins)
        self._steps = [] if follows else [one for one in self._all if one.kind is FaultKind.CLOCK_STEP]

    @property
    def harmful(self) -> int:
        """How many held up more than one person's messages or one post."""
        return sum(1 for one in self._all if one.kind not in _HARMLESS)

    @property
    def clock_was_off(self) -> bool:
        """Whether the bot went by a wrong clock at any time."""
        return bool(self._steps)

    def is_quiet(self, begins: dt.datetime, ends: dt.datetime, *, least: dt.timedelta = QUIET) -> bool:
        """Return whether so much of a span was undisturbed at a stretch."""
        return self.at_rest_by(begins, ends, least=least) is not None

    def at_rest_by(self, begins: dt.datetime, ends: dt.datetime, *, least: dt.timedelta = QUIET) -> dt.datetime | None:
        """Return when the first undisturbed stretch of a span had lasted so long, None: there was none."""
        quiet_from = begins
        for one in self._all:
            if one.kind in _HARMLESS or one.ends <= quiet_from:
                continue
            if min(one.begins, ends) - quiet_from >= least:
                break
            quiet_from = one.ends
        return quiet_from + least if ends - quiet_from >= least else None

    def took_no_dms(self, user_id: int, begins: dt.datetime, ends: dt.datetime) -> bool:
        """Return whether somebody's DMs were closed at any time of a span."""
        closed = [one for one in self._all if one.kind is FaultKind.DMS_CLOSED and one.about == user_id]
        return any(one.begins < ends and one.ends > begins for one in closed)

    def deletions(self, event_id: int) -> list[dt.datetime]:
        """Return when the post of an event was deleted, time after time."""
        return [one.begins for one in self._all if one.kind is FaultKind.POST_DELETED and one.about == event_id]

    def showed_too_soon(self, moment: dt.datetime, until: dt.datetime) -> bool:
        """Return whether the bot's clock, set forward, showed a moment before ``until``."""
        least = moment - CLOCKS_APART
        return any(begins < until and min(ends, until) + off >= least for begins, ends, off in self._ahead())

    def was_ahead(self, until: dt.datetime) -> bool:
        """Return whether the bot's clock was set forward at any time before ``until``."""
        return any(begins < until for begins, _, _ in self._ahead())

    def _ahead(self) -> Iterator[tuple[dt.datetime, dt.datetime, dt.timedelta]]:
        """Return from when to when the bot's clock was ahead, and how far."""
        edges = sorted({edge for one in self._steps for edge in (one.begins, one.ends)})
        for begins, ends in itertools.pairwise(edges):
            off = sum((one.step for one in self._steps if one.begins <= begins < one.ends), _NONE)
            if off > _NONE:
                yield begins, ends, off
