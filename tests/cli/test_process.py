"""The command line as its own process: signals, terminals, pipes, encodings."""

import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MODULE = (sys.executable, "-m", "judgepanel")


def environment(**more):
    return {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "error", **more}


def call(*arguments, **options):
    options = {"env": environment(), "capture_output": True, **options}
    return subprocess.run([*MODULE, *map(str, arguments)], check=False, **options)


def test_the_module_runs_a_curve(clean, tmp_path):
    ran = call("curve", clean, "--splits", 3, "--out", tmp_path / "c.csv")
    assert (ran.returncode, ran.stderr) == (0, b"")
    assert b"; 3 splits; " in ran.stdout
    assert (tmp_path / "c.csv").read_text().startswith("k,aggregator,calibrator,nll,")


def test_the_module_refuses_with_status_2_and_one_line(tmp_path):
    ran = call("inspect", tmp_path / "nowhere.csv")
    sentence = b"judgepanel: nowhere.csv: there is no such file; check its name and folder.\n"
    assert (ran.returncode, ran.stdout, ran.stderr) == (2, b"", sentence)


def _interruptible():
    """Shells start background work deaf to Ctrl-C; a child would inherit that."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


class OnTerminal:
    """A command whose stderr is a terminal."""

    def __init__(self, *arguments, **environ):
        self.ours, theirs = pty.openpty()
        self.process = subprocess.Popen(
            [*MODULE, *map(str, arguments)],
            stdout=subprocess.PIPE,
            stderr=theirs,
            env=environment(**environ),
            preexec_fn=_interruptible,  # noqa: PLW1509 - no other thread runs yet
            start_new_session=True,
        )
        os.close(theirs)
        self.seen = b""

    def read(self):
        try:
            piece = os.read(self.ours, 4096)
        except OSError:  # Linux tells the end of a terminal this way.
            piece = b""
        self.seen += piece
        return piece

    def read_until(self, text):
        while text not in self.seen:
            assert self.read(), self.seen

    def end(self):
        out = self.process.stdout.read()
        while self.read():
            pass
        self.process.stdout.close()
        os.close(self.ours)
        return self.process.wait(), out


def test_a_terminal_sees_progress_and_keeps_none_of_it(clean):
    running = OnTerminal("curve", clean, "--splits", 10, "--jobs", 1)
    status, _ = running.end()
    assert status == 0
    assert b"1/2 parts, about " in running.seen
    assert b"2/2 parts" in running.seen
    last = running.seen.split(b"2/2 parts")[-1]
    widest = max(len(line) for line in running.seen.split(b"\r"))
    assert last.endswith(b"\r" + b" " * widest + b"\r")


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("interrupt", [os.kill, os.killpg])
def test_ctrl_c_ends_with_130_and_writes_nothing(clean, tmp_path, jobs, interrupt):
    out = tmp_path / "c.json"
    options = ("--splits", 10_000, "--jobs", jobs, "--out", out)
    # An interrupted import leaves its file to the garbage collector, which warns of it; users do
    # not see that warning.
    running = OnTerminal("curve", clean, *options, PYTHONWARNINGS="ignore::ResourceWarning")
    running.read_until(b"/2000 parts")
    interrupt(running.process.pid, signal.SIGINT)
    status, printed = running.end()
    assert status == 130
    assert printed == b""
    assert b"Traceback" not in running.seen
    assert running.seen.endswith(b"judgepanel: interrupted.\r\n")
    assert [path.name for path in tmp_path.iterdir()] == ["samples"]


def test_a_reader_that_leaves_is_no_error(clean):
    shell = f"'{sys.executable}' -m judgepanel inspect '{clean}' | head -n 1"
    ran = subprocess.run(
        ["bash", "-o", "pipefail", "-c", shell], capture_output=True, env=environment(), check=False
    )
    assert (ran.returncode, ran.stderr) == (0, b"")
    assert ran.stdout.startswith(b"I read 300 items and 24 judges")


def test_results_can_be_piped(clean):
    ran = call("curve", clean, "--splits", 2, "--out", "/dev/stderr")
    assert ran.returncode == 0
    assert ran.stderr.startswith(b'{\n "study": "panel_curve"')


def test_a_device_is_written_to_and_not_replaced(clean):
    assert call("curve", clean, "--splits", 2, "--out", os.devnull).returncode == 0
    assert not Path(os.devnull).is_file()


def test_a_terminal_without_the_characters_gets_their_codes(tmp_path):
    path = tmp_path / "v.csv"
    path.write_text(
        "item_id,label,žižek,猫\na,1,1,0\nb,0,0,0\nc,1,1,1\nd,0,0,1\n", encoding="utf-8"
    )
    ran = call("inspect", path, env=environment(PYTHONIOENCODING="ascii"))
    assert ran.returncode == 0
    assert b"\\u732b" in ran.stdout
    assert b"Traceback" not in ran.stderr
