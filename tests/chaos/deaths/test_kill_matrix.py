"""A few seeds of the kill matrix on both databases, and copies of the bot in whose case it must not hold."""

import dataclasses
import datetime as dt

import pytest

from bot.leases.failures import ErrorClass
from bot.leases.keys import MessageKey
from bot.reminders.tasks import ATTENDANCE
from bot.transactions import Dialect
from tests.chaos.deaths import kill_matrix
from tests.chaos.deaths.kill_matrix import SEEDS_FOR_ALL_POINTS, WINDOWS, judge, judge_recovery, run, tried, units
from tests.chaos.deaths.kill_oracle import REPEAT, RESEND, RESTART, TAKE_OVER, Death, History, is_recorded, repeats
from tests.chaos.deaths.kill_points import POINTS, SECOND_DEATHS
from tests.chaos.deaths.kill_run import Unit
from tests.chaos.deaths.kill_world import World
from tests.chaos.proof import Figures, Finding, Share
from tests.throwaway import Databases

AT_ONCE, THREE_MINUTES, FOR_EVER = WINDOWS
BEGUN = dt.datetime(2026, 3, 1, 12, 0, tzinfo=dt.UTC)
_BY_NAME = {point.name: point for point in POINTS}

pytestmark = pytest.mark.timeout(900)

_WHOLE_MATRIX = SEEDS_FOR_ALL_POINTS * len(WINDOWS)


@pytest.fixture(params=list(Dialect))
def share(request: pytest.FixtureRequest, databases: Databases) -> Share:
    return Share(range(SEEDS_FOR_ALL_POINTS), request.param, databases)


def unmet(findings: list[Finding]) -> list[str]:
    return [finding.words for finding in findings if not finding.is_met]


def killed(share: Share, *points: str, window: dt.timedelta | None, broken: str) -> Figures:
    """What kills of a broken copy come to, one at each of these points."""
    return tried(share, [Unit(0, _BY_NAME[name], window) for name in points], broken=broken)


def test_killed_at_every_point_nothing_is_doubled_lost_or_stuck_and_all_is_at_rest_in_time(share: Share) -> None:
    kills = [unit for seed in share.seeds for unit in units(seed)]
    # A third of them on each database: all of them on both are a full run's.
    figures = tried(share, kills[share.dialect is Dialect.POSTGRES :: 3])

    assert {unit.point for unit in kills} == set(POINTS)
    assert figures.faults == []
    assert unmet(judge(figures)) == []
    assert unmet(judge_recovery(figures)) == []
    assert figures.ok == figures.attempted > figures.acknowledged > figures.recovered > 0


def test_what_was_run_for_one_promise_is_kept_for_the_other(share: Share, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kill_matrix, "units", lambda seed, _only: [Unit(seed, POINTS[0], FOR_EVER)])
    one = dataclasses.replace(share, seeds=[1_000])

    first = run(one)
    monkeypatch.delattr(kill_matrix, "tried")

    assert first.runs == 1
    assert run(one) == first


def test_seeds_in_a_row_kill_at_every_point_under_every_window_once() -> None:
    kills = [(unit.point.name, unit.window) for seed in range(_WHOLE_MATRIX) for unit in units(seed)]

    assert sorted(kills, key=str) == sorted(((one.name, window) for one in POINTS for window in WINDOWS), key=str)
    assert len(POINTS) > 14
    assert len(set(SECOND_DEATHS)) == len(SECOND_DEATHS)


def test_chosen_points_are_killed_at_by_the_very_seeds_that_they_have_among_all() -> None:
    chosen = [unit for seed in range(_WHOLE_MATRIX) for unit in units(seed, "offer:|role: given")]

    assert chosen == [unit for seed in range(_WHOLE_MATRIX) for unit in units(seed) if unit in chosen]
    assert {unit.point.name.partition(":")[0] for unit in chosen} == {"offer", "role"}
    assert len(chosen) == len(WINDOWS) * (1 + sum(point.name.startswith("offer:") for point in POINTS))


def test_figures_without_anything_measured_do_not_hold() -> None:
    assert unmet(judge_recovery(Figures())) == ["0 restarts measured", "0 take-overs measured", "0 resends measured"]


