"""Calibration shares in words: claims do not exceed the result."""

from dataclasses import replace
from functools import cache

import numpy as np

from judgepanel.present.blocks import Answer, Paragraph, Table
from judgepanel.present.paper.fraction_sweep import (
    FRACTION_SWEEP,
    FractionSweepSpec,
    SweepView,
    fraction_sweep,
    present,
    share_sentence,
    share_table,
    why_sentence,
)
from judgepanel.render.text import terminal_text
from judgepanel.scoring.interval import Interval
from judgepanel.studies.contract import Settings
from judgepanel.studies.runner import run
from tests.helpers import make_votes, named

SPEC = FractionSweepSpec(Settings(splits=4), panels=(3,), shares=(0.2, 0.4, 0.7))


@cache
def result():
    return run(FRACTION_SWEEP, make_votes(1, 120, 9, low=0.7), SPEC, jobs=1)


def needing(share, *, at_start):
    """The sweep with another share that is enough, with its interval."""
    ends = Interval(*share, unit="share")  # type: ignore[arg-type]
    needed = tuple(replace(each, share=ends, at_start=at_start) for each in result().needed)
    return replace(result(), needed=needed)


def test_the_answer_names_share_labels_level_and_base_rate():
    sentence = share_sentence(needing(share=(0.25, 0.2, 0.6), at_start=False), "beta")
    assert sentence.startswith("25 % of the items [20 %, 60 %] (30 labels) are enough to come ")
    level = result().nll.value[0, -1, -1]
    assert f"within 5 % of what 70 % give. That is NLL {level:.3f} [" in sentence
    assert f"base rate {result().null_nll[-1]:.3f}" in sentence


def test_where_the_smallest_share_does_it_that_is_an_upper_bound():
    sure = share_sentence(needing(share=(0.2, 0.2, 0.2), at_start=True), "beta")
    assert sure.startswith("20 % of the items (24 labels) or fewer come within")
    open_ = share_sentence(needing(share=(0.2, 0.2, 0.5), at_start=True), "beta")
    assert open_.startswith("20 % of the items (24 labels) or fewer, perhaps up to 50 %, come")


def test_panels_not_shown_to_beat_the_base_rate_need_no_share():
    nll = result().nll
    weak = replace(result(), nll=replace(nll, hi=nll.hi + 1.0))
    assert "not shown to beat the base rate" in share_sentence(weak, "beta")


def test_a_single_split_answers_nothing():
    bare = replace(result(), needed=(), nll=Interval.alone(result().nll.value))
    assert share_sentence(bare, "beta").startswith("Not enough splits yet")
    assert why_sentence(bare, "beta") == ""


def test_the_reason_names_the_items_left_and_both_widths():
    nll = result().nll
    hi = np.full(nll.shape, 0.2)
    hi[:, :, 1] = 0.1
    wide = replace(result(), nll=replace(nll, lo=np.zeros(nll.shape), hi=hi))
    sentence = why_sentence(wide, "beta")
    assert "36 of 120 at 70 %" in sentence
    assert sentence.endswith("narrowest at 40 % (± 0.050), and ± 0.100 at 70 %.")


def test_the_table_has_a_row_a_share_and_the_null_beside_every_level():
    table = share_table(result(), "beta", "top-3")
    assert table["share"].texts() == ["20.0 %", "40.0 %", "70.0 %"]
    assert (table["calibrate"].numbers + table["evaluate"].numbers == 120).all()
    assert np.isfinite(table["base rate"].numbers).all()
    assert table["against 70 %"].texts()[-1] == "reference"
    assert "difference" not in share_table(result(), "beta", None)


def test_by_default_every_calibrator_is_presented_with_its_reasons():
    blocks = present(result(), SPEC)
    readings = [block.text for block in blocks if isinstance(block, Paragraph) and block.quiet]
    assert len(readings) == 2
    assert readings[0].startswith(why_sentence(result(), "beta"))
    assert "This analysis" not in readings[0]
    assert Answer(share_sentence(result(), "temperature")) in blocks
    assert sum(isinstance(block, Table) for block in blocks) == 2


def test_a_page_shows_one_calibrator_and_the_share_of_the_analysis():
    blocks = present(result(), SPEC, SweepView("temperature", 3, 0.5))
    assert blocks[0] == Answer(share_sentence(result(), "temperature"))
    assert "This analysis calibrates on 50 %. Dashed vertical line" in blocks[2].text
    (table,) = [block.columns for block in blocks if isinstance(block, Table)]
    assert "NLL, top-3" in table
    (alone,) = [b for b in present(result(), SPEC, SweepView("beta", 8)) if isinstance(b, Table)]
    assert "difference" not in alone.columns


def test_of_the_recommended_panel_no_calibrator_is_named():
    spec = replace(SPEC, settings=Settings(splits=2), aggregator="average")
    averaged = run(FRACTION_SWEEP, make_votes(1, 120, 9, low=0.7), spec, jobs=1)
    assert "constant score" not in share_table(averaged, "none", "top-3 by one-coin")
    text = terminal_text(present(averaged, spec))
    assert "The recommended panel is chosen again on the labels of every share" in text
    assert "under one-coin + temperature" in text
    assert "uncalibrated" not in text


@cache
def two_shares():
    spec = FractionSweepSpec(Settings(splits=4), panels=(3,), shares=(0.2, 0.5))
    return run(FRACTION_SWEEP, make_votes(1, 120, 9), spec, jobs=1)


def test_lines_bands_and_null_are_the_two_shares():
    figure = fraction_sweep(two_shares(), "beta", "top-3")
    nll = two_shares().nll
    lines = {"all 9": nll.value[0, 1], "top-3": nll.value[0, 0], "base rate": two_shares().null_nll}
    for name, values in lines.items():
        np.testing.assert_array_equal(named(figure, name).y, values)
    np.testing.assert_array_equal(named(figure, "95 % interval").y[:2], nll.hi[0, 1])
    np.testing.assert_array_equal(named(figure, "all 9").customdata, [[24, 96], [60, 60]])


def test_ticks_say_the_share_and_the_number_of_labels():
    figure = fraction_sweep(two_shares(), "temperature")
    assert list(figure.layout.xaxis.ticktext) == ["20 %<br>24", "50 %<br>60"]
    assert "top-3" not in {trace.name for trace in figure.data}
    crowded = replace(
        two_shares(),
        shares=np.array([0.05, 0.1, 0.2, 0.3, 0.5, 0.7]),
        labels=np.arange(6.0),
        evaluated=np.arange(6.0),
        null_nll=np.ones(6),
        nll=Interval.full((2, 2, 6), 0.5),
    )
    ticks = fraction_sweep(crowded, "beta").layout.xaxis.tickvals
    np.testing.assert_allclose(ticks, [10, 30, 50, 70])


def test_the_share_that_is_enough_is_marked_where_it_is_known():
    (line,) = fraction_sweep(two_shares(), "beta").layout.shapes
    assert 20 <= line.x0 <= 50
    assert not fraction_sweep(replace(two_shares(), needed=()), "beta").layout.shapes
