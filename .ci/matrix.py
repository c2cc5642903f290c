"""The tests whose figures could depend on the machine, on as many of its kinds as this one can be.

Each leg is a process of its own, `./run test ...`. There is one of each kind, and with --all:

- another Python: the oldest or the newest that judgepanel is for, whichever this one is not;
- the oldest versions that requirements.txt allows;
- an OpenBLAS kernel other than the one that is loaded unasked, which every other run is on, with
  two threads; with --all every kernel that this CPU can run, with one thread and with two.

The versions are tried on all tests whose figures or files could depend on them, the kernels where
arrays are multiplied and solved. What OpenBLAS loads is asked of threadpoolctl: a kernel that falls
back to one that had its turn is left out, and so is one that ends in an illegal instruction. What
could not run is named, and is no failure; exit 1 where a leg failed.
"""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
KERNELS = ("", "Haswell", "SkylakeX", "Zen", "Prescott")
THREADS = ("1", "2")
PYTHONS = ((3, 13), (3, 11), (3, 12))
"""In the order in which another than this one is looked for."""
KERNEL_TESTS = ("tests/kernels", "tests/scoring")
"""Where arrays are multiplied and solved, and what is inferred from them."""
NUMERICAL_TESTS = (*KERNEL_TESTS, "tests/models", "tests/properties")
"""Without the oracles: those are held to their newest versions, which need newer libraries."""
STORED_TESTS = ("tests/service", "tests/cli", "tests/studies/test_codec.py", "tests/setup")
STORED_TESTS += ("tests/studies/test_result_file.py",)
"""Where results are written, read back and shown."""
READING_TESTS = ("tests/votes",)
"""Where files are read, by pandas and pyarrow."""
PROBE = """
import numpy, scipy.linalg, threadpoolctl
square = numpy.random.default_rng(0).random((300, 300))
for values in (square, square.astype(numpy.float32)):
    numpy.linalg.solve(values @ values, values[0]), scipy.linalg.eigh(values @ values.T)
loaded = {pool.get("architecture") for pool in threadpoolctl.threadpool_info()} - {None}
print(" + ".join(sorted(loaded)))
"""


@dataclass(frozen=True)
class Leg:
    """One run of pytest: by which Python, with what in the environment."""

    name: str
    tests: tuple[str, ...]
    python: str = sys.executable
    environment: Mapping[str, str] = field(default_factory=dict)
    versions: tuple[str, ...] = ()
    """Which versions, as an option of `./run test`."""

    def run(self, *arguments: str) -> int:
        """The exit code of `./run test` with these arguments."""
        command = [self.python, str(ROOT / "run"), "test", *self.versions, *arguments]
        return subprocess.run(
            command, env=environment(**self.environment), stdin=subprocess.DEVNULL, check=False
        ).returncode


def environment(**changed: str) -> dict[str, str]:
    """The environment without what the legs are about; LLMBar's votes are real enough here."""
    own = ("JUDGEPANEL_REAL_VOTES", "OPENBLAS_CORETYPE", "OPENBLAS_NUM_THREADS")
    return {name: value for name, value in os.environ.items() if name not in own} | changed


def version_of(python: str) -> tuple[int, int] | None:
    """The version of a Python that starts and can make a virtual environment; None else."""
    command = [python, "-c", "import sys, venv; print(*sys.version_info[:2])"]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
        major, minor = answer.stdout.split()
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
    return int(major), int(minor)


def pythons(version: tuple[int, int]) -> Iterator[str]:
    """Where a Python of this version may be: on PATH, of pyenv, known to uv."""
    name = "python{}.{}".format(*version)
    home = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    places = [shutil.which(name), *sorted(map(str, home.glob(f"versions/*/bin/{name}")))]
    yield from filter(None, places)
    if uv := shutil.which("uv"):
        command = [uv, "python", "find", "--no-python-downloads", "{}.{}".format(*version)]
        answer = subprocess.run(command, capture_output=True, text=True, check=False)
        if answer.returncode == 0:
            yield answer.stdout.strip()


def other_python() -> tuple[str, str] | None:
    """Path and version of a Python that is not this one's version; None where there is none."""
    for version in PYTHONS:
        if version != sys.version_info[:2]:
            for path in pythons(version):
                if version_of(path) == version:
                    return path, "{}.{}".format(*version)
    return None


