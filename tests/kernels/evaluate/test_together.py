"""Splits evaluated in a batch have the scores that each has by itself."""

import numpy as np
import pytest

from judgepanel.kernels import evaluation
from judgepanel.kernels.calibration import CALIBRATORS
from judgepanel.kernels.evaluation import Recipe, evaluate_each, evaluate_split
from judgepanel.scoring.splits import Split
from tests.helpers import make_ballots

EVALUATION = np.arange(90, 140)
SPLITS = [Split(n, np.arange(n, n + size), EVALUATION) for n, size in enumerate((20, 35, 80))]
KS = np.array([2, 5, 9])


def assert_same(together, alone, names):
    assert together.null_nll == alone.null_nll
    np.testing.assert_array_equal(together.order, alone.order)
    for name in names:
        assert together.replaced[name] == alone.replaced[name]
        assert together.constant_nll[name] == alone.constant_nll[name]
        for field in ("nll", "brier", "hit", "ece"):
            np.testing.assert_allclose(
                getattr(together.evaluation[name], field),
                getattr(alone.evaluation[name], field),
                rtol=1e-7,
                atol=1e-9,
            )


@pytest.mark.parametrize(
    ("names", "options"),
    [
        (("none", "temperature", "platt", "beta", "beta_l2", "beta_free", "beta_clipped"), {}),
        (("temperature", "beta"), {"symmetric": True}),
        (("isotonic",), {}),
        (CALIBRATORS, {}),
        (("none",), {}),
    ],
)
@pytest.mark.parametrize("in_sample", [False, True])
def test_each_split_has_its_own_scores(names, options, in_sample):
    ballots = make_ballots(3, 140, 9, missing=0.5, **options)
    recipe = Recipe(calibrators=names, in_sample=in_sample)
    for split, together in zip(SPLITS, evaluate_each(ballots, SPLITS, KS, recipe), strict=True):
        assert_same(together, evaluate_split(ballots, split, KS, recipe), names)


def test_large_splits_are_fitted_apart_with_the_same_scores(monkeypatch):
    ballots = make_ballots(4, 140, 9, missing=0.3)
    recipe = Recipe(calibrators=("beta",))
    whole = evaluate_each(ballots, SPLITS, KS, recipe)
    sizes = []
    fit = evaluation.fit

    def counted(names, logits, *rest, **options):
        sizes.append(logits.shape)
        return fit(names, logits, *rest, **options)

    monkeypatch.setattr(evaluation, "fit", counted)
    monkeypatch.setattr(evaluation, "_TOGETHER", 6 * 35)
    apart = evaluate_each(ballots, SPLITS, KS, recipe)
    assert sizes == [(6, 35), (3, 80)]
    for first, second in zip(whole, apart, strict=True):
        assert_same(first, second, ("beta",))


@pytest.mark.parametrize("symmetric", [False, True])
def test_a_constant_score_is_calibrated_on_the_labels_alone(symmetric):
    ballots = make_ballots(6, 140, 9, symmetric=symmetric)
    recipe = Recipe(calibrators=("none", "temperature", "platt", "beta"))
    for split in SPLITS:
        scores = evaluate_split(ballots, split, KS, recipe)
        signs = ballots.signs[split.calibration].astype(np.float64)
        maps = evaluation.fit(
            recipe.calibrators, np.zeros((1, len(signs))), signs, symmetric=symmetric
        )
        margins = ballots.signs[EVALUATION]
        for name, map_ in maps.items():
            logit = map_(np.zeros((1, 1)))[0, 0]
            wanted = np.logaddexp(0.0, -logit * margins).mean()
            assert scores.constant_nll[name] == pytest.approx(wanted, abs=1e-9)
