"""
What a day should have sent, reckoned apart from the bot: by dateutil, by what people said, and by what failed.

For each kind of message about an event there is a first moment at which it is to go, and a span from there on in which
everything it depends on stays so. Where half an hour of that span was undisturbed, the message must be visible; where
not, the log may have a reason instead. What became visible must have been wanted at the moment at which its request
left, which is what "a send under way" means: the guard is asked right before.
"""

import datetime as dt
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial

from bot.leases.keys import EVENT_REPOST, OPS_NOTE, PROFILE_UNREACHABLE, PROMOTION
from tests.chaos.days import day_posts
from tests.chaos.days.day_plan import Entry
from tests.chaos.days.day_record import DayRecord, Fact, LogRow, Seen, StoredEvent
from tests.chaos.days.day_series import wrong_events
from tests.chaos.days.day_troubles import CLOCKS_APART, QUIET, Troubles

_LEAST = dt.timedelta(microseconds=1)
_HOUR = dt.timedelta(hours=1)
_LONG_AGO = dt.datetime(2000, 1, 1, tzinfo=dt.UTC)
_SWITCHES = {
    "announcement": "discord_announcement",
    "signup_reminder": "discord_signup_reminder",
    "attendance_reminder": "discord_confirm_attendance",
    "attendance_post": "discord_confirm_attendance",
    "profile_reminder": "discord_profile_reminder",
    "profile_unreachable": "discord_profile_reminder",
    "event_repost": None,
}
_STATES = {
    "announcement": {"upcoming", "signups_open"},
    "signup_reminder": {"signups_open"},
    "attendance_reminder": {"signups_open", "roll_call"},
    "attendance_post": {"signups_open", "roll_call"},
    "profile_reminder": {"signups_open", "roll_call"},
    "profile_unreachable": {"signups_open", "roll_call"},
    "event_repost": {"upcoming", "signups_open", "roll_call"},
    PROMOTION: {"signups_open", "roll_call"},
}
_PARENTS = {"attendance_post": "attendance_reminder", "profile_unreachable": "profile_reminder"}
_TO_PEOPLE = ("signup_reminder", "attendance_reminder", "profile_reminder")
_TO_ALL = ("announcement", "attendance_post")
_ATTENDING = {"signed_up", "confirmed"}


@dataclass(slots=True)
class Verdict:
    """
    What a day came to; ``faults`` says what is wrong in words.

    ``required``: messages for which there was time enough; ``recorded``: those not sent that the log has a reason for.
    """

    ok: int = 0
    required: int = 0
    lost: int = 0
    duplicated: int = 0
    unexpected: int = 0
    unknown: int = 0
    recorded: int = 0
    faults: list[str] = field(default_factory=list)

    @property
    def holds(self) -> bool:
        return not self.faults


