"""Files of votes and options that are refused: status 2, one line on stderr, nothing written."""

from unittest.mock import Mock

import pytest

from tests.cli.conftest import GOOD

FEW = ("--splits", "3", "--jobs", "1")

FILES = {
    "vote 0.3": (GOOD + "x,1,0.3,1\n", "row 26, column 'j1' … '0.3' … allowed: 0 or 1"),
    "binary": (bytes(range(256)), "v.csv … binary"),
}
"""A file that is read and one that is not; tests/votes has what else is refused."""


@pytest.mark.parametrize("command", ["inspect", "curve", "recommend"])
@pytest.mark.parametrize("case", FILES)
def test_a_bad_file_is_refused_with_its_place(refused, tmp_path, command, case):
    content, parts = FILES[case]
    path = tmp_path / "v.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    out = () if command == "inspect" else ("--out", tmp_path / "out.json", *FEW)
    line = refused(command, path, *out)
    for part in parts.split(" … "):
        assert part in line


OPTIONS = {
    "unknown study": ("study nothing V", "study … 'nothing' … panel_curve … recommend"),
    "unknown calibrator": ("curve V --calibrators none,magic",
        "unknown calibrator … 'magic' … none, temperature"),
    "one aggregator of several": ("study method_grid V --aggregators=bogus", "bogus … one_coin"),
    "blank calibrators": ("study method_grid V --calibrators=,", "needs one calibrator or more"),
    "half a panel": ("study calibrator_design V --panels=5.5", "5.5"),
    "unknown feature": ("study pipeline_ablation V --features=width", "width"),
    "no budgets": ("study label_budget V --budgets=x", "whole numbers"),
    "no target": ("study label_budget V --target=nan", "above 0"),
    "a price that is not offered": (
        "recommend V --prefer lean --price .04", "0.005, 0.01, 0.02, 0.03, 0.05"),
    "no calibrator": ("curve V --calibrators=", "needs one calibrator or more"),
    "unknown aggregator": ("curve V --aggregator magic", "unknown aggregator … 'magic' … one_coin"),
    "unknown ranking": ("curve V --ranking cost", "unknown ranking … 'cost' … accuracy"),
    "unknown task": ("curve V --task triple", "--task … 'triple' … pointwise"),
    "two thresholds of a judge": ("curve V --threshold j1=2 --threshold 4 --threshold j1=3",
        "--threshold is given twice for the same judges"),
    "two thresholds of all": ("curve V --threshold 2 --threshold 3", "--threshold is given twice"),
    "too many splits": ("curve V --splits 10001", "'10001' … 2..10000"),
    "half a split": ("curve V --splits 1.5", "--splits … '1.5' … a whole number, or auto"),
    "negative seed": ("curve V --seed -1", "seed … '-1'"),
    "all calibrate": ("curve V --fraction 1", "share … '1.0' … between 0 and 1"),
    "no workers": ("curve V --jobs 0", "--jobs … '0' … 1 or more"),
    "panel of nobody": ("curve V --k 0", "at least one judge … '0' … 1 or more"),
    "odd panel sizes": ("curve V --k 1,,2", "--k … '1,,2' … 3,5,10"),
    "top x": ("curve V --top x", "--top … 'x' … 3,5,10"),
    "missing file": ("curve nowhere.csv", "nowhere.csv … no such file"),
    "a folder": ("curve D", "folder: holds no votes"),
    "no such column": ("curve V --label-column best", "column 'best' … item_id, label, j1"),
    "no such judge": ("curve V --judge j9", "'j9' … no such judge"),
    "a judge twice": ("curve V --judge j1 --judge j1", "'j1' … twice"),
    "no judges file": ("curve V --judges nowhere.txt", "nowhere.txt … no such file"),
    "out folder missing": ("curve V --out D/deep/c.json", "folder to write to does not exist"),
    "out is a folder": ("curve V --out D", "is a folder"),
    "out of another kind": ("curve V --out D/c.parquet", "c.parquet … .csv or .json"),
    "panel of another kind": ("recommend V --out D/p.csv", "p.csv … .json"),
    "scores of another kind": ("score P V --out D/s.json", "s.json … .csv"),
    "paper recommends": ("recommend V --protocol paper", "'paper' … allowed: honest"),
    "the study recommend with k": ("study recommend V --k 3", "recommend takes no --k … '3'"),
    "pointwise symmetric": ("curve V --task pointwise --orientation symmetric",
        "symmetric … pointwise … auto, as_given"),
    "unknown option": ("curve V --magic", "--magic"),
    "option with a slip": ("curve V --split 3", "--split (found '3') … perhaps --splits is"),
    "slip without a study": ("inspect V --thresholds 3", "perhaps --threshold is meant"),
    "unknown command": ("dance", "'dance' … inspect"),
    "no command": ("", "COMMAND"),
    "score without out": ("score P V", "--out"),
    "missing panel": ("score nowhere.json V --out D/s.csv", "nowhere.json … no such file"),
    "unknown sample": ("simulate --sample nice --out D/x.csv", "'nice' … clean_pairwise"),
    "sample with options": ("simulate --sample one_class --seed 2 --out D/x.csv", "'seed'"),
    "simulation of no kind": ("simulate --out D/x.xlsx", "x.xlsx … .csv, .csv.gz"),
    "simulated nowhere": ("simulate --out D/deep/x.csv", "folder to write to does not exist"),
}  # fmt: skip


