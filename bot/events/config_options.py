"""
The options that all commands have in common which make or edit an event or a series, and the fields they fill.

What not all of them have is read by each that has it: ``attendee_role`` and ``signup_reminder_hours``.
"""

from collections.abc import Mapping
from typing import Final, Protocol

from bot.events.requests import given, given_or_none, hours_fields

CONFIG_OPTIONS: Final[Mapping[str, str]] = {
    "max_players": "places",
    "discord_announcement_hours": "announce_hours",
    "discord_confirm_attendance_hours": "attendance_hours",
    "discord_profile_reminder_hours": "profile_hours",
    "signup_opens_hours": "signups_open_hours",
    "signup_offer_minutes": "offer_minutes",
    "attendee_role_id": "attendee_role",
    "discord_create_event": "native_event",
    "discord_announcement_channel_id": "channel",
    "discord_announcement_role_ids": "ping_role",
}
"""A spec's fields under the names of the options, ``attendee_role`` too; those of the same name are left out."""


class ConfigOptions(Protocol):
    """
    The options that each of those commands has; None where one was left out.

    ``*_hours`` of 0 are off; ``signups_open_hours`` of 0 opens at once; ``places`` of 0 are no limit; ``offer_minutes``
    of 0 give a freed place at once.
    """

    @property
    def channel_id(self) -> int | None:
        """Where it is announced."""
        ...

    @property
    def ping_role_id(self) -> int | None:
        """Whom the announcement pings."""
        ...

    @property
    def places(self) -> int | None:
        """How many may come."""
        ...

    @property
    def duration_minutes(self) -> int | None:
        """How long it lasts."""
        ...

    @property
    def announce_hours(self) -> int | None:
        """How long before the start it is announced."""
        ...

    @property
    def attendance_hours(self) -> int | None:
        """How long before it those with a place are asked whether they come; its state stays."""
        ...

    @property
    def profile_hours(self) -> int | None:
        """How long before it people are asked for a missing profile."""
        ...

    @property
    def signups_open_hours(self) -> int | None:
        """How long before it sign-ups open."""
        ...

    @property
    def offer_minutes(self) -> int | None:
        """How long a freed place is held for the next in line."""
        ...

    @property
    def native_event(self) -> bool | None:
        """Whether it stands in the server's own list of events."""
        ...


def config_given(options: ConfigOptions) -> dict[str, object]:
    """Return the fields of a spec that the common options gave."""
    return {
        **given(
            duration_minutes=options.duration_minutes,
            discord_announcement_channel_id=options.channel_id,
            discord_announcement_role_ids=[options.ping_role_id] if options.ping_role_id is not None else None,
            discord_create_event=options.native_event,
        ),
        **given_or_none(
            max_players=options.places,
            signup_opens_hours=options.signups_open_hours,
            signup_offer_minutes=options.offer_minutes,
        ),
        **hours_fields("discord_announcement", options.announce_hours),
        **hours_fields("discord_confirm_attendance", options.attendance_hours),
        **hours_fields("discord_profile_reminder", options.profile_hours),
    }
