"""Judges or items: the verdict follows the truth, and orientation does not matter."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit

from judgepanel.kernels.irt import fit_two_pl
from judgepanel.present.paper.theory import (
    VARIANCE_DECOMPOSITION,
    VarianceDecompositionSpec,
)
from judgepanel.studies.contract import Settings
from judgepanel.studies.results import combine
from judgepanel.studies.runner import run
from judgepanel.votes import InputError
from judgepanel.votes.load import load_votes
from tests.helpers import flip_items, larger, make_votes


def panel(seed=0, n_items=300, n_judges=25, *, sigma=1.0, missing=0.05, groups=0):
    """Votes of judges whose correctness follows the model, with balanced labels."""
    rng = np.random.default_rng(seed)
    votes = make_votes(seed, n_items, n_judges, missing=missing, groups=groups)
    theta, alpha = rng.normal(0.8, sigma, n_judges), np.exp(rng.normal(0.3, 0.3, n_judges))
    p = expit(alpha * (theta - rng.normal(size=n_items)[:, None]))
    right = rng.random(p.shape) < p
    cast = np.where(right, votes.labels[:, None], 1 - votes.labels[:, None])
    return replace(votes, votes=np.where(votes.votes < 0, -1, cast).astype(np.int8))


def decomposed(votes, **settings):
    return run(VARIANCE_DECOMPOSITION, votes, VarianceDecompositionSpec(Settings(**settings)))


@pytest.mark.parametrize(("sigma", "verdict"), [(0.2, "items"), (3.0, "judges")])
def test_the_verdict_names_what_varies_more(sigma, verdict):
    result = decomposed(panel(1, sigma=sigma))
    assert (result.verdict, result.item_share) == (verdict, 1 - result.judge_share.value)


def test_a_few_judges_leave_it_undecided():
    result = decomposed(panel(2, 60, 4))
    assert result.verdict == "undecided"
    assert any("hardly known" in line for line in result.warnings)


def test_there_is_one_round_whatever_the_number_of_splits():
    votes = panel(3, 80, 6)
    assert len(VARIANCE_DECOMPOSITION.plan(VarianceDecompositionSpec(Settings(splits=100)))) == 1
    few, many = (decomposed(votes, splits=splits).judge_share for splits in (5, 50))
    assert few.value == many.value
    fit = fit_two_pl(np.ones((3, 2), np.int8))
    np.testing.assert_array_equal(combine(fit, fit).theta, fit.theta)


def test_labels_of_one_class_are_no_obstacle():
    votes = panel(5, 120, 8)
    coded = flip_items(votes, votes.labels == 0)
    assert decomposed(coded).judge_share.value == pytest.approx(
        decomposed(votes).judge_share.value, abs=1e-9
    )


def test_constant_judges_stay_aside_where_the_orientation_sets_them_aside():
    votes = panel(6, 120, 8)
    cast = votes.votes.copy()
    cast[:, 2] = 1
    result = decomposed(replace(votes, votes=cast), orientation="symmetric")
    assert votes.judges[2] not in result.judges
    assert any("set aside" in line for line in result.warnings)


def test_unlabelled_items_play_no_part():
    votes = panel(8, 120, 7)
    labels = votes.labels.copy()
    labels[:20] = -1
    part = decomposed(replace(votes, labels=labels))
    assert part.n_items == 100
    result = decomposed(votes.with_items(np.arange(20, 120)))
    assert part.judge_share.value == result.judge_share.value


def test_groups_widen_the_interval_and_are_counted():
    whole = panel(9, 200, 40)
    names = tuple(f"g{i // 20}" for i in range(200))
    alone, grouped = decomposed(whole), decomposed(replace(whole, groups=names))
    assert (alone.n_groups, grouped.n_groups) == (200, 10)
    assert grouped.judge_share.value == alone.judge_share.value
    assert grouped.judge_share.hi != alone.judge_share.hi


def test_the_table_has_a_row_a_judge_ablest_first():
    votes = panel(10, 150, 9)
    frame = decomposed(votes).frame()
    assert sorted(frame["judge"]) == sorted(votes.judges)
    assert frame["ability"].is_monotonic_decreasing
    for name in ("ability", "discrimination"):
        assert (frame[f"{name}_lo"] < frame[name]).all()
        assert (frame[name] < frame[f"{name}_hi"]).all()
    assert (frame["discrimination"] > 0).all()
    row = frame[frame["judge"] == votes.judges[0]].iloc[0]
    voted = votes.votes[:, 0] >= 0
    assert row["voted"] == voted.sum()
    assert row["correct"] == (votes.votes[voted, 0] == votes.labels[voted]).sum()


def test_ability_goes_with_accuracy_where_discriminations_are_alike():
    result = decomposed(panel(11))
    assert result.ability_accuracy is not None
    assert result.ability_accuracy > 0.95


def test_the_parts_of_the_logit_variance_are_shares():
    result = decomposed(panel(12, 100, 8))
    parts = (result.logit_judges, result.logit_items, result.logit_interaction)
    assert sum(parts) == pytest.approx(1.0)
    assert min(parts) > 0


def test_one_judge_and_judges_that_are_always_right_give_finite_figures():
    votes = panel(14, 60, 3)
    right = np.repeat(votes.labels[:, None], 3, axis=1)
    for odd in (votes.with_judges(votes.judges[:1]), replace(votes, votes=right.astype(np.int8))):
        result = decomposed(odd, judges=odd.judges)
        numbers = result.frame().select_dtypes("number").to_numpy()
        assert np.isfinite(numbers).all()
        assert 0 <= result.judge_share.lo <= result.judge_share.hi <= 1


def test_without_votes_on_labelled_items_nothing_can_be_said():
    empty = replace(panel(15, 20, 3), votes=np.full((20, 3), -1, np.int8))
    with pytest.raises(InputError, match="no judge has voted on a labelled item"):
        decomposed(empty)


@pytest.mark.parametrize(
    ("name", "share", "verdict"), [("llmbar", 0.28, "items"), larger("mozafari", 0.05, "items")]
)
def test_on_real_votes_items_vary_more_than_judges(real_votes, name, share, verdict):
    result = decomposed(load_votes(real_votes(f"{name}_votes.csv")).votes)
    assert result.converged
    assert (result.judge_share.value, result.verdict) == (pytest.approx(share, abs=0.02), verdict)
