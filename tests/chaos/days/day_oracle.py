"""
What a day should have sent, reckoned apart from the bot: by dateutil, by what people said, and by what failed.

For each kind of message about an event there are spans in which it is to go, as everything it depends on stays so; they
follow the event's row through every edit. Where half an hour of one was undisturbed, the message must be visible; where
not, the log may have a reason instead. What became visible must have been wanted at the moment at which its request
left, which is what "a send under way" means: the guard is asked right before.
"""

import datetime as dt
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bot.leases.keys import EVENT_REPOST, OPS_NOTE, PROFILE_UNREACHABLE, PROMOTION, TIME_CHANGED
from tests.chaos.days import day_posts
from tests.chaos.days.day_course import Course
from tests.chaos.days.day_dues import STATES, Span, at_wrong_time, due_of, due_spans
from tests.chaos.days.day_record import DayRecord, LogRow, Seen
from tests.chaos.days.day_series import wrong_events
from tests.chaos.days.day_told import Notice, Owed, is_silent, is_told, owed
from tests.chaos.days.day_troubles import QUIET, Troubles

if TYPE_CHECKING:
    from tests.chaos.days.day_rows import Fact

_LEAST = dt.timedelta(microseconds=1)
_PARENTS = {"attendance_post": "attendance_reminder", "profile_unreachable": "profile_reminder"}
_TO_PEOPLE = ("signup_reminder", "attendance_reminder", "profile_reminder")
_TO_ALL = ("announcement", "attendance_post")
_BY_ACTS = {PROMOTION, TIME_CHANGED}
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
        self._events = {event_id: Course(record.facts, event_id) for event_id in record.facts.events()}
        self._seen = Counter(one.key for one in record.seen)
        self._left_at = {one.key: one.left_at for one in reversed(record.seen)}
        self._last = {(row.kind, row.event_id, row.recipient, row.part): row for row in record.log}
        self._sent = {key for key, row in self._last.items() if row.success}
        self._verdict = Verdict()
        self._troubles = Troubles(record.disturbances, follows=record.plan.follows)

    def judge(self) -> Verdict:
        """Return the verdict."""
        self._judge_seen()
        for event in self._events.values():
            for kind, recipient in self._for_whom():
                self._judge_wanted(event, kind, recipient)
            for one in owed(self._facts, event, self._record.user_ids):
                self._judge_owed(event, one)
            self._judge_unreachable(event)
            for number, begins, ends in day_posts.wanted_again(self._record, event, self._troubles):
                self._judge_post_beside(EVENT_REPOST, event, number, f"from {begins} to {ends}")
        for count, says in (*self._record.wrong_rows, *wrong_events(self._record, self._events, self._troubles)):
            setattr(self._verdict, count, getattr(self._verdict, count) + 1)
            self._fault(count, says)
        self._judge_log()
        return self._verdict

    def _fault(self, count: str, says: str) -> None:
        self._verdict.faults.append(f"{count}: {says}")

    def _lose(self, says: str) -> None:
        self._verdict.lost += 1
        self._fault("lost", says)

    def _for_whom(self) -> Iterator[tuple[str, int]]:
        for kind in _TO_ALL:
            yield kind, 0
        for kind in _TO_PEOPLE:
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
        # Of an act at the very moment nobody knows whether it came before or after.
        found = [self._unwanted_then(event, one, one.left_at - late) for late in (dt.timedelta(0), _LEAST)]
        return None if None in found else found[0]

    def _unwanted_then(self, event: Course, one: Seen, at: dt.datetime) -> str | None:
        row = event.row(at)
        if row is None or at > self._record.removed.get(event.id, at):
            return "the event was removed"
        if one.kind not in _BY_ACTS and (why := at_wrong_time(row, one)) is not None:
            return why
        state = event.state(at, one.left_by_bot)
        if state not in STATES[one.kind]:
            return f"the event is {state}"
        if one.kind in _BY_ACTS:
            is_right = is_told(self._facts, event, Notice(one.kind, one.part, one.recipient), at)
        else:
            is_right = self._is_for(event, kind=one.kind, who=one.recipient, at=at)
        return None if is_right else "it is not for them"

    def _is_for(self, event: Course, kind: str, who: int, at: dt.datetime) -> bool:
        row, said = event.row(at), self._facts.at(("signup", event.id, who), at)
        if row is None or (who and is_silent(self._facts, kind, row.series_id, who, at)):
            return False
        is_for = True
        match kind:
            case "signup_reminder":
                subscribed = self._facts.at(("subscribed", row.series_id or 0, who), at)
                is_for = bool(subscribed) and said in {None, "declined"}
            case "attendance_reminder":
                is_for = bool(row.values["discord_confirm_attendance_dm"]) and said == "signed_up"
            case "profile_reminder":
                is_for = said in _ATTENDING and not self._facts.at(("profile", who, 0), at)
            case "attendance_post":
                everybody = [self._facts.at(("signup", event.id, one), at) for one in self._record.user_ids]
                is_for = not _ATTENDING.isdisjoint(everybody)
            case _:
                pass
        return is_for

    # ------------------------------------------------------------------------------------------- what should have

    def _judge_wanted(self, event: Course, kind: str, who: int) -> None:
        for span in due_spans(event, kind):
            if (wanted := self._wanted_within(span, event, kind, who)) is not None:
                self._judge_span(event, kind, who, wanted)
            if kind != "announcement" and self._is_written_down(event, kind, 0):
                return  # it was begun, and is over: whom it is for later on is not asked again

    def _judge_span(self, event: Course, kind: str, who: int, span: Span) -> None:
        begins, ends = span
        had_time = self._troubles.is_quiet(begins, min(ends, self._record.ended_at))
        is_over = event.starts_at(ends) == ends and ends <= self._record.ended_at - QUIET
        if kind != "announcement" and self._showed_too_soon(event, kind, begins):
            # It went by that clock, to whom it was for then; that it went at all must still be written down.
            if (had_time or is_over) and not self._is_written_down(event, kind, who):
                self._lose(f"{kind} of event {event.id}: due by a wrong clock and not even recorded")
            return
        self._verdict.required += had_time
        if (key := (kind, event.id, 0, who)) in self._seen:
            self._judge_delay(key, begins, ends)
            return
        row = self._reason(event, kind, who)
        reason = row.error_class if row is not None else None
        told = f"{kind} of event {event.id} to {who} from {begins} to {ends}"
        if had_time:
            self._judge_unseen(reason, told, is_right=self._is_right(reason, who, span, event.starts_at(begins)))
        elif is_over:
            # No time was left: then the log must say so.
            if reason is None:
                self._lose(f"{told}: not even recorded")
            else:
                self._verdict.recorded += 1

    def _is_right(self, reason: str | None, who: int, span: Span, starts_at: dt.datetime) -> bool:
        """Return whether the log's reason for a message that is not visible holds."""
        return {
            "recipient_unreachable": bool(who) and self._troubles.took_no_dms(who, *span),
            "event_started": self._troubles.showed_too_soon(starts_at, span[1]),
        }.get(reason or "", False)

    def _showed_too_soon(self, event: Course, kind: str, begins: dt.datetime) -> bool:
        dues = [due_of(row, kind) for since, row in event.versions if since <= begins]
        return any(self._troubles.showed_too_soon(due, begins) for due in dues if due is not None)

    def _judge_owed(self, event: Course, one: Owed) -> None:
        """Judge a message that an act brought about."""
        if not self._troubles.is_quiet(one.begins, min(one.ends, self._record.ended_at)):
            return
        self._verdict.required += 1
        kind, part, who = one.notice.kind, one.notice.part, one.notice.who
        if (key := (kind, event.id, part, who)) in self._seen:
            self._judge_delay(key, one.begins, one.ends)
            return
        rows = [self._last.get((kind, event.id, recipient, part)) for recipient in (who, 0)]
        reason = next((row.error_class for row in rows if row is not None and row.success is False), None)
        is_right = self._is_right(reason, who, (one.begins, one.ends), event.starts_at(one.begins))
        told = f"{kind} {part} of event {event.id} to {who} from {one.begins} to {one.ends}"
        self._judge_unseen(reason, told, is_right=is_right)

    def _judge_delay(self, key: tuple[str, int, int, int], begins: dt.datetime, ends: dt.datetime) -> None:
        """See that what is visible went as soon as everything had been at rest for long enough."""
        if self._troubles.clock_was_off:
            return  # what was put off by such a clock waits until the right one has come so far
        rest, left_at = self._troubles.at_rest_by(begins, ends), self._left_at[key]
        if rest is not None and left_at > rest:
            self._lose(f"{key} left at {left_at}, and was due at {begins}")

    def _judge_unseen(self, reason: str | None, told: str, *, is_right: bool) -> None:
        """Judge a message for which there was time and that is not visible; ``is_right``: for a reason that holds."""
        if is_right:
            self._verdict.recorded += 1
        elif reason == "unknown_outcome":
            self._verdict.unknown += 1
        else:
            self._lose(f"{told}: {reason or 'no reason'}")

    def _is_written_down(self, event: Course, kind: str, who: int) -> bool:
        keys = ((kind, event.id, who, 0), (_PARENTS.get(kind, kind), event.id, 0, 0))
        return any(key in self._last for key in keys)

    def _judge_unreachable(self, event: Course) -> None:
        """Who could not be reached about a profile is named in the channel, at a quarter to the start at the latest."""
        if event.last is None:
            return
        starts_at = event.last.starts_at
        last = starts_at - QUIET
        if starts_at > self._record.ended_at or not self._troubles.is_quiet(last, starts_at):
            return
        for who in self._record.user_ids:
            row = self._last.get(("profile_reminder", event.id, who, 0))
            is_named = row is not None and row.error_class == "recipient_unreachable"
            dues = due_spans(event, "profile_reminder") if is_named else ()
            spans = [self._wanted_within(due, event, "profile_reminder", who) for due in dues]
            if any(span is not None and span[0] <= last and span[1] == starts_at for span in spans):
                if not self._troubles.showed_too_soon(starts_at, starts_at):
                    self._judge_post_beside(PROFILE_UNREACHABLE, event, 0, f"for {who}")
                return

    def _judge_post_beside(self, kind: str, event: Course, part: int, why: str) -> None:
        """Judge a post that something else brought about and for which there was time."""
        self._verdict.required += 1
        if (kind, event.id, part, 0) in self._seen:
            return
        row = self._last.get((kind, event.id, 0, part))
        reason = row.error_class if row is not None else None
        self._judge_unseen(reason, f"{kind} {part} of event {event.id} {why}", is_right=False)

    def _reason(self, event: Course, kind: str, who: int) -> LogRow | None:
        """Return the row that says why a message was not sent: its own, else that of the reminder it belongs to."""
        own = self._last.get((kind, event.id, who, 0))
        parent = self._last.get((_PARENTS.get(kind, kind), event.id, 0, 0))
        for row in (own, parent):
            if row is not None and row.success is False:
                return row
        return None

    def _wanted_within(self, due: Span, event: Course, kind: str, who: int) -> Span | None:
        """Return how long it is for somebody as well, from the first moment at which it is due; None: it is not."""
        begins, ends = due

        def _is_for(at: dt.datetime) -> bool:
            return self._is_for(event, kind, who, at)

        # Of an act at the very moment nobody knows whether it came before or after.
        is_sure = begins <= self._record.plan.start or self._is_new(event, begins) or _is_for(begins - _LEAST)
        if not (is_sure and _is_for(begins)):
            return None
        users = self._record.user_ids if kind == "attendance_post" else (who,)
        facts: list[Fact] = [("signup", event.id, one) for one in users]
        facts += [("subscribed", row.series_id or 0, who) for _, row in event.versions]
        facts += [("profile", who, 0), ("silent", who, 0), event.fact]
        changes = self._facts.changes(facts)
        return begins, next((at for at in changes if begins < at < ends and not _is_for(at)), ends)

    def _is_new(self, event: Course, at: dt.datetime) -> bool:
        return any(since == at for since, _ in event.versions)

    # ----------------------------------------------------------------------------------------------------- the log

    def _judge_log(self) -> None:
        """What the log calls sent is visible, and what is visible is not called anything else."""
        for (kind, event_id, who, part), row in self._last.items():
            key = (kind, event_id, part, who)
            is_parent = kind in {*_TO_PEOPLE, TIME_CHANGED} and not who
            if row.success is None or row.error_class == "unknown_outcome":
                self._verdict.unknown += 1
            if row.success and not is_parent and key not in self._seen:
                self._lose(f"{key} is called sent and is not visible")
        for one in self._record.seen:
            sent_key = (one.kind, one.event_id, one.recipient, one.part)
            last = self._last.get(sent_key)
            if sent_key not in self._sent and (last is None or last.error_class != "unknown_outcome"):
                self._fault("misreported", f"{one.key} is visible and called {last}")
