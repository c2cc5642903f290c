"""What is said of calibration shares: never more than the result holds."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np

from judgepanel.report.fraction_sweep import (
    share_sentence,
    share_table,
    sweep_text,
    why_sentence,
)
from judgepanel.report.sentences import CODING
from judgepanel.studies.budget.fraction_sweep import FRACTION_SWEEP, FractionSweepSpec
from judgepanel.studies.budget.fraction_sweep_result import FractionSweep
from judgepanel.studies.runner import run
from judgepanel.studies.settings import Settings
from tests.helpers import make_votes


@cache
def found() -> FractionSweep:
    spec = FractionSweepSpec(Settings(splits=4), panels=(3,), shares=(0.2, 0.4, 0.7))
    return run(FRACTION_SWEEP, make_votes(1, 120, 9, low=0.7), spec, jobs=1)


def needing(**changes: object) -> FractionSweep:
    """The sweep with another share that is enough."""
    return replace(found(), needed=tuple(replace(one, **changes) for one in found().needed))  # type: ignore[arg-type]


def test_the_answer_names_share_labels_level_and_base_rate():
    sentence = share_sentence(needing(share=0.25, lo=0.2, hi=0.6, at_start=False), "beta")
    assert sentence.startswith("25 % of the items [20 %, 60 %] (30 labels) are enough to come ")
    assert f"within 5 % of what 70 % give (NLL {found().nll[0, -1, -1]:.3f} [" in sentence
    assert f"base rate {found().null_nll[-1]:.3f}" in sentence


def test_where_the_smallest_share_does_it_that_is_an_upper_bound():
    sure = share_sentence(needing(share=0.2, hi=0.2, at_start=True), "beta")
    assert sure.startswith("20 % of the items (24 labels) or fewer reach within")
    open_ = share_sentence(needing(share=0.2, hi=0.5, at_start=True), "beta")
    assert open_.startswith("20 % of the items (24 labels) or fewer, perhaps up to 50 %, reach")


def test_panels_not_shown_to_beat_the_base_rate_need_no_share():
    weak = replace(found(), nll_hi=found().nll_hi + 1.0)
    assert "not shown to beat the base rate" in share_sentence(weak, "beta")


def test_figures_that_measure_the_coding_say_so_and_a_single_split_answers_nothing():
    assert share_sentence(replace(found(), measures_coding=True), "beta").endswith(CODING)
    bare = replace(found(), needed=(), nll_hi=np.full_like(found().nll, np.nan))
    assert share_sentence(bare, "beta").startswith("Not enough splits yet")
    assert why_sentence(bare, "beta") == ""


def test_the_reason_names_the_items_left_and_both_widths():
    lo, hi = np.zeros_like(found().nll), np.full_like(found().nll, 0.2)
    hi[:, :, 1] = 0.1
    sentence = why_sentence(replace(found(), nll_lo=lo, nll_hi=hi), "beta")
    assert "36 of 120 at 70 %" in sentence
    assert sentence.endswith("narrowest at 40 % (± 0.050), and ± 0.100 at 70 %.")


def test_the_table_has_a_row_a_share_and_the_null_beside_every_level():
    table = share_table(found(), "beta", "top-3")
    assert table["share"].tolist() == ["20 %", "40 %", "70 %"]
    assert (table["calibrate"] + table["evaluate"] == 120).all()
    assert table["base rate"].notna().all()
    assert table["against 70 %"].tolist()[-1] == "reference"
    assert "difference" not in share_table(found(), "beta", None)


def test_the_terminal_gets_answers_reasons_and_tables():
    text = sweep_text(found())
    assert share_sentence(found(), "temperature") in text
    assert why_sentence(found(), "beta") in text
    assert "nan" not in text.lower()
