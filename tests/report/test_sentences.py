"""The answer as one sentence, for every verdict and every odd case."""

from dataclasses import replace
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest

from judgepanel.decision.recommend import RECOMMEND, RecommendSpec
from judgepanel.kernels.aggregate.aggregation import AGGREGATORS
from judgepanel.report.recommendation import (
    certainty_sentence,
    recommendation_sentence,
    way_sentence,
)
from judgepanel.report.sentences import (
    AGGREGATOR_NAMES,
    CODING,
    curve_sentence,
    headline,
    optimism_sentence,
    votes_sentence,
)
from judgepanel.studies.curve.panel_curve import PANEL_CURVE, PanelCurveSpec
from judgepanel.studies.runner import run, steps
from judgepanel.studies.settings import Settings
from judgepanel.votes.samples import sample_votes
from tests.helpers import make_votes

FEW = Settings(splits=6)
VERDICTS = (
    *("keep all", "curate", "no loss from keeping", "no loss from curating"),
    *("undecided", "tie"),
)


@pytest.fixture(scope="module")
def curve():
    return run(PANEL_CURVE, make_votes(0, 60, 12), PanelCurveSpec(settings=FEW), jobs=1)


@pytest.fixture(scope="module")
def recommendation():
    return run(RECOMMEND, make_votes(0, 60, 7), RecommendSpec(settings=FEW), jobs=1)


def with_arm(curve, arm="top-5", **changes):
    """The curve with one arm under beta changed."""
    arms = tuple(
        replace(c, **changes) if (c.arm, c.calibrator) == (arm, "beta") else c
        for c in curve.comparisons
    )
    return replace(curve, comparisons=arms)


@pytest.mark.parametrize(
    ("verdict", "delta", "lo", "hi", "sentence"),
    [
        ("keep all", 0.1, 0.05, 0.15, "Keep all 12: top-5 costs +0.10 NLL [+0.05, +0.15]."),
        (
            "curate",
            -0.1,
            -0.15,
            -0.05,
            "Curate to 5: top-5 saves 0.10 NLL [0.05, 0.15] against all 12.",
        ),
        (
            "no loss from keeping",
            0.05,
            -0.001,
            0.10,
            "At most 2 % is lost by keeping all 12: top-5 costs +0.050 NLL [-0.00, +0.10] "
            "against all.",
        ),
        (
            "no loss from curating",
            -0.05,
            -0.10,
            0.001,
            "At most 2 % is lost by curating to 5: top-5 changes NLL by -0.050 [-0.10, +0.00] "
            "against all 12.",
        ),
        (
            "undecided",
            0.012,
            -0.1,
            0.124,
            "Undecided: top-5 costs +0.012 NLL [-0.10, +0.12] against all 12.",
        ),
        ("tie", 0.0, 0.0, 0.0, "A tie: top-5 and all 12 give the same probabilities."),
    ],
)
def test_every_verdict_has_its_sentence(curve, verdict, delta, lo, hi, sentence):
    changed = with_arm(curve, verdict=verdict, delta=delta, lo=lo, hi=hi)
    assert curve_sentence(changed, "beta") == sentence


def test_the_headline_is_top_5_else_the_largest_panel_else_the_chosen_k(curve):
    assert headline(curve, "beta").arm == "top-5"
    rest = tuple(c for c in curve.comparisons if c.arm != "top-5")
    assert headline(replace(curve, comparisons=rest), "beta").arm == "top-10"
    chosen = tuple(c for c in curve.comparisons if c.arm == "best k")
    only = replace(curve, comparisons=chosen)
    assert headline(only, "beta").arm == "best k"
    assert "the k chosen on calibration rows" in curve_sentence(only, "beta")
    assert headline(replace(curve, comparisons=()), "beta") is None


def test_a_chosen_k_that_is_always_all_judges_is_the_same_panel(curve):
    nan = float("nan")
    only = tuple(
        replace(c, verdict="tie", delta=0.0, lo=nan, hi=nan, k=12, k_lo=12, k_hi=12)
        for c in curve.comparisons
        if c.arm == "best k"
    )
    assert curve_sentence(replace(curve, comparisons=only), "beta") == (
        "A tie: the k chosen on calibration rows is the same panel as all 12 in every split."
    )


