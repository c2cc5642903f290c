"""Label budgets in words: claims do not exceed the result."""

import math
from dataclasses import replace
from functools import cache
from typing import get_args

import numpy as np
import pytest

from judgepanel.present.blocks import Answer, Heading, Paragraph, Table
from judgepanel.present.trust.label_budget import (
    BudgetView,
    beats_null,
    budget_difference,
    budget_sentence,
    budget_table,
    joint_sentence,
    joint_table,
    label_budget,
    needed_table,
    next_sentence,
    paper_note,
    present,
    target_sentence,
)
from judgepanel.render.text import terminal_text
from judgepanel.scoring import inference, interval
from judgepanel.studies.contract import Settings
from judgepanel.studies.runner import run
from judgepanel.studies.trust.label_budget import LABEL_BUDGET, LabelBudgetSpec, read
from judgepanel.words.text import level
from tests.helpers import make_votes, named

SPEC = LabelBudgetSpec(Settings(splits=12), panels=(3,), budgets=(20, 30, 45), target=0.4)


@cache
def result():
    return run(LABEL_BUDGET, make_votes(1, 120, 9, low=0.7), SPEC, jobs=1)


def needing(n, **changes):
    """The result of 100 splits with other labels needed by all judges, with their interval."""
    ends = interval.Interval(*n, unit="count")  # type: ignore[arg-type]
    needed = tuple(
        replace(needed, n=ends, **changes) if needed.panel == "all 9" else needed
        for needed in result().needed
    )
    return replace(result(), needed=needed, n_splits=100)


def test_the_answer_says_how_many_labels_reach_what_and_how_many_there_are():
    needed = needing((31.6, 20.0, 50.4), at_start=False, extrapolated=False)
    sentence = budget_sentence(needed, "beta")
    assert sentence == (
        "32 labels [20, 50] bring all 9 within 5 % of what 60 labels give. You have 120: enough."
    )


def test_where_the_smallest_budget_does_it_that_is_an_upper_bound():
    sure = budget_sentence(needing((20.0, 20.0, 20.0), at_start=True), "beta")
    assert sure.startswith("20 labels or fewer bring all 9 within")
    open_ = budget_sentence(needing((20.0, 20.0, 41.0), at_start=True), "beta")
    assert open_.startswith("20 labels, perhaps up to 41, bring all 9 within")


@pytest.mark.parametrize("at_start", [False, True])
def test_few_splits_quote_the_upper_end_in_sentence_table_figure_and_json(at_start):
    """Below 100 splits the estimate is too low, so nobody should plan with it."""
    exact = needing((31.6, 20.0, 50.4), at_start=at_start, extrapolated=False)
    few = replace(exact, n_splits=20)
    assert budget_sentence(few, "beta").startswith("At most 50 labels bring all 9 within")
    assert "up to 50" in needed_table(few)["labels"].texts()
    for budget, place in ((few, 50.4), (exact, 31.6)):
        assert place in {shape.x0 for shape in label_budget(budget, "beta").layout.shapes}
    rows = {(row["panel"], row["kind"]): row for row in few.summary()["needed"]}
    assert rows["all 9", "plateau"]["quoted"] == 50.4


def test_few_splits_without_an_upper_end_promise_nothing():
    open_end = needing((80.2, 40.0, math.nan), extrapolated=True, at_start=False)
    few = replace(open_end, n_splits=20)
    sentence = target_sentence(few, "beta")
    assert sentence.startswith("How many labels bring all 9 to NLL 0.4 on average over panels is ")
    assert "not shown after 20 splits: 80 labels [" in sentence
    assert "no limit shown" in needed_table(few)["labels"].texts()


def test_panels_not_shown_to_beat_the_base_rate_need_no_number():
    nll = result().nll
    weak = replace(result(), nll=replace(nll, hi=nll.hi + 1.0))
    assert not beats_null(weak, "beta")
    assert "not shown to beat the base rate" in budget_sentence(weak, "beta")


