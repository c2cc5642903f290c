"""The pipeline ablation in words."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from judgepanel.present.paper.pipeline_ablation import ablation_sentence, ablation_table
from judgepanel.scoring.interval import Interval
from judgepanel.studies.contract import Settings
from judgepanel.studies.paper.pipeline_ablation import (
    PIPELINE_ABLATION,
    PipelineAblation,
    PipelineAblationSpec,
)
from judgepanel.studies.runner import run
from judgepanel.words.sentences import CODING
from tests.helpers import make_votes


@cache
def result() -> PipelineAblation:
    spec = PipelineAblationSpec(settings=Settings(splits=4), panels=(3,))
    return run(PIPELINE_ABLATION, make_votes(1, 90, 8), spec, jobs=1)


def moved(step: str, value: float, lo: float, hi: float) -> PipelineAblation:
    """The result with another change of NLL by a step."""
    changed, i = result(), result().steps.index(step)
    ends = [end.copy() for end in changed.delta]
    for end, number in zip(ends, (value, lo, hi), strict=True):
        end[-1, i] = number
    return replace(changed, delta=Interval(*ends))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ((-0.54, -0.81, -0.27), "The residual correction lowers it by 0.54 [0.27, 0.81]"),
        ((0.2, 0.1, 0.3), "The residual correction raises it by 0.20 [0.10, 0.30]"),
        ((0.00001, -0.01, 0.01), "The residual correction changes little: 0.000 [-0.010, +0.010]"),
    ],
)
def test_a_step_lowers_or_raises_nll_only_where_its_interval_says_so(
    change: tuple[float, float, float], words: str
) -> None:
    assert words in ablation_sentence(moved("1-2", *change))


def test_the_raw_score_stands_beside_the_base_rate_and_sets_beside_their_level() -> None:
    sentence = ablation_sentence(result())
    assert f"the raw score has NLL {result().nll.value[-1, 0]:.3f}" in sentence
    assert f"(base rate: {result().null_nll:.3f})" in sentence
    assert "sets at the 80 % level hold " in sentence
    assert "sets at the 90 % level hold " in sentence


def test_item_features_are_counted_and_their_gain_is_told_where_it_is_sure() -> None:
    ones = np.ones(2)
    sure = Interval(-0.15 * ones, -0.2 * ones, -0.1 * ones)
    changed = replace(result(), features=("length",), residual_delta=sure)
    sentence = ablation_sentence(changed)
    assert "Correcting with 1 item feature" in sentence
    assert "Without the correction the beta calibrator alone gets" in sentence
    unsure = ablation_sentence(replace(changed, residual_delta=replace(sure, hi=0.1 * ones)))
    assert "Without the correction" not in unsure


def test_one_split_says_nothing_and_coding_is_named() -> None:
    assert ablation_sentence(replace(result(), n_splits=1)) == "Not enough splits yet to say."
    assert ablation_sentence(replace(result(), measures_coding=True)).endswith(CODING)


def test_the_table_has_every_step_of_every_panel_and_sets_where_they_are() -> None:
    table = ablation_table(result())
    assert table["panel"].texts() == ["all 8"] * 5 + ["top-3"] * 5
    assert table["steps"].texts() == list(result().steps) * 2
    assert table["NLL"].numbers.tolist() == [*result().nll.value[-1], *result().nll.value[0]]
    steps = np.array(table["steps"].texts())
    assert set(steps[np.isfinite(table["covered at 80 %"].numbers)]) == {"1-4"}
    blank = [text == "" for text in table["against what it builds on"].texts()]
    assert blank == (steps == "1").tolist()
