"""One test suite for all calibrators: the kernel at batch size 1, with scikit-learn manners."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from judgepanel.kernels.calibration import CALIBRATORS, fit
from judgepanel.models import calibrator
from judgepanel.votes import InputError
from tests.kernels.test_calibration import column


def data(seed=0, scale=6.0):
    logits, signs = column(seed, n=120, scale=scale)
    return logits, (signs > 0).astype(int), signs


@pytest.mark.parametrize("name", CALIBRATORS)
@pytest.mark.parametrize("symmetric", [False, True])
class TestEveryCalibrator:
    def test_it_is_its_kernel(self, name, symmetric):
        logits, labels, signs = data()
        model = calibrator(name, symmetric=symmetric).fit(logits, labels)
        kernel = fit((name,), logits[None], signs, symmetric=symmetric)[name]
        np.testing.assert_array_equal(model.params_, kernel.params[0])
        assert model.replaced_ == kernel.replaced[0]
        unseen = np.linspace(-700.0, 700.0, 41)
        np.testing.assert_array_equal(model.transform(unseen), kernel(unseen[None])[0])

    def test_probabilities_are_finite_and_sum_to_one(self, name, symmetric):
        logits, labels, _ = data()
        model = calibrator(name, symmetric=symmetric).fit(logits, labels)
        p = model.predict_proba(np.array([-1e4, -1.0, 0.0, 1.0, 1e4]))
        assert ((p >= 0) & (p <= 1)).all()
        np.testing.assert_allclose(p.sum(axis=1), 1.0, atol=1e-15)

    def test_a_symmetric_map_is_odd(self, name, symmetric):
        logits, labels, _ = data()
        model = calibrator(name, symmetric=symmetric).fit(logits, labels)
        x = np.linspace(-9.0, 9.0, 19)
        odd = np.array_equal(model.transform(x), -model.transform(-x))
        assert odd or not symmetric

    def test_it_clones_and_keeps_its_parameters(self, name, symmetric):
        logits, labels, _ = data()
        model = calibrator(name, symmetric=symmetric).fit(logits, labels)
        copy = clone(model)
        assert copy.get_params() == {"symmetric": symmetric}
        assert type(copy) is type(model)
        with pytest.raises(NotFittedError):
            copy.transform(logits)

    @pytest.mark.parametrize(
        ("logits", "labels", "why"),
        [
            ([1.0, 2.0], [1], "as many labels"),
            ([], [], "at least one"),
            ([1.0, 2.0], [1, 2], "0 or 1"),
            ([1.0, np.inf], [1, 0], "finite"),
            ([1.0, np.nan], [1, 0], "finite"),
            ([[1.0], [2.0]], [1, 0], "flat list"),
        ],
    )
    def test_bad_input_is_refused_in_words(self, name, symmetric, logits, labels, why):
        with pytest.raises(InputError, match=why):
            calibrator(name, symmetric=symmetric).fit(logits, labels)


def test_a_replaced_platt_says_so():
    model = calibrator("platt").fit([-1.0, 1.0, 2.0], [0, 1, 1])
    assert model.replaced_
    temperature = calibrator("temperature").fit([-1.0, 1.0, 2.0], [0, 1, 1])
    np.testing.assert_array_equal(model.params_, temperature.params_)


def test_calibrating_an_overconfident_score_lowers_its_nll():
    logits, labels, signs = data(3, scale=20.0)
    raw = np.logaddexp(0, -signs * logits).mean()
    for name in ("temperature", "platt", "beta"):
        calibrated = calibrator(name).fit(logits, labels).transform(logits)
        assert np.logaddexp(0, -signs * calibrated).mean() < raw


def test_an_unknown_name_is_refused_with_the_known_ones():
    with pytest.raises(InputError, match=r"'magic'.*temperature"):
        calibrator("magic")
