"""How the tests start the bot as a process."""

import signal
from pathlib import Path

from tests.wire.bot_process import bot_process, until
from tests.wire.discord_stub import running_stub

_SAYS_AND_WAITS = ("-c", "import sys, time; print('here', file=sys.stderr, flush=True); time.sleep(600)")


async def test_it_hears_an_interrupt_although_whoever_runs_the_tests_ignores_them(tmp_path: Path) -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        async with running_stub() as stub, bot_process(tmp_path, stub, "", arguments=_SAYS_AND_WAITS) as process:
            await until(lambda: "here" in process.said())

            process.tell(signal.SIGINT)
            await process.ended()
    finally:
        signal.signal(signal.SIGINT, before)

    assert process.code == -signal.SIGINT
