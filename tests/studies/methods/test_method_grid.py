"""The method grid: cells out of sample, ties with the best, the choice that could be made."""

from dataclasses import replace

import numpy as np
import pytest

from judgepanel.kernels.aggregation import AGGREGATORS
from judgepanel.kernels.evaluation import Pipelines, Recipe, evaluate_grid, evaluate_split
from judgepanel.scoring.splits import split
from judgepanel.studies.contract import Settings, prepare
from judgepanel.studies.runner import run
from judgepanel.studies.understand.method_grid import METHOD_GRID, MethodGridSpec, run_chunk
from tests.helpers import make_ballots, make_votes

QUICK = ("majority", "log_odds", "one_coin")
NAMES = ("none", "temperature", "platt", "beta", "beta_free", "isotonic", "auto")


def spec_of(**options):
    given = {"aggregators": QUICK, "calibrators": NAMES, "settings": Settings(splits=20)}
    return MethodGridSpec(**{**given, **options})


@pytest.fixture(scope="module")
def result():
    return run(METHOD_GRID, make_votes(1, 160, 9, low=0.5, high=0.8), spec_of(), jobs=1)


def test_a_cell_is_the_same_pipeline_as_in_the_panel_curve():
    ballots = make_ballots(2, 80, 6)
    one_split = split(ballots.units, 3)
    grid, _ = evaluate_grid(
        ballots, one_split, Pipelines(AGGREGATORS, ("none", "beta", "temperature"))
    )
    for column, aggregator in enumerate(AGGREGATORS):
        recipe = Recipe(aggregator, ("none", "beta", "temperature"))
        alone = evaluate_split(ballots, one_split, np.array([6]), recipe)
        for name, scores in grid.evaluation.items():
            np.testing.assert_allclose(
                scores.nll[column], alone.evaluation[name].nll[0], rtol=0, atol=1e-9
            )
    assert grid.null_nll == alone.null_nll


def test_the_nested_form_fits_the_calibrator_to_rows_the_aggregator_never_saw():
    ballots = make_ballots(3, 100, 5)
    one_split = split(ballots.units, 0)
    pipelines = Pipelines(("one_coin",), ("none", "temperature"), "nested")
    scores, _ = evaluate_grid(ballots, one_split, pipelines)
    signs = ballots.signs.copy()
    signs[one_split.evaluation] *= -1
    spoilt, _ = evaluate_grid(replace(ballots, signs=signs), one_split, pipelines)
    np.testing.assert_array_equal(scores.fitted.logits, spoilt.fitted.logits)
    assert scores.fitted.maps["temperature"].shape(0) == spoilt.fitted.maps["temperature"].shape(0)
    whole, _ = evaluate_grid(ballots, one_split, replace(pipelines, form="cross_fitted"))
    assert (scores.fitted.logits != whole.fitted.logits).any()
    assert scores.null_nll == whole.null_nll


def test_the_best_cell_is_tied_with_itself_and_far_cells_are_not(result):
    assert result.tied[result.best]
    assert result.nll.value[result.best] == result.nll.value.min()
    assert (
        not result.tied[result.aggregators.index("majority"), 0] or result.delta.value.max() < 0.01
    )
    np.testing.assert_array_equal(result.tied, ~result.delta.above())
    assert (result.delta.value >= 0).all()


def test_choosing_a_cell_costs_what_hindsight_hides(result):
    assert result.chosen_nll.value >= result.nll.value.min() - 1e-12
    assert result.chosen_share.sum() == pytest.approx(1.0)
    assert result.chosen_share[:, result.calibrators.index("auto")].sum() == 0.0


def test_what_coincides_under_symmetric_is_shown_once():
    votes = make_votes(4, 60, 5, one_class=True)
    cells = run(METHOD_GRID, votes, spec_of(settings=Settings(splits=4)), jobs=1)
    assert cells.orientation == "symmetric"
    assert not {"platt", "beta_free"} & set(cells.calibrators)
    assert cells.nll.value.min() > 0.2  # nothing flattering from one-class labels
    assert cells.null_nll == pytest.approx(np.log(2))


def test_equal_cells_are_tied():
    votes = make_votes(5, 80, 1)  # one judge: every aggregator with a free slope is the same
    assert run(METHOD_GRID, votes, spec_of(calibrators=("platt",)), jobs=1).tied.all()


def test_judges_who_are_always_right_wrong_or_constant_leave_every_figure_finite():
    votes = make_votes(8, 60, 6)
    cast = votes.votes.copy()
    cast[:, 0], cast[:, 1], cast[:, 2] = votes.labels, 1 - votes.labels, 1
    cast[:5] = -1
    spec = MethodGridSpec(settings=Settings(splits=2))
    cells = run(METHOD_GRID, replace(votes, votes=cast), spec, jobs=1)
    for name in ("nll", "brier", "ece", "accuracy", "delta"):
        assert np.isfinite(getattr(cells, name).value).all()
    assert np.isfinite(list(cells.delta)).all()
    assert prepare(votes, spec.settings).ballots.n_items == cells.n_items


def test_no_calibrator_and_no_choice_reads_labels_off_left_out_counts():
    spec = spec_of(
        aggregators=("majority", "accuracy_weighted", "log_odds", "one_coin"),
        calibrators=("temperature", "platt", "isotonic", "auto"),
    )
    for seed in range(3):
        cast = (np.random.default_rng(seed).random((100, 5)) < 0.95).astype(np.int8)
        labels = (np.arange(100) % 2).astype(np.int8)
        votes = replace(make_votes(seed, 100, 5, missing=0.0), votes=cast, labels=labels)
        cells = run(METHOD_GRID, votes, spec, jobs=1)
        for name in ("platt", "auto"):
            column = cells.calibrators.index(name)
            assert cells.nll.value[:, column].max() < cells.null_nll + 0.1
        assert cells.chosen_nll.value < cells.null_nll + 0.1
        partial = run_chunk(votes, spec, METHOD_GRID.plan(spec)[0])
        promised = partial.chosen_on[:, 0].min(axis=-1).mean()
        assert promised > cells.null_nll - 0.05
