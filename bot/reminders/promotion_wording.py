"""What somebody reads who moved up from the waiting list, or is offered a place: pure functions of fresh rows."""

import datetime as dt
from typing import TYPE_CHECKING, Final

from bot.leases.keys import PROMOTION
from bot.message import timestamps
from bot.message.custom_ids import Verb, encode
from bot.message.escaping import escape
from bot.message.limits import EMBED_TITLE, cut
from bot.message.links import post_link
from bot.message.outgoing import Button, ButtonStyle, Embed, EmbedField, OutgoingMessage
from bot.reminders import markers
from bot.reminders.content import duration

if TYPE_CHECKING:
    from models.event import Event

_GREEN: Final = 0x2E9E5B


def promotion_dm(event: "Event", *, part: int) -> OutgoingMessage:
    """Return the DM to somebody who moved up and has a place; ``part`` counts how often they did."""
    return _dm(
        event,
        part,
        "There is a place for you: you moved up from the wait-list and are signed up now.",
        (Button("Can't make it", encode(Verb.DECLINE, event.id), ButtonStyle.DANGER),),
    )


def offer_dm(event: "Event", *, part: int, until: dt.datetime) -> OutgoingMessage:
    """Return the DM that asks the next in line whether they want the place that is held for them ``until`` then."""
    return _dm(
        event,
        part,
        f"A place became free, and it is held for you until {timestamps.full_and_relative(until)}. Do you want it?",
        (
            Button("Accept", encode(Verb.ACCEPT, event.id), ButtonStyle.SUCCESS),
            Button("No thanks", encode(Verb.NO_THANKS, event.id)),
        ),
    )


def _dm(event: "Event", part: int, content: str, buttons: tuple[Button, ...]) -> OutgoingMessage:
    marker = markers.mark(PROMOTION, event.id, part=part)
    link = post_link(event.guild_id, event.announcement_channel_id, event.announcement_message_id)
    fields = [
        EmbedField("When", timestamps.full_and_relative(event.scheduled_at)),
        EmbedField("Lasts", duration(event.duration_minutes), inline=True),
        *([EmbedField("Where it was announced", link)] if link else []),
    ]
    return OutgoingMessage(
        marker=marker,
        content=content,
        embed=Embed(title=cut(escape(event.name), EMBED_TITLE), fields=tuple(fields), footer=marker, color=_GREEN),
        buttons=buttons,
    )
