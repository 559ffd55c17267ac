"""The browser page of the demo: the announcement channel as Discord would show it."""

import asyncio
import contextlib
import os
import signal
import sys
import webbrowser

from bot.demo.world import Place, World


async def show_page(world: World, place: Place) -> None:
    """Show the announcement channel in the browser until Ctrl-C; print its address first."""
    channel = world.channel_handle(place, place.announcements_id)
    viewer = world.member_handle(place, place.player_ids[0])
    preview = world.env.preview(channel, viewers=[viewer], layout="channel")
    async with preview as page:
        print(f"\nThe announcement channel as a player sees it: {page.url}", flush=True)
        print("Ctrl-C ends the demo; nothing is left behind.", flush=True)
        _open_browser(page.url)
        await _stop_signal()


def _open_browser(url: str) -> None:
    # Without a screen the library would start a text browser in this very terminal.
    if sys.stdout.isatty() and (
        os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY") or sys.platform == "darwin"
    ):
        with contextlib.suppress(webbrowser.Error):
            webbrowser.open(url)


async def _stop_signal() -> None:
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    await stopped.wait()
