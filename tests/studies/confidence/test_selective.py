"""Selective prediction: what is answered and how much is right, against answering everything."""

from functools import cache

import numpy as np
import pytest

from judgepanel.studies.contract import Settings
from judgepanel.studies.runner import run
from judgepanel.studies.trust import selective
from judgepanel.studies.trust.selective import SELECTIVE, SelectiveSpec
from tests.helpers import make_votes
from tests.studies.confidence.stated import stated

SETTINGS = Settings(splits=8)


@cache
def result(calibrator="temperature"):
    spec = SelectiveSpec(SETTINGS, calibrator=calibrator)
    return run(SELECTIVE, make_votes(1, 120, 9), spec, jobs=1)


def test_answering_everything_is_the_end_of_the_curve():
    outcome = result()
    np.testing.assert_allclose(outcome.curve.value[:, -1], outcome.accuracy.value)


def test_the_surer_the_fewer_and_the_more_often_right():
    outcome = result()
    assert (np.diff(outcome.share.value[1]) <= 0).all()
    assert outcome.right.value[1, 3] > outcome.accuracy.value[1]
    gain = outcome.gain.value[1]
    assert gain == pytest.approx(outcome.auac.value[1] - outcome.accuracy.value[1])
    assert 0.0 < gain < outcome.gain_most[1]


def test_a_calibrator_that_keeps_the_order_changes_no_curve_only_what_is_answered():
    outcome = result()
    np.testing.assert_allclose(*outcome.curve.value)
    assert outcome.auac.value[0] == pytest.approx(outcome.auac.value[1])
    assert outcome.share.value[0, 3] > outcome.share.value[1, 3]


def test_what_is_never_stated_is_blank():
    spec = SelectiveSpec(SETTINGS, confidences=(0.999, 0.6))
    outcome = run(SELECTIVE, make_votes(2, 60, 3, low=0.5, high=0.6), spec, jobs=1)
    assert outcome.confidences == (0.6, 0.999)
    assert np.isnan(outcome.right.value[1, 1])
    assert outcome.share.value[1, 1] == 0.0
    assert set(outcome.frame()["by"]) == {"confidence", "share"}


def test_intervals_of_the_area_and_of_the_answered_hold_the_truth():
    many = stated(99, 40_000, 2)
    truth = selective.areas(many, 1)["auac"].value
    right = selective.answered_at(many, 1, (0.9,))["right"].value[0]
    hits = []
    for seed in range(60):
        of = stated(seed, 200, 6)
        auac = selective.areas(of, 1)["auac"]
        answered = selective.answered_at(of, 1, (0.9,))["right"]
        hits.append((auac.lo <= truth <= auac.hi, answered.lo[0] <= right <= answered.hi[0]))
    assert (np.mean(hits, axis=0) >= 0.88).all()
