"""What must be true once a world whose process was killed is at rest, and how long that took."""

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from bot.leases.failures import ErrorClass
from bot.leases.keys import EVENT_REPOST, NATIVE_EVENT, MessageKey
from bot.reminders.missed import FAULT
from bot.reminders.tasks import ANNOUNCEMENT
from models.audit_log import AuditLog
from models.discord_message_log import DiscordMessageLog
from models.event import Event
from models.event_signup import EventSignup
from models.ops_note import OpsNote
from models.states import EventState, SignupStatus
from tests.builders import derived_due, stored_due
from tests.chaos.deaths.kill_stories import Place
from tests.chaos.deaths.kill_stub import KillStub
from tests.chaos.deaths.kill_world import PRESSER, SOON, World, marker_of, visible
from tests.chaos.proof import Figures
from tests.wire.discord_stub import CHANNEL

_POSTS = (ANNOUNCEMENT.log_source, EVENT_REPOST)
RESEND_AFTER = dt.timedelta(seconds=60)
RESTART, TAKE_OVER, RESEND, REPEAT, STUCK = "restart", "take-over", "resend", "repeat", "stuck"
"""The samples: to rest after a restart, to rest after a death whose work another takes over, from a claim to the next
request of its key, from a request of a key to its next one with a death in between, and rows that were still open at
the end."""


@dataclass(frozen=True, slots=True)
class Death:
    """One kill: when, and whose claims it left open."""

    at: dt.datetime
    open: dict[MessageKey, dt.datetime]


@dataclass(frozen=True, slots=True)
class History:
    """
    What befell one world: its deaths, and when the life that healed it began; ``taken_over``: by another's.

    ``polled_from``: when that life first looked for what is due. ``answered``: everybody who did something was.
    """

    deaths: list[Death]
    healed_from: dt.datetime
    polled_from: dt.datetime
    taken_over: bool
    answered: bool


async def judged(world: World, stub: KillStub, history: History) -> Figures:
    """Return what one world came to; its faults without the seed."""
    await world.expect()
    await world.story.settle(stub, discord_ahead_by=world.discord_ahead_by)
    world.expected |= world.story.expected
    figures = Figures(runs=1, attempted=len(world.expected), faults=list(world.story.faults))
    rows = await DiscordMessageLog.all()
    _judge_messages(figures, world, stub, rows, history)
    _judge_rest(figures, world, rows)
    await _judge_events(figures, world, rows)
    await _judge_press(figures, world, stub, history)
    _measure(figures, world, stub, rows, history)
    return figures


def _key(row: DiscordMessageLog) -> MessageKey:
    return MessageKey(row.source, row.source_id, row.recipient_id, row.part)


def _judge_messages(
    figures: Figures, world: World, stub: KillStub, rows: list[DiscordMessageLog], history: History
) -> None:
    seen = visible(stub)
    sent = {_key(row): row.discord_message_id for row in rows if row.success}
    reasons = {_key(row): row.error_class for row in rows if row.success is False}
    left_open = {key for death in history.deaths for key in death.open}
    for place, key in world.expected.items():
        ids = seen.pop(place, [])
        copies = len(ids)
        figures.acknowledged += key in sent
        is_ok = (copies == 1 and key in sent) or (copies == 0 and is_recorded(world, history, key, reasons.get(key)))
        figures.ok += is_ok
        figures.recovered += is_ok and key in left_open
        if copies > 1:
            figures.duplicated += 1
            figures.faults.append(f"{key} is visible {copies} times")
        elif reasons.get(key) == ErrorClass.UNKNOWN_OUTCOME:
            figures.unknown += 1
        elif not is_ok:
            figures.lost += 1
            figures.faults.append(f"{key} is visible {copies} times, and recorded as {reasons.get(key, key in sent)}")
        elif ids and ids[0] != sent[key]:
            figures.faults.append(f"{key} is message {ids[0]}, and recorded as {sent[key]}")
    _judge_possible(figures, world, seen, rows)
    for place, ids in seen.items():
        figures.unexpected += len(ids)
        figures.faults.append(f"{len(ids)} unexpected in {place}")


def _judge_possible(
    figures: Figures, world: World, seen: dict[Place, list[int]], rows: list[DiscordMessageLog]
) -> None:
    """Judge what may be visible, and take it off what was ``seen``: once at most, and recorded if it is."""
    sent = {_key(row): row.discord_message_id for row in rows if row.success}
    for place, key in world.story.possible.items():
        ids = seen.pop(place, [])
        figures.duplicated += len(ids) > 1
        if ids != ([sent[key]] if key in sent else []):
            figures.faults.append(f"{key} is visible as {ids}, and recorded as {sent.get(key)}")


def is_recorded(world: World, history: History, key: MessageKey, reason: str | None) -> bool:
    """Return whether a message is missing for one of the two good reasons in this world."""
    if key == world.soon:
        # Nobody could send it in time: while it was not known whether the process that died holding it had, or while
        # nobody lived or looked.
        known_at = [death.at + RESEND_AFTER for death in history.deaths if key in death.open]
        earliest = max([history.polled_from, *known_at])
        return reason == ErrorClass.EVENT_STARTED and world.begun + SOON <= earliest
    return key.recipient_id == world.closed and reason == ErrorClass.RECIPIENT_UNREACHABLE


