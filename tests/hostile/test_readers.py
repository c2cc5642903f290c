"""Hostile files are refused, or read in bounded memory and time, and never end the server."""

import contextlib
import io
import os
import resource
import signal
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from judgepanel.intake import answer, process
from judgepanel.intake.answer import Ask, BadAnswer, answer_to, unpacked
from judgepanel.intake.process import ReaderProcess, read_apart
from judgepanel.intake.reader import VIRTUAL_MIB
from judgepanel.studies.codec import pack
from judgepanel.votes import InputError, limits, load_votes
from judgepanel.votes.simulate import SAMPLES, sample_bytes
from tests.hostile import attacks
from tests.hostile.measure import measured
from tests.hostile.targets import INSPECT, TARGETS, is_read, mutated

ROOT = Path(__file__).parents[2]
SAMPLE = sample_bytes("clean_pairwise")
MOST_MIB = limits.READER_MIB + VIRTUAL_MIB
"""What the operating system grants a reader; how much of it is touched differs by interpreter."""
MOST_CPU_SECONDS = 40.0
"""Four times what the slowest of them takes where nothing else runs."""

READ = """
import sys
from pathlib import Path
from judgepanel.intake.answer import Ask
from judgepanel.intake.process import read_apart
path = Path(sys.argv[1])
data = path.read_bytes()
answer = read_apart(Ask(path.name, len(data)), data)
if answer.refusal is None:
    print("read", answer.loaded.votes.votes.shape)
else:
    print("refused", answer.refusal.error())
"""

OUTCOMES = {
    "long-values.parquet": "column 'feat_0': the cell has 9,000 characters",
    "longer-values.parquet": "column 'feat_0': the cell has 100,000 characters",
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
    "empty-members.csv.gz": "only one item has the label 1",
    "many-members.zip": "holds no votes",
    "nested.jsonl": "row 1: JSON is nested too deeply",
    "long-cell.csv": "column 'judge': the cell has 199,229,440 characters",
    "winwin.jsonl": "column 'text': the cell has 5,242,878 characters",
    "better.jsonl": "column 'text': the cell has 5,242,878 characters",
}


REFUSED_AFTER_READING = {
    "long features": "column 'feat_text': the cell has 100,000 characters",
    "long groups": "column 'group': the cell has 100,000 characters",
    "long names": "column 'judge': the cell has 500,002 characters",
    "one vote a judge": "9,000 judges are too many; allowed: at most 5,000",
    "a judge table": "column 'note 0': the cell has 100,000 characters",
}


def read_in_a_fresh_process(path, seconds=300):
    return measured(sys.executable, "-P", "-c", READ, path, seconds=seconds)


def test_every_attack_has_its_outcome_here():
    assert list(OUTCOMES) == list(attacks.ATTACKS)


@pytest.mark.parametrize("name", attacks.ATTACKS)
def test_an_attack_costs_little_and_is_told_what_is_allowed(name, tmp_path):
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
    [(attacks.honest_csv, "(100000, 950)"), (attacks.honest_long_csv, "(20000, 400)")],
    ids=["wide", "long"],
)
def test_an_honest_file_of_190_mb_is_read_within_the_same_memory(tmp_path, make, shape):
    path = tmp_path / "votes.csv"
    path.write_bytes(make())
    cost = read_in_a_fresh_process(path, seconds=600)
    assert cost.text == f"read {shape}\n"
    assert cost.peak < MOST_MIB, cost
    assert cost.cpu < 60, cost  # 154 s when every block kept dictionaries of its own.


def asked(data, name):
    return Ask(name, len(data))


def apart(data, name):
    return read_apart(asked(data, name), data)


@pytest.mark.parametrize("name", [sample.name for sample in SAMPLES])
def test_what_is_read_apart_is_what_is_read_here(name):
    data = sample_bytes(name)
    here, there = answer_to(asked(data, "votes.csv"), [data]), apart(data, "votes.csv")
    assert (there.loaded.votes, there.preview) == (here.loaded.votes, here.preview)
    assert (there.checks, there.roles_file) == (here.checks, here.roles_file)


