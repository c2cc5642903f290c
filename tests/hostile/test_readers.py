"""Hostile files are refused, or read in bounded memory and time, and never end the server."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from judgepanel.votes import InputError, limits, sandbox
from judgepanel.votes.answer import BadAnswer, packed, unpacked
from judgepanel.votes.load import open_table
from judgepanel.votes.reader import VIRTUAL_MIB
from judgepanel.votes.samples import SAMPLES, sample_bytes
from judgepanel.votes.sandbox import Reading, open_sandboxed
from tests.hostile import attacks
from tests.hostile.measure import Cost, measured

ROOT = Path(__file__).parents[2]
MOST_MIB = limits.READER_MIB + VIRTUAL_MIB
"""What the operating system grants a reader; how much of it is touched differs by interpreter."""
MOST_CPU_SECONDS = 40.0
"""Four times what the slowest of them takes where nothing else runs."""

READ = """
import sys
from pathlib import Path
from judgepanel.votes import InputError
from judgepanel.votes.sandbox import open_sandboxed
path = Path(sys.argv[1])
try:
    print("read", open_sandboxed(path.read_bytes(), path.name).frame.shape)
except InputError as error:
    print("refused", error)
"""

OUTCOMES = {
    "long-values.parquet": "read (10000, 16)",
    "longer-values.parquet": "read (10000, 16)",
    "many-rows.parquet": "too many cells; allowed: 120,000,000 cells",
    "zeros.arrow": "too large when unpacked; allowed: at most 500,000,000 bytes",
    "far-cells.xlsx": "too many cells; allowed: 120,000,000 cells",
    "shared-text.xlsx": "reading it takes too much memory; allowed: 1,024 MiB",
    "many-cells.xlsx": "reading it takes too much memory; allowed: 1,024 MiB",
    "empty-lists.zip": "too many values; allowed: at most 3,000,000",
    "empty-lists.jsonl.gz": "too many values; allowed: at most 3,000,000",
    "many-rows.csv.gz": "too large when unpacked; allowed: at most 500,000,000 bytes",
    "many-columns.csv": "row 1: 50,000 columns are too many; allowed: 5,000",
    "newlines.csv": "row 1: the name of a column is too long; allowed: at most 1,000",
    "open-quote.csv": "row 1: a quotation mark is opened and never closed",
    "repeated-keys.jsonl": "row 1, column '0476624': this key is given twice",
    "new-keys.jsonl": "row 5001: 5,001 columns are too many",
    "empty-members.csv.gz": "read (1, 3)",
    "many-members.zip": "holds nothing that is known",
    "nested.jsonl": "row 1: a nested value",
    "long-cell.csv": "column 'judge': the cell has 199,229,440 characters",
    "winwin.jsonl": "column 'text': the cell has 5,242,878 characters",
    "better.jsonl": "column 'text': the cell has 5,242,878 characters",
}


def read_in_a_fresh_process(path: Path, seconds: float = 300) -> Cost:
    return measured(sys.executable, "-P", "-c", READ, path, seconds=seconds)


def test_every_attack_has_its_outcome_here() -> None:
    assert list(OUTCOMES) == list(attacks.ATTACKS)


@pytest.mark.parametrize("name", attacks.ATTACKS)
def test_an_attack_costs_little_and_is_told_what_is_allowed(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(attacks.ATTACKS[name]())
    cost = read_in_a_fresh_process(path)
    assert cost.status == 0, cost
    assert OUTCOMES[name] in cost.text
    assert cost.text.count("\n") == 1
    assert cost.peak < MOST_MIB, cost
    assert cost.cpu < MOST_CPU_SECONDS, cost


@pytest.mark.parametrize(
    ("make", "shape"),
    [(attacks.honest_csv, "(100000, 952)"), (attacks.honest_long_csv, "(8000000, 4)")],
    ids=["wide", "long"],
)
def test_an_honest_file_of_190_mb_is_read_within_the_same_memory(
    tmp_path: Path, make: Callable[[], bytes], shape: str
) -> None:
    path = tmp_path / "votes.csv"
    path.write_bytes(make())
    cost = read_in_a_fresh_process(path, seconds=600)
    assert cost.text == f"read {shape}\n"
    assert cost.peak < MOST_MIB, cost
    assert cost.cpu < 60, cost  # 154 s when every block kept dictionaries of its own.


@pytest.mark.parametrize("name", [sample.name for sample in SAMPLES])
def test_what_is_read_apart_is_what_is_read_here(name: str) -> None:
    data = sample_bytes(name)
    here, there = open_table(data, "votes.csv"), open_sandboxed(data, "votes.csv")
    assert there.frame.equals(here.frame)
    assert [there.row(k) for k in range(3)] == [here.row(k) for k in range(3)]
    assert (there.format, there.header_row, there.notes) == ("csv", here.header_row, here.notes)


def test_outputs_and_what_was_read_of_them_come_back_whole() -> None:
    texts = ["[[A]]", "Output (b) is better.", "I cannot say", "😀 [[B]]"]
    rows = [attacks.outputs_of(text).replace(b'"q1"', b'"q%d"' % k) for k, text in enumerate(texts)]
    data = b"\n\n".join(rows)
    here, there = open_table(data, "o.jsonl"), open_sandboxed(data, "o.jsonl")
    assert there.coverage == here.coverage
    assert there.frame.equals(here.frame)
    assert np.array_equal(there.lines, here.lines)


def test_a_refusal_says_the_same_from_there_as_from_here() -> None:
    for data, name in ((b"item_id,label,j\nq,1,maybe,x\n", "a.csv"), (b'{"a":[1]}\n', "a.jsonl")):
        with pytest.raises(InputError) as here:
            open_table(data, name)
        with pytest.raises(InputError) as there:
            open_sandboxed(data, name)
        assert str(there.value) == str(here.value)


def test_a_file_that_takes_too_much_memory_ends_its_reader_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(limits, "READER_MIB", 250)
    data = attacks.honest_csv(items=50_000, judges=1_900)
    with pytest.raises(InputError, match=r"h\.csv: reading it takes too much memory"):
        open_sandboxed(data, "h.csv")


def test_a_file_that_takes_too_long_ends_its_reader_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "READER_CPU_SECONDS", 2)
    slow = b"".join(
        attacks.outputs_of(f"{k} tie" * 100_000).replace(b'"q1"', b'"q%d"' % k) for k in range(30)
    )
    with pytest.raises(InputError, match=r"s\.jsonl: reading it takes too long; allowed: 2 s"):
        open_sandboxed(slow, "s.jsonl")


def test_a_reader_that_crashes_is_a_refusal() -> None:
    with Reading(attacks.honest_csv(items=20_000), "h.csv") as reading:
        os.kill(reading.pid, signal.SIGSEGV)
        with pytest.raises(InputError, match=r"h\.csv: it cannot be read, a parser failed on it"):
            reading.table()


@pytest.fixture
def nobody_waits() -> Iterator[None]:
    sandbox.kill_readers()
    yield
    sandbox.kill_readers()


@pytest.mark.usefixtures("nobody_waits")
def test_a_process_that_waits_reads_one_file_under_the_limits_of_then(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sandbox.stand_by()
    waiting = sandbox._STANDBY._process
    sandbox.stand_by()
    assert sandbox._STANDBY._process is waiting
    monkeypatch.setattr(limits, "READER_MIB", 250)
    data = attacks.honest_csv(items=50_000, judges=1_900)
    with Reading(data, "h.csv") as reading:
        assert reading.pid == waiting.pid
        with pytest.raises(InputError, match=r"h\.csv: reading it takes too much memory"):
            reading.table()
    monkeypatch.undo()
    with Reading(sample_bytes("one_class"), "v.csv") as reading:
        assert reading.pid != waiting.pid
        assert reading.table().n_rows > 0


@pytest.mark.usefixtures("nobody_waits")
def test_a_process_that_waits_is_taken_only_while_it_lives_and_ends_with_its_server() -> None:
    sandbox.stand_by()
    gone = sandbox._STANDBY._process
    gone.kill()
    gone.wait()
    with Reading(sample_bytes("one_class"), "v.csv") as reading:
        assert reading.table().n_rows > 0
    sandbox.stand_by()
    waiting = sandbox._STANDBY._process
    sandbox.kill_readers()
    assert waiting.returncode == -signal.SIGKILL


@pytest.mark.parametrize(("patience", "status"), [("60", 0), ("0.2", -signal.SIGALRM)])
def test_a_process_that_waits_ends_with_who_started_it_or_when_nothing_comes(
    patience: str, status: int
) -> None:
    command = [sys.executable, "-P", "-m", "judgepanel.votes.reader", patience]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE) as process:
        if status == 0:
            process.communicate()
        assert process.wait() == status


def test_who_stops_waiting_leaves_no_process() -> None:
    with Reading(attacks.honest_csv(items=20_000), "h.csv") as reading:
        assert not reading.wait(0.0)
        os.kill(reading.pid, 0)
    with pytest.raises(ProcessLookupError):
        os.kill(reading.pid, 0)


def test_a_reader_has_no_secrets_and_its_limits_hold_before_it_reads(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("JUDGEPANEL_DATABASE_URL", "postgresql://somebody:secret@db/votes")
    with Reading(attacks.honest_csv(items=50_000), "h.csv") as reading:
        while not (environ := Path(f"/proc/{reading.pid}/environ").read_bytes()):
            continue
        assert b"secret" not in environ
    code = (
        "import resource; from judgepanel.votes.reader import limit; limit(100, 7, 9)\n"
        "print(*(resource.getrlimit(getattr(resource, 'RLIMIT_' + k)) for k in"
        " ('AS', 'CPU', 'FSIZE', 'CORE')))"
    )
    command = [sys.executable, "-P", "-c", code]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    memory = (100 + 256) << 20
    assert ran.stdout.split() == f"({memory}, {memory}) (7, 8) (0, 0) (0, 0)".split()
    assert resource.getrlimit(resource.RLIMIT_AS) != (memory, memory)


def test_an_answer_that_was_tampered_with_is_none() -> None:
    whole = b"".join(packed(open_table(sample_bytes(SAMPLES[0].name), "v.csv")))
    assert unpacked(whole).n_rows > 0
    header = int.from_bytes(whole[16:24], "big")
    codes = 24 + header
    broken = {
        "cut off": whole[:-1],
        "followed by more": whole + b"\0",
        "no header": whole[:20],
        "codes without a text": whole[:codes] + b"\x7f" * 200 + whole[codes + 200 :],
        "negative codes": whole[:codes] + b"\xff" * 200 + whole[codes + 200 :],
        "another format": whole.replace(b'"format": "csv"', b'"format": "exe"'),
        "rows that are not there": whole.replace(b'"rows": ', b'"rows":9', 1),
        "a header that is nested": whole[:16] + (5_000).to_bytes(8, "big") + b"[" * 5_000,
        "a header of another kind": whole[:16] + (2).to_bytes(8, "big") + b"[]",
    }
    accepted = []
    for what, data in broken.items():
        with contextlib.suppress(BadAnswer, InputError):
            unpacked(data)
            accepted.append(what)
    assert accepted == []


def test_an_endless_answer_ends_its_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "MAX_ANSWER", 100)
    with pytest.raises(InputError):
        open_sandboxed(sample_bytes(SAMPLES[0].name), "v.csv")
