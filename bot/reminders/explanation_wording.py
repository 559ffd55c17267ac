"""What an admin reads of the messages about an event: a pure function of what was found of them."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from bot.events.admin_wording import STANDS, named
from bot.leases.keys import PROMOTION, TIME_CHANGED
from bot.message import timestamps
from bot.message.limits import CONTENT, cut
from bot.message.links import post_link
from bot.reminders.lots import Lot
from bot.reminders.outlook import Reason
from bot.reminders.reminder_words import failure_words, kind_words, reason_words

if TYPE_CHECKING:
    from bot.reminders.attempts import LoggedAttempt
    from bot.reminders.notices import FreePlaces, NewTime
    from bot.reminders.personal_reason import PersonalReason
    from bot.reminders.reach import Reach
    from bot.reminders.why import Explained, Notices
    from models.event import Event

_COUNTED = {
    "sent": "sent",
    "unreachable": "unreachable by direct message",
    "failed": "failed",
    "withdrawn": "no longer wanted",
    "too_late": "too late",
}

_PLACES = {
    Lot.TOLD: "told",
    Lot.UNDER_WAY: "being told",
    Lot.WILL_BE_TOLD: "still to be told",
    Lot.DMS_CLOSED: "unreachable by direct message",
    Lot.FAILED: "not told so far",
    Lot.TOO_LATE: "too late",
}


def explanation(
    event: "Event",
    found: Sequence["Explained"],
    notices: "Notices",
    *,
    person: int | None,
    may_post: Callable[[int], bool],
) -> str:
    """Return what became and becomes of each message about an event, a line for each thing."""
    begins = timestamps.full_and_relative(event.scheduled_at)
    lines = [f"{named(event)}, {begins}: {STANDS[event.state]}."]
    for one in found:
        lines.append(f"- **{kind_words(one.entry.key)}**: {_whole(event, one, may_post)}")
        is_open = one.comes.reason is Reason.UNDER_WAY
        lines += [f"  - {kind_words(kind)}: {_post(event, *tried, is_open=is_open)}" for kind, *tried in one.beside]
        if person is not None and one.personal is not None and one.comes.reason is not Reason.OFF:
            lines.append(f"  - <@{person}> {_personal(one.personal, is_open=is_open)}")
    if (time := notices.new_time) is not None:
        lines.append(f"- **{kind_words(TIME_CHANGED)}**: {_new_time(event, time)}")
        if time.personal is not None:
            is_open = time.reason in {None, Reason.UNDER_WAY}
            lines.append(f"  - <@{person}> {_personal(time.personal, is_open=is_open)}")
    if (places := notices.free_places) is not None:
        lines.append(f"- **{kind_words(PROMOTION)}**: {_free_places(places)}")
        if places.personal is not None:
            lines.append(f"  - <@{person}> {_personal(places.personal, is_open=True)}")
    return cut("\n".join(lines), CONTENT)


def _whole(event: "Event", one: "Explained", may_post: Callable[[int], bool]) -> str:
    if one.live is not None and one.live.success:
        return _sent(event, one.live)
    if one.comes.reason is None:
        when = timestamps.full_and_relative(one.comes.at)
        tells = "; ".join(_reach(reach, may_post) for reach in one.reaches)
        says = f"comes {when}: {tells}."
    else:
        says = f"not sent: {reason_words(one.comes.reason)}."
    if one.failed is not None and one.comes.reason is not Reason.OFF:
        says += f" {_failure(one.failed, is_open=one.comes.reason is None)}"
    return says


def _new_time(event: "Event", one: "NewTime") -> str:
    if one.live is not None and one.live.success:
        return _sent(event, one.live)
    says = "comes now" if one.reason is None else f"not sent: {reason_words(one.reason)}"
    says += f": a direct message to {_people(one.people)}." if one.reason is None else "."
    return f"{says} {_failure(one.failed, is_open=False)}" if one.failed is not None else says


def _free_places(one: "FreePlaces") -> str:
    told = ", ".join(f"{one.lots[lot]:,} {words}" for lot, words in _PLACES.items() if one.lots[lot])
    again = f"; tried again {timestamps.full(one.again)}" if one.again is not None else ""
    return f"{_people(one.lots.total())} moved up or are offered one: {told}{again}."


def _sent(event: "Event", live: "LoggedAttempt") -> str:
    link = post_link(event.guild_id, live.channel_id, live.message_id)
    counts = ", ".join(f"{live.counts[name]} {words}" for name, words in _COUNTED.items() if live.counts.get(name))
    if not link and not counts:
        return f"done {timestamps.full(live.began_at)}: there was nobody to tell."
    return f"sent {timestamps.full(live.began_at)}{f' {link}' if link else f': {counts}'}."


def _reach(reach: "Reach", may_post: Callable[[int], bool]) -> str:
    if (hindrance := reach.hindrance) is not None:
        return f"but {'the post is not sent, since ' if reach.is_post else ''}{reason_words(hindrance)}"
    if reach.channel_id is not None and not may_post(reach.channel_id):
        return f"but I may not post in <#{reach.channel_id}>"
    if reach.is_post:
        names = f", naming {_people(len(reach.wanting))}" if reach.wanting else ""
        return f"a post in <#{reach.channel_id}>{names}"
    return "direct messages" if reach.wanting is None else f"a direct message to {_people(len(reach.wanting))}"


def _people(number: int) -> str:
    return "1 person" if number == 1 else f"{number:,} people"


def _post(event: "Event", live: "LoggedAttempt | None", failed: "LoggedAttempt | None", *, is_open: bool) -> str:
    if live is not None:
        return _sent(event, live) if live.success else f"{reason_words(Reason.UNDER_WAY)}."
    return _failure(failed, is_open=is_open) if failed is not None else "not sent."


def _failure(failed: "LoggedAttempt", *, is_open: bool) -> str:
    """Return what an attempt failed of; ``is_open``: what it belongs to goes on, and with it the attempts."""
    comes = failed.next_attempt_at if is_open else None
    again = f"; tried again {timestamps.full(comes)}" if comes is not None else ""
    return f"Tried last {timestamps.full(failed.began_at)}: {failure_words(failed.error_class)}{again}."


def _personal(personal: "PersonalReason", *, is_open: bool) -> str:
    if personal.failure is not None:
        return f"{personal.lot.value}. {_failure(personal.failure, is_open=is_open)}"
    return f"{personal.lot.value}{f' {timestamps.full(personal.at)}' if personal.at is not None else ''}."
