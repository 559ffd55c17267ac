"""What every small proof needs: quiet, since planted faults fill the log and drawing their tracebacks takes long."""

from collections.abc import Iterator

import pytest
import structlog.testing


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    with structlog.testing.capture_logs():
        yield
