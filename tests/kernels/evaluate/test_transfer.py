"""A panel applied to other items: three ways, one path, no label of the target used."""

from dataclasses import replace

import numpy as np
import pytest

from judgepanel.kernels import evaluation as transfer
from judgepanel.kernels.evaluation import (
    METHODS,
    Recipe,
    TransferRecipe,
    evaluate_split,
    strata_of,
    transferred,
)
from judgepanel.kernels.residual import disagreement
from judgepanel.scoring.splits import Split
from tests.helpers import make_ballots

RECIPE = TransferRecipe(calibrators=("beta", "platt"))
SOURCE, LEFT, RIGHT = np.arange(60), np.arange(60, 80), np.arange(80, 120)
WHOLE = Split(0, SOURCE, np.concatenate([LEFT, RIGHT]))


def ballots(seed=5, **options):
    return make_ballots(seed, 120, 9, missing=0.1, **options)


@pytest.mark.parametrize("symmetric", [False, True])
def test_the_plain_way_is_the_one_path_of_all_studies(symmetric):
    given = ballots(symmetric=symmetric)
    scores = transferred(given, WHOLE, (LEFT, RIGHT), RECIPE, (0, 1))
    wanted = evaluate_split(given, WHOLE, np.array([9]), Recipe(calibrators=("beta", "platt")))
    for c, name in enumerate(RECIPE.calibrators):
        both = np.concatenate([score.scores.nll[c, 0] for score in scores])
        np.testing.assert_array_equal(both, wanted.evaluation[name].nll[0])
        mean = (
            sum(score.constant_nll[c] * n for score, n in zip(scores, (20, 40), strict=True)) / 60
        )
        assert mean == pytest.approx(wanted.constant_nll[name])
    mean = sum(score.null_nll * n for score, n in zip(scores, (20, 40), strict=True)) / 60
    assert mean == pytest.approx(wanted.null_nll)


def test_labels_of_the_target_are_held_against_and_never_learnt_from():
    given = ballots()
    turned = replace(given, signs=given.signs.copy())
    turned.signs[60:] *= -1
    for first, other in zip(
        transferred(given, WHOLE, (LEFT, RIGHT), RECIPE, (0, 1)),
        transferred(turned, WHOLE, (LEFT, RIGHT), RECIPE, (0, 1)),
        strict=True,
    ):
        np.testing.assert_allclose(np.exp(-first.scores.nll) + np.exp(-other.scores.nll), 1.0)
        assert first.effective == other.effective


def test_a_target_is_scored_alike_whatever_the_other_target_is():
    given = ballots()
    both = transferred(given, WHOLE, (LEFT, RIGHT), RECIPE, (0, 1))
    alone = transferred(given, Split(0, SOURCE, RIGHT), (RIGHT,), RECIPE, (0, 1))
    np.testing.assert_array_equal(both[1].scores.nll, alone[0].scores.nll)


def test_strata_are_quantiles_of_the_source_and_hold_whatever_lies_beyond():
    values = np.array([0.0, 0.1, 0.2, 0.3, 0.9, -1.0])
    strata = strata_of(values, np.arange(4), 2)
    assert strata.tolist() == [0, 0, 1, 1, 1, 0]
    assert strata_of(np.zeros(6), np.arange(4), 3).max() == 0


def test_a_stratum_has_a_calibrator_of_its_own_unless_it_is_small(monkeypatch):
    given = ballots()
    whole = transferred(given, WHOLE, (RIGHT,), RECIPE, (0, 1))[0]
    nll = whole.scores.nll
    assert not np.array_equal(nll[:, 1], nll[:, 0])
    assert (whole.fits, whole.kept, whole.strata) == (4, 0, 2)
    monkeypatch.setattr(transfer, "FEWEST_IN_STRATUM", 1000)
    small = transferred(given, WHOLE, (RIGHT,), RECIPE, (0, 1))[0]
    np.testing.assert_array_equal(small.scores.nll[:, 1], small.scores.nll[:, 0])
    assert (small.fits, small.kept, small.strata) == (2, 2, 2)


def test_a_stand_in_within_a_stratum_is_counted():
    given = ballots()
    calm = disagreement(given)[SOURCE] <= np.median(disagreement(given)[SOURCE])
    signs = given.signs.copy()
    signs[SOURCE[calm]] = 1
    scores = transferred(replace(given, signs=signs), WHOLE, (RIGHT,), RECIPE, (0, 1))[0]
    assert scores.replaced.tolist() == [0, 1]  # beta takes one class, Platt scaling does not


def test_a_target_like_the_source_gets_even_weights_and_another_does_not():
    given = ballots(7)
    order = np.argsort(disagreement(given), kind="stable")
    easy, hard = order[:60], order[60:]
    home, abroad = (
        transferred(given, Split(0, easy[::2], rows), (rows,), RECIPE, (0, 1))[0]
        for rows in (easy[1::2], hard)
    )
    assert home.effective > 25
    assert abroad.effective < home.effective
    assert home.scores.nll.shape == (2, len(METHODS), 30)


@pytest.mark.parametrize("aggregator", ["majority", "dawid_skene", "joint"])
def test_any_aggregator_is_carried_over(aggregator):
    scores = transferred(ballots(), WHOLE, (RIGHT,), replace(RECIPE, aggregator=aggregator), (0, 1))
    assert np.isfinite(scores[0].scores.nll).all()
