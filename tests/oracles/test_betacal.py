"""Beta calibration without penalty against the package of the method's authors."""

import numpy as np
import pytest
from betacal import BetaCalibration

from judgepanel.kernels.calibration import fit
from judgepanel.kernels.maps import sigmoid
from tests.kernels.calibrate.test_calibration import column


def both(logits, signs):
    """Their a, b and probabilities, our parameters and probabilities."""
    p = sigmoid(logits)
    theirs = BetaCalibration("abm").fit(p[:, None], (signs > 0).astype(int))
    ours = fit(("beta_free",), logits[None], signs)["beta_free"]
    assert not ours.replaced[0]
    return (
        theirs.calibrator_.map_[:2],
        theirs.predict(p),
        ours.params[0],
        sigmoid(ours(logits[None])[0]),
    )


@pytest.mark.parametrize("seed", range(6))
def test_inside_the_bounds_it_is_betacal(seed):
    (a, b), wanted, params, result = both(*column(seed, n=400, scale=1.5))
    assert min(a, b) > 0.05
    np.testing.assert_allclose(params[:2], [a, -b], rtol=0, atol=2e-3)
    np.testing.assert_allclose(result, wanted, rtol=0, atol=1e-3)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("reverse", [False, True])
def test_where_one_slope_would_turn_negative_both_drop_it(seed, reverse):
    """The bounded optimum then has that slope at 0, and betacal fits the other one again."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(0.0, 2.0, 600)
    truth = -0.4 * -np.logaddexp(0, -logits) + 1.6 * np.logaddexp(0, logits) - 1.5
    signs = np.where(rng.random(600) < sigmoid(truth), 1.0, -1.0)
    if reverse:
        logits, signs = -logits, -signs
    (a, b), wanted, params, result = both(logits, signs)
    assert min(a, b) == 0.0
    assert max(a, b) > 0.05
    np.testing.assert_allclose(params[:2], [a, -b], rtol=0, atol=2e-3)
    np.testing.assert_allclose(result, wanted, rtol=0, atol=1e-3)
