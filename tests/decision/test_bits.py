"""Library, exported file, command line and plain Python agree to the last bit."""

import csv
import json
import math
from dataclasses import replace
from typing import get_args

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from judgepanel.cli import main
from judgepanel.decision.panel_file import export_panel, load_panel, panel_json
from judgepanel.decision.recommend import RECOMMEND, RecommendSpec
from judgepanel.decision.score import score
from judgepanel.kernels.aggregation import KERNELS, Graded
from judgepanel.kernels.ballots import fraction_logits, probabilities, weighted_logits
from judgepanel.kernels.calibration import CALIBRATORS
from judgepanel.kernels.prefixes import CLOSED_FORMS
from judgepanel.models.panel import Fallback, fit_panel, mixture_of
from judgepanel.studies.contract import Settings, prepare
from judgepanel.studies.runner import run
from judgepanel.votes import write_votes
from judgepanel.votes.matrix import constant_judges
from tests.helpers import codes_of, flip_items, make_votes, snippet_scores, with_grades

PIPELINES = [
    *((aggregator, name) for aggregator in CLOSED_FORMS for name in CALIBRATORS),
    *((aggregator, "temperature") for aggregator in KERNELS),
    ("joint", "beta"),
    *((aggregator, "temperature") for aggregator in get_args(Graded)),
    ("joint_graded", "none"),
]

WEIGHTS = st.floats(-3, 3).filter(lambda weight: abs(weight) > 1e-6)

SPEC = RecommendSpec(settings=Settings(splits=2))
TRAINING = make_votes(0, 60, 7)
GRADED = with_grades(TRAINING)


@pytest.fixture(scope="module")
def result():
    return run(RECOMMEND, TRAINING, SPEC, jobs=1)


@st.composite
def fitted(draw):
    """A panel of any kind, fitted to made-up votes, and whether it is symmetric."""
    policy = draw(st.sampled_from(("as_given", "randomized", "symmetric")))
    votes = make_votes(
        draw(st.integers(0, 99)),
        draw(st.integers(8, 60)),
        draw(st.integers(1, 7)),
        missing=draw(st.sampled_from((0.0, 0.3))),
        low=draw(st.sampled_from((0.3, 0.55, 0.97))),
        high=0.99,
        base_rate=draw(st.sampled_from((0.3, 0.5))),
    )
    votes = replace(votes, labels=np.r_[[0, 1], votes.labels[2:]].astype(np.int8))
    if draw(st.booleans()):
        votes = with_grades(votes, draw(st.integers(0, 9)))
    assume(policy == "as_given" or not constant_judges(votes).all())
    prepared = prepare(votes, Settings(orientation=policy, judges=votes.judges))
    raw = draw(st.lists(st.floats(0.05, 1.0), min_size=1, max_size=3))
    models = []
    for _ in raw:
        k = draw(st.integers(1, prepared.ballots.n_judges))
        aggregator, calibrator = draw(st.sampled_from(PIPELINES))
        of_pipeline = {"aggregator": aggregator, "calibrator": calibrator}
        models.append(fit_panel(prepared.ballots, prepared.judges, k, **of_pipeline))
    model = mixture_of(models, (np.array(raw) / sum(raw)).tolist())
    beyond = draw(st.sampled_from((None, 0.2, 0.6)))
    if beyond is not None:
        weights = draw(st.lists(WEIGHTS, min_size=len(model.judges), max_size=len(model.judges)))
        model = replace(model, fallback=Fallback(tuple(weights), 0.7, 5.3, beyond))
    return model, prepared.oriented.symmetric


def exported(result, model):
    """The panel's file; it is as if fitted to graded votes, which all panels read."""
    return panel_json(export_panel(replace(result, model=model), GRADED, SPEC, ()))


def new_votes(seed, judges, missing):
    """Votes on new items by some of the judges, in another order, and by a stranger."""
    rng = np.random.default_rng(seed)
    made = make_votes(seed, 25, 8, missing=missing)
    made = replace(made, judges=(*tuple(f"judge{j:03d}" for j in range(7)), "stranger"))
    remaining = [name for name in made.judges if rng.random() < 0.7 or name == judges[0]]
    return with_grades(made.with_judges([str(name) for name in rng.permutation(remaining)]), seed)


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(panel=fitted(), seed=st.integers(0, 99), missing=st.sampled_from((0.0, 0.5, 0.9)))
def test_library_file_and_plain_python_agree_to_the_bit(result, panel, seed, missing):
    model, _ = panel
    text = exported(result, model)
    votes = new_votes(seed, model.judges, missing)
    library = model.score(codes_of(model, votes))
    from_file = score(load_panel(text), votes).p
    assert from_file.tolist() == library.tolist() == snippet_scores(json.loads(text), votes)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(panel=fitted(), seed=st.integers(0, 99))
