"""Confidence in words: claims do not exceed the results."""

import re
from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest

from judgepanel.present.blocks import Answer, Heading, Method, Paragraph, Table
from judgepanel.present.trust import certainty, reliability
from judgepanel.render.text import terminal_text
from judgepanel.scoring.interval import Interval
from judgepanel.studies.contract import Settings, split_chunks
from judgepanel.studies.runner import run
from judgepanel.studies.trust import conformal, items, probabilities, selective
from judgepanel.studies.trust.reliability import RELIABILITY, STATED_BINS, ReliabilitySpec
from tests.helpers import make_votes

SETTINGS = Settings(splits=6)
STUDIES = (
    (RELIABILITY, ReliabilitySpec, reliability.present),
    (selective.SELECTIVE, selective.SelectiveSpec, certainty.present_selective),
    (conformal.CONFORMAL, conformal.ConformalSpec, certainty.present_conformal),
    (items.ITEMS, items.ItemsSpec, certainty.present_items),
)


@cache
def votes():
    table = pd.DataFrame({"tag": np.where(np.arange(200) % 4 == 0, "x\x1b[31m", "y")})
    return replace(make_votes(1, 200, 15), features=table)


@cache
def of(number, **options):
    study, spec, _ = STUDIES[number]
    return run(study, votes(), spec(SETTINGS, **options), jobs=1)


def blocks_of(number, *view):
    _, spec, present = STUDIES[number]
    return present(of(number), spec(SETTINGS), *view)


def test_the_answer_is_the_bin_about_ninety_per_cent():
    result = of(0)
    bins = result.binned(STATED_BINS)
    value, lo, hi = (round(100 * float(end)) for end in bins.accuracy[1, 4])
    sentence = reliability.reliability_sentence(result)
    assert sentence.startswith(f"When it says 90 %, it is right {value} % [{lo}, {hi}] of the time")
    assert "Before calibration it said" in sentence


def test_where_ninety_per_cent_is_hardly_ever_said_the_fullest_bin_answers():
    hard = make_votes(3, 160, 3, low=0.52, high=0.6)
    weak = run(RELIABILITY, hard, ReliabilitySpec(SETTINGS), jobs=1)
    sentence = reliability.reliability_sentence(weak)
    assert sentence.startswith("It hardly ever says 90 %. When it says ")
    assert weak.binned(STATED_BINS).items[1].argmax() == reliability.asked_bin(weak)
    if not weak.nll.hi[1] < weak.null_nll:
        assert "not shown to beat the base rate" in sentence
        assert not reliability.believed(weak)


def test_an_error_is_held_against_chance_both_ways():
    result = of(0)
    likely, rare = result.ece_p.copy(), result.ece_p.copy()
    likely[:], rare[:] = 0.4, 0.01
    sentence = reliability.error_sentence(replace(result, ece_p=likely), 10)
    assert "no more than chance (p = .400)" in sentence
    worse = replace(result, ece_p=rare)
    assert "more than chance explains (p = .010)" in reliability.error_sentence(worse, 15)
    assert not reliability.believed(worse)


def test_the_slope_is_called_extreme_or_timid_only_where_its_interval_says_so():
    result = of(0)
    for lo, slope, hi, words in (
        (0.5, 0.7, 0.9, "too extreme"),
        (1.1, 1.3, 1.6, "too cautious"),
        (0.8, 1.0, 1.2, "nothing shows"),
    ):
        ends = Interval(*(np.array([0.1, end]) for end in (slope, lo, hi)), unit="")
        assert words in reliability.slope_sentence(replace(result, slope=ends))
    blank = Interval.full(2, np.nan, "")
    assert reliability.slope_sentence(replace(result, slope=blank)) == ""


def test_tables_have_the_bins_that_hold_items_and_both_stages():
    result = of(0)
    table = reliability.bins_table(result, "10")
    filled = int((result.binned("10").items > 0).any(axis=0).sum())
    assert {len(column) for column in table.values()} == {filled}
    figures = reliability.measures_table(result)
    names = ["NLL", "accuracy", "mean stated confidence", "slope", "intercept"]
    assert figures["figure"].texts(5) == names
    votes = make_votes(2, 90, 8, one_class=True)
    coded = run(RELIABILITY, votes, ReliabilitySpec(SETTINGS), jobs=1)
    assert reliability.measures_table(coded)["after"].texts()[4] == "does not apply"


