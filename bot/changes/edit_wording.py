"""What an edit changes, in an admin's words: one line for each thing, as it was and as it would be. Pure functions."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from bot.message.escaping import escape
from bot.message.limits import cut
from bot.scheduling.registry import REMINDERS

Values = Mapping[str, object]
"""What a row holds, by the names of its fields."""

_ARROW: Final = "\N{RIGHTWARDS ARROW}"
_MOST_OF_TEXT: Final = 200


def _quoted(field: str) -> Callable[[Values], str]:
    def _shown(values: Values) -> str:
        text = str(values[field] or "")
        return f"\u201c{cut(escape(text), _MOST_OF_TEXT)}\u201d" if text.strip() else "nothing"

    return _shown


def _number(field: str, nothing: str, unit: str = "") -> Callable[[Values], str]:
    return lambda values: nothing if values[field] is None else f"{values[field]}{unit}"


def _yes_or_no(field: str) -> Callable[[Values], str]:
    return lambda values: "yes" if values[field] else "no"


def _mention(field: str, sign: str, nothing: str) -> Callable[[Values], str]:
    return lambda values: nothing if values[field] is None else f"<{sign}{values[field]}>"


def _roles(field: str) -> Callable[[Values], str]:
    def _shown(values: Values) -> str:
        roles = values[field]
        return " ".join(f"<@&{role}>" for role in roles) if isinstance(roles, list) and roles else "nobody"

    return _shown


def _reminder(prefix: str) -> Callable[[Values], str]:
    def _shown(values: Values) -> str:
        hours = values[f"{prefix}_hours"]
        is_on = bool(values[prefix]) and isinstance(hours, int) and hours > 0
        return f"{hours} h before" if is_on else "off"

    return _shown


# The order in which they are shown.
_LINES: Final[Sequence[tuple[str, tuple[str, ...], Callable[[Values], str]]]] = (
    ("Name", ("name",), _quoted("name")),
    ("Description", ("description",), _quoted("description")),
    ("Lasts", ("duration_minutes",), _number("duration_minutes", "", " min")),
    ("Places", ("max_players",), _number("max_players", "without limit")),
    (
        "Announced in",
        ("discord_announcement_channel_id",),
        _mention("discord_announcement_channel_id", "#", "this server's announcement channel"),
    ),
    ("Pinged", ("discord_announcement_role_ids",), _roles("discord_announcement_role_ids")),
    *(
        (one.words.capitalize(), (one.enabled_field, one.hours_field), _reminder(one.enabled_field))
        for one in REMINDERS
    ),
    ("Sign-ups open", ("signup_opens_hours",), _number("signup_opens_hours", "at once", " h before")),
    ("A freed place is held", ("signup_offer_minutes",), _number("signup_offer_minutes", "for nobody", " min")),
    ("In this server's own list of events", ("discord_create_event",), _yes_or_no("discord_create_event")),
    ("Role to sign up", ("required_role_id",), _mention("required_role_id", "@&", "none")),
)


def changed_lines(before: Values, changes: Values) -> list[str]:
    """Return a line for each thing that differs; ``before`` holds every field that an edit may change."""
    after = {**before, **changes}
    return [
        f"{label}: {shown(before)} {_ARROW} {shown(after)}"
        for label, fields, shown in _LINES
        if any(field in changes for field in fields)
    ]