def test_the_command_line_writes_the_same_bits(result, tmp_path, panel, seed):
    model, _ = panel
    votes = new_votes(seed, model.judges, 0.4)
    votes = votes.with_judges(
        [name for name in votes.judges if name in (*model.judges, "stranger")]
    )
    graded = votes.grades is not None
    assume(not graded or not np.isin(np.nan_to_num(votes.grades), (-1.0, 0.0, 1.0)).all())
    (tmp_path / "panel.json").write_text(exported(result, model), encoding="utf-8")
    write_votes(votes, tmp_path / "new.csv")
    files = [str(tmp_path / name) for name in ("panel.json", "new.csv", "scored.csv")]
    assert main(["score", *files[:2], "--out", files[2]]) == 0
    with (tmp_path / "scored.csv").open(newline="") as stream:
        written = [float(row["p"]) for row in csv.DictReader(stream)]
    assert written == model.score(codes_of(model, votes)).tolist()


@settings(max_examples=60)
@given(panel=fitted(), seed=st.integers(0, 99))
def test_under_symmetric_a_swapped_item_has_exactly_the_other_probability(panel, seed):
    model, symmetric = panel
    if not symmetric:
        return
    votes = new_votes(seed, model.judges, 0.2)
    swapped = flip_items(votes, np.ones(votes.n_items, bool))
    p, q = model.score(codes_of(model, votes)), model.score(codes_of(model, swapped))
    assert (p + q == 1.0).all()


@given(st.floats(-800, 800))
def test_the_two_sides_of_a_logit_add_up_to_one(logit):
    p, q = probabilities(np.array([logit, -logit]), 0.0)
    assert p + q == 1.0
    assert 0.0 <= min(p, q) <= 0.5
    clipped = probabilities(np.array([logit, -logit]), 0.001)
    assert clipped.sum() == 1.0
    assert clipped.min() >= 0.001


@given(st.floats(-30, 30))
def test_probabilities_are_the_logistic_function(logit):
    expected = 1 / (1 + math.exp(-logit))
    assert probabilities(np.array([logit]), 0.0)[0] == pytest.approx(expected, rel=1e-14)


@given(st.integers(0, 99), st.integers(1, 9))
def test_logits_change_sign_exactly_when_every_vote_does(seed, n_judges):
    votes = make_votes(seed, 20, n_judges, missing=0.3)
    swapped = flip_items(votes, np.ones(20, bool)).votes
    weights = np.random.default_rng(seed).normal(size=n_judges)
    fractions = [fraction_logits(outcome, abs(weights)) for outcome in (swapped, votes.votes)]
    assert (fractions[0] == -fractions[1]).all()
    first, other = weighted_logits(votes.votes, weights), weighted_logits(swapped, weights)
    assert (first == -other).all()


def test_replaced_calibrators_are_exported_as_what_stands_in(result):
    """Perfectly separated votes: Platt has no finite fit, and the file says temperature."""
    labels = np.tile([0, 1], 10).astype(np.int8)
    votes = replace(make_votes(0, 20, 2), votes=np.stack([labels, labels], 1), labels=labels)
    prepared = prepare(votes, Settings(orientation="as_given", judges=votes.judges))
    fitted = fit_panel(
        prepared.ballots, prepared.judges, 2, aggregator="one_coin", calibrator="platt"
    )
    assert fitted.replaced
    model = mixture_of([fitted], [1.0])
    panel = load_panel(exported(result, model))
    (member,) = panel.content["members"]
    assert member["calibrator"] == {"kind": "temperature", "slope": fitted.shape.a}
    assert panel.model.score(votes.votes).tolist() == model.score(votes.votes).tolist()


def test_a_panel_file_reads_back_and_fits_its_schema(result):
    text = panel_json(export_panel(result, TRAINING, SPEC, ()))
    panel = load_panel(text, name="panel.json")
    assert panel_json(panel.content) == text
    assert (panel.model, panel.content["votes"]["sha256"]) == (result.model, TRAINING.sha256)
    assert panel.content["figures"]["n_cal"] == result.n_calibration
    remaining = {*panel.content["judges"], *panel.content["left_out"], *panel.content["set_aside"]}
    assert remaining == set(TRAINING.judges)


def test_votes_the_panel_was_fitted_on_are_recognised_under_any_task(result):
    panel = load_panel(panel_json(export_panel(result, TRAINING, SPEC, ())))
    for votes in (TRAINING, TRAINING.with_task("pointwise")):
        assert any("was fitted on" in warning for warning in score(panel, votes).warnings)
    assert not any("was fitted on" in w for w in score(panel, make_votes(5, 60, 7)).warnings)
