"""Warnings that several studies share, also of copies of items, which a run groups once."""

import math
from dataclasses import replace

import numpy as np

from judgepanel.scoring.descriptive import FEW_ERRORS, one_more_error
from judgepanel.studies.accumulate import Estimator, grid_estimates
from judgepanel.studies.codec import result_content
from judgepanel.studies.common import errs_rarely, few_errors, few_labels, n_errors
from judgepanel.studies.contract import Chunk, Settings, prepare
from judgepanel.studies.decide.panel_curve import PANEL_CURVE, PanelCurveSpec, run_chunk
from judgepanel.studies.decide.what_if import WHAT_IF, WhatIfSpec
from judgepanel.studies.runner import run
from judgepanel.votes import VoteMatrix
from judgepanel.votes.checks import group_copies
from judgepanel.votes.simulate import SimulationSpec, simulate

N = 80


def votes_with(n_wrong):
    """Three judges who agree, and who are wrong on so many items."""
    labels = (np.arange(N) % 2).astype(np.int8)
    votes = np.repeat(labels[:, None], 3, axis=1)
    votes[:n_wrong] = 1 - votes[:n_wrong]
    items = tuple(f"i{i}" for i in range(N))
    return VoteMatrix(votes, labels, items, ("a", "b", "c"))


def test_few_wrong_decisions_are_counted_and_said():
    (text,) = few_errors(prepare(votes_with(3), Settings()))
    assert text.startswith("Of 80 labelled items only 3 are decided wrongly by all judges together")
    assert text.endswith("its intervals are then too short on the flattering side.")
    (text,) = few_errors(prepare(votes_with(3), Settings()), allowed=True)
    assert text.endswith("allow for one wrong decision more than was seen.")
    assert "only 1 is decided" in few_errors(prepare(votes_with(1), Settings()))[0]
    assert few_errors(prepare(votes_with(10), Settings())) == []


def test_groups_of_items_are_counted_once():
    wrong = replace(votes_with(12), groups=tuple(f"g{i // 4}" for i in range(N)))
    (text,) = few_errors(prepare(wrong, Settings()))
    assert text.startswith("Of 20 labelled groups of items only 3 are decided wrongly")


def test_a_judge_below_chance_is_turned_round_first():
    assert len(few_errors(prepare(votes_with(77), Settings(orientation="as_given")))) == 1


def test_the_limit_travels_with_the_result():
    """Page, report, terminal and file all read the warnings of a result."""
    accurate, spec = votes_with(3), PanelCurveSpec(Settings(splits=2), calibrators=("none",))
    (text,) = few_errors(prepare(accurate, spec.settings), allowed=True)
    result = run(PANEL_CURVE, accurate, spec, jobs=1)
    assert text in result.warnings
    assert text in result_content(PANEL_CURVE, accurate, spec, result)["warnings"]
    assert text in few_labels(prepare(accurate, spec.settings), 40.0, allowed=True)


def simulated(accuracy):
    return simulate(
        SimulationSpec(n_items=N, n_judges=9, accuracies=(accuracy,) * 9, seed=31, costs=False)
    )


def test_intervals_of_accurate_panels_allow_for_one_wrong_decision_more():
    """Nothing is wrong in the sample: without the allowance upper ends and differences are 0."""
    votes, settings = simulated(0.95), Settings(splits=3)
    spec = PanelCurveSpec(settings, calibrators=("temperature",), compare=(5,))
    assert n_errors(prepare(votes, settings)) == 0
    curve = run(PANEL_CURVE, votes, spec, jobs=1)
    assert curve.nll.hi[0, -1] > curve.nll.value[0, -1] + 2.0 * math.log(1000.0) / N
    comparison = curve.comparison("temperature", "top-5")
    assert comparison.verdict == "undecided"
    assert (
        comparison.band.lo <= comparison.delta.lo < 0.0 < comparison.delta.hi <= comparison.band.hi
    )
    assert comparison.p > 0.05
    hand = run(WHAT_IF, votes, WhatIfSpec(settings, keep=votes.judges[:5]), jobs=1)
    assert hand.delta.lo < hand.delta.value - math.log(100.0) / N
    assert hand.kept.nll.hi > hand.kept.nll.value + math.log(100.0) / N


def test_panels_with_enough_wrong_decisions_keep_every_bit():
    votes, settings = simulated(0.7), Settings(splits=3)
    prepared = prepare(votes, settings)
    assert not errs_rarely(prepare(votes_with(FEW_ERRORS), settings))
    tally = run_chunk(votes, PanelCurveSpec(settings, calibrators=("temperature",)), Chunk(0, 0, 3))
    estimated = Estimator.of(tally, prepared.ballots.units)
    plain, rare = (grid_estimates(tally, estimated, rare=rare)["nll"] for rare in (False, True))
    items = tally.item_means()[0][0, 0]
    enough = one_more_error(items, prepared.ballots.units) == 0.0
    assert enough.any()
    for left, right in zip(plain, rare, strict=True):
        assert np.array_equal(left[0, enough], right[0, enough])


ONCE = simulate(SimulationSpec(n_items=60, n_judges=12, seed=4))
TWICE = replace(
    ONCE,
    votes=np.tile(ONCE.votes, (2, 1)),
    labels=np.tile(ONCE.labels, 2),
    item_ids=tuple(f"item {i}" for i in range(2 * ONCE.n_items)),
    groups=None,
    features=None,
    ties=None,
)


def curve(votes, *, group_duplicates):
    settings = Settings(splits=2, group_duplicates=group_duplicates)
    return run(PANEL_CURVE, votes, PanelCurveSpec(settings, calibrators=("none",)), jobs=1)


def test_a_run_groups_copies_of_items_where_the_settings_ask_for_it():
    grouped = curve(TWICE, group_duplicates=True)
    by_hand = curve(group_copies(TWICE), group_duplicates=False)
    for left, right in zip(grouped.nll, by_hand.nll, strict=True):
        assert left.tobytes() == right.tobytes()
    assert grouped.warnings == by_hand.warnings


def test_copies_that_are_counted_apart_are_a_warning_of_every_result():
    warned = [
        "Items repeat" in " ".join(curve(TWICE, group_duplicates=together).warnings)
        for together in (False, True)
    ]
    assert warned == [True, False]