def test_the_headline_is_the_chosen_k_where_that_is_shown_to_be_better(curve):
    """`Keep all` never stands above a row that says `curate`."""
    keeps = {"verdict": "keep all", "delta": 0.1, "lo": 0.05, "hi": 0.15}
    curates = {"verdict": "curate", "delta": -0.2, "lo": -0.25, "hi": -0.15}
    for arm in ("top-10", "best k"):
        changed = with_arm(with_arm(curve, **keeps), arm=arm, **curates)
        assert headline(changed, "beta").arm == arm
        assert curve_sentence(changed, "beta").startswith("Curate to ")


def test_within_two_per_cent_either_will_do(curve):
    found = with_arm(
        curve, verdict="no loss from keeping", delta=-0.001, lo=-0.002, hi=0.001, margin=0.01
    )
    assert curve_sentence(found, "beta").startswith("Either will do: top-5 changes NLL by -0.0010")


def test_a_panel_no_better_than_the_base_rate_is_said_to_be_none(recommendation):
    weak = replace(recommendation, nll=0.7, lo=0.6, hi=0.8, null_nll=0.69)
    assert recommendation_sentence(weak).startswith("No panel is shown to beat the base rate")
    strong = replace(recommendation, nll=0.3, lo=0.2, hi=0.4, null_nll=0.69, verdict="curate")
    assert recommendation_sentence(strong).startswith("Keep ")
    lucky = replace(weak, null_nll=1.5)
    assert recommendation_sentence(lucky).startswith("No panel is shown to beat the base rate")


@pytest.mark.parametrize(
    ("stands", "words"),
    [
        ("keep all", "Keep 2 of 7 judges"),
        ("no loss from keeping", "Keep 2 of 7 judges"),
        ("undecided", "Undecided, leaning to 2 of 7 judges"),
        ("curate", "Undecided, leaning to 2 of 7 judges"),
    ],
)
def test_fewer_judges_are_kept_only_where_that_is_shown_to_lose_nothing(
    recommendation, stands, words
):
    strong = replace(recommendation, nll=0.3, lo=0.2, hi=0.4, null_nll=0.69)
    fewer = replace(strong.model, judges=strong.model.judges[:2])
    pipeline = strong.chosen.aggregator, strong.chosen.calibrator
    marked = tuple(
        replace(one, stands=stands)
        if one.panel == "all" and (one.aggregator, one.calibrator) == pipeline
        else one
        for one in strong.candidates
    )
    said = recommendation_sentence(replace(strong, model=fewer, candidates=marked))
    assert said.startswith(words)


def test_a_recommendation_that_measures_the_coding_says_so(recommendation):
    assert CODING in recommendation_sentence(replace(recommendation, measures_coding=True))
    assert CODING not in recommendation_sentence(recommendation)


def test_one_judge_leaves_nothing_to_curate():
    found = run(PANEL_CURVE, make_votes(0, 40, 1), PanelCurveSpec(settings=FEW), jobs=1)
    assert curve_sentence(found, "beta").startswith("There is one judge only")


def test_a_single_split_says_that_it_is_too_early():
    spec = PanelCurveSpec(settings=Settings(splits=2))
    votes = make_votes(0, 40, 6)
    first = next(steps(PANEL_CURVE, votes, PanelCurveSpec(settings=Settings(splits=12)), jobs=1))
    assert first.result().partial
    assert "against all" in curve_sentence(first.result(), "beta") or "all 6" in curve_sentence(
        first.result(), "beta"
    )
    done = run(PANEL_CURVE, votes, spec, jobs=1)
    assert curve_sentence(replace(done, comparisons=()), "beta") == "Not enough splits yet to say."
    assert optimism_sentence(replace(done, comparisons=()), "beta") is None


def test_every_sentence_of_the_papers_protocol_on_one_class_is_labelled():
    votes = make_votes(0, 60, 6, one_class=True)
    spec = PanelCurveSpec(
        settings=Settings(splits=4, protocol="paper"), calibrators=("none", "beta_clipped")
    )
    for calibrator in spec.calibrators:
        found = run(PANEL_CURVE, votes, spec, jobs=1)
        assert curve_sentence(found, calibrator).endswith(CODING)
        assert curve_sentence(replace(found, comparisons=()), calibrator).endswith(CODING)
    alone = run(PANEL_CURVE, votes.with_judges(votes.judges[:1]), spec, jobs=1)
    assert curve_sentence(alone, "none").endswith(CODING)


