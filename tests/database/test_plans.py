"""
How the databases read what the loops ask for again and again: by an index, however many rows are stored.

Each test lets the code itself run, keeps the statements it sent, and asks the database for their plans. On SQLite both
with and without statistics, since nobody gathers them there; on PostgreSQL with them, on rows enough that reading a
table whole would cost more.
"""

import datetime as dt
import itertools
import re
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Any

import pytest
from tortoise.backends.asyncpg.client import AsyncpgDBClient
from tortoise.backends.sqlite.client import SqliteClient

from bot.bootstrap import Services
from bot.clock import InjectedLeaseClock, ManualClock
from bot.dm_queue.channel_book import DmChannelBook
from bot.events.notifications import switches
from bot.events.profiles import profile_of
from bot.events.signups.people import people_of
from bot.events.signups.rules import Press
from bot.events.signups.waiting_line import end_offers
from bot.events.subscriptions import subscriptions_of
from bot.leases import failed_rows, fan_out_rows, ledger
from bot.leases.failures import ErrorClass
from bot.leases.keys import ATTENDANCE_POST, MessageKey
from bot.leases.ledger import Claim
from bot.leases.ports import Delivered
from bot.leases.retention import forget_ended
from bot.ops_notes import raise_fault
from bot.reminders import recipients
from bot.reminders.fire import find_due
from bot.scheduling import due_rows
from bot.scheduling.agenda import Agenda
from bot.scheduling.bodies import (
    CLEANUP_STALE_EVENTS,
    OPEN_SCHEDULED_SIGNUPS,
    SYNC_DISCORD_EVENTS,
    TELL_OPS_NOTES,
    TELL_PROMOTIONS,
    TELL_TIME_CHANGES,
)
from bot.scheduling.registry import REMINDERS, ScheduledReminder
from bot.transactions import Dialect, connection, dialect
from models.event import Event
from models.states import EventState
from tests.bench.ticks import NOW, Sizes, analyze, fill
from tests.builders import FakeDiscord, Process, make_guild, make_series
from tests.people import REQUIRED_FIELD, subscribe

# The tables that grow, and what statements call them: SQLite's plans name the alias alone.
ALIASES = {
    "event": ("e",),
    "reminder_due": ("d",),
    "discord_message_log": ("l", "n", "known", "failed", "later"),
    "event_signup": ("s",),
    "repeater_subscription": ("s",),
    "player_profile": (),
    "dm_channel": (),
}
DUE = "idx_reminder_du_key_c2f024"
SENT_KEY = "uniq_discord_message_log_source_event_when_pending_or_success"
FAILED_KEY = "ix_discord_message_log_failed_key"
FAILED_NEXT = "ix_discord_message_log_failed_next"
HELD = "ix_discord_message_log_held"
STATE_TIME, STATE_OPENS, POST_DUE = "idx_event_state_4b815b", "idx_event_state_f0d00d", "idx_event_post_du_ca14c5"
NATIVE_DUE = "idx_event_native__4e73e7"

HOUR = dt.timedelta(hours=1)
CLOCK = InjectedLeaseClock(ManualClock(NOW))
BY_ENTRY = pytest.mark.parametrize("reminder", REMINDERS, ids=lambda entry: entry.key)

Work = Callable[[], Awaitable[object]]
Plan = Callable[[Work], Awaitable["list[Planned]"]]


@dataclass(frozen=True, slots=True)
class Planned:
    """A statement and how the database carries it out, a step a line."""

    query: str
    steps: tuple[str, ...]

    def by(self, index: str) -> str:
        """Return the steps that read through an index, with what they look up in it; empty: none does."""
        lines = list(self.steps)
        found = []
        for place, line in enumerate(lines):
            if re.search(rf"\b{index}\b", line):
                details = lines[place + 1 : place + 2] if dialect() is Dialect.POSTGRES else []
                found.append(" ".join([line.strip(), *(one.strip() for one in details)]))
        return "\n".join(found)

    def read_whole_of(self, *tables: str) -> list[str]:
        """Return the steps that read one of the tables, or a whole index of it, from one end to the other."""
        names = "|".join(name for table in tables for name in (table, *ALIASES[table]))
        return [line for line in self.steps if re.search(rf"(Seq Scan on|^SCAN) ({names})\b", line)]


