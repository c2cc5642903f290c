"""Figures of curators draw what the result says, and untrusted names as text."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np

from judgepanel.figures.curators import (
    chosen_judges,
    curators,
    prepare_chosen,
    prepare_curators,
)
from judgepanel.studies.panel.curators import CURATORS_STUDY, CuratorsSpec
from judgepanel.studies.runner import run
from judgepanel.studies.settings import Settings
from tests.helpers import make_votes


@cache
def result():
    spec = CuratorsSpec(
        Settings(splits=3),
        curators=("fixed_size", "forward", "oracle"),
        calibrator="temperature",
        folds=3,
        size=2,
        steps=3,
    )
    return run(CURATORS_STUDY, make_votes(2, 80, 6), spec, jobs=1)


def traces(figure):
    return {trace.name: trace for trace in figure.data if trace.name}


def test_every_curator_has_what_it_saw_and_what_it_got():
    rows = prepare_curators(result())
    assert list(rows.nll) == sorted(rows.nll, reverse=True)
    figure = curators(result())
    outcome = traces(figure)
    new, seen = outcome["on new items, 95 %"], outcome["where it chose"]
    assert len(new.x) == len(result().curators) == 5
    oracle = rows.names.index("oracle k (not deployable)")
    assert seen.x[oracle] is None
    for place, name in enumerate(rows.names):
        entry = next(
            c for c in result().curators if c.title == name.removesuffix(" (not deployable)")
        )
        assert new.x[place] == entry.nll
        assert new.x[place] + new.error_x.array[place] == entry.nll_hi
    assert set(outcome["all judges"].x) == {result().everyone.nll}
    assert set(outcome["base rate"].x) == {result().null_nll}


def test_a_single_split_is_drawn_without_bars():
    blank = tuple(
        replace(curator, nll_lo=float("nan"), nll_hi=float("nan")) for curator in result().curators
    )
    figure = curators(replace(result(), curators=blank))
    assert not np.any(traces(figure)["on new items, 95 %"].error_x.array)


def test_bars_are_the_judges_chosen_most_often_and_the_rest_is_counted():
    shares = prepare_chosen(result(), "forward", most=2)
    every = result().shares("forward")
    assert shares.share[-1] == every.max()
    assert shares.left == np.count_nonzero(every) - 2
    bars = chosen_judges(result(), "forward").data[0]
    assert len(bars.x) == np.count_nonzero(every)
    assert all(0 < x <= 1 for x in bars.x)


def test_names_are_inert():
    hostile = replace(result(), judges=("<img src=x>" * 9, *result().judges[1:]))
    everybody = prepare_chosen(hostile, "all")
    assert any(name.startswith("&lt;img") for name in everybody.names)
