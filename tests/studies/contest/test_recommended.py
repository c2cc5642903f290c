"""The recommended average in other studies has the recommendation's scores."""

from __future__ import annotations

from dataclasses import replace
from threading import Lock

import numpy as np
import pandas as pd
import pytest

from judgepanel.decision.recommend import RECOMMEND, RecommendSpec
from judgepanel.kernels import aggregation
from judgepanel.kernels.threads import SHARED
from judgepanel.studies.common import splits_of
from judgepanel.studies.contract import Chunk, Settings, prepare
from judgepanel.studies.panel import recommended
from judgepanel.studies.panel.recommended import compete
from judgepanel.studies.runner import run
from judgepanel.studies.trust.probabilities import CALIBRATED
from judgepanel.studies.trust.reliability import RELIABILITY, ReliabilitySpec
from tests.helpers import make_votes

SETTINGS = Settings(splits=3, seed=5)


@pytest.fixture(scope="module")
def votes():
    return make_votes(4, 90, 6)


def test_confidence_has_the_nll_that_the_recommendation_expects(votes):
    reliability = run(RELIABILITY, votes, ReliabilitySpec(SETTINGS, aggregator="average"), jobs=1)
    recommendation = run(RECOMMEND, votes, RecommendSpec(SETTINGS), jobs=1)
    assert recommendation.averages
    np.testing.assert_allclose(
        reliability.nll[CALIBRATED].value, recommendation.nll.value, rtol=1e-9
    )


def test_what_the_recommendation_remembers_is_what_would_be_computed(votes):
    run(RECOMMEND, votes, RecommendSpec(SETTINGS), jobs=1)
    splits = list(splits_of(prepare(votes, SETTINGS), SETTINGS, Chunk(0, 0, SETTINGS.splits)))
    kept = recommended.remembered(votes, SETTINGS, range(SETTINGS.splits))
    SHARED.clear()
    for split, old in zip(splits, kept.values(), strict=True):
        new = recommended.recommended(votes, SETTINGS, split)
        np.testing.assert_array_equal(new.logits, old.logits)
        assert (new.null, new.null_nll) == (old.null, old.null_nll)


@pytest.mark.parametrize("other", [{"folds": 3}, {"candidates": "wide"}, {"conformal": 0.2}])
def test_a_recommendation_on_other_terms_is_not_taken_for_the_default(votes, other):
    settings = replace(SETTINGS, splits=2)
    run(RECOMMEND, votes, RecommendSpec(settings, **other), jobs=1)
    assert not recommended.remembered(votes, settings, range(2))


def test_members_alone_make_the_same_average(votes):
    for split in splits_of(prepare(votes, SETTINGS), SETTINGS, Chunk(0, 0, SETTINGS.splits)):
        everyone = recommended.recommended(votes, SETTINGS, split)
        members = recommended.recommended_on(votes, SETTINGS, split)
        np.testing.assert_allclose(members.logits, everyone.logits, rtol=1e-9)
    assert len(recommended.remembered(votes, SETTINGS, range(SETTINGS.splits))) == SETTINGS.splits


NEEDS_NO_FIT = Settings(splits=5, seed=6)


def fitted_again(*_, **__):
    raise AssertionError("this was fitted before")


PATCHING = Lock()  # Two threads that patch at once would each undo to the other's patch.


def fits_nothing(votes, spec, chunk):
    """The chunk, where whatever is cross-fitted is in memory."""
    with PATCHING, pytest.MonkeyPatch.context() as patch:
        patch.setattr(aggregation, "cross_fitted", fitted_again)
        return RELIABILITY.run_chunk(votes, spec, chunk)


@pytest.mark.parametrize(("before", "after"), [("loky", "threading"), ("threading", "loky")])
def test_fits_of_the_recommendation_serve_other_studies_in_whichever_process(votes, before, after):
    spec = ReliabilitySpec(NEEDS_NO_FIT, aggregator="joint", calibrator="temperature", panel=5)
    alone = run(RELIABILITY, votes, spec, jobs=1)
    SHARED.clear()
    run(RECOMMEND, votes, RecommendSpec(NEEDS_NO_FIT), jobs=2, backend=before)
    study = replace(RELIABILITY, run_chunk=fits_nothing, chunk=1)
    shared = run(study, votes, spec, jobs=2, backend=after)
    pd.testing.assert_frame_equal(shared.frame(), alone.frame(), check_exact=True)


def test_an_average_of_the_same_judges_and_rows_is_computed_once(votes, monkeypatch):
    ballots = prepare(votes, SETTINGS).ballots
    splits = list(splits_of(prepare(votes, SETTINGS), SETTINGS, Chunk(0, 0, 2)))
    contests = []

    def counted(given, *rest):
        contests.append(given.n_judges)
        return compete(given, *rest)

    monkeypatch.setattr(recommended, "compete", counted)
    for panel in (ballots, replace(ballots), ballots.of_judges([0, 1, 2])):
        for split in splits:
            recommended.average_on(panel, split, SETTINGS.seed)
    assert contests == [6, 6, 3, 3]
