"""The studies of methods on the command line: options, refusals, and the page's own command."""

import csv
import json
import shlex

import pytest

from judgepanel.kernels.aggregation import AGGREGATORS
from judgepanel.kernels.calibration import CALIBRATORS
from judgepanel.studies.codec import result_content
from judgepanel.studies.contract import Settings
from judgepanel.studies.paper.calibrator_design import CALIBRATOR_DESIGN, CalibratorDesignSpec
from judgepanel.studies.paper.pipeline_ablation import PIPELINE_ABLATION, PipelineAblationSpec
from judgepanel.studies.runner import run
from judgepanel.studies.understand.method_grid import METHOD_GRID, MethodGridSpec
from judgepanel.votes import load_votes
from judgepanel.words.sentences import study_command

FEW = ("--splits", 2, "--jobs", 1)
QUICK = ("--aggregators", "majority,one_coin", "--calibrators", "none,temperature")
SETTINGS = Settings(splits=2)


def test_a_grid_prints_its_answer_and_every_cell(cli, clean):
    ran = cli("study", "method_grid", clean, *FEW, *QUICK)
    assert ran.status == 0
    assert "has the lowest NLL, 0." in ran.out
    assert "(base rate: 0.69" in ran.out
    cells = [line.strip() for line in ran.out.splitlines()]
    assert sum(line.startswith("majority vote") for line in cells) == 2
    assert sum(line.startswith("one-coin") for line in cells) == 2
    assert "nan" not in ran.out.lower()


def test_a_grid_as_csv_has_one_row_a_cell_lowest_first(cli, clean, tmp_path):
    out = tmp_path / "g.csv"
    assert cli("study", "method_grid", clean, *FEW, *QUICK, "--out", out).status == 0
    with out.open(newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    assert len({(row["aggregator"], row["calibrator"]) for row in rows}) == len(rows) == 4
    levels = [float(row["nll"]) for row in rows]
    assert levels == sorted(levels)
    assert {"null_nll", "skill", "delta_lo", "tied", "chosen_share"} <= set(rows[0])


@pytest.mark.parametrize(
    ("study", "spec"),
    [
        (METHOD_GRID, MethodGridSpec(SETTINGS, ("majority", "one_coin"), ("none", "beta"))),
        (METHOD_GRID, MethodGridSpec(SETTINGS, ("log_odds",), ("isotonic",), "nested")),
        (PIPELINE_ABLATION, PipelineAblationSpec(SETTINGS, calibrator="isotonic", panels=(4,))),
        (PIPELINE_ABLATION, PipelineAblationSpec(SETTINGS, "majority", features=())),
        (CALIBRATOR_DESIGN, CalibratorDesignSpec(SETTINGS, "dawid_skene", panels=())),
        (CALIBRATOR_DESIGN, CalibratorDesignSpec(SETTINGS, calibrators=("none", "auto"))),
    ],
)
def test_the_command_shown_for_a_spec_writes_the_result_of_that_spec(
    cli, clean, tmp_path, monkeypatch, study, spec
):
    votes = load_votes(clean).votes
    monkeypatch.chdir(tmp_path)
    words = shlex.split(study_command(study.name, str(clean), spec, task="pairwise", columns=()))
    assert words[:2] == ["./run", "cli"]
    assert cli(*words[2:], "--jobs", 1).status == 0
    written = json.loads((tmp_path / f"{study.name}.json").read_text("utf-8"))
    expected = result_content(study, votes, spec, run(study, votes, spec, jobs=1))
    assert written == json.loads(json.dumps(expected))


@pytest.mark.parametrize(
    ("study", "option", "known"),
    [
        ("method_grid", "--aggregators", AGGREGATORS),
        ("method_grid", "--calibrators", CALIBRATORS),
        ("method_grid", "--form", ("cross_fitted", "nested")),
        ("calibrator_design", "--aggregator", AGGREGATORS),
        ("calibrator_design", "--calibrators", CALIBRATORS),
        ("pipeline_ablation", "--calibrator", CALIBRATORS),
    ],
)
def test_an_unknown_name_is_refused_and_the_known_ones_are_listed(cli, clean, study, option, known):
    ran = cli("study", study, clean, *FEW, option, "bogus")
    assert ran.status == 2
    assert "bogus" in ran.error
    assert all(name in ran.error for name in known)


@pytest.mark.parametrize("name", ["", ",", " , "])
def test_a_list_of_no_names_is_refused(cli, clean, name):
    ran = cli("study", "method_grid", clean, *FEW, "--calibrators", name)
    assert ran.status == 2
    assert "needs one calibrator or more" in ran.error


def test_an_unknown_feature_is_refused_and_the_known_ones_are_listed(cli, tmp_path):
    path = tmp_path / "v.csv"
    rows = [f"i{i},{i % 2},{i},{i % 2},{(i // 2) % 2}" for i in range(20)]
    path.write_text("item_id,label,feat_length,a,b\n" + "\n".join(rows) + "\n")
    ran = cli("study", "pipeline_ablation", path, *FEW, "--features", "width")
    assert ran.status == 2
    assert "width" in ran.error
    assert "length" in ran.error


@pytest.mark.parametrize(
    ("study", "option", "value"),
    [
        ("method_grid", "--aggregator", "joint"),
        ("method_grid", "--panels", "5"),
        ("method_grid", "--ranking", "accuracy"),
        ("pipeline_ablation", "--form", "nested"),
        ("pipeline_ablation", "--calibrators", "beta"),
        ("calibrator_design", "--features", "a"),
        ("panel_curve", "--form", "nested"),
        ("judges", "--aggregators", "joint"),
        ("recommend", "--panels", "5"),
    ],
)
def test_an_option_of_another_study_is_refused(cli, clean, study, option, value):
    ran = cli("study", study, clean, *FEW, option, value)
    assert ran.status == 2
    assert f"the study {study} takes no {option} (found '{value}')" in ran.error


@pytest.mark.parametrize("panels", ["0", "-3", "x", "5.5"])
def test_a_panel_of_nobody_is_refused(cli, clean, panels):
    ran = cli("study", "calibrator_design", clean, *FEW, f"--panels={panels}")
    assert ran.status == 2
    assert panels in ran.error
