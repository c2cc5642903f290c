"""P2: every outcome from a curve made by hand, and what undecided curves would need."""

from dataclasses import replace

import numpy as np
import pytest

from judgepanel.scoring.interval import Interval
from judgepanel.studies.trust.scope import (
    SATURATED,
    Saturation,
    check_saturation,
    curve_sizes,
    labels_needed,
)

SIZES = np.arange(2, 21, 2)
LAST, HALF, FIFTH = 8, 4, 1


def line(last, half, fifth, *, se=0.001, outcome=None):
    """A curve with NLL .3 for all 20 judges; ``last``, ``half``, ``fifth`` are NLL(all) - NLL."""
    delta = np.zeros(10)
    delta[[LAST, HALF, FIFTH]] = last, half, fifth
    spread = np.full(10, se)
    lo, hi = delta - 1.66 * spread, delta + 1.66 * spread
    margin = SATURATED * 0.3
    decided = [
        "equivalent"
        if abs(a) < margin and abs(b) < margin
        else "different"
        if a > margin or b < -margin
        else "inconclusive"
        for a, b in zip(lo, hi, strict=True)
    ]
    return Saturation(
        sizes=SIZES,
        nll=Interval(0.3 - delta, 0.2 - delta, 0.4 - delta),
        delta=Interval(delta, lo, hi, level=0.9),
        se=spread,
        p=np.full(10, 0.5),
        outcome=tuple(decided),
        margin=margin,
        last=LAST,
        half=HALF,
        fifth=FIFTH,
    )


def outcome(*deltas, **more):
    return check_saturation(line(*deltas, **more), 400)


def test_a_panel_that_gains_to_its_last_judge_passes():
    result = outcome(-0.01, -0.05, -0.1)
    assert result.outcome == "pass"
    assert "-25.0 % [" in result.why


def test_a_panel_whose_last_tenth_cannot_be_decided_passes_on_its_course_and_says_so():
    result = outcome(-0.003, -0.05, -0.1, se=0.01)
    assert result.outcome == "pass"
    assert "undecided against 1 %" in result.why
    assert result.numbers["labels that would decide the last tenth"] > 10_000


def test_a_last_tenth_that_moves_nothing_is_saturation():
    result = outcome(0.0, -0.05, -0.1, se=0.0005)
    assert result.outcome == "review"
    assert "saturated" in result.why


def test_a_last_tenth_that_costs_fails():
    result = outcome(0.01, -0.05, -0.1)
    assert result.outcome == "fail"
    assert "The last 2 judges cost" in result.why


def test_a_worse_half_that_costs_fails():
    result = outcome(-0.01, 0.02, -0.1)
    assert result.outcome == "fail"
    assert "better half" in result.why


def test_an_estimate_that_turns_is_a_review_with_the_labels_it_needs():
    result = outcome(-0.01, 0.02, -0.1, se=0.02)
    assert result.outcome == "review"
    assert "stops gaining" in result.why
    assert "labelled items would decide it; there are 400" in result.advice


def test_a_gain_that_is_not_shown_is_a_review():
    result = outcome(-0.01, -0.01, -0.02, se=0.02)
    assert result.outcome == "review"
    assert "Nothing shows that all judges beat the best fifth" in result.why
    assert "labelled items would decide it" in result.advice


def test_no_number_of_labels_is_promised_for_a_gain_of_the_wrong_sign():
    assert "no number of labels" in outcome(0.002, 0.001, 0.01, se=0.02).advice


def test_four_judges_have_no_last_tenth():
    few = replace(line(0, 0, 0), sizes=np.arange(-5, 5))
    assert check_saturation(few, 400).outcome == "not applicable"


def test_a_single_split_decides_nothing():
    one_line = replace(line(-0.01, -0.05, -0.1), se=np.full(10, np.nan))
    assert check_saturation(one_line, 400).outcome == "review"


@pytest.mark.parametrize("n", [1, 2, 5, 7, 24, 65, 148])
def test_the_curve_ends_at_all_and_holds_its_marks(n):
    sizes = curve_sizes(n)
    assert sizes[-1] == n
    assert sizes[0] >= 1
    assert {max(1, n - max(1, int(0.1 * n + 0.5))), max(1, int(0.5 * n + 0.5))} <= set(sizes)
    assert (np.diff(sizes) > 0).all()


def test_labels_needed_give_a_power_of_80_per_cent():
    n = labels_needed(0.01, 0.01, 100)
    reach = (1.645 + 0.842) ** 2
    assert 100 * reach <= n <= 110 * reach
    assert labels_needed(0.02, 0.01, 100) < n
