"""The claim in words: flattering figures are marked, and every number is the study's."""

import re
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from judgepanel.present.blocks import Box, Heading, Table, flat
from judgepanel.present.paper import claim
from judgepanel.render.text import terminal_text
from judgepanel.scoring.interval import Interval
from judgepanel.studies.contract import Settings
from judgepanel.studies.paper.claim import CLAIM, STEPS, ClaimSpec
from judgepanel.studies.runner import run
from tests.helpers import make_votes

SPEC = ClaimSpec(Settings(splits=4), (3, 5))


@cache
def result(joint=True):
    votes = make_votes(2, 120, 9, one_class=True)
    return run(CLAIM, votes, ClaimSpec(Settings(splits=4), (3, 5), joint), jobs=1)


def levels(text):
    return [float(number) for number in re.findall(r"NLL (\d\.\d+)", text)]


def test_the_answer_holds_both_codings_and_marks_the_one():
    text = claim.claim_sentence(result())
    paper, honest = (float(result().nll.value[result().row(s), -1]) for s in ("paper", "honest"))
    assert f"With one-class coding NLL {paper:.4f}, which {claim.MEASURES_CODING}; " in text
    assert f"with honest labels {honest:.3f} [" in text


@pytest.mark.parametrize(
    ("differences", "says", "colour"),
    [
        ((-0.3, 0.1, -0.1), "is shown with one-class coding, absent with honest", "curate"),
        ((-0.3, 0.1, 0.1), "is shown with either", "keep"),
        ((-0.3, 0.005, -0.005), "is not shown with one-class coding, und", "open"),
        ((0.3, 0.1, 0.1), "is absent with either", "curate"),
    ],
)
def test_the_answer_says_where_the_reversal_is(differences, says, colour):
    """Intervals are +-.01 about these differences of top-5 from all."""
    given, (raw, paper, honest) = result(), differences
    values, at = given.against_all.value.copy(), given.sizes.tolist().index(5)
    changes = {"raw_one_class": raw, "raw_honest": raw, "paper": paper, "honest": honest}
    for step, value in changes.items():
        values[given.row(step), at] = value
    changed = replace(given, against_all=Interval(values, values - 0.01, values + 0.01))
    assert f"The paper's reversal (top-5 against all) {says}" in claim.claim_sentence(changed)
    assert claim.tone(changed) == colour


def test_one_judge_and_one_split_are_answered_in_words():
    alone = run(CLAIM, make_votes(3, 40, 1), ClaimSpec(Settings(splits=2)), jobs=1)
    assert claim.headline_size(alone) is None
    assert claim.claim_sentence(alone).endswith("only one judge, so there is nothing to reverse.")
    assert claim.reversal_sentences(alone, "honest") == ()
    assert claim.joint_sentence(alone) == ""
    assert "nan" not in terminal_text(claim.present(alone, ClaimSpec(Settings(splits=2)))).lower()
    blank = np.full(result().nll.shape, np.nan)
    nll, change = (replace(part, lo=blank, hi=blank) for part in (result().nll, result().change))
    early = replace(result(), nll=nll, change=change)
    assert claim.claim_sentence(early).endswith("Not enough splits yet to say.")


def test_no_judge_at_all_is_said_with_both_yardsticks():
    text = claim.constant_sentence(result())
    assert "gets NLL 0.0251 through the paper's calibrator, and the base rate alone" in text
    assert "it is worse than saying 'label 1' every time" in text
    assert claim.MEASURES_CODING in text
    assert "gets NLL 0.693 and the base rate 0.693" in claim.honest_constant_sentence(result())


def test_a_map_that_falls_is_said_to_fall_and_one_that_rises_to_rise():
    assert "it falls before it rises" in claim.map_sentence(result())
    rising = result().maps.copy()
    rising[1] = (1.0, -1.0, 0.0)
    text = claim.map_sentence(replace(result(), maps=rising))
    assert "rises throughout: where all judges together give label 1 a chance of 0.1 %" in text
    assert "the map says 0.100 %" in text


def test_a_step_that_sets_judges_aside_says_so():
    whole = result()
    counts = whole.n_judges.copy()
    counts[whole.row("honest_random")] -= 1
    by_coin = dict(claim.step_sentences(replace(whole, n_judges=counts), "honest"))
    (sentence,) = [text for name, text in by_coin.items() if "by a coin" in name]
    assert sentence.endswith("1 judge is set aside here.")


def test_every_step_has_a_sentence_with_what_it_changed():
    by_coding = [claim.step_sentences(result(), coding) for coding in ("one_class", "honest")]
    names, sentences = zip(*by_coding[0], *by_coding[1], strict=True)
    assert len(sentences) == len(STEPS)
    assert all(name[0].isupper() for name in names)
    assert all(re.match(r"All 9: NLL \d", sentence) for sentence in sentences)
    compared = [text for text in sentences if re.search(" against '|nearly the same as", text)]
    assert len(compared) == 12


