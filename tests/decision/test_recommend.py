"""The recommendation: a nested choice, its honest figures, and the exported panel."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from judgepanel.decision import recommend
from judgepanel.decision.lean import PRICE, PRICES, lean_choice, sizes_of
from judgepanel.decision.panel_file import export_panel, load_panel, panel_json
from judgepanel.decision.recommend import RECOMMEND, RecommendSpec, preferring
from judgepanel.decision.recommend_result import (
    CAUTION,
    POWER,
    PREFERENCES,
    SAVES,
    affordable,
    cards_of,
    choose,
    offered,
    smoothed_nll,
    tied_with_best,
    within,
)
from judgepanel.kernels.prefixes import CLOSED_FORMS
from judgepanel.models.panel import fit_panel, mixture_of
from judgepanel.scoring.interval import Interval
from judgepanel.scoring.splits import split
from judgepanel.studies import codec, contract
from judgepanel.studies.panel import curator, recommended
from judgepanel.studies.runner import run, steps
from tests.helpers import make_votes

TERMS = recommended.ChoiceSettings(3, 0, curator.JudgeAttributes(("",) * 12, None), curator.Rules())


def spec_of(splits=6, **shared):
    return RecommendSpec(settings=contract.Settings(splits=splits, **shared), folds=3)


VOTES = make_votes(3, 80, 12)


@pytest.fixture(scope="module")
def result():
    return run(RECOMMEND, VOTES, spec_of(), jobs=1)


def by_hand(votes, spec):
    """Per split: the rows, what is chosen, and the scores of candidates on the rows."""
    ballots = contract.prepare(votes, spec.settings).ballots
    choices = recommended.candidates_of(
        spec.candidates, ballots.n_judges, symmetric=ballots.symmetric
    )
    for number in range(spec.settings.splits):
        drawn = split(ballots.units, number)
        standing = recommended.stand(ballots, drawn.calibration, choices, TERMS, (number, 1))
        held = recommended.compete(ballots, drawn, choices, TERMS)
        closed = [c.aggregator in CLOSED_FORMS for c in choices.all()]
        np.testing.assert_array_equal(held.standing.losses[closed], standing.losses[closed])
        np.testing.assert_array_equal(held.standing.panels, standing.panels)
        units = ballots.units[drawn.calibration]
        rng = np.random.default_rng(np.random.SeedSequence(0, spawn_key=(number, 1, 67)))
        chosen = choose(held.standing.losses, held.standing.panels, units, choices, rng)
        yield drawn.evaluation, chosen, held.items.nll


@pytest.mark.parametrize("prefer", ["nll", "single"])
def test_the_reported_nll_is_that_of_what_was_chosen_in_each_split(prefer):
    spec = replace(spec_of(splits=4), prefer=prefer)
    for progress in steps(RECOMMEND, VOTES, spec, jobs=1):
        scores, result = progress.partial, progress.result()
    total, times, chosen = np.zeros(80), np.zeros(80), []
    for rows, made, nll in by_hand(VOTES, spec):
        choice = made.by_preference[prefer]
        chosen.append(len(choice.weights) if choice.taken is None else choice.taken)
        total[rows] += recommended.average_losses(nll, choice.used)
        times[rows] += 1
    place = [reading.prefer for reading in result.readings].index(prefer)
    assert scores.taken[:, place].tolist() == chosen
    seen = times > 0
    assert result.nll.value == pytest.approx((total[seen] / times[seen]).mean(), abs=1e-11)
    assert result.nll.lo <= result.nll.value <= result.nll.hi
    assert sum(c.chosen_share for c in result.candidates) == pytest.approx(1.0)
    assert result.optimism == pytest.approx(result.nll.value - result.chosen_on)


def test_a_large_run_adds_to_one_set_of_sums_on_threads_with_the_same_bits(monkeypatch):
    spec = spec_of(splits=5)
    wanted = run(RECOMMEND, VOTES, spec, jobs=1)
    monkeypatch.setattr(recommend, "_LARGE", 0)
    states = list(steps(RECOMMEND, VOTES, spec, jobs=2))
    assert len({state.partial.tally.item_sums.ctypes.data for state in states}) == 1
    assert codec.to_plain(states[-1].result()) == codec.to_plain(wanted)


def test_what_is_chosen_does_not_depend_on_evaluation_labels():
    partial = list(steps(RECOMMEND, VOTES, spec_of(), jobs=1))[-1].partial
    ballots = contract.prepare(VOTES, contract.Settings()).ballots
    assert len(set(VOTES.item_ids)) == ballots.n_items
    for number in range(3):
        held = split(ballots.units, number).evaluation
        labels = VOTES.labels.copy()
        labels[held] = np.random.default_rng(number).permutation(labels[held])
        spoilt = replace(VOTES, labels=labels)
        chunk = replace(RECOMMEND.plan(spec_of())[0], first=number, count=1)
        totals, tally = recommend.run_chunk(spoilt, spec_of(), chunk), partial.tally
        np.testing.assert_array_equal(totals.taken[0], partial.taken[number])
        np.testing.assert_array_equal(totals.tally.chosen_on[0], tally.chosen_on[number])
        assert (totals.tally.split_means[0, 0] != tally.split_means[number, 0]).any()


def test_random_judges_are_recommended_at_no_better_than_the_null():
    recommendation = run(RECOMMEND, make_votes(7, 120, 30, low=0.5, high=0.5), spec_of(), jobs=1)
    assert recommendation.nll.value > recommendation.null_nll - 0.02
    assert recommendation.optimism > -0.05


def test_the_panel_is_the_average_refitted_on_all_labelled_rows(result):
    prepared = contract.prepare(VOTES, contract.Settings())
    models = []
    for member in result.members:
        pipeline = {"aggregator": member.aggregator, "calibrator": member.calibrator}
        models.append(fit_panel(prepared.ballots, prepared.judges, member.k, **pipeline))
    wanted = mixture_of(models, [member.weight for member in result.members])
    assert result.averages
    assert replace(result.model, fallback=None) == wanted
    assert result.model.n_fit == 80
    assert set(result.left_out) | set(result.model.judges) == set(VOTES.judges)
    assert {result.lowest, result.chosen} <= set(result.candidates)
    assert result.chosen is result.candidates[-1]
    assert result.lowest in result.tied


def test_joint_over_all_judges_is_recommended_where_judges_repeat_each_other():
    """Copies of weak judges drown the sum; seen jointly, they count once."""
    rng = np.random.default_rng(0)
    made = make_votes(2, 160, 8, low=0.62, high=0.8, missing=0.0)
    copies = np.concatenate([made.votes] + [made.votes[:, :2]] * 6, axis=1)
    noisy = np.where(rng.random(copies.shape) < 0.03, 1 - copies, copies).astype(np.int8)
    votes = replace(made, votes=noisy, judges=tuple(f"j{j:02d}" for j in range(20)))
    recommendation = run(RECOMMEND, votes, spec_of(splits=3), jobs=1)
    assert recommendation.model.main.aggregator == "joint"
    assert recommendation.nll.value < recommendation.reference.nll.value


def test_the_wide_list_holds_the_default_one_and_names_every_candidate_once():
    wide, default = (
        recommended.candidates_of(name, 12, symmetric=False).all() for name in ("wide", "default")
    )
    assert set(default) < set(wide)
    names = [(c.name, c.aggregator, c.calibrator) for c in wide]
    assert len(set(names)) == len(names)
    few = make_votes(3, 40, 4)
    recommendation = run(RECOMMEND, few, replace(spec_of(splits=2), candidates="wide"), jobs=1)
    listed = recommended.candidates_of("wide", 4, symmetric=False).all()
    assert len(recommendation.candidates) == len(listed) + 1


def test_the_reference_is_all_judges_with_one_coin_and_beta(result):
    reference = result.reference
    assert reference.name == "all, one_coin, beta"
    assert tuple(reference.delta) == (0.0, 0.0, 0.0)
    assert result.delta.value == pytest.approx(result.nll.value - reference.nll.value, abs=1e-11)
    assert result.margin == pytest.approx(0.02 * reference.nll.value)


@pytest.mark.parametrize(("n_judges", "panels"), [(1, 1), (3, 3), (5, 3)])
def test_small_panels_have_no_candidate_twice(n_judges, panels):
    recommendation = run(RECOMMEND, make_votes(5, 40, n_judges), spec_of(splits=2), jobs=1)
    *candidates, average = recommendation.candidates
    joint = [c for c in candidates if c.aggregator == "joint"]
    of_everyone = 2 * 2  # Stacking and Dawid-Skene with labels, each under two calibrators.
    assert len(candidates) - len(joint) == panels * (2 * 4 + 2) + of_everyone
    assert {c.k for c in joint} == {k for k in (3, (n_judges + 1) // 2, n_judges) if k <= n_judges}
    assert average.panel == "average"
    keys = {(c.k, c.aggregator, c.calibrator) for c in recommendation.candidates}
    assert len(keys) == len(recommendation.candidates)
    assert (n_judges == 1) == any("only one judge" in notice for notice in recommendation.warnings)


def test_what_else_could_be_done_has_its_price(result):
    all_judges, fewer = result.best(all_judges=True), result.best(all_judges=False)
    assert all_judges.k == result.n_judges > fewer.k
    rows = [row for row in result.candidates if row.panel != "average"]
    lowest = min(float(row.nll.value) for row in rows)
    assert lowest == min(float(row.nll.value) for row in (all_judges, fewer))


def test_the_runner_up_is_held_against_the_chosen_one(result):
    runner = result.runner_up
    assert runner != result.chosen
    assert runner.behind.value == pytest.approx(
        runner.nll.value - result.chosen.nll.value, abs=1e-11
    )
    assert runner.behind.lo <= runner.behind.value <= runner.behind.hi
    assert (result.chosen.behind.value, result.chosen.stands) == (0.0, "tie")
    assert (runner in result.undecided) == (runner.stands == "undecided")
    assert result.labels_to_settle >= result.n_items


def test_the_order_of_the_judges_moves_no_bit(result):
    recommendation = run(RECOMMEND, VOTES.with_judges(VOTES.judges[::-1]), spec_of(), jobs=1)
    assert json.dumps(codec.to_plain(recommendation)) == json.dumps(codec.to_plain(result))


N = 400


UNITS = np.arange(N)


ANY = np.ones(4, dtype=bool)


CANDIDATES = recommended.Candidates(
    (
        recommended.Family("majority", (("top-1", 1),), ("none",)),
        recommended.Family("one_coin", (("top-3", 3),), ("temperature",)),
        recommended.Family("one_coin", (("all", 4),), ("temperature",)),
        recommended.Family("joint", (("all", 4),), ("none",)),
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
    np.testing.assert_allclose(smoothed_nll(drawn, UNITS, ANY)[0], wanted, atol=1e-12)


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
        smooth, _ = smoothed_nll(seen, UNITS, np.ones(20, dtype=bool))
        by_labels.append(later[seen.mean(axis=1).argmin()] - later.min())
        by_blend.append(later[smooth.argmin()] - later.min())
    assert np.mean(by_blend) < 0.5 * np.mean(by_labels)


def test_candidates_within_one_standard_error_of_the_best_are_tied():
    drawn = losses(1.0, 0.95, 0.4, 0.9)
    smooth, _ = smoothed_nll(drawn, UNITS, ANY)
    best = int(smooth.argmin())
    entry = (drawn - drawn[best]).std(axis=1, ddof=1) / np.sqrt(N)
    wanted = smooth - smooth[best] <= entry
    np.testing.assert_array_equal(tied_with_best(drawn, UNITS, smooth), wanted)
    assert 1 < wanted.sum() < 4


def test_items_of_one_group_count_as_one():
    drawn = np.repeat(losses(1.0, 0.8, 0.7, 0.6)[:, : N // 8], 8, axis=1)
    alone, together = (
        tied_with_best(drawn, units, smoothed_nll(drawn, units, ANY)[0])
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
    assert (choice.taken, choice.weights[:2].tolist()) == (None, [0.0, 0.0])


def test_every_preference_takes_candidates_whose_weights_add_up_to_one():
    for prefer in PREFERENCES:
        used = choice_of(prefer, 0.9, 1.0, 0.8, 0.9).used
        assert used.sum() == pytest.approx(1.0)
        assert np.isfinite(recommended.average_losses(losses(0.9, 1.0, 0.8, 0.9), used)).all()


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
    pair = recommended.Candidates(
        (
            recommended.Family("one_coin", (("top-3", 3), ("top-5", 5)), ("temperature",)),
            recommended.Family("joint", (("all", 2),), ("none",)),
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


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("price", PRICES)
def test_lean_is_the_smallest_within_the_price(seed, price):
    rng = np.random.default_rng(seed)
    panels, costs = rng.random((12, 6)) < 0.5, rng.integers(1, 4, 6).astype(float)
    losses = rng.uniform(-0.01, 0.06, 12)
    for known in (None, costs):
        taken = lean_choice(sizes_of(panels, known), losses, (1e9, 6), price)
        size = panels.sum(axis=1) if known is None else (panels * costs).sum(axis=1)
        affordable = losses <= price
        if affordable.any():
            assert size[taken] == size[affordable].min()
        else:
            assert taken is None


def test_the_average_is_lean_where_no_smaller_panel_is_within_the_price():
    sizes = [(0.0, 3), (0.0, 5), (0.0, 2)]
    losses = np.array([0.03, -0.01, np.inf])
    assert lean_choice(sizes, losses, (0.0, 5), 0.02) is None
    assert lean_choice(sizes, losses, (0.0, 6), 0.02) == 1
    assert lean_choice(sizes, losses, (0.0, 6), 0.03) == 0


def test_at_a_price_of_zero_lean_loses_nothing():
    sizes, losses = [(0.0, 3), (0.0, 5)], np.array([1e-12, 0.0])
    assert lean_choice(sizes, losses, (0.0, 9), 0.0) == 1


def test_of_equal_sizes_the_one_that_loses_less_is_lean_and_a_cheap_one_before_a_small_one():
    losses = np.array([0.02, 0.01, 0.0])
    assert lean_choice([(0.0, 3), (0.0, 3), (0.0, 4)], losses, (0.0, 9), 0.02) == 1
    assert lean_choice([(5.0, 1), (2.0, 3), (2.0, 2)], losses, (9.0, 9), 0.02) == 2


def test_lean_is_chosen_in_every_split_on_calibration_rows_and_scored_on_the_others(result):
    total, times = np.zeros((len(PRICES), 3, 80)), np.zeros(80)
    for rows, made, item_losses in by_hand(VOTES, spec_of()):
        best = recommended.average_losses(item_losses, made.by_preference["nll"].used)
        times[rows] += 1
        for place, price in enumerate(PRICES):
            nll = recommended.average_losses(item_losses, made.lean[price].used)
            p_true = np.exp(-nll)
            sure = np.maximum(p_true, 1.0 - p_true) >= 0.9
            total[place, :, rows] += np.stack([nll - best, sure, sure & (p_true > 0.5)], axis=1)
    seen = times > 0
    for place, price in enumerate(PRICES):
        loss, sure, right = (total[place][:, seen] / times[seen]).mean(axis=1)
        reading = result.reading("lean", price)
        assert float(reading.against_best.value) == pytest.approx(loss, abs=1e-11)
        assert float(reading.sure.value) == pytest.approx(sure)
        assert float(reading.sure_right.value) == pytest.approx(right / sure)
        assert reading.sure.lo <= reading.sure.value <= reading.sure.hi


def test_best_differs_from_itself_by_nothing_and_names_its_judges(result):
    best = result.reading("nll", PRICE)
    assert tuple(best.against_best) == (0.0, 0.0, 0.0)
    assert set(best.judges) == set(result.model.judges)
    assert float(best.right.value) == result.accuracy


def test_the_best_judge_alone_is_ranked_in_every_split_and_scored_on_the_others():
    votes = make_votes(3, 80, 5, missing=0.0)
    spec = spec_of(splits=4)
    alone = run(RECOMMEND, votes, spec, jobs=1).best_judge
    units = contract.prepare(votes, spec.settings).ballots.units
    right, times = np.zeros(80), np.zeros(80)
    agree = votes.votes == votes.labels[:, None]
    for number in range(4):
        drawn = split(units, number)
        best = agree[drawn.calibration].sum(axis=0).argmax()
        right[drawn.evaluation] += agree[drawn.evaluation, best]
        times[drawn.evaluation] += 1
    seen = times > 0
    assert (alone.k, alone.accuracy.value) == (1, pytest.approx((right[seen] / times[seen]).mean()))
    assert alone.accuracy.lo < alone.accuracy.value < alone.accuracy.hi


def carded(result, *, judges, loss, cost=(None, None)):
    """The result with a Lean of some judges that loses ``loss`` (value, lo, hi) of Best's NLL."""
    best, lean = result.reading("nll", PRICE), result.reading("lean", PRICE)
    nll = float(best.nll.value)
    panel = replace(result.candidates[0], cost=cost[1])
    changed = replace(
        lean, taken=0, judges=best.judges[:judges], against_best=Interval(*(nll * np.array(loss)))
    )
    first = replace(best, average=replace(best.average, cost=cost[0]))
    other = {id(lean): changed, id(best): first}
    readings = tuple(other.get(id(reading), reading) for reading in result.readings)
    candidates = (panel, *result.candidates[1:])
    return cards_of(replace(result, readings=readings, candidates=candidates), PRICE)


