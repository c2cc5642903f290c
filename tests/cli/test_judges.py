"""`study judges`: table, CSV, JSON, and options that belong to another study."""

import csv
import io
import json

import pytest

from judgepanel.present.registry import STUDIES
from judgepanel.studies.contract import Settings
from judgepanel.studies.runner import run
from judgepanel.studies.understand.judges import JUDGES, JudgesSpec
from judgepanel.votes import load_votes

FEW = ("--splits", "4", "--jobs", "1")


def test_the_answer_and_every_judge_are_printed(cli, clean):
    ran = cli("study", "judges", clean, *FEW)
    assert ran.status == 0
    assert ran.out.startswith("24 judges are worth about ")
    assert sum(line.lstrip().startswith("fam") for line in ran.out.splitlines()) >= 24


def test_csv_has_a_row_a_judge_and_json_everything(cli, clean, tmp_path):
    table, whole = tmp_path / "j.csv", tmp_path / "j.json"
    assert cli("study", "judges", clean, *FEW, "--out", table).status == 0
    assert cli("study", "judges", clean, *FEW, "--out", whole).status == 0
    rows = list(csv.DictReader(io.StringIO(table.read_text())))
    content = json.loads(whole.read_text())
    expected = run(JUDGES, load_votes(clean).votes, JudgesSpec(Settings(splits=4)), jobs=1)
    assert [row["judge"] for row in rows] == expected.frame()["judge"].tolist()
    assert content["study"] == "judges"
    assert content["summary"]["effective"] == expected.effective.value
    assert len(content["table"]) == 24


@pytest.mark.parametrize("name", sorted(set(STUDIES) - {"panel_curve"}))
def test_options_of_another_study_are_refused(cli, clean, name):
    ran = cli("study", name, clean, "--top", "3")
    assert ran.status == 2
    assert f"the study {name} takes no --top (found '3')" in ran.error
