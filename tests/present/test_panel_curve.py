"""The panel curve in words and as a table: every verdict and every odd case."""

import re
from dataclasses import replace

import pytest

from judgepanel.present.blocks import Answer, Heading, Table
from judgepanel.present.decide import panel_curve
from judgepanel.scoring.interval import Interval
from judgepanel.studies.contract import Settings
from judgepanel.studies.decide.panel_curve import PANEL_CURVE, PanelCurveSpec
from judgepanel.studies.runner import run, steps
from judgepanel.words.sentences import CODING
from tests.helpers import make_votes

FEW = Settings(splits=6)


@pytest.fixture(scope="module")
def curve():
    return run(PANEL_CURVE, make_votes(0, 60, 12), PanelCurveSpec(settings=FEW), jobs=1)


def with_arm(curve, arm="top-5", **changes):
    """The curve with one arm under beta changed."""
    arms = tuple(
        replace(c, **changes) if (c.arm, c.calibrator) == (arm, "beta") else c
        for c in curve.comparisons
    )
    return replace(curve, comparisons=arms)


VERDICTS = {
    "keep all": (0.1, 0.05, 0.15, "All 12 beat the best 5: top-5 costs +0.10 NLL [+0.05, +0.15]."),
    "curate": (-0.1, -0.15, -0.05, "The best 5 beat all 12: top-5 saves 0.10 NLL [0.05, 0.15]."),
    "no loss from keeping": (
        *(0.05, -0.001, 0.10, "At most 2 % is lost by keeping all 12: top-5 costs +0.050 NLL "),
        "[0.00, +0.10] against all.",
    ),
    "no loss from curating": (
        *(-0.05, -0.10, 0.001, "At most 2 % is lost by curating to 5: top-5 changes NLL by "),
        "-0.050 [-0.10, 0.00] against all 12.",
    ),
    "undecided": (
        *(0.012, -0.1, 0.124, "Undecided: top-5 costs +0.012 NLL [-0.10, +0.12] against all 12."),
    ),
    "tie": (0.0, 0.0, 0.0, "A tie: top-5 and all 12 give the same probabilities."),
}
"""Of the difference of top-5: its value and the ends of its interval, and what is said."""


@pytest.mark.parametrize("verdict", VERDICTS)
def test_every_verdict_has_its_sentence(curve, verdict):
    value, lo, hi, *words = VERDICTS[verdict]
    changed = with_arm(curve, verdict=verdict, delta=Interval.single(value, lo, hi))
    assert panel_curve.curve_sentence(changed, "beta") == "".join(words)


def test_the_headline_is_top_5_else_the_largest_panel_else_the_chosen_k(curve):
    assert panel_curve.headline(curve, "beta").arm == "top-5"
    rest = tuple(c for c in curve.comparisons if c.arm != "top-5")
    assert panel_curve.headline(replace(curve, comparisons=rest), "beta").arm == "top-10"
    chosen = tuple(c for c in curve.comparisons if c.arm == "best k")
    only = replace(curve, comparisons=chosen)
    assert panel_curve.headline(only, "beta").arm == "best k"
    assert "the k chosen on calibration rows" in panel_curve.curve_sentence(only, "beta")
    assert panel_curve.headline(replace(curve, comparisons=()), "beta") is None


def test_a_chosen_k_that_is_always_all_judges_is_the_same_panel(curve):
    nan = float("nan")
    only = tuple(
        replace(c, verdict="tie", delta=Interval.single(0.0, nan, nan), k=12, k_lo=12, k_hi=12)
        for c in curve.comparisons
        if c.arm == "best k"
    )
    assert panel_curve.curve_sentence(replace(curve, comparisons=only), "beta") == (
        "A tie: the k chosen on calibration rows is the same panel as all 12 in every split."
    )


def test_the_headline_is_the_chosen_k_where_that_is_shown_to_be_better(curve):
    """`Keep all` never stands above a row that says `curate`."""
    keeps = {"verdict": "keep all", "delta": Interval.single(0.1, 0.05, 0.15)}
    curates = {"verdict": "curate", "delta": Interval.single(-0.2, -0.25, -0.15)}
    for arm in ("top-10", "best k"):
        changed = with_arm(with_arm(curve, **keeps), arm=arm, **curates)
        assert panel_curve.headline(changed, "beta").arm == arm
        assert panel_curve.curve_sentence(changed, "beta").startswith("The best ")


def test_within_two_per_cent_either_will_do(curve):
    delta = Interval.single(-0.001, -0.002, 0.001)
    arm = with_arm(curve, verdict="no loss from keeping", delta=delta, margin=0.01)
    assert panel_curve.curve_sentence(arm, "beta").startswith(
        "Either will do: top-5 changes NLL by -0.0010"
    )


def test_one_judge_leaves_nothing_to_curate():
    result = run(PANEL_CURVE, make_votes(0, 40, 1), PanelCurveSpec(settings=FEW), jobs=1)
    assert panel_curve.curve_sentence(result, "beta").startswith("There is only one judge")


