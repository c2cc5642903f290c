"""What holds for every study: whatever order judges, responses and chunks come in."""

from dataclasses import fields, is_dataclass, replace

import numpy as np
import pandas as pd
import pytest

from judgepanel.present.registry import STUDIES
from judgepanel.scoring.interval import Interval
from judgepanel.studies.runner import run
from tests.helpers import flip_items
from tests.present.results import result_of, spec_of, votes

SWAPS_MATTER = {
    *("distortion", "narrow_band", "permutation"),  # A swap meets other draws.
    *(
        "agreement",
        "claim",
        "estimate",
        "items",
        "panel_worth",
    ),  # They are about labels as given.
}


def rows(result):
    """The table of a result, its rows in an order that does not depend on that of the judges."""
    frame = result.frame()
    texts = [name for name in frame if frame[name].dtype.kind not in "fiub"]
    return frame.sort_values([*texts, *frame.columns.difference(texts)], ignore_index=True)


@pytest.mark.parametrize("name", sorted(STUDIES))
def test_the_order_of_judges_changes_no_figure(name):
    turned = votes().with_judges(votes().judges[::-1])
    other = run(STUDIES[name], turned, spec_of(name), jobs=1)
    pd.testing.assert_frame_equal(rows(result_of(name)), rows(other), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", sorted(set(STUDIES) - SWAPS_MATTER))
def test_swapped_responses_change_no_figure_where_the_order_means_nothing(name):
    spec = spec_of(name)
    spec = replace(spec, settings=replace(spec.settings, orientation="symmetric"))
    swapped = flip_items(votes(), np.arange(votes().n_items) % 3 == 0)
    first, other = (rows(run(STUDIES[name], it, spec, jobs=1)) for it in (votes(), swapped))
    pd.testing.assert_frame_equal(first, other, rtol=1e-6, atol=1e-6)


def intervals(value, place):
    """All intervals of a result, with the path to each."""
    if isinstance(value, Interval):
        yield place, value
    elif is_dataclass(value):
        for field in fields(value):
            yield from intervals(getattr(value, field.name), f"{place}.{field.name}")
    elif isinstance(value, tuple):
        for part in value:
            yield from intervals(part, place)


@pytest.mark.parametrize("name", sorted(STUDIES))
def test_an_interval_holds_its_value(name):
    for place, (value, lo, hi) in intervals(result_of(name), name):
        with np.errstate(invalid="ignore"):
            assert not (lo > value + 1e-12).any(), place
            assert not (value > hi + 1e-12).any(), place


@pytest.mark.parametrize("name", sorted(set(STUDIES) - {"claim"}))
def test_one_class_labels_are_held_against_even_odds(name):
    result = result_of(name, one_class=True)
    if hasattr(result, "null_nll"):
        nulls = np.ravel(result.null_nll)
        assert nulls[np.isfinite(nulls)] == pytest.approx(np.log(2))