def test_lean_is_marked_where_it_saves_enough_and_its_loss_is_within_the_price(result):
    n = len(result.reading("nll", PRICE).judges)
    few, many = int(n * (1 - SAVES)), n - 1
    small = (0.0, -0.01, 0.01)
    assert carded(result, judges=few, loss=small).marked == "Lean"
    assert carded(result, judges=many, loss=small).marked == "Best"
    assert carded(result, judges=few, loss=(PRICE + 0.001, 0.0, 0.05)).marked == "Best"
    assert carded(result, judges=many, loss=small, cost=(3.0, 2.0)).marked == "Lean"
    assert carded(result, judges=many, loss=small, cost=(3.0, 2.5)).marked == "Best"


def test_part_of_the_upper_half_of_the_interval_of_the_loss_counts_too(result):
    n = len(result.reading("nll", PRICE).judges)
    reach = PRICE / CAUTION
    for share, marked in ((0.9, "Lean"), (1.1, "Best")):
        assert carded(result, judges=n // 3, loss=(0.0, -0.1, share * reach)).marked == marked


def test_from_a_single_split_lean_is_not_marked():
    assert not within(Interval(0.0, float("nan"), float("nan")), 0.1, CAUTION)


def test_where_lean_is_the_same_panel_there_is_one_card(result):
    same = [reading for reading in result.readings if reading.prefer != "lean"]
    lean = replace(result.reading("nll", PRICE), prefer="lean", price=PRICE)
    cards = cards_of(replace(result, readings=(*same, lean)), PRICE)
    assert (cards.lean, cards.marked) == (None, "Best")
    assert [card.name for card in cards.all] == ["Best"]


def test_the_panel_file_of_a_lean_panel_names_its_price_and_has_its_own_figures(result):
    table = pd.DataFrame({"cost": np.linspace(1.0, 2.0, 12)}, index=list(VOTES.judges))
    priced = replace(VOTES, judge_table=table)
    spec = replace(spec_of(), prefer="lean", price=max(PRICES))
    general = run(RECOMMEND, priced, spec_of(), jobs=1)
    read = preferring(priced, spec, general, "lean")
    reading = general.reading("lean", max(PRICES))
    content = load_panel(panel_json(export_panel(read, priced, spec, ()))).content
    assert (content["spec"]["prefer"], content["spec"]["price"]) == ("lean", max(PRICES))
    assert set(content["judges"]) == set(reading.judges)
    assert content["figures"]["nll"] == float(reading.nll.value)
    assert read.cost <= general.cost
