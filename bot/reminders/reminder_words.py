"""What reminders, the reasons against them and their failures are called: one word for each, ready for Discord."""

from collections.abc import Mapping
from typing import Final

from bot.leases.failures import ErrorClass
from bot.leases.keys import ATTENDANCE_POST, PROFILE_UNREACHABLE, PROMOTION, TIME_CHANGED
from bot.reminders.outlook import Reason
from bot.scheduling.registry import words_of

_KINDS: Final[Mapping[str, str]] = {
    ATTENDANCE_POST: "attendance post",
    PROFILE_UNREACHABLE: "post about profiles",
    TIME_CHANGED: "new time",
    PROMOTION: "free places",
}

_REASONS: Final[Mapping[Reason, str]] = {
    Reason.OFF: "it is switched off",
    Reason.NO_CHANNEL: "there is no channel to post it in: /settings set announcement_channel",
    Reason.NO_PERMISSION: "I may not post in its channel",
    Reason.NOBODY: "there is nobody to tell",
    Reason.OPTED_OUT: "everybody whom it is for switched it off",
    Reason.ALREADY_SENT: "it was sent already",
    Reason.UNDER_WAY: "it is being sent, or I am finding out whether it arrived",
    Reason.GIVEN_UP: "nobody knows whether it arrived, so I do not send it again by myself",
    Reason.NOT_IN_STATE: "by then the event is not in a state for it: sign-ups are not open",
    Reason.BEGUN: "no moment is left for it before the event begins",
    Reason.SERIES_PAUSED: "the series is paused",
    Reason.CANCELLED: "the event was cancelled",
    Reason.GUILD_UNAVAILABLE: "Discord does not show me this server",
}

_FAILURES: Final[Mapping[str, str]] = {
    ErrorClass.RECIPIENT_UNREACHABLE.value: "they take no direct message from me",
    ErrorClass.OPENING_TOO_FAST.value: "Discord found that I opened too many direct messages",
    ErrorClass.FORBIDDEN.value: "I lack a permission there",
    ErrorClass.GONE.value: "the channel is gone",
    ErrorClass.INVALID.value: "Discord refused the message as it was",
    ErrorClass.RATE_LIMITED.value: "Discord told me to wait",
    ErrorClass.CDN_BLOCK.value: "Discord's network blocked me",
    ErrorClass.OUTAGE.value: "Discord did not answer",
    ErrorClass.UNAUTHORIZED.value: "Discord did not take my token",
    ErrorClass.NO_CHANNEL.value: "no channel was set",
    ErrorClass.UNKNOWN_OUTCOME.value: "nobody knows whether it arrived",
    ErrorClass.EVENT_STARTED.value: "the event had begun",
}


def kind_words(kind: str) -> str:
    """Return what a kind of message is called."""
    return _KINDS.get(kind) or words_of(kind)


def reason_words(reason: Reason) -> str:
    """Return why something is not sent, as the second half of a sentence."""
    return _REASONS[reason]


def failure_words(error_class: str | None) -> str:
    """Return what an attempt failed of; another version's class is shown as it is."""
    return _FAILURES.get(error_class or "") or (error_class or "unknown").replace("_", " ")
