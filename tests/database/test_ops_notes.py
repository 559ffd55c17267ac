"""What admins are told about trouble: each fault once, until it changes or comes back."""

import datetime as dt

import pytest

from bot.clock import ManualClock
from bot.leases.failures import ErrorClass, SendError
from bot.leases.keys import MessageKey
from bot.leases.ledger import HeldRow, Lease
from bot.leases.ports import Attempt, Delivered, HistoryUnreadableError
from bot.leases.send_once import OneWayOut, SendOptions
from bot.ops_notes import (
    OpsNoteTeller,
    PostFaultObserver,
    mend_faults,
    note_message,
    post_fault,
    post_fault_sentence,
    raise_fault,
    tell_unreadable,
)
from bot.scheduling.agenda import Agenda
from bot.scheduling.bodies import TELL_OPS_NOTES
from models.guild_settings import GuildSettings
from models.ops_note import OpsNote
from tests.fake_discord import (
    CHANNEL,
    GUILD,
    MINUTE,
    SECOND,
    Accepted,
    FakeDiscord,
    Refused,
    log_rows,
    lost_answer,
    outcomes,
    way_out,
)

HOUR = dt.timedelta(hours=1)
OPS = 90
OTHER_GUILD, OTHER_OPS = 8, 91
FORBIDDEN = SendError(ErrorClass.FORBIDDEN, "Missing Access", status=403, missing=["Send Messages", "Embed Links"])


@pytest.fixture
def discord(clock: ManualClock) -> FakeDiscord:
    return FakeDiscord(clock)


@pytest.fixture
def out(discord: FakeDiscord) -> OneWayOut:
    return way_out(discord)


async def two_guilds(*, ops_channel: int | None = OPS) -> None:
    await GuildSettings.create(guild_id=GUILD, ops_channel_id=ops_channel)
    await GuildSettings.create(guild_id=OTHER_GUILD, ops_channel_id=OTHER_OPS)


async def tell(out: OneWayOut, clock: ManualClock) -> dt.timedelta | None:
    """Run one pass; return how long until the next attempt."""
    upcoming = await OpsNoteTeller(out, is_available=lambda _: True).tell_ops_notes(clock.now())
    return upcoming - clock.now() if upcoming is not None else None


async def raised(clock: ManualClock, says: str, *, guild_id: int = GUILD, fault: str = "post:70") -> None:
    await raise_fault(guild_id, fault, says, now=clock.now())


def told(discord: FakeDiscord) -> list[tuple[int, str]]:
    return [(posted.channel_id, posted.marker) for posted in discord.visible]


async def test_a_fault_is_told_once(database: str, clock: ManualClock, discord: FakeDiscord, out: OneWayOut) -> None:
    await two_guilds()
    for _ in range(3):
        await raised(clock, "no channel")
        await tell(out, clock)
        clock.advance(HOUR)

    note = await OpsNote.get()
    assert note.revision == 1
    assert told(discord) == [(OPS, f"note #{note.id}.1")]


async def test_a_fault_is_told_again_only_when_what_it_says_changes(
    database: str, clock: ManualClock, discord: FakeDiscord, out: OneWayOut
) -> None:
    await two_guilds()
    for says in ("lacks Send Messages", "lacks Send Messages", "lacks Embed Links", "lacks Embed Links"):
        await raised(clock, says)
        await tell(out, clock)

    note = await OpsNote.get()
    assert told(discord) == [(OPS, f"note #{note.id}.1"), (OPS, f"note #{note.id}.2")]


async def test_what_changed_twice_before_it_was_told_is_told_once_as_it_is(
    database: str, clock: ManualClock, discord: FakeDiscord, out: OneWayOut
) -> None:
    await two_guilds()
    await raised(clock, "first")
    await raised(clock, "second")

    await tell(out, clock)

    note = await OpsNote.get()
    assert (note.says, told(discord)) == ("second", [(OPS, f"note #{note.id}.2")])


async def test_a_fault_that_was_mended_and_came_back_is_told_again(
    database: str, clock: ManualClock, discord: FakeDiscord, out: OneWayOut
) -> None:
    await two_guilds()
    for _ in range(2):
        await raised(clock, "no channel")
        await tell(out, clock)
        await mend_faults(GUILD, "post:70", "post:none", now=clock.now())
        await tell(out, clock)

    assert [marker.rpartition(".")[2] for _, marker in told(discord)] == ["1", "2"]


