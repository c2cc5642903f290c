"""A group of judges, with and without: its members, the change, and refusals."""

from dataclasses import replace

import numpy as np
import pytest

from judgepanel.decision.recommend import RECOMMEND, RecommendSpec
from judgepanel.kernels.evaluation import Recipe, evaluate_split
from judgepanel.scoring.splits import split
from judgepanel.studies.contract import Settings, prepare
from judgepanel.studies.runner import run
from judgepanel.studies.trust.group_change import (
    GROUP_CHANGE,
    GroupChangeSpec,
    group_names,
    run_chunk,
)
from judgepanel.votes import MISSING, InputError
from judgepanel.votes.simulate import sample_votes
from tests.helpers import make_votes

FEW = Settings(splits=4)


def change(votes, by="judges", group=None, settings=FEW, aggregators=("one_coin",)):
    return run(GROUP_CHANGE, votes, GroupChangeSpec(settings, by, group, aggregators), jobs=1)


@pytest.fixture(scope="module")
def hard():
    return sample_votes("hard_panel")


def test_copies_of_one_judge_cost_a_sum_of_votes_and_dawid_skene_more(hard):
    copies = tuple(np.array(hard.judges)[hard.judge_table["kind"] == "copy"])
    result = change(hard, group=copies, aggregators=("one_coin", "dawid_skene"))
    assert result.members == tuple(sorted(copies))
    one_coin, dawid_skene = result.delta.value
    assert dawid_skene < one_coin < -0.01


def test_the_recommended_panel_is_chosen_again_without_the_group():
    votes = make_votes(1, 60, 6)
    result = change(votes, group=("judge001",), aggregators=("average", "one_coin"))
    plain = change(votes, group=("judge001",), aggregators=("one_coin",))
    assert result.nll_with.value[1] == plain.nll_with.value[0]
    assert result.delta.value[1] == plain.delta.value[0]
    rest = replace(FEW, judges=tuple(name for name in votes.judges if name != "judge001"))
    for settings, level in ((FEW, result.nll_with), (rest, result.nll_without)):
        recommendation = run(RECOMMEND, votes, RecommendSpec(settings), jobs=1)
        assert level.value[0] == pytest.approx(float(recommendation.nll.value), rel=1e-9)


def test_both_arms_are_those_of_the_same_splits_by_hand():
    votes = make_votes(1, 60, 6)
    result = change(votes, group=("judge001", "judge004"))
    whole = prepare(votes, FEW).ballots
    rest = prepare(votes, replace(FEW, judges=("judge000", "judge002", "judge003", "judge005")))
    total, times = np.zeros((2, 60)), np.zeros(60)
    for number in range(4):
        one_split = split(whole.units, number)
        times[one_split.evaluation] += 1
        for row, b in enumerate((whole, rest.ballots)):
            scores = evaluate_split(
                b, one_split, np.array([b.n_judges]), Recipe("one_coin", ("beta",))
            )
            total[row, one_split.evaluation] += scores.evaluation["beta"].nll[0]
    with_, without = (total[:, times > 0] / times[times > 0]).mean(axis=1)
    assert result.nll_with.value == pytest.approx([with_])
    assert result.nll_without.value == pytest.approx([without])
    assert result.delta.value == pytest.approx([without - with_])


def test_the_filter_looks_at_calibration_items_alone():
    votes = make_votes(2, 40, 6, missing=0.0)
    spec = GroupChangeSpec(Settings(splits=2), aggregators=("one_coin",))
    first = split(np.arange(40), 0)
    gone = votes.votes.copy()
    gone[first.evaluation[:13], 0] = MISSING
    hidden = replace(votes, votes=gone)
    only = run_chunk(hidden, spec, replace(GROUP_CHANGE.plan(spec)[0], count=1))
    same = only.split_means[0, 0, 0]
    assert same[0] == same[1]
    gone[first.calibration[:13], 0] = MISSING
    seen = run_chunk(replace(votes, votes=gone), spec, replace(GROUP_CHANGE.plan(spec)[0], count=1))
    assert seen.split_means[0, 0, 0][0] != seen.split_means[0, 0, 0][1]


def test_a_filter_that_drops_nobody_is_a_tie_with_a_warning():
    result = change(make_votes(3, missing=0.0), "filter")
    assert (result.members, result.verdicts) == ((), ("tie",))
    assert any("drops no judge" in sentence for sentence in result.warnings)


def test_a_group_outside_the_analysis_is_added(hard):
    own = hard.judges[:20]
    result = change(hard, group=hard.judges[20:22], settings=replace(FEW, judges=own))
    assert result.added
    assert result.n_judges == 22


def test_without_a_name_the_largest_family_is_taken(hard):
    result = change(hard, "family")
    assert result.name == "family fam3"
    assert len(result.members) == 11


def test_a_cluster_holds_the_judge_and_its_copies(hard):
    result = change(hard, "cluster", ("1",))
    kinds = dict(zip(hard.judges, hard.judge_table["kind"], strict=True))
    assert [kinds[name] for name in result.members].count("copy") == 6
    assert group_names(hard, FEW, "cluster")[0] == "1"


@pytest.mark.parametrize(
    ("by", "group", "says"),
    [
        ("judges", ("nobody",), "no such judge"),
        ("judges", None, "no judge is named"),
        ("judges", tuple(f"judge{j:03d}" for j in range(7)), "whole panel"),
        ("family", None, "no family to take"),
        ("cluster", ("99",), "cluster"),
        ("filter", ("judge001",), "finds its judges itself"),
        ("mood", None, "unknown kind of group"),
    ],
)
def test_a_group_that_is_not_there_is_refused(by, group, says):
    with pytest.raises(InputError, match=says):
        change(make_votes(4), by, group)
