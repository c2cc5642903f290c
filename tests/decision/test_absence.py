"""The loss of a panel without some of its judges: against a plain loop, and in words."""

from dataclasses import replace
from typing import get_args

import numpy as np
import pytest

from judgepanel.decision.absence import (
    FOLDS,
    Losses,
    Scored,
    Threshold,
    figures_of,
    groups_of,
    measure_absence,
    scores_without,
)
from judgepanel.decision.score import on_items
from judgepanel.kernels.aggregation import KERNELS, Graded
from judgepanel.scoring.splits import folds
from judgepanel.studies import codec, contract, results
from judgepanel.votes import MISSING
from tests.helpers import codes_of, make_votes, panel_from, with_grades

SETTINGS = contract.Settings(splits=3)


def panel_of(votes, k, aggregator="one_coin", calibrator="temperature"):
    return contract.prepare(votes, SETTINGS), panel_from(votes, k, aggregator, calibrator)


@pytest.mark.parametrize(
    "aggregator", ["majority", "one_coin", "log_odds", *KERNELS, *get_args(Graded)]
)
def test_scores_without_judges_are_those_of_votes_set_missing(aggregator):
    votes = with_grades(make_votes(0, 60, 6, missing=0.3))
    _, model = panel_of(votes, 6, aggregator)
    matrix = codes_of(model, votes)
    absent = [[], [2], [0, 5], [0, 1, 2, 3, 4, 5]]
    for result, gone in zip(scores_without(model, matrix, absent), absent, strict=True):
        cast = matrix.copy()
        cast[:, gone] = MISSING
        np.testing.assert_allclose(result, model.score(cast), rtol=0, atol=1e-12)
    assert (scores_without(model, matrix, absent)[-1] == model.prior).all()


@pytest.mark.parametrize("aggregator", ["one_coin", "one_coin_graded"])
def test_the_nll_without_a_judge_is_that_of_a_plain_loop(aggregator):
    votes = make_votes(1, 80, 5, missing=0.2)
    votes = with_grades(votes) if aggregator == "one_coin_graded" else votes
    prepared, model = panel_of(votes, 4, aggregator)
    absence = measure_absence(prepared, SETTINGS, model)
    of_panel = votes.with_judges(sorted(model.judges))
    losses = np.empty((5, 80))
    for drawn in folds(prepared.ballots.units, np.arange(80), 3, seed=0, key=(61,)):
        part, new = of_panel.with_items(drawn.calibration), of_panel.with_items(drawn.evaluation)
        _, fitted = panel_of(part, 4, aggregator)
        for arm, name in enumerate([None, *model.judges]):
            codes = codes_of(fitted, new)
            if name is not None:
                codes[:, fitted.judges.index(name)] = MISSING
            p = fitted.score(codes)
            losses[arm, drawn.evaluation] = -np.log(np.where(new.labels == 1, p, 1.0 - p))
    assert absence.n_splits == 3 <= FOLDS
    assert absence.nll == pytest.approx(losses[0].mean(), abs=1e-12)
    for figures, arm in zip(absence.single, losses[1:], strict=True):
        assert figures.main_nll == pytest.approx(arm.mean(), abs=1e-12)
        if absence.fallback is None:
            assert figures.nll == figures.main_nll
            assert figures.delta.value == pytest.approx((arm - losses[0]).mean(), abs=1e-12)
    assert absence.fallback is None or aggregator == "one_coin_graded"


def test_a_good_judge_is_missed_more_than_a_bad_one():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 400)
    right = rng.random((400, 4)) < np.array([0.9, 0.6, 0.6, 0.6])
    cast = np.where(right, labels[:, None], 1 - labels[:, None]).astype(np.int8)
    votes = replace(make_votes(0, 400, 4), votes=cast, labels=labels.astype(np.int8))
    prepared, model = panel_of(votes, 4)
    absence = measure_absence(prepared, SETTINGS, model)
    assert model.judges[0] == "judge000"
    assert absence.single[0].delta.lo > 0.05
    assert absence.single[0].delta.value > max(f.delta.value for f in absence.single[1:]) + 0.05
    assert [figures.n_absent for figures in absence.several] == [1, 2, 3]
    rises = [figures.delta.value for figures in absence.several]
    assert rises[0] < rises[1] < rises[2]


@pytest.mark.parametrize(("n_judges", "numbers"), [(2, [1]), (3, [1, 2]), (10, [1, 2, 5, 8])])
def test_somebody_is_absent_and_somebody_there(n_judges, numbers):
    prepared, model = panel_of(make_votes(2, 60, n_judges), n_judges)
    absence = measure_absence(prepared, SETTINGS, model)
    assert [absence_figures.n_absent for absence_figures in absence.several] == numbers
    assert len(absence.single) == n_judges
    for figures in (*absence.single, *absence.several):
        assert figures.delta.lo <= figures.delta.value <= figures.delta.hi