def test_outputs_and_what_was_read_of_them_come_back_whole():
    texts = ["[[A]]", "Output (b) is better.", "I cannot say", "😀 [[B]]"]
    rows = [attacks.outputs_of(text).replace(b'"q1"', b'"q%d"' % k) for k, text in enumerate(texts)]
    data = b"\n\n".join(rows)
    ask = Ask("o.jsonl", len(data), need_labels=False)
    here, there = answer_to(ask, [data]), read_apart(ask, data)
    assert (there.loaded.coverage, there.loaded.votes) == (here.loaded.coverage, here.loaded.votes)


def test_a_refusal_says_the_same_from_there_as_from_here():
    for data, name in ((b"item_id,label,j\nq,1,maybe,x\n", "a.csv"), (b'{"a":[1]}\n', "a.jsonl")):
        here = answer_to(asked(data, name), [data])
        assert here.refusal is not None
        assert apart(data, name).refusal == here.refusal


def test_a_file_that_takes_too_much_memory_ends_its_reader_only(monkeypatch):
    monkeypatch.setattr(limits, "READER_MIB", 250)
    data = attacks.honest_csv(items=50_000, judges=1_900)
    with pytest.raises(InputError, match=r"h\.csv: reading it takes too much memory"):
        apart(data, "h.csv").read()


def test_a_file_that_takes_too_long_ends_its_reader_only(monkeypatch):
    monkeypatch.setattr(limits, "READER_CPU_SECONDS", 2)
    slow = b"".join(
        attacks.outputs_of(f"{k} tie" * 100_000).replace(b'"q1"', b'"q%d"' % k) for k in range(30)
    )
    with pytest.raises(InputError, match=r"s\.jsonl: reading it takes too long; allowed: 2 s"):
        apart(slow, "s.jsonl").read()


def test_a_reader_that_crashes_is_a_refusal():
    data = attacks.honest_csv(items=20_000)
    with ReaderProcess(asked(data, "h.csv"), data) as reader:
        os.kill(reader.pid, signal.SIGSEGV)
        with pytest.raises(InputError, match=r"h\.csv: it cannot be read, a parser failed on it"):
            reader.answer().read()


@pytest.fixture
def nobody_waits():
    process.kill_readers()
    yield
    process.kill_readers()


@pytest.mark.usefixtures("nobody_waits")
def test_a_process_that_waits_reads_one_file_under_the_limits_of_then(monkeypatch):
    process.stand_by()
    waiting = process._STANDBY._process
    process.stand_by()
    assert process._STANDBY._process is waiting
    monkeypatch.setattr(limits, "READER_MIB", 250)
    data = attacks.honest_csv(items=50_000, judges=1_900)
    with ReaderProcess(asked(data, "h.csv"), data) as reading:
        assert reading.pid == waiting.pid
        with pytest.raises(InputError, match=r"h\.csv: reading it takes too much memory"):
            reading.answer().read()
    monkeypatch.undo()
    with ReaderProcess(asked(SAMPLE, "v.csv"), SAMPLE) as reading:
        assert reading.pid != waiting.pid
        assert reading.answer().loaded is not None


@pytest.mark.usefixtures("nobody_waits")
def test_a_process_that_waits_is_taken_only_while_it_lives_and_ends_with_its_server():
    process.stand_by()
    gone = process._STANDBY._process
    gone.kill()
    gone.wait()
    with ReaderProcess(asked(SAMPLE, "v.csv"), SAMPLE) as reading:
        assert reading.answer().loaded is not None
    process.stand_by()
    waiting = process._STANDBY._process
    process.kill_readers()
    assert waiting.returncode == -signal.SIGKILL


@pytest.mark.parametrize(("patience", "status"), [("60", 0), ("0.2", -signal.SIGALRM)])
def test_a_process_that_waits_ends_with_who_started_it_or_when_nothing_comes(patience, status):
    command = [sys.executable, "-P", "-m", "judgepanel.intake.reader", patience]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE) as process:
        if status == 0:
            process.communicate()
        assert process.wait() == status


