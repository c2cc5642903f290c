"""A panel picked by hand, in words and as a figure."""

from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest

from judgepanel.decision.recommend import RECOMMEND, RecommendSpec
from judgepanel.present.blocks import Answer, Caveat, Method, Paragraph
from judgepanel.present.decide import value
from judgepanel.studies.contract import Settings
from judgepanel.studies.decide.what_if import WHAT_IF, WhatIfSpec
from judgepanel.studies.runner import run
from tests.helpers import drawn, make_votes


@cache
def result(*, one_class=False, costs=False):
    votes = make_votes(2, 80, 6, one_class=one_class)
    if costs:
        table = pd.DataFrame({"cost": np.arange(1.0, 7.0)}, index=list(votes.judges))
        votes = replace(votes, judge_table=table)
    spec = WhatIfSpec(
        Settings(splits=3), votes.judges[:2], aggregator="one_coin", calibrator="temperature"
    )
    return run(WHAT_IF, votes, spec, jobs=1)


@pytest.mark.parametrize(
    ("verdict", "words"),
    [
        ("keep all", "worse than the comparison panel (6 judges)"),
        ("curate", "With these 2 judges, NLL is lower by"),
        ("no loss from keeping", "lose at most 2 % against these 2 judges"),
        ("no loss from curating", "These 2 judges are shown to lose at most 2 %"),
        ("undecided", "Undecided: with these 2 judges"),
        ("tie", "The same 2 judges"),
    ],
)
def test_every_verdict_has_its_sentence(verdict, words):
    outcome = replace(result(), verdict=verdict)
    assert words in value.what_if_sentence(outcome)
    assert verdict == "tie" or "[" in value.what_if_sentence(outcome)


def test_the_table_has_both_panels_and_costs_where_they_are_known():
    table = value.what_if_table(result())
    assert table["judges"].texts() == ["2", "6"]
    assert "cost" not in table
    assert value.what_if_table(result(costs=True))["cost"].texts() == ["3.00", "21.0"]


def test_that_picking_by_hand_flatters_limits_the_answer():
    answer, limit, *_ = value.present_what_if(result(), WhatIfSpec(Settings(splits=3)))
    assert answer == Answer(value.what_if_sentence(result()))
    assert limit == Caveat(value.BY_HAND)


def test_fewer_splits_than_elsewhere_are_told():
    def quiet(splits):
        blocks = value.present_what_if(result(), WhatIfSpec(Settings(splits=splits)))
        return [block.text for block in blocks if isinstance(block, Paragraph) and block.quiet]

    assert quiet(3) == []
    assert quiet(1000)[0].startswith("From 3 splits, so that an answer is quick;")


def test_both_levels_are_drawn_with_their_intervals():
    outcome = result()
    figure = value.what_if_figure(outcome)
    marks = [trace for trace in figure.data if trace.mode == "markers"]
    for mark, row in zip(marks, (outcome.kept, outcome.against), strict=True):
        np.testing.assert_allclose([end[0] for end in drawn(mark)], tuple(row.nll))
    assert set(figure.data[-1].x) == {outcome.null_nll}


def test_the_pipeline_of_both_panels_is_named():
    under = value.compared_sentence(result())
    assert under == "Both panels are under one-coin + temperature."
    averaged = value.compared_sentence(replace(result(), aggregator="average", calibrator="none"))
    assert averaged.startswith("Each panel is what is recommended from its judges, an average")
    assert Paragraph(under) in value.present_what_if(result(), WhatIfSpec(Settings(splits=3)))


def test_an_average_has_no_constant_score():
    def method(outcome):
        blocks = value.present_what_if(outcome, WhatIfSpec(Settings(splits=3)))
        (text,) = (block.text for block in blocks if isinstance(block, Method))
        return text

    assert "A constant score" in method(result())
    averaged = method(replace(result(), aggregator="average", calibrator="none"))
    assert "A constant score" not in averaged
    assert "weights of their average learned" in averaged


@cache
def recommendation(prefer="nll", judges=None):
    votes = make_votes(2, 80, 6)
    spec = RecommendSpec(Settings(splits=2, judges=judges), prefer=prefer)
    return votes, spec, run(RECOMMEND, votes, spec, jobs=1)


def test_the_editor_compares_averages_where_an_average_is_recommended():
    votes, spec, recommended = recommendation()
    asked = value.what_if_spec(spec, recommended, votes.judges)
    assert (asked.aggregator, asked.calibrator) == ("average", "none")
    sentence = value.editor_sentence(spec, asked)
    assert "what is recommended from all judges" in sentence.lower()
    assert "default candidates" not in sentence
    assert "default candidates" in value.editor_sentence(replace(spec, prefer="everyone"), asked)


def test_the_editor_refits_the_pipeline_that_was_chosen_instead():
    votes, spec, single = recommendation("single")
    asked = value.what_if_spec(spec, single, votes.judges)
    main = single.model.main
    assert (asked.aggregator, asked.calibrator) == (main.aggregator, main.calibrator)
    assert "since one pipeline is chosen above" in value.editor_sentence(spec, asked)


def test_the_file_holds_what_is_compared_and_keeps_labels_held_out_for_sets():
    votes, spec, recommended = recommendation()
    picked = votes.judges[:3]
    held = replace(spec, conformal=0.2, budget=None, prefer="everyone", candidates="wide")
    asked = replace(value.what_if_spec(spec, recommended, votes.judges), keep=picked)
    of_three = replace(spec.settings, judges=picked)
    assert value.picked_spec(votes, spec, asked) == RecommendSpec(of_three)
    assert value.picked_spec(votes, held, asked) == RecommendSpec(of_three, conformal=0.2)


@pytest.mark.parametrize(
    ("pipeline", "candidate"),
    [(("joint", "none"), "all, joint, none"), (("joint", "isotonic"), "")],
)
def test_a_single_pipeline_is_exported_if_it_is_a_candidate(pipeline, candidate):
    votes, spec, _ = recommendation()
    asked = WhatIfSpec(spec.settings, votes.judges[:3], None, *pipeline)
    assert value.picked_spec(votes, spec, asked).candidate == candidate


def test_a_file_that_uses_fewer_judges_than_were_picked_says_so():
    _, _, recommended = recommendation()
    assert value.picked_panel_sentence(recommended).startswith("6 judges picked by hand, with ")
    more = replace(recommended, n_judges=7)
    assert value.picked_panel_sentence(more).startswith("6 of 7 judges picked by hand, with ")
