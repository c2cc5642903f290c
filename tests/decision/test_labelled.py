"""Figures on the labels of a new file: which labels count, and intervals of NLL with few errors."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from judgepanel.decision import score, training_items
from judgepanel.words.outputs import labelled_sentence
from tests.helpers import make_votes


def figures_of(labels, p, seen=None, groups=None, symmetric=False):
    n = len(labels)
    rows = np.zeros(n, bool) if seen is None else seen
    votes = replace(
        make_votes(0, n, 3), task="pairwise", labels=np.asarray(labels, np.int8), groups=groups
    )
    none = np.zeros(n, bool)
    known, p = training_items.Seen(rows, none, wholly=False, checked=True), np.asarray(p, float)
    return score.labelled_figures(votes, p, known, none, null=0.5, symmetric=symmetric)


def test_only_the_labels_that_the_figures_use_say_whether_they_are_alike():
    balanced, alike = np.arange(60) % 2, np.ones(40)
    labels = np.concatenate([balanced, alike])
    p = np.full(100, 0.7)
    old = np.arange(100) < 60
    figures = figures_of(labels, p, seen=old)
    assert figures.n == 40
    assert figures.measures_coding
    assert "measures the coding" in labelled_sentence(figures)
    assert not figures_of(labels, p, seen=~old).measures_coding
    assert not figures_of(labels, p, seen=old, symmetric=True).measures_coding
    assert not figures_of(labels, p, seen=np.ones(100, bool)).measures_coding


def test_without_wrong_answers_the_panels_own_probabilities_give_the_spread():
    figures = figures_of(np.ones(20), np.full(20, 0.98))
    own = 0.98 * 0.02 * np.log(0.98 / 0.02) ** 2
    reach = stats.t.ppf(0.975, 19) * np.sqrt(own / 20)
    assert figures.figures.nll.hi == pytest.approx(-np.log(0.98) + reach)
    assert (figures.figures.nll.lo, figures.figures.n_wrong) == (pytest.approx(-np.log(0.999)), 0)
    assert "rests on 0 wrong answers" in labelled_sentence(figures)


def test_items_of_a_group_are_right_or_wrong_together():
    groups = tuple(f"g{i // 5}" for i in range(20))
    figures = figures_of(np.ones(20), np.full(20, 0.98), groups=groups).figures
    own = 0.98 * 0.02 * np.log(0.98 / 0.02) ** 2
    reach = stats.t.ppf(0.975, 3) * np.sqrt(own / 4)
    assert figures.nll.hi == pytest.approx(-np.log(0.98) + reach)


def test_no_panel_is_sure_of_a_smaller_loss_than_its_probabilities_allow():
    for p in (0.999, 0.9):
        figures = figures_of(np.ones(5), np.full(5, p)).figures
        assert 0 < figures.nll.lo <= figures.nll.value <= figures.nll.hi


def test_a_larger_spread_between_groups_is_kept():
    labels = np.repeat(np.arange(10) % 2, 10)
    groups = tuple(f"g{i // 10}" for i in range(100))
    losses = -np.log(np.where(labels == 1, 0.8, 0.2))
    figures = figures_of(labels, np.full(100, 0.8), groups=groups).figures
    se = losses[::10].std(ddof=1) / 10**0.5
    assert figures.nll.hi - figures.nll.value == pytest.approx(stats.t.ppf(0.975, 9) * se)


@pytest.mark.parametrize(
    ("wrong", "says"), [(1, "1 wrong answer,"), (9, "9 wrong answers,"), (10, None)]
)
def test_fewer_than_ten_wrong_answers_are_said(wrong, says):
    sentence = labelled_sentence(figures_of(np.arange(100) >= wrong, np.full(100, 0.9)))
    assert ("rests on" in sentence) == (says is not None)
    assert says is None or f"It rests on {says}" in sentence


def test_intervals_of_an_accurate_panel_hold_the_truth():
    """Difficulty varies, p is calibrated, accuracy about .98: the sample variance alone covers
    about half of the time at n = 20.
    """
    rng = np.random.default_rng(0)
    p_all = (1 / (1 + np.exp(-rng.normal(6, 2, 100_000)))).clip(0.001, 0.999)
    truth = -np.mean(p_all * np.log(p_all) + (1 - p_all) * np.log1p(-p_all))
    held = 0
    for _ in range(300):
        p = rng.choice(p_all, 20)
        figures = figures_of(rng.random(20) < p, p).figures
        held += figures.nll.lo <= truth <= figures.nll.hi
    assert held >= 0.85 * 300