def test_a_single_split_says_that_it_is_too_early():
    spec = PanelCurveSpec(settings=Settings(splits=2))
    votes = make_votes(0, 40, 6)
    first = next(steps(PANEL_CURVE, votes, PanelCurveSpec(Settings(splits=12)), jobs=1)).result()
    assert first.partial
    assert re.search("against all|all 6", panel_curve.curve_sentence(first, "beta"))
    early = replace(run(PANEL_CURVE, votes, spec, jobs=1), comparisons=())
    assert panel_curve.curve_sentence(early, "beta") == "Not enough splits yet to say."
    assert panel_curve.optimism_sentence(early, "beta") == ""


def test_every_sentence_of_the_papers_protocol_on_one_class_is_labelled():
    votes = make_votes(0, 60, 6, one_class=True)
    settings = Settings(splits=4, protocol="paper")
    spec = PanelCurveSpec(settings, calibrators=("none", "beta_clipped"))
    for calibrator in spec.calibrators:
        result = run(PANEL_CURVE, votes, spec, jobs=1)
        assert panel_curve.curve_sentence(result, calibrator).endswith(CODING)
        assert panel_curve.curve_sentence(replace(result, comparisons=()), calibrator).endswith(
            CODING
        )
    alone = run(PANEL_CURVE, votes.with_judges(votes.judges[:1]), spec, jobs=1)
    assert panel_curve.curve_sentence(alone, "none").endswith(CODING)


def test_honest_figures_are_not_said_to_measure_the_coding(curve):
    assert CODING not in panel_curve.curve_sentence(curve, "beta")
    votes = make_votes(0, 60, 6, one_class=True)
    one_class = run(PANEL_CURVE, votes, PanelCurveSpec(settings=FEW), jobs=1)
    assert CODING not in panel_curve.curve_sentence(one_class, "beta")


def test_the_optimism_of_the_chosen_k_is_shown(curve):
    arm = curve.comparison("beta", "best k")
    text = panel_curve.optimism_sentence(curve, "beta")
    assert f"median {arm.k} (mostly {arm.k_lo} to {arm.k_hi})" in text
    assert text.endswith("on untouched items: a selection bias of " + text.rpartition(" of ")[2])


def test_all_judges_come_first_as_the_reference(curve):
    table = panel_curve.comparison_table(curve, "beta")
    assert table["panel"].texts()[:4] == ["all 12", "top-3", "top-5", "top-10"]
    assert table["panel"].texts()[4].startswith("best k")
    verdicts = [c.verdict for c in curve.comparisons if c.calibrator == "beta"]
    assert table["verdict"].texts() == ["reference", *verdicts]


def test_a_chosen_k_that_is_always_all_judges_gets_no_interval(curve):
    nan = float("nan")
    none = Interval.single(0.0, nan, nan)
    blank = {"delta": none, "band": none, "paper_median": none, "p": nan, "paper_p": nan}
    same = tuple(
        replace(c, verdict="tie", k=12, k_lo=12, k_hi=12, **blank) if c.arm == "best k" else c
        for c in curve.comparisons
    )
    table = panel_curve.comparison_table(replace(curve, comparisons=same), "beta")
    row = Table(table).texts().iloc[4]
    assert (row["panel"], row["difference"]) == ("best k", "same panel as all")
    assert not "".join(row[["difference 95 %", "all rows together", "p", "paper's interval"]])


def test_only_the_chosen_k_has_an_optimism(curve):
    optimism = panel_curve.comparison_table(curve, "beta")["selection bias"].texts()
    assert optimism[:4] == ["", "", "", ""]
    assert optimism[4][0] in "+-0"


def test_p_values_stand_without_their_letter(curve):
    for name in ("p", "paper's p"):
        cells = panel_curve.comparison_table(curve, "beta")[name].texts()[1:]
        assert all(cell[0] in ".<>" for cell in cells)


def test_every_calibrator_is_shown_unless_one_is_chosen(curve):
    spec = PanelCurveSpec(settings=FEW)
    every = panel_curve.present(curve, spec)
    headings = [block.text for block in every if isinstance(block, Heading)]
    assert headings == ["No calibrator", "Temperature scaling"]
    answers = [block.text for block in every if isinstance(block, Answer)]
    assert answers == [
        panel_curve.curve_answer(curve, name) for name in ("beta", "none", "temperature")
    ]
    chosen = panel_curve.present(curve, spec, panel_curve.PanelCurveView("none", "accuracy"))
    assert [block.text for block in chosen if isinstance(block, Answer)] == answers[1:2]


def test_the_pipeline_is_named_before_the_answer(curve):
    sentence = panel_curve.curve_sentence(replace(curve, aggregator="majority"), "beta")
    assert panel_curve.curve_answer(curve, "beta").startswith("Under one-coin + beta, ")
    other = replace(curve, aggregator="majority")
    answer = f"Under majority vote + beta, {sentence[0].lower()}{sentence[1:]}"
    assert panel_curve.curve_answer(other, "beta") == answer
