"""What must not change a bit of a split's scores, for any votes, aggregator and ranking."""

from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from judgepanel.kernels.ballots import Ballots
from judgepanel.kernels.calibration import CALIBRATORS
from judgepanel.kernels.evaluation import Recipe, evaluate_split
from judgepanel.scoring.splits import split

ITEM_FIELDS = ("nll", "brier", "hit", "ece")


@st.composite
def cases(draw, symmetric=None):
    """Ballots of any votes, a recipe with some of the calibrators, and a generator."""
    n, k = draw(st.integers(4, 30)), draw(st.integers(1, 6))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    skill, missing = draw(st.floats(0.0, 1.0)), draw(st.sampled_from([0.0, 0.3, 0.9]))
    signs = rng.choice(np.array([-1, 1], np.int8), n)
    votes = np.where(rng.random((n, k)) < skill, signs[:, None], -signs[:, None])
    votes = np.where(rng.random((n, k)) < missing, 0, votes).astype(np.int8)
    units = np.arange(n)
    if draw(st.booleans()):
        units = np.unique(rng.integers(0, max(2, n // 3), n), return_inverse=True)[1]
        units[:2] = 0, 1
        units = np.unique(units, return_inverse=True)[1]
    mode = draw(st.booleans()) if symmetric is None else symmetric
    # A few calibrators an example: all of them at once would leave time for fewer votes.
    chosen = draw(st.sets(st.sampled_from(CALIBRATORS), min_size=1, max_size=4))
    recipe = Recipe(
        draw(st.sampled_from(["one_coin", "majority"])),
        tuple(name for name in CALIBRATORS if name in chosen),
        draw(st.sampled_from(["accuracy", "informativeness"])),
        in_sample=draw(st.booleans()),
    )
    return Ballots(votes, signs, units, mode), recipe, rng


def scored(ballots, recipe):
    drawn = split(ballots.units, 0, seed=1)
    return evaluate_split(ballots, drawn, np.arange(1, ballots.n_judges + 1), recipe)


def assert_same_bits(entry, other):
    assert entry.evaluation.keys() == other.evaluation.keys()
    for name in entry.evaluation:
        for field in ITEM_FIELDS:
            ours, theirs = (getattr(side.evaluation[name], field) for side in (entry, other))
            np.testing.assert_array_equal(ours, theirs)
        assert entry.replaced[name] == other.replaced[name]
        assert entry.constant_nll[name] == other.constant_nll[name]
    assert entry.null_nll == other.null_nll


@settings(max_examples=80)
@given(cases(symmetric=True))
def test_swapping_the_responses_of_any_items_changes_nothing_under_symmetric(case):
    ballots, recipe, rng = case
    flip = rng.choice(np.array([-1, 1], np.int8), ballots.n_items)
    swapped = replace(ballots, votes=ballots.votes * flip[:, None], signs=ballots.signs * flip)
    assert_same_bits(scored(ballots, recipe), scored(swapped, recipe))


@settings(max_examples=60)
@given(cases())
def test_no_figure_is_nan_and_none_beats_its_clip(case):
    ballots, recipe, _ = case
    result = scored(ballots, recipe)
    assert set(result.evaluation) == set(recipe.calibrators)
    for name in recipe.calibrators:
        scores = result.evaluation[name]
        assert all(np.isfinite(getattr(scores, field)).all() for field in ITEM_FIELDS)
        assert ((scores.nll >= -np.log(0.9991)) & (scores.nll <= -np.log(0.0009))).all()
        assert ((scores.ece >= -1e-12) & (scores.ece <= 1.0)).all()
        assert np.isfinite(result.constant_nll[name])


@settings(max_examples=60)
@given(cases())
def test_evaluation_labels_move_neither_fits_nor_choices(case):
    ballots, recipe, rng = case
    held = split(ballots.units, 0, seed=1).evaluation
    signs = ballots.signs.copy()
    signs[held] = rng.permutation(-signs[held])
    first, other = scored(ballots, recipe), scored(replace(ballots, signs=signs), recipe)
    for name in recipe.calibrators:
        right = signs[held] == ballots.signs[held]
        np.testing.assert_array_equal(
            first.evaluation[name].nll[:, right], other.evaluation[name].nll[:, right]
        )


@settings(max_examples=60)
@given(cases())
def test_a_judge_who_never_votes_changes_no_full_panel(case):
    ballots, recipe, _ = case
    silent = np.zeros((ballots.n_items, 1), np.int8)
    wider = replace(ballots, votes=np.hstack([ballots.votes, silent]))
    first, other = scored(ballots, recipe), scored(wider, recipe)
    for name in recipe.calibrators:
        np.testing.assert_allclose(
            first.evaluation[name].nll[-1], other.evaluation[name].nll[-1], rtol=0, atol=1e-7
        )