def test_a_single_split_answers_nothing():
    bare = replace(result(), needed=(), joint_p=np.full((2, 1), np.nan))
    assert budget_sentence(bare, "beta") == "Not enough splits yet to say."
    assert joint_sentence(bare, "beta", "top-3") == "Not enough splits yet to compare panels."


@pytest.mark.parametrize(
    ("n", "changes", "words"),
    [
        ((80.2, 40.0, math.nan), {"extrapolated": True, "at_start": False}, "80 labels [40, no"),
        ((math.nan, 40.0, 60.0), {}, "curve of all 9 with one-coin + beta never falls to NLL 0.4"),
        ((20.0, 20.0, 41.0), {"at_start": True}, "20 labels, perhaps up to 41"),
    ],
)
def test_a_target_is_answered_with_its_doubt(n, changes, words):
    sentence = target_sentence(needing(n, **changes), "beta")
    assert words in sentence
    assert ("extrapolating" in sentence) == ("extrapolated" in changes)
    assert ("no limit]" in sentence) == math.isnan(n[2])


def test_a_target_out_of_reach_still_shows_the_doubt_about_it():
    doubtful = target_sentence(needing((math.nan, 44.4, math.nan)), "beta")
    assert doubtful.endswith("but that is not sure: the 95 % interval starts at 44 labels.")
    never = target_sentence(needing((math.nan, math.nan, math.nan)), "beta")
    assert never.endswith("never falls to NLL 0.4.")


def test_a_curve_that_still_falls_at_its_end_has_no_plateau():
    c = result().row("beta")
    nll = result().nll.value[c, -1, -1]

    def priced(value, lo):
        gain = interval.Interval(*(end.copy() for end in result().gain))
        gain.put((c, -1, -1), (value, lo, 2 * value))
        return budget_sentence(replace(result(), gain=gain), "beta")

    falls = priced(0.2 * nll, 0.1 * nll)
    assert falls.startswith("No plateau yet: the next 100 labels lower NLL by about ")
    flat = budget_sentence(result(), "beta")
    assert falls.endswith(f"]. So far, {flat.replace(': enough', ': more would help')}")
    for gain, lo in ((0.2 * nll, -0.01), (0.04 * nll, 0.03 * nll), (math.nan, math.nan)):
        assert priced(gain, lo) == flat


def test_the_price_of_more_labels_is_marked_as_extrapolated():
    sentence = next_sentence(result(), "beta")
    assert sentence.startswith("You have 120 labels: the next 100 would lower NLL by about ")
    assert "That is extrapolated: panels were fitted on at most 60 labels, and tested" in sentence
    blank = replace(result(), curve_a=np.full_like(result().curve_a, np.nan))
    assert next_sentence(blank, "beta") == ""


def test_the_price_follows_the_labels_that_the_reader_has():
    inside = replace(result(), labels=np.array([20.0, 30.0, 45.0, 600.0]))
    assert "extrapolated" not in next_sentence(inside, "beta")
    few = read(result(), have=5)
    assert next_sentence(few, "beta") == (
        "You have 5 labels, fewer than the smallest budget here (20): what more would buy is not "
        "known."
    )
    flat = replace(result(), curve_b=np.zeros_like(result().curve_b))
    assert "are not shown to help (at most" in next_sentence(flat, "beta")
    assert budget_sentence(few, "beta").endswith("You have 5: too few.")


def test_the_papers_test_is_never_shown_without_its_flaw():
    table = joint_table(result(), "beta")
    assert all(("paper" in name) == ("(invalid)" in name) for name in table)
    assert "takes splits of one data set for independent samples" in paper_note()
    blocks = present(result(), SPEC)
    places = [i for i, b in enumerate(blocks) if isinstance(b, Table) and "joint p" in b.columns]
    assert len(places) == 2
    for place in places:
        assert blocks[place + 1] == Paragraph(paper_note(), quiet=True)
        assert "(invalid)" in blocks[place].caption