@pytest.mark.parametrize("case", OPTIONS)
def test_a_bad_option_is_refused_with_what_is_allowed(refused, votes, tmp_path, case):
    command, parts = OPTIONS[case]
    folder = tmp_path / "folder"
    folder.mkdir()
    (tmp_path / "panel.json").write_text("{}")
    stands_for = {"V": votes, "D": folder, "P": tmp_path / "panel.json"}
    arguments = []
    for word in command.split():
        head, slash, tail = word.partition("/")
        arguments.append(f"{stands_for[head]}{slash}{tail}" if head in stands_for else word)
    line = refused(*arguments)
    for part in parts.split(" … "):
        assert part in line


@pytest.mark.parametrize(
    ("content", "says"), [(b"\n \n", "names no judge"), (b"\xff\xfe\x00", "is not UTF-8")]
)
def test_a_judges_file_without_names_or_text_is_refused(refused, votes, tmp_path, content, says):
    (tmp_path / "judges.txt").write_bytes(content)
    assert f"judges.txt: {says}" in refused("curve", votes, "--judges", tmp_path / "judges.txt")


def test_what_is_read_is_never_written_over(refused, panel, votes, tmp_path):
    (tmp_path / "link.csv").symlink_to(votes)
    for arguments in (
        ("curve", votes, *FEW, "--out", votes),
        ("curve", votes, *FEW, "--out", tmp_path / "link.csv"),
        ("score", panel, votes, "--out", votes),
        ("score", panel, votes, "--out", tmp_path / "." / "v.csv"),
    ):
        assert "would write over what is read" in refused(*arguments)


def test_a_file_that_cannot_be_written_leaves_nothing_behind(refused, votes, tmp_path, monkeypatch):
    full = OSError(28, "No space left on device", "c.json")
    monkeypatch.setattr("judgepanel.words.outputs.os.replace", Mock(side_effect=full))
    before = sorted(tmp_path.iterdir())
    assert "No space left on device" in refused("curve", votes, *FEW, "--out", tmp_path / "c.json")
    assert sorted(tmp_path.iterdir()) == before


def test_votes_too_large_for_memory_are_one_line(cli, votes, monkeypatch):
    monkeypatch.setattr("judgepanel.cli.reading.load_votes", Mock(side_effect=MemoryError))
    ran = cli("inspect", votes)
    assert (ran.status, ran.error) == (2, "judgepanel: there is not enough memory for this.")


def test_refusals_and_notes_name_options_and_no_page(cli, refused, tmp_path):
    path = tmp_path / "v.csv"
    path.write_text("item_id,j1,j2\na,1,1\nb,0,0\n")
    line = refused("inspect", path)
    assert line.endswith("with --label-column; give labels in another file with --labels.")
    path.write_text(GOOD.replace("j2", "difficulty"))
    notes = cli("inspect", path).err
    assert "'difficulty'. Leave one out with --ignore." in notes
    assert "on Start" not in line + notes