class Oracle:
    """Judges one day."""

    def __init__(self, record: DayRecord) -> None:
        self._record = record
        self._facts = record.facts
        self._events = {event.id: event for event in record.events}
        self._seen = Counter(one.key for one in record.seen)
        self._last = {(row.kind, row.event_id, row.recipient, row.part): row for row in record.log}
        self._sent = {key for key, row in self._last.items() if row.success}
        self._verdict = Verdict()
        self._troubles = Troubles(record.disturbances, follows=record.plan.follows)

    def judge(self) -> Verdict:
        """Return the verdict."""
        self._judge_seen()
        for event in self._record.events:
            for kind, recipient in self._for_whom(event):
                self._judge_wanted(event, kind, recipient)
            self._judge_unreachable(event)
            for number, begins, ends in day_posts.wanted_again(self._record, event, self._troubles):
                self._judge_post_beside(EVENT_REPOST, event, number, f"from {begins} to {ends}")
        for count, says in wrong_events(self._record, self._troubles):
            setattr(self._verdict, count, getattr(self._verdict, count) + 1)
            self._fault(count, says)
        self._judge_log()
        return self._verdict

    def _fault(self, count: str, says: str) -> None:
        self._verdict.faults.append(f"{count}: {says}")

    def _lose(self, says: str) -> None:
        self._verdict.lost += 1
        self._fault("lost", says)

    def _for_whom(self, event: StoredEvent) -> Iterator[tuple[str, int]]:
        for kind in _TO_ALL:
            yield kind, 0
        for kind in _TO_PEOPLE:
            if kind != "attendance_reminder" or event.entry["discord_confirm_attendance_dm"]:
                yield from ((kind, user_id) for user_id in self._record.user_ids)

    # ---------------------------------------------------------------------------------------- what became visible

    def _judge_seen(self) -> None:
        verdict = self._verdict
        verdict.ok = sum(1 for times in self._seen.values() if times == 1)
        for key, times in self._seen.items():
            if times > 1:
                verdict.duplicated += times - 1
                self._fault("duplicated", f"{key} {times} times")
        for one in self._record.seen:
            if (why := self._unwanted(one)) is not None:
                verdict.unexpected += 1
                self._fault("unexpected", f"{one.key} at {one.left_at}: {why}")
        for says in day_posts.too_many(self._record, self._troubles):
            verdict.unexpected += 1
            self._fault("unexpected", says)

    def _unwanted(self, one: Seen) -> str | None:
        """Return why a message should not have gone, None: it is right."""
        if one.kind == OPS_NOTE:
            return None
        event = self._events.get(one.event_id)
        if event is None:
            return "there is no such event"
        if one.kind != PROMOTION and (why := _at_wrong_time(event, one)) is not None:
            return why
        # Of an act at the very moment nobody knows whether it came before or after.
        found = [self._unwanted_then(event, one, one.left_at - late) for late in (dt.timedelta(0), _LEAST)]
        return None if None in found else found[0]

    def _unwanted_then(self, event: StoredEvent, one: Seen, at: dt.datetime) -> str | None:
        state = self._state(event, at, one.left_by_bot)
        if state not in _STATES[one.kind]:
            return f"the event is {state}"
        is_for = self._moved_up if one.kind == PROMOTION else partial(self._is_for, kind=one.kind)
        return None if is_for(event, who=one.recipient, at=at) else "it is not for them"

    def _state(self, event: StoredEvent, at: dt.datetime, by_bot: dt.datetime) -> str:
        """Return the state of an event: time moves it by the bot's clock, admins by their own acts."""
        state = "signups_open" if by_bot >= _opens(event) - CLOCKS_APART else "upcoming"
        for when, moved_to in self._moves(event):
            if when <= at:
                state = moved_to
        return state if state == "cancelled" or by_bot < event.starts_at else "in_progress"

    def _moves(self, event: StoredEvent) -> list[tuple[dt.datetime, str]]:
        return [(when, str(state)) for when, state in self._facts.history(("state", event.id, 0))]

    def _moved_up(self, event: StoredEvent, who: int, at: dt.datetime) -> bool:
        """Return whether somebody has a place who was in line for it before."""
        said = [status for when, status in self._facts.history(("signup", event.id, who)) if when <= at]
        return "waitlisted" in said and said[-1] in _ATTENDING

    def _is_for(self, event: StoredEvent, kind: str, who: int, at: dt.datetime) -> bool:
        said = self._facts.at(("signup", event.id, who), at)
        match kind:
            case "signup_reminder":
                subscribed = self._facts.at(("subscribed", event.series_id or 0, who), at)
                return bool(subscribed) and said in {None, "declined"}
            case "attendance_reminder":
                return bool(event.entry["discord_confirm_attendance_dm"]) and said == "signed_up"
            case "profile_reminder":
                return said in _ATTENDING and not self._facts.at(("profile", who, 0), at)
            case "attendance_post":
                return any(self._facts.at(("signup", event.id, one), at) in _ATTENDING for one in self._record.user_ids)
            case _:
                return True

    # ------------------------------------------------------------------------------------------- what should have

    def _judge_wanted(self, event: StoredEvent, kind: str, who: int) -> None:
        span = self._wanted_span(event, kind, who)
        if span is None:
            return
        begins, ends = span
        had_time = self._troubles.is_quiet(begins, min(ends, self._record.ended_at))
        is_over = ends == event.starts_at and ends <= self._record.ended_at - QUIET
        if kind != "announcement" and self._troubles.showed_too_soon(_due_of(event, kind), begins):
            # It went by that clock, to whom it was for then; that it went at all must still be written down.
            if (had_time or is_over) and not self._is_written_down(event, kind, who):
                self._lose(f"{kind} of event {event.id}: due by a wrong clock and not even recorded")
            return
        self._verdict.required += had_time
        if (kind, event.id, 0, who) in self._seen:
            return
        row = self._reason(event, kind, who)
        reason = row.error_class if row is not None else None
        told = f"{kind} of event {event.id} to {who} from {begins} to {ends}"
        if had_time:
            is_right = {
                "recipient_unreachable": kind in _TO_PEOPLE and self._troubles.took_no_dms(who, begins, ends),
                "event_started": self._troubles.showed_too_soon(event.starts_at, ends),
            }
            self._judge_unseen(reason, told, is_right=is_right.get(reason or "", False))
        elif is_over:
            # No time was left: then the log must say so.
            if reason is None:
                self._lose(f"{told}: not even recorded")
            else:
                self._verdict.recorded += 1

    def _judge_unseen(self, reason: str | None, told: str, *, is_right: bool) -> None:
        """Judge a message for which there was time and that is not visible; ``is_right``: for a reason that holds."""
        if is_right:
            self._verdict.recorded += 1
        elif reason == "unknown_outcome":
            self._verdict.unknown += 1
        else:
            self._lose(f"{told}: {reason or 'no reason'}")

    def _is_written_down(self, event: StoredEvent, kind: str, who: int) -> bool:
        keys = ((kind, event.id, who, 0), (_PARENTS.get(kind, kind), event.id, 0, 0))
        return any(key in self._last for key in keys)

    def _judge_unreachable(self, event: StoredEvent) -> None:
        """Who could not be reached about a profile is named in the channel, at a quarter to the start at the latest."""
        last = event.starts_at - QUIET
        if event.starts_at > self._record.ended_at or not self._troubles.is_quiet(last, event.starts_at):
            return
        for who in self._record.user_ids:
            row = self._last.get(("profile_reminder", event.id, who, 0))
            span = self._wanted_span(event, "profile_reminder", who)
            is_named = row is not None and row.error_class == "recipient_unreachable" and span is not None
            if is_named and span is not None and span[0] <= last and span[1] == event.starts_at:
                if not self._troubles.showed_too_soon(event.starts_at, event.starts_at):
                    self._judge_post_beside(PROFILE_UNREACHABLE, event, 0, f"for {who}")
                return

    def _judge_post_beside(self, kind: str, event: StoredEvent, part: int, why: str) -> None:
        """Judge a post that something else brought about and for which there was time."""
        self._verdict.required += 1
        if (kind, event.id, part, 0) in self._seen:
            return
        row = self._last.get((kind, event.id, 0, part))
        reason = row.error_class if row is not None else None
        self._judge_unseen(reason, f"{kind} {part} of event {event.id} {why}", is_right=False)

    def _reason(self, event: StoredEvent, kind: str, who: int) -> LogRow | None:
        """Return the row that says why a message was not sent: its own, else that of the reminder it belongs to."""
        own = self._last.get((kind, event.id, who, 0))
        parent = self._last.get((_PARENTS.get(kind, kind), event.id, 0, 0))
        for row in (own, parent):
            if row is not None and row.success is False:
                return row
        return None

    def _wanted_span(self, event: StoredEvent, kind: str, who: int) -> tuple[dt.datetime, dt.datetime] | None:
        """Return from when on it is to go, and until when everything that it depends on stays so; None: never."""
        due = _due(event.entry, kind, event.starts_at)
        if due is None or (kind == "signup_reminder" and event.series_id is None):
            return None

        def _is_eligible(at: dt.datetime) -> bool:
            return self._state(event, at, at) in _STATES[kind]

        earliest = max(due, event.created_at)
        moments = sorted({earliest, _opens(event), *(when for when, _ in self._moves(event))})
        begins = next((at for at in moments if at >= earliest and _is_eligible(at)), None)
        if begins is None or begins >= event.starts_at or not self._is_for(event, kind, who, begins):
            return None
        # Of an act at the very moment nobody knows whether it came before or after.
        if begins > self._record.plan.start and not self._is_for(event, kind, who, begins - _LEAST):
            return None
        users = self._record.user_ids if kind == "attendance_post" else (who,)
        facts: list[Fact] = [("signup", event.id, one) for one in users]
        facts += [("subscribed", event.series_id or 0, who), ("profile", who, 0), ("state", event.id, 0)]
        return begins, _first_break(
            lambda at: _is_eligible(at) and self._is_for(event, kind, who, at),
            [at for at in self._facts.changes(facts) if begins < at < event.starts_at],
            event.starts_at,
        )

    # ----------------------------------------------------------------------------------------------------- the log

    def _judge_log(self) -> None:
        """What the log calls sent is visible, and what is visible is not called anything else."""
        for (kind, event_id, who, part), row in self._last.items():
            key = (kind, event_id, part, who)
            is_parent = kind in _TO_PEOPLE and not who
            if row.success is None or row.error_class == "unknown_outcome":
                self._verdict.unknown += 1
            if row.success and not is_parent and key not in self._seen:
                self._lose(f"{key} is called sent and is not visible")
        for one in self._record.seen:
            sent_key = (one.kind, one.event_id, one.recipient, one.part)
            last = self._last.get(sent_key)
            if sent_key not in self._sent and (last is None or last.error_class != "unknown_outcome"):
                self._fault("misreported", f"{one.key} is visible and called {last}")


