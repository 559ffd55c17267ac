"""What an admin reads of the demo's guild, as pictures for docs/: an edit before it is made, the forecast, and why."""

import datetime as dt
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Final

from bot.demo import bell_tower
from bot.demo.life import temporary_database
from bot.demo.live import LiveDemo
from models.event import Event
from tests.screenshot.browser import opened

_DOCS: Final = Path(__file__).resolve().parents[2] / "docs"
_TEXT: Final = "(document.body?.innerText ?? '')"
_A_DAY_ON: Final = dt.timedelta(hours=20)


async def take(program: str) -> list[Path]:
    """Take the pictures with the Chromium at ``program``; return where they are."""
    taken = []
    for name, (command, options) in _ASKED.items():
        async with temporary_database():
            demo = LiveDemo(say=lambda _line: None)
            try:
                await demo.begin()
                await demo.life.run_until(demo.life.now() + _A_DAY_ON)
                taken.append(await _picture(program, demo, name, command, await options(demo)))
            finally:
                await demo.end()
    return taken


async def _picture(program: str, demo: LiveDemo, name: str, command: str, options: Mapping[str, object]) -> Path:
    world, place = demo.life.world, demo.life.place
    channel = world.channel_handle(place, place.ops_id)
    await world.member_handle(place, place.admin_id).slash(channel, command, **options)
    await demo.page.show(bell_tower.CHANNELS[1])
    picture = _DOCS / f"{name}.png"
    async with opened(program, demo.page.address, width=1280, height=860) as page:
        await page.until(f"{_TEXT}.includes({_SAYS[name]!r}) && !{_TEXT}.includes('Updating')")
        # The page draws its text a moment after it has it.
        await page.run("new Promise((drawn) => requestAnimationFrame(() => setTimeout(drawn, 500)))")
        picture.write_bytes(await page.picture())
    return picture


async def _an_edit(demo: LiveDemo) -> Mapping[str, object]:
    return {"series": str(demo.life.series_id), "days": "TU,FR", "time": "20:00"}


async def _two_weeks(_demo: LiveDemo) -> Mapping[str, object]:
    return {"days": 14}


async def _one_person(demo: LiveDemo) -> Mapping[str, object]:
    event = await Event.filter(series_id=demo.life.series_id).order_by("scheduled_at", "id").first()
    assert event is not None
    brook = demo.life.place.player_ids[bell_tower.PLAYERS.index("brook")]
    return {"event": str(event.id), "person": demo.life.world.user_handle(brook)}


_ASKED: Final[Mapping[str, tuple[str, Callable[[LiveDemo], Awaitable[Mapping[str, object]]]]]] = {
    "series-edit": ("series edit", _an_edit),
    "forecast": ("reminders forecast", _two_weeks),
    "why": ("reminders why", _one_person),
}
_SAYS: Final = {"series-edit": "Change the series", "forecast": "Friday raid", "why": "Friday raid"}
