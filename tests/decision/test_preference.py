"""The preference among candidates that cannot be told apart."""

import numpy as np
import pytest

from judgepanel.decision.lean import PRICE
from judgepanel.decision.recommend_result import (
    POWER,
    PREFERENCES,
    affordable,
    choose,
    offered,
    smoothed_nll,
    tied_with_best,
)
from judgepanel.studies.panel.recommended import Candidates, Family, average_losses

N = 400
UNITS = np.arange(N)
ANY = np.ones(4, dtype=bool)
CANDIDATES = Candidates(
    (
        Family("majority", (("top-1", 1),), ("none",)),
        Family("one_coin", (("top-3", 3),), ("temperature",)),
        Family("one_coin", (("all", 4),), ("temperature",)),
        Family("joint", (("all", 4),), ("none",)),
    )
)
"""The first is no member of the average; the last leads it."""
PANELS = np.array([[1, 0, 0, 0], [1, 1, 1, 0], [1, 1, 1, 1], [1, 1, 1, 1]], dtype=bool)
COSTS = np.array([9.0, 1.0, 1.0, 1.0])


def losses(*sharpness, seed=0):
    """Losses of calibrated candidates, the sharper the better; each errs in its own way."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(0.0, 2.0, N)
    own = rng.normal(0.0, 1.0, (len(sharpness), N))
    logits = np.array(sharpness)[:, None] * (truth + 0.15 * own)
    signs = np.where(rng.random(N) < 1.0 / (1.0 + np.exp(-truth)), 1.0, -1.0)
    return np.log1p(np.exp(-logits * signs))


def choice_of(prefer, *sharpness, **options):
    rng = np.random.default_rng(0)
    drawn = losses(*sharpness)
    options = {"absent": drawn, **options}
    choices = choose(drawn, PANELS, UNITS, CANDIDATES, rng, costs=COSTS, **options)
    return choices.lean[PRICE] if prefer == "lean" else choices.by_preference[prefer]


def taken(prefer, *sharpness, **options):
    return choice_of(prefer, *sharpness, **options).taken


def test_the_smoothed_nll_is_the_loss_under_labels_that_follow_the_blend():
    drawn = losses(1.0, 0.8, 0.5, 0.9)
    mean = drawn.mean(axis=1)
    weights = np.exp(-POWER * N * (mean - mean.min()))
    p = np.exp(-drawn)
    blend = (weights[:, None] * p).sum(axis=0) / weights.sum()
    wanted = [-(blend * np.log(entry) + (1 - blend) * np.log(1 - entry)).mean() for entry in p]
    np.testing.assert_allclose(smoothed_nll(drawn, UNITS, ANY), wanted, atol=1e-12)


def test_choosing_by_it_loses_less_than_choosing_by_cross_validation_where_many_compete():
    by_labels, by_blend = [], []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        truth = rng.normal(0.0, 2.0, 20 * N)
        own = rng.uniform(0.0, 0.5, (20, 1)) * rng.normal(0.0, 1.0, (20, 20 * N))
        logits = rng.uniform(0.7, 1.2, (20, 1)) * (truth + own)
        signs = np.where(rng.random(20 * N) < 1.0 / (1.0 + np.exp(-truth)), 1.0, -1.0)
        drawn = np.log1p(np.exp(-logits * signs))
        seen, later = drawn[:, :N], drawn[:, N:].mean(axis=1)
        smooth = smoothed_nll(seen, UNITS, np.ones(20, dtype=bool))
        by_labels.append(later[seen.mean(axis=1).argmin()] - later.min())
        by_blend.append(later[smooth.argmin()] - later.min())
    assert np.mean(by_blend) < 0.5 * np.mean(by_labels)


def test_candidates_within_one_standard_error_of_the_best_are_tied():
    drawn = losses(1.0, 0.95, 0.4, 0.9)
    smooth = smoothed_nll(drawn, UNITS, ANY)
    best = int(smooth.argmin())
    entry = (drawn - drawn[best]).std(axis=1, ddof=1) / np.sqrt(N)
    wanted = smooth - smooth[best] <= entry
    np.testing.assert_array_equal(tied_with_best(drawn, UNITS, smooth), wanted)
    assert 1 < wanted.sum() < 4


def test_items_of_one_group_count_as_one():
    drawn = np.repeat(losses(1.0, 0.8, 0.7, 0.6)[:, : N // 8], 8, axis=1)
    alone, together = (
        tied_with_best(drawn, units, smoothed_nll(drawn, units, ANY))
        for units in (UNITS, UNITS // 8)
    )
    assert alone.sum() <= together.sum()
    assert together.sum() > 1


def test_members_that_lose_little_share_the_average():
    choice = choice_of("nll", 1.0, 1.0, 1.0, 1.0)
    assert choice.taken is None
    assert choice.used is choice.weights
    assert choice.weights[0] == 0.0
    assert (choice.weights[1:] > 0.0).all()
    assert choice.weights.sum() == pytest.approx(1.0)


def test_a_member_that_is_clearly_better_has_all_the_weight():
    assert choice_of("nll", 1.0, 1.0, 0.2, 0.2).weights.tolist() == [0.0, 1.0, 0.0, 0.0]


def test_one_pipeline_is_the_heaviest_member():
    for sharpness in ((1.0, 1.0, 0.2, 0.2), (0.2, 0.2, 0.9, 0.2), (1.0, 1.0, 1.0, 1.0)):
        choice = choice_of("single", *sharpness)
        assert choice.taken == choice.weights.argmax()
        assert choice.used.tolist() == np.eye(4)[choice.taken].tolist()


def test_everyone_is_an_average_over_panels_of_all_judges():
    choice = choice_of("everyone", 1.0, 1.0, 0.2, 0.2)
    assert choice.taken is None
    assert choice.weights[:2].tolist() == [0.0, 0.0]


def test_every_preference_takes_candidates_whose_weights_add_up_to_one():
    for prefer in PREFERENCES:
        used = choice_of(prefer, 0.9, 1.0, 0.8, 0.9).used
        assert used.sum() == pytest.approx(1.0)
        assert np.isfinite(average_losses(losses(0.9, 1.0, 0.8, 0.9), used)).all()


@pytest.mark.parametrize(("prefer", "position"), [("simplest", 2), ("fewest", 1), ("cheapest", 1)])
def test_a_preference_is_asked_among_the_tied(prefer, position):
    assert taken(prefer, 0.2, 0.98, 1.0, 0.99) == position


def test_a_preference_never_takes_a_candidate_that_is_clearly_worse():
    for prefer in ("simplest", "fewest", "cheapest"):
        assert taken(prefer, 0.2, 0.2, 0.3, 1.0) == 3


def test_robust_is_what_loses_least_while_a_family_is_absent_among_the_tied_and_the_average():
    sharpness = (0.2, 0.98, 1.0, 0.99)
    for best in (1, 2, 3):
        absent = losses(0.2, *(1.0 if place == best else 0.3 for place in (1, 2, 3)))
        assert taken("robust", *sharpness, absent=absent) == best
    # The first loses least and is not tied with the best; each of the others fails elsewhere.
    p = np.full((4, 6), 0.9)
    p[[1, 2, 3], [0, 2, 4]] = p[[1, 2, 3], [1, 3, 5]] = 0.3
    assert taken("robust", *sharpness, absent=-np.log(p)) is None


def test_a_budget_leaves_dear_panels_out():
    assert affordable(PANELS, COSTS, None).all()
    assert affordable(PANELS, COSTS, 11.0).tolist() == [True, True, False, False]
    assert choice_of("nll", 0.2, 0.5, 1.0, 1.0, budget=11.0).weights.tolist() == [0, 1, 0, 0]
    assert affordable(PANELS, COSTS, 9.0).tolist() == [True, False, False, False]
    # No member is cheap enough: the best of the others stands in.
    assert choice_of("nll", 0.2, 0.5, 1.0, 1.0, budget=9.0).weights.tolist() == [1, 0, 0, 0]


def test_members_of_an_average_keep_within_a_budget_together():
    pair = Candidates(
        (
            Family("one_coin", (("top-3", 3), ("top-5", 5)), ("temperature",)),
            Family("joint", (("all", 2),), ("none",)),
        )
    )
    panels = np.array([[1, 1, 0, 0], [0, 0, 1, 1], [0, 1, 1, 0]], dtype=bool)
    drawn = losses(1.0, 1.0, 1.0)
    rng = np.random.default_rng(0)
    choices = choose(drawn, panels, UNITS, pair, rng, costs=np.ones(4), budget=3.0)
    weights = choices.by_preference["nll"].weights
    assert (weights > 0).sum() == 2
    assert panels[weights > 0].any(axis=0).sum() <= 3


def test_cheap_and_everyone_are_offered_where_costs_and_budget_allow_them():
    assert offered(COSTS, None, robust=True) == PREFERENCES
    assert set(PREFERENCES) - set(offered(None, None, robust=True)) == {"cheapest"}
    assert offered(COSTS, 12.0, robust=True) == PREFERENCES
    assert set(PREFERENCES) - set(offered(COSTS, 11.0, robust=True)) == {"everyone"}
    assert set(PREFERENCES) - set(offered(COSTS, None)) == {"robust"}
    choices = choose(
        losses(1.0, 1.0, 1.0, 1.0), PANELS, UNITS, CANDIDATES, np.random.default_rng(0)
    )
    assert {"lean", *choices.by_preference} == set(offered(None, None))
