"""What admins read of their events and series: pure functions of rows and counts, ready for Discord."""

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from bot.message import timestamps
from bot.message.escaping import escape
from bot.message.limits import CONTENT, cut, length
from bot.message.links import native_link, post_link
from bot.scheduling.registry import words_of
from bot.times.rule_words import rule_in_words, span_in_words
from models.states import ATTENDING, EventState, SignupStatus

if TYPE_CHECKING:
    from bot.events.series_spec import ConfigSpec
    from bot.times.recurrence import SeriesRule
    from models.discord_event_config import DiscordEventConfigMixin
    from models.event import Event
    from models.event_repeater import EventRepeater

Counts = Mapping[SignupStatus, int]

STANDS: Final[Mapping[EventState, str]] = {
    EventState.UPCOMING: "sign-ups are not open yet",
    EventState.SIGNUPS_OPEN: "sign-ups are open",
    EventState.ROLL_CALL: "the roll call is on",
    EventState.IN_PROGRESS: "it is running",
    EventState.COMPLETED: "it is over",
    EventState.CANCELLED: "it was cancelled",
}
"""Where an event stands, as the second half of a sentence."""

_MORE_ROOM = 40
_MOST_OF_DESCRIPTION = 600


def named(row: "Event | EventRepeater") -> str:
    """Return the name of an event or series as it stands among the bot's words."""
    return f"**{escape(row.name)}**"


def listed(heading: str, lines: Sequence[str], *, total: int) -> str:
    """Return a list of as many whole lines as fit into one message; the rest of ``total`` is counted."""
    text, shown = heading, 0
    for line in lines:
        if length(text) + length(line) + 1 > CONTENT - _MORE_ROOM:
            break
        text, shown = f"{text}\n{line}", shown + 1
    return f"{text}\n+{total - shown} more" if total > shown else text


def people(event: "Event", counts: Counts) -> str:
    """Return how many people said what: ``5 of 10 places taken, 2 on the wait-list, 1 maybe``."""
    going = sum(counts.get(status, 0) for status in ATTENDING)
    places = f"{going} signed up" if event.max_players is None else f"{going} of {event.max_players} places taken"
    more = [
        f"{counts[status]} {words}"
        for status, words in (
            (SignupStatus.CONFIRMED, "confirmed"),
            (SignupStatus.WAITLISTED, "on the wait-list"),
            (SignupStatus.TENTATIVE, "maybe"),
            (SignupStatus.DECLINED, "cannot come"),
        )
        if counts.get(status)
    ]
    return ", ".join([places, *more])


def event_line(event: "Event", counts: Counts) -> str:
    """Return one line of a list of events."""
    when = timestamps.full_and_relative(event.scheduled_at)
    return f"- {named(event)} {when}: {STANDS[event.state]}, {people(event, counts)}"


def event_details(
    event: "Event", counts: Counts, *, series: str | None, due: Sequence[str], listing: Sequence[str] = ()
) -> str:
    """
    Return everything about one event.

    ``due`` are lines on what is still to be sent, ``listing`` those on why the server's own list does not have it.
    """
    ends_at = event.scheduled_at + dt.timedelta(minutes=event.duration_minutes)
    lines = [
        f"{named(event)}: {STANDS[event.state]}.",
        f"Begins {timestamps.full_and_relative(event.scheduled_at)}, ends {timestamps.full(ends_at)}.",
        f"People: {people(event, counts)}.",
        f"Part of the series {series}." if series is not None else "It belongs to no series.",
    ]
    if event.state is EventState.UPCOMING:
        lines.append(_opens(event))
    if link := post_link(event.guild_id, event.announcement_channel_id, event.announcement_message_id):
        lines.append(f"Its post: {link}")
    if link := native_link(event.guild_id, event.discord_scheduled_event_id):
        lines.append(f"In this server's list: {link}")
    lines += config_lines(event, has_series=series is not None)
    lines += listing
    lines += [f"Still to come: {', '.join(due)}." if due else "No reminder is still to come."]
    return "\n".join([*lines, *says(event.description)])


