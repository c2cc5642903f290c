"""Collected outputs stay readable and complete, whatever they contain and whatever fails."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from judgepanel.cli import main
from judgepanel.collect import Journal, read_judges, read_pairs, runner
from judgepanel.votes import InputError, load_votes
from tests.hostile.collecting import entries, judge, prepared, votes_in
from tests.hostile.hostile_endpoint import HostileEndpoint

OLD = {"judge": "old", "finish": "stop", "seconds": 1.0, "attempts": 1, "label": "1"}
BEFORE = [
    {"text": "[[A]] \0", "served_by": "m\0", "tokens_in": 100, "tokens_out": 10, "cost": 1e-4},
    {"text": "[[A]] \ud800", "served_by": "m", "tokens_in": 100, "tokens_out": 10, "cost": 1e-4},
    {"text": [{"text": "[[A]]"}], "served_by": "m", "tokens_in": 1, "tokens_out": 1, "cost": 1e-4},
    {"text": "[[A]]", "served_by": "m", "tokens_in": -(10**9), "tokens_out": -1, "cost": -1e3},
    {"text": "[[A]]", "served_by": "m", "tokens_in": 10**300, "tokens_out": 1, "cost": 1e294},
    {"text": "[[A]]", "served_by": "m", "tokens_in": 100, "tokens_out": 10, "cost": 1e-4},
]


def journal_from_before(folder: Path) -> None:
    plan = read_judges(folder / "judges.toml")
    asked = plan.fingerprint(plan.judges[0])
    (folder / "out").mkdir()
    (folder / "out" / "outputs.jsonl").write_text(
        "".join(
            json.dumps(
                {
                    "item_id": f"q{n}",
                    **OLD,
                    **entry,
                    "asked": asked,
                    "order": plan.orders(f"q{n}")[0],
                }
            )
            + "\n"
            for n, entry in enumerate(BEFORE)
        )
    )


def test_a_journal_from_before_with_such_outputs_is_read_again(
    tmp_path: Path, here: HostileEndpoint, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = {"price_in": 1, "price_out": 1, "max_tokens": 1000}
    run = prepared(tmp_path, judge(here.url, "old", **settings), items=len(BEFORE) + 1)
    journal_from_before(tmp_path)
    assert main([*run, "--max-cost", "0.02"]) == 0
    assert here.asked("old") == 1
    loaded = votes_in(tmp_path)
    assert (loaded.votes.votes[:, 0] >= 0).tolist() == [False, False, False, True, True, True, True]
    uploaded = load_votes(tmp_path / "out" / "outputs.jsonl", need_labels=False)
    assert (uploaded.votes.votes == loaded.votes.votes).all()
    assert entries(tmp_path)[3]["text"] == "[[A]]"
    # Two calls whose cost is not known count as the most that they can have been.
    with Journal(tmp_path / "out") as remaining:
        pairs, plan = read_pairs(tmp_path / "pairs.jsonl"), read_judges(tmp_path / "judges.toml")
        _, dollars = runner.finished(remaining, plan, pairs)
    assert 2 * 1000 / 1e6 < dollars < 0.02
    capsys.readouterr()


def test_a_journal_that_cannot_be_mended_for_want_of_room_is_left_as_it_was(
    tmp_path: Path, here: HostileEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepared(tmp_path, judge(here.url, "old"))
    journal_from_before(tmp_path)
    before = (tmp_path / "out" / "outputs.jsonl").read_bytes()

    def full(_handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(runner.os, "fsync", full)
    with pytest.raises(InputError, match="No space left on device"), Journal(tmp_path / "out"):
        pass
    assert (tmp_path / "out" / "outputs.jsonl").read_bytes() == before
    assert not (tmp_path / "out" / ".outputs.new").exists()


def test_votes_are_written_whole_or_not_at_all(
    tmp_path: Path,
    here: HostileEndpoint,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
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
    tmp_path: Path,
    here: HostileEndpoint,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("judgepanel.votes.limits.MAX_UPLOAD_MB", 0.001)
    assert main(prepared(tmp_path, judge(here.url, "fine"), items=8)) == 0
    assert (tmp_path / "out" / "votes.csv").exists()
    capsys.readouterr()


HOSTILE_IDS = [
    "../../etc/passwd", "/etc/passwd", "=1+1", "''=1+1", "' x", "+x", "\u202egnp", "<b>", "a,b",
    '"', "-1", "a\nb", "label", "\x1b[2J", "NA", "x" * 1_000,
]  # fmt: skip


def test_hostile_ids_name_no_file_and_come_back_as_they_were(
    tmp_path: Path, here: HostileEndpoint, capsys: pytest.CaptureFixture[str]
) -> None:
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