def test_who_stops_waiting_leaves_no_process():
    data = attacks.honest_csv(items=20_000)
    with ReaderProcess(asked(data, "h.csv"), data) as reading:
        assert not reading.wait(0.0)
        os.kill(reading.pid, 0)
    with pytest.raises(ProcessLookupError):
        os.kill(reading.pid, 0)


def test_a_reader_has_no_secrets_and_its_limits_hold_before_it_reads(monkeypatch):
    monkeypatch.setenv("JUDGEPANEL_DATABASE_URL", "postgresql://somebody:secret@db/votes")
    data = attacks.honest_csv(items=50_000)
    with ReaderProcess(asked(data, "h.csv"), data) as reading:
        while not (environ := Path(f"/proc/{reading.pid}/environ").read_bytes()):
            continue
        assert b"secret" not in environ
    code = (
        "import resource; from judgepanel.intake.reader import limit; limit(100, 7, 9)\n"
        "print(*(resource.getrlimit(getattr(resource, 'RLIMIT_' + k)) for k in"
        " ('AS', 'CPU', 'FSIZE', 'CORE')))"
    )
    command = [sys.executable, "-P", "-c", code]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    memory = (100 + 256) << 20
    assert ran.stdout.split() == f"({memory}, {memory}) (7, 8) (0, 0) (0, 0)".split()
    assert resource.getrlimit(resource.RLIMIT_AS) != (memory, memory)


def test_an_answer_that_was_tampered_with_is_none(monkeypatch):
    whole = pack(answer_to(asked(SAMPLE, "v.csv"), [SAMPLE]))
    assert unpacked(whole).loaded is not None
    broken = {
        "cut off": whole[:-30], "no archive": whole[:20],
        "another array": whole[:2_000] + b"\xff" * 50 + whole[2_050:], "nothing": b"",
        "another kind": pack(asked(SAMPLE, "v.csv")),
    }  # fmt: skip
    accepted = []
    for what, data in broken.items():
        with contextlib.suppress(BadAnswer, InputError):
            unpacked(data)
            accepted.append(what)
    assert accepted == []
    monkeypatch.setattr(answer, "MAX_ANSWER", 1_000)
    with pytest.raises(BadAnswer, match="too large"):
        unpacked(whole)


def test_an_endless_answer_ends_its_reader(monkeypatch):
    monkeypatch.setattr(process, "MAX_ANSWER", 100)
    with pytest.raises(InputError):
        apart(SAMPLE, "v.csv").read()


@pytest.mark.parametrize("attack", REFUSED_AFTER_READING)
def test_what_would_cost_much_once_it_is_read_is_refused(attack):
    votes, judges = attacks.AFTER_READING[attack]
    with pytest.raises(InputError, match=REFUSED_AFTER_READING[attack]):
        load_votes(votes(), name="v.parquet", judge_table=judges and judges())


def test_long_texts_that_are_no_judges_are_not_kept():
    votes, _ = attacks.AFTER_READING["long notes"]
    assert load_votes(votes(), name="v.parquet").votes.features is None


EXAMPLES = 30


@pytest.mark.parametrize("name", TARGETS)
def test_a_reader_reads_or_refuses_whatever_comes(name):
    target = TARGETS[name]

    @settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))
    @given(mutated(target.seeds))
    def fuzz(data):
        is_read(target, data)

    fuzz()


@pytest.mark.parametrize(
    "method",
    [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA],
    ids=["stored", "deflate", "bzip2", "lzma"],
)
def test_an_archive_with_any_byte_of_its_member_changed_is_read_or_refused(method):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        archive.writestr("log.json", INSPECT)
        end = archive.start_dir
    whole = out.getvalue()
    for at in range(end):
        for byte in (0, whole[at] ^ 4, 255):
            is_read(TARGETS["zip"], whole[:at] + bytes([byte]) + whole[at + 1 :])
