"""Cross-fitting: which rows each fit uses, and that no score depends on its own label."""

from dataclasses import replace
from unittest.mock import Mock

import numpy as np
import pytest

from judgepanel.kernels import prefixes, threads
from judgepanel.kernels.aggregation import AGGREGATORS, cross_fits, panel_scores
from judgepanel.kernels.prefixes import counts, cross_fitted, one_coin_weight, rank
from judgepanel.scoring.splits import Split
from tests.helpers import make_ballots

BY_SIZE = ("calibration", "calibration_empty", "evaluation", "evaluation_empty")
CROSS_FITTED = tuple(name for name in AGGREGATORS if cross_fits(name))


def one_coin_kernel(ballots, fits, ks, ranking):
    """The closed form, refitted: what a kernel of the contract does, in a few lines."""
    kernel = []
    for fit in fits:
        order = rank(ballots, fit.learn, ranking)
        weights = one_coin_weight(*counts(ballots, fit.learn))[order]
        sums = np.cumsum(ballots.votes[fit.score][:, order] * weights, axis=1)
        kernel.append(sums[:, ks - 1].T)
    return kernel


def halves(ballots):
    rows = np.arange(ballots.n_items)
    even = ballots.units % 2 == 0
    return Split(0, rows[even], rows[~even])


def scored(ballots, split, ks, **options):
    given = {"ranking": "accuracy", "own_label": "removed", "seed": 3, "key": (0, 4)}
    return cross_fitted(ballots, split, ks, one_coin_kernel, **{**given, **options})


@pytest.mark.parametrize("groups", [0, 9])
def test_every_fold_is_scored_by_a_fit_that_never_saw_it(groups):
    ballots = make_ballots(1, 60, 5, missing=0.6, groups=groups)
    split, ks = halves(ballots), np.array([1, 3, 5])
    result = scored(ballots, split, ks)
    for number in np.unique(result.fold):
        own = result.fold == number
        learn, score = split.calibration[~own], split.calibration[own]
        assert not set(ballots.units[learn]) & set(ballots.units[score])
        order = rank(ballots, learn)
        weights = one_coin_weight(*counts(ballots, learn))[order]
        cast = ballots.votes[score][:, order]
        sums = np.cumsum(cast * weights, axis=1)[:, ks - 1].T
        np.testing.assert_array_equal(result.calibration[:, own], sums)
        silent = (np.cumsum(np.abs(cast), axis=1) == 0)[:, ks - 1].T
        np.testing.assert_array_equal(result.calibration_empty[:, own], silent)
    assert result.order.tolist() == rank(ballots, split.calibration).tolist()


def test_the_paper_s_protocol_scores_calibration_rows_with_the_fit_that_saw_them():
    ballots = make_ballots(2, 50, 4)
    split, ks = halves(ballots), np.array([2, 4])
    result = scored(ballots, split, ks, own_label="seen")
    order = rank(ballots, split.calibration)
    weights = one_coin_weight(*counts(ballots, split.calibration))[order]
    for rows, logits in (
        (split.calibration, result.calibration),
        (split.evaluation, result.evaluation),
    ):
        sums = np.cumsum(ballots.votes[rows][:, order] * weights, axis=1)[:, ks - 1].T
        np.testing.assert_array_equal(logits, sums)


def test_folds_follow_seed_and_key_alone():
    ballots = make_ballots(3, 60, 4)
    split, ks = halves(ballots), np.array([4])
    again = scored(ballots, split, ks)
    np.testing.assert_array_equal(scored(ballots, split, ks).fold, again.fold)
    assert (scored(ballots, split, ks, seed=4).fold != again.fold).any()
    assert (scored(ballots, split, ks, key=(1, 4)).fold != again.fold).any()


@pytest.mark.parametrize("name", CROSS_FITTED)
@pytest.mark.parametrize("symmetric", [False, True])
def test_flipping_the_labels_of_a_fold_moves_none_of_its_scores(name, symmetric):
    ballots = replace(make_ballots(4, 60, 6), symmetric=symmetric)
    split, ks = halves(ballots), np.array([2, 6])
    before = panel_scores(ballots, split, ks, aggregator=name)
    fold = before.fold == 2
    signs = ballots.signs.copy()
    signs[split.calibration[fold]] *= -1
    after = panel_scores(replace(ballots, signs=signs), split, ks, aggregator=name)
    # Fits are made in batches, and how long the others take moves a fit's last bits.
    np.testing.assert_allclose(
        after.calibration[:, fold], before.calibration[:, fold], rtol=0, atol=1e-9
    )
    if name != "dawid_skene":  # it learns from votes; labels only rank
        assert (after.evaluation != before.evaluation).any()


@pytest.mark.parametrize("name", AGGREGATORS)
@pytest.mark.parametrize("symmetric", [False, True])
def test_labels_and_votes_of_evaluation_rows_move_no_other_score(name, symmetric):
    ballots = replace(make_ballots(5, 60, 6), symmetric=symmetric)
    split, ks = halves(ballots), np.array([3, 6])
    before = panel_scores(ballots, split, ks, aggregator=name)
    votes, signs = ballots.votes.copy(), ballots.signs.copy()
    signs[split.evaluation] *= -1
    votes[split.evaluation[1:]] *= -1
    after = panel_scores(replace(ballots, votes=votes, signs=signs), split, ks, aggregator=name)
    np.testing.assert_array_equal(after.calibration, before.calibration)
    np.testing.assert_array_equal(after.evaluation[:, 0], before.evaluation[:, 0])


