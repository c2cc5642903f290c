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

KS = (3, 5, 10)


@cache
def votes_of(path):
    return load_votes(path).votes


def curve(path, calibrators, *, splits, protocol="honest", ks=KS):
    settings = Settings(splits=splits, protocol=protocol)
    spec = PanelCurveSpec(settings, calibrators=calibrators, ks=ks, compare=ks)
    return run(PANEL_CURVE, votes_of(path), spec)


def nll(result, calibrator):
    """NLL of top-3, top-5, top-10 and all judges."""
    at = [result.k.tolist().index(k) for k in (*KS, result.n_judges)]
    return result.nll.value[result.row(calibrator)][at].tolist()


@pytest.fixture(scope="module")
def balanced(real_votes):
    return curve(real_votes("rewardbench_votes.csv"), ("none", "temperature", "beta"), splits=100)


@pytest.mark.real_votes
@pytest.mark.parametrize(
    ("calibrator", "wanted"),
    [
        ("none", [0.209, 0.222, 0.267, 0.520]),
        ("temperature", [0.139, 0.132, 0.133, 0.211]),
        ("beta", [0.140, 0.133, 0.133, 0.212]),
    ],
)
def test_rewardbench_has_its_honest_figures(balanced, calibrator, wanted):
    assert nll(balanced, calibrator) == pytest.approx(wanted, rel=0.06)


@pytest.mark.real_votes
def test_control_rewardbench_is_better_curated(balanced):
    comparison = balanced.comparison("temperature", "top-10")
    assert comparison.verdict == "curate"
    assert comparison.delta.value / comparison.nll_all == pytest.approx(-0.38, abs=0.04)
    assert (comparison.delta.hi - comparison.delta.lo) / 2 / comparison.nll_all == pytest.approx(
        0.08, abs=0.02
    )


@pytest.mark.parametrize(
    ("name", "verdict", "relative", "reach"),
    [larger("mozafari", "keep all", 0.18, 0.06), ("llmbar", "undecided", -0.01, 0.15)],
)
def test_controls_that_keep_all_and_that_stay_open(real_votes, name, verdict, relative, reach):
    result = curve(real_votes(f"{name}_votes.csv"), ("temperature",), splits=100, ks=(5,))
    comparison = result.comparison("temperature", "top-5")
    assert comparison.verdict == verdict
    assert comparison.delta.value / comparison.nll_all == pytest.approx(relative, abs=0.04)
    half = (comparison.delta.hi - comparison.delta.lo) / 2
    assert half / comparison.nll_all == pytest.approx(reach, abs=0.03)


@pytest.mark.real_votes
def test_the_papers_protocol_reproduces_its_tiny_figures_and_calls_them_coding(real_votes):
    path = real_votes("rewardbench_correctness_votes.csv")
    paper = curve(path, ("none", "beta_clipped"), splits=40, protocol="paper")
    assert nll(paper, "none") == pytest.approx([0.211, 0.224, 0.270, 0.449], rel=0.06)
    assert nll(paper, "beta_clipped") == pytest.approx([0.0083, 0.0074, 0.0068, 0.0064], rel=0.10)
    assert paper.one_class
    assert any("measure the coding, not the judges" in notice for notice in paper.warnings)


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
