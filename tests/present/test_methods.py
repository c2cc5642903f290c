"""The method grid and calibrators in words: claims do not exceed the result."""

import re
from dataclasses import replace
from functools import cache
from itertools import combinations, product

import numpy as np
import pytest

from judgepanel.kernels.aggregation import AGGREGATORS
from judgepanel.kernels.calibration import CALIBRATORS
from judgepanel.present.blocks import Figure, Table
from judgepanel.present.decide.recommend import decision_sentence
from judgepanel.present.paper import pipeline
from judgepanel.present.understand import method_grid
from judgepanel.scoring.interval import Interval
from judgepanel.studies.contract import Settings
from judgepanel.studies.runner import run
from judgepanel.studies.understand.method_grid import METHOD_GRID, MethodGridSpec
from judgepanel.words.sentences import CALIBRATOR_NAMES, in_words
from tests.helpers import make_votes

AGGREGATED = ("majority", "log_odds", "one_coin")
CALIBRATED = ("none", "temperature", "beta", "isotonic")


@cache
def grid_of():
    spec = MethodGridSpec(Settings(splits=6), AGGREGATED, CALIBRATED)
    return run(METHOD_GRID, make_votes(1, 90, 6), spec, jobs=1)


@cache
def design_of():
    spec = pipeline.CalibratorDesignSpec(
        settings=Settings(splits=3), calibrators=CALIBRATED, panels=(2, 3)
    )
    return run(pipeline.CALIBRATOR_DESIGN, make_votes(1, 90, 6), spec, jobs=1)


def tied(*rows):
    """The grid with these ties: one string an aggregator, x where a calibrator is tied."""
    mask = np.array([[mark == "x" for mark in row] for row in rows])
    nll = np.where(mask, 0.3, 0.6) + 0.01 * np.arange(mask.shape[0])[:, None]
    a, c = np.argwhere(mask)[0]
    nll[a, c] = 0.29
    return replace(
        grid_of(),
        aggregators=AGGREGATED[: len(rows)],
        calibrators=CALIBRATED[: len(rows[0])],
        nll=Interval(nll, nll - 0.05, nll + 0.05),
        tied=mask,
        best=(int(a), int(c)),
        null_nll=0.693,
    )


def test_every_pair_has_a_name_of_its_own_that_reads_within_a_sentence():
    names = {method_grid.pair_name(a, c) for a, c in product(AGGREGATORS, CALIBRATORS)}
    assert len(names) == len(AGGREGATORS) * len(CALIBRATORS)
    assert "joint" in names
    assert "one-coin with temperature scaling" in names
    assert not any("_" in name for name in names)


@pytest.mark.parametrize(
    ("rows", "ending"),
    [
        (("x...", "....", "...."), ". It is told apart from all 11 other pairs."),
        (("xx..", "....", "...."), ". 1 of the other 11 pairs is not told apart from it."),
        (("xxx.", "x...", "...."), ". 3 of the other 11 pairs are not told apart from it."),
        (("xxxx", "xxxx", "xxxx"), ". None of the 11 other pairs is told apart from it."),
        (("xx",), ". The other one is not told apart from it."),
        (("x",), "(base rate: 0.693)."),
    ],
)
def test_the_answer_names_the_lowest_pair_its_interval_the_base_rate_and_the_ties(rows, ending):
    sentence = method_grid.grid_sentence(tied(*rows))
    start = "Uncalibrated majority vote has the lowest NLL, 0.290 [0.240, 0.340] (base rate:"
    assert sentence.startswith(start)
    assert sentence.endswith(ending)


def test_what_is_not_shown_to_beat_the_base_rate_is_not_called_lowest_without_saying_so():
    sentence = method_grid.grid_sentence(replace(tied("x...", "...."), null_nll=0.33))
    assert sentence.startswith("Nothing here is shown to beat the base rate (NLL 0.330).")
    assert "The lowest is uncalibrated majority vote, 0.290 [0.240, 0.340]" in sentence


def test_the_recommended_pipeline_is_placed_among_the_pairs(outcome):
    main = outcome.model.main
    grid = tied("x..", "...", "...")
    calibrators = (main.calibrator, *(c for c in CALIBRATED if c != main.calibrator))[:3]
    aggregators = (main.aggregator, *(a for a in AGGREGATED if a != main.aggregator))[:3]
    lowest = replace(grid, aggregators=aggregators, calibrators=calibrators)
    decision = decision_sentence(outcome)
    assert method_grid.grid_decision(lowest, None) == ""
    elsewhere = replace(lowest, aggregators=("stacking_monotone",) * 3)
    other = method_grid.grid_decision(elsewhere, outcome)
    assert other.startswith(decision)
    assert other.endswith(" is not among the candidates of the recommendation.")
    texts = [
        method_grid.grid_decision(replace(lowest, best=best, tied=mask), outcome)
        for best, mask in (
            ((0, 0), lowest.tied),
            ((1, 1), np.ones_like(lowest.tied)),
            ((1, 1), np.zeros_like(lowest.tied)),
        )
    ]
    assert all(text.startswith(f"{decision} ") for text in texts)
    assert "on all judges has the lowest NLL here" in texts[0]
    assert "is not told apart from the lowest here" in texts[1]
    assert "has NLL 0.290 [0.240, 0.340] here" in texts[2]


