"""
People at the bot's buttons and commands: real ones, on what stands in the world, and what they read after it.

A time that only Discord draws is written out; how far off it is, and the bold of a name, are left out.
"""

import datetime as dt
import re
from typing import Any, Final

import discord

from bot.demo import bell_tower
from bot.demo.life import Life
from bot.leases.keys import PROMOTION, TIME_CHANGED
from bot.reminders import markers

_LEFT_OUT: Final = re.compile(r"( \(<t:-?\d+:R>\)|: <t:-?\d+:F> \(<t:-?\d+:R>\)|\*\*|\\)")
_TIME: Final = re.compile(r"<t:(-?\d+):F>")
_DIRECT: Final = frozenset(
    {
        markers.SIGNUP_REMINDER,
        markers.ATTENDANCE_REMINDER,
        markers.PROFILE_REMINDER,
        PROMOTION,
        TIME_CHANGED,
    }
)


async def press(life: Life, player: str, label: str, kind: str, event_id: int) -> str:
    """
    Let a player press a button of the bot's newest message of a kind about an event; return what they read then.

    What goes to a person is pressed in the player's direct messages, anything else in the announcement channel.

    Raises:
        LookupError: the player sees no such message.
    """
    message = _newest(life, player, kind, event_id)
    user_id = _id_of(life, player)
    actor = life.world.user_handle(user_id) if kind in _DIRECT else life.world.member_handle(life.place, user_id)
    result = await actor.click(message, label=label)
    return in_words(result.response.content) if result.response is not None else ""


def read(life: Life, player: str, kind: str, event_id: int) -> str:
    """
    Return the text of the bot's newest message of a kind about an event, as a player reads it.

    Raises:
        LookupError: the player sees no such message.
    """
    return in_words(_newest(life, player, kind, event_id).content)


async def command(life: Life, name: str, label: str, /, **options: Any) -> str:  # noqa: ANN401 -- of any of Discord's kinds
    """Let the admin use a command and press a button of what it shows; return what they read at the end."""
    admin = life.world.member_handle(life.place, life.place.admin_id)
    shown = (await admin.slash(life.world.channel_handle(life.place, life.place.ops_id), name, **options)).response
    assert shown is not None  # noqa: S101 -- every command answers
    await admin.click(shown, label=label)
    return in_words(shown.content)


def in_words(text: str) -> str:
    """Return a text of the bot's as the story tells it."""
    return _TIME.sub(
        lambda found: f"{dt.datetime.fromtimestamp(int(found[1]), dt.UTC):%a %d %b %H:%M} UTC",
        _LEFT_OUT.sub("", text),
    )


def _id_of(life: Life, player: str) -> int:
    return life.place.player_ids[bell_tower.PLAYERS.index(player)]


def _newest(life: Life, player: str, kind: str, event_id: int) -> discord.Message:
    if kind in _DIRECT:
        channel = life.world.user_handle(_id_of(life, player)).dm_channel
    else:
        channel = life.world.channel_handle(life.place, life.place.announcements_id)
    for message in reversed(channel.history()):
        footer = message.embeds[0].footer.text if message.embeds else None
        marked = markers.read(footer or "")
        if marked is not None and (marked.kind, marked.event_id) == (kind, event_id):
            return message
    missing = f"{player} sees no {kind} about event {event_id}"
    raise LookupError(missing)
