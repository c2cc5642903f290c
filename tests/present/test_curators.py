"""Curators in words."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from judgepanel.present.blocks import Table
from judgepanel.present.decide import cost
from judgepanel.render.text import terminal_text
from judgepanel.scoring.interval import Interval
from judgepanel.studies.contract import Settings
from judgepanel.studies.decide.curators import CURATORS_STUDY, CuratorsSpec
from judgepanel.studies.runner import run
from tests.helpers import drawn, make_votes, named


@cache
def result(names=("fixed_size", "forward", "finite_calibration", "oracle"), n_judges=6):
    spec = CuratorsSpec(
        Settings(splits=3), curators=names, calibrator="temperature", folds=3, size=2, steps=3
    )
    return run(CURATORS_STUDY, make_votes(2, 80, n_judges), spec, jobs=1)


def with_best(**changes):
    """The result, the second curator changed and all others far worse."""
    first, second, *others = result().curators
    second = replace(second, nll=Interval.single(0.1, 0.0, 0.2), **changes)
    return replace(result(), curators=(first, second, *others))


def test_the_answer_names_the_best_curator_with_the_band_of_all():
    sentence = cost.curators_sentence(
        with_best(band=Interval.single(-0.1, -0.2, -0.05), margin=0.01)
    )
    assert sentence.startswith("Choosing pays: top by accuracy, k given keeps 2.0 of 6 judges")
    assert "-0.10 [-0.20, -0.05], all curators taken together" in sentence
    sentence = cost.curators_sentence(
        with_best(band=Interval.single(-0.1, -0.2, 0.05), margin=0.01)
    )
    assert sentence.startswith("No curator is shown to beat all 6 judges. The best of them, top by")


def test_a_curator_that_keeps_everybody_is_called_the_same_panel():
    nan = float("nan")
    tie = Interval.single(0.0, nan, nan)
    best = with_best(verdict="tie", delta=tie, band=tie, size_lo=6, size_hi=6)
    sentence = cost.curators_sentence(best)
    assert "top by accuracy, k given, is the same panel as all in every split." in sentence
    assert cost.curators_table(best)["against all judges"].texts()[1] == "same panel as all"


def test_curators_that_cost_are_counted():
    first, second, third, *others = result().curators
    worse = replace(third, band=Interval.single(0.3, 0.2, 0.4), margin=0.01)
    nll, band = Interval.single(0.1, 0.0, 0.2), Interval.single(0.0, -0.4, 0.4)
    second = replace(second, nll=nll, band=band)
    outcome = replace(result(), curators=(first, second, worse, *others))
    assert "are shown to cost NLL" in cost.curators_sentence(outcome)


def test_nothing_is_claimed_where_nothing_can_be():
    nobody = replace(result(), curators=result().curators[:1])
    assert cost.curators_sentence(nobody) == "No curator was compared with all judges."
    early = replace(result(), n_splits=1)
    assert cost.curators_sentence(early) == "Not enough splits yet to say."
    assert "nothing to choose" in cost.curators_sentence(replace(result(), n_judges=1))
    null = min(curator.nll.lo for curator in result().curators) - 0.01
    assert "beat the base rate" in cost.curators_sentence(replace(result(), null_nll=null))


def test_optimism_stability_and_the_selector_are_said():
    assert "promised NLL" in cost.looked_best_sentence(result())
    assert "our reading of arXiv:2606.01034" in cost.selector_sentence(result())
    assert cost.selector_sentence(result(("fixed_size",))) == ""
    sentence = cost.chosen_sentence(result(), "forward")
    assert sentence.startswith("Greedy forward chooses ")
    assert "Most often: judge" in sentence
    assert "Stability" in sentence
    assert cost.chosen_sentence(result(), "all") == "All judges keeps every judge in every split."
    assert cost.chosen_sentence(result(), "lasso") == ""


def test_the_table_has_a_row_a_curator_and_marks_the_oracle():
    table = Table(cost.curators_table(result())).texts().set_index("curator")
    assert len(table) == 6
    assert table.loc["all judges", "verdict"] == "reference"
    assert table.loc["oracle k", "verdict"] == "not deployable"
    assert table.loc["oracle k", "NLL where it chose"] == "n/a"
    assert table.loc["greedy forward", "selection bias"][0] in "+-"
    assert Table(cost.chosen_table(result())).n_rows == 6


def test_it_is_all_presented():
    text = terminal_text(cost.present_curators(result(), CuratorsSpec()))
    for part in (
        cost.looked_best_sentence(result()),
        cost.selector_sentence(result()),
        "not deployable: chosen on the evaluation rows",
        "Stability",
    ):
        assert part in text


@pytest.mark.parametrize("n_judges", [1, 2])
def test_small_panels_have_words_too(n_judges):
    outcome = result(("forward", "fixed_size"), n_judges)
    assert cost.curators_sentence(outcome) in terminal_text(
        cost.present_curators(outcome, CuratorsSpec())
    )


def test_a_refit_under_another_aggregator_is_told():
    refitted = replace(result(), refit="joint")
    text = terminal_text(cost.present_curators(refitted, CuratorsSpec()))
    assert "compared under one-coin and refitted under joint" in text


def test_every_curator_has_what_it_saw_and_what_it_got():
    figure = cost.curators_figure(result())
    new, seen = named(figure, "on new items, 95 %"), named(figure, "where it chose")
    assert len(new.x) == len(result().curators) == 6
    assert list(new.x) == sorted(new.x, reverse=True)
    oracle = new.y.index("oracle k (not deployable)")
    assert np.isnan(seen.x[oracle])
    by_title = {curator.title: curator.nll for curator in result().curators}
    levels = [by_title[name.removesuffix(" (not deployable)")] for name in new.y]
    np.testing.assert_allclose(drawn(new), np.transpose([tuple(level) for level in levels]))
    assert set(named(figure, "all judges").x) == {result().everyone.nll.value}
    assert set(named(figure, "base rate").x) == {result().null_nll}
