"""
Whom and where each message of a reminder reaches, from the same rows and functions that its task sends by.

A reminder that nobody has spoken of here is foreseen too: as one message, and to how many is not known.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from bot.leases.keys import ATTENDANCE_POST
from bot.reminders import recipients
from bot.reminders.outlook import Reason
from bot.reminders.tasks import announcement_target
from bot.scheduling.registry import ScheduledReminder
from models.event import Event


@dataclass(frozen=True, slots=True)
class Reach:
    """
    One message of a reminder: a post in a channel, or a DM to each of some people.

    ``kind`` is the registry's key, or the source of a post beside the DMs. ``meant``: whom it is for, those who
    switched it off among them; ``wanting``: those who get it or are named in it, None: not known. A post that is for
    everybody who reads the channel names nobody.
    """

    kind: str
    is_post: bool
    channel_id: int | None = None
    meant: tuple[int, ...] = ()
    wanting: tuple[int, ...] | None = ()
    is_for_everybody: bool = False

    @property
    def hindrance(self) -> Reason | None:
        """Why it reaches nobody, None: it reaches somebody."""
        if self.is_post and self.channel_id is None:
            return Reason.NO_CHANNEL
        if self.is_for_everybody or self.wanting is None or self.wanting:
            return None
        return Reason.OPTED_OUT if self.meant else Reason.NOBODY


async def reach_of(entry: ScheduledReminder, event: Event) -> list[Reach]:
    """Return the messages that a reminder of an event consists of, as the rows stand; the event may not be stored."""
    known = _REACHES.get(entry.key)
    if known is not None:
        return await known(event)
    return [Reach(entry.key, is_post=False, wanting=None)]


async def _announcement(event: Event) -> list[Reach]:
    return [Reach("announcement", is_post=True, channel_id=await _channel(event), is_for_everybody=True)]


async def _signup(event: Event) -> list[Reach]:
    return [await _dms("signup_reminder", event, await recipients.meant_to_sign_up(event))]


async def _attendance(event: Event) -> list[Reach]:
    coming = await recipients.signed_up(event)
    post = Reach(ATTENDANCE_POST, is_post=True, channel_id=await _channel(event), meant=coming, wanting=coming)
    if not event.discord_confirm_attendance_dm:
        return [post]
    return [post, await _dms("attendance_reminder", event, await recipients.meant_to_confirm(event))]


async def _profile(event: Event) -> list[Reach]:
    # Whom no DM reaches is named in one post; who that will be only Discord can tell.
    return [await _dms("profile_reminder", event, await recipients.meant_to_fill_in(event))]


async def _dms(key: str, event: Event, meant: tuple[int, ...]) -> Reach:
    return Reach(key, is_post=False, meant=meant, wanting=await recipients.who_wants(event, key, meant))


async def _channel(event: Event) -> int | None:
    target = await announcement_target(event)
    return target.channel_id if target is not None else None


_REACHES: Mapping[str, Callable[[Event], Awaitable[list[Reach]]]] = {
    "announcement": _announcement,
    "signup_reminder": _signup,
    "attendance_reminder": _attendance,
    "profile_reminder": _profile,
}