def test_two_aggregators_are_told_apart_in_words():
    spec = LabelBudgetSpec(
        Settings(splits=2), calibrators=("beta",), panels=(), budgets=(30,), beside="majority"
    )
    both = run(LABEL_BUDGET, make_votes(1, 120, 9, low=0.7), spec, jobs=1)
    sentence = joint_sentence(both, "beta", "all 9 by majority")
    assert sentence.startswith("all 9 by majority against all 9 by one-coin: ")
    verdicts = budget_table(both, "beta", "all 9 by majority")["verdict"]
    assert not [verdict for verdict in verdicts.texts() if "keep" in verdict or "curat" in verdict]


def test_the_joint_test_says_where_panels_differ():
    lo, hi = np.array([0.1, -0.1, 0.2, -0.1]), np.full(4, 0.3)
    band = interval.Interval(*(np.tile(end, (2, 1, 1)) for end in ((lo + hi) / 2, lo, hi)))
    differ = replace(result(), joint_p=np.full((2, 1), 0.0004), band=band)
    assert joint_sentence(differ, "beta", "top-3") == (
        "top-3 against all 9: it costs NLL at 20 and 45 labels (joint p < .001)."
    )
    alike = replace(result(), joint_p=np.full((2, 1), 0.4))
    assert "no difference is shown at any budget" in joint_sentence(alike, "beta", "top-3")


def test_the_table_has_a_row_a_budget_and_marks_prices_beyond_the_data():
    table = budget_table(result(), "beta", "top-3")
    assert table["labels"].texts() == ["20", "30", "45", "60"]
    assert all(price.endswith("(extrapolated)") for price in table["next 100 buy"].texts())
    assert set(table["verdict"].texts()) <= set(get_args(inference.Verdict))
    assert "difference" not in budget_table(result(), "beta", None)


def test_by_default_every_calibrator_and_panel_is_presented():
    blocks = present(result(), SPEC)
    first, second = (budget_sentence(result(), name) for name in ("beta", "temperature"))
    assert Answer(first) in blocks
    assert Answer(f"Under one-coin + temperature, {second[0].lower()}{second[1:]}") in blocks
    texts = [block.text for block in blocks if isinstance(block, Answer | Paragraph)]
    for calibrator in ("beta", "temperature"):
        assert joint_sentence(result(), calibrator, "top-3") in texts
    captions = [block.caption for block in blocks if isinstance(block, Table)]
    assert captions.count("Every budget.") == 2
    assert len(needed_table(result())["labels"]) == 8
    assert captions.count("Labels needed.") == 1


def test_a_page_shows_one_calibrator_and_one_panel():
    blocks = present(result(), SPEC, BudgetView("temperature", 3))
    (answer,) = [block for block in blocks if isinstance(block, Answer)]
    assert answer.text == budget_sentence(result(), "temperature")
    assert Heading("top-3 against all 9", 3) in blocks
    alone = present(result(), SPEC, BudgetView("temperature", 10))
    (table,) = [b for b in alone if isinstance(b, Table) and b.caption == "Every budget."]
    assert "difference" not in table.columns


def test_the_figure_is_read_with_its_yardsticks():
    (_, _, reading, *_) = present(result(), SPEC)
    null = result().null_nll
    assert reading.quiet
    assert reading.text.startswith(
        f"NLL of all 9 with 60 labels, on average over panels: {level(*result().nll[0, -1, -1])}. "
        f"Base rate alone: {null[-1]:.3f}; with 20 labels {null[0]:.3f}."
    )
    assert "The labels needed are the upper end of their interval: the estimate" in reading.text
    assert reading.text.endswith(f" is too low after {result().n_splits} splits.")


