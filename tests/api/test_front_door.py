"""The Python interface: from a frame to a curve, a plot, a recommendation and scores."""

import ast
import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest

import judgepanel as jp
from judgepanel.api import studies as running
from judgepanel.studies.contract import Settings
from judgepanel.studies.decide.panel_curve import PANEL_CURVE, PanelCurveSpec
from judgepanel.studies.runner import steps
from judgepanel.votes import write_votes
from tests.helpers import make_votes

QUICK = {"splits": 2, "jobs": 1}


@pytest.fixture(scope="module")
def frame():
    votes = make_votes(4, 80, 6, missing=0.0)
    table = pd.DataFrame(votes.votes, columns=list(votes.judges))
    table.insert(0, "truth", votes.labels)
    table.insert(0, "name", list(votes.item_ids))
    return table


@pytest.fixture(scope="module")
def votes(frame):
    return jp.from_frame(frame, label="truth", item_id="name")


@pytest.fixture(scope="module")
def recommended(votes):
    return jp.recommend(votes, folds=2, **QUICK)


def test_items_to_label_bring_their_texts(frame):
    few = frame.assign(truth=frame["truth"].where(frame.index % 2 == 0))
    estimates = jp.estimate(jp.from_frame(few, label="truth", item_id="name"))
    asked = pd.DataFrame({"answer": "says " + frame["name"]}).set_index(frame["name"])
    drawn = jp.items_to_label(estimates, 5, texts=pd.concat([asked, asked]))
    assert drawn.columns.tolist() == ["id", "answer", "label"]
    assert drawn["answer"].tolist() == ["says " + name for name in drawn["id"]]
    with pytest.raises(jp.InputError, match="make its ids the index"):
        jp.items_to_label(estimates, 5, texts=asked.reset_index(drop=True))


def test_importing_the_package_imports_no_library():
    code = "import sys, judgepanel; print([m for m in sys.modules if m.startswith('judgepanel')])"
    heavy = "print([m for m in ('numpy', 'pandas', 'plotly', 'scipy') if m in sys.modules])"
    ran = subprocess.run(
        [sys.executable, "-c", f"{code}; {heavy}"], capture_output=True, text=True, check=True
    )
    assert ran.stdout.splitlines() == ["['judgepanel']", "[]"]


def test_every_public_name_is_there_and_listed():
    assert set(jp.__all__) <= set(dir(jp))
    assert all(getattr(jp, name) is not None for name in jp.__all__)
    assert jp.models.Joint.__name__ == "Joint"
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        jp.nothing  # noqa: B018


def test_what_type_checkers_see_is_what_is_imported():
    tree = ast.parse(Path(jp.__file__).read_text("utf-8"))
    (guarded,) = (node for node in tree.body if isinstance(node, ast.If))
    named = {alias.asname for line in guarded.body for alias in line.names}
    assert named == set(jp.__all__) - {"ENGINE", "__version__"}


def test_a_frame_holds_the_same_votes_as_a_file_of_it(frame, votes, tmp_path):
    path = tmp_path / "votes.csv"
    frame.to_csv(path, index=False)
    loaded = jp.load(path, label="truth", item_id="name")
    assert loaded.matrix.sha256 == votes.matrix.sha256
    assert loaded.columns == ("--id-column", "name", "--label-column", "truth")
    assert votes.warnings == ()
    assert str(votes).startswith("80 items, 6 judges, all labelled, ")


@pytest.mark.parametrize(
    "cells",
    [
        [1, 0, None, 1], [1.0, 0.0, np.nan, 1.0], [True, False, None, True],
        ["A>B", "B>A", "tie", "A"], pd.array([1, 0, pd.NA, 1], dtype="Int64"),
        pd.Categorical(["1", "0", None, "1"]), ["1", 0, None, True],
    ],
    ids=["object", "float", "bool", "words", "Int64", "category", "several kinds"],
)  # fmt: skip
def test_cells_of_any_kind_are_verdicts(cells):
    frame = pd.DataFrame({"label": [1, 0, 1, 0], "a": cells, "b": [1, 1, 0, 0]})
    with pytest.warns(jp.DataWarning, match="Only 4 items"):
        read = jp.from_frame(frame).matrix
    assert read.votes[:, 0].tolist() == [1, 0, -1, 1]


def test_features_groups_and_a_judge_table_of_a_frame(frame):
    described = frame.assign(length=np.arange(80.0), topic=["chat", "code"] * 40)
    table = pd.DataFrame({"judge": [f"judge{j:03d}" for j in range(6)], "cost": 0.5})
    read = jp.from_frame(
        described, label="truth", item_id="name", features=["length"], groups="topic",
        judge_table=table,
    ).matrix  # fmt: skip
    assert list(read.features) == ["length"]
    assert read.features["length"].tolist() == list(range(80))
    assert set(read.groups) == {"chat", "code"}
    assert read.judge_table["cost"].tolist() == [0.5] * 6


