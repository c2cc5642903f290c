"""The cost of a command: run it in a fresh process and report outcome, memory and time.

``python tests/hostile/measure.py SECONDS COMMAND...`` prints one line of JSON. It is a small
process of its own because Linux counts the memory of the process that starts a command as the
command's own until it runs.
"""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

UNIT = 1 if sys.platform == "darwin" else 1024
"""Bytes in the unit of ``ru_maxrss``."""


@dataclass(frozen=True, slots=True)
class Cost:
    """How a command ended and what it took.

    ``status`` is its exit status, negative for a signal; ``peak`` MiB of its largest process, its
    children counted; ``cpu`` and ``wall`` are seconds; ``text`` is what it printed on both streams.
    """

    status: int
    peak: float
    cpu: float
    wall: float
    text: str


def measured(*command: str | Path, seconds: float = 120) -> Cost:
    """Run a command, for at most so many seconds (it is then killed: status -9)."""
    launcher = [sys.executable, "-I", "-S", __file__, str(seconds), *map(str, command)]
    ran = subprocess.run(launcher, capture_output=True, text=True, check=True)
    return Cost(**json.loads(ran.stdout))


def _launch(seconds: float, command: list[str]) -> Cost:
    began = time.monotonic()
    child = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        text, _ = child.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        text, _ = child.communicate()
    import resource

    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return Cost(
        status=child.returncode,
        peak=usage.ru_maxrss * UNIT / 2**20,
        cpu=usage.ru_utime + usage.ru_stime,
        wall=time.monotonic() - began,
        text=text.decode("utf-8", "replace"),
    )


if __name__ == "__main__":
    cost = _launch(float(sys.argv[1]), sys.argv[2:])
    sys.stdout.write(json.dumps({name: getattr(cost, name) for name in Cost.__slots__}))