def _judge_rest(figures: Figures, world: World, rows: list[DiscordMessageLog]) -> None:
    stuck = [str(_key(row)) for row in rows if row.success is None]
    if not any(_key(row) == world.parent and row.success for row in rows):
        stuck.append(f"{world.parent} unfinished")
    figures.sample(STUCK, *([1.0] * len(stuck)))
    figures.faults += [f"{one} is stuck" for one in stuck]
    refusals = [row for row in rows if row.recipient_id == world.closed and row.success is False]
    if len(refusals) != 1:
        figures.faults.append(f"{len(refusals)} refusals are recorded of who takes no DM")


async def _judge_events(figures: Figures, world: World, rows: list[DiscordMessageLog]) -> None:
    made = sorted([event.scheduled_at for event in await Event.filter(series_id=world.series_id)])
    if made != list(world.slots):
        figures.faults.append(f"the series has {len(made)} events instead of {len(world.slots)}")
    if await stored_due() != await derived_due():
        figures.faults.append("what is due is not what follows from the rows")
    posts = {row.source_id: row.discord_message_id for row in rows if row.success and row.source in _POSTS}
    for event in await Event.filter(id__in=list(posts)):
        if event.announcement_message_id != posts[event.id]:
            figures.faults.append(f"event {event.id} does not know its post")
    native_id = (await Event.get(id=world.listed_id)).discord_scheduled_event_id
    listed = [row for row in rows if row.success and row.source == NATIVE_EVENT and row.source_id == world.listed_id]
    if [native_id] != [row.discord_message_id for row in listed]:
        figures.faults.append(f"event {world.listed_id} does not know its place in the server's list")
    moves = await AuditLog.filter(action="event.edit", subject_id=world.soon_id).count()
    if (await Event.get(id=world.soon_id)).state is not EventState.IN_PROGRESS or moves != 1:
        figures.faults.append(f"the event that began was moved {moves} times")
    is_missed = any(_key(row) == world.soon and row.success is False for row in rows)
    notes = await OpsNote.filter(fault=FAULT).exclude(says="").count()
    if notes != is_missed:
        figures.faults.append(f"{notes} notes tell of what was missed")


async def _judge_press(figures: Figures, world: World, stub: KillStub, history: History) -> None:
    pressed = await EventSignup.filter(event_id=world.announced_id, user_id=PRESSER)
    if not history.answered or [row.status for row in pressed] != [SignupStatus.SIGNED_UP]:
        figures.faults.append(f"who pressed has {len(pressed)} rows, all are answered: {history.answered}")
    for message in stub.messages[CHANNEL]:
        if marker_of(message) == f"#{world.announced_id}" and f"<@{PRESSER}>" not in str(message["embeds"]):
            figures.faults.append("the post does not show who pressed")


def _measure(figures: Figures, world: World, stub: KillStub, rows: list[DiscordMessageLog], history: History) -> None:
    ends = [row.finished_at for row in rows if row.finished_at is not None]
    since = history.deaths[-1].at if history.taken_over and history.deaths else history.healed_from
    took = max([dt.timedelta(0), *(end - since for end in ends)])
    figures.sample(TAKE_OVER if history.taken_over else RESTART, took.total_seconds())
    about = world.expected | world.story.possible
    for death in history.deaths:
        for asked in stub.asked:
            key = about.get((asked.channel_id, marker_of(asked.body)))
            at = asked.at - world.discord_ahead_by
            if key in death.open and at > death.at:
                waited = at - death.open[key]
                figures.sample(RESEND, waited.total_seconds())
                if waited < RESEND_AFTER:
                    figures.faults.append(f"{key} was asked for again {waited} after its claim")
    _measure_repeats(figures, world, stub, history)


def _measure_repeats(figures: Figures, world: World, stub: KillStub, history: History) -> None:
    asked_at: dict[MessageKey, list[dt.datetime]] = {}
    about = world.expected | world.story.possible
    for asked in stub.asked:
        if (key := about.get((asked.channel_id, marker_of(asked.body)))) is not None:
            asked_at.setdefault(key, []).append(asked.at - world.discord_ahead_by)
    for key, waited in repeats(asked_at, [death.at for death in history.deaths]):
        figures.sample(REPEAT, waited.total_seconds())
        if waited < RESEND_AFTER:
            figures.faults.append(f"{key} was asked for again {waited} after it was asked for")


def repeats(
    asked_at: Mapping[MessageKey, Sequence[dt.datetime]], deaths: Sequence[dt.datetime]
) -> list[tuple[MessageKey, dt.timedelta]]:
    """
    Return how long after a request of a key its next one came, with a death in between: as Discord saw it.

    In the very moment of a death nothing tells who asked: it lies between two requests of that moment too.
    """
    return [
        (key, after - before)
        for key, times in asked_at.items()
        for before, after in pairwise(times)
        if any(before <= death <= after for death in deaths)
    ]
