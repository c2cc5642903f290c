"""Recommendations where the truth is known."""

from dataclasses import replace

import numpy as np
import pytest

from judgepanel.decision.recommend import RECOMMEND, RecommendSpec
from judgepanel.studies.contract import Settings
from judgepanel.studies.decide.what_if import WHAT_IF, WhatIfSpec
from judgepanel.studies.runner import run
from tests.helpers import make_votes

SETTINGS = Settings(splits=3)
SPEC = RecommendSpec(SETTINGS, folds=3)


def independent(seed, accuracies, n_items=200):
    """One-coin judges that err independently."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 2, n_items).astype(np.int8)
    right = rng.random((n_items, len(accuracies))) < np.array(accuracies)
    votes = np.where(right, labels[:, None], 1 - labels[:, None]).astype(np.int8)
    return with_judges(labels, votes)


def with_judges(labels, votes):
    return replace(make_votes(0, len(labels), votes.shape[1]), labels=labels, votes=votes)


def joined(votes, more):
    """The same items with more judges."""
    return with_judges(votes.labels, np.concatenate([votes.votes, more], axis=1))


def recommended(votes):
    return run(RECOMMEND, votes, SPEC, jobs=1)


@pytest.mark.parametrize("seed", range(2))
def test_no_panel_is_called_better_than_everybody_among_equal_judges(seed):
    result = recommended(independent(seed, [0.68] * 12))
    best = {(c.aggregator, c.calibrator): c for c in result.candidates if c.panel == "all"}
    for candidate in result.candidates[:-1]:
        rival = best[candidate.aggregator, candidate.calibrator]
        assert not (candidate.delta.hi < rival.delta.lo and candidate.panel != "all")
    assert result.chosen.k >= 10


@pytest.mark.parametrize("seed", range(2))
def test_everybody_is_kept_where_anti_experts_inform(seed):
    result = recommended(independent(seed, [0.75] * 6 + [0.25] * 6))
    assert result.chosen.k == 12
    top = next(c for c in result.candidates if c.panel == "top half (6)")
    assert top.nll.value > result.nll.value


def test_judges_of_pure_noise_do_no_harm():
    votes = independent(5, [0.75] * 8)
    noisy = joined(votes, np.random.default_rng(6).integers(0, 2, (200, 12)).astype(np.int8))
    alone, among = recommended(votes), recommended(noisy)
    assert among.nll.value < alone.nll.value + 0.04


def test_exact_copies_of_a_judge_leave_the_nll_of_the_recommended_panel_where_it_was():
    votes = independent(7, [0.7] * 7 + [0.8])
    copied = joined(votes, np.repeat(votes.votes[:, -1:], 6, axis=1))
    alone, among = recommended(votes), recommended(copied)
    assert among.nll.value == pytest.approx(alone.nll.value, abs=0.03)

    def raw_sum(these):
        spec = WhatIfSpec(SETTINGS, aggregator="one_coin", calibrator="none")
        return run(WHAT_IF, these, spec, jobs=1).kept.nll.value

    assert raw_sum(copied) > raw_sum(votes) + 0.05
