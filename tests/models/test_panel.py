"""PanelModel: the chosen judges, fitted on all labelled rows, scoring new items."""

from dataclasses import replace

import numpy as np
import pytest

from judgepanel.kernels.ballots import Ballots
from judgepanel.kernels.calibration import MAPS, fit
from judgepanel.kernels.evaluation import Recipe
from judgepanel.kernels.prefixes import prefix_scores, rank
from judgepanel.models import (
    DawidSkene,
    GradedJoint,
    GradedOneCoin,
    Joint,
    MajorityVote,
    MonotoneJoint,
    MonotoneStacking,
    OneCoin,
    Stacking,
    calibrator,
    fit_panel,
    mixture_of,
)
from judgepanel.models.panel import fit_panels
from judgepanel.scoring.metrics import CLIP
from judgepanel.studies.contract import Settings, prepare
from judgepanel.votes import MISSING
from tests.helpers import codes_of, make_ballots, make_votes, with_grades

NAMES = tuple(f"judge{j}" for j in range(6))


def unseen(n_judges, seed=8):
    return make_votes(seed, 40, n_judges, missing=0.3).votes


def ballots_of(votes):
    return prepare(votes, Settings(orientation="as_given")).ballots


def as_table(votes):
    return np.where(votes == MISSING, np.nan, votes)


@pytest.mark.parametrize("name", MAPS)
@pytest.mark.parametrize("kind", [OneCoin, MajorityVote])
@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("k", [3, 6])
def test_a_score_is_the_aggregator_followed_by_the_calibrator(name, kind, symmetric, k):
    ballots = make_ballots(2, 80, 6, symmetric=symmetric, missing=0.1)
    model = fit_panel(ballots, NAMES, k, aggregator=kind.kind, calibrator=name)
    best = rank(ballots, np.arange(80))[:k]
    assert model.judges == tuple(NAMES[j] for j in best)

    y = (ballots.signs > 0).astype(int)
    X = np.where(ballots.votes == 0, np.nan, ballots.votes > 0)[:, best]
    aggregator = kind().fit(X, y)
    everyone = np.arange(80)
    own = prefix_scores(ballots, everyone, everyone[:0], np.array([k]), aggregator=kind.kind)
    voted = ~own.calibration_empty[0]
    fitted = calibrator(name, symmetric=symmetric).fit(own.calibration[0][voted], y[voted])

    votes = unseen(k)
    logits = aggregator.decision_function(as_table(votes))
    wanted = np.clip(fitted.predict_proba(logits)[:, 1], CLIP, 1 - CLIP)
    cast = (votes != MISSING).any(axis=1)
    np.testing.assert_allclose(model.score(votes)[cast], wanted[cast], rtol=0, atol=1e-12)
    assert model.n_fit == 80
    assert model.calibrator == name


@pytest.mark.parametrize("aggregator", ["one_coin", "joint"])
def test_panels_under_several_calibrators_are_those_fitted_one_at_a_time(aggregator):
    ballots, names = make_ballots(2, 80, 6, missing=0.1), ("none", "temperature", "beta")
    panels = fit_panels(ballots, NAMES, 4, Recipe(aggregator, names))
    assert panels == [
        fit_panel(ballots, NAMES, 4, aggregator=aggregator, calibrator=name) for name in names
    ]


def test_the_papers_panel_does_not_see_beyond_its_clip():
    ballots = make_ballots(2, 200, 6, missing=0.0)
    model = fit_panel(ballots, NAMES, 6, aggregator="one_coin", calibrator="beta_clipped")
    heavy, light = (
        replace(model, rule=replace(model.rule, weights=(weight,) * 6)) for weight in (100.0, 10.0)
    )
    entry = np.ones((1, 6), np.int8)
    assert heavy.score(entry) == light.score(entry)


@pytest.mark.parametrize(("symmetric", "prior"), [(True, 0.5), (False, None)])
def test_an_item_without_votes_gets_the_base_rate_or_one_half(symmetric, prior):
    ballots = make_ballots(2, 50, 6, symmetric=symmetric)
    model = fit_panel(ballots, NAMES, 6, aggregator="one_coin", calibrator="temperature")
    wanted = np.mean(ballots.signs > 0) if prior is None else prior
    assert model.score(np.full((1, 6), MISSING, np.int8))[0] == pytest.approx(wanted)


def test_swapping_an_item_swaps_its_probability_under_symmetric():
    ballots = make_ballots(4, 60, 6, symmetric=True)
    votes = unseen(6)
    swapped = np.where(votes == MISSING, MISSING, 1 - votes).astype(np.int8)
    for name in MAPS:
        model = fit_panel(ballots, NAMES, 6, aggregator="one_coin", calibrator=name)
        np.testing.assert_allclose(model.score(votes), 1 - model.score(swapped), atol=1e-12)


def test_counts_of_the_chosen_judges_go_with_the_panel():
    ballots = make_ballots(5, 30, 6)
    model = fit_panel(ballots, NAMES, 4, aggregator="majority", calibrator="none")
    for name, correct, voted in zip(model.judges, model.correct, model.voted, strict=True):
        column = ballots.votes[:, NAMES.index(name)]
        assert voted == np.count_nonzero(column)
        assert correct == np.sum(column == ballots.signs)
    assert model.weights == (1.0,) * 4