def _at_wrong_time(event: StoredEvent, one: Seen) -> str | None:
    due = _due(event.entry, one.kind, event.starts_at)
    if due is None:
        return "it is not switched on"
    if one.left_by_bot >= event.starts_at:
        return "the event had begun"
    return f"it is due at {due}" if one.left_by_bot < due - CLOCKS_APART else None


def _due_of(event: StoredEvent, kind: str) -> dt.datetime:
    due = _due(event.entry, kind, event.starts_at)
    assert due is not None
    return due


def _due(entry: Entry, kind: str, starts_at: dt.datetime) -> dt.datetime | None:
    """Return the start less the hours of a kind of message; None: it is off."""
    switch = _SWITCHES[kind]
    if switch is None:
        return _LONG_AGO
    hours = entry.get(f"{switch}_hours")
    return starts_at - hours * _HOUR if entry.get(switch) and hours else None


def _opens(event: StoredEvent) -> dt.datetime:
    hours = event.entry["signup_opens_hours"]
    return event.created_at if hours is None else max(event.created_at, event.starts_at - hours * _HOUR)


def _first_break(
    holds: Callable[[dt.datetime], bool], changes: list[dt.datetime], otherwise: dt.datetime
) -> dt.datetime:
    return next((at for at in changes if not holds(at)), otherwise)
