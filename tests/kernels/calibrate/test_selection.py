"""Choices by inner cross-validation, against loops that fit every fold by itself."""

from functools import partial

import numpy as np
import pytest

from judgepanel.kernels import calibration, maps
from judgepanel.kernels.calibration import CELLS
from judgepanel.votes import InputError
from tests.helpers import item_nll
from tests.kernels.calibrate import calibration_oracle
from tests.kernels.calibrate.test_calibration import column


def item_losses(make, logits, signs, fold):
    """NLL (n,) of every item of one column; ``make(rows)`` gives a map of logits (n,)."""
    losses = np.empty(len(logits))
    for number in np.unique(fold):
        calibrated = make(np.flatnonzero(fold != number))
        for i in np.flatnonzero(fold == number):
            losses[i] = item_nll(calibrated(logits[i : i + 1]), signs[i : i + 1])
    return losses


@pytest.mark.parametrize("symmetric", [False, True])
def test_the_penalty_with_the_lowest_held_out_nll_is_taken(symmetric, monkeypatch):
    logits, signs = column(1, n=60, scale=4.0)
    fold = np.random.default_rng(1).integers(0, 3, 60)
    weights = np.random.default_rng(2).integers(0, 3, 60).astype(float)
    result = calibration.fit(
        ("beta_cv",), logits[None], signs, weights[None], symmetric=symmetric, fold=fold
    )
    nll = []
    for penalty in calibration.GRID:

        def make(rows):
            part = (logits[rows], signs[rows], weights[rows])
            params = calibration_oracle.brute_fit("beta", *part, tied=symmetric)
            return lambda new: calibration.apply_map(params[None], new[None])[0]

        monkeypatch.setitem(calibration_oracle.PENALTY, "beta", (penalty / 2, penalty / 2))

        nll.append(weights @ item_losses(make, logits, signs, fold) / weights.sum())
    assert result["beta_cv"].shape(0).penalty == calibration.GRID[int(np.argmin(nll))]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("symmetric", [False, True])
def test_auto_leaves_temperature_for_what_is_lower_by_a_standard_error(seed, symmetric):
    logits, signs = column(seed, n=70, scale=4.0, shift=0.8)
    fold = np.random.default_rng(seed).integers(0, 4, 70)
    weights = np.random.default_rng(seed).integers(0, 2, 70).astype(float)
    names = tuple(name for name in calibration.AUTO if not (symmetric and name == "platt"))

    def fitted(name, rows):
        made = calibration.fit(
            (name,), logits[None, rows], signs[rows], weights[None, rows], symmetric=symmetric
        )[name]
        return lambda new: made(new[None])[0]

    losses = [item_losses(partial(fitted, name), logits, signs, fold) for name in names]
    losses = np.stack(losses)[:, weights > 0]
    nll, difference = losses.mean(axis=1), losses - losses[0]
    clear = nll + difference.std(axis=1) / np.sqrt(losses.shape[1]) < nll[0]
    clear[0] = True
    result = calibration.fit(
        ("auto",), logits[None], signs, weights[None], symmetric=symmetric, fold=fold
    )
    assert result["auto"].chosen == (names[int(np.argmin(np.where(clear, nll, np.inf)))],)


def test_every_calibrator_of_the_list_is_taken_where_it_is_the_best():
    rng = np.random.default_rng(0)
    x = rng.normal(0.0, 2.0, 3000)

    def labels(p):
        return np.where(rng.random(3000) < p, 1.0, -1.0)

    worlds = {
        "temperature": labels(1 / (1 + np.exp(-x / 2))),
        "platt": labels(1 / (1 + np.exp(-x / 2 - 3))),
        "beta": labels(1 / (1 + np.exp(-(-0.1 * np.logaddexp(0, -x) + 2.5 * np.logaddexp(0, x))))),
        "isotonic": labels(np.where(x > 0.3, 0.8, 0.2)),
    }
    fold = rng.integers(0, 5, 3000)
    calibration_fit = calibration.fit(
        ("auto",), np.tile(x, (4, 1)), np.stack(list(worlds.values())), fold=fold
    )["auto"]
    assert calibration_fit.chosen == tuple(worlds)


def test_auto_is_temperature_where_fewer_than_30_items_have_a_weight():
    logits, _ = column(3, n=400, scale=4.0)
    steps = np.where(logits > 0.3, 1.0, -1.0) * np.where(np.arange(400) % 9 == 0, -1.0, 1.0)
    weights = np.zeros((2, 400))
    weights[0, : calibration.FEW_LABELS - 1] = 1.0
    weights[1] = 1.0
    result = calibration.fit(("temperature", "auto"), np.tile(logits, (2, 1)), steps, weights)
    assert (result["auto"].chosen[0], result["auto"].chosen[1]) == ("temperature", "isotonic")
    assert result["auto"].shape(0) == result["temperature"].shape(0)


