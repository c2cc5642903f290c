"""Two halves of equal judges: our joint test keeps its level, the paper's does not.

A light version of ``benchmarks/label_budget.py``, with its worlds.
"""

import numpy as np
import pytest

from benchmarks.budget_worlds import APART, CURVES, EQUAL, Analyst, check, data_sets

N = 60
SPLITS = 10


def rejections(world, n=N, seed=0):
    """Shares of data sets in which our joint p, and the paper's, is below .05."""
    analyst = Analyst.with_splits(SPLITS)
    result = [analyst.scores(world, ballots) for ballots in data_sets(world, n, seed)]
    ours, papers = (
        np.array([getattr(entry, name)[0, 0] for entry in result])
        for name in ("joint_p", "paper_p")
    )
    assert np.mean([entry.delta.value[0, 0] for entry in result]) != 0.0
    return np.mean(ours < 0.05), np.mean(papers < 0.05)


def test_scores_in_a_batch_are_those_of_the_study():
    check(CURVES[1], next(data_sets(CURVES[1], 1, seed=0)))


@pytest.mark.simulation
def test_equal_panels_are_rarely_told_apart_by_us_and_often_by_the_paper():
    ours, papers = rejections(EQUAL[0])
    assert ours <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / N)
    assert papers > 0.25


@pytest.mark.simulation
def test_panels_that_do_differ_are_told_apart():
    ours, _ = rejections(APART[-1], n=20)
    assert ours > 0.3
