"""Damaged votes, distortions, weighting, bands and juries in words: no excessive claims."""

import re
from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest

from judgepanel.present.blocks import Answer
from judgepanel.present.paper import pipeline, theory
from judgepanel.present.trust import corruption
from judgepanel.scoring.interval import Interval
from judgepanel.studies.contract import Settings
from judgepanel.studies.paper.distortion import DISTORTION, DistortionSpec
from judgepanel.studies.paper.jury import JURY, JurySpec
from judgepanel.studies.paper.narrow_band import NARROW_BAND, NarrowBandSpec
from judgepanel.studies.paper.reliability_weighting import (
    RELIABILITY_WEIGHTING,
    ReliabilityWeightingSpec,
)
from judgepanel.studies.runner import run
from judgepanel.studies.trust.corruption import ABSENT, CORRUPTION, SCENARIOS, CorruptionSpec
from tests.helpers import drawn, make_votes, named

SETTINGS = Settings(splits=4)


@cache
def votes():
    plain = make_votes(1, 100, 7)
    return replace(plain, features=pd.DataFrame({"\x1b[31mred": np.arange(100.0)}))


@cache
def damaged():
    spec = CorruptionSpec(SETTINGS, panels=(3,), flips=(0.2, 0.4))
    return run(CORRUPTION, votes(), spec, jobs=1)


@cache
def weighed():
    return run(RELIABILITY_WEIGHTING, votes(), ReliabilityWeightingSpec(SETTINGS), jobs=1)


@cache
def jury():
    return run(JURY, votes(), JurySpec(SETTINGS), jobs=1)


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_every_scenario_has_its_worst_level_both_panels_and_the_base_rate(scenario):
    text = corruption.corruption_sentence(damaged(), scenario)
    share = "50 %" if scenario == "absent" else "40 %"
    assert text.startswith(f"The worst case: {share} of the ")
    assert "All 7 go from NLL 0." in text
    assert "Top-3 goes from 0." in text
    assert "The base rate alone has NLL 0." in text
    assert ("at scoring time" in text) != scenario.endswith("_both")
    assert (", all by 50 % of the judges" in text) == (scenario == "concentrated_evaluation")


@pytest.mark.parametrize(
    ("lo", "hi", "sentence"),
    [
        (0.02, 0.08, "Top-3 loses 0.050 [0.020, 0.080] more than all 7."),
        (-0.08, -0.02, "All 7 lose 0.050 [0.020, 0.080] more than top-3."),
        (-0.01, 0.11, "Which of the two loses more is not shown"),
    ],
)
def test_who_degrades_slower_follows_the_band(lo, hi, sentence):
    result = damaged()
    gap = Interval(*(np.full(result.gap.shape, end) for end in ((lo + hi) / 2, lo, hi)))
    changed = replace(result, gap=gap)
    assert sentence in corruption.corruption_sentence(changed, "random_both")


def test_conditions_are_counted_and_the_starting_level_is_not_forgotten():
    text = corruption.degrades_sentence(damaged())
    assert text.startswith("All 7 degrade slower than top-3 in ")
    assert "has more to lose" in text
    alone = run(CORRUPTION, make_votes(1, 60, 2), CorruptionSpec(SETTINGS), jobs=1)
    assert corruption.degrades_sentence(alone) == ""
    sentence = corruption.corruption_sentence(alone, "random_both")
    assert re.search(r"The base rate alone has NLL [\d.]+\.$", sentence)


def test_the_table_of_a_scenario_begins_with_clean_votes():
    table = corruption.corruption_table(damaged(), "random_evaluation")
    assert table["damage"].texts() == ["0 %", "20.0 %", "40.0 %"]
    assert table["rise, all 7"].texts()[0] == ""
    assert (table["base rate"].numbers > 0.68).all()


@cache
def bent():
    spec = DistortionSpec(SETTINGS, calibrators=("none", "temperature", "isotonic"))
    return run(DISTORTION, votes(), spec, jobs=1)


def test_calibrators_that_repair_the_same_are_named_together():
    rows = [("reference",) * 3] + [("harmed", "harmed", "repaired")] * 2
    rows += [("harmed", "undecided", "harmed")] * 5
    text = pipeline.distortion_sentence(replace(bent(), outcomes=tuple(rows)))
    assert text.startswith(
        "Of 7 distortions isotonic repairs 'squared' and 'square root'; temperature repairs none."
    )
    none = tuple([("reference",) * 3] + [("harmed",) * 3] * 7)
    text = pipeline.distortion_sentence(replace(bent(), outcomes=none))
    assert "temperature and isotonic repair none." in text
    assert set(bent().distortions) == set(pipeline.DISTORTION_NAMES)


def test_weightings_that_help_or_hurt_are_named_with_their_size():
    result = weighed()
    n = len(result.signals)
    none = Interval(np.zeros(n), np.full(n, -1.0), np.full(n, 1.0))
    text = pipeline.weighting_sentence(replace(result, band=none))
    assert text.startswith("No weighting of the comparisons is shown to change the NLL. ")
    low = Interval.full(1, -0.05)
    low = replace(low, lo=low.lo - 0.03, hi=low.hi + 0.03)
    band = Interval.joined([none[:1], low, none[2:]])
    text = pipeline.weighting_sentence(replace(result, band=band))
    assert text.startswith(
        "Giving more weight to items judges disagree on lowers NLL by 0.050 [0.020, 0.080]. "
    )


