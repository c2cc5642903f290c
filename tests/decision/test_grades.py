"""New grades are read with the panel's thresholds, and refused where that would be a guess."""

import json
import warnings
from dataclasses import replace
from typing import get_args

import numpy as np
import pandas as pd
import pytest

import judgepanel as jp
from judgepanel.cli import main
from judgepanel.decision.panel_file import export_panel, load_panel, panel_json
from judgepanel.decision.recommend import RECOMMEND, RecommendSpec, as_asked
from judgepanel.decision.recommend_result import Recommendation
from judgepanel.decision.score import score
from judgepanel.kernels.aggregation import Graded
from judgepanel.studies import codec, contract
from judgepanel.studies.runner import run
from judgepanel.votes import MISSING, InputError, load_votes, write_votes
from judgepanel.votes.matrix import turned_around
from tests.helpers import OF_SNIPPET, codes_of, make_votes, panel_from, with_grades

SPEC = RecommendSpec(settings=contract.Settings(splits=2), folds=3, conformal=0.2)
VOTES = with_grades(make_votes(0, 180, 6))
OLD, NEW = VOTES.with_items(np.arange(120)), VOTES.with_items(np.arange(120, 180))


@pytest.fixture(scope="module")
def recommended():
    return run(RECOMMEND, OLD, SPEC, jobs=1)


@pytest.fixture(scope="module", params=["one_coin_graded", "joint_graded"])
def panel(request, recommended):
    model = panel_from(OLD, 6, request.param)
    return load_panel(panel_json(export_panel(replace(recommended, model=model), OLD, SPEC, ())))


def refusal(panel, votes):
    with pytest.raises(InputError) as refused:
        score(panel, votes)
    return str(refused.value)


def test_grades_reach_the_score_through_file_and_table(panel, tmp_path):
    wanted = panel.model.score(codes_of(panel.model, NEW)).tolist()
    assert score(panel, NEW).p.tolist() == wanted
    (tmp_path / "panel.json").write_text(panel_json(panel.content), encoding="utf-8")
    loaded = jp.load_panel(tmp_path / "panel.json")
    # A grade or a vote in every cell, blank where there is none.
    cast = np.where(NEW.votes == MISSING, np.nan, NEW.votes)
    cells = np.where(np.isnan(NEW.thresholds), cast, NEW.grades)
    frame = pd.DataFrame(cells, columns=list(NEW.judges)).assign(item=list(NEW.item_ids))
    with warnings.catch_warnings(record=True) as sentences:
        warnings.simplefilter("always")
        assert loaded.score(frame, item_id="item")["p"].tolist() == wanted
    assert any("grades of the panel cut at 0.5" in str(entry.message) for entry in sentences)


def test_a_grade_counts_by_its_distance_from_the_threshold(panel):
    near, far = (
        replace(NEW, grades=NEW.thresholds + np.sign(NEW.grades - NEW.thresholds) * margin)
        for margin in (0.02, 0.48)
    )
    confident = [np.abs(score(panel, votes).p - 0.5).mean() for votes in (near, far)]
    assert confident[0] < confident[1]


def test_the_file_holds_the_range_and_the_bands_of_the_items_of_the_fit(panel):
    for judge, scale in zip(panel.model.judges, panel.content["grades"], strict=True):
        column = OLD.judges.index(judge)
        if np.isnan(OLD.thresholds[column]):
            assert scale is None
            continue
        assert scale["threshold"] == OLD.thresholds[column] == panel.thresholds[judge]
        assert np.nanmin(OLD.grades) <= scale["lowest"] < scale["highest"]
        assert 1 <= len(scale["edges"]) <= 3


def test_sets_are_made_of_grades_as_scores_are(panel):
    p = panel.model.score(codes_of(panel.model, OLD))
    sides = np.concatenate([p, 1.0 - p])
    for level in panel.content["conformal"]["levels"]:
        assert np.isclose(sides, level["threshold"], atol=1e-12).any()


