"""
Who may press which button of an event, and when: pure decisions, and the sentences that refuse.

Source: 01-domain.md, "Event states"; 02-reminders.md, "Sign-ups".
"""

import datetime as dt
from collections.abc import Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from bot.errors import BotError, GoneError
from bot.events.admin_wording import named
from bot.message import timestamps
from models.states import ATTENDING, EventState, SignupStatus

if TYPE_CHECKING:
    from models.event import Event


class Press(StrEnum):
    """The buttons of an event: three of its post, two of the question whether people come, roll call or not."""

    SIGN_UP = "sign_up"
    MAYBE = "maybe"
    CANT = "cant"
    CONFIRM = "confirm"
    CANT_MAKE_IT = "cant_make_it"


WANTED: Final[Mapping[Press, SignupStatus]] = {
    Press.SIGN_UP: SignupStatus.SIGNED_UP,
    Press.MAYBE: SignupStatus.TENTATIVE,
    Press.CANT: SignupStatus.DECLINED,
    Press.CONFIRM: SignupStatus.CONFIRMED,
    Press.CANT_MAKE_IT: SignupStatus.DECLINED,
}
"""What a person wants to be by each button; who wants a place may get one in line."""

# Who confirmed is signed up; who waits in line asked for a place already.
_SETTLED: Mapping[Press, frozenset[SignupStatus]] = {press: frozenset({status}) for press, status in WANTED.items()} | {
    Press.SIGN_UP: ATTENDING | {SignupStatus.WAITLISTED}
}
_ASKED_AT_ROLL_CALL = frozenset({Press.CONFIRM, Press.CANT_MAKE_IT})
_COMING = frozenset({Press.SIGN_UP, Press.MAYBE})
_HAS_OR_WAITS = ATTENDING | {SignupStatus.WAITLISTED}


class EventGoneError(GoneError):
    """The event was deleted, or is another server's."""

    def __init__(self, event_id: int) -> None:
        super().__init__()
        self.event_id = event_id


class SignupsNotOpenError(BotError):
    """Sign-ups of the event have not opened yet."""

    def __init__(self, event: "Event", *, now: dt.datetime) -> None:
        opens = event.signups_open_at
        if opens is None:
            when = "An admin opens them."
        elif opens > now:
            when = f"They open {timestamps.full_and_relative(opens)}."
        else:
            when = "They open any moment: press again in a minute."
        super().__init__(f"Sign-ups for {named(event)} are not open yet. {when}")
        self.event_id = event.id


class SignupsClosedError(BotError):
    """Nobody comes to, or goes from, the event by a button any more."""

    def __init__(self, event: "Event", why: str) -> None:
        super().__init__(f"{named(event)} {why}, so nothing was changed.")
        self.event_id = event.id


class FrozenError(BotError):
    """The roll call is on: nobody new comes in, and who has no place has none to give back."""

    def __init__(self, event: "Event", what_to_do: str) -> None:
        super().__init__(f"Sign-ups for {named(event)} are closed for the roll call; {what_to_do}.")
        self.event_id = event.id


class NotAskedError(BotError):
    """The question whether people come is for those who have a place, and this person has none."""

    def __init__(self, event: "Event") -> None:
        super().__init__(
            f"This question is for those who signed up for {named(event)} and have a place; nothing was changed."
        )
        self.event_id = event.id


class RemovedError(BotError):
    """An admin took the person off the event; only an admin brings them back."""

    def __init__(self, event: "Event") -> None:
        super().__init__(f"An admin took you off {named(event)}; ask them if you want to come after all.")
        self.event_id = event.id


class OfferOverError(BotError):
    """No place is held for this person, or not any more."""

    def __init__(self, event: "Event") -> None:
        super().__init__(
            f"No place in {named(event)} is held for you any more. Press Sign up in its post: you get a place, or"
            " stand in its line, whatever is there."
        )
        self.event_id = event.id


class RoleRequiredError(BotError):
    """The event is for people with a role that this person does not have."""

    def __init__(self, event: "Event", role_id: int) -> None:
        super().__init__(f"{named(event)} is for people with the role <@&{role_id}>; ask an admin for it.")
        self.event_id, self.role_id = event.id, role_id


class RolesUnknownError(BotError):
    """The event asks for a role, and Discord did not say which ones this person has."""

    def __init__(self, event: "Event") -> None:
        super().__init__(
            f"{named(event)} asks for a role and Discord did not say whether you have it: try again in a minute."
        )
        self.event_id = event.id


def changes_nothing(press: Press, status: SignupStatus | None) -> bool:
    """Return whether the person is already what the button would make them; None: they said nothing yet."""
    return status in _SETTLED[press]


def refuse_closed(event: "Event", *, now: dt.datetime) -> None:
    """
    Refuse every button of an event that has begun, is over or was cancelled.

    Raises:
        SignupsClosedError: it is one of these.
    """
    match event.state:
        case EventState.CANCELLED:
            raise SignupsClosedError(event, "was cancelled")
        case EventState.COMPLETED:
            raise SignupsClosedError(event, "is over")
        case EventState.IN_PROGRESS:
            raise SignupsClosedError(event, "has begun")
        case EventState.UPCOMING | EventState.SIGNUPS_OPEN | EventState.ROLL_CALL:
            if event.scheduled_at <= now:
                # The pass that moves it on comes a moment later.
                raise SignupsClosedError(event, "has begun")


def refuse_by_state(press: Press, event: "Event", status: SignupStatus | None, *, now: dt.datetime) -> None:
    """
    Refuse what an event ahead does not allow where it stands; ``status`` None: the person said nothing yet.

    Raises:
        SignupsNotOpenError, FrozenError: it does not allow it.
    """
    if event.state is EventState.UPCOMING:
        raise SignupsNotOpenError(event, now=now)
    if event.state is not EventState.ROLL_CALL:
        return
    holds = status in _HAS_OR_WAITS
    if press in _COMING:
        raise FrozenError(event, "say Can't if you cannot come" if holds else "ask an admin if you want to come")
    if press is Press.CANT and not holds and status is not SignupStatus.REMOVED:
        raise FrozenError(event, "you have no place to give back")


def refuse_by_person(
    press: Press, event: "Event", status: SignupStatus | None, *, role_ids: frozenset[int] | None
) -> None:
    """
    Refuse what this person may not do; ``role_ids`` None: Discord did not say which roles they have.

    Raises:
        RemovedError, NotAskedError, RoleRequiredError, RolesUnknownError: they may not.
    """
    if status is SignupStatus.REMOVED:
        raise RemovedError(event)
    if press in _ASKED_AT_ROLL_CALL and status not in _asked(press):
        raise NotAskedError(event)
    role_id = event.required_role_id
    if role_id is None or press not in _COMING:
        return
    if role_ids is None:
        raise RolesUnknownError(event)
    if role_id not in role_ids:
        raise RoleRequiredError(event, role_id)


def _asked(press: Press) -> frozenset[SignupStatus]:
    return ATTENDING if press is Press.CONFIRM else _HAS_OR_WAITS