async def test_a_fault_mended_before_it_was_told_is_not_told(
    database: str, clock: ManualClock, discord: FakeDiscord, out: OneWayOut
) -> None:
    await two_guilds()
    await raised(clock, "no channel")
    await mend_faults(GUILD, "post:70", now=clock.now())

    await tell(out, clock)

    assert (told(discord), await log_rows()) == ([], [])


async def test_mending_touches_the_named_faults_of_that_guild_alone(database: str, clock: ManualClock) -> None:
    await raised(clock, "here")
    await raised(clock, "another fault", fault="post:71")
    await raised(clock, "another guild", guild_id=OTHER_GUILD)

    await mend_faults(GUILD, "post:70", now=clock.now())

    assert [note.says for note in await OpsNote.all().order_by("id")] == ["", "another fault", "another guild"]


async def test_the_same_fault_of_another_guild_has_a_note_of_its_own(
    database: str, clock: ManualClock, discord: FakeDiscord, out: OneWayOut
) -> None:
    await two_guilds()
    await raised(clock, "no channel")
    await raised(clock, "no channel", guild_id=OTHER_GUILD)

    await tell(out, clock)
    await raised(clock, "changed")
    await tell(out, clock)

    assert [channel for channel, _ in told(discord)] == [OPS, OTHER_OPS, OPS]
    assert [note.revision for note in await OpsNote.all().order_by("id")] == [2, 1]


async def test_without_an_ops_channel_a_note_is_kept_until_there_is_one(
    database: str, clock: ManualClock, discord: FakeDiscord, out: OneWayOut
) -> None:
    await two_guilds(ops_channel=None)
    await raised(clock, "no channel")
    wait = await tell(out, clock)
    between = (told(discord), await log_rows(), (await OpsNote.get()).says)

    await GuildSettings.filter(guild_id=GUILD).update(ops_channel_id=OPS)
    await tell(out, clock)

    assert (wait, between) == (None, ([], [], "no channel"))
    assert [channel for channel, _ in told(discord)] == [OPS]


async def test_a_guild_without_settings_keeps_its_note(
    database: str, clock: ManualClock, discord: FakeDiscord, out: OneWayOut
) -> None:
    await raised(clock, "no channel")

    await tell(out, clock)

    assert (told(discord), await OpsNote.all().count()) == ([], 1)


async def test_a_failing_ops_channel_is_retried_by_backoff_and_stops_no_other(
    database: str, clock: ManualClock, discord: FakeDiscord, out: OneWayOut
) -> None:
    await two_guilds()
    await raised(clock, "no channel")
    await raised(clock, "no channel", guild_id=OTHER_GUILD)
    discord.answers.append(Refused(SendError(ErrorClass.OUTAGE, "503", status=503)))

    first = await tell(out, clock)
    after_the_first = [channel for channel, _ in told(discord)]
    clock.advance(30 * SECOND - dt.timedelta(microseconds=1))
    too_early = await tell(out, clock)
    requests = discord.requests
    clock.advance(dt.timedelta(microseconds=1))
    discord.answers.append(Refused(SendError(ErrorClass.OUTAGE, "503", status=503)))
    second = await tell(out, clock)
    clock.advance(MINUTE)
    third = await tell(out, clock)

    assert (first, too_early, second, third) == (30 * SECOND, dt.timedelta(microseconds=1), MINUTE, None)
    assert (after_the_first, requests) == ([OTHER_OPS], 2)
    assert [channel for channel, _ in told(discord)] == [OTHER_OPS, OPS]


async def test_a_forbidden_ops_channel_costs_one_attempt_an_hour(
    database: str, clock: ManualClock, discord: FakeDiscord, out: OneWayOut
) -> None:
    await two_guilds()
    await raised(clock, "no channel")
    discord.answers.append(Refused(FORBIDDEN))

    waits = [await tell(out, clock)]
    for _ in range(59):
        clock.advance(MINUTE)
        waits.append(await tell(out, clock))
    requests_within_the_hour = discord.requests
    clock.advance(MINUTE)
    await tell(out, clock)

    assert waits == [HOUR - minute * MINUTE for minute in range(60)]
    assert (requests_within_the_hour, discord.requests) == (1, 2)