def test_honest_figures_are_not_said_to_measure_the_coding(curve):
    assert CODING not in curve_sentence(curve, "beta")
    one_class = run(
        PANEL_CURVE, make_votes(0, 60, 6, one_class=True), PanelCurveSpec(settings=FEW), jobs=1
    )
    assert CODING not in curve_sentence(one_class, "beta")


def test_the_optimism_of_the_chosen_k_is_shown(curve):
    arm = curve.comparison("beta", "best k")
    text = optimism_sentence(curve, "beta")
    assert f"median {arm.k}, mostly {arm.k_lo} to {arm.k_hi}" in text
    assert text.endswith("on untouched items: an optimism of " + text.rpartition(" of ")[2])


@pytest.mark.parametrize("verdict", VERDICTS)
def test_a_recommendation_says_how_sure_it_is(recommendation, verdict):
    text = certainty_sentence(replace(recommendation, verdict=verdict))
    assert text.startswith("Out of sample, ")
    assert "all judges under one-coin + beta" in text
    assert "optimism" in text
    assert "the base rate alone gives" in text


def test_the_sentences_of_the_verdicts_differ(recommendation):
    texts = {certainty_sentence(replace(recommendation, verdict=verdict)) for verdict in VERDICTS}
    assert len(texts) == len(VERDICTS)


def test_a_recommendation_names_panel_and_pipeline(recommendation):
    model = recommendation.model
    for k, calibrator in product((7, 3), ("none", "temperature", "platt", "beta")):
        changed = replace(
            recommendation,
            model=replace(model, judges=model.judges[:1] * k, calibrator=calibrator),
            hi=0.5,
            null_nll=0.69,
            verdict="curate",
        )
        text = recommendation_sentence(changed)
        assert text.startswith("Keep all 7 judges with " if k == 7 else "Keep 3 of 7 judges with ")
        assert "on new items." in text


def labelled(*labels, task="pairwise"):
    votes = make_votes(0, len(labels), 2, task=task)
    return replace(votes, labels=np.array(labels, np.int8))


def repeated(votes, times):
    rows = np.tile(np.arange(votes.n_items), times)
    ids = tuple(f"{n}th" for n in range(len(rows)))
    copies = {"votes": votes.votes[rows], "labels": votes.labels[rows], "item_ids": ids}
    return replace(votes, **copies, features=None, groups=None)


@pytest.mark.parametrize(
    ("votes", "sentence"),
    [
        (labelled(0, 1, 0, 1), "4 items, 2 judges, all labelled, balanced: ready."),
        (labelled(0, 1, -1), "3 items, 2 judges, 2 labelled, balanced: ready."),
        (
            labelled(1, 1),
            "2 items, 2 judges, all labelled, every label is the same: see item order.",
        ),
        (labelled(-1, -1), "2 items, 2 judges, no labels."),
        (
            labelled(*[0] * 9, 1),
            "10 items, 2 judges, all labelled, lopsided (10 % of the rarer label): see item order.",
        ),
        (
            labelled(*[0] * 9, 1, task="pointwise"),
            "10 items, 2 judges, all labelled, lopsided (10 % of the rarer label): ready.",
        ),
    ],
)
def test_what_was_brought_in_one_sentence(votes, sentence):
    assert votes_sentence(votes) == sentence


def test_votes_with_copies_of_items_are_ready_once_they_are_grouped():
    votes = repeated(sample_votes("clean_pairwise"), 2)
    assert votes_sentence(votes) == "600 items, 24 judges, all labelled, balanced: items repeat."
    assert votes_sentence(votes, group_duplicates=True).endswith("balanced: ready.")


@pytest.mark.parametrize("aggregator", AGGREGATORS)
@pytest.mark.parametrize("calibrator", ["none", "beta"])
def test_every_pipeline_is_explained(recommendation, aggregator, calibrator):
    model = SimpleNamespace(aggregator=aggregator, calibrator=calibrator)
    text = way_sentence(replace(recommendation, model=model))
    assert text.startswith(f"How: {AGGREGATOR_NAMES[aggregator]} ")
    assert ("taken as they come" in text) == (calibrator == "none")