def test_votes_for_grades_are_refused_and_the_remedy_reads_them_as_grades(panel, tmp_path):
    votes = replace(NEW, grades=None, thresholds=None)
    assert "gave the panel grades gives votes here" in refusal(panel, votes)
    write_votes(votes, tmp_path / "new.csv")
    (tmp_path / "panel.json").write_text(panel_json(panel.content), encoding="utf-8")
    files = [str(tmp_path / name) for name in ("panel.json", "new.csv", "scored.csv")]
    assert main(["score", *files[:2], "--out", files[2]]) == 2
    cuts = [f"--threshold={judge}={cut}" for judge, cut in panel.thresholds.items() if cut == 0.5]
    rest = [f"--ignore={judge}" for judge, cut in panel.thresholds.items() if cut != 0.5]
    assert main(["score", *files[:2], *cuts, *rest, "--out", files[2]]) == 0


def test_a_judge_that_does_not_vote_needs_no_grades(panel):
    column = NEW.judges.index(next(iter(panel.thresholds)))
    grades, votes, thresholds = NEW.grades.copy(), NEW.votes.copy(), NEW.thresholds.copy()
    grades[:, column], votes[:, column], thresholds[column] = np.nan, MISSING, np.nan
    scored = score(panel, replace(NEW, votes=votes, grades=grades, thresholds=thresholds))
    assert any("absent" in warning for warning in scored.warnings)


def test_another_threshold_and_a_minus_one_are_refused(panel):
    probable = next(judge for judge, cut in panel.thresholds.items() if cut == 0.5)
    column = NEW.judges.index(probable)
    shifted = NEW.thresholds.copy()
    shifted[column] += 3.0
    grades = NEW.grades + np.where(np.arange(6) == column, 3.0, 0.0)
    elsewhere = replace(NEW, grades=grades, thresholds=shifted)
    assert "cut at another threshold than the panel's" in refusal(panel, elsewhere)
    row = int(np.flatnonzero(NEW.votes[:, column] == 0)[0])
    grades = NEW.grades.copy()
    grades[row, column] = -1.0
    assert "-1 may be a grade or a missing vote" in refusal(panel, replace(NEW, grades=grades))


def test_grades_in_other_units_are_named(panel):
    assert not any("other units" in warning for warning in score(panel, NEW).warnings)
    percent = np.where(NEW.thresholds == 0.5, 100.0 * np.abs(NEW.grades), NEW.grades)
    votes = np.where((NEW.thresholds == 0.5) & (NEW.votes != MISSING), 1, NEW.votes)
    scored = score(panel, replace(NEW, grades=percent, votes=votes.astype(np.int8)))
    (warning,) = [warning for warning in scored.warnings if "other units" in warning]
    for judge in panel.model.judges:
        assert (f"'{judge}'" in warning) == (panel.thresholds.get(judge) == 0.5)


def test_a_swap_turns_the_score_of_a_panel_of_pairs(panel):
    model = panel_from(OLD, 6, "joint_graded", "none", orientation="symmetric")
    every = np.ones((NEW.n_items, 1), bool)
    votes, grades = turned_around(NEW.votes, every, NEW.grades, NEW.thresholds)
    turned = replace(NEW, votes=votes, grades=grades)
    assert (model.score(codes_of(model, NEW)) + model.score(codes_of(model, turned)) == 1.0).all()


def test_a_panel_of_votes_reads_grades_as_the_votes_cut_from_them():
    votes = replace(OLD, grades=None, thresholds=None)
    spec = replace(SPEC, conformal=0.0)
    content = export_panel(run(RECOMMEND, votes, spec, jobs=1), votes, spec, ())
    panel = load_panel(json.dumps(content))
    assert panel.content["grades"] is None
    plain = score(panel, replace(NEW, grades=None, thresholds=None)).p.tolist()
    assert score(panel, NEW).p.tolist() == plain