def test_a_single_split_claims_no_ties():
    result = replace(grid_of(), n_splits=1)
    assert "tied" not in method_grid.grid_sentence(result)
    assert method_grid.ties_sentence(result) == method_grid.grid_choice_sentence(result) == ""


@pytest.mark.parametrize(
    ("rows", "text"),
    [
        (("xxxx", "....", "...."), "majority vote, calibrated or not."),
        (("xxxx", "xxxx", "...."), "majority vote and log-odds, calibrated or not."),
        ((".xxx", "x...", "...."), "majority vote, however calibrated; log-odds, not calibrated."),
        ((".xx.", "....", "...."), "majority vote, calibrated by any but isotonic."),
        (("xxx.", "....", "...."), "calibrated by any but isotonic, or not at all."),
        (("xx..", "....", "...."), "majority vote, calibrated by temperature, or not at all."),
        ((".x..", ".x..", "...."), "majority vote and log-odds, calibrated by temperature."),
    ],
)
def test_ties_are_named_aggregator_by_aggregator(rows, text):
    listed, _, at_once = method_grid.ties_sentence(tied(*rows)).partition(" Here ")
    assert listed.startswith("Not told apart from the lowest: ")
    assert listed.endswith(text)
    assert at_once.startswith("12 pairs are compared at once")


@pytest.mark.parametrize("rows", [("x...", "....", "...."), ("xxxx", "xxxx")])
def test_one_pair_alone_or_all_of_them_need_no_list_of_ties(rows):
    assert method_grid.ties_sentence(tied(*rows)) == ""


def test_the_choice_without_hindsight_stands_beside_the_lowest():
    grid = grid_of()
    sentence = method_grid.grid_choice_sentence(grid)
    assert f"gets NLL {grid.chosen_nll.value:.3f} [" in sentence
    assert f"(base rate: {grid.null_nll:.3f})" in sentence
    a, c = np.unravel_index(grid.chosen_share.argmax(), grid.chosen_share.shape)
    assert method_grid.pair_name(grid.aggregators[a], grid.calibrators[c]) in sentence


def test_the_table_holds_every_cell_lowest_first_with_numbers_that_sort():
    table, grid = method_grid.grid_table(grid_of()), grid_of()
    assert table["NLL"].numbers.tolist() == sorted(grid.nll.value.ravel())
    assert table["against the lowest"].texts().index("lowest") == 0
    assert table["tied"].texts().count("yes") == grid.tied.sum()
    for name in ("skill", "chosen in", "Brier", "ECE", "accuracy"):
        assert len(table[name].numbers) == grid.tied.size
    assert table["chosen in"].numbers.sum() == pytest.approx(1.0)


def test_differences_are_rounded_as_their_intervals_are():
    pattern = re.compile(r"[+-]?(\d+\.\d+) \[[+-](\d+\.\d+), [+-](\d+\.\d+)\]")
    for text in method_grid.grid_table(grid_of())["against the lowest"].texts()[1:]:
        match = pattern.fullmatch(text)
        assert match, text
        assert len({len(part.partition(".")[2]) for part in match.groups()}) == 1
        assert len(match[1].partition(".")[2]) <= 4


def test_a_pair_that_came_to_the_lowest_in_every_split_is_the_same():
    grid = grid_of()
    a, c = grid.best
    other = (c + 1) % len(CALIBRATED)
    ends = [end.copy() for end in grid.delta]
    for end in ends:
        end[a, other] = 0.0
    against = method_grid.grid_table(replace(grid, delta=Interval(*ends)))["against the lowest"]
    assert against.texts().count("the same") == 1


def test_the_metric_changes_the_heat_map_and_nothing_else():
    spec = MethodGridSpec(settings=Settings(splits=6))
    views = map(method_grid.MethodGridView, ("nll", "brier"))
    nll, brier = (method_grid.present(grid_of(), spec, view) for view in views)
    tables = [next(b.texts() for b in blocks if isinstance(b, Table)) for blocks in (nll, brier)]
    assert tables[0].equals(tables[1])
    heat_maps = [next(b for b in blocks if isinstance(b, Figure)) for blocks in (nll, brier)]
    assert [figure.narrow.metric for figure in heat_maps] == ["nll", "brier"]
    readings = [b.text for blocks in (nll, brier) for b in blocks if getattr(b, "quiet", False)]
    assert readings[0].startswith("NLL on all 6 judges, lower is better.")
    assert readings[1].startswith("Brier score on all 6 judges, lower is better")


@pytest.mark.parametrize(
    ("form", "words"), [("cross_fitted", "Cross-fitted: "), ("nested", "Nested 70/30: ")]
)
def test_the_method_says_who_gets_which_labels(form, words):
    result = replace(grid_of(), form=form)
    method = method_grid.present(result, MethodGridSpec(settings=Settings(splits=6)))[-1]
    assert words in method.text


