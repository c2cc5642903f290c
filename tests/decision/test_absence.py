"""What a panel loses without some of its judges: against a plain loop, and what it must say."""

from dataclasses import replace

import numpy as np
import pytest

from judgepanel.decision.absence import FOLDS, measure_absence, scores_without
from judgepanel.kernels.aggregate.aggregation import KERNELS
from judgepanel.kernels.ballots import Ballots
from judgepanel.models.panel import fit_panel
from judgepanel.scoring.splits import folds
from judgepanel.studies.settings import Settings, prepare
from judgepanel.votes import MISSING
from tests.helpers import make_votes

SETTINGS = Settings(splits=3)


def panel_of(votes, k, aggregator="one_coin", calibrator="temperature"):
    prepared = prepare(votes, SETTINGS)
    return prepared, fit_panel(
        prepared.ballots, prepared.judges, k, aggregator=aggregator, calibrator=calibrator
    )


@pytest.mark.parametrize("aggregator", ["majority", "one_coin", "log_odds", *KERNELS])
def test_scores_without_judges_are_those_of_votes_set_missing(aggregator):
    votes = make_votes(0, 60, 6, missing=0.3)
    _, model = panel_of(votes, 6, aggregator)
    matrix = votes.with_judges(model.judges).votes
    absent = [[], [2], [0, 5], [0, 1, 2, 3, 4, 5]]
    for found, gone in zip(scores_without(model, matrix, absent), absent, strict=True):
        cast = matrix.copy()
        cast[:, gone] = MISSING
        np.testing.assert_allclose(found, model.score(cast), rtol=0, atol=1e-12)
    assert (scores_without(model, matrix, absent)[-1] == model.prior).all()


def test_the_nll_without_a_judge_is_that_of_a_plain_loop():
    votes = make_votes(1, 80, 5, missing=0.2)
    prepared, model = panel_of(votes, 4)
    found = measure_absence(prepared, SETTINGS, model)
    names = sorted(model.judges)
    columns = [prepared.judges.index(name) for name in names]
    whole = prepared.ballots
    sums, times = np.zeros((2, 80)), np.zeros(80)
    for drawn in folds(whole.units, np.arange(80), 3, seed=0, key=(61,)):
        rows = drawn.calibration
        ballots = Ballots(
            whole.votes[rows][:, columns], whole.signs[rows], np.arange(len(rows)), whole.symmetric
        )
        fitted = fit_panel(
            ballots, tuple(names), 4, aggregator="one_coin", calibrator="temperature"
        )
        cast = votes.with_judges(fitted.judges).votes[drawn.evaluation].copy()
        labels = votes.labels[drawn.evaluation]
        for arm in range(2):
            if arm:
                cast[:, fitted.judges.index(model.judges[1])] = MISSING
            p = fitted.score(cast)
            sums[arm, drawn.evaluation] -= np.log(np.where(labels == 1, p, 1 - p))
        times[drawn.evaluation] += 1
    seen = times > 0
    nobody, without = (sums[:, seen] / times[seen]).mean(axis=1)
    assert found.fallback is None
    assert found.nll == pytest.approx(nobody, abs=1e-12)
    assert found.single[1].nll == pytest.approx(without, abs=1e-12)
    assert found.single[1].delta == pytest.approx(without - nobody, abs=1e-12)
    assert found.n_splits == 3 <= FOLDS


def test_a_good_judge_is_missed_more_than_a_bad_one():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 400)
    accuracy = np.array([0.9, 0.6, 0.6, 0.6])
    right = rng.random((400, 4)) < accuracy
    cast = np.where(right, labels[:, None], 1 - labels[:, None]).astype(np.int8)
    votes = replace(make_votes(0, 400, 4), votes=cast, labels=labels.astype(np.int8))
    prepared, model = panel_of(votes, 4)
    found = measure_absence(prepared, SETTINGS, model)
    assert model.judges[0] == "judge000"
    assert found.single[0].lo > 0.05
    assert found.single[0].delta > max(one.delta for one in found.single[1:]) + 0.05
    assert [one.n_absent for one in found.several] == [1, 2, 3]
    assert found.several[0].delta < found.several[1].delta < found.several[2].delta


@pytest.mark.parametrize(("n_judges", "numbers"), [(2, [1]), (3, [1, 2]), (10, [1, 2, 5, 8])])
def test_somebody_is_absent_and_somebody_there(n_judges, numbers):
    prepared, model = panel_of(make_votes(2, 60, n_judges), n_judges)
    found = measure_absence(prepared, SETTINGS, model)
    assert [one.n_absent for one in found.several] == numbers
    assert len(found.single) == n_judges
    for one in (*found.single, *found.several):
        assert one.lo <= one.delta <= one.hi


def test_one_judge_has_nobody_to_miss():
    prepared, model = panel_of(make_votes(3, 60, 3), 1)
    assert measure_absence(prepared, SETTINGS, model) is None


def test_the_same_votes_give_the_same_figures_in_any_order_of_judges():
    votes = make_votes(4, 60, 6, groups=20)
    found = []
    for one in (votes, votes.with_judges(votes.judges[::-1])):
        prepared, model = panel_of(one, 6)
        found.append(measure_absence(prepared, SETTINGS, model))
    assert found[0] == found[1]