def test_grades_that_tell_are_in_the_average_and_lower_its_nll(recommended):
    votes = run(RECOMMEND, replace(OLD, grades=None, thresholds=None), SPEC, jobs=1)
    by_member = [(each.model.aggregator, each.weight) for each in recommended.model.members]
    assert sum(weight for name, weight in by_member if name in get_args(Graded)) > 0.5
    assert float(recommended.nll.value) < float(votes.nll.value)
    plain = {row.aggregator for row in votes.candidates}
    assert {row.aggregator for row in recommended.candidates} == plain | set(get_args(Graded))
    assert not any("grade" in warning for warning in recommended.warnings)


def test_a_recommendation_on_grades_is_exported_and_kept_to_the_bit(recommended):
    content = export_panel(recommended, OLD, SPEC, ())
    panel = load_panel(panel_json(content))
    assert panel_json(panel.content) == panel_json(content)
    p = recommended.model.score(codes_of(recommended.model, NEW))
    assert score(panel, NEW).p.tolist() == p.tolist()
    assert codec.unpack(Recommendation, codec.pack(recommended)).model == recommended.model
    assert recommended.absence is not None


@pytest.mark.parametrize("orientation", ["as_given", "symmetric"])
def test_other_choices_from_a_recommendation_on_grades_score_too(recommended, orientation):
    spec = replace(SPEC, settings=replace(SPEC.settings, orientation=orientation))
    result = run(RECOMMEND, OLD, spec, jobs=1)
    for name in ("all, one_coin_graded, temperature", "all, joint_graded, none"):
        chosen = as_asked(OLD, replace(spec, candidate=name), result)
        assert chosen.chosen.name == name
        p = chosen.model.score(codes_of(chosen.model, NEW))
        assert np.logaddexp(0, -np.log(p / (1 - p)) * (2 * NEW.labels - 1)).mean() < np.log(2)


def test_grades_that_are_all_as_far_from_the_threshold_are_recommended_as_votes():
    votes = make_votes(3, 60, 4)
    grades = np.where(votes.votes < 0, np.nan, 0.2 + 0.6 * votes.votes)
    graded = replace(votes, grades=grades, thresholds=np.full(votes.n_judges, 0.5))
    spec = RecommendSpec(settings=contract.Settings(splits=2), folds=3)
    on_votes, on_grades = (run(RECOMMEND, given, spec, jobs=1) for given in (votes, graded))
    assert codec.to_plain(on_grades) == codec.to_plain(on_votes)


def test_grades_that_moved_towards_the_threshold_are_drift_though_their_votes_did_not(panel):
    many = with_grades(make_votes(7, 400, 6))
    near = replace(many, grades=many.thresholds + (many.grades - many.thresholds) / 4.0)
    before, after = (score(panel, votes).drift for votes in (many, near))
    assert "far" not in {change.measure for change in before.significant}
    moved = {change.judge for change in after.significant if change.measure == "far"}
    assert moved == set(panel.thresholds)
    assert any("votes far from the threshold of" in text for text in score(panel, near).warnings)
    for judge, scale in zip(panel.model.judges, panel.content["grades"], strict=True):
        row = [
            change for change in before.changes if (change.measure, change.judge) == ("far", judge)
        ]
        assert len(row) == (scale is not None)
        if scale:
            assert row[0].before == pytest.approx(scale["far"] / row[0].n_before)
            assert 0.2 < row[0].before < 0.8


@pytest.mark.real_votes
def test_half_of_alpacaeval_scores_the_other_half_to_the_bit_of_the_snippet(real_votes):
    votes = load_votes(real_votes("alpacaeval_probs_votes.csv")).votes
    half = np.random.default_rng(0).permutation(votes.n_items) < votes.n_items // 2
    past, fresh = votes.with_items(half), votes.with_items(~half)
    spec = RecommendSpec(settings=contract.Settings(splits=5))
    content = export_panel(run(RECOMMEND, past, spec, jobs=1), past, spec, ())
    scored = score(load_panel(panel_json(content)), fresh)
    rows = (dict(zip(fresh.judges, row, strict=True)) for row in fresh.grades.tolist())
    assert scored.p.tolist() == [OF_SNIPPET["probability"](content, row) for row in rows]
    p = np.where(fresh.labels == 1, scored.p, 1.0 - scored.p)
    assert -np.log(p).mean() < 0.48
