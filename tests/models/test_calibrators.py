"""One suite for all calibrators: the kernel at batch size 1, with scikit-learn's conventions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from judgepanel.kernels.calibration import AUTO, CALIBRATORS, FEW_LABELS, GRID, MAPS, fit
from judgepanel.models import calibrator
from judgepanel.scoring.metrics import CLIP
from judgepanel.votes import InputError
from tests.kernels.calibrate.test_calibration import column

WIDE = np.linspace(-700.0, 700.0, 281)


def data(seed=0, scale=6.0, n=120):
    logits, signs = column(seed, n=n, scale=scale)
    return logits, (signs > 0).astype(int), signs


@pytest.mark.parametrize("name", CALIBRATORS)
@pytest.mark.parametrize("symmetric", [False, True])
class TestEveryCalibrator:
    def test_it_is_its_kernel(self, name, symmetric):
        logits, labels, signs = data()
        fold = np.arange(len(logits)) % 4
        model = calibrator(name, symmetric=symmetric).fit(logits, labels, fold=fold)
        kernel = fit((name,), logits[None], signs, symmetric=symmetric, fold=fold)[name]
        assert (model.shape_, model.replaced_) == (kernel.shape(0), kernel.replaced[0])
        np.testing.assert_array_equal(model.transform(WIDE), kernel(WIDE[None])[0])

    def test_probabilities_are_finite_and_sum_to_one(self, name, symmetric):
        logits, labels, _ = data()
        model = calibrator(name, symmetric=symmetric).fit(logits, labels)
        p = model.predict_proba(np.array([-1e4, -1.0, 0.0, 1.0, 1e4]))
        assert p.shape == (5, 2)
        assert ((p >= 0) & (p <= 1)).all()
        np.testing.assert_allclose(p.sum(axis=1), 1.0, atol=1e-15)

    @settings(max_examples=10)
    @given(st.integers(0, 2**32 - 1), st.booleans())
    def test_the_order_of_the_items_does_not_matter(self, name, symmetric, seed, ties):
        rng = np.random.default_rng(seed)
        logits, labels, _ = data(seed, n=60)
        logits = np.round(logits / 4.0) if ties else logits
        weight = rng.integers(0, 3, 60).astype(float)
        moved = rng.permutation(60)
        entry = calibrator(name, symmetric=symmetric).fit(logits, labels, sample_weight=weight)
        other = calibrator(name, symmetric=symmetric).fit(
            logits[moved], labels[moved], sample_weight=weight[moved]
        )
        assert entry.shape_.kind == other.shape_.kind
        new = np.linspace(-9.0, 9.0, 51)
        np.testing.assert_allclose(entry.transform(new), other.transform(new), rtol=1e-7, atol=1e-7)

    def test_it_clones_prints_and_keeps_its_parameters(self, name, symmetric):
        logits, labels, _ = data()
        model = calibrator(name, symmetric=symmetric).fit(logits, labels)
        copy = clone(model)
        assert copy.get_params() == {"symmetric": symmetric}
        assert type(copy) is type(model)
        assert repr(model) == f"{type(model).__name__}({'symmetric=True' if symmetric else ''})"
        with pytest.raises(NotFittedError):
            copy.transform(logits)

    @pytest.mark.parametrize(
        ("logits", "labels", "options", "why"),
        [
            ([1.0, 2.0], [1], {}, "as many labels"),
            ([], [], {}, "at least one"),
            ([1.0, 2.0], [1, 2], {}, "0 or 1"),
            ([1.0, np.inf], [1, 0], {}, "finite"),
            ([1.0, np.nan], [1, 0], {}, "finite"),
            ([[1.0], [2.0]], [1, 0], {}, "flat list"),
            ([1.0, 2.0], [1, 0], {"fold": [1, 2, 3]}, r"folds.*int \(2,\)"),
            ([1.0, 2.0], [1, 0], {"fold": [0.5, 1.0]}, "folds.*whole numbers"),
            ([1.0, 2.0], [1, 0], {"sample_weight": [1.0, -1.0]}, "weights.*at least 0"),
            ([1.0, 2.0], [1, 0], {"sample_weight": [1.0]}, "weights.*one per item"),
        ],
    )
    def test_bad_input_is_refused_in_words(self, name, symmetric, logits, labels, options, why):
        with pytest.raises(InputError, match=why):
            calibrator(name, symmetric=symmetric).fit(logits, labels, **options)

    @pytest.mark.parametrize("logits", [[np.inf], [np.nan], [[1.0]]])
    def test_bad_logits_are_not_scored(self, name, symmetric, logits):
        known, labels, _ = data()
        model = calibrator(name, symmetric=symmetric).fit(known, labels)
        with pytest.raises(InputError, match="flat list of finite logits"):
            model.transform(logits)


def test_isotonic_shows_its_knots_and_stays_inside_the_clip():
    logits, labels, _ = data()
    model = calibrator("isotonic").fit(logits, labels)
    at, p = model.knots_.T
    assert (np.diff(at) > 0).all()
    assert (np.diff(p) >= 0).all()
    proba = model.predict_proba(np.r_[at, -700.0, 700.0])[:, 1]
    np.testing.assert_allclose(proba[:-2], np.clip(p, CLIP, 1 - CLIP), atol=1e-12)
    assert proba.min() >= CLIP - 1e-12
    assert proba.max() <= 1 - CLIP + 1e-12


def test_auto_and_the_cross_validated_beta_show_what_they_chose():
    logits, labels, _ = data()
    few = calibrator("auto").fit(logits[: FEW_LABELS - 1], labels[: FEW_LABELS - 1])
    assert few.chosen_ == "temperature"
    assert not few.replaced_
    assert calibrator("auto").fit(logits, labels).chosen_ in AUTO
    assert calibrator("auto", symmetric=True).fit(logits, labels).chosen_ in set(AUTO) - {"platt"}
    model = calibrator("beta_cv").fit(logits, labels)
    assert model.penalty_ in GRID
    assert model.shape_.penalty == model.penalty_


def test_every_map_shows_its_three_parameters():
    logits, labels, _ = data()
    for name in MAPS:
        model = calibrator(name).fit(logits, labels)
        shape = model.shape_
        assert shape.kind == name
        assert model.params_.tolist() == [shape.a, shape.b, shape.c]


def test_an_unknown_name_is_refused_with_the_known_ones():
    with pytest.raises(InputError, match=r"'magic'.*temperature.*auto"):
        calibrator("magic")