def test_calibrators_are_compared_with_the_raw_score_and_the_base_rate():
    nll = np.array([[0.5, 0.5, 0.6], [0.4, 0.4, 0.3], [0.4, 0.4, 0.31], [0.4, 0.4, 0.32]])
    design = replace(design_of(), nll=Interval(nll, nll - 0.1, nll + 0.1), null_nll=0.7)
    assert pipeline.design_sentence(design) == (
        "On all 6 judges with one-coin, temperature scaling has the lowest NLL, 0.300 "
        "[0.200, 0.400]. The raw score has 0.600 [0.500, 0.700]. The base rate alone has 0.700."
    )


def test_a_raw_score_that_nothing_improves_is_not_called_a_calibrator():
    nll = np.array([[0.3] * 3, [0.4] * 3, [0.4] * 3, [0.4] * 3])
    design = replace(design_of(), nll=Interval(nll, nll - 0.1, nll + 0.1))
    sentence = pipeline.design_sentence(design)
    assert "no calibrator improves on the raw score: NLL 0.300 [0.200, 0.400]" in sentence


def test_the_table_of_calibrators_has_an_interval_beside_every_nll():
    table = pipeline.design_table(design_of())
    columns = [name for name in table if name.startswith("NLL")]
    assert columns == ["NLL, all 6", "NLL, top-3", "NLL, top-2"]
    for name in columns:
        for cell in table[name].texts():
            assert re.fullmatch(r"\d\.\d{3} \[\d\.\d+, \d\.\d+\]", cell)
    assert table["constant score"].numbers.tolist() == design_of().constant_nll.tolist()


def test_shares_are_told_from_scores_by_their_column():
    columns = method_grid.grid_table(grid_of()) | pipeline.design_table(design_of())
    shares = {name for name, column in columns.items() if column.form == "share"}
    assert shares == {"skill", "accuracy", "chosen in"}


def test_warnings_name_calibrators_as_the_page_does():
    given = ("platt could not be fitted in 3 of 8 cases.", "Only 6 labels calibrate.")
    platt = "Platt scaling could not be fitted in 3 of 8 cases."
    assert in_words(given) == (platt, "Only 6 labels calibrate.")


def test_no_number_is_missing_from_the_tables():
    for table in (method_grid.grid_table(grid_of()), pipeline.design_table(design_of())):
        for name, column in table.items():
            assert column.numbers is None or np.isfinite(column.numbers).all(), name


@cache
def design(orientation="auto"):
    settings = Settings(splits=2, orientation=orientation)  # type: ignore[arg-type]
    spec = pipeline.CalibratorDesignSpec(settings=settings, panels=())
    return run(pipeline.CALIBRATOR_DESIGN, make_votes(1, 90, 8), spec, jobs=1)


def test_lines_come_in_the_order_asked_for_and_unknown_ones_are_left_out():
    lines = pipeline.design_figure(design(), ("beta", "no such", "none")).data
    assert [line.name for line in lines] == [CALIBRATOR_NAMES[name] for name in ("beta", "none")]
    assert list(lines[0].y) == design().shape[design().calibrators.index("beta")].tolist()


def test_every_line_is_drawn_over_all_scores_in_order():
    figure = pipeline.design_figure(design())
    assert [trace.name for trace in figure.data] == [CALIBRATOR_NAMES[n] for n in CALIBRATORS]
    for trace, p in zip(figure.data, design().shape, strict=True):
        assert list(trace.x) == design().shape_logit.tolist() == sorted(trace.x)
        assert list(trace.y) == p.tolist()
        assert 0.0 < min(trace.y) <= max(trace.y) < 1.0


def test_any_two_calibrators_are_told_apart_without_colour():
    figure = pipeline.design_figure(design())
    looks = {trace.name: (trace.line.dash, trace.marker.symbol) for trace in figure.data}
    for first, other in combinations(looks, 2):
        assert looks[first] != looks[other], (first, other)


def test_lines_that_lie_on_each_other_are_marked_in_different_places():
    figure = pipeline.design_figure(design("symmetric"), ("temperature", "platt"))
    first, other = figure.data
    np.testing.assert_allclose(first.y, other.y, atol=1e-6)
    marked = [np.flatnonzero(line.marker.size) for line in (first, other)]
    assert min(len(places) for places in marked) >= 5
    assert not np.intersect1d(*marked).size


def test_the_raw_score_is_smooth_where_it_rises():
    (line,) = pipeline.design_figure(design(), ("none",)).data
    assert np.abs(np.diff(line.y)).max() < 0.08


def test_nothing_chosen_is_an_empty_figure_with_its_axes():
    figure = pipeline.design_figure(design(), ())
    assert len(figure.data) == 0
    assert figure.layout.xaxis.title.text == "raw score (logit)"


@pytest.mark.parametrize("points", [1, 2])
def test_few_distinct_scores_are_drawn(points):
    some = design()
    few = replace(some, shape_logit=some.shape_logit[:points], shape=some.shape[:, :points])
    figure = pipeline.design_figure(few, ("none", "beta"))
    assert [len(trace.x) for trace in figure.data] == [points, points]
