"""Agreement beyond chance: what is not defined, swaps, blocks, and simulated coverage."""

import numpy as np
import pytest

from judgepanel.distributions import t_ppf
from judgepanel.scoring import descriptive


def votes_of(seed, n=60, judges=5, missing=0.2):
    rng = np.random.default_rng(seed)
    truth = rng.choice([-1, 1], n, p=[0.3, 0.7])
    votes = np.where(rng.random((n, judges)) < 0.75, truth[:, None], -truth[:, None])
    return np.where(rng.random((n, judges)) < missing, 0, votes).astype(np.int8)


def counts_of(votes, other):
    return descriptive.pair_counts(votes, other[:, None], np.zeros(len(votes), dtype=np.int64))[0]


def test_what_is_not_defined_is_nan():
    ones, one_block = np.ones((10, 3), dtype=np.int8), np.zeros(10, dtype=np.int64)
    assert np.isnan(descriptive.kappa(counts_of(ones[:, 1:], ones[:, 0]))).all()
    assert np.isnan(descriptive.alpha(descriptive.item_counts(ones, one_block)[0]))
    assert np.isnan(descriptive.kappa(counts_of(0 * ones[:, :1], ones[:, 0]))).all()


def test_blocks_keep_units_together_and_are_even():
    units = np.repeat(np.arange(40), 5)
    blocks = descriptive.blocks_of(units, most=10)
    assert all(len(set(blocks[units == unit])) == 1 for unit in range(40))
    assert np.bincount(blocks).tolist() == [20] * 10


def test_the_quantile_that_spares_an_import_is_that_of_student():
    # Older versions of scipy round this quantile at the tenth digit.
    assert t_ppf(0.975, descriptive.MOST_BLOCKS - 1.0) == pytest.approx(descriptive.T_95, rel=1e-10)


def test_agreement_with_labels_counts_every_pair_with_its_swap_if_asked():
    votes = votes_of(4)
    labels, units = np.where(np.arange(60) % 3, 1, -1).astype(np.int8), np.arange(60)
    swapped = descriptive.with_labels(-votes, -labels, units, symmetric=True)
    ours = descriptive.with_labels(votes, labels, units, symmetric=True)
    assert ours.kappa.value.tolist() == pytest.approx(swapped.kappa.value.tolist())
    assert ours.alpha.value == pytest.approx(swapped.alpha.value)
    plain = descriptive.with_labels(votes, labels, units)
    assert plain.kappa.value.tolist() == descriptive.kappa(counts_of(votes, labels)).tolist()


@pytest.mark.simulation
def test_intervals_hold_what_more_items_would_show():
    """Of 400 files of 150 items 91 % to 98 % hold; two standard errors are 2.2 %."""
    many = votes_of(3, 200_000)
    one = np.zeros(len(many), dtype=np.int64)
    counts, measures = counts_of(many[:, 1:2], many[:, 0]), (descriptive.kappa, descriptive.ac1)
    alpha = descriptive.alpha(descriptive.item_counts(many, one)[0])
    truth = [*(measure(counts)[0] for measure in measures), alpha]
    held = np.zeros(3)
    for seed in range(400):
        votes = votes_of(1000 + seed, 150)
        blocks = descriptive.blocks_of(np.arange(150))
        pairs = descriptive.pair_counts(votes[:, 1:2], votes[:, :1], blocks)
        intervals = [descriptive.jackknifed(measure, pairs)[0] for measure in measures]
        of_items = descriptive.item_counts(votes, blocks)
        intervals.append(descriptive.jackknifed(descriptive.alpha, of_items))
        held += [lo <= value <= hi for value, (_, lo, hi) in zip(truth, intervals, strict=True)]
    assert ((held / 400 >= 0.91) & (held / 400 <= 0.98)).all(), held / 400
