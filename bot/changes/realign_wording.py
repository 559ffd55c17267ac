"""An edit of a series in words, before it is made: pure functions, ready for Discord."""

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from bot.changes.realign import Arrival, RealignPlan, Stays, StoredEvent
from bot.message import timestamps
from bot.message.escaping import escape
from bot.message.limits import CONTENT, cut, length
from bot.scheduling.registry import REMINDERS, words_of
from bot.times.typed_date import in_words

if TYPE_CHECKING:
    from collections.abc import Collection

_WHY: Final[Mapping[Stays, str]] = {
    Stays.OPENED: "sign-ups were opened",
    Stays.EXTRA: "an extra event",
    Stays.EDITED: "edited by itself",
}
# What people know an event by, and how an admin calls it; by another source it is known too.
_KNOWN: Final[Mapping[str, str]] = {
    "post": "announced",
    "event_announcement": "announced",
    "event_repost": "announced",
    "native_event": "in the server's events",
    "signup_reminder": words_of("signup_reminder"),
    "attendance_reminder": words_of("attendance_reminder"),
    "attendance_post": words_of("attendance_reminder"),
    "profile_reminder": words_of("profile_reminder"),
    "profile_unreachable": words_of("profile_reminder"),
    "time_changed": "new time told",
    "promotion": "places offered",
    "answers": "answered",
}
# What a spec has beside what the options name.
_SWITCHES: Final[Mapping[str, str]] = {one.enabled_field: one.words for one in REMINDERS}
_OTHERWISE_KNOWN: Final = "messages sent"
_STEPS: Final = (60, 40, 25, 15, 10, 6, 4, 2, 1, 0)
_MOST_OF_A_VALUE: Final = 80

Section = tuple[str, Sequence[str]]


def known_words(known: "Collection[str]") -> str:
    """Return in brackets what people know of an event already: `` (announced)``; nothing where they know nothing."""
    words = sorted({_KNOWN.get(source, _OTHERWISE_KNOWN) for source in known})
    return f" ({', '.join(words)})" if words else ""


def plan_sections(wanted: RealignPlan) -> list[Section]:
    """Return what happens to each event, with what was announced for it, the loss first; empty classes are left out."""
    replaced = [f"{_event(one.event)} → {_place(one.to)}" for one in wanted.replaced]
    added = [_place(one) for one in wanted.added]
    staying = [f"{_event(one.event)}: {_WHY[one.why]}" for one in wanted.staying]
    kept = sorted([*wanted.kept, *(one.event for one in wanted.renamed)], key=lambda event: event.scheduled_at)
    sections: list[Section] = [
        ("Removed", [_event(event) for event in wanted.removed]),
        ("Moved, each as a new event", replaced),
        ("Added", added),
        ("Stay although the new schedule does not have them", staying),
        ("Kept", [_event(event) for event in kept]),
    ]
    return [(name, lines) for name, lines in sections if lines]


def _event(event: StoredEvent) -> str:
    return f"{timestamps.full(event.scheduled_at)}{known_words(event.known)}"


def _place(arrival: Arrival) -> str:
    when = timestamps.full(arrival.occurrence.starts_at)
    if arrival.revives is not None:
        return f"{when} again{known_words(arrival.revives.known)}"
    return f"{when} (made later)" if arrival.is_later else when


def plan_notes(wanted: RealignPlan) -> list[str]:
    """Return what to read beside the lists."""
    known = sum(1 for event in wanted.leaving if event.known)
    notes = ["Nothing that was sent is sent again."] if wanted.leaving or wanted.arrivals else []
    if known:
        posts = "The post of the one" if known == 1 else f"The posts of the {known}"
        notes.insert(0, f"{posts} announced already will say that it is cancelled, or where it moved.")
    return notes


def counted(wanted: RealignPlan, *, made: int = 0) -> str:
    """Return how many events went and came, ``made`` beside the plan: ``1 removed, 2 moved``; nothing for none."""
    counts = [
        (len(wanted.removed), "removed"),
        (len(wanted.replaced), "moved"),
        (len(wanted.added) + made, "added"),
    ]
    return ", ".join(f"{number} {what}" for number, what in counts if number)


def fitted(head: Sequence[str], sections: Sequence[Section], foot: Sequence[str]) -> str:
    """Return everything in one message: of each list as many items as fit, the rest counted; the foot stays whole."""
    for most in _STEPS:
        text = "\n".join([*head, *(_section(name, items, most) for name, items in sections), *foot])
        if length(text) <= CONTENT:
            return text
    counted = [_section(name, items, 0) for name, items in sections]
    rest = "\n".join([*counted, *foot])
    return f"{cut(chr(10).join(head), CONTENT - length(rest) - 1)}\n{rest}"


def _section(name: str, items: Sequence[str], most: int) -> str:
    shown = list(items[:most])
    more = [f"+{len(items) - len(shown)} more"] if len(items) > len(shown) else []
    return f"**{name} ({len(items)})**: {', '.join([*shown, *more])}"


def change_lines(
    before: Mapping[str, object], after: Mapping[str, object], *, options: Mapping[str, str]
) -> Iterable[str]:
    """Return a line for each field that changes, in the options' names."""
    for field, value in after.items():
        name = _SWITCHES.get(field) or options.get(field, field)
        yield f"- {escape(name)}: {_shown(field, before[field])} → {_shown(field, value)}"


def _shown(field: str, value: object) -> str:
    match value:
        case None | "" | []:
            return "none"
        case bool():
            return "on" if value else "off"
        case list():
            return " ".join(f"<@&{role}>" for role in value)
        case dt.time():
            text = f"{value:%H:%M}"
        case dt.date():
            text = in_words(value)
        case _ if field.endswith("_channel_id"):
            text = f"<#{value}>"
        case _:
            text = cut(escape(str(value)), _MOST_OF_A_VALUE)
    return text
