"""
The options that all commands have in common which make or edit an event or a series, and the fields they fill.

What not all of them have is read by each that has it: ``attendee_role`` and ``signup_reminder_hours``.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

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


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigOptions:
    """
    The options that each of those commands has; None where one was left out.

    ``channel_id``: where it is announced, pinging ``ping_role_id``. ``duration_minutes``: how long it lasts.
    ``*_hours`` lie before its start, 0 is off: when it is announced, when those with a place are asked whether they
    come, when people are asked for a missing profile. ``signups_open_hours`` of 0 opens at once; ``places`` of 0 are
    no limit; ``offer_minutes`` hold a freed place for the next in line, 0 gives it at once. ``native_event``: it stands
    in the server's own list of events.
    """

    channel_id: int | None = None
    ping_role_id: int | None = None
    places: int | None = None
    duration_minutes: int | None = None
    announce_hours: int | None = None
    attendance_hours: int | None = None
    profile_hours: int | None = None
    signups_open_hours: int | None = None
    offer_minutes: int | None = None
    native_event: bool | None = None


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