def test_a_long_frame_is_read_as_a_long_file(frame, votes):
    long = frame.melt(["name", "truth"], var_name="judge", value_name="verdict")
    read = jp.from_frame(long, label="truth", item_id="name").matrix
    assert (read.judges, read.item_ids) == (votes.matrix.judges, votes.matrix.item_ids)
    np.testing.assert_array_equal(read.votes, votes.matrix.votes)


def test_odd_votes_are_warned_of_and_kept():
    frame = pd.DataFrame({"label": [1, 0, 1, 0], "a": [1, 0, 1, 1], "mute": None})
    with pytest.warns(jp.DataWarning) as caught:
        read = jp.from_frame(frame)
    assert read.warnings == tuple(str(warning.message) for warning in caught)
    assert any("mute" in sentence for sentence in read.warnings)
    assert "mute" in str(read)


def test_what_votes_hold(votes):
    inspection = jp.inspect(votes)
    assert inspection.summary()["sha256"] == votes.matrix.sha256
    assert len(inspection.frame()) == 6
    assert isinstance(inspection.plot(), go.Figure)
    assert "SHA-256" in str(inspection)
    assert "<table" in inspection._repr_html_()


def test_an_inspection_has_the_agreement_of_the_study(votes):
    inspection = jp.inspect(votes)
    frame = inspection.frame().set_index("judge")
    agreement = jp.study("agreement", votes, **QUICK)
    theirs = agreement.frame().set_index("judge")
    for name in ("kappa", "kappa_lo", "kappa_hi", "ac1", "ac1_lo", "ac1_hi"):
        assert frame.loc[theirs.index, name].tolist() == theirs[name].tolist()
    summary = inspection.summary()
    assert summary["alpha_hi"] == agreement.summary()["alpha_hi"]
    assert summary["judges"][0]["kappa"] == frame["kappa"].iloc[0]
    assert "alpha of the judges is" in inspection._repr_html_()


def test_agreement_of_many_votes_is_counted_on_items_drawn_at_random(votes, monkeypatch):
    monkeypatch.setattr("judgepanel.api.votes.MOST_VOTES", 300)
    inspection = jp.inspect(votes)
    assert inspection.summary()["agreement_items"] == 50
    assert "Kappa, AC1 and alpha are counted on 50 labelled items drawn" in str(inspection)


def test_a_result_shows_and_saves_itself(votes, tmp_path):
    curve = jp.curve(votes, calibrators=["none", "beta"], seed=3, **QUICK)
    frame = curve.frame()
    assert set(frame["calibrator"]) == {"none", "beta"}
    assert curve.columns()["column"].tolist() == list(frame.columns)
    assert isinstance(curve.plot(), go.Figure)
    assert curve.summary()["comparisons"]
    assert "2 splits" in str(curve)
    assert 'class="answer"' in curve._repr_html_()
    assert not curve.partial
    read = pd.read_csv(curve.save(tmp_path / "curve.csv"))
    assert read["nll"].tolist() == frame["nll"].tolist()
    content = json.loads(curve.save(tmp_path / "curve.json").read_text("utf-8"))
    assert content["spec"]["settings"]["seed"] == 3
    with pytest.raises(jp.InputError, match="cannot write this kind of file"):
        curve.save(tmp_path / "curve.txt")


def test_the_command_line_writes_the_same_bytes(votes, tmp_path):
    from judgepanel.cli import main

    write_votes(votes.matrix, tmp_path / "v.csv")
    read = jp.load(tmp_path / "v.csv")
    out = tmp_path / "cli.json"
    words = ["study", "reliability", tmp_path / "v.csv", "--splits", 2, "--jobs", 1, "--out", out]
    assert main([str(word) for word in words]) == 0
    saved = jp.study("reliability", read, **QUICK).save(tmp_path / "door.json")
    assert saved.read_bytes() == out.read_bytes()


def test_a_recommended_panel_is_saved_loaded_and_scores_alike(recommended, frame, tmp_path):
    new = frame.drop(columns="truth").assign(name=[f"new{i}" for i in range(80)])
    path = recommended.save(tmp_path / "panel.json")
    panel = jp.load_panel(path)
    assert panel.judges == recommended.judges
    assert panel.save(tmp_path / "again.json").read_bytes() == path.read_bytes()
    with pytest.warns(jp.DataWarning, match="fitted on"):
        scores = panel.score(new, item_id="name")
    with pytest.warns(jp.DataWarning, match="fitted on"):
        pd.testing.assert_frame_equal(recommended.score(new, item_id="name"), scores)
    assert scores["item_id"].tolist() == new["name"].tolist()
    assert scores["p"].between(0.001, 0.999).all()
    assert panel.frame()["judge"].tolist() == list(panel.judges)
    assert panel.summary()["nll"] == recommended.summary()["nll"]
    assert isinstance(panel.plot(), go.Figure)
    assert "judge" in str(panel)
    assert "<table" in panel._repr_html_()


