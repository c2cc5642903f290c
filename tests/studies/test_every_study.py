"""What holds for every study: whatever order judges, responses and chunks come in, and resumed."""

import dataclasses
from dataclasses import fields, is_dataclass, replace
from functools import reduce

import numpy as np
import pandas as pd
import pytest

from judgepanel.present.registry import STUDIES
from judgepanel.scoring.interval import Interval
from judgepanel.studies import codec, contract, results
from judgepanel.studies.runner import default_jobs, merged, run, steps
from tests.helpers import flip_items, make_votes, same_bits
from tests.present.results import result_of, spec_of, votes

SWAPS_MATTER = {
    *("distortion", "narrow_band", "permutation"),  # A swap meets other draws.
    *("agreement", "claim", "estimate", "items", "panel_worth"),  # They are about labels as given.
}


def rows(result):
    """The table of a result, its rows in an order that does not depend on that of the judges."""
    frame = result.frame()
    texts = [name for name in frame if frame[name].dtype.kind not in "fiub"]
    return frame.sort_values([*texts, *frame.columns.difference(texts)], ignore_index=True)


@pytest.mark.parametrize("name", sorted(STUDIES))
def test_the_order_of_judges_changes_no_figure(name):
    other = run(STUDIES[name], votes().with_judges(votes().judges[::-1]), spec_of(name), jobs=1)
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


@pytest.mark.parametrize("name", sorted(STUDIES))
def test_every_study_resumes_to_the_bit_whatever_the_order(name):
    """Chunks combined in any order, one of them read back from bytes, give the same result."""
    few, study = votes(), dataclasses.replace(STUDIES[name], chunk=1)
    spec = dataclasses.replace(spec_of(name), settings=contract.Settings(splits=3))
    pieces = [study.run_chunk(few, spec, chunk) for chunk in study.plan(spec)[:3]]
    for piece in pieces:
        same_bits(codec.unpack(study.partial, codec.pack(piece)), piece)
    if len(pieces) == 1:
        return
    first, *others = pieces
    back = codec.unpack(study.partial, codec.pack(first))
    orders = ((first, *others), (*others, back), (*others[::-1], first))
    ends = [study.merge(few, spec, reduce(results.combine, order)) for order in orders]
    for end in ends[1:]:
        same_bits(end, ends[0])
    assert study.merge(few, spec, first).partial


def test_a_resumed_run_skips_what_is_kept_and_ends_in_the_same_bits():
    more_votes, study = make_votes(3, 150, 4), replace(STUDIES["panel_curve"], chunk=2)
    spec = study.spec(settings=contract.Settings(splits=8))
    whole = run(study, more_votes, spec, jobs=1)
    collected = {}

    def collect(chunk, piece):
        collected[chunk.number] = piece

    list(steps(study, more_votes, spec, jobs=1, keep=collect))
    assert sorted(collected) == [0, 1, 2, 3]
    for have in ((), (0,), (3, 1), (0, 1, 2, 3)):
        finished, calls = {n: collected[n] for n in have}, []

        def count(chunk, _, calls=calls):
            calls.append(chunk.number)

        states = list(steps(study, more_votes, spec, jobs=1, finished=finished, keep=count))
        assert sorted([*calls, *have]) == [0, 1, 2, 3]
        assert [state.done for state in states] == list(range(len(have) + 1, 5)) or len(have) == 4
        assert (states[-1].done, states[-1].total, states[-1].remaining) == (4, 4, 0.0)
        same_bits(states[-1].result(), whole)
    part = merged(study, more_votes, spec, {n: collected[n] for n in (0, 1)})
    same_bits(part, study.merge(more_votes, spec, results.combine(collected[0], collected[1])))
    assert merged(study, more_votes, spec, {}) is None


def test_there_are_no_more_workers_than_a_limit_allows(monkeypatch):
    assert default_jobs() >= 1
    monkeypatch.setenv("LOKY_MAX_CPU_COUNT", "1")
    assert default_jobs() == 1
