"""
Crashes of one process inside a simulated world: a request is cut before or after Discord accepted it.

What a process dies at is a message, to a channel or to a person, or the opening of a DM channel. The crash is no
Exception, so that nothing in the bot can catch it and go on; from then on the dead process reaches Discord no more.
"""

import datetime as dt
import random
from dataclasses import dataclass
from typing import Any, Final, Protocol

MESSAGES: Final = "/channels/{channel_id}/messages"
OPENINGS: Final = "/users/@me/channels"
"""The requests that a crash may meet, as the library names their routes."""


class SimulatedCrashError(BaseException):
    """The process dies here."""


class HasRequest(Protocol):
    """The part of the client's transport that is wrapped."""

    async def request(self, route: Any, **kwargs: Any) -> Any:  # noqa: ANN401 -- the library's own signature
        """Perform one request."""
        ...


@dataclass(frozen=True, slots=True)
class PlannedCrash:
    """``at``: the first message or opening from then on meets it; ``accepted``: it dies after Discord took that."""

    at: dt.datetime
    accepted: bool


def plan_crashes(count: int, *, seed: int, start: dt.datetime, end: dt.datetime) -> list[PlannedCrash]:
    """Return crashes spread over the time by chance of the seed; every other one comes after the acceptance."""
    chance = random.Random(seed)  # noqa: S311 -- repeatable, not secret
    # The last tenth is left out, so that each finds a message to meet.
    span = (end - start) * 0.9
    moments = sorted(start + span * chance.random() for _ in range(count))
    return [PlannedCrash(moment, accepted=place % 2 == 0) for place, moment in enumerate(moments)]


class CrashingTransport:
    """
    Wraps the transport of one bot process; takes the planned crashes off the list as it meets them.

    ``attempted`` and ``acknowledged`` count messages alone; ``met`` counts crashes, ``met_at_opening`` those of them
    that an opening of a DM channel met.
    """

    def __init__(self, plan: list[PlannedCrash]) -> None:
        self._plan = plan
        self.crashed = False
        self.attempted = 0
        self.acknowledged = 0
        self.met = 0
        self.met_after_acceptance = 0
        self.met_at_opening = 0

    def wrap(self, http: HasRequest, *, now: Any) -> None:  # noqa: ANN401 -- a callable that gives the world's time
        """Put the wrapper round one process's transport; ``now()`` tells the world's time."""
        original = http.request

        async def _request(route: Any, **kwargs: Any) -> Any:  # noqa: ANN401
            if self.crashed:
                raise SimulatedCrashError
            if route.method != "POST" or route.path not in {MESSAGES, OPENINGS}:
                return await original(route, **kwargs)
            is_message = route.path == MESSAGES
            self.attempted += is_message
            crash = self._due(now())
            if crash is not None:
                if crash.accepted:
                    await original(route, **kwargs)
                self._die(crash, is_message=is_message)
            answer = await original(route, **kwargs)
            self.acknowledged += is_message
            return answer

        http.request = _request  # type: ignore[method-assign]

    def plan(self, crash: PlannedCrash) -> None:
        """Let the process die there too; later than what is planned already."""
        self._plan.append(crash)

    def crash(self) -> None:
        """Let the process die now, wherever it is."""
        self.crashed = True

    def _die(self, crash: PlannedCrash, *, is_message: bool) -> None:
        self.met += 1
        self.met_after_acceptance += crash.accepted
        self.met_at_opening += not is_message
        self.crashed = True
        raise SimulatedCrashError

    def _due(self, now: dt.datetime) -> PlannedCrash | None:
        return self._plan.pop(0) if self._plan and self._plan[0].at <= now else None
