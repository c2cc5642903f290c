"""The label budget on the command line: options, refusals, and the page's own command."""

import csv
import json
import shlex

import pytest

from judgepanel.studies.codec import result_content
from judgepanel.studies.contract import Settings
from judgepanel.studies.runner import run
from judgepanel.studies.trust.label_budget import LABEL_BUDGET, LabelBudgetSpec
from judgepanel.votes import load_votes
from judgepanel.words.sentences import study_command

FEW = ("--splits", 2, "--jobs", 1)


def test_the_answer_and_a_row_a_budget_are_printed(cli, clean):
    ran = cli("study", "label_budget", clean, *FEW, "--budgets", "20,60", "--calibrators", "beta")
    assert ran.status == 0
    assert "of what 150 labels give; you have" in ran.out
    assert "Base rate alone: 0.69" in ran.out
    assert "top-5 against all 24:" in ran.out
    assert "nan" not in ran.out.lower()


def test_the_table_has_a_row_a_panel_and_budget(cli, clean, tmp_path):
    out = tmp_path / "b.csv"
    ran = cli("study", "label_budget", clean, *FEW, "--budgets", "20,60", "--out", out)
    assert ran.status == 0
    with out.open(newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == 2 * 2 * 3
    assert {row["labels"] for row in rows} == {"20.0", "60.0", "150.0"}


@pytest.mark.parametrize(
    "spec",
    [
        LabelBudgetSpec(Settings(splits=2), panels=(3, 10), budgets=(30, 80)),
        LabelBudgetSpec(Settings(splits=2), "majority", ("none",), within=0.1, target=0.35),
    ],
)
def test_the_command_shown_for_a_spec_writes_the_result_of_that_spec(
    cli, clean, tmp_path, monkeypatch, spec
):
    votes = load_votes(clean).votes
    monkeypatch.chdir(tmp_path)
    words = shlex.split(
        study_command("label_budget", str(clean), spec, task="pairwise", columns=())
    )
    assert cli(*words[2:], "--jobs", 1).status == 0
    written = json.loads((tmp_path / "label_budget.json").read_text("utf-8"))
    expected = result_content(LABEL_BUDGET, votes, spec, run(LABEL_BUDGET, votes, spec, jobs=1))
    assert written == json.loads(json.dumps(expected))


@pytest.mark.parametrize(
    ("option", "value", "says"),
    [
        ("--budgets", "x", "whole numbers"),
        ("--budgets", "1", "at least 2 labels"),
        ("--panels", "0", "at least one judge"),
        ("--within", "2", "between 0 and 1"),
        ("--target", "-1", "above 0"),
        ("--target", "nan", "above 0"),
        ("--form", "nested", "takes no --form"),
    ],
)
def test_what_makes_no_sense_is_refused_in_one_line(cli, clean, option, value, says):
    ran = cli("study", "label_budget", clean, *FEW, f"{option}={value}")
    assert ran.status == 2
    assert says in ran.error


def test_other_studies_take_no_budgets(cli, clean):
    ran = cli("study", "method_grid", clean, *FEW, "--budgets", "20")
    assert ran.status == 2
    assert "takes no --budgets" in ran.error