def test_of_the_recommended_panel_no_calibrator_is_named():
    spec = replace(SPEC, settings=Settings(splits=4), aggregator="average", target=1e-6)
    averaged = run(LABEL_BUDGET, make_votes(1, 120, 9, low=0.7), spec, jobs=1)
    assert "bring the recommended panel within 5 % of" in budget_sentence(averaged, "none")
    assert "curve of the recommended panel never falls to" in target_sentence(averaged, "none")
    assert "constant score" not in budget_table(averaged, "none", "top-3 by one-coin")
    text = terminal_text(present(averaged, spec, BudgetView("none", 3)))
    assert "top-3 by one-coin against the recommended panel" in text
    assert "The recommended panel is chosen again on the labels of every budget" in text
    assert "under one-coin + temperature" in text
    assert "uncalibrated" not in text


def test_both_panels_and_the_null_are_lines_over_the_labels():
    figure = label_budget(result(), "beta", ("top-3",))
    lines = (*result().nll.value[0], result().null_nll)
    for name, values in zip(("top-3", "all 9", "base rate"), lines, strict=True):
        np.testing.assert_array_equal(named(figure, name).x, result().labels)
        np.testing.assert_array_equal(named(figure, name).y, values)
    assert figure.layout.xaxis.type == "log"


def test_what_lies_beyond_the_data_is_another_line_that_says_so():
    given = run(LABEL_BUDGET, make_votes(1, 120, 9), SPEC, jobs=1)
    figure = label_budget(given, "temperature", ("top-3",))
    for name in ("top-3: extrapolated", "extrapolated"):
        tail = named(figure, name)
        assert tail.x.min() >= given.labels[-1] - 1e-9
        assert tail.x.max() == pytest.approx(220)
        assert tail.line.dash == "dot"
    assert tail.y[0] == pytest.approx(float(given.fitted(1, 1, 60.0)))


def test_a_curve_that_misses_the_last_level_is_not_drawn_beyond_it():
    """A curve cannot rise, a panel fitted on more labels can get worse."""
    nll = result().nll.value.copy()
    nll[0, :, -1] *= 1.2
    off = label_budget(replace(result(), nll=interval.Interval.alone(nll)), "beta", ("top-3",))
    assert not [line for line in off.data if line.name.endswith("extrapolated")]
    assert named(label_budget(result(), "beta"), "extrapolated").showlegend


def test_bands_hold_their_lines():
    band = named(label_budget(result(), "beta", ("top-3",)), "95 % interval")
    np.testing.assert_array_equal(band.y[:4], result().nll.hi[0, 1])
    np.testing.assert_array_equal(band.y[4:], result().nll.lo[0, 1][::-1])


def test_the_legend_names_each_kind_of_line_once():
    figure = label_budget(result(), "beta", ("top-3",))
    displayed = [part.name for part in (*figure.data, *figure.layout.shapes) if part.showlegend]
    assert displayed[:2] == ["95 % interval", "extrapolated"]
    assert displayed[-1] == f"you have {result().have}: enough"


def test_colour_is_not_the_only_difference_between_the_panels():
    figure = label_budget(result(), "beta", ("top-3",))
    first, other = named(figure, "all 9"), named(figure, "top-3")
    assert first.line.dash != other.line.dash
    assert first.marker.symbol != other.marker.symbol


def test_the_difference_has_its_band_and_its_intervals():
    figure = budget_difference(result(), "beta", "top-3")
    line = named(figure, "top-3, with 95 % at each budget")
    np.testing.assert_array_equal(line.y, result().delta.value[0, 0])
    np.testing.assert_allclose(line.y + line.error_y.array, result().delta.hi[0, 0])
    band = named(figure, "95 % at all budgets together")
    np.testing.assert_array_equal(band.y[:4], result().band.hi[0, 0])


def test_without_intervals_or_another_panel_there_are_lines_alone():
    nll, curve_a = interval.Interval.alone(result().nll.value), np.full((2, 2), np.nan)
    bare = replace(result(), nll=nll, curve_a=curve_a)
    assert [line.name for line in label_budget(bare, "beta").data] == ["base rate", "all 9"]
