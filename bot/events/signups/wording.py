"""What a person reads after pressing a button of an event: pure functions of fresh rows."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from bot.events.admin_wording import named
from bot.message import timestamps
from models.states import ATTENDING, SignupStatus

if TYPE_CHECKING:
    from models.event import Event

_ALREADY: Mapping[SignupStatus, str] = {
    SignupStatus.SIGNED_UP: "You are signed up for {name} already.",
    SignupStatus.CONFIRMED: "You have confirmed already that you come to {name}.",
    SignupStatus.TENTATIVE: "You are down as maybe for {name} already.",
    SignupStatus.WAITLISTED: "You are on the wait-list of {name} already, as number {position}.",
    SignupStatus.DECLINED: "You have said already that you cannot come to {name}.",
}


def already(event: "Event", status: SignupStatus, *, position: int | None) -> str:
    """Return the sentence for a press that changes nothing; ``position`` is the rank in line, 1 for the first."""
    return _ALREADY[status].format(name=named(event), position=position)


def changed(event: "Event", before: SignupStatus | None, after: SignupStatus, *, position: int | None) -> str:
    """Return the sentence for a press that made a person ``after``; ``before`` None: they had said nothing."""
    name, when = named(event), timestamps.full_and_relative(event.scheduled_at)
    had_place = before in ATTENDING
    match after:
        case SignupStatus.SIGNED_UP:
            return f"You are signed up for {name}: {when}."
        case SignupStatus.CONFIRMED:
            return f"You have confirmed that you come to {name}: {when}."
        case SignupStatus.WAITLISTED:
            offers = event.signup_offer_minutes is not None
            then = "are asked by direct message" if offers else "move up by yourself"
            return (
                f"{name} is full. You are on its wait-list as number {position}, and {then} when a place becomes free."
            )
        case SignupStatus.TENTATIVE:
            freed = "your place is free for others now" if had_place else "that takes no place"
            return f"You are down as maybe for {name}; {freed}."
        case _:
            freed = "; your place is free for others now" if had_place else _left(before)
            return f"You are down as not coming to {name}{freed}."


def _left(before: SignupStatus | None) -> str:
    return "; you left its wait-list" if before is SignupStatus.WAITLISTED else ""
