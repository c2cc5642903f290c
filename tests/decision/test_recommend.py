"""The recommendation: a nested choice, its honest figures, and the exported panel."""

import json
from dataclasses import replace

import numpy as np
import pytest

from judgepanel.decision import recommend
from judgepanel.decision.recommend import RECOMMEND, RecommendSpec
from judgepanel.decision.recommend_result import choose
from judgepanel.kernels.prefixes import CLOSED_FORMS
from judgepanel.models.panel import fit_panel, mixture_of
from judgepanel.scoring.splits import split
from judgepanel.studies.codec import to_plain
from judgepanel.studies.contract import Settings, prepare
from judgepanel.studies.panel.curator import Known, Rules
from judgepanel.studies.panel.recommended import (
    Terms,
    average_losses,
    candidates_of,
    compete,
    stand,
)
from judgepanel.studies.runner import run, steps
from judgepanel.votes import InputError
from tests.helpers import make_votes

TERMS = Terms(3, 0, Known(("",) * 12, None), Rules())


def spec_of(splits=6, **shared):
    return RecommendSpec(settings=Settings(splits=splits, **shared), folds=3)


@pytest.fixture(scope="module")
def votes():
    return make_votes(3, 80, 12)


@pytest.fixture(scope="module")
def result(votes):
    return run(RECOMMEND, votes, spec_of(), jobs=1)


@pytest.fixture(scope="module")
def tally(votes):
    for progress in steps(RECOMMEND, votes, spec_of(), jobs=1):
        partial = progress.partial
    return partial.tally


def by_hand(votes, spec):
    """Per split: what is chosen, the rows and its scores on them; None is the average."""
    ballots = prepare(votes, spec.settings).ballots
    choices = candidates_of(spec.candidates, ballots.n_judges, symmetric=ballots.symmetric)
    for number in range(spec.settings.splits):
        drawn = split(ballots.units, number)
        standing = stand(ballots, drawn.calibration, choices, TERMS, (number, 1))
        held = compete(ballots, drawn, choices, TERMS)
        closed = [c.aggregator in CLOSED_FORMS for c in choices.all()]
        np.testing.assert_array_equal(held.standing.losses[closed], standing.losses[closed])
        np.testing.assert_array_equal(held.standing.panels, standing.panels)
        units = ballots.units[drawn.calibration]
        rng = np.random.default_rng(np.random.SeedSequence(0, spawn_key=(number, 1, 67)))
        losses, panels = held.standing.losses, held.standing.panels
        choice = choose(losses, panels, units, choices, rng).by_preference[spec.prefer]
        yield choice, drawn.evaluation, average_losses(held.items.nll, choice.used)


@pytest.mark.parametrize("prefer", ["nll", "single"])
def test_the_reported_nll_is_that_of_what_was_chosen_in_each_split(votes, prefer):
    spec = replace(spec_of(splits=4), prefer=prefer)
    for progress in steps(RECOMMEND, votes, spec, jobs=1):
        scores, result = progress.partial, progress.result()
    total, times, chosen = np.zeros(80), np.zeros(80), []
    for choice, rows, nll in by_hand(votes, spec):
        chosen.append(len(choice.weights) if choice.taken is None else choice.taken)
        total[rows] += nll
        times[rows] += 1
    place = [reading.prefer for reading in result.readings].index(prefer)
    assert scores.taken[:, place].tolist() == chosen
    seen = times > 0
    assert result.nll.value == pytest.approx((total[seen] / times[seen]).mean(), abs=1e-11)
    assert result.nll.lo <= result.nll.value <= result.nll.hi
    shares = [c.chosen_share for c in result.candidates]
    assert sum(shares) == pytest.approx(1.0)
    assert result.optimism == pytest.approx(result.nll.value - result.chosen_on)


def test_a_large_run_adds_to_one_set_of_sums_on_threads_with_the_same_bits(votes, monkeypatch):
    spec = spec_of(splits=5)
    wanted = run(RECOMMEND, votes, spec, jobs=1)
    monkeypatch.setattr(recommend, "_LARGE", 0)
    states = list(steps(RECOMMEND, votes, spec, jobs=2))
    assert len({state.partial.tally.item_sums.ctypes.data for state in states}) == 1
    assert to_plain(states[-1].result()) == to_plain(wanted)