@pytest.mark.parametrize("name", calibration.CROSS_VALIDATED)
def test_folds_of_one_number_leave_nothing_to_choose_by(name):
    logits, signs = column(0)
    fitted = calibration.fit((name,), logits[None], signs, fold=np.full(80, 7))[name]
    shape = fitted.shape(0)
    assert shape.kind == ("temperature" if name == "auto" else "beta_cv")
    assert shape.penalty == (None if name == "auto" else maps.LAMBDA)


def test_folds_of_unequal_size_are_fitted_as_if_each_were_alone():
    rng = np.random.default_rng(3)
    _, signs = column(3, n=50)
    logits = 2.0 * (rng.normal(size=(3, 50)) + 0.7 * signs)
    weights = rng.integers(0, 3, (3, 50)).astype(float)
    fold = rng.integers(0, 4, 50)
    expected = np.zeros((len(calibration.AUTO), 3))
    for number in range(4):
        rows = fold != number
        alone = calibration.fit(calibration.AUTO, logits[:, rows], signs[rows], weights[:, rows])
        for total, name in zip(expected, calibration.AUTO, strict=True):
            for b, calibrated in enumerate(alone[name](logits[:, ~rows])):
                losses = [item_nll(x, s) for x, s in zip(calibrated, signs[~rows], strict=True)]
                total[b] += weights[b, ~rows] @ losses
    together, _ = calibration.cross_validated(
        calibration.Columns(logits, signs, weights, False),
        fold,
        lambda learn, _: list(
            calibration.fit(calibration.AUTO, learn.logits, learn.signs, learn.weights).values()
        ),
    )
    np.testing.assert_allclose(together, expected / weights.sum(axis=1), rtol=0, atol=1e-9)


def test_work_in_blocks_of_columns_is_work_on_all_of_them(monkeypatch):
    rng = np.random.default_rng(5)
    _, signs = column(5, n=60)
    logits = 3.0 * (rng.normal(0.0, 1.0, (7, 60)) + 0.5 * signs)
    weights = (rng.random((7, 60)) < 0.9).astype(float)
    names = calibration.CROSS_VALIDATED
    whole = calibration.fit(names, logits, signs, weights)
    assert logits.size < CELLS
    monkeypatch.setattr("judgepanel.kernels.calibration.CELLS", 130)
    parts = calibration.fit(names, logits, signs, weights)
    for name in names:
        kinds = [[fitted[name].shape(b).kind for b in range(7)] for fitted in (whole, parts)]
        assert kinds[0] == kinds[1]
        np.testing.assert_allclose(whole[name](logits), parts[name](logits), rtol=0, atol=1e-9)


def test_of_equal_calibrators_the_first_is_taken():
    nll = np.array([[0.5, 0.5, 0.4], [0.5 - 1e-12, 0.3, 0.4], [0.7, 0.3, 0.2]])
    assert calibration.lowest(nll).tolist() == [0, 1, 2]


@pytest.mark.parametrize("fold", [[0, 1], [[0, 1, 0, 1]], [0.0, 1.0, 0.0, 1.0], list("abab")])
def test_folds_are_whole_numbers_one_an_item(fold):
    with pytest.raises(InputError, match=r"whole numbers, one per item.*int \(4,\)"):
        calibration.fit(("temperature",), np.zeros((1, 4)), np.ones(4), fold=fold)


@pytest.mark.parametrize("symmetric", [False, True])
def test_a_part_of_a_fit_is_the_fit_of_those_columns(symmetric):
    rng = np.random.default_rng(6)
    _, signs = column(6, n=50)
    logits = 3.0 * (rng.normal(0.0, 1.0, (6, 50)) + 0.6 * signs)
    logits[4] = 2.0 * signs  # separated: replaced where there is no optimum
    weights = np.ones((6, 50))
    weights[2] = signs > 0
    fits = calibration.fit(calibration.CALIBRATORS, logits, signs, weights, symmetric=symmetric)
    for name, fitted in fits.items():
        whole = fitted(logits)
        for block in (slice(1, 4), slice(4, 99), np.array([5, 2])):
            part = fitted.part(block)
            np.testing.assert_array_equal(part(logits[block]), whole[block])
            np.testing.assert_array_equal(part.replaced, fitted.replaced[block])
            for i, b in enumerate(np.arange(6)[block]):
                assert part.shape(i) == fitted.shape(int(b)), name
