"""Tables for people and spreadsheets."""

import csv
import io
import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgepanel.decision.recommend import RECOMMEND, RecommendSpec
from judgepanel.report.tables import accuracy_table, candidate_table, comparison_table, csv_text
from judgepanel.studies.curve.panel_curve import PANEL_CURVE, PanelCurveSpec
from judgepanel.studies.judges.judge_table import judge_table
from judgepanel.studies.runner import run
from judgepanel.studies.settings import Settings
from tests.helpers import make_votes

FEW = Settings(splits=6)


@pytest.fixture(scope="module")
def curve():
    return run(PANEL_CURVE, make_votes(0, 60, 12), PanelCurveSpec(settings=FEW), jobs=1)


def test_all_judges_come_first_as_the_reference(curve):
    table = comparison_table(curve, "beta")
    assert table["panel"].tolist()[:4] == ["all 12", "top-3", "top-5", "top-10"]
    assert table["panel"].tolist()[4].startswith("best k")
    assert table["verdict"].tolist()[0] == "reference"
    assert table["verdict"].tolist()[1:] == [
        c.verdict for c in curve.comparisons if c.calibrator == "beta"
    ]


def test_a_chosen_k_that_is_always_all_judges_gets_no_interval(curve):
    nan = float("nan")
    blank = dict.fromkeys(("lo", "hi", "p", "band_lo", "band_hi", "paper_lo", "paper_hi"), nan)
    same = tuple(
        replace(c, verdict="tie", delta=0.0, k=12, k_lo=12, k_hi=12, **blank)
        if c.arm == "best k"
        else c
        for c in curve.comparisons
    )
    row = comparison_table(replace(curve, comparisons=same), "beta").iloc[4]
    assert (row["panel"], row["difference"]) == ("best k", "same panel as all")
    assert not "".join(row[["difference 95 %", "all rows together", "p", "paper's interval"]])


def test_only_the_chosen_k_has_an_optimism(curve):
    optimism = comparison_table(curve, "beta")["optimism"].tolist()
    assert optimism[:4] == ["", "", "", ""]
    assert optimism[4][0] in "+-0"


def test_p_values_stand_without_their_letter(curve):
    for name in ("p", "paper's p"):
        cells = comparison_table(curve, "beta")[name].tolist()[1:]
        assert all(cell[0] in ".<>" for cell in cells)


def test_candidates_come_best_first_and_the_reference_is_marked_once():
    found = run(RECOMMEND, make_votes(0, 60, 7), RecommendSpec(settings=FEW), jobs=1)
    table = candidate_table(found)
    assert len(table) == len(found.candidates)
    assert table["NLL"].astype(float).is_monotonic_increasing
    assert (table["difference"] == "reference").sum() == 1
    marked = table[table["difference"] == "reference"].iloc[0]
    assert (marked["panel"], marked["aggregator"], marked["calibrator"]) == (
        *("all", "one_coin", "beta"),
    )


def test_judges_come_most_accurate_first_with_harmless_names():
    votes = make_votes(0, 30, 3)
    table = accuracy_table(judge_table(votes))
    shares = [float(cell.removesuffix(" %")) for cell in table["accuracy"]]
    assert shares == sorted(shares, reverse=True)
    assert set(table["judge"]) == set(votes.judges)


CELLS = st.text(st.characters(blacklist_categories=("Cs",), blacklist_characters="\0"), max_size=8)


@given(st.lists(st.tuples(CELLS, st.floats(allow_infinity=False), st.integers()), min_size=1))
def test_a_csv_reads_back_cell_by_cell(rows):
    frame = pd.DataFrame(rows, columns=["text", "number", "whole"]).astype({"whole": object})
    text = csv_text(frame)
    head, *read = csv.reader(io.StringIO(text, newline=""))
    assert head == ["text", "number", "whole"]
    assert len(read) == len(rows)
    for (name, number, whole), (cell, figure, count) in zip(rows, read, strict=True):
        assert cell in (name, f"'{name}")
        assert cell[:1] not in ("=", "@", "\t", "\r", "\n")
        assert figure == "" if math.isnan(number) else float(figure) == number
        assert int(count) == whole


@pytest.mark.parametrize("name", ["=cmd()", "+1+1", "-a", "@x", "\tx", "\rx"])
def test_formulas_get_an_apostrophe(name):
    ((cell,),) = list(csv.reader(io.StringIO(csv_text(pd.DataFrame({"a": [name]})), newline="")))[
        1:
    ]
    assert cell == "'" + name


def test_missing_values_are_blank_and_truth_is_a_word():
    frame = pd.DataFrame({"a": [None, "x"], "b": [np.nan, 0.1], "c": [True, False]})
    assert csv_text(frame) == "a,b,c\n,,True\nx,0.1,False\n"