async def test_a_note_that_breaks_its_sender_does_not_keep_the_others_back(
    database: str, clock: ManualClock, discord: FakeDiscord, out: OneWayOut
) -> None:
    await two_guilds()
    await raised(clock, "no channel")
    await raised(clock, "no channel", guild_id=OTHER_GUILD)
    discord.answers.append(Refused(KeyError("a bug")))

    await tell(out, clock)

    assert [channel for channel, _ in told(discord)] == [OTHER_OPS]
    assert await outcomes() == [None, True]


async def test_a_note_whose_outcome_is_unknown_is_not_told_twice(
    database: str, clock: ManualClock, discord: FakeDiscord, out: OneWayOut
) -> None:
    await two_guilds()
    await raised(clock, "no channel")
    discord.answers.append(Accepted(then=lost_answer()))

    for _ in range(3):
        await tell(out, clock)
        clock.advance(HOUR)

    assert (len(discord.visible), await outcomes()) == (1, [None])


async def test_while_everything_is_paused_a_note_waits(database: str, clock: ManualClock, discord: FakeDiscord) -> None:
    await two_guilds()
    out = way_out(discord, options=SendOptions(cdn_block_pause=MINUTE))
    discord.answers.append(Refused(SendError(ErrorClass.CDN_BLOCK, "<html>", status=429)))
    await raised(clock, "no channel")
    await raised(clock, "no channel", guild_id=OTHER_GUILD)
    await tell(out, clock)
    while_paused = told(discord)

    clock.advance(MINUTE)
    await tell(out, clock)

    assert while_paused == []
    assert sorted(channel for channel, _ in told(discord)) == [OPS, OTHER_OPS]


@pytest.mark.parametrize("length", [1_500, 1_501, 5_000], ids=["exactly", "just past", "far past"])
async def test_a_note_is_cut_to_what_its_column_and_a_message_hold(
    database: str, clock: ManualClock, length: int
) -> None:
    await raised(clock, "x" * length)

    note = await OpsNote.get()
    assert len(note.says) == 1_500
    assert note_message(note).embed is not None


async def test_raising_a_fault_twice_at_once_makes_one_note(database: str, clock: ManualClock) -> None:
    await raised(clock, "first")
    clock.advance(MINUTE)
    await raised(clock, "first")

    note = await OpsNote.get()
    assert (note.revision, note.updated_at) == (1, clock.now() - MINUTE)


# ------------------------------------------------------------------------------------------------ failed posts


@pytest.mark.parametrize(
    ("error", "words"),
    [
        pytest.param(FORBIDDEN, f"in <#{CHANNEL}>: I lack Send Messages, Embed Links there", id="forbidden"),
        pytest.param(SendError(ErrorClass.FORBIDDEN, ""), "I lack a permission there", id="forbidden, unknown why"),
        pytest.param(SendError(ErrorClass.GONE, ""), f"I cannot post in <#{CHANNEL}>: it is gone", id="gone"),
        pytest.param(SendError(ErrorClass.INVALID, ""), f"A post for <#{CHANNEL}> was refused", id="invalid"),
        pytest.param(SendError(ErrorClass.NO_CHANNEL, ""), "no announcement channel is set", id="no channel"),
        pytest.param(SendError(ErrorClass.CDN_BLOCK, ""), "I pause everything for ten minutes", id="cdn block"),
    ],
)
def test_a_failed_post_is_told_with_what_an_admin_can_do(error: SendError, words: str) -> None:
    says = post_fault_sentence(CHANNEL, error)

    assert says is not None
    assert words in says


@pytest.mark.parametrize(
    "error_class",
    [
        ErrorClass.OUTAGE,
        ErrorClass.RATE_LIMITED,
        ErrorClass.UNAUTHORIZED,
        ErrorClass.EVENT_STARTED,
    ],
)
def test_what_no_admin_can_mend_is_not_told(error_class: ErrorClass) -> None:
    assert post_fault_sentence(CHANNEL, SendError(error_class, "")) is None


