"""Figures and verdicts on real votes that the method must reproduce.

The expected values are in docs/claim.md and docs/inference.md.
"""

from functools import cache

import pytest

from judgepanel.decision.recommend import RECOMMEND, RecommendSpec
from judgepanel.studies.contract import Settings
from judgepanel.studies.decide.panel_curve import PANEL_CURVE, PanelCurveSpec
from judgepanel.studies.runner import run
from judgepanel.votes import load_votes
from tests.helpers import larger


@cache
def votes_of(path):
    return load_votes(path).votes


def curve(path, calibrators, *, splits, ks=(3, 5, 10)):
    spec = PanelCurveSpec(Settings(splits=splits), calibrators=calibrators, ks=ks, compare=ks)
    return run(PANEL_CURVE, votes_of(path), spec)


@pytest.mark.parametrize(
    ("name", "k", "verdict", "relative", "reach", "within"),
    [
        larger("rewardbench", 10, "curate", -0.38, 0.08, 0.02),
        larger("mozafari", 5, "keep all", 0.18, 0.06, 0.03),
        ("llmbar", 5, "undecided", -0.01, 0.15, 0.03),
    ],
)
def test_controls_have_their_verdicts(real_votes, name, k, verdict, relative, reach, within):
    result = curve(real_votes(f"{name}_votes.csv"), ("temperature",), splits=100, ks=(k,))
    comparison = result.comparison("temperature", f"top-{k}")
    assert comparison.verdict == verdict
    assert comparison.delta.value / comparison.nll_all == pytest.approx(relative, abs=0.04)
    half = (comparison.delta.hi - comparison.delta.lo) / 2
    assert half / comparison.nll_all == pytest.approx(reach, abs=within)


@pytest.mark.real_votes
def test_the_same_file_by_default_gives_no_flattering_figure(real_votes):
    path, names = real_votes("rewardbench_correctness_votes.csv"), ("none", "temperature", "beta")
    result = curve(path, (*names, "beta_clipped"), splits=10)
    assert result.orientation == "symmetric"
    assert result.nll.value.min() > 0.1
    assert result.n_judges == 148  # the broken run is set aside
    assert any("Every label is 1" in notice for notice in result.warnings)
    assert any("gave one verdict" in notice for notice in result.warnings)


def test_the_recommendation_on_llmbar_beats_its_null_and_shows_its_interval(real_votes):
    spec = RecommendSpec(settings=Settings(splits=5))
    result = run(RECOMMEND, votes_of(real_votes("llmbar_votes.csv")), spec)
    assert 0.18 < result.nll.value < 0.27
    assert result.model.main.aggregator == "joint"
    assert result.nll.lo < result.nll.value < result.nll.hi < result.null_nll
    assert result.n_judges == 65
