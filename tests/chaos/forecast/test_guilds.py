"""A few random servers of which what is foreseen is what happens, and broken copies that are caught."""

from collections.abc import Callable

import pytest

from bot.events.course import stays
from bot.reminders import forecast, personal_reason, reach
from bot.reminders.reach import Reach
from bot.transactions import Dialect
from models.event import Event
from tests.chaos.forecast import guilds
from tests.chaos.proof import Share, unmet
from tests.throwaway import Databases

pytestmark = pytest.mark.timeout(900)


@pytest.mark.parametrize(
    ("dialect", "seeds"),
    [
        pytest.param(Dialect.SQLITE, range(10), id="sqlite"),
        pytest.param(Dialect.POSTGRES, range(20, 25), id="postgres", marks=pytest.mark.postgres),
    ],
)
def test_what_is_foreseen_is_what_happens(databases: Databases, dialect: Dialect, seeds: range) -> None:
    figures = guilds.run(Share(seeds, dialect, databases))

    assert unmet(figures, guilds.judge(figures)) == []


def ignore_opt_outs(patch: pytest.MonkeyPatch) -> None:
    """Foresee DMs to those too who switched them off."""

    async def _dms(key: str, _event: Event, meant: tuple[int, ...]) -> Reach:
        return Reach(key, is_post=False, meant=meant, wanting=meant)

    patch.setattr(reach, "_dms", _dms)


def foresee_no_opening(patch: pytest.MonkeyPatch) -> None:
    """Leave every event in the state in which it is."""
    patch.setattr("bot.reminders.outlook.stays", lambda event, now: stays(event, now=now)[:1])


def forget_what_was_sent(patch: pytest.MonkeyPatch) -> None:
    """Read nothing of the log."""

    async def _nothing(*_: object) -> dict[int, object]:
        return {}

    patch.setattr(forecast, "known_of", _nothing)


def foresee_stored_events_alone(patch: pytest.MonkeyPatch) -> None:
    """Make no event of any series."""

    async def _nothing(*_: object, **__: object) -> list[object]:
        return []

    patch.setattr("bot.reminders.forecast.to_be_made", _nothing)


def say_of_nobody_that_it_is_off(patch: pytest.MonkeyPatch) -> None:
    """Say of whom a message is meant for that they are told, whatever they switched off."""
    really = personal_reason.personal_reason

    async def _told(*arguments: object, reaches: list[Reach], **named: object) -> object:
        meant = [Reach(one.kind, one.is_post, one.channel_id, one.meant, one.meant) for one in reaches]
        return await really(*arguments, reaches=meant, **named)  # type: ignore[arg-type]

    patch.setattr("bot.reminders.why.personal_reason", _told)


@pytest.mark.parametrize(
    ("break_it", "seed"),
    [
        (ignore_opt_outs, 3),
        (foresee_no_opening, 3),
        (forget_what_was_sent, 3),
        (foresee_stored_events_alone, 3),
        (say_of_nobody_that_it_is_off, 38),
    ],
)
def test_a_broken_copy_is_caught(
    databases: Databases, monkeypatch: pytest.MonkeyPatch, break_it: Callable[[pytest.MonkeyPatch], None], seed: int
) -> None:
    break_it(monkeypatch)

    assert guilds.run(Share([seed], Dialect.SQLITE, databases)).faults