def test_selective_prediction_is_held_against_answering_everything():
    sentence = certainty.selective_sentence(of(1))
    assert re.match(r"Answering only where it is at least \d+ % sure: [\d.]+ % \[", sentence)
    assert "Answering everything: " in sentence
    table = certainty.selective_table(of(1))
    assert table["at least"].texts()[0] == "everything"
    assert {len(column) for column in table.values()} == {7}


def test_sets_are_said_in_words_by_kind_and_group():
    result = of(2, feature="tag")
    sentence = certainty.conformal_sentence(result, 1)
    assert sentence.startswith("Sets at the 90 % level contain the true label of ")
    assert certainty.kinds_table(result, 1)["set"].texts() == ["{}", "{0}", "{1}", "{0, 1}"]
    table = certainty.coverage_table(result, 1, "feature")
    assert table["sets"].texts() == ["plain", "within each group"] * 3
    assert certainty.groups_sentence(result, 1, "class").startswith("By label, plain sets")
    hi = result.coverage.hi.copy()
    hi[0, 1, result.groupings.index("difficulty")] = 0.85
    fewer = replace(result, coverage=replace(result.coverage, hi=hi))
    short = certainty.groups_sentence(fewer, 1, "difficulty")
    assert "plain sets fall short for judges agree" in short
    assert "Sets made within each group are no longer shown to fall short there (" in short
    assert "mean size there" in short


def test_hard_and_easy_items_are_compared_with_what_is_said_of_them():
    result = of(3)
    assert certainty.items_sentence(result).startswith("Where judges agree most it is right ")
    confidence = np.full_like(result.confidence, 0.9999)
    assert "(too sure)" in certainty.items_sentence(replace(result, confidence=confidence))
    assert len(certainty.strata_table(result, "errors")["items"]) == 3
    table = certainty.item_table(result, result.worst(4))
    assert (np.diff(table["surprise (NLL)"].numbers) <= 0).all()
    assert "\x1b" not in Table(table).texts().to_string()


@pytest.mark.parametrize("number", range(4))
def test_every_study_names_its_panel_and_prints_no_escape_sequences(number):
    blocks = blocks_of(number)
    (method,) = [block for block in blocks if isinstance(block, Method)]
    assert method.text.startswith("In every split all 15 judges and the calibrator are fitted on ")
    assert "\x1b" not in terminal_text(blocks)


def captions(blocks):
    return [block.caption for block in blocks if isinstance(block, Table)]


def test_the_bins_that_are_chosen_are_those_of_the_sentence_and_the_table():
    blocks = blocks_of(0, reliability.ReliabilityView(15))
    assert Paragraph(reliability.error_sentence(of(0), 15)) in blocks
    assert captions(blocks) == ["Every bin.", "Before and after calibration."]
    (bins, _) = [block for block in blocks if isinstance(block, Table)]
    pd.testing.assert_frame_equal(bins.texts(), Table(reliability.bins_table(of(0), "15")).texts())
    assert blocks_of(0, reliability.ReliabilityView(7))[1].alt == blocks_of(0)[1].alt


def test_by_default_every_level_and_every_grouping_of_sets_is_presented():
    blocks = blocks_of(2)
    answers = [block.text for block in blocks if isinstance(block, Answer)]
    assert answers == [certainty.conformal_sentence(of(2), level) for level in (1, 0)]
    assert Heading("Sets at level 80 %", 3) in blocks
    kinds = ["Kinds of plain sets.", "Coverage by label.", "Coverage by difficulty."]
    assert captions(blocks) == 2 * kinds
    chosen = blocks_of(2, certainty.ConformalView(0, "difficulty"))
    assert chosen[0] == Answer(certainty.conformal_sentence(of(2), 0))
    assert captions(chosen) == ["Kinds of plain sets.", "Coverage by difficulty."]


def test_strata_that_hold_the_label_say_so_and_items_are_listed_unless_the_page_does():
    blocks = blocks_of(3)
    (note,) = [block.text for block in blocks if isinstance(block, Paragraph)]
    assert note.startswith("These strata are defined by the label")
    strata = ["By difficulty.", "By judges that erred."]
    assert captions(blocks) == [*strata, "Worst misses.", "Most contested."]
    assert captions(blocks_of(3, certainty.ItemsView("difficulty", listed=False))) == strata[:1]