async def test_a_failed_post_raises_a_fault_and_a_sent_one_mends_it(database: str, clock: ManualClock) -> None:
    agenda = Agenda()
    observer, attempt = PostFaultObserver(agenda), Attempt(MessageKey("event_announcement", 1), GUILD, CHANNEL)
    await raise_fault(GUILD, post_fault(None), "no channel", now=clock.now())

    await observer.on_failed(attempt, FORBIDDEN, next_attempt_at=None, now=clock.now())
    between = {note.fault: bool(note.says) for note in await OpsNote.all()}
    await observer.on_sent(attempt, Delivered(9, CHANNEL), now=clock.now())

    assert between == {"post:none": True, "post:70": True}
    assert agenda.next(TELL_OPS_NOTES) == clock.now()
    assert {note.fault: bool(note.says) for note in await OpsNote.all()} == {"post:none": False, "post:70": False}


async def test_a_post_in_another_channel_mends_no_fault_of_this_one(database: str, clock: ManualClock) -> None:
    observer, attempt = PostFaultObserver(Agenda()), Attempt(MessageKey("event_announcement", 1), GUILD, CHANNEL)
    await observer.on_failed(attempt, FORBIDDEN, next_attempt_at=None, now=clock.now())

    await observer.on_sent(attempt, Delivered(9, CHANNEL + 1), now=clock.now())

    assert (await OpsNote.get()).says != ""


async def test_a_fan_out_that_is_done_says_nothing_of_a_channel(database: str, clock: ManualClock) -> None:
    observer, attempt = PostFaultObserver(Agenda()), Attempt(MessageKey("attendance_reminder", 1), GUILD, None)
    await raise_fault(GUILD, post_fault(None), "no channel", now=clock.now())

    await observer.on_sent(attempt, None, now=clock.now())

    assert (await OpsNote.get()).says == "no channel"


async def test_notes_of_guilds_that_cannot_be_reached_hold_back_no_others(
    database: str, clock: ManualClock, discord: FakeDiscord
) -> None:
    for guild_id in range(1, 251):
        await GuildSettings.create(guild_id=guild_id, ops_channel_id=OPS)
        await raise_fault(guild_id, "a fault", f"of {guild_id}", now=clock.now())

    teller = OpsNoteTeller(way_out(discord), is_available=lambda guild_id: guild_id == 250)
    await teller.tell_ops_notes(clock.now())

    assert told(discord) == [(OPS, "note #250.1")]


@pytest.mark.parametrize(
    ("lacks_permission", "words"),
    [(True, "Grant me View Channel and Read Message History"), (False, "I look again every minute")],
    ids=["a permission is missing", "Discord is down"],
)
async def test_an_unreadable_history_is_told_with_what_can_be_done_about_it(
    database: str, clock: ManualClock, lacks_permission: bool, words: str
) -> None:
    lease = Lease(1, MessageKey("event_announcement", 1), "token", 1, clock.now())
    row = HeldRow(lease, GUILD, CHANNEL, "#1", 0, 0, "one", None, None)

    await tell_unreadable(row, HistoryUnreadableError("why", lacks_permission=lacks_permission), clock.now())

    assert words in (await OpsNote.get()).says


async def test_an_unreadable_history_is_told_with_where_until_it_is_over(database: str, clock: ManualClock) -> None:
    lease = Lease(1, MessageKey("attendance_post", 1), "token", 1, clock.now())
    row = HeldRow(lease, GUILD, CHANNEL, "#1", 0, 0, "one", None, None)

    await tell_unreadable(row, HistoryUnreadableError("why"), clock.now())
    says = (await OpsNote.get()).says
    await tell_unreadable(row, None, clock.now())

    assert says.startswith("I cannot tell whether a message arrived in <#70>, since")
    assert (await OpsNote.get()).says == ""


async def test_an_unreadable_dm_is_told_to_nobody_who_could_do_nothing_about_it(
    database: str, clock: ManualClock
) -> None:
    lease = Lease(1, MessageKey("signup_reminder", 1, 4_001), "token", 1, clock.now())
    row = HeldRow(lease, GUILD, CHANNEL, "#1", 0, 0, "one", None, None)

    await tell_unreadable(row, HistoryUnreadableError("why"), clock.now())

    assert await OpsNote.all().count() == 0