@pytest.fixture
async def plans(database: str, monkeypatch: pytest.MonkeyPatch) -> Plan:
    """Fill the database; return what runs a piece of code and gives the plans of its reads and writes."""
    await fill(Sizes(stored=4_000, horizon=400, due=5))
    await _failures()
    sent: list[tuple[str, list[Any]]] = []
    for client in (SqliteClient, AsyncpgDBClient):
        for name in ("execute_query", "execute_query_dict"):
            monkeypatch.setattr(client, name, _keeping(getattr(client, name), sent))

    async def _plans(work: Work) -> list[Planned]:
        sent.clear()
        await work()
        statements = [(query, values) for query, values in sent if re.match(r"\s*(SELECT|INSERT|UPDATE|DELETE)", query)]
        assert statements
        without = [await _planned(*one) for one in statements] if dialect() is Dialect.SQLITE else []
        await analyze()
        return [*without, *[await _planned(*one) for one in statements]]

    return _plans


def _keeping(method: Callable[..., Awaitable[object]], sent: list[tuple[str, list[Any]]]) -> object:
    async def _kept(self: object, query: str, values: list[Any] | None = None) -> object:
        sent.append((query, values or []))
        return await method(self, query, values)

    return _kept


async def _planned(query: str, values: list[Any]) -> Planned:
    explain = "EXPLAIN QUERY PLAN" if dialect() is Dialect.SQLITE else "EXPLAIN"
    rows = await connection().execute_query_dict(f"{explain} {query}", values)
    return Planned(query, tuple(str(row.get("detail", row.get("QUERY PLAN"))) for row in rows))


async def _failures() -> None:
    """Store failures that wait for their next attempt, and more that are kept as reasons."""
    await connection().execute_script(
        "INSERT INTO discord_message_log (source, source_id, recipient_id, part, success, claimed_at, history_after,"
        " attempts, next_attempt_at, created_at) SELECT 'signup_reminder', id, 0, 0, FALSE, created_at, 0, 1,"
        " CASE WHEN id % 20 = 0 THEN created_at END, created_at FROM event WHERE id % 3 = 0"
    )


async def _claimed(source_id: int = 1) -> ledger.Lease:
    claim = Claim(MessageKey("announcement", source_id), 1, 2, {"marker": "m", "version": 1}, 1)
    lease = await ledger.claim_lease(claim, instance="i", lease_clock=CLOCK)
    assert lease is not None
    return lease


def _none_read_whole(planned: Iterable[Planned]) -> None:
    assert {one.query: whole for one in planned if (whole := one.read_whole_of(*ALIASES))} == {}


@BY_ENTRY
async def test_due_reminders_are_read_as_one_short_range(plans: Plan, reminder: ScheduledReminder) -> None:
    async def _work() -> None:
        assert len([due async for due in find_due(reminder, now=NOW)]) == 5

    found = await plans(_work)

    _none_read_whole(found)
    for one in found:
        assert re.search(r"key\b.*due_at\b", one.by(DUE)), one.steps
        assert re.search(r"source\b.*source_id\b.*recipient_id\b.*part\b", one.by(SENT_KEY)), one.steps


async def test_next_due_moment_is_one_step_into_the_index(plans: Plan) -> None:
    found = await plans(lambda: due_rows.next_due(after=NOW))

    _none_read_whole(found)
    assert all(re.search(r"key\b.*due_at\b", one.by(DUE)) for one in found)


async def test_claim_probes_the_failed_attempts_of_its_key_alone(plans: Plan) -> None:
    found = await plans(_claimed)

    _none_read_whole(found)
    for one in found:
        assert re.search(r"source\b.*source_id\b.*recipient_id\b.*part\b", one.by(FAILED_KEY)), one.steps


async def test_lease_is_finalized_by_its_id(plans: Plan) -> None:
    lease = await _claimed()

    found = await plans(lambda: ledger.finalize_sent(lease, Delivered(3, 2), lease_clock=CLOCK))

    _none_read_whole(found)
    for one in found:
        # PostgreSQL takes the smaller of the two indexes on the id, that of the open rows.
        steps = "\n".join(one.steps)
        assert re.search(r"INTEGER PRIMARY KEY \(rowid=\?\)|Index Cond: \(id = ", steps), steps


async def test_open_rows_are_read_from_their_own_index(plans: Plan) -> None:
    await _claimed()

    found = await plans(ledger.held_rows)

    assert all(one.by(HELD) for one in found), found


async def test_open_row_of_a_key_is_looked_up(plans: Plan) -> None:
    await _claimed()

    found = await plans(lambda: ledger.held_rows(MessageKey("announcement", 1)))

    _none_read_whole(found)
    # PostgreSQL may run through the few open rows instead.
    assert all(one.by(SENT_KEY) or one.by(HELD) for one in found), found