def test_what_is_chosen_does_not_depend_on_evaluation_labels(votes, tally):
    ballots = prepare(votes, Settings()).ballots
    assert len(set(votes.item_ids)) == ballots.n_items
    for number in range(3):
        held = split(ballots.units, number).evaluation
        labels = votes.labels.copy()
        labels[held] = np.random.default_rng(number).permutation(labels[held])
        spoilt = replace(votes, labels=labels)
        chunk = replace(RECOMMEND.plan(spec_of())[0], first=number, count=1)
        totals = recommend.run_chunk(spoilt, spec_of(), chunk).tally
        np.testing.assert_array_equal(totals.chosen_on[0], tally.chosen_on[number])
        assert (totals.split_means[0, 0] != tally.split_means[number, 0]).any()


def test_random_judges_are_recommended_at_no_better_than_the_null():
    votes = make_votes(7, 120, 30, low=0.5, high=0.5)
    recommendation = run(RECOMMEND, votes, spec_of(), jobs=1)
    assert recommendation.nll.value > recommendation.null_nll - 0.02
    assert recommendation.optimism > -0.05


def test_the_panel_is_the_average_refitted_on_all_labelled_rows(votes, result):
    prepared = prepare(votes, Settings())
    models = [
        fit_panel(
            prepared.ballots,
            prepared.judges,
            member.k,
            aggregator=member.aggregator,
            calibrator=member.calibrator,
        )
        for member in result.members
    ]
    wanted = mixture_of(models, [member.weight for member in result.members])
    assert result.averages
    assert replace(result.model, fallback=None) == wanted
    assert result.model.n_fit == 80
    assert set(result.left_out) | set(result.model.judges) == set(votes.judges)
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
    wide, default = (candidates_of(name, 12, symmetric=False).all() for name in ("wide", "default"))
    assert set(default) < set(wide)
    names = [(c.name, c.aggregator, c.calibrator) for c in wide]
    assert len(set(names)) == len(names)
    few = make_votes(3, 40, 4)
    recommendation = run(RECOMMEND, few, replace(spec_of(splits=2), candidates="wide"), jobs=1)
    listed = candidates_of("wide", 4, symmetric=False).all()
    assert len(recommendation.candidates) == len(listed) + 1


def test_the_reference_is_all_judges_with_one_coin_and_beta(result):
    reference = result.reference
    assert (reference.panel, reference.aggregator, reference.calibrator) == (
        "all",
        "one_coin",
        "beta",
    )
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


def test_symmetric_has_no_platt_and_one_class_labels_get_no_flattering_figure():
    recommendation = run(RECOMMEND, make_votes(6, 80, 6, one_class=True), spec_of(), jobs=1)
    assert recommendation.orientation == "symmetric"
    assert "platt" not in {c.calibrator for c in recommendation.candidates}
    assert recommendation.null_nll == pytest.approx(np.log(2))
    assert recommendation.nll.value > 0.15


def test_what_else_could_be_done_has_its_price(result):
    everyone, fewer = result.best(everyone=True), result.best(everyone=False)
    assert everyone.k == result.n_judges > fewer.k
    rows = [row for row in result.candidates if row.panel != "average"]
    lowest = min(float(row.nll.value) for row in rows)
    assert lowest == min(float(row.nll.value) for row in (everyone, fewer))


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


def test_the_papers_protocol_is_refused():
    with pytest.raises(InputError, match="in-sample scores"):
        spec_of(protocol="paper")


@pytest.mark.parametrize(
    "options",
    [
        {"folds": 1},
        {"candidates": "magic"},
        {"prefer": "prettiest"},
        {"budget": 0.0},
        {"budget": float("nan")},
        {"conformal": 1.0},
    ],
)
def test_a_spec_without_folds_or_of_an_unknown_list_is_refused(options):
    with pytest.raises(InputError):
        RecommendSpec(**options)


def test_the_order_of_the_judges_moves_no_bit(votes, result):
    shuffled = votes.with_judges(votes.judges[::-1])
    recommendation = run(RECOMMEND, shuffled, spec_of(), jobs=1)
    assert json.dumps(to_plain(recommendation)) == json.dumps(to_plain(result))
