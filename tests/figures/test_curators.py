"""Figures of curators draw the result."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from judgepanel.present.decide.curators import curators_figure
from judgepanel.studies.contract import Settings
from judgepanel.studies.decide.curators import CURATORS_STUDY, CuratorsSpec
from judgepanel.studies.runner import run
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
    figure = curators_figure(result())
    outcome = traces(figure)
    new, seen = outcome["on new items, 95 %"], outcome["where it chose"]
    assert len(new.x) == len(result().curators) == 5
    assert list(new.x) == sorted(new.x, reverse=True)
    oracle = new.y.index("oracle k (not deployable)")
    assert np.isnan(seen.x[oracle])
    for place, name in enumerate(new.y):
        entry = next(
            c for c in result().curators if c.title == name.removesuffix(" (not deployable)")
        )
        assert new.x[place] == entry.nll.value
        assert new.x[place] + new.error_x.array[place] == pytest.approx(entry.nll.hi)
    assert set(outcome["all judges"].x) == {result().everyone.nll.value}
    assert set(outcome["base rate"].x) == {result().null_nll}
