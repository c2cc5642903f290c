"""The claim in words: what flatters says so, and every number is the study's."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from judgepanel.report.published import DATA_SETS, PUBLISHED, looks_like, published_of

from judgepanel.report.claim import (
    MEASURES_CODING,
    claim_sentence,
    constant_sentence,
    headline_size,
    honest_constant_sentence,
    joint_sentence,
    map_sentence,
    published_sentence,
    reversal_sentences,
    step_sentences,
    tone,
)
from judgepanel.report.claim_tables import claim_text, published_table, step_table
from judgepanel.studies.claim.claim import CLAIM, ClaimSpec
from judgepanel.studies.claim.claim_result import Claim
from judgepanel.studies.claim.steps import STEPS
from judgepanel.studies.runner import run
from judgepanel.studies.settings import Settings
from tests.helpers import make_votes


@cache
def result(joint: bool = True) -> Claim:
    votes = make_votes(2, 120, 9, one_class=True)
    return run(CLAIM, votes, ClaimSpec(Settings(splits=4), (3, 5), joint), jobs=1)


def with_differences(raw: float, paper: float, honest: float) -> Claim:
    """The result with intervals of +-.01 about these differences of top-5 from all."""
    found = result()
    fields = {}
    for name, shift in (
        ("against_all", 0.0),
        ("against_all_lo", -0.01),
        ("against_all_hi", 0.01),
    ):
        values = getattr(found, name).copy()
        for step, value in (
            ("raw_one_class", raw),
            ("raw_honest", raw),
            ("paper", paper),
            ("honest", honest),
        ):
            values[found.row(step), found.sizes.tolist().index(5)] = value + shift
        fields[name] = values
    return replace(found, **fields)


def levels(text: str) -> list[float]:
    return [float(number) for number in re.findall(r"NLL (\d\.\d+)", text)]


def test_the_answer_holds_both_codings_and_marks_the_one():
    text = claim_sentence(result())
    paper, honest = (float(result().nll[result().row(s), -1]) for s in ("paper", "honest"))
    assert f"With one-class coding NLL {paper:.4f}, which {MEASURES_CODING}; " in text
    assert f"with honest labels {honest:.3f} [" in text


@pytest.mark.parametrize(
    ("differences", "says", "colour"),
    [
        ((-0.3, 0.1, -0.1), "is shown with one-class coding, not there with honest", "curate"),
        ((-0.3, 0.1, 0.1), "is shown with either", "keep"),
        ((-0.3, 0.005, -0.005), "is not shown with one-class coding, und", "open"),
        ((0.3, 0.1, 0.1), "is not there with either", "curate"),
    ],
)
def test_the_answer_says_where_the_reversal_is(differences, says, colour):
    found = with_differences(*differences)
    assert f"The paper's reversal (top-5 against all) {says}" in claim_sentence(found)
    assert tone(found) == colour


def test_one_judge_and_one_split_are_answered_in_words():
    alone = run(CLAIM, make_votes(3, 40, 1), ClaimSpec(Settings(splits=2)), jobs=1)
    assert headline_size(alone) is None
    assert claim_sentence(alone).endswith("one judge only, so there is nothing to reverse.")
    assert reversal_sentences(alone, "honest") == ()
    assert joint_sentence(alone) == ""
    assert "nan" not in claim_text(alone).lower()
    blank = np.full_like(result().nll, np.nan)
    early = replace(
        result(), **{f"{n}_{end}": blank for n in ("nll", "change") for end in ("lo", "hi")}
    )
    assert claim_sentence(early).endswith("Not enough splits yet to say.")


def test_no_judge_at_all_is_said_with_both_yardsticks():
    text = constant_sentence(result())
    assert "gets NLL 0.0251 through the paper's calibrator, and the base rate alone" in text
    assert "it is worse than saying 'label 1' every time" in text
    assert MEASURES_CODING in text
    assert "gets NLL 0.693 and the base rate 0.693" in honest_constant_sentence(result())


def test_a_map_that_falls_is_said_to_fall_and_one_that_rises_to_rise():
    assert "it falls before it rises" in map_sentence(result())
    rising = result().maps.copy()
    rising[1] = (1.0, -1.0, 0.0)
    text = map_sentence(replace(result(), maps=rising))
    assert "rises throughout: where all judges together give label 1 a chance of 0.1 %" in text
    assert "the map says 0.100 %" in text


def test_every_step_has_a_sentence_with_what_it_changed():
    told = [*step_sentences(result(), "one_class"), *step_sentences(result(), "honest")]
    assert len(told) == len(STEPS)
    for name, sentence in told:
        assert name[0].isupper()
        assert re.match(r"All 9: NLL \d", sentence)
    assert sum(" against '" in said or "hardly another" in said for _, said in told) == 12


def test_a_judge_set_aside_is_said_to_leak():
    votes = make_votes(2, 60, 6, one_class=True)
    broken = np.array(votes.votes)
    broken[:, 0] = 0
    found = run(
        CLAIM, replace(votes, votes=broken), ClaimSpec(Settings(splits=2), (3,), False), jobs=1
    )
    said = dict(step_sentences(found, "one_class"))
    assert "1 judge that honest labels set aside votes here" in said["One-class coding, raw"]
    assert (
        "1 judge is set aside here" in dict(step_sentences(found, "honest"))["Honest labels, raw"]
    )


def test_joint_is_held_against_one_coin():
    text = joint_sentence(result())
    assert "under one-coin, which sees the sum of the votes; keeping all" in text
    assert joint_sentence(result(joint=False)) == ""


def test_tables_mark_every_row_of_one_class_coding():
    coded, honest = step_table(result(), "one_class"), step_table(result(), "honest")
    assert set(coded["measures"]) == {MEASURES_CODING}
    assert set(honest["measures"]) == {"measures the judges"}
    assert [float(value) > 0.1 for value in honest["NLL, all"]] == [True] * len(honest)
    assert coded["skill, all"].tolist()[1] == "far below 0"
    assert list(coded)[1:4] == ["NLL, top-3", "NLL, top-5", "NLL, all"]


def test_the_papers_figures_stand_beside_ours():
    bench = DATA_SETS[1]
    table = published_table(result(), bench)
    assert len(table) == len(list(published_of("RewardBench"))) == 9
    row = table[(table["recipe"] == "beta, clipped") & (table["panel"] == "top-5")].iloc[0]
    assert row["the paper, 104 judges"] == "0.007"
    at = result().row("paper"), result().sizes.tolist().index(5)
    assert row["ours, one-class coding"].startswith(f"{result().nll[at]:.4f} [")
    assert table.loc[table["panel"] == "top-10", "ours, honest labels"].tolist() == ["", ""]
    assert "0.020 to 0.023 on four benchmarks" in published_sentence(result())
    assert MEASURES_CODING in published_sentence(result())


def test_published_figures_belong_to_steps_panels_and_benchmarks_that_exist():
    names = {one.name for one in DATA_SETS}
    for one in PUBLISHED:
        assert one.data in names
        assert STEPS[one.step].coding == "one_class"
        assert one.panel in {"top-3", "top-5", "top-10", "all"}
        assert 0.0 < one.nll < 2.0
        assert one.source
    assert len({(one.data, one.step, one.panel) for one in PUBLISHED}) == len(PUBLISHED)
    assert looks_like(2985).name == "RewardBench"
    assert looks_like(120) is None


def test_the_text_for_a_terminal_marks_each_flattering_number():
    text = claim_text(result())
    for line in text.splitlines():
        if any(value < 0.05 for value in levels(line)) and not line.startswith("- "):
            assert "measures the coding" in line
    head, tail = text.split("\nHonest labels\n")
    assert "One-class coding (measures the coding, not the judges)" in head
    assert min(levels(tail)) > 0.1
    assert "nan" not in text.lower()
