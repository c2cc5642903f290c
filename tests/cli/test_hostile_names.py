"""Names that attack a terminal, a spreadsheet or a line: shown harmless, stored unchanged."""

import csv
import io
import json

import pytest

from judgepanel.decision.panel_file import load_panel
from judgepanel.votes import load_votes

HOSTILE = (
    "\x1b[31mred\x1b]0;title\x07", "=cmd()", "+1+1", "@sum", "line\nbreak", "car\rriage",
    "\u202egnp.exe", "<script>alert(1)</script>", "n" * 300, "emoji 🦜", "עברית", 'quo"te, comma',
    "--out=x", "'apostrophe",
)  # fmt: skip
FEW = ("--splits", "3", "--jobs", "1")


@pytest.fixture
def hostile(tmp_path):
    """Votes whose judges, items and file have hostile names; the first judge is the best."""
    path = tmp_path / "\x1b[31mvotes\n.csv"
    sink = io.StringIO()
    writer = csv.writer(sink, lineterminator="\n", quoting=csv.QUOTE_ALL)
    names = ["'" + name if name[0] in "=+@-" else name for name in HOSTILE]
    writer.writerow(["item_id", "label", *names])
    for n in range(60):
        label = n % 2
        item = names[n] if n < len(names) else f"item{n}"
        votes = [label if (n * 7 + j * 5) % 11 > j / 2 else 1 - label for j in range(len(HOSTILE))]
        writer.writerow([item, label, *votes])
    path.write_text(sink.getvalue(), encoding="utf-8", newline="")
    return path


def is_harmless(text):
    return all(char.isprintable() or char == "\n" for char in text)


def test_nothing_hostile_reaches_the_terminal(cli, hostile, tmp_path):
    panel = tmp_path / "\x1b[31mpanel.json"
    scored = tmp_path / "\x1b[31mscored.csv"
    for arguments in (
        ("inspect", hostile),
        ("curve", hostile, *FEW),
        ("recommend", hostile, *FEW, "--out", panel),
        ("score", panel, hostile, "--out", scored),
    ):
        ran = cli(*arguments)
        assert ran.status == 0
        assert is_harmless(ran.out + ran.err)


def test_a_judge_is_one_line_of_the_table(cli, hostile):
    table = cli("inspect", hostile).out.splitlines()[-len(HOSTILE) :]
    assert sum("line break" in line for line in table) == 1
    assert max(map(len, table)) < 160


@pytest.mark.parametrize(
    "arguments",
    [
        ("inspect", "\x1b[31mnowhere.csv"), ("inspect", "V", "--label-column", "\x1b[31m"),
        ("curve", "V", "--judge", "\x1b[31m\n"), ("curve", "V", "--calibrators", "\x1b[31m"),
        ("curve", "V", "--\x1b[31m"), ("curve", "V", "--splits", "\x1b[31m"),
        ("curve", "V", "--top", "\x1b[31m"), ("curve", "V", "--out", "\x1b[31m/x\n.json"),
        ("study", "\x1b[31m\n", "V"), ("\x1b[31m",), ("curve", "V", "extra\n\x1b[31m"),
    ],
)  # fmt: skip
def test_a_refusal_shows_hostile_input_harmless_on_one_line(refused, hostile, arguments):
    line = refused(*(hostile if argument == "V" else argument for argument in arguments))
    assert is_harmless(line)
    assert len(line) < 1100


def test_a_missing_column_lists_hostile_ones_harmless(cli, hostile):
    ran = cli("inspect", hostile, "--id-column", "nothing")
    assert "there is no such column" in ran.error
    assert is_harmless(ran.err)


def test_the_panel_keeps_names_and_scored_items_are_no_formulas(cli, hostile, tmp_path):
    panel, scored = tmp_path / "panel.json", tmp_path / "scored.csv"
    cli("recommend", hostile, *FEW, "--out", panel)
    content = json.loads(panel.read_text("utf-8"))
    assert {*content["judges"], *content["left_out"]} == set(load_votes(hostile).votes.judges)
    assert load_panel(panel.read_bytes()).content == content
    cli("score", panel, hostile, "--out", scored)
    with scored.open(newline="", encoding="utf-8") as stream:
        items = [row["item_id"] for row in csv.DictReader(stream)]
    ids = load_votes(hostile).votes.item_ids
    assert len(items) == len(ids)
    for item, name in zip(items, ids, strict=True):
        assert item == (f"'{name}" if name[0] in "=+-@\t\r\n" else name)


def test_every_judge_can_be_named_on_the_command_line(cli, hostile, tmp_path):
    names = load_votes(hostile).votes.judges
    assert set(names) == set(HOSTILE)
    out = tmp_path / "c.json"
    ran = cli("curve", hostile, *FEW, *(f"--judge={name}" for name in names), "--out", out)
    assert ran.status == 0
    assert json.loads(out.read_text("utf-8"))["spec"]["settings"]["judges"] == list(names)