def loaded_kernel(python: Path, coretype: str, threads: str) -> str:
    """What OpenBLAS loads when it is asked for this kernel; empty where that cannot run here."""
    changed = {"OPENBLAS_NUM_THREADS": threads}
    changed |= {"OPENBLAS_CORETYPE": coretype} if coretype else {}
    command, quiet = [python, "-c", PROBE], {"capture_output": True, "text": True}
    try:
        answer = subprocess.run(command, env=environment(**changed), check=True, **quiet)
    except (OSError, subprocess.CalledProcessError):
        return ""
    return answer.stdout.strip()


def one_of(legs: Sequence[Leg | str]) -> list[Leg | str]:
    """The kernel that is least like the one loaded unasked, with the most threads.

    Kernels are listed from new to old, so that is the last; all are named where none can run.
    """
    able = [leg for leg in legs if isinstance(leg, Leg)]
    return able[-1:] or list(legs)


def kernel_legs(python: Path) -> Iterator[Leg | str]:
    """A leg for each kernel and number of threads, or why there is none."""
    before: set[str] = set()
    for coretype in KERNELS:
        asked = f"OPENBLAS_CORETYPE={coretype}" if coretype else "OPENBLAS_CORETYPE unset"
        loaded = loaded_kernel(python, coretype, "1")
        if not loaded:
            yield f"{asked}: this CPU cannot run that kernel"
        elif loaded in before:
            yield f"{asked}: loads {loaded}, which has its turn"
        else:
            before.add(loaded)
            for threads in THREADS:
                changed = {"OPENBLAS_NUM_THREADS": threads}
                changed |= {"OPENBLAS_CORETYPE": coretype} if coretype else {}
                name = f"kernel {loaded} ({asked}), threads {threads}"
                yield Leg(name, KERNEL_TESTS, environment=changed)


def version_legs() -> Iterator[Leg | str]:
    """A leg for another Python and one for the oldest versions, or why there is none."""
    tests = (*NUMERICAL_TESTS, *READING_TESTS, *STORED_TESTS)
    python = other_python()
    if python is None:
        yield f"another Python: none of 3.11 to 3.13 beside this one, {sys.version.split()[0]}"
    else:
        path, version = python
        own = {"JUDGEPANEL_VENV": f".venv-{version}"}
        yield Leg(f"Python {version}", tests, path, own)
    if sys.version_info[:2] <= PYTHONS[0]:
        yield Leg("oldest versions", tests, versions=("--lowest",))
    else:
        yield "oldest versions: they have no wheels for this Python"


def set_up(legs: Sequence[Leg]) -> None:
    """Install what these legs need, all at once: each keeps one core busy. Legs say what failed."""
    with ThreadPoolExecutor(len(legs) or 1) as pool:
        list(pool.map(lambda leg: leg.run("--version"), legs))


def run_leg(leg: Leg) -> str:
    """Run a leg; returns its line of the summary."""
    print(f"--- {leg.name}", flush=True)
    began, before = time.monotonic(), cpu_seconds()
    code = leg.run(*leg.tests, "-q", "-n", "auto", "--maxprocesses", "4", "--dist", "loadfile")
    spent = f"{time.monotonic() - began:.0f} s, {cpu_seconds() - before:.0f} s of CPU"
    return f"{'FAILED' if code else 'ok    '} {leg.name} ({spent})"


def cpu_seconds() -> float:
    """CPU time of all processes that have ended below this one."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main(arguments: Sequence[str] = ()) -> int:
    """Run the legs, whatever the ones before them say; 0 when none failed."""
    if unknown := set(arguments) - {"--all"}:
        print(f"./run matrix takes --all, and not {' '.join(sorted(unknown))}.", file=sys.stderr)
        return 2
    if Leg("this Python", ()).run("--version"):
        return 1
    versions = list(version_legs())
    set_up([leg for leg in versions if isinstance(leg, Leg)])
    own = ROOT / os.environ.get("JUDGEPANEL_VENV", ".venv") / "bin" / "python"
    kernels = list(kernel_legs(own))
    lines = []
    for leg in (*versions, *(kernels if arguments else one_of(kernels))):
        lines.append(run_leg(leg) if isinstance(leg, Leg) else f"not run {leg}")
        print(lines[-1], flush=True)
    print("\n".join(("--- matrix", *lines)), flush=True)
    return int(any(line.startswith("FAILED") for line in lines))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
