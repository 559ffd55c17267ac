"""Which background body wants to run next, whatever happens during its pass."""

import asyncio
import datetime as dt

import pytest

from bot.scheduling.agenda import Agenda, Body, Step, together

NOW = dt.datetime(2026, 3, 1, 12, tzinfo=dt.UTC)
MINUTE = dt.timedelta(minutes=1)


def body(step: Step) -> Body:
    return Body("look", MINUTE, step)


def returning(moment: dt.datetime | None) -> Step:
    async def _step(now: dt.datetime) -> dt.datetime | None:
        return moment

    return _step


def test_nobody_knows_of_a_body_that_never_ran() -> None:
    assert Agenda().next("look") is None


@pytest.mark.parametrize(
    ("wakes", "next_moment"),
    [
        pytest.param([NOW], NOW, id="once"),
        pytest.param([NOW + MINUTE, NOW], NOW, id="brought forward"),
        pytest.param([NOW, NOW + MINUTE], NOW, id="never put off"),
        pytest.param([NOW, None], NOW, id="None changes nothing"),
        pytest.param([None], None, id="None alone is no moment"),
    ],
)
def test_the_earliest_wake_counts(wakes: list[dt.datetime | None], next_moment: dt.datetime | None) -> None:
    agenda = Agenda()

    for at in wakes:
        agenda.wake("look", at)

    assert agenda.next("look") == next_moment


@pytest.mark.parametrize("named", [NOW + MINUTE, None], ids=["a moment", "none known"])
async def test_a_pass_names_the_next_moment(named: dt.datetime | None) -> None:
    agenda = Agenda()
    agenda.wake("look", NOW)

    await agenda.run(body(returning(named)), NOW)

    assert agenda.next("look") == named


async def test_a_wake_during_the_pass_is_kept() -> None:
    agenda = Agenda()

    async def _step(now: dt.datetime) -> dt.datetime | None:
        agenda.wake("look", now + dt.timedelta(seconds=1))
        return now + MINUTE

    await agenda.run(body(_step), NOW)

    assert agenda.next("look") == NOW + dt.timedelta(seconds=1)


@pytest.mark.parametrize(
    ("period", "error", "again"),
    [
        pytest.param(dt.timedelta(seconds=30), KeyError("a bug"), dt.timedelta(seconds=30), id="a short period"),
        pytest.param(dt.timedelta(hours=1), KeyError("a bug"), MINUTE, id="an hour"),
        pytest.param(dt.timedelta(hours=1), ConnectionResetError(), dt.timedelta(seconds=5), id="the database"),
        pytest.param(dt.timedelta(seconds=2), ConnectionResetError(), dt.timedelta(seconds=2), id="at most a period"),
    ],
)
async def test_a_pass_that_raises_says_so_and_comes_again_soon(
    period: dt.timedelta, error: Exception, again: dt.timedelta
) -> None:
    agenda = Agenda()
    agenda.wake("look", NOW)

    async def _step(now: dt.datetime) -> dt.datetime | None:
        raise error

    with pytest.raises(type(error)):
        await agenda.run(Body("look", period, _step), NOW)

    assert agenda.next("look") == NOW + again


def test_listeners_hear_of_what_is_brought_forward_and_of_nothing_else() -> None:
    agenda = Agenda()
    heard: list[str] = []
    agenda.on_wake(heard.append)

    agenda.wake("look", NOW)
    agenda.wake("look", NOW + MINUTE)
    agenda.wake("other", NOW + MINUTE)
    agenda.wake("look", NOW - MINUTE)

    assert heard == ["look", "other", "look"]


async def test_steps_taken_together_each_come_to_their_end_and_the_earliest_moment_is_named() -> None:
    done: list[str] = []

    async def _late(now: dt.datetime) -> dt.datetime:
        await asyncio.sleep(0)
        done.append("late")
        return now + 2 * MINUTE

    async def _soon(now: dt.datetime) -> dt.datetime:
        return now + MINUTE

    async def _never(_now: dt.datetime) -> None:
        return None

    async def _fails(_now: dt.datetime) -> None:
        message = "a fault"
        raise RuntimeError(message)

    assert await together(_late, _never, _soon)(NOW) == NOW + MINUTE
    assert await together(_never)(NOW) is None
    with pytest.raises(RuntimeError, match="a fault"):
        await together(_fails, _late)(NOW)
    assert done == ["late", "late"]
