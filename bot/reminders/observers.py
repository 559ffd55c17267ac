"""Who hears what became of an attempt, by the source of its message: joined once, for the one way out."""

import datetime as dt

from bot.leases.keys import EVENT_REPOST, NATIVE_EVENT, SIDE_POSTS
from bot.leases.ports import OutcomeObserver
from bot.ops_notes import PostFaultObserver
from bot.reminders.native_rows import NativeObserver
from bot.reminders.outcomes import DueRowObserver, PostObserver
from bot.reminders.tasks import ANNOUNCEMENT
from bot.scheduling.agenda import Agenda
from bot.scheduling.registry import registered


def outcome_observers(agenda: Agenda, *, debounce: dt.timedelta) -> dict[str, tuple[OutcomeObserver, ...]]:
    """Return the observers of every source; ``debounce`` after a change what Discord shows of an event is edited."""
    faults = PostFaultObserver(agenda)
    post = PostObserver(agenda, debounce=debounce)
    due = DueRowObserver(agenda)
    native = NativeObserver(agenda, debounce=debounce)
    reminders: dict[str, tuple[OutcomeObserver, ...]] = {entry.log_source: (due,) for entry in registered()}
    beside: dict[str, tuple[OutcomeObserver, ...]] = dict.fromkeys((*SIDE_POSTS,), (faults,))
    shown: dict[str, tuple[OutcomeObserver, ...]] = {EVENT_REPOST: (post, faults), NATIVE_EVENT: (native,)}
    return reminders | beside | shown | {ANNOUNCEMENT.log_source: (due, post, faults)}
