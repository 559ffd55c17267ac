"""Players at the bot's buttons: a real press on a real message of the world, and what the player reads after it."""

import re

from bot.demo import bell_tower
from bot.demo.life import Life
from bot.reminders import markers

# What only Discord draws: a time, and the bold of a name.
_DRAWN = re.compile(r"( \(<t:-?\d+:R>\)|: <t:-?\d+:F> \(<t:-?\d+:R>\)|\*\*|\\)")


async def press(life: Life, player: str, label: str, kind: str, event_id: int) -> str:
    """
    Let a player press a button of the bot's newest message of a kind about an event; return what they read then.

    A reminder is pressed in the player's direct messages, anything else in the announcement channel.

    Raises:
        LookupError: the player sees no such message.
    """
    user_id = life.place.player_ids[bell_tower.PLAYERS.index(player)]
    member = life.world.member_handle(life.place, user_id)
    user = life.world.user_handle(user_id)
    is_dm = kind in {markers.SIGNUP_REMINDER, markers.ATTENDANCE_REMINDER, markers.PROFILE_REMINDER}
    channel = user.dm_channel if is_dm else life.world.channel_handle(life.place, life.place.announcements_id)
    for message in reversed(channel.history()):
        footer = message.embeds[0].footer.text if message.embeds else None
        marked = markers.read(footer or "")
        if marked is not None and (marked.kind, marked.event_id) == (kind, event_id):
            result = await (user if is_dm else member).click(message, label=label)
            shown = result.response
            return _DRAWN.sub("", shown.content) if shown is not None else ""
    missing = f"{player} sees no {kind} about event {event_id}"
    raise LookupError(missing)
