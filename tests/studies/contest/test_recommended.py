"""The recommended average in other studies has the recommendation's scores."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from judgepanel.decision.recommend import RECOMMEND, RecommendSpec
from judgepanel.studies.common import splits_of
from judgepanel.studies.confidence import probabilities
from judgepanel.studies.confidence.probabilities import CALIBRATED
from judgepanel.studies.confidence.reliability import RELIABILITY, ReliabilitySpec
from judgepanel.studies.contest import recommended
from judgepanel.studies.contract import Chunk
from judgepanel.studies.recent import Recent
from judgepanel.studies.runner import run
from judgepanel.studies.settings import Settings, prepare
from tests.helpers import make_votes

SETTINGS = Settings(splits=3, seed=5)


@pytest.fixture
def nothing_kept(monkeypatch):
    for module in (recommended, probabilities):
        monkeypatch.setattr(module, "_RECENT", Recent(2**20))


@pytest.fixture(scope="module")
def votes():
    return make_votes(4, 90, 6)


def test_confidence_has_the_nll_that_the_recommendation_expects(votes, nothing_kept):
    reliability = run(RELIABILITY, votes, ReliabilitySpec(SETTINGS, aggregator="average"), jobs=1)
    recommendation = run(RECOMMEND, votes, RecommendSpec(SETTINGS), jobs=1)
    assert recommendation.averages
    np.testing.assert_allclose(
        reliability.nll[CALIBRATED].value, recommendation.nll.value, rtol=1e-9
    )


def test_what_the_recommendation_remembers_is_what_would_be_computed(
    votes, nothing_kept, monkeypatch
):
    run(RECOMMEND, votes, RecommendSpec(SETTINGS), jobs=1)
    splits = list(splits_of(prepare(votes, SETTINGS), SETTINGS, Chunk(0, 0, SETTINGS.splits)))
    kept = recommended.remembered(votes, SETTINGS, range(SETTINGS.splits))
    monkeypatch.setattr(recommended, "_RECENT", Recent(2**20))
    for split, old in zip(splits, kept.values(), strict=True):
        new = recommended.recommended(votes, SETTINGS, split)
        np.testing.assert_array_equal(new.logits, old.logits)
        assert (new.null, new.null_nll) == (old.null, old.null_nll)


@pytest.mark.parametrize("other", [{"folds": 3}, {"candidates": "wide"}, {"conformal": 0.2}])
def test_a_recommendation_on_other_terms_is_not_taken_for_the_default(votes, nothing_kept, other):
    settings = replace(SETTINGS, splits=2)
    run(RECOMMEND, votes, RecommendSpec(settings, **other), jobs=1)
    assert not recommended.remembered(votes, settings, range(2))


def test_members_alone_make_the_same_average(votes, nothing_kept):
    for split in splits_of(prepare(votes, SETTINGS), SETTINGS, Chunk(0, 0, SETTINGS.splits)):
        everyone = recommended.recommended(votes, SETTINGS, split)
        members = recommended.recommended_on(votes, SETTINGS, split)
        np.testing.assert_allclose(members.logits, everyone.logits, rtol=1e-9)
    assert len(recommended.remembered(votes, SETTINGS, range(SETTINGS.splits))) == SETTINGS.splits
