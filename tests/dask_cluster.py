"""A Dask scheduler and its workers as processes on loopback."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


class DaskCluster:
    """A scheduler at one address, which it keeps when it is started again, and two workers."""

    def __init__(self, folder: Path, **environment: str) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.address = f"tcp://127.0.0.1:{self.port}"
        self.folder = folder
        self.environment = {**os.environ, "PYTHONPATH": str(ROOT), **environment}
        self.scheduler: subprocess.Popen[bytes] | None = None
        self.workers: list[subprocess.Popen[bytes]] = []

    def start(self, workers: int = 2) -> None:
        self.scheduler = self._process("scheduler", "--port", str(self.port))
        for _ in range(workers):
            self.start_worker()

    def start_worker(self) -> None:
        options = ("--nthreads=1", "--no-nanny", f"--local-directory={self.folder}")
        self.workers.append(self._process("worker", self.address, *options))

    def kill_worker(self) -> None:
        worker = self.workers.pop()
        worker.kill()
        worker.wait()

    def stop(self) -> None:
        for process in [*self.workers, *([self.scheduler] if self.scheduler else [])]:
            process.kill()
            process.wait()
        self.workers, self.scheduler = [], None

    def _process(self, kind: str, *arguments: str) -> subprocess.Popen[bytes]:
        shared = ["--host", "127.0.0.1", "--no-dashboard"]
        command = [sys.executable, "-m", f"distributed.cli.dask_{kind}", *arguments, *shared]
        with (self.folder / f"{kind}.log").open("ab") as log:
            return subprocess.Popen(
                command, cwd=self.folder, env=self.environment, stdout=log, stderr=log
            )


@contextmanager
def dask_cluster(folder: Path, workers: int = 2, **environment: str) -> Iterator[DaskCluster]:
    """A cluster that is gone afterwards."""
    cluster = DaskCluster(folder, **environment)
    cluster.start(workers)
    try:
        yield cluster
    finally:
        cluster.stop()