def test_probabilities_stay_inside_the_clip():
    ballots = make_ballots(6, 300, 6, missing=0.0)
    votes = np.tile(ballots.signs[:, None], (1, 6))
    perfect = type(ballots)(votes, ballots.signs, ballots.units)
    model = fit_panel(perfect, NAMES, 6, aggregator="one_coin", calibrator="temperature")
    p = model.score(np.array([[1] * 6, [0] * 6], np.int8))
    assert p.tolist() == [1 - CLIP, CLIP]


ESTIMATORS = {
    "dawid_skene": DawidSkene,
    "dawid_skene_semi": lambda symmetric: DawidSkene(supervised=True, symmetric=symmetric),
    "stacking": Stacking,
    "joint": Joint,
    "stacking_monotone": MonotoneStacking,
    "joint_monotone": MonotoneJoint,
}


@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("aggregator", ESTIMATORS)
def test_a_cross_fitted_aggregator_is_frozen_as_its_estimator(aggregator, symmetric):
    ballots = make_ballots(2, 80, 6, symmetric=symmetric, missing=0.1)
    model = fit_panel(ballots, NAMES, 6, aggregator=aggregator, calibrator="none")
    X = np.where(ballots.votes == 0, np.nan, ballots.votes > 0)
    fitted = ESTIMATORS[aggregator](symmetric=symmetric).fit(X, (ballots.signs > 0).astype(int))
    votes = unseen(6)
    in_order = votes[:, [NAMES.index(name) for name in model.judges]]
    cast = (votes != MISSING).any(axis=1)
    wanted = np.clip(fitted.predict_proba(as_table(votes))[:, 1], CLIP, 1 - CLIP)
    np.testing.assert_allclose(model.score(in_order)[cast], wanted[cast], rtol=0, atol=1e-9)


@pytest.mark.parametrize("kind", [GradedOneCoin, GradedJoint])
def test_an_aggregator_of_grades_is_frozen_as_its_estimator(kind):
    votes = with_grades(make_votes(2, 120, 6, missing=0.1))
    ballots, names = ballots_of(votes.with_items(np.arange(80))), votes.judges
    model = fit_panel(ballots, names, 6, aggregator=kind.kind, calibrator="none")
    thresholds = np.where(np.isnan(votes.thresholds), 0.5, votes.thresholds)
    X = np.where(np.isnan(votes.grades), as_table(votes.votes), votes.grades)
    fitted = kind(threshold=thresholds).fit(X[:80], votes.labels[:80])
    wanted = np.clip(fitted.predict_proba(X[80:])[:, 1], CLIP, 1 - CLIP)
    new = votes.with_items(np.arange(80, 120))
    p = model.score(codes_of(mixture_of([model], [1.0]), new))
    cast = (new.votes != MISSING).any(axis=1)
    np.testing.assert_allclose(p[cast], wanted[cast], rtol=0, atol=1e-9)
    assert len(model.weights) == 6


def test_without_grades_an_aggregator_of_grades_is_that_of_votes_to_the_bit():
    ballots = make_ballots(2, 80, 6, missing=0.1)
    votes = unseen(6)
    for graded, plain in (("one_coin_graded", "one_coin"), ("joint_graded", "joint")):
        models = [
            fit_panel(ballots, NAMES, 6, aggregator=name, calibrator="temperature")
            for name in (graded, plain)
        ]
        assert models[0].judges == models[1].judges
        assert models[0].score(votes).tolist() == models[1].score(votes).tolist()


@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("name", ["isotonic", "auto"])
def test_a_panel_may_have_knots_for_a_calibrator(name, symmetric):
    ballots = make_ballots(2, 80, 6, symmetric=symmetric, missing=0.1)
    model = fit_panel(ballots, NAMES, 6, aggregator="one_coin", calibrator=name)
    everyone = np.arange(80)
    own = prefix_scores(ballots, everyone, everyone[:0], np.array([6]))
    weights = (~own.calibration_empty).astype(float)
    signs = ballots.signs.astype(float)
    fitted = fit((name,), own.calibration, signs, weights, symmetric=symmetric)[name]
    votes = unseen(6)
    p = 1 / (1 + np.exp(-fitted(model.rule.logits(votes)[None])[0]))
    cast = (votes != MISSING).any(axis=1)
    wanted = np.clip(p, CLIP, 1 - CLIP)
    np.testing.assert_allclose(model.score(votes)[cast], wanted[cast], rtol=0, atol=1e-9)


def test_the_calibrator_of_a_joint_panel_sees_no_score_that_knows_its_label():
    """Judges that guess: scores that knew their labels would ask for no shrinking."""
    rng = np.random.default_rng(3)
    votes = (2 * rng.integers(0, 2, (120, 30)) - 1).astype(np.int8)
    ballots = Ballots(votes, (2 * rng.integers(0, 2, 120) - 1).astype(np.int8), np.arange(120))
    names = tuple(f"judge{j}" for j in range(30))
    model = fit_panel(ballots, names, 30, aggregator="joint", calibrator="temperature")
    assert 0.0 <= model.shape.a < 0.5