def test_a_judge_set_aside_is_said_to_leak():
    votes = make_votes(2, 60, 6, one_class=True)
    broken = np.array(votes.votes)
    broken[:, 0] = 0
    spec = ClaimSpec(Settings(splits=2), (3,), False)
    changed = run(CLAIM, replace(votes, votes=broken), spec, jobs=1)
    coded, honest = (dict(claim.step_sentences(changed, name)) for name in ("one_class", "honest"))
    assert "1 judge that honest labels set aside votes here" in coded["One-class coding, raw"]
    assert "1 judge is set aside here" in honest["Honest labels, raw"]


def test_joint_is_held_against_one_coin():
    text = claim.joint_sentence(result())
    assert "under one-coin, which sees the sum of the votes; keeping all" in text
    assert claim.joint_sentence(result(joint=False)) == ""


def test_tables_mark_every_row_of_one_class_coding():
    steps = (result().steps_for(coding) for coding in ("one_class", "honest"))
    coded, honest = (claim.step_table(result(), some) for some in steps)
    assert set(coded["measures"].texts()) == {claim.MEASURES_CODING}
    assert set(honest["measures"].texts()) == {"measures the judges"}
    assert (honest["NLL, all"].numbers > 0.1).all()
    assert coded["skill, all"].texts()[1] == "far below 0"
    assert list(coded)[1:4] == ["NLL, top-3", "NLL, top-5", "NLL, all"]


def test_the_papers_figures_stand_beside_ours():
    table = Table(claim.published_table(result(), claim.DATA_SETS[1])).texts()
    assert len(table) == len(list(claim.published_of("RewardBench"))) == 9
    row = table[(table["recipe"] == "beta (clipped)") & (table["panel"] == "top-5")].iloc[0]
    assert row["the paper, 104 judges"] == "0.007"
    at = result().row("paper"), result().sizes.tolist().index(5)
    assert row["ours, one-class coding"].startswith(f"{result().nll.value[at]:.4f} [")
    assert table.loc[table["panel"] == "top-10", "ours, honest labels"].tolist() == ["", ""]
    assert "0.020 to 0.023 on four benchmarks" in claim.published_sentence(result())
    assert claim.MEASURES_CODING in claim.published_sentence(result())


def test_published_figures_belong_to_steps_panels_and_benchmarks_that_exist():
    names = {data_set.name for data_set in claim.DATA_SETS}
    for figure in claim.PUBLISHED:
        assert figure.data in names
        assert STEPS[figure.step].coding == "one_class"
        assert figure.panel in {"top-3", "top-5", "top-10", "all"}
        assert 0.0 < figure.nll < 2.0
        assert figure.source
    keys = {(figure.data, figure.step, figure.panel) for figure in claim.PUBLISHED}
    assert len(keys) == len(claim.PUBLISHED)
    assert claim.looks_like(2985).name == "RewardBench"
    assert claim.looks_like(120) is None


def test_outside_the_boxes_of_one_class_coding_no_number_flatters_unmarked():
    blocks = claim.present(result(), SPEC, claim.ClaimView(data=claim.DATA_SETS[1]))
    coded = [block for block in flat(blocks) if isinstance(block, Box) and block.coding]
    assert len(coded) == 4
    assert all(f"Everything in this box {claim.MEASURES_CODING}." in box.words for box in coded)
    inside = [block for box in coded for block in box.blocks]
    others = [block for block in flat(blocks) if block not in inside and block not in coded]
    stated = [line for block in others for line in getattr(block, "text", "").split(". ")]
    assert any(levels(line) for line in stated)
    for line in stated:
        if any(value < 0.05 for value in levels(line)):
            assert claim.MEASURES_CODING in line
    honest = next(block.columns for block in others if isinstance(block, Table))
    assert (honest["NLL, all"].numbers > 0.1).all()


def test_the_parts_of_a_page_make_up_the_whole():
    views = map(claim.ClaimView, ("whole", "steps", "joint"))
    whole, steps, joint = (list(flat(claim.present(result(), SPEC, view))) for view in views)
    texts = [getattr(block, "text", "") for block in whole]
    assert {getattr(block, "text", "") for block in steps} <= set(texts)
    assert claim.joint_sentence(result()) in texts
    assert joint[0].text == claim.joint_sentence(result())
    assert not [block for block in joint if isinstance(block, Heading)]


def test_the_papers_tables_come_only_with_a_benchmark_to_compare_with():
    heads = [block.text for block in claim.present(result(), SPEC) if isinstance(block, Heading)]
    assert "The paper's tables" not in heads
    same_size = replace(result(), n_items=claim.DATA_SETS[3].n_items)
    heads = [block.text for block in claim.present(same_size, SPEC) if isinstance(block, Heading)]
    assert "The paper's tables" in heads
