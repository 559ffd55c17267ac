"""
The browser page of the demo: one channel, or one player's direct messages with the bot, as Discord shows them.

It keeps its address for the whole demo, whatever it shows. It is published anew only when a message of what it shows
came, changed or went, and never in the middle of what somebody does on it.
"""

import contextlib
import os
import sys
import webbrowser
from typing import TYPE_CHECKING, Final

from simcord.backend.errors import SetupError
from simcord.preview import _markdown

from bot.demo import bell_tower
from bot.demo.world import Place, World

if TYPE_CHECKING:
    from collections.abc import Sequence

    from simcord.actors import MemberActor
    from simcord.builders import ChannelHandle, UserHandle
    from simcord.preview import Preview

# What the library raises while an action runs on the page, or where the bot has work under way for longer than usual.
_NOT_NOW: Final = (SetupError, TimeoutError)


# Discord shows people by their names in an embed's text and fields too; the library's page leaves the ids there.
for _kind in ("embed_description", "embed_field_value"):
    _markdown._FIELD_POLICIES[_kind]["mentions"] = True  # noqa: SLF001 -- it has no other switch


class Page:
    """One page on a world; nothing is shown before :meth:`show`."""

    def __init__(self, world: World, place: Place) -> None:
        self._world = world
        self._place = place
        self._preview: Preview | None = None
        self._capability: str | None = None
        self._port: int | None = None
        self._channel_id = 0
        self._changed = False
        self.shown = ""
        world.on_change(self._hear)

    @property
    def address(self) -> str:
        """
        Return where a browser finds the page.

        Raises:
            SetupError: nothing is shown.
        """
        if self._preview is None:
            raise SetupError("the page shows nothing")
        return self._preview.url

    def _hear(self, channel_id: int) -> None:
        self._changed = self._changed or channel_id == self._channel_id

    async def show(self, name: str) -> None:
        """Show a channel of the guild, or a player's direct messages, by name; what was shown before is closed."""
        await self.close()
        channel, viewers = self._target(name)
        preview = self._world.env.preview(channel, viewers=viewers, layout="channel", port=self._port)
        if self._capability is not None:
            # The secret in the address stays too: a reload of the page is all that a visitor has to do.
            preview.capability = self._capability
        self._preview = await preview.__aenter__()
        self._capability, self._port = preview.capability, int(preview.url.split(":")[2].split("/")[0])
        self._channel_id, self._changed, self.shown = channel.id, False, name

    async def follow(self) -> None:
        """Publish what changed since the last call; where somebody is just doing something, the next call does."""
        if self._preview is None or not self._changed:
            return
        with contextlib.suppress(*_NOT_NOW):
            await self._preview.refresh()
            self._changed = False

    async def close(self) -> None:
        """Show nothing any more."""
        preview, self._preview = self._preview, None
        if preview is not None:
            await preview.close()

    def _target(self, name: str) -> "tuple[ChannelHandle, Sequence[MemberActor | UserHandle]]":
        place, world = self._place, self._world
        if name in bell_tower.PLAYERS:
            user = world.user_handle(place.player_ids[bell_tower.PLAYERS.index(name)])
            return user.dm_channel, [user]
        is_ops = name == world.names[place.ops_id]
        players = [world.member_handle(place, user_id) for user_id in place.player_ids]
        admin = world.member_handle(place, place.admin_id)
        channel = world.channel_handle(place, place.ops_id if is_ops else place.announcements_id)
        return channel, [admin, *players] if is_ops else [*players, admin]


def open_browser(address: str) -> None:
    """Open a visitor's browser where there is a screen."""
    # Without a screen the library would start a text browser in this very terminal.
    if sys.stdout.isatty() and (
        os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY") or sys.platform == "darwin"
    ):
        with contextlib.suppress(webbrowser.Error):
            webbrowser.open(address)
