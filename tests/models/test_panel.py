"""PanelModel: the chosen judges, fitted on all labelled rows, scoring new items."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from judgepanel.kernels import aggregation, calibration, evaluation, prefixes
from judgepanel.kernels.ballots import Ballots
from judgepanel.models import (
    AccuracyWeighted,
    DawidSkene,
    GradedJoint,
    GradedOneCoin,
    Joint,
    LogOdds,
    MajorityVote,
    MonotoneJoint,
    MonotoneStacking,
    OneCoin,
    Stacking,
    calibrator,
    fit_panel,
    mixture_of,
)
from judgepanel.models.panel import (
    Fallback,
    fit_fallback,
    fit_panels,
    in_order,
    judge_weights,
)
from judgepanel.scoring import metrics, splits
from judgepanel.studies.contract import Settings, prepare
from judgepanel.votes import MISSING
from tests.helpers import codes_of, make_ballots, make_votes, panel_from, with_grades

NAMES = tuple(f"judge{j}" for j in range(6))


def unseen(n_judges, seed=8):
    return make_votes(seed, 40, n_judges, missing=0.3).votes


def ballots_of(votes):
    return prepare(votes, Settings(orientation="as_given")).ballots


def as_table(votes):
    return np.where(votes == MISSING, np.nan, votes)


@pytest.mark.parametrize("name", [*calibration.MAPS, "isotonic", "auto"])
@pytest.mark.parametrize("kind", [OneCoin, MajorityVote])
@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("k", [3, 6])
def test_a_score_is_the_aggregator_followed_by_the_calibrator(name, kind, symmetric, k):
    ballots = make_ballots(2, 80, 6, symmetric=symmetric, missing=0.1)
    model = fit_panel(ballots, NAMES, k, aggregator=kind.kind, calibrator=name)
    best = prefixes.rank(ballots, np.arange(80))[:k]
    assert model.judges == tuple(NAMES[j] for j in best)

    y = (ballots.signs > 0).astype(int)
    X = np.where(ballots.votes == 0, np.nan, ballots.votes > 0)[:, best]
    aggregator = kind().fit(X, y)
    all_rows = np.arange(80)
    own = prefixes.prefix_scores(
        ballots, splits.Split(0, all_rows, all_rows[:0]), np.array([k]), aggregator=kind.kind
    )
    voted = ~own.calibration_empty[0]
    fitted = calibrator(name, symmetric=symmetric).fit(own.calibration[0][voted], y[voted])

    votes = unseen(k)
    logits = aggregator.decision_function(as_table(votes))
    wanted = np.clip(fitted.predict_proba(logits)[:, 1], metrics.CLIP, 1 - metrics.CLIP)
    cast = (votes != MISSING).any(axis=1)
    np.testing.assert_allclose(model.score(votes)[cast], wanted[cast], rtol=0, atol=1e-12)
    assert (model.n_fit, model.calibrator) == (80, name)


@pytest.mark.parametrize("aggregator", ["one_coin", "joint"])
def test_panels_under_several_calibrators_are_those_fitted_one_at_a_time(aggregator):
    ballots, names = make_ballots(2, 80, 6, missing=0.1), ("none", "temperature", "beta")
    panels = fit_panels(ballots, NAMES, 4, evaluation.Recipe(aggregator, names))
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
    assert p.tolist() == [1 - metrics.CLIP, metrics.CLIP]


RIDGES = (Stacking, Joint, MonotoneStacking, MonotoneJoint)
ESTIMATORS = {kind.kind: kind for kind in (DawidSkene, *RIDGES)}
ESTIMATORS["dawid_skene_semi"] = partial(DawidSkene, supervised=True)


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
    wanted = np.clip(fitted.predict_proba(as_table(votes))[:, 1], metrics.CLIP, 1 - metrics.CLIP)
    np.testing.assert_allclose(model.score(in_order)[cast], wanted[cast], rtol=0, atol=1e-9)


@pytest.mark.parametrize("kind", [GradedOneCoin, GradedJoint])
def test_an_aggregator_of_grades_is_frozen_as_its_estimator(kind):
    votes = with_grades(make_votes(2, 120, 6, missing=0.1))
    ballots, names = ballots_of(votes.with_items(np.arange(80))), votes.judges
    model = fit_panel(ballots, names, 6, aggregator=kind.kind, calibrator="none")
    thresholds = np.where(np.isnan(votes.thresholds), 0.5, votes.thresholds)
    X = np.where(np.isnan(votes.grades), as_table(votes.votes), votes.grades)
    fitted = kind(threshold=thresholds).fit(X[:80], votes.labels[:80])
    wanted = np.clip(fitted.predict_proba(X[80:])[:, 1], metrics.CLIP, 1 - metrics.CLIP)
    new = votes.with_items(np.arange(80, 120))
    p = model.score(codes_of(mixture_of([model], [1.0]), new))
    cast = (new.votes != MISSING).any(axis=1)
    np.testing.assert_allclose(p[cast], wanted[cast], rtol=0, atol=1e-9)
    assert len(model.weights) == 6


def test_without_grades_an_aggregator_of_grades_is_that_of_votes_to_the_bit():
    ballots = make_ballots(2, 80, 6, missing=0.1)
    votes = unseen(6)
    for graded, plain in (("one_coin_graded", "one_coin"), ("joint_graded", "joint")):
        first = fit_panel(ballots, NAMES, 6, aggregator=graded, calibrator="temperature")
        other = fit_panel(ballots, NAMES, 6, aggregator=plain, calibrator="temperature")
        assert first.judges == other.judges
        assert first.score(votes).tolist() == other.score(votes).tolist()


def test_the_calibrator_of_a_joint_panel_sees_no_score_that_knows_its_label():
    """Judges that guess: scores that knew their labels would ask for no shrinking."""
    rng = np.random.default_rng(3)
    votes = (2 * rng.integers(0, 2, (120, 30)) - 1).astype(np.int8)
    ballots = Ballots(votes, (2 * rng.integers(0, 2, 120) - 1).astype(np.int8), np.arange(120))
    names = tuple(f"judge{j}" for j in range(30))
    model = fit_panel(ballots, names, 30, aggregator="joint", calibrator="temperature")
    assert 0.0 <= model.shape.a < 0.5


def table(ballots):
    X = np.where(ballots.votes == 0, np.nan, (ballots.votes + 1) / 2)
    return X, (ballots.signs + 1) // 2


@pytest.mark.parametrize("kind", [MajorityVote, AccuracyWeighted, LogOdds, OneCoin])
def test_closed_forms_weigh_as_their_estimators(kind):
    ballots = make_ballots(1)
    expected = kind().fit(*table(ballots)).weights_
    np.testing.assert_array_equal(judge_weights(ballots)[kind.kind], expected)


@pytest.mark.parametrize("supervised", [False, True])
@pytest.mark.parametrize("symmetric", [False, True])
def test_dawid_skene_weighs_half_the_step_between_its_two_votes(supervised, symmetric):
    ballots = make_ballots(2, 80, 6, symmetric=symmetric)
    fitted = DawidSkene(supervised=supervised, symmetric=symmetric).fit(*table(ballots))
    step = fitted.vote_logits_[:, 1] - fitted.vote_logits_[:, 0]
    name = "dawid_skene_semi" if supervised else "dawid_skene"
    np.testing.assert_allclose(judge_weights(ballots, [name])[name], step / 2)


@pytest.mark.parametrize("name", aggregation.AGGREGATORS)
def test_a_judge_keeps_its_weight_wherever_it_stands(name):
    ballots = make_ballots(3, 60, 5)
    order = np.array([3, 0, 4, 1, 2])
    moved = type(ballots)(ballots.votes[:, order], ballots.signs, ballots.units)
    np.testing.assert_allclose(
        judge_weights(moved, [name])[name], judge_weights(ballots, [name])[name][order], atol=1e-6
    )


@pytest.mark.parametrize("name", aggregation.AGGREGATORS)
def test_weights_are_finite_for_judges_always_right_always_wrong_and_silent(name):
    ballots = make_ballots(4, 50, 6)
    votes = ballots.votes.copy()
    votes[:, 0], votes[:, 1], votes[:, 2] = ballots.signs, -ballots.signs, 0
    odd = type(ballots)(votes, ballots.signs, ballots.units)
    assert np.isfinite(judge_weights(odd, [name])[name]).all()


VOTES = make_votes(3, 60, 7)


PREPARED = prepare(VOTES, Settings())


def panel(k, aggregator="one_coin", calibrator="beta"):
    ballots, judges = PREPARED.ballots, PREPARED.judges
    return fit_panel(ballots, judges, k, aggregator=aggregator, calibrator=calibrator)


PANELS = (panel(3), panel(7, "joint", "none"), panel(5, "majority", "temperature"))


def columns_of(judges):
    return [VOTES.judges.index(name) for name in judges]


def test_probabilities_of_members_are_averaged_over_their_own_judges():
    mixture = mixture_of(PANELS, (0.2, 0.7, 0.1))
    wanted = sum(
        weight * model.score(VOTES.votes[:, columns_of(model.judges)])
        for weight, model in zip((0.2, 0.7, 0.1), PANELS, strict=True)
    )
    p = mixture.score(VOTES.votes[:, columns_of(mixture.judges)])
    np.testing.assert_allclose(p, wanted, atol=1e-14)


def test_members_are_sorted_by_weight_and_judges_follow_the_heaviest():
    mixture = mixture_of(PANELS, (0.2, 0.7, 0.1))
    assert [member.weight for member in mixture.members] == [0.7, 0.2, 0.1]
    assert mixture.main is PANELS[1]
    assert mixture.judges == PANELS[1].judges
    small = mixture_of((PANELS[0], PANELS[2]), (0.6, 0.4))
    assert small.judges[:3] == PANELS[0].judges
    assert set(small.judges) == set(PANELS[2].judges)


def test_counts_and_shares_are_told_by_judge():
    mixture = mixture_of((PANELS[0], PANELS[2]), (0.6, 0.4))
    assert mixture.shares == pytest.approx((1.0, 1.0, 1.0, 0.4, 0.4))
    by_name = dict(zip(PANELS[1].judges, PANELS[1].correct, strict=True))
    assert mixture.correct == tuple(by_name[name] for name in mixture.judges)


def test_grades_are_cut_into_the_same_bands_for_all_members():
    graded, other = (ballots_of(with_grades(VOTES, seed)) for seed in (0, 1))
    one_coin, of = "one_coin_graded", {"calibrator": "none"}
    first = fit_panel(graded, VOTES.judges, 3, aggregator=one_coin, **of)
    second = fit_panel(graded, VOTES.judges, 5, aggregator="joint_graded", **of)
    odd = fit_panel(other, VOTES.judges, 5, aggregator=one_coin, **of)
    mixture = mixture_of((first, second), (0.6, 0.4))
    edges = dict(zip(second.judges, second.rule.edges, strict=True))
    assert mixture.edges == tuple(edges[name] for name in mixture.judges)
    with pytest.raises(ValueError, match="into the same bands"):
        mixture_of((first, odd), (0.6, 0.4))


def test_a_mixture_of_one_is_that_panel_to_the_bit():
    alone = mixture_of(PANELS[1:2], (1.0,))
    votes = VOTES.votes[:, columns_of(alone.judges)]
    assert alone.score(votes).tolist() == PANELS[1].score(votes).tolist()


def test_an_item_without_votes_gets_the_prior_and_the_fallback_scores_absences():
    fallback = Fallback((1.0,) * 7, 0.7, 2.0, 0.5)
    mixture = mixture_of(PANELS, (0.2, 0.7, 0.1))
    guarded = type(mixture)(mixture.judges, mixture.members, fallback)
    votes = np.full((3, 7), -1, dtype=np.int8)
    votes[1, 0], votes[2] = 1, 1
    assert guarded.score(votes)[0] == mixture.prior
    assert guarded.falls_back(votes).tolist() == [False, True, False]
    assert guarded.score(votes)[2] == mixture.score(votes)[2]
    assert guarded.score(votes)[1] != mixture.score(votes)[1]
    assert not mixture.falls_back(votes).any()


@pytest.mark.parametrize("weights", [(0.5, 0.6, 0.1), (1.0, 0.0, 0.0), ()])
def test_weights_that_are_none_are_refused(weights):
    with pytest.raises(ValueError, match="add up to 1"):
        mixture_of(PANELS[: len(weights)], weights)


RULE = Fallback(weights=(2.0, -1.0, 1.0), few=1.0, all=3.0, beyond=0.5)


def arms(n_judges):
    """Nobody absent, and the first 2, 4, ... of the judges."""
    absent = np.zeros((n_judges // 2, n_judges), dtype=bool)
    for arm in range(n_judges // 2):
        absent[arm, : 2 * arm] = True
    return absent


def fitted(votes):
    ballots = prepare(votes, Settings(orientation="as_given")).ballots
    return fit_fallback(ballots, arms(ballots.n_judges), np.arange(ballots.n_items))


def test_it_scores_items_on_which_too_much_weight_is_missing():
    votes = np.array([[1, 1, 1], [-1, 1, 1], [-1, 1, -1], [1, -1, -1], [-1, -1, -1]], np.int8)
    assert RULE.present(votes).tolist() == [1.0, 0.5, 0.25, 0.5, 0.0]
    assert RULE.scores(votes).tolist() == [False, False, True, False, True]
    assert RULE.logits(votes) == pytest.approx([2 / 3, 0.0, -1 / 1.5, 2 / 2, 0.0])


def test_a_panel_uses_it_for_those_items_alone():
    plain = panel_from(make_votes(0, 60, 3), 3, "majority", "beta")
    panel = replace(plain, fallback=RULE)
    cast = np.array([[1, 1, 1], [-1, 1, 0], [-1, 1, -1], [-1, -1, -1]], np.int8)
    assert panel.falls_back(cast).tolist() == [False, False, True, False]
    p, own = panel.score(cast), plain.score(cast)
    assert p[[0, 1, 3]].tolist() == own[[0, 1, 3]].tolist()
    assert p[2] == pytest.approx(1 / (1 + np.exp(1 / 1.5)))


def test_the_temperature_falls_with_judges_that_err_together():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 400)
    for copies in (False, True):
        right = rng.random((400, 10)) < 0.7
        if copies:
            right = (rng.random(400) < 0.7)[:, None] ^ (rng.random((400, 10)) < 0.05)
        cast = np.where(right, labels[:, None], 1 - labels[:, None]).astype(np.int8)
        votes = replace(make_votes(0, 400, 10), votes=cast, labels=labels.astype(np.int8))
        rule = fitted(votes)
        if copies:
            assert rule.few < 2.0
            assert rule.all > 5.0
        else:
            assert 0.7 < rule.few < 1.4
            assert 0.7 < rule.all < 1.4


def test_its_judges_can_be_put_in_another_order():
    turned = in_order(RULE, np.array([2, 0, 1]), 0.2)
    assert turned == Fallback((1.0, 2.0, -1.0), 1.0, 3.0, 0.2)


def test_judges_that_know_nothing_make_none():
    ballots = prepare(make_votes(0, 40, 4), Settings()).ballots
    silent = replace(ballots, votes=np.zeros_like(ballots.votes))
    assert fit_fallback(silent, arms(4), np.arange(40)) is None
