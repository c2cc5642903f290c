"""A panel picked by hand against another on the same splits; what two analyses share."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from judgepanel.decision.recommend import RECOMMEND, RecommendSpec
from judgepanel.kernels.evaluation import Choice, Recipe, evaluate_split
from judgepanel.scoring.metrics import item_scores
from judgepanel.scoring.splits import split
from judgepanel.studies.contract import Settings, prepare
from judgepanel.studies.decide import what_if
from judgepanel.studies.panel.recommended import average_on
from judgepanel.studies.runner import run
from judgepanel.votes import InputError
from tests.helpers import make_votes

FEW = ("judge001", "judge004", "judge006")


@pytest.fixture(scope="module")
def votes():
    return make_votes(3, 90, 8)


def spec_of(splits=4, **options):
    options = {"keep": FEW, "aggregator": "one_coin", "calibrator": "beta", **options}
    return what_if.WhatIfSpec(settings=Settings(splits=splits), **options)


def found_for(votes, **options):
    return run(what_if.WHAT_IF, votes, spec_of(**options), jobs=1)


def check_levels(votes, result, nll_of):
    """Both NLLs are means over items of what ``nll_of`` gives from the panel's judges alone."""
    prepared = prepare(votes, Settings())
    mask = np.isin(prepared.judges, FEW)
    for figures, judges in ((result.kept, mask), (result.against, np.ones(8, dtype=bool))):
        ballots = prepared.ballots.of_judges(judges)
        total, times = np.zeros(90), np.zeros(90)
        for number in range(4):
            drawn = split(ballots.units, number)
            total[drawn.evaluation] += nll_of(ballots, drawn)
            times[drawn.evaluation] += 1
        seen = times > 0
        assert figures.nll.value == pytest.approx((total[seen] / times[seen]).mean(), abs=1e-9)


@pytest.mark.parametrize(
    ("aggregator", "calibrator"),
    [("one_coin", "beta"), ("joint", "none"), ("joint", "temperature"), ("dawid_skene", "none")],
)
def test_both_panels_score_as_if_nobody_else_had_voted(votes, aggregator, calibrator):
    result = found_for(votes, aggregator=aggregator, calibrator=calibrator)

    def nll_of(ballots, drawn):
        everyone, recipe = np.array([ballots.n_judges]), Recipe(aggregator, (calibrator,))
        choice = Choice(np.ones(1, dtype=bool), 3, (0, 1))
        scores = evaluate_split(ballots, drawn, everyone, recipe, choice)
        return scores.evaluation[calibrator].nll[0]

    check_levels(votes, result, nll_of)
    for figures in (result.kept, result.against):
        assert figures.nll.lo <= figures.nll.value <= figures.nll.hi
    assert result.delta.value == pytest.approx(
        result.kept.nll.value - result.against.nll.value, abs=1e-12
    )


def test_each_panel_is_averaged_again_over_its_own_judges(votes):
    result = found_for(votes, aggregator="average")

    def nll_of(ballots, drawn):
        logits = average_on(ballots, drawn, seed=0).logits
        return item_scores(logits, ballots.signs[drawn.evaluation].astype(float)).nll

    check_levels(votes, result, nll_of)
    assert (result.aggregator, result.calibrator) == ("average", "none")
    assert set(result.frame()["aggregator"]) == {"average"}


@pytest.mark.parametrize("aggregator", ["one_coin", "average"])
def test_a_panel_ties_with_itself(votes, aggregator):
    result = found_for(votes, keep=None, aggregator=aggregator)
    assert result.verdict == "tie"
    assert tuple(result.delta) == (0.0, 0.0, 0.0)
    assert len(result.kept.judges) == 8


def test_the_panel_compared_with_need_not_be_everybody(votes):
    swapped = found_for(votes, keep=None, against=FEW)
    result = found_for(votes)
    assert swapped.delta.value == pytest.approx(-result.delta.value)
    assert swapped.against.judges == result.kept.judges == FEW


def test_costs_are_summed_where_they_are_known(votes):
    table = pd.DataFrame({"cost": np.arange(8.0)}, index=list(votes.judges))
    result = found_for(replace(votes, judge_table=table))
    assert result.kept.cost == sum(table.loc[list(FEW), "cost"])
    assert found_for(votes).kept.cost is None


def test_it_takes_no_more_splits_than_somebody_can_wait_for(votes):
    assert what_if.WHAT_IF.rounds(spec_of(splits=100)) == what_if.SPLITS
    assert what_if.WHAT_IF.rounds(spec_of(splits=4)) == 4


def test_an_unknown_judge_is_named(votes):
    with pytest.raises(InputError, match="nobody"):
        found_for(votes, keep=("nobody",))


QUICK = Settings(splits=4)
VOTES = make_votes(2, 80, 6)
SIX = VOTES.judges


def side(votes=VOTES, settings=QUICK, name="a"):
    return what_if.Side(name, "votes.csv", "2025-01-31T09:30:12.5+00:00", votes, settings)


def of(judges):
    return replace(QUICK, judges=tuple(judges))


def difference(before, after):
    """The paired result of two sides, by the study that the page runs."""
    overlap = what_if.relation(before, after)
    host = after if overlap.host == "after" else before
    return run(what_if.WHAT_IF, host.votes, what_if.paired_spec(before, after, overlap), jobs=1)


def test_the_difference_is_that_of_the_two_analyses_on_their_own():
    before, after = side(VOTES.with_judges(SIX[:4])), side()
    pair = difference(before, after)
    for entry, figures in ((before, pair.against), (after, pair.kept)):
        decided = run(RECOMMEND, entry.votes, RecommendSpec(entry.settings), jobs=1)
        assert tuple(decided.nll) == pytest.approx(tuple(figures.nll))
    assert pair.delta.value == pytest.approx(pair.kept.nll.value - pair.against.nll.value)
    back = difference(after, before)
    assert tuple(back.delta) == pytest.approx(tuple(-pair.delta))


def test_two_choices_of_judges_of_one_file_are_measured_on_both_alone():
    before, after = side(settings=of(SIX[:3])), side(settings=of(SIX[2:5]))
    overlap = what_if.relation(before, after)
    assert (overlap.judges_both, overlap.host) == (SIX[2:3], "after")
    assert what_if.paired_spec(before, after, overlap).settings.judges == SIX[:5]


def test_the_order_of_the_items_and_those_without_a_label_do_not_matter():
    few = VOTES.with_judges(SIX[:4])
    shuffled = VOTES.with_items(np.random.default_rng(1).permutation(VOTES.n_items))
    assert what_if.relation(side(few), side(shuffled)).host == "after"
    labels = VOTES.labels.copy()
    labels[:10] = -1
    part = replace(VOTES, labels=labels)
    known = part.with_items(part.labelled).with_judges(SIX[:4])
    overlap = what_if.relation(side(known), side(part))
    assert (overlap.host, overlap.shared, overlap.same_items) == ("after", 70, True)