async def test_failures_that_wait_are_read_from_their_own_index(plans: Plan) -> None:
    found = await plans(lambda: failed_rows.next_failure_expiry(retention=HOUR))

    _none_read_whole(found)
    assert all(one.by(FAILED_NEXT) for one in found), found


async def test_reason_why_nothing_was_sent_is_recorded_by_two_probes(plans: Plan) -> None:
    async def _work() -> None:
        await ledger.record_unsent(
            MessageKey("announcement", 1), guild_id=1, error_class=ErrorClass.EVENT_STARTED, text="x", lease_clock=CLOCK
        )

    found = await plans(_work)

    _none_read_whole(found)
    assert all(one.by(SENT_KEY) and one.by(FAILED_KEY) for one in found), found


async def test_due_rows_are_derived_without_reading_the_whole_log(plans: Plan) -> None:
    ids = [event.id for event in await Event.filter(scheduled_at__gt=NOW).order_by("id").limit(20)]

    found = await plans(lambda: due_rows.refresh(ids))

    _none_read_whole(found)
    of_log = [one for one in found if "UNION ALL" in one.query]
    assert of_log
    assert all(one.by(SENT_KEY) and one.by(FAILED_KEY) for one in of_log), of_log


async def test_missing_due_rows_are_found_without_reading_the_log_for_each_event(plans: Plan) -> None:
    found = await plans(lambda: due_rows.missing(now=NOW))

    # For each row again: every loop of SQLite, and what PostgreSQL could not make a join of.
    again = [
        step
        for one in found
        for before, step in itertools.pairwise(one.steps)
        if step in one.read_whole_of("discord_message_log")
        and (dialect() is Dialect.SQLITE or before.strip().startswith("SubPlan"))
    ]
    assert again == [], "\n".join(found[0].steps)


async def test_state_moves_are_read_by_state_and_time(plans: Plan) -> None:
    services = _services()

    async def _work() -> None:
        await services.body(OPEN_SCHEDULED_SIGNUPS).step(NOW)
        await services.body(CLEANUP_STALE_EVENTS).step(NOW)

    found = await plans(_work)

    of_events = [one for one in found if not re.search("leader_lease|event_signup|discord_message_log", one.query)]
    _none_read_whole(of_events)
    assert all(one.by(STATE_TIME) or one.by(STATE_OPENS) for one in of_events), of_events


async def test_old_messages_are_looked_through_by_their_ids(plans: Plan) -> None:
    found = await plans(lambda: forget_ended(before=NOW, after=100, most=10))

    assert found
    steps = ["\n".join(one.steps) for one in found]
    assert all(re.search(r"INTEGER PRIMARY KEY \(rowid>\?|Index Cond: \(+id > ", of) for of in steps), steps
    # The few of that stretch are what the answer is made of.
    assert not any(re.search(r"Seq Scan on discord_message_log l|SCAN l\b", of) for of in steps), steps


async def test_events_to_open_are_read_by_when_they_open(plans: Plan) -> None:
    found = await plans(lambda: _services().body(OPEN_SCHEDULED_SIGNUPS).step(NOW))

    assert found[0].by(STATE_OPENS), found[0]


async def test_posts_and_scheduled_events_that_lag_behind_are_read_by_their_moment(plans: Plan) -> None:
    everything = await plans(lambda: _services().body(SYNC_DISCORD_EVENTS).step(NOW))

    # Those that nobody watches yet are looked for once a process.
    found = [one for one in everything if "native_due_at IS NULL" not in one.query.replace('"', "")]
    assert any(one.query.startswith("UPDATE") for one in everything if one not in found)
    assert all(one.by(POST_DUE) or one.by(NATIVE_DUE) for one in found), found
    assert any(one.by(POST_DUE) for one in found)
    assert any("PARTITION" in one.query for one in found if one.by(NATIVE_DUE))
    # The few that lag behind are put in order by themselves.
    _none_read_whole(one for one in found if "PARTITION" not in one.query)


async def test_notes_to_tell_are_found_without_reading_the_log(plans: Plan) -> None:
    await raise_fault(1, "a fault", "something is wrong", now=NOW)

    found = await plans(lambda: _services().body(TELL_OPS_NOTES).step(NOW))

    of_log = [one for one in found if "ops_note n" in one.query]
    assert of_log
    # The notes themselves are read whole: there is one for each fault.
    assert all(one.by(SENT_KEY) and one.by(FAILED_KEY) for one in of_log), of_log


# ------------------------------------------------------------------------------------------------------------- people


SERIES, OPEN_EVENT, SUBSCRIBERS = 12, 1_802, 20


