"""The page of the demo, over HTTP, as a browser would ask for it."""

import re
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

from tests.golden.test_command_line import environment

_PATIENCE_SECONDS = 60


def test_the_demo_shows_its_page_until_it_is_told_to_stop_and_leaves_nothing_behind(tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    with subprocess.Popen(
        [sys.executable, "-m", "bot", "demo"],
        cwd=tmp_path,
        env=environment(TMPDIR=str(scratch)),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        address = next(found[0] for line in process.stdout if (found := re.search(r"http://127\.0\.0\.1:\d+/", line)))
        with urllib.request.urlopen(address, timeout=_PATIENCE_SECONDS) as answer:  # noqa: S310 -- loopback, see above
            status, page = answer.status, answer.read().decode()
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=_PATIENCE_SECONDS)

    assert status == 200
    assert "<html" in page.lower()
    assert process.returncode == 0
    assert "Traceback" not in errors
    assert list(scratch.iterdir()) == []
