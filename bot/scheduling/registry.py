"""
The reminders that exist: data, not code.

A fifth one needs one entry here, one task registered under its name, two fields on the mixin and a migration; see
CONTRIBUTING.md. Source: event-reminder-scheduling.md, "Registry pattern".
"""

from collections.abc import Iterable
from dataclasses import dataclass

from models.states import ATTENDING, EventState, SignupStatus


@dataclass(frozen=True, slots=True)
class ScheduledReminder:
    """
    One reminder: which switch gates it, how long before the start it goes out, and in which states.

    ``task_name`` is a name, resolved at dispatch: a callable here would be a circular import. ``log_source`` is the
    ``source`` of its rows in the message log. ``to_people``: it goes out by DM, so that each can switch it off.
    ``only_for``: its DMs are for those alone who said one of these; empty: whom they are for is no answer of theirs.
    """

    key: str
    task_name: str
    hours_field: str
    enabled_field: str
    required_states: frozenset[EventState]
    log_source: str
    requires_repeater: bool = False
    to_people: bool = True
    only_for: frozenset[SignupStatus] = frozenset()

    @property
    def words(self) -> str:
        """What people call it, in lower case."""
        return in_words(self.key)


def in_words(name: str) -> str:
    """Return a name of the code as people read it: ``signup_reminder`` as *sign-up reminder*."""
    return name.replace("_", " ").replace("signup", "sign-up")


class DuplicateReminderError(ValueError):
    """Two entries share a key or a log source, and would send for each other."""

    def __init__(self, what: str, value: str) -> None:
        super().__init__(f"two reminders share the {what} {value!r}")


def checked(reminders: Iterable[ScheduledReminder]) -> tuple[ScheduledReminder, ...]:
    """
    Return the entries as they are, once no two of them can be taken for each other.

    Raises:
        DuplicateReminderError: two share a key or a log source.
    """
    entries = tuple(reminders)
    for what in ("key", "log_source"):
        seen: set[str] = set()
        for entry in entries:
            value: str = getattr(entry, what)
            if value in seen:
                raise DuplicateReminderError(what, value)
            seen.add(value)
    return entries


REMINDERS: tuple[ScheduledReminder, ...] = checked(
    (
        ScheduledReminder(
            key="announcement",
            task_name="send_event_announcement",
            hours_field="discord_announcement_hours",
            enabled_field="discord_announcement",
            required_states=frozenset({EventState.UPCOMING, EventState.SIGNUPS_OPEN}),
            log_source="event_announcement",
            to_people=False,
        ),
        ScheduledReminder(
            key="signup_reminder",
            task_name="send_signup_reminder",
            hours_field="discord_signup_reminder_hours",
            enabled_field="discord_signup_reminder",
            required_states=frozenset({EventState.SIGNUPS_OPEN}),
            log_source="signup_reminder",
            requires_repeater=True,
        ),
        ScheduledReminder(
            key="attendance_reminder",
            task_name="send_attendance_reminder",
            hours_field="discord_confirm_attendance_hours",
            enabled_field="discord_confirm_attendance",
            required_states=frozenset({EventState.SIGNUPS_OPEN, EventState.ROLL_CALL}),
            log_source="attendance_reminder",
            only_for=frozenset({SignupStatus.SIGNED_UP}),
        ),
        ScheduledReminder(
            key="profile_reminder",
            task_name="send_profile_reminder",
            hours_field="discord_profile_reminder_hours",
            enabled_field="discord_profile_reminder",
            required_states=frozenset({EventState.SIGNUPS_OPEN, EventState.ROLL_CALL}),
            log_source="profile_reminder",
            only_for=ATTENDING,
        ),
    )
)


def entry_of(key: str) -> ScheduledReminder:
    """Return the entry of a key that the code itself names."""
    return next(entry for entry in REMINDERS if entry.key == key)


def words_of(name: str) -> str:
    """Return what the reminder of a key or a log source is called; a name that is none's, as people read it."""
    return next((entry.words for entry in registered() if name in {entry.key, entry.log_source}), in_words(name))


def registered() -> tuple[ScheduledReminder, ...]:
    """Return the entries as they stand now: whoever works through them asks at each use, not once when imported."""
    return REMINDERS