@pytest.mark.parametrize("name", AGGREGATORS)
def test_under_symmetric_a_swapped_item_gets_the_opposite_score(name):
    ballots = replace(make_ballots(6, 60, 6), symmetric=True)
    split, ks = halves(ballots), np.array([1, 6])
    flip = np.where(np.random.default_rng(0).random(60) < 0.5, -1, 1).astype(np.int8)
    swapped = replace(ballots, votes=ballots.votes * flip[:, None], signs=ballots.signs * flip)
    before = panel_scores(ballots, split, ks, aggregator=name)
    after = panel_scores(swapped, split, ks, aggregator=name)
    for side, rows in (("calibration", split.calibration), ("evaluation", split.evaluation)):
        wanted = getattr(before, side) * flip[rows]
        np.testing.assert_allclose(getattr(after, side), wanted, rtol=0, atol=1e-6)


@pytest.mark.parametrize("name", AGGREGATORS)
def test_random_labels_leave_nothing_to_find(name):
    """Own labels correlate with no left-out score: in-sample scores of weak judges would."""
    rng = np.random.default_rng(7)
    gaps = []
    for _ in range(8):
        ballots = make_ballots(int(rng.integers(1e6)), 80, 30, missing=0.1)
        signs = rng.permuted(np.repeat(np.array([-1, 1], np.int8), 40))
        split = Split(0, np.arange(60), np.arange(60, 80))
        result = panel_scores(
            replace(ballots, signs=signs), split, np.array([10]), aggregator=name
        ).calibration[0]
        own = signs[:60]
        spread = result.std() + 1e-12
        gaps.append((result[own > 0].mean() - result[own < 0].mean()) / spread)
    # Left-out scores may lean against their own label, never towards it.
    assert np.mean(gaps) < 2.0 * 2.0 / np.sqrt(60 * len(gaps))


def test_no_fit_is_made_that_scores_nothing():
    ballots, ks = make_ballots(4, 40, 5), np.array([2, 5])
    split, fits = halves(ballots), []

    def kernel(ballots, given, ks, ranking):
        fits.extend(given)
        return one_coin_kernel(ballots, given, ks, ranking)

    nothing = replace(split, evaluation=split.evaluation[:0])
    options = {"ranking": "accuracy", "own_label": "removed", "seed": 3, "key": (0, 4)}
    result = cross_fitted(ballots, nothing, ks, kernel, **options)
    wanted = scored(ballots, split, ks)
    assert all(len(fit.score) for fit in fits)
    for name in ("order", "calibration", "calibration_empty", "fold"):
        np.testing.assert_array_equal(getattr(result, name), getattr(wanted, name))


@pytest.mark.parametrize("aggregator", CROSS_FITTED)
def test_panels_that_were_fitted_in_a_split_are_not_fitted_again(aggregator, monkeypatch):
    ballots = make_ballots(6, 60, 6)
    split, together = halves(ballots), aggregator.startswith("dawid_skene")
    ks = np.array([1, 3, 6])
    first = panel_scores(ballots, split, ks, aggregator=aggregator)
    expected = {name: getattr(first, name).copy() for name in BY_SIZE}
    first.calibration[:] = np.nan  # Whoever changes what they were given changes nothing in memory.
    fitted = []

    def counted(*given, ks, **options):
        fitted.append(ks.tolist())
        return cross_fitted(*given, ks=ks, **options)

    monkeypatch.setattr(prefixes, "cross_fitted", counted)
    again = panel_scores(replace(ballots), split, ks, aggregator=aggregator)
    assert not fitted
    for name, values in expected.items():
        np.testing.assert_array_equal(getattr(again, name), values)
    more = panel_scores(ballots, split, np.array([3, 4, 6]), aggregator=aggregator)
    assert fitted == [[3, 4, 6] if together else [4]]
    threads.SHARED.clear()
    alone = panel_scores(ballots, split, np.array([3, 4, 6]), aggregator=aggregator)
    for name in BY_SIZE:
        np.testing.assert_array_equal(getattr(more, name), getattr(alone, name))


@pytest.mark.parametrize(
    "changed",
    [
        {"signs": lambda b: -b.signs},
        {"votes": lambda b: -b.votes},
        {"units": lambda b: b.units // 2},
        {"symmetric": lambda _: True},
        {"unlabelled": lambda b: b.votes},
        {"margins": lambda b: np.ones(b.votes.shape)},
    ],
    ids=lambda changed: next(iter(changed)),
)
def test_other_data_are_fitted_again(changed, monkeypatch):
    ballots = make_ballots(7, 60, 4)
    split, ks = halves(ballots), np.array([2, 4])
    other = replace(ballots, **{name: change(ballots) for name, change in changed.items()})
    panel_scores(ballots, split, ks, aggregator="stacking")
    monkeypatch.setattr(prefixes, "cross_fitted", Mock(side_effect=LookupError))
    panel_scores(replace(ballots), split, ks, aggregator="stacking")
    with pytest.raises(LookupError):
        panel_scores(other, split, ks, aggregator="stacking")
    for option in ({"seed": 1}, {"key": (1, 4)}, {"own_label": "seen"}, {"aggregator": "joint"}):
        with pytest.raises(LookupError):
            panel_scores(ballots, split, ks, **{"aggregator": "stacking", **option})
    moved = replace(split, evaluation=split.evaluation[1:])
    with pytest.raises(LookupError):
        panel_scores(ballots, moved, ks, aggregator="stacking")
