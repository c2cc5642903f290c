"""A job in its own process, so that nothing that ran before warms it up or counts in its memory."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from dataclasses import asdict, is_dataclass
from typing import Any

from joblib.externals.loky import get_reusable_executor

MIB, GIB = 2**20, 2**30


def measured(module: str, *arguments: str) -> Any:
    """Run `python -m MODULE ...` and return the JSON that it prints."""
    command = [sys.executable, "-m", module, *arguments]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode:
        raise RuntimeError(result.stderr)
    return json.loads(result.stdout)


def job_text(job: Any) -> str:
    """A frozen job as one command-line argument."""
    return json.dumps(asdict(job))


def answer(result: Any) -> None:
    """Print a job's answer, for :func:`measured`."""
    print(json.dumps(asdict(result) if is_dataclass(result) else result))  # type: ignore[arg-type]
    # Idle worker processes would keep the output open and block the caller.
    get_reusable_executor().shutdown(wait=True)


def peak_bytes() -> int:
    """Peak memory of this process."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
