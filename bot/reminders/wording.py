"""What the reminders other than the announcement say: pure functions of fresh rows."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bot.leases.keys import ATTENDANCE_POST, PROFILE_UNREACHABLE, TIME_CHANGED
from bot.message import timestamps
from bot.message.custom_ids import Verb, encode
from bot.message.escaping import escape
from bot.message.limits import CONTENT, EMBED_DESCRIPTION, EMBED_FIELD_VALUE, EMBED_TITLE, cut, length
from bot.message.links import post_link
from bot.message.lists import listed
from bot.message.outgoing import Button, ButtonStyle, Embed, EmbedField, OutgoingMessage
from bot.reminders import markers
from bot.reminders.content import duration, places, signup_buttons
from models.states import EventState

if TYPE_CHECKING:
    from models.event import Event

_BLUE, _AMBER = 0x5865F2, 0xE0A030
# More people cannot be pinged by one message. Source: Discord's allowed_mentions.
_MOST_PINGS = 100


def signup_reminder(event: "Event", *, taken: int) -> OutgoingMessage:
    """Return the DM that asks a subscriber of the series to sign up; ``taken`` counts the places that are gone."""
    marker = markers.mark(markers.SIGNUP_REMINDER, event.id)
    fields = [
        EmbedField("When", timestamps.full_and_relative(event.scheduled_at)),
        EmbedField("Lasts", duration(event.duration_minutes), inline=True),
        EmbedField("Places", places(event, taken), inline=True),
        *_post(event),
    ]
    return OutgoingMessage(
        marker=marker,
        content="Sign-ups are open, and you asked to hear of this series.",
        embed=_embed(event, event.description, fields, marker, _BLUE),
        buttons=signup_buttons(event),
    )


def attendance_dm(event: "Event") -> OutgoingMessage:
    """Return the DM that asks somebody with a place whether they will be there."""
    marker = markers.mark(markers.ATTENDANCE_REMINDER, event.id)
    fields = [EmbedField("When", timestamps.full_and_relative(event.scheduled_at)), *_post(event)]
    return OutgoingMessage(
        marker=marker,
        content="You signed up. Will you be there?",
        embed=_embed(event, "", fields, marker, _AMBER),
        buttons=attendance_buttons(event),
    )


def attendance_post(event: "Event", signed_up: Sequence[int]) -> OutgoingMessage:
    """Return the post that asks those with a place, and pings exactly them, as far as one message can."""
    marker = markers.mark(ATTENDANCE_POST, event.id)
    pinged, names = _pings(signed_up, CONTENT)
    fields = [EmbedField("When", timestamps.full_and_relative(event.scheduled_at))]
    description = "You signed up. Will you be there? Who cannot make it frees the place for somebody else."
    return OutgoingMessage(
        marker=marker,
        content=names,
        embed=_embed(event, description, fields, marker, _AMBER),
        buttons=attendance_buttons(event),
        mention_user_ids=pinged,
    )


def attendance_buttons(event: "Event") -> tuple[Button, ...]:
    """Return the two answers to the roll call."""
    return (
        Button("I'll be there", encode(Verb.CONFIRM, event.id), ButtonStyle.SUCCESS),
        Button("Can't make it", encode(Verb.DECLINE, event.id), ButtonStyle.DANGER),
    )


def profile_dm(event: "Event", missing: Sequence[str]) -> OutgoingMessage:
    """Return the DM that asks somebody with a place for what their profile lacks; ``missing`` holds labels."""
    marker = markers.mark(markers.PROFILE_REMINDER, event.id)
    fields = [
        EmbedField("When", timestamps.full_and_relative(event.scheduled_at)),
        EmbedField("Still missing", listed([escape(label) for label in missing], EMBED_FIELD_VALUE, between=", ")),
        *_post(event),
    ]
    return OutgoingMessage(
        marker=marker,
        content="You signed up, and the organisers still need something from your profile.",
        embed=_embed(event, "", fields, marker, _AMBER),
        buttons=(_profile_button(event),),
    )


def profile_unreachable_post(event: "Event", unreached: Sequence[int]) -> OutgoingMessage:
    """Return the post that asks, and pings, those whose profile lacks something and who take no DM of the bot."""
    marker = markers.mark(PROFILE_UNREACHABLE, event.id)
    pinged, names = _pings(unreached, CONTENT)
    fields = [EmbedField("When", timestamps.full_and_relative(event.scheduled_at))]
    description = "I could not reach you by direct message: your profile lacks something that the organisers need."
    return OutgoingMessage(
        marker=marker,
        content=names,
        embed=_embed(event, description, fields, marker, _AMBER),
        buttons=(_profile_button(event),),
        mention_user_ids=pinged,
    )


def time_changed_dm(event: "Event") -> OutgoingMessage:
    """Return the DM that tells somebody who may come that the event has another time."""
    marker = markers.mark(TIME_CHANGED, event.id, part=event.time_changes)
    fields = [
        EmbedField("Now", timestamps.full_and_relative(event.scheduled_at)),
        EmbedField("Lasts", duration(event.duration_minutes), inline=True),
        *_post(event),
    ]
    # At the roll call who has no place has none to give back, and who waits in line stays there.
    cannot = Button("Can't", encode(Verb.CANT, event.id), disabled=event.state is not EventState.SIGNUPS_OPEN)
    return OutgoingMessage(
        marker=marker,
        content="An event that you signed up for was moved to another time. You are still on its list.",
        embed=_embed(event, "", fields, marker, _AMBER),
        buttons=(cannot,),
    )


def _profile_button(event: "Event") -> Button:
    return Button("Fill in my profile", encode(Verb.PROFILE, event.guild_id), ButtonStyle.PRIMARY)


def _embed(event: "Event", description: str, fields: Sequence[EmbedField], marker: str, color: int) -> Embed:
    return Embed(
        title=cut(escape(event.name), EMBED_TITLE),
        description=cut(description, EMBED_DESCRIPTION),
        fields=tuple(fields),
        footer=marker,
        color=color,
    )


def _post(event: "Event") -> tuple[EmbedField, ...]:
    """Return a link to the event's one post, where there is one: a DM alone does not say which server it is about."""
    link = post_link(event.guild_id, event.announcement_channel_id, event.announcement_message_id)
    return (EmbedField("Where it was announced", link),) if link else ()


def _pings(user_ids: Sequence[int], most: int) -> tuple[tuple[int, ...], str]:
    """Return whom one message can ping, and the text that does; the rest is counted."""
    shown = min(len(user_ids), _MOST_PINGS)
    while True:
        rest = len(user_ids) - shown
        text = " ".join([*(f"<@{user}>" for user in user_ids[:shown]), *([f"+{rest} more"] if rest else [])])
        if length(text) <= most:
            return tuple(user_ids[:shown]), text
        shown -= 1