@pytest.fixture
async def crowd(plans: Plan) -> Plan:
    """Store people beside the events: twenty answers to each of the horizon, two hundred series with subscribers."""
    for number in range(200):
        series = await make_series(now=NOW, guild_id=1, name=f"Series {number}")
        await subscribe(series.id, range(number, number + SUBSCRIBERS))
    for statement in (_SIGNUPS, _PROFILES, _CHANNELS, _DMS):
        await connection().execute_script(statement)
    event = await Event.get(id=OPEN_EVENT)
    assert (event.state, event.scheduled_at > NOW) == (EventState.SIGNUPS_OPEN, True)
    event.series_id = SERIES
    await event.save(update_fields=["series_id"])
    return plans


_NUMBERS = "(WITH RECURSIVE n (k) AS (SELECT 0 UNION ALL SELECT k + 1 FROM n WHERE k < {most}) SELECT k FROM n) people"
_SIGNUPS = (
    "INSERT INTO event_signup (event_id, user_id, status, position, created_at, changed_at)"  # noqa: S608 -- our own
    " SELECT id, k, CASE WHEN k > 14 THEN 'waitlisted' WHEN k > 12 THEN 'declined' ELSE 'signed_up' END,"
    f" CASE WHEN k > 14 THEN k END, created_at, created_at FROM event, {_NUMBERS.format(most=19)}"
    " WHERE state = 'signups_open'"
)
_PROFILES = (
    "INSERT INTO player_profile (guild_id, user_id, field_values, reminder_opt_outs, updated_at)"
    " SELECT id % 5, id, '{}', '[]', created_at FROM event"
)
_CHANNELS = "INSERT INTO dm_channel (user_id, channel_id, opened_at) SELECT id, id, created_at FROM event"
# What the fan-outs of the horizon left in the log, sent and failed.
_DMS = (
    "INSERT INTO discord_message_log (source, source_id, recipient_id, part, success, claimed_at, history_after,"  # noqa: S608
    " attempts, created_at) SELECT 'signup_reminder', id, k + 1, 0, k % 10 <> 0, created_at, 0, 1, created_at"
    f" FROM event, {_NUMBERS.format(most=19)} WHERE state = 'signups_open'"
)

PARENT = MessageKey("signup_reminder", OPEN_EVENT)


def _all_by(planned: list[Planned], table: str, column: str) -> None:
    """See that each statement that reads the table looks one value of this column up in an index."""
    reading = [one for one in planned if re.search(rf'FROM "?{table}\b', one.query)]
    assert reading
    assert {one.query: one.steps for one in reading if not re.search(rf"{column}\s*=", "\n".join(one.steps))} == {}


async def test_children_of_a_fan_out_are_read_by_two_short_ranges(crowd: Plan) -> None:
    found = await crowd(lambda: fan_out_rows.children(PARENT))

    _none_read_whole(found)
    for one in found:
        assert re.search(r"source\b.*source_id\b", one.by(SENT_KEY)), one.steps
        assert re.search(r"source\b.*source_id\b", one.by(FAILED_KEY)), one.steps


@pytest.mark.parametrize("source", [ATTENDANCE_POST, "signup_reminder"], ids=["never tried", "known source"])
async def test_the_row_of_a_post_is_looked_up(crowd: Plan, source: str) -> None:
    found = await crowd(lambda: fan_out_rows.post_row(MessageKey(source, OPEN_EVENT)))

    _none_read_whole(found)
    assert all(one.by(SENT_KEY) and one.by(FAILED_KEY) for one in found), found


async def test_a_parent_is_renewed_by_its_id(crowd: Plan) -> None:
    lease = await _claimed()

    found = await crowd(lambda: ledger.renew(lease, lease_clock=CLOCK))

    _none_read_whole(found)


@pytest.mark.parametrize(
    ("among", "asked"), [(None, 12), ([20], 1), (list(range(600)), 12)], ids=["everybody", "one", "600"]
)
async def test_whom_to_ask_to_sign_up_is_read_by_the_series_and_by_the_event(
    crowd: Plan, among: list[int] | None, asked: int
) -> None:
    event = await Event.get(id=OPEN_EVENT)

    async def _work() -> None:
        # Those who declined, and those who said nothing.
        assert len(await recipients.to_sign_up(event, among)) == asked

    found = await crowd(_work)

    _none_read_whole(found)
    _all_by(found, "repeater_subscription", "series_id")