def test_what_is_unknown_is_a_share_of_the_kills_and_not_of_all_that_was_sent() -> None:
    figures = Figures(runs=100, attempted=1_000, unknown=1)

    assert unmet(judge(figures)) == ["unknown, of the kills, 1 % (at most 0.5)"]


def test_a_request_that_discord_saw_again_too_soon_after_a_death_is_found_whatever_the_rows_say() -> None:
    key, other, begun = MessageKey("event_announcement", 1), MessageKey("event_announcement", 2), BEGUN
    seconds = [begun + dt.timedelta(seconds=second) for second in range(100)]

    found = repeats({key: [seconds[0], seconds[20], seconds[90]], other: [seconds[30]]}, [seconds[10], seconds[30]])

    assert found == [(key, dt.timedelta(seconds=20)), (key, dt.timedelta(seconds=70))]
    assert repeats({key: [begun, begun]}, [begun]) == [(key, dt.timedelta(0))]
    assert repeats({key: [seconds[1], seconds[2]]}, [seconds[3]]) == []
    figures = Figures(samples={RESTART: [1.0], TAKE_OVER: [1.0], RESEND: [60.0], REPEAT: [59.0]})
    assert unmet(judge_recovery(figures)) == ["first of 1 repeats 59 s after the request before it (at least 60)"]


@pytest.mark.parametrize("is_held", [True, False])
def test_only_a_process_that_held_it_excuses_that_a_message_came_too_late(*, is_held: bool) -> None:
    world = World(BEGUN, dt.timedelta(0), 1, 2, 3, 4, ATTENDANCE, (5,), 5, ())
    died_at = BEGUN + dt.timedelta(seconds=31)  # a minute after it the event has begun
    death = Death(died_at, {world.soon: BEGUN} if is_held else {})
    history = History([death], died_at, died_at, taken_over=True, answered=True)

    assert is_recorded(world, history, world.soon, ErrorClass.EVENT_STARTED) is is_held


@pytest.mark.parametrize(("polled_after", "is_excused"), [(89, False), (90, True)])
def test_what_began_before_anybody_looked_is_excused(polled_after: int, *, is_excused: bool) -> None:
    world = World(BEGUN, dt.timedelta(0), 1, 2, 3, 4, ATTENDANCE, (5,), 5, ())
    healed_from = BEGUN + dt.timedelta(seconds=75)
    polled_from = BEGUN + dt.timedelta(seconds=polled_after)  # it begins 90 s after BEGUN
    history = History([], healed_from, polled_from, taken_over=True, answered=True)

    assert is_recorded(world, history, world.soon, ErrorClass.EVENT_STARTED) is is_excused


def test_a_plain_protocol_doubles_whatever_discord_remembers(share: Share) -> None:
    """Send, then write it down: what the lease, the nonce and the history are there for."""
    figures = killed(
        share,
        "post: accepted, the answer not read",
        "DM: accepted, the answer not read",
        "fan-out: its post accepted, the answer not read",
        window=FOR_EVER,
        broken="plain protocol",
    )

    # What else was on its way when the process died is doubled as well.
    assert figures.duplicated >= 3
    assert unmet(judge(figures)) == [f"{figures.duplicated} duplicated"]


@pytest.mark.parametrize(
    ("broken", "window"),
    [("no lease", AT_ONCE), ("random nonce, no history", FOR_EVER), ("no history", AT_ONCE)],
)
def test_without_one_of_its_protections_a_message_is_doubled(
    broken: str, window: dt.timedelta | None, share: Share
) -> None:
    figures = killed(share, "post: accepted, the answer not read", window=window, broken=broken)

    assert unmet(judge(figures)) == ["1 duplicated"]
    assert "is visible 2 times" in figures.faults[0]


def test_without_the_list_an_event_is_doubled_there_whatever_nonces_discord_remembers(share: Share) -> None:
    figures = killed(share, "native: accepted, the answer not read", window=FOR_EVER, broken="no history")

    assert unmet(judge(figures)) == ["1 duplicated"]


