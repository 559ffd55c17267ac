"""
``make screenshot``: press Sign up on the demo's page in a real browser, and keep the picture in docs/.

The demo runs as a visitor starts it. What the picture shows is the announcement that came by itself, the private answer
to the press, and the list that followed it. Beside it: what an admin reads (:mod:`tests.screenshot.admin_answers`).
"""

import asyncio
import re
import sys
from pathlib import Path

from tests.screenshot import admin_answers
from tests.screenshot.browser import Tab, chromium, opened

_PICTURE = Path(__file__).resolve().parents[2] / "docs" / "demo.png"
_PATIENCE_SECONDS = 60
_ADDRESS = re.compile(rb"http://127\.0\.0\.1:\d+/#\S+")
_BUTTON = (
    '[...document.querySelectorAll("button")].find((one) => one.textContent.trim() === "Sign up" && !one.disabled)'
)
_TEXT = "document.body.innerText"


async def _press_sign_up(page: Tab) -> None:
    await page.until(_BUTTON)
    await page.run(f"{_BUTTON}.click()")
    await page.until(f"{_TEXT}.includes('You are signed up')")
    await page.until(f"{_TEXT}.includes('Coming (3)')")


async def _take(program: str) -> None:
    demo = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "bot", "demo", stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    assert demo.stdin is not None
    assert demo.stdout is not None
    try:
        async with asyncio.timeout(_PATIENCE_SECONDS):
            address = await anext(found[0].decode() async for line in demo.stdout if (found := _ADDRESS.search(line)))
        async with opened(program, address, width=1280, height=900) as page:
            await _press_sign_up(page)
            _PICTURE.write_bytes(await page.picture())
    finally:
        demo.stdin.write(b"quit\n")
        demo.stdin.close()
        await demo.wait()


def main() -> None:
    """Take the picture, or say what is missing."""
    program = chromium()
    if program is None:
        sys.exit("There is no Chromium to take the picture with: install it (Debian: apt-get install chromium).")
    asyncio.run(_take(program))
    taken = [_PICTURE, *asyncio.run(admin_answers.take(program))]
    sys.stdout.write(f"The pictures are in {', '.join(map(str, taken))}.\n")


if __name__ == "__main__":
    main()
