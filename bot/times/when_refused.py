"""Why a moment that was typed cannot be taken: one sentence for each reason, with what to type instead."""

import datetime as dt

from bot.times.typed_time import WhenError, shown

MOST_YEARS_AHEAD = 5
"""How far ahead a typed moment may be; beyond it the year is taken for a slip."""


class UnknownZoneError(WhenError):
    """The zone database does not have the zone, perhaps no longer."""

    def __init__(self, timezone: str) -> None:
        super().__init__(
            f"The time cannot be read, as the zone database does not have {shown(timezone)}; "
            "set this server's time zone again, to one such as Europe/London."
        )
        self.timezone = timezone


class PastTimeError(WhenError):
    """The moment does not lie ahead of ``clock``, the time there; ``read`` is as which it was read."""

    def __init__(self, text: str, *, read: str, timezone: str, clock: dt.datetime, example: str) -> None:
        super().__init__(
            f"{shown(text)} is {read} in {timezone}, which is not ahead: it is {in_figures(clock)} there now; "
            f"type a later time, such as {example}."
        )
        self.text = text


class TooFarAheadError(WhenError):
    """The moment lies so far ahead that its year is a slip; ``read`` is as which it was read."""

    def __init__(self, text: str, *, read: str, timezone: str, latest: dt.datetime) -> None:
        super().__init__(
            f"{shown(text)} is {read} in {timezone}, more than {MOST_YEARS_AHEAD} years ahead; "
            f"type a time up to {in_figures(latest)}."
        )
        self.text = text


class TimeInGapError(WhenError):
    """The clock of the zone skips that time, to ``after`` from the minute ``before``: wall times, both of them real."""

    def __init__(self, wall: dt.datetime, *, before: dt.datetime, after: dt.datetime, timezone: str) -> None:
        if before.date() == after.date():
            jump = f"{before:%H:%M} to {after:%H:%M} that day"
        else:
            jump = f"{in_figures(before)} to {in_figures(after)}"
        super().__init__(
            f"{in_figures(wall)} does not exist in {timezone}: the clock goes from {jump}; "
            f"type {in_figures(before)} or {in_figures(after)}."
        )
        self.before = before
        self.after = after


def in_figures(wall: dt.datetime) -> str:
    """Return a naive time to the minute, as it can be typed."""
    return wall.isoformat(" ", "minutes")