@pytest.mark.parametrize("kind", ["post", "DM", "native"])
def test_without_the_fence_a_process_that_wakes_too_late_doubles_a_message(kind: str, share: Share) -> None:
    figures = killed(share, f"{kind}: hung after its claim, awake too late", window=AT_ONCE, broken="no fence")

    assert unmet(judge(figures)) == ["1 duplicated"]


def test_a_fan_out_that_does_not_look_at_its_children_is_stuck(share: Share) -> None:
    figures = killed(share, "DM: recorded", window=FOR_EVER, broken="no child rows")

    assert "2 stuck" in unmet(judge(figures))


def test_without_the_minute_a_message_is_asked_for_again_too_early(share: Share) -> None:
    figures = killed(share, "DM: before the request", "post: after its claim", window=FOR_EVER, broken="no minute")

    assert any("after its claim" in words for words in unmet(judge_recovery(figures)))
    assert any("was asked for again" in fault for fault in figures.faults)


def test_where_nobody_sees_that_a_process_died_its_work_is_not_at_rest_in_time(share: Share) -> None:
    figures = killed(share, "post: after its claim", window=FOR_EVER, broken="deaths unseen")

    assert unmet(judge(figures)) != []


def test_a_change_made_in_pieces_is_left_half_done(share: Share) -> None:
    figures = killed(
        share,
        "realign: the old events gone, no new one made",
        "split: the later events taken over, not realigned",
        "offer: ended, the next not asked",
        "no thanks: stored, the next not asked",
        "deletion: the series gone, not in the audit",
        "extra: stored, not in the audit",
        "extra removed: cancelled, not in the audit",
        window=FOR_EVER,
        broken="changes in pieces",
    )

    found = {fault.partition(":")[0].strip() for fault in by_story(figures)}
    assert found == {"realign", "split", "offer", "no thanks", "deletion", "extra", "extra removed"}


def by_story(figures: Figures) -> list[str]:
    """The faults without their seed."""
    return [fault.partition(": ")[2] for fault in figures.faults]


def test_where_open_leases_are_overlooked_a_post_stays_of_an_event_that_is_no_more(share: Share) -> None:
    figures = killed(
        share, "split: while an old post's outcome is open", window=FOR_EVER, broken="open leases overlooked"
    )

    assert any("says Changed instead of Moved" in fault for fault in figures.faults)


def test_a_withdrawn_event_that_is_announced_again_is_seen(share: Share) -> None:
    figures = killed(
        share, "realign: an old post not found, not released", window=AT_ONCE, broken="announced once cancelled"
    )

    assert any("was asked for after it was taken back" in fault for fault in figures.faults)


@pytest.mark.parametrize(
    ("point", "broken", "window"),
    [
        ("promotion: accepted, the answer not read", "plain protocol", FOR_EVER),
        ("promotion: accepted, the answer not read", "no history", AT_ONCE),
        ("promotion: hung after its claim, awake too late", "no fence", AT_ONCE),
        ("offer: accepted by Discord, the answer not read", "no history", AT_ONCE),
        ("accept: what was asked is accepted by Discord, the answer not read", "no history", AT_ONCE),
        ("new time: a DM accepted, the answer not read", "no history", AT_ONCE),
    ],
)
def test_a_promotion_or_a_new_time_is_told_twice_without_its_protections(
    point: str, broken: str, window: dt.timedelta | None, share: Share
) -> None:
    figures = killed(share, point, window=window, broken=broken)

    assert figures.duplicated >= 1
    source = "time_changed" if point.startswith("new time") else "promotion"
    assert any(source in fault and "is visible 2 times" in fault for fault in figures.faults)


def test_a_new_time_that_does_not_look_at_its_children_is_never_told_to_its_end(share: Share) -> None:
    figures = killed(share, "new time: a DM answered, not recorded", window=FOR_EVER, broken="no child rows")

    assert any("time_changed" in fault and "is stuck" in fault for fault in figures.faults)


def test_a_role_that_is_noted_before_it_is_given_is_never_given(share: Share) -> None:
    figures = killed(share, "role: before its request", window=FOR_EVER, broken="roles noted first")

    assert any("who has the role" in fault for fault in figures.faults)