def _opens(event: "Event") -> str:
    if event.signups_open_at is None:
        return "Sign-ups open when an admin opens them."
    return f"Sign-ups open {timestamps.full_and_relative(event.signups_open_at)}."


def config_lines(config: "DiscordEventConfigMixin | ConfigSpec", *, has_series: bool) -> list[str]:
    """Return in words what is announced and asked, and when."""
    lines = [f"Announced: {_hours(config.discord_announcement, config.discord_announcement_hours)}{_where(config)}."]
    if has_series:
        wanted = _hours(config.discord_signup_reminder, config.discord_signup_reminder_hours)
        lines.append(f"{_called('signup_reminder')}: {wanted}.")
    asked = _hours(config.discord_confirm_attendance, config.discord_confirm_attendance_hours)
    profile = _hours(config.discord_profile_reminder, config.discord_profile_reminder_hours)
    lines.append(f"{_called('attendance_reminder')}: {asked}. {_called('profile_reminder')}: {profile}.")
    if config.required_role_id is not None:
        lines.append(f"Only people with the role <@&{config.required_role_id}> can sign up.")
    if config.attendee_role_id is not None:
        lines.append(f"Who has a place has the role <@&{config.attendee_role_id}> until it is over.")
    if config.discord_create_event:
        lines.append("It is to stand in this server's list of scheduled events too.")
    if config.signup_offer_minutes is not None:
        lines.append(f"A freed place is held {config.signup_offer_minutes} min for the next in line, who is asked.")
    return lines


def _called(key: str) -> str:
    return words_of(key).capitalize()


def _hours(is_on: bool, hours: int | None) -> str:  # noqa: FBT001 -- a row's two fields
    return f"{hours} h before" if is_on and hours is not None and hours > 0 else "off"


def _where(config: "DiscordEventConfigMixin | ConfigSpec") -> str:
    where = config.discord_announcement_channel_id
    roles = " ".join(f"<@&{role}>" for role in config.discord_announcement_role_ids)
    return (f" in <#{where}>" if where is not None else "") + (f", pinging {roles}" if roles else "")


def series_line(series: "EventRepeater", rule: "SeriesRule", *, upcoming: dt.datetime | None) -> str:
    """Return one line of a list of series; ``upcoming`` is its next stored event."""
    if not series.is_active:
        state = "paused"
    else:
        state = f"next {timestamps.full(upcoming)}" if upcoming is not None else "nothing ahead"
    return f"- {named(series)} {rule_in_words(rule)}: {state}"


def series_details(
    series: "EventRepeater", rule: "SeriesRule", *, upcoming: Sequence[dt.datetime], subscribers: int
) -> str:
    """Return everything about one series; ``upcoming`` are its next stored events."""
    state = "" if series.is_active else " It is paused, so it makes no new events."
    days = series.generate_days_ahead
    places = "without limit" if series.max_players is None else str(series.max_players)
    lines = [
        f"{named(series)} returns {rule_in_words(rule)}, {span_in_words(rule)}.{state}",
        f"Events are made {days} {'day' if days == 1 else 'days'} ahead. {_next(upcoming)}",
        f"Lasts {series.duration_minutes} min. Places: {places}. {signups_open(series.signup_opens_hours)}",
        f"Subscribers: {subscribers}.",
        *config_lines(series, has_series=True),
    ]
    return "\n".join([*lines, *says(series.description)])


def says(description: str) -> list[str]:
    """Return the line that shows a description, or its beginning; none where there is none."""
    return [f"Says: {cut(escape(description), _MOST_OF_DESCRIPTION)}"] if description.strip() else []


def signups_open(hours: int | None) -> str:
    """Return when the sign-ups of a series' events open."""
    return "Sign-ups open at once." if hours is None else f"Sign-ups open {hours} h before."


def _next(upcoming: Iterable[dt.datetime]) -> str:
    moments = [timestamps.full(moment) for moment in upcoming]
    return f"Next: {', '.join(moments)}." if moments else "None is ahead."
