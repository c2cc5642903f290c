"""Whole published folders: every file is read, or left out with its reason.

They are not part of the repository; these tests are collected only where ``JUDGEPANEL_REAL_VOTES``
names the folder that contains them.
"""

import csv
import os
import tarfile
from pathlib import Path

import numpy as np

from judgepanel.cli import main
from judgepanel.votes import load_votes
from judgepanel.votes.imports import read_kind, source_of
from judgepanel.votes.outputs import read_verdict
from judgepanel.votes.table import read_scores, vote_of

FOLDER = os.environ.get("JUDGEPANEL_REAL_VOTES")


def unpacked(name: str, to: Path) -> Path:
    safely = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}  # From Python 3.11.4 on.
    with tarfile.open(Path(str(FOLDER)) / name) as archive:
        archive.extractall(to, **safely)  # noqa: S202 - our own archive
    return to


if FOLDER is not None:

    def test_the_published_llmbar_folder_is_read_whole(tmp_path, capsys):
        data = unpacked("llmbar_manual_download.tar.gz", tmp_path / "data")
        out = tmp_path / "outputs.jsonl"
        assert main(["import", "llmbar", str(data), "--out", str(out)]) == 0
        printed = capsys.readouterr().out
        assert "Left out, files that are something else: 67 (" in printed
        assert printed.count("Left out") == 1
        assert "Not read" not in printed
        votes = load_votes(out).votes
        assert (votes.n_items, votes.n_judges) == (46, 65)
        assert (votes.labels >= 0).all()

    def test_the_verdicts_of_the_published_llmbar_folder_are_those_of_the_benchmark(tmp_path):
        rows = read_kind(
            source_of(unpacked("llmbar_manual_download.tar.gz", tmp_path)), "llmbar"
        ).rows
        with (Path(str(FOLDER)) / "llmbar_votes.csv").open(newline="") as file:
            published = {row["item_id"]: row for row in csv.DictReader(file)}
        last = {
            (row["item_id"], row["judge"]): row
            for row in sorted(rows, key=lambda row: row["stage"])
            if row["order"] == "AB"
        }
        assert len(last) == 46 * 65
        ours, theirs = [], []
        for (item, judge), row in last.items():
            assert row["label"] == int(published[item]["label"])
            reading = (
                read_verdict(row["text"])
                if "text" in row
                else read_scores(float(row["score_a"]), float(row["score_b"]))
            )
            ours.append(vote_of(reading.side, True))
            theirs.append(int(published[item][judge] or -1))
        differ = np.array(ours) != np.array(theirs)
        assert differ.mean() < 0.01
        # The benchmark's parser takes the first 'Output (a)', also where that is criticised.
        assert set(np.array(theirs)[differ]) == {1}

    def test_every_published_log_of_inspect_is_read_or_left_out_with_its_reason(tmp_path):
        data = unpacked("inspect_logs.tar.gz", tmp_path / "logs")
        paths = sorted(path for path in data.rglob("*") if path.is_file())
        assert len(paths) == 21
        together = read_kind(source_of(data), "inspect")
        left_out = together.left_out
        assert {reason: len(files) for reason, files in left_out.files.items()} == {
            "files that are something else": 1,
            "logs without samples": 1,
            "logs without scores": 2,
            "logs of runs that were made again, or copied": 7,
            "logs of runs that were cut short, beside a complete one": 1,
        }
        assert left_out.unreadable == []
        assert len(list(together.rows)) == 23
        missing = {name for files in left_out.files.values() for name in files}
        assert len(paths) - len(missing) == 9