@pytest.mark.parametrize(
    ("among", "asked"), [(None, 13), ([3], 1), (list(range(600)), 13)], ids=["everybody", "one", "600"]
)
@pytest.mark.parametrize("recipients_of", [recipients.to_confirm, recipients.to_fill_in], ids=["to confirm", "to fill"])
async def test_those_with_a_place_and_their_profiles_are_read_by_the_event_and_the_guild(
    crowd: Plan, recipients_of: Callable[..., Awaitable[tuple[int, ...]]], among: list[int] | None, asked: int
) -> None:
    await make_guild(1, profile_fields=[REQUIRED_FIELD])
    event = await Event.get(id=OPEN_EVENT)

    async def _work() -> None:
        assert len(await recipients_of(event, among)) == asked

    found = await crowd(_work)

    _none_read_whole(found)
    _all_by(found, "event_signup", "event_id")


async def test_who_comes_is_read_by_the_event(crowd: Plan) -> None:
    found = await crowd(lambda: people_of(OPEN_EVENT))

    _none_read_whole(found)
    _all_by(found, "event_signup", "event_id")


@pytest.mark.parametrize("press", [Press.SIGN_UP, Press.CANT])
async def test_a_press_reads_its_own_event_alone(crowd: Plan, press: Press) -> None:
    async def _work() -> None:
        await Event.filter(id=OPEN_EVENT).update(scheduled_at=NOW + HOUR, max_players=14)
        await _services().signups.press(
            press, OPEN_EVENT, guild_id=1, user_id=3 if press is Press.CANT else 10**9, role_ids=None, now=NOW
        )

    found = await crowd(_work)

    _none_read_whole(found)
    _all_by(found, "event_signup", "event_id")


async def test_who_moved_up_and_whose_offer_ends_is_read_without_the_years_before(plans: Plan) -> None:
    # Five to each event that ever was, of which few are open.
    await connection().execute_script(
        "INSERT INTO event_signup (event_id, user_id, status, created_at, changed_at, offered_until)"  # noqa: S608 -- ours
        " SELECT id, k, 'signed_up', created_at, created_at, CASE WHEN id % 500 = 0 THEN created_at END"
        f" FROM event, {_NUMBERS.format(most=4)}"
    )
    await connection().execute_script("UPDATE event SET state = 'completed' WHERE id % 40 <> 0")

    async def _work() -> None:
        await _services().body(TELL_PROMOTIONS).step(NOW)
        await end_offers(Agenda(), now=NOW, debounce=HOUR)

    found = await plans(_work)

    of_people = [one for one in found if "event_signup" in one.query]
    assert len(of_people) >= 3
    _none_read_whole(of_people)


async def test_new_times_that_nobody_was_told_of_are_found_among_the_open_events_alone(plans: Plan) -> None:
    await connection().execute_script("UPDATE event SET state = 'completed', time_changes = 1 WHERE id % 40 <> 0")

    found = await plans(lambda: _services().body(TELL_TIME_CHANGES).step(NOW))

    of_events = [one for one in found if "time_changes > 0" in one.query]
    assert len(of_events) >= 2
    _none_read_whole(of_events)


@pytest.mark.parametrize("count", [1, 100])
async def test_the_channels_of_people_are_looked_up(crowd: Plan, count: int) -> None:
    found = await crowd(lambda: DmChannelBook().load(range(1, count + 1)))

    _none_read_whole(found)


async def test_the_subscriptions_of_one_person_are_read_by_the_person(crowd: Plan) -> None:
    async def _work() -> None:
        assert len(await subscriptions_of(100, guild_id=1)) == SUBSCRIBERS

    found = await crowd(_work)

    _none_read_whole([one for one in found if "repeater_subscription" in one.query])


async def test_what_a_person_can_turn_off_is_read_by_the_person_and_the_server(crowd: Plan) -> None:
    async def _work() -> None:
        assert await switches(100, guild_id=1)

    found = await crowd(_work)

    _none_read_whole([one for one in found if "event_signup" in one.query])


async def test_the_profile_of_one_person_is_looked_up(crowd: Plan) -> None:
    await make_guild(2, profile_fields=[REQUIRED_FIELD])

    found = await crowd(lambda: profile_of(7, guild_id=2))

    _none_read_whole(found)


async def test_what_began_unsent_is_read_by_when_it_was_due(crowd: Plan) -> None:
    found = await crowd(lambda: due_rows.begun_unsent(now=NOW))

    _none_read_whole(found)
    assert all(one.by(DUE) for one in found), found


async def test_what_began_before_it_was_opened_is_read_by_state_and_time(plans: Plan) -> None:
    found = await plans(lambda: due_rows.begun_unopened(now=NOW))

    _none_read_whole(found)
    assert all(one.by(STATE_TIME) for one in found), found


def _services() -> Services:
    clock = ManualClock(NOW)
    return Process(FakeDiscord(clock), clock).services
