"""Beta calibration against the package of the method's authors."""

import numpy as np
import pytest
from betacal import BetaCalibration

from judgepanel.kernels.calibration import fit, fit_beta, sigmoid
from tests.kernels.test_calibration import column


@pytest.mark.parametrize("seed", range(6))
def test_without_penalty_beta_is_betacal(seed):
    logits, signs = column(seed, n=400, scale=1.5)
    theirs = BetaCalibration("abm").fit(sigmoid(logits)[:, None], (signs > 0).astype(int))
    a, b, _ = theirs.calibrator_.map_
    start = fit(("temperature",), logits[None], signs)["temperature"].params
    (found,), (converged,) = fit_beta(logits[None], signs, None, start=start, penalty=0.0)
    assert converged
    assert a > 0.05  # betacal drops a coefficient at its bound, and then answers another question
    assert b > 0.05
    np.testing.assert_allclose(found[:2], [a, -b], rtol=0, atol=2e-3)
    ours = found[0] * np.log(sigmoid(logits)) + found[1] * np.log(sigmoid(-logits)) + found[2]
    wanted = theirs.predict(sigmoid(logits)[:, None])
    np.testing.assert_allclose(sigmoid(ours), wanted, rtol=0, atol=1e-3)