@pytest.mark.filterwarnings("ignore::judgepanel.DataWarning")
def test_a_panel_scores_what_has_columns_beside_the_votes(recommended, frame, tmp_path):
    new = frame.drop(columns="truth")
    plain = recommended.score(new)
    beside = new.assign(length=range(80), passed=[0, 1] * 40)
    columns = {"features": ["length"], "ignore": ["passed"]}
    pd.testing.assert_frame_equal(recommended.score(beside, **columns), plain)
    beside.to_csv(tmp_path / "new.csv", index=False)
    pd.testing.assert_frame_equal(recommended.score(tmp_path / "new.csv", **columns), plain)
    named = {"judges": list(recommended.judges)}
    pd.testing.assert_frame_equal(recommended.score(beside, **named), plain)
    rated = new.assign(**{judge: 2 * new[judge] + 1 for judge in recommended.judges})
    pd.testing.assert_frame_equal(recommended.score(rated, thresholds=2), plain)


def test_a_recommendation_shows_itself_and_writes_its_report(recommended, tmp_path):
    assert isinstance(recommended.plot(), go.Figure)
    html = recommended._repr_html_()
    assert "plotly" not in html.lower()
    assert all(html.count(warning) <= 1 for warning in recommended.warnings)
    assert "All candidates" in recommended.report(tmp_path / "report.md").read_text("utf-8")


def test_names_in_votes_are_shown_escaped(frame):
    named = frame.rename(columns={"judge000": "<img src=x onerror=alert(1)>"})
    read = jp.from_frame(named, label="truth", item_id="name")
    values = jp.inspect(read)._repr_html_() + jp.study("judges", read, **QUICK)._repr_html_()
    assert "<img" not in values
    assert "&lt;img" in values


def test_an_interrupted_recommendation_makes_no_panel(votes, monkeypatch, tmp_path):
    def stopping(*arguments, **options):
        for progress in steps(*arguments, **options):
            yield progress
            raise KeyboardInterrupt

    monkeypatch.setattr(running, "steps", stopping)
    recommended = jp.recommend(votes, splits=4, folds=2, jobs=1)
    assert recommended.partial
    with pytest.raises(jp.InputError, match="run it again to its end"):
        recommended.save(tmp_path / "panel.json")
    assert not list(tmp_path.iterdir())


def test_an_interrupt_before_anything_is_complete_is_raised(votes, monkeypatch):
    def stopped(*_arguments, **_options):
        raise KeyboardInterrupt
        yield

    monkeypatch.setattr(running, "steps", stopped)
    with pytest.raises(KeyboardInterrupt):
        jp.curve(votes, **QUICK)


def test_columns_are_named_by_an_index_an_array_or_a_single_name():
    frame = pd.DataFrame({"item_id": range(24), "label": [1, 0] * 12, "ann": [1, 0] * 12})
    frame["bob"] = [0, 0, 1, 1] * 6
    frame["bin"] = pd.cut(pd.Series(range(24)), 2)
    frame["month"] = pd.period_range("2026-01", periods=24, freq="M")
    for judges in (frame.columns[[2, 3]], frame.columns[[2, 3]].to_numpy(), ["ann", "bob"]):
        votes = jp.from_frame(frame, judges=judges, features="bin", ignore="month")
        assert votes.matrix.judges == ("ann", "bob")
    with pytest.warns(jp.DataWarning, match="only one judge, 'ann'"):
        alone = jp.from_frame(frame, judges="ann", ignore=["bin", "month", "bob"])
    assert alone.matrix.judges == ("ann",)


def test_an_interrupt_in_the_middle_of_a_part_waits_for_its_end(monkeypatch):
    votes, calls = make_votes(0, 60, 4), []
    spec = PanelCurveSpec(settings=Settings(splits=200))

    def extended(chunk, partial):
        calls.append(chunk)
        if len(calls) == 2:
            os.kill(os.getpid(), signal.SIGINT)
        return PANEL_CURVE.run_chunk(votes, spec, chunk, partial)

    study = replace(PANEL_CURVE, extend=lambda *_: extended)
    ran = running.run_study(study, votes, spec, keep_interrupted=True)
    assert ran.interrupted
    whole = running.run_study(study, votes, spec)
    assert 0 < ran.result.n_splits < whole.result.n_splits
    first = replace(spec, settings=Settings(splits=ran.result.n_splits))
    again = running.run_study(study, votes, first)
    np.testing.assert_array_equal(ran.result.nll.value, again.result.nll.value)
