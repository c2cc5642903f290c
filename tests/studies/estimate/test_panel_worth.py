"""What panels of the best judges are worth: against the estimate itself."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from judgepanel.present.decide.estimate import panel_worth_sentence
from judgepanel.studies.decide.estimate import ESTIMATE, EstimateSpec
from judgepanel.studies.decide.panel_worth import PANEL_WORTH, PanelWorth, panel_sizes
from judgepanel.studies.runner import run
from judgepanel.votes import MISSING, VoteMatrix
from tests.studies.estimate.test_estimate import panel


def worth_of(votes: VoteMatrix, **options: Any) -> PanelWorth:
    return run(PANEL_WORTH, votes, EstimateSpec(**options), jobs=1)


@pytest.fixture(scope="module")
def result() -> PanelWorth:
    return worth_of(panel()[0], by="system")


@pytest.mark.parametrize(
    ("n_judges", "sizes"),
    [
        (1, [1]),
        (8, [1, 2, 3, 5, 8]),
        (30, [1, 2, 3, 5, 10, 20, 30]),
        (148, [1, 2, 3, 5, 10, 20, 30, 50, 100, 148]),
    ],
)
def test_sizes_are_a_short_grid_up_to_all_judges(n_judges, sizes):
    assert panel_sizes(n_judges).tolist() == sizes


def test_all_judges_are_those_of_the_estimate(result):
    votes = panel()[0]
    estimates = run(ESTIMATE, votes, EstimateSpec(by="system"), jobs=1)
    assert list(result.rate[-1]) == list(estimates.rate[0])
    assert result.worth[-1] == estimates.worth[0]


def test_more_good_judges_are_worth_more(result):
    frame = result.frame()
    assert frame["k"].tolist() == [1, 2, 3, 5, 8]
    assert frame["worth"].iloc[-1] > frame["worth"].iloc[0] > 1.0
    assert frame["nll"].iloc[-1] < frame["nll"].iloc[0] < result.null_nll
    assert frame["worth_labels"].tolist() == (90 * frame["worth"]).tolist()
    assert result.summary()["narrowest"] == frame.loc[frame["worth"].idxmax(), "k"]


def test_the_narrowest_panel_stands_beside_that_of_lowest_nll(result):
    apart = replace(result, worth=np.array([1.1, 1.4, 2.0, 1.5, 1.3]), nll=np.arange(5.0, 0.0, -1))
    assert panel_worth_sentence(apart) == (
        "90 labels are worth most with the best 3 judges, 180; the NLL is lowest with all 8 judges."
    )
    same = replace(apart, nll=np.array([0.4, 0.3, 0.2, 0.3, 0.4]))
    assert panel_worth_sentence(same).endswith(", 180, and the NLL is lowest there, too.")


def test_panels_that_do_not_help_are_said_so(result):
    assert panel_worth_sentence(replace(result, worth=np.ones(5))).startswith("No panel helps")


def test_nothing_is_gained_once_all_items_are_labelled():
    result = worth_of(panel(n_labels=600)[0])
    assert panel_worth_sentence(result).startswith("Every item has a label")
    assert result.summary()["narrowest"] is None


@pytest.mark.parametrize("label", [0, 1])
def test_labels_of_one_class_have_no_nll(label):
    votes, _ = panel()
    labels = np.where(votes.labels >= 0, label, MISSING).astype(np.int8)
    result = worth_of(replace(votes, labels=labels))
    assert np.isnan(result.nll).all()
    assert result.summary()["lowest_nll"] is None
    assert "NLL" not in panel_worth_sentence(result)
