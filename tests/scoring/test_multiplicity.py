"""Several tests at once: Holm's p-values and Bonferroni's widths."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from judgepanel.scoring.inference import Estimate
from judgepanel.scoring.multiplicity import bonferroni_reach, holm


def holm_by_steps(p, alpha):
    """Which of the p-values the step-down procedure rejects, smallest first."""
    order = np.argsort(p, kind="stable")
    rejected = np.zeros(len(p), dtype=bool)
    for step, i in enumerate(order):
        if p[i] > alpha / (len(p) - step):
            break
        rejected[i] = True
    return rejected


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8), st.sampled_from([0.01, 0.05, 0.2]))
def test_an_adjusted_p_is_at_most_alpha_where_the_step_down_test_rejects(p, alpha):
    adjusted = holm(p)
    clear = np.abs(adjusted - alpha) > 1e-12
    np.testing.assert_array_equal((adjusted <= alpha)[clear], holm_by_steps(p, alpha)[clear])
    assert (adjusted >= np.array(p)).all()
    assert (adjusted <= 1).all()


def test_the_example_by_hand_and_what_was_not_tested():
    np.testing.assert_allclose(holm([0.01, 0.04, 0.03]), [0.03, 0.06, 0.06])
    result = holm([np.nan, 0.02, 0.5])
    assert np.isnan(result[0])
    np.testing.assert_allclose(result[1:], [0.04, 0.5])


def test_bonferroni_widens_students_interval_for_several_places():
    blank = np.zeros(2)
    fitted = Estimate(
        blank, np.array([1.0, 2.0]), np.array([9.0, 30.0]), blank, blank, blank, blank
    )
    assert bonferroni_reach(fitted, 1)[0] == pytest.approx(stats.t.ppf(0.975, 9))
    assert bonferroni_reach(fitted, 5)[1] == pytest.approx(2 * stats.t.ppf(0.995, 30))
