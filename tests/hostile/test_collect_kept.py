"""Collected outputs stay readable and complete, whatever they contain and whatever fails."""

import json
from pathlib import Path

from judgepanel.cli import main
from judgepanel.collect import read_pairs
from judgepanel.votes import load_votes
from tests.hostile.collecting import judge, prepared, votes_in


def test_votes_are_written_whole_or_not_at_all(tmp_path, here, monkeypatch, capsys):
    run = prepared(tmp_path, judge(here.url, "fine"))
    assert main(run) == 0
    before = (tmp_path / "out" / "votes.csv").read_bytes()

    def full(_votes: object, path: Path) -> None:
        path.write_bytes(before[:10])
        raise OSError(28, "No space left on device", str(path))

    monkeypatch.setattr("judgepanel.cli.collecting.write_votes", full)
    assert main(run) == 2
    assert "No space left on device" in capsys.readouterr().err
    assert (tmp_path / "out" / "votes.csv").read_bytes() == before
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        ".lock", "outputs.jsonl", "votes.csv", "judges.csv"
    }  # fmt: skip


def test_one_judge_that_writes_much_does_not_keep_votes_from_being_read(
    tmp_path, here, monkeypatch, capsys
):
    monkeypatch.setattr("judgepanel.votes.limits.MAX_UPLOAD_MB", 0.001)
    assert main(prepared(tmp_path, judge(here.url, "fine"), items=8)) == 0
    assert (tmp_path / "out" / "votes.csv").exists()
    capsys.readouterr()


HOSTILE_IDS = [
    "../../etc/passwd", "/etc/passwd", "=1+1", "''=1+1", "' x", "+x", "\u202egnp", "<b>", "a,b",
    '"', "-1", "a\nb", "label", "\x1b[2J", "NA", "x" * 1_000,
]  # fmt: skip


def test_hostile_ids_name_no_file_and_come_back_as_they_were(tmp_path, here, capsys):
    run = prepared(tmp_path, judge(here.url, "fine", concurrency=1))
    rows = [{"id": name, "prompt": "p", "output_1": "x", "output_2": "y"} for name in HOSTILE_IDS]
    (tmp_path / "pairs.jsonl").write_text("\n".join(map(json.dumps, rows)))
    assert main(run) == 0
    assert main(run) == 0
    assert here.asked("fine") == len(HOSTILE_IDS)
    ids = read_pairs(tmp_path / "pairs.jsonl").ids
    assert votes_in(tmp_path).votes.item_ids == ids
    uploaded = load_votes(tmp_path / "out" / "outputs.jsonl", need_labels=False)
    assert uploaded.votes.item_ids == ids
    assert {path.name for path in tmp_path.rglob("*") if path.is_file()} == {
        "pairs.jsonl", "judges.toml", ".lock", "outputs.jsonl", "votes.csv", "judges.csv"
    }  # fmt: skip
    capsys.readouterr()