def test_the_simulation_says_that_it_is_one():
    spec = NarrowBandSpec(SETTINGS, widths=(0.1,), rhos=(0.0,), sizes=(4,), replicates=2)
    result = run(NARROW_BAND, votes(), spec, jobs=1)
    assert theory.band_sentence(result).startswith("Simulated, not measured: ")
    assert "mean accuracy" in theory.placed_sentence(result)
    lost = replace(result, own_width=float("nan"), own_rho=float("nan"))
    assert "nan" not in theory.placed_sentence(lost)


def test_the_cost_of_dependence_is_claimed_only_where_it_is_shown():
    result = jury()
    n = len(result.k)
    displayed = replace(result, gap=replace(result.gap, lo=np.full(n, 0.01)))
    assert "Dependence costs" in theory.jury_sentence(displayed)
    hidden = replace(result, gap=replace(result.gap, lo=np.full(n, -0.01)))
    assert "No cost of dependence is shown." in theory.jury_sentence(hidden)
    tiny = replace(result, independent=Interval.full(n, 1e-9, "share"))
    assert "would err on under 0.01 %." in theory.jury_sentence(tiny)
    assert theory.jury_table(tiny)["independent judges would"].texts() == ["under 0.01 %"] * n
    unknown = replace(result, effective=Interval.full(n, np.nan, "count"))
    assert "worth" not in theory.jury_sentence(unknown)
    low = replace(result, jury_bound=np.full(len(result.k), 1e-9))
    assert "errs on under 0.01 %" in theory.bound_sentence(low)
    assert theory.jury_sentence(replace(result, n_judges=1)).startswith("There is only one judge")


def test_one_judge_alone_has_no_dependence_to_pay_for():
    table = theory.jury_table(jury())
    costs = [bool(cell) for cell in table["dependence costs"].texts()]
    assert (table["judges"].numbers > 1).tolist() == costs


def test_every_scenario_is_shown_unless_one_is_chosen():
    spec = CorruptionSpec(SETTINGS)
    every = corruption.present(damaged(), spec)
    assert [block.text for block in every if isinstance(block, Answer)] == [
        corruption.corruption_sentence(damaged(), name) for name in corruption.SCENARIO_NAMES
    ]
    chosen = corruption.present(damaged(), spec, corruption.CorruptionView(ABSENT))
    (answer,) = (block.text for block in chosen if isinstance(block, Answer))
    assert answer == corruption.corruption_sentence(damaged(), ABSENT)


def test_both_panels_are_lines_from_the_clean_votes_to_the_worst():
    result = damaged()
    places = result.of("random_both")
    figure = corruption.corruption_figure(result, "random_both")
    for p, name in enumerate(result.arms):
        line = named(figure, name)
        np.testing.assert_allclose(drawn(line, "y"), tuple(result.nll[p, places]))
        np.testing.assert_allclose(line.customdata, [0, 20, 40])
    assert named(figure, result.arms[0]).line.dash != named(figure, result.arms[1]).line.dash
    assert set(named(figure, "base rate").y) == {result.null_nll}


def test_every_calibrator_is_a_mark_in_every_row_and_none_may_be_drawn():
    result = bent()
    figure = pipeline.distortion_figure(result, ("temperature", "isotonic"))
    np.testing.assert_array_equal(named(figure, "isotonic").x, result.nll.value[:, 2])
    assert named(figure, "isotonic").marker.symbol != named(figure, "temperature").marker.symbol
    assert list(figure.layout.yaxis.ticktext) == list(pipeline.DISTORTION_NAMES.values())
    empty = pipeline.distortion_figure(result, ())
    assert [line.name for line in empty.data] == ["base rate"]


def test_effects_lie_beside_the_margin_and_names_are_inert():
    result = weighed()
    bold = replace(result, signals=("<b>", *result.signals[1:]), features=(True,) * len(result.p))
    figure = pipeline.weighting_figure(bold)
    np.testing.assert_array_equal(figure.data[0].x, result.delta.value)
    assert figure.layout.yaxis.ticktext[0] == "high &lt;b&gt;"
    (margin,) = [shape for shape in figure.layout.shapes if shape.type == "rect"]
    assert (margin.x0, margin.x1) == (-0.005, 0.005)


def test_every_correlation_is_a_line_and_the_panel_at_hand_is_placed():
    spec = NarrowBandSpec(SETTINGS, widths=(0.1, 0.2), rhos=(0.0, 0.3), sizes=(4,), replicates=2)
    result = run(NARROW_BAND, votes(), spec, jobs=1)
    figure = theory.band_figure(result, 0, 1)
    line = named(figure, "latent correlation 0.3")
    np.testing.assert_array_equal(line.y, result.delta.value[:, 1, 0, 1])
    assert any(shape.x0 == result.own_width for shape in figure.layout.shapes)
    unknown = theory.band_figure(replace(result, own_width=float("nan")), 0, 1)
    assert len(unknown.layout.shapes) == len(figure.layout.shapes) - 1


def test_errors_too_small_for_the_axis_are_left_out():
    result = jury()
    tiny = replace(result, independent=Interval.full(len(result.k), theory.FLOOR / 10, "share"))
    assert np.isnan(named(theory.jury_figure(tiny), "majority, if independent").y).all()
    figure = theory.jury_figure(result)
    np.testing.assert_array_equal(named(figure, "majority, observed").y, result.majority.value)
    np.testing.assert_array_equal(named(figure, "one-coin, observed").x, result.k)
    assert figure.layout.yaxis.type == "log"
