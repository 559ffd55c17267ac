"""All four reminders on whole schedules: everybody gets what is theirs once, in time, and nobody anything else."""

from collections import Counter
from pathlib import Path

import pytest

from bot.delivery.channel_poster import ChannelPoster
from bot.demo import simulate as simulation
from bot.demo.crashes import PlannedCrash
from bot.demo.people import Members
from bot.leases.keys import MessageKey
from bot.leases.ledger import Lease
from bot.leases.parents import ParentLeases
from bot.transactions import fetch
from tests.golden.simulations import assert_each_once, assert_on_time, faultless, run
from tests.schedules import (
    community_meetings,
    community_or_skip,
    mixed_schedule,
    with_all_reminders,
    with_varied_reminders,
)


async def test_the_real_schedule_reaches_everybody_once_and_in_time(tmp_path: Path) -> None:
    schedule = with_all_reminders(community_or_skip())

    counts, seen = await run(schedule, f"sqlite://{tmp_path}/fresh.db", days=21)

    assert_each_once(schedule, seen, days=21)
    assert_on_time(schedule, seen, days=21)
    assert faultless(counts)
    assert counts.ok == len(seen)
    assert Counter(one.recipient for one in seen if one.kind == "signup_reminder").keys() == {"member-2", "member-4"}


async def test_reminders_as_different_as_can_be_go_to_those_they_are_for(tmp_path: Path) -> None:
    schedule = with_varied_reminders(mixed_schedule())

    counts, seen = await run(schedule, f"sqlite://{tmp_path}/fresh.db", days=14, members=6)

    assert_each_once(schedule, seen, days=14, members=6)
    assert_on_time(schedule, seen, days=14, members=6)
    assert faultless(counts)


@pytest.mark.parametrize("members", [0, 1, 2, 100])
async def test_any_number_of_members_is_served_at_the_rate(tmp_path: Path, members: int) -> None:
    schedule = with_all_reminders({"series": mixed_schedule()["series"][10:12]})

    counts, seen = await run(schedule, f"sqlite://{tmp_path}/fresh.db", days=9, members=members)

    assert_each_once(schedule, seen, days=9, members=members)
    assert_on_time(schedule, seen, days=9, members=members)
    assert faultless(counts)


@pytest.mark.parametrize("seed", [1, 2])
async def test_twenty_crashes_double_and_lose_no_dm(tmp_path: Path, seed: int) -> None:
    schedule = with_all_reminders(mixed_schedule())

    counts, seen = await run(schedule, f"sqlite://{tmp_path}/fresh.db", days=12, crashes=20, seed=seed)

    assert_each_once(schedule, seen, days=12)
    assert counts.crashes == 20
    assert counts.crashes_after_acceptance >= 5
    assert faultless(counts)
    assert counts.recovered > 0


@pytest.mark.postgres
async def test_on_postgresql_the_reminders_survive_crashes_too(empty_postgres_url: str) -> None:
    schedule = with_all_reminders({"series": (community_meetings() or mixed_schedule())["series"][::2]})

    counts, seen = await run(schedule, empty_postgres_url, days=5, crashes=10)

    assert_each_once(schedule, seen, days=5)
    assert counts.crashes == 10
    assert faultless(counts)


async def test_crashes_at_the_opening_of_channels_lose_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    schedule = with_all_reminders({"series": mixed_schedule()["series"][:4]})
    _, calm = await run(schedule, f"sqlite://{tmp_path}/calm.db", days=3)
    first_dm = next(one for one in calm if one.recipient is not None)
    # Ten deaths in a row from the first DM on: at its opening, at the next try, at the message that follows.
    plan = [PlannedCrash(first_dm.at, accepted=place % 3 != 0) for place in range(10)]
    monkeypatch.setattr(simulation, "plan_crashes", lambda *_, **__: list(plan))

    counts, seen = await run(schedule, f"sqlite://{tmp_path}/fresh.db", days=3)

    assert counts.crashes == 10
    assert counts.crashes_at_opening >= 2
    assert_each_once(schedule, seen, days=3)
    assert faultless(counts)


async def test_without_the_history_check_the_same_crashes_double_dms(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def _blind(*_: object, **__: object) -> None:
        return None

    monkeypatch.setattr(ChannelPoster, "find", _blind)

    counts, seen = await run(with_all_reminders(mixed_schedule()), f"sqlite://{tmp_path}/fresh.db", days=6, crashes=20)

    twice = [marker for (marker, _), times in Counter(one.key for one in seen).items() if times == 2]
    assert any(" " in marker for marker in twice)
    assert counts.duplicated == len(twice) >= 5


async def test_without_the_childrens_leases_the_same_crashes_double(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hold = ParentLeases.hold

    async def _forgetful(leases: ParentLeases, key: MessageKey, *, guild_id: int) -> Lease | None:
        await fetch(
            "DELETE FROM discord_message_log WHERE source = $1 AND source_id = $2 AND recipient_id <> 0",
            [key.source, key.source_id],
        )
        return await hold(leases, key, guild_id=guild_id)

    monkeypatch.setattr(ParentLeases, "hold", _forgetful)

    counts, seen = await run(with_all_reminders(mixed_schedule()), f"sqlite://{tmp_path}/fresh.db", days=6, crashes=40)

    assert max(Counter(one.key for one in seen if one.recipient is not None).values()) >= 2
    assert counts.duplicated >= 3


async def test_a_message_that_nobody_asked_for_and_one_that_never_came_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    schedule = with_all_reminders({"series": mixed_schedule()["series"][10:11]})
    calm, _ = await run(schedule, f"sqlite://{tmp_path}/calm.db", days=9)
    monkeypatch.setattr(Members, "sign_up", _nobody_signs_up)

    counts, _ = await run(schedule, f"sqlite://{tmp_path}/fresh.db", days=9)

    # Members 1, 3 and 5 are reminded to sign up, which nobody expects of them; the roll call has nobody to call.
    occurrences = calm.ok // 9
    assert (calm.lost, calm.unexpected) == (0, 0)
    assert counts.unexpected == 3 * occurrences
    assert counts.lost == 6 * occurrences


async def _nobody_signs_up(*_: object, **__: object) -> None:
    return None