def test_a_single_split_says_that_it_is_too_early():
    for study, spec_of, present in STUDIES:
        spec = spec_of(SETTINGS)
        partial = study.run_chunk(votes(), spec, split_chunks(1)[0])
        answer = present(study.merge(votes(), spec, partial), spec)[0]
        assert answer.text == "Not enough splits yet to say."


def trace(figure, name):
    return next(line for line in figure.data if line.name == name)


@pytest.mark.parametrize("bins", ["10", "15", "stated"])
def test_bins_that_hold_items_are_drawn_with_their_counts_beneath(bins):
    figure = reliability.reliability_figure(of(0), bins)
    given = of(0).binned(bins)
    full = given.items[1] > 0
    line = trace(figure, "after calibration")
    np.testing.assert_array_equal(line.y, given.accuracy.value[1, full])
    (bars,) = (t for t in figure.data if (t.type, t.name) == ("bar", line.name))
    np.testing.assert_array_equal(bars.y, given.items[1, full])
    assert len(line.y) < given.n_bins or full.all()


def test_bins_with_few_items_have_open_marks_and_thin_intervals():
    figure = reliability.reliability_figure(of(0), "10")
    line = trace(figure, "before")
    few = line.customdata[:, 3] < probabilities.FEW_ITEMS
    assert few.any()
    assert [symbol.endswith("-open") for symbol in line.marker.symbol] == few.tolist()
    thin = [bars for bars in figure.data if bars.error_y.thickness == 0.5]
    assert len(thin[0].x) == np.count_nonzero(few)


def test_without_a_calibrator_there_is_one_line_and_it_is_the_raw_one():
    figure = reliability.reliability_figure(of(0, calibrator="none"), "10")
    assert {line.name for line in figure.data if line.name} == {"as stated", "uncalibrated"}
    (bars,) = [line for line in figure.data if line.type == "bar"]
    np.testing.assert_array_equal(trace(figure, "uncalibrated").customdata[:, 3], bars.y)


def test_the_curve_ends_where_everything_is_answered():
    result = of(1)
    figure = certainty.selective_figure(result)
    everything = result.accuracy.value[1]
    assert trace(figure, "after calibration").y[-1] == pytest.approx(everything)
    assert figure.layout.shapes[0].y0 == pytest.approx(everything)
    assert (np.diff(trace(figure, "stated confidence").x) < 0).all()
    assert "95 % interval" in [line.name for line in figure.data]


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"calibrator": "none"}, "uncalibrated"),
        ({"aggregator": "average"}, "the recommended panel"),
    ],
)
def test_without_a_calibrator_there_is_one_curve(options, name):
    result = of(1, **options)
    names = [line.name for line in certainty.selective_figure(result).data]
    assert names == ["95 % interval", name, "stated confidence"]
    blocks = certainty.present_selective(result, selective.SelectiveSpec(SETTINGS, **options))
    words = [block.text for block in blocks if isinstance(block, Paragraph)]
    assert not any("calibrator" in text for text in words)


def test_names_of_marks_stay_clear_of_the_axis():
    result = of(1)
    share = np.broadcast_to(np.linspace(0.9, 0.1, len(result.confidences)), result.share.shape)
    apart = replace(result, share=Interval(share, share, share), items=np.full(share.shape, 50.0))
    marks = trace(certainty.selective_figure(apart), "stated confidence")
    assert marks.text[0] == "60 %"
    assert marks.textposition[0] == "bottom left"
    assert marks.textposition[-1] == "bottom right"


def test_groups_start_with_all_items():
    result = of(2, feature="tag")
    figure = certainty.coverage_figure(result, 1, "feature")
    assert figure.layout.yaxis.ticktext[0] == "all items"
    assert figure.layout.shapes[0].x0 == 0.9
    assert trace(figure, "plain sets").x[0] == result.coverage.value[0, 1, 0]


def test_strata_show_stated_beside_right():
    result = of(3)
    figure = certainty.strata_figure(result, "difficulty")
    rows = result.strata_of("difficulty")
    np.testing.assert_array_equal(trace(figure, "share right").x, result.accuracy.value[1, rows])
    np.testing.assert_array_equal(trace(figure, "stated confidence").x, result.confidence[1, rows])