def vendors(seed=0, n_items=400):
    """Fifteen judges of three vendors: one good, the others err alike; and their families."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 2, n_items)
    right = np.empty((n_items, 15), dtype=bool)
    for vendor, accuracy in enumerate((0.9, 0.65, 0.6)):
        alike = rng.random(n_items) < accuracy
        right[:, 5 * vendor : 5 * vendor + 5] = alike[:, None] ^ (rng.random((n_items, 5)) < 0.1)
    cast = np.where(right, labels[:, None], 1 - labels[:, None]).astype(np.int8)
    votes = replace(
        make_votes(0, n_items, 15), votes=cast, labels=labels.astype(np.int8), groups=None
    )
    return votes, tuple("ABC"[j // 5] for j in range(15))


def test_families_and_clusters_of_errors_are_measured_one_by_one():
    votes, families = vendors()
    prepared, model = panel_of(votes, 15)
    absence = measure_absence(prepared, SETTINGS, model, families)
    named = {
        group.name: {model.judges[j] for j in group.judges}
        for group in absence.groups
        if group.kind == "family"
    }
    assert named == {
        vendor: {f"judge{5 * v + j:03d}" for j in range(5)} for v, vendor in enumerate("ABC")
    }
    worst = max(absence.groups, key=lambda group: group.figures.delta.value)
    assert worst.name == "A"
    assert worst.figures.delta.value > absence.several[1].delta.value
    unnamed = measure_absence(prepared, SETTINGS, model)
    assert {group.kind for group in unnamed.groups} == {"cluster"}
    assert {group.judges for group in unnamed.groups} == {group.judges for group in absence.groups}


def test_a_group_within_the_panel_is_measured_as_far_as_it_is_there():
    votes, families = vendors()
    prepared, model = panel_of(votes, 6)
    absence = measure_absence(prepared, SETTINGS, model, families)
    assert all(1 < len(group.judges) < 6 for group in absence.groups)


def test_groups_are_bounded_and_the_largest_stay(monkeypatch):
    votes, _ = vendors()
    prepared, model = panel_of(votes, 15)
    monkeypatch.setattr("judgepanel.decision.absence.MOST_GROUPS", 1)
    assert len(groups_of(prepared, model.judges, ("A",) * 10 + ("B",) * 5)) == 1
    assert groups_of(prepared, model.judges, ("A",) * 10 + ("B",) * 5)[0].name == "A"


def test_the_fallback_scores_absences_better_than_the_rule_and_complete_items_not_at_all():
    votes, families = vendors()
    past, new = votes.with_items(np.arange(200)), votes.with_items(np.arange(200, 400))
    prepared, model = panel_of(past, 15, "majority", "temperature")
    absence = measure_absence(prepared, SETTINGS, model, families)
    (best,) = [group for group in absence.groups if group.name == "A"]
    assert absence.fallback is not None
    assert best.figures.nll < best.figures.main_nll
    together = replace(model, fallback=absence.fallback)
    matrix = new.with_judges(model.judges).votes.copy()
    assert together.score(matrix).tolist() == model.score(matrix).tolist()
    matrix[:, list(best.judges)] = MISSING
    assert together.falls_back(matrix).all()

    def nll(panel):
        p = panel.score(matrix)
        return -np.log(np.where(new.labels == 1, p, 1 - p)).mean()

    assert nll(together) < nll(model)


def test_the_interval_allows_for_the_items_of_the_file():
    votes, families = vendors()
    prepared, model = panel_of(votes, 15)
    figures = measure_absence(prepared, SETTINGS, model, families).groups[0].figures
    plain = codec.to_plain(results.flat_row(figures))
    widths = [hi - lo for lo, hi in (on_items(plain, n) for n in (10, 100, 10**9))]
    assert widths[0] > widths[1] > widths[2] == pytest.approx(figures.delta.hi - figures.delta.lo)


def test_one_judge_has_nobody_to_miss():
    prepared, model = panel_of(make_votes(3, 60, 3), 1)
    assert measure_absence(prepared, SETTINGS, model) is None


def test_the_interval_allows_for_another_rule_than_the_one_that_was_measured():
    """Halves choose thresholds of their own; the panel takes the one that all items choose."""
    rng, n_items, n_folds = np.random.default_rng(3), 200, 5
    main, other = rng.normal(0.5, 0.01, (2, 2, n_items))
    other -= 0.2
    missing = np.repeat([[0.0], [0.3]], n_items, axis=1)
    losses = []
    for rows in np.array_split(np.arange(n_items), n_folds):
        part = Scored(main[:, rows], other[:, rows], missing[:, rows])
        losses.append(Losses(rows, rows, np.array([0, 1]), part, part, n_items - len(rows)))
    cross = np.where(np.arange(n_items) % 2 == 0, 0.1, 0.9)

    beyond_both, alike = (
        figures_of(losses, Threshold(0.1, chosen), np.arange(n_items), [1], 4)[0][0]
        for chosen in (cross, np.full(n_items, 0.1))
    )
    assert beyond_both.delta.value == pytest.approx(-0.1, abs=0.01)
    assert beyond_both.delta.lo < alike.delta.value < beyond_both.delta.hi
    assert alike.delta.hi - alike.delta.lo < 0.05
