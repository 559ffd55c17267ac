"""What the options say that several commands have in common, by their names: each is worded once."""

from collections.abc import Mapping
from typing import Final

EVERYWHERE: Final[Mapping[str, str]] = {
    "name": "What it is called",
    "description": "What the announcement says",
    "ping_role": "A role that the announcement pings",
    "places": "How many people can sign up; 0 for no limit",
    "attendance_hours": "How many hours before those who signed up are asked to confirm; 0 for not at all",
    "profile_hours": "How many hours before people are asked for a missing profile; 0 for not at all",
    "offer_minutes": "How long a freed place is held for the next in line, who is asked; 0 to give it at once",
}
"""Where an event or a series is made or changed."""

OF_SERIES: Final[Mapping[str, str]] = {
    "frequency": "How often it returns",
    "days": "Weekdays such as TU,TH; with monthly such as 2WE (the second) or -1FR (the last)",
    "month_end": "Monthly on a day that a month lacks: its last day, or not at all",
    "signup_reminder_hours": "How many hours before subscribers are asked to sign up; 0 for not at all",
}
"""Where a series is made or changed, beside :data:`EVERYWHERE`."""

WHEN_MADE: Final[Mapping[str, str]] = {
    **EVERYWHERE,
    "duration_minutes": "How long it lasts; usually 120",
    "channel": "Where it is announced; usually this server's announcement channel",
    "announce_hours": "How many hours before it is announced; usually 24, 0 for not at all",
    "signups_open_hours": "How many hours before sign-ups open; usually 168, 0 for at once",
    "native_event": "Whether it also stands in this server's own list of scheduled events; usually not",
}
"""Where an event or a series is made: with what it has if an option is left out."""

WHEN_CHANGED: Final[Mapping[str, str]] = {
    **EVERYWHERE,
    "duration_minutes": "How long it lasts",
    "channel": "Where it is announced",
    "announce_hours": "How many hours before it is announced; 0 for not at all",
    "signups_open_hours": "How many hours before sign-ups open; 0 for at once",
}
"""Where an event or a series is changed: what is left out stays as it is."""

WHICH_EVENT: Final = "Which event: choose one from the list"
WHICH_SERIES: Final = "Which series: choose one from the list"
REQUIRED_ROLE: Final = "Only people with this role can sign up"
ATTENDEE_ROLE: Final = "A role that those with a place have until it is over"
