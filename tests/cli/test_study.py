"""`study NAME`: what is printed and written, refusals, and the command that a page shows."""

import csv
import json
import shlex

import pytest

from judgepanel.present.paper.pipeline import CALIBRATOR_DESIGN, CalibratorDesignSpec
from judgepanel.present.registry import STUDIES
from judgepanel.studies import codec, contract
from judgepanel.studies.decide.cost import COST, CostSpec
from judgepanel.studies.decide.escalation import ESCALATION, EscalationSpec
from judgepanel.studies.paper.pipeline_ablation import PIPELINE_ABLATION, PipelineAblationSpec
from judgepanel.studies.runner import run
from judgepanel.studies.trust.label_budget import LABEL_BUDGET, LabelBudgetSpec
from judgepanel.studies.understand.judges import JUDGES, JudgesSpec
from judgepanel.studies.understand.method_grid import METHOD_GRID, MethodGridSpec
from judgepanel.votes import load_votes
from judgepanel.words.sentences import study_command

FEW = ("--splits", 2, "--jobs", 1)
SETTINGS = contract.Settings(splits=2)


def test_the_answer_and_every_judge_are_printed(cli, clean):
    ran = cli("study", "judges", clean, *FEW)
    assert ran.status == 0
    assert ran.out.startswith("24 judges are worth about ")
    assert sum(line.lstrip().startswith("fam") for line in ran.out.splitlines()) >= 24


def test_csv_has_a_row_a_judge_and_json_everything(cli, clean, tmp_path):
    table, whole = tmp_path / "j.csv", tmp_path / "j.json"
    assert cli("study", "judges", clean, *FEW, "--out", table).status == 0
    assert cli("study", "judges", clean, *FEW, "--out", whole).status == 0
    with table.open(newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    votes, spec = load_votes(clean).votes, JudgesSpec(SETTINGS)
    expected = run(JUDGES, votes, spec, jobs=1)
    assert [row["judge"] for row in rows] == expected.frame()["judge"].tolist()
    content = codec.result_content(JUDGES, votes, spec, expected)
    assert json.loads(whole.read_text()) == json.loads(json.dumps(content))


@pytest.mark.parametrize(
    ("study", "spec"),
    [
        (METHOD_GRID, MethodGridSpec(SETTINGS, ("majority", "one_coin"), ("none", "beta"))),
        (METHOD_GRID, MethodGridSpec(SETTINGS, ("log_odds",), ("isotonic",), "nested")),
        (PIPELINE_ABLATION, PipelineAblationSpec(SETTINGS, calibrator="isotonic", panels=(4,))),
        (PIPELINE_ABLATION, PipelineAblationSpec(SETTINGS, "majority", features=())),
        (CALIBRATOR_DESIGN, CalibratorDesignSpec(SETTINGS, "dawid_skene", panels=())),
        (LABEL_BUDGET, LabelBudgetSpec(SETTINGS, panels=(3, 10), budgets=(30, 80))),
        (LABEL_BUDGET, LabelBudgetSpec(SETTINGS, "majority", ("none",), within=0.1, target=0.35)),
        (COST, CostSpec(SETTINGS, "one_coin", budget=0.01, points=2)),
        (
            ESCALATION,
            EscalationSpec(SETTINGS, "one_coin", cheap=("fam1-judge01",), thresholds=(0.9,)),
        ),
    ],
)
def test_the_command_shown_for_a_spec_writes_its_result(
    cli, clean, samples, tmp_path, monkeypatch, study, spec
):
    table = samples / "clean_pairwise_judges.csv"
    votes = load_votes(clean, judge_table=table).votes
    monkeypatch.chdir(tmp_path)
    columns = ("--judge-table", str(table))
    command = study_command(study.name, str(clean), spec, task="pairwise", columns=columns)
    words = shlex.split(command)
    assert words[:2] == ["./run", "cli"]
    assert cli(*words[2:], "--jobs", 1).status == 0
    written = json.loads((tmp_path / f"{study.name}.json").read_text("utf-8"))
    expected = codec.result_content(study, votes, spec, run(study, votes, spec, jobs=1))
    assert written == json.loads(json.dumps(expected))


@pytest.mark.parametrize("name", sorted(set(STUDIES) - {"panel_curve"}))
def test_options_of_another_study_are_refused(refused, clean, name):
    line = refused("study", name, clean, "--top", "3")
    assert f"the study {name} takes no --top (found '3')" in line
