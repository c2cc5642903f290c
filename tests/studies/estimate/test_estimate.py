"""Rates of groups from few labels, which items to label next, and what panels are worth."""

import itertools
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from judgepanel.present.decide.estimate import PANEL_WORTH, panel_sizes, panel_worth_sentence
from judgepanel.scoring.prediction_powered import Sample, estimate_rates
from judgepanel.studies import contract, slices
from judgepanel.studies.decide.estimate import (
    ALL,
    ESTIMATE,
    EstimateSpec,
    allocated,
    items_to_label,
)
from judgepanel.studies.runner import run
from judgepanel.votes import MISSING, InputError
from tests.helpers import matrix_of

REQUIRED = (
    *("group", "n_items", "n_labels", "rate", "rate_lo", "rate_hi", "labels_alone"),
    *("labels_alone_lo", "labels_alone_hi", "judges_alone", "worth"),
)


def panel(n=600, n_labels=90, seed=0, rates=(0.5, 0.75), features=None):
    """A file of systems with pass rates, eight judges who favour label 1, and all its labels."""
    rng = np.random.default_rng(seed)
    system = np.arange(n) % len(rates)
    truth = (rng.random(n) < np.array(rates)[system]).astype(np.int8)
    right = rng.random((n, 8)) < np.where(truth[:, None] == 1, 0.9, 0.65)
    labels = np.full(n, MISSING, dtype=np.int8)
    shown = rng.choice(n, n_labels, replace=False)
    labels[shown] = truth[shown]
    named = {"system": [f"S{code}" for code in system], **(features or {})}
    votes = np.where(right, truth[:, None], 1 - truth[:, None])
    more = {"judges": tuple("abcdefgh"), "task": "pointwise", "features": pd.DataFrame(named)}
    return matrix_of(votes, labels, **more), truth


def estimated(votes, **options):
    return run(ESTIMATE, votes, EstimateSpec(**options), jobs=1)


@pytest.fixture(scope="module")
def file():
    return panel()


@pytest.fixture(scope="module")
def result(file):
    return estimated(file[0], by="system")


def test_the_table_has_the_whole_file_first_then_its_groups(result):
    frame = result.frame()
    assert set(REQUIRED) <= set(frame.columns)
    assert frame["group"].tolist() == [ALL, "S0", "S1"]
    assert frame["n_items"].tolist() == [600, 300, 300]
    assert frame["n_labels"].iloc[0] == 90 == frame["n_labels"].iloc[1:].sum()


def test_rates_are_those_of_the_estimator_on_the_studys_proxies(file, result):
    votes, _ = file
    proxies = ESTIMATE.run_chunk(votes, EstimateSpec(by="system"), contract.Chunk(0, 0, 1))
    groups = slices.groups_of(votes, "system").codes
    rates = estimate_rates(proxies.panel, Sample.of(votes.labels, groups)).rate
    for ours, theirs in zip(result.rate[1:], rates, strict=True):
        assert ours.tolist() == theirs.tolist()


def test_intervals_hold_the_truth_and_are_narrower_than_those_of_labels_alone(file, result):
    _, truth = file
    every = [truth.mean(), truth[::2].mean(), truth[1::2].mean()]
    assert all(lo <= rate <= hi for rate, lo, hi in zip(every, *list(result.rate)[1:], strict=True))
    ours, alone = (part.hi - part.lo for part in (result.rate, result.labels_alone))
    assert (ours < 0.8 * alone).all()
    assert (result.worth > 1.5).all()


def test_judges_alone_are_biased_by_what_separates_them_from_the_rate(result):
    bias = result.judges_alone - result.rate.value
    assert result.judges_bias.tolist() == bias.tolist()


def test_a_clear_difference_is_decided_and_the_better_system_may_be_best(result):
    assert (result.decided.tolist(), result.difference.above().tolist()) == ([True], [False])
    assert result.may_be_best.tolist() == [False, False, True]
    row = result.differences().iloc[0]
    assert (row["group"], row["other"]) == ("S0", "S1")


def test_equal_systems_stay_undecided_and_more_labels_are_counted():
    votes, _ = panel(rates=(0.6, 0.6), n_labels=60, seed=3)
    result = estimated(votes, by="system")
    assert not result.decided.any()
    assert result.may_be_best.tolist() == [False, True, True]
    assert 0 < result.more_labels[0] <= 540


def test_labels_for_a_reach_give_that_reach(result):
    votes, _ = panel(n_labels=result.labels_for_reach)
    rate = estimated(votes).rate
    assert float(rate.hi[0] - rate.lo[0]) / 2 == pytest.approx(0.03, rel=0.25)


@pytest.mark.parametrize("about", ["file", "population"])
def test_as_many_labels_alone_as_the_panel_is_worth_are_as_narrow(about):
    ours = estimated(panel(n_labels=60)[0], about=about)
    alone = estimated(panel(n_labels=round(60 * float(ours.worth[0])))[0], about=about)
    widths = [float(part.hi[0] - part.lo[0]) for part in (ours.rate, alone.labels_alone)]
    assert widths[0] == pytest.approx(widths[1], rel=0.1)


def test_a_reach_that_all_items_of_a_file_do_not_give_needs_more_items():
    votes, _ = panel(n=200, n_labels=90)
    assert estimated(votes, about="population").labels_for_reach == 201
    assert 90 < estimated(votes, about="file").labels_for_reach < 200


def test_a_fully_labelled_file_is_about_items_like_these():
    votes, truth = panel(n_labels=600)
    result = estimated(votes, by="system")
    assert result.about == "population"
    assert float(result.rate.value[0]) == pytest.approx(truth.mean())
    assert result.worth.tolist() == pytest.approx([1.0] * 3)
    exact = estimated(votes, by="system", about="file")
    assert [float(end[0]) for end in exact.rate] == pytest.approx([truth.mean()] * 3)
    assert exact.decided.all()


def test_another_seed_moves_rates_by_less_than_their_intervals(file):
    votes, _ = file
    first = estimated(votes, by="system").rate
    other = estimated(votes, by="system", settings=contract.Settings(seed=1)).rate
    assert (np.abs(first.value - other.value) < (first.hi - first.lo) / 4).all()


def test_a_judge_who_knows_every_label_is_left_out(file):
    votes = file[0]
    known = np.where(votes.labels >= 0, votes.labels, MISSING)
    cast, judges = np.column_stack([votes.votes, known]), (*votes.judges, "labels")
    with_labels = replace(votes, votes=cast, judges=judges)
    assert estimated(with_labels).rate.value.tolist() == estimated(votes).rate.value.tolist()


def test_labels_of_easy_items_are_no_fair_sample():
    votes, truth = panel()
    agreed = np.abs(votes.votes.mean(axis=1) - 0.5) > 0.4
    result = estimated(replace(votes, labels=np.where(agreed, truth, MISSING).astype(np.int8)))
    assert "agreement of judges" in result.fair.differing
    assert "not a fair sample" in result.warnings[0]


def test_a_random_sample_is_fair(result):
    assert not result.fair.differing
    assert not result.warnings


def test_sampling_weights_undo_unequal_shares():
    votes, truth = panel(n=900, rates=(0.2, 0.9), n_labels=10)
    rng = np.random.default_rng(1)
    labels = np.full(900, MISSING, dtype=np.int8)
    few, many = (rng.choice(np.arange(s, 900, 2), n, False) for s, n in ((0, 30), (1, 150)))
    labels[few], labels[many] = truth[few], truth[many]
    weights = np.where(np.arange(900) % 2 == 0, 15.0, 3.0)
    assert votes.features is not None
    votes = replace(votes, labels=labels, features=votes.features.assign(weight=weights))
    result = estimated(votes, weights="weight")
    assert result.labels_alone.lo[0] <= truth.mean() <= result.labels_alone.hi[0]
    assert estimated(votes).labels_alone.lo[0] > truth.mean()


@pytest.mark.parametrize("weight", [0.0, -1.0, np.nan])
def test_a_labelled_item_without_a_usable_weight_is_named(weight):
    votes, _ = panel(features={"weight": [weight] * 600})
    with pytest.raises(InputError, match=r"item 'i\d+' has no usable sampling weight"):
        estimated(votes, weights="weight")


def test_a_group_without_labels_is_named_and_blank():
    votes, _ = panel()
    labels = np.where(np.arange(600) % 2 == 0, votes.labels, MISSING).astype(np.int8)
    result = estimated(replace(votes, labels=labels), by="system")
    assert np.isnan(result.rate.value[2])
    assert np.isnan(result.p[0])
    assert any("No item of 'S1' has a label" in sentence for sentence in result.warnings)


@pytest.mark.parametrize("label", [0, 1])
def test_labels_of_one_class_leave_an_interval(label):
    votes, _ = panel()
    labels = np.where(votes.labels >= 0, label, MISSING).astype(np.int8)
    rate = estimated(replace(votes, labels=labels), by="system").rate
    assert rate.value.tolist() == pytest.approx([label] * 3)
    assert (rate.hi - rate.lo > 0.01).all()


def test_a_system_of_two_labels_has_a_wide_interval_and_is_named():
    votes, _ = panel()
    labels = votes.labels.copy()
    labels[np.flatnonzero((np.arange(600) % 2 == 1) & (labels >= 0))[2:]] = MISSING
    result = estimated(replace(votes, labels=labels), by="system")
    assert result.rate.hi[2] - result.rate.lo[2] > 0.5 > result.rate.hi[1] - result.rate.lo[1]
    assert "Groups with few labels have wide intervals: 'S1' (2)." in result.warnings


def test_items_without_a_label_need_no_weight():
    votes, _ = panel()
    weights = np.where(votes.labelled, 2.0, np.nan)
    weighted = replace(votes, features=votes.features.assign(weight=weights))
    ours = estimated(weighted, weights="weight").rate
    assert ours.value.tolist() == pytest.approx(estimated(votes).rate.value.tolist())


def test_a_system_that_is_also_a_judge_is_named():
    votes, _ = panel(features={"model": ["a", "z"] * 300})
    assert any("'a' both gave votes" in s for s in estimated(votes, by="model").warnings)


def test_a_feature_of_too_many_values_is_refused():
    votes, _ = panel(features={"name": [f"n{k}" for k in range(600)]})
    with pytest.raises(InputError, match=r"too many values to compare.*at most 50 groups"):
        estimated(votes, by="name")


def test_pairs_of_too_many_systems_are_not_offered():
    votes = pairs_file()
    names = [f"m{k % 60}" for k in range(votes.n_items)]
    many = replace(votes, features=votes.features.assign(model_a=names))
    assert "system" not in slices.offered_features(many)
    with pytest.raises(InputError, match="too many values to compare"):
        estimated(many, by="system")


def test_an_unknown_feature_is_refused_with_the_known_ones(file):
    with pytest.raises(InputError, match=r"found 'topic'\); allowed: system"):
        estimated(file[0], by="topic")


def test_numbers_are_cut_into_quarters_and_missing_ones_left_out():
    length = np.arange(600, dtype=float)
    length[:40] = np.nan
    votes, _ = panel(features={"length": length})
    groups = slices.groups_of(votes, "length")
    assert len(groups.names) == 4
    assert np.bincount(groups.codes + 1).tolist() == [40, 140, 140, 140, 140]


def test_systems_are_offered_before_other_features():
    votes, _ = panel(features={"a topic": ["x", "y", "z"] * 200, "length": range(600)})
    assert slices.offered_features(votes) == ("system", "a topic", "length")
    assert slices.usual_feature(votes) == "system"
    assert votes.features is not None
    numbers = replace(votes, features=votes.features[["length"]])
    assert slices.usual_feature(numbers) is None
    assert slices.usual_feature(replace(votes, features=None)) is None


def pairs_file(n=800, n_labels=120, seed=0):
    """Pairs of four systems, a the best and d the worst; judge mine is of the family of d."""
    rng = np.random.default_rng(seed)
    first = rng.integers(0, 4, n)
    second = (first + rng.integers(1, 4, n)) % 4
    wins = 1.0 / (1.0 + np.exp(0.8 * (first - second)))
    truth = (rng.random(n) < wins).astype(np.int8)
    right = rng.random((n, 5)) < 0.8
    votes = np.where(right, truth[:, None], 1 - truth[:, None]).astype(np.int8)
    votes[first == 3, 4], votes[second == 3, 4] = 1, 0
    labels = np.full(n, MISSING, dtype=np.int8)
    shown = rng.choice(n, n_labels, replace=False)
    labels[shown] = truth[shown]
    names, judges = np.array(["a", "b", "c", "delta-7b"]), ("j1", "j2", "j3", "j4", "mine")
    systems = pd.DataFrame({"model_a": names[first], "model_b": names[second]})
    families = pd.DataFrame({"family": ["x", "x", "y", "y", "delta"]})
    more = {"task": "pairwise", "features": systems, "judge_table": families}
    return matrix_of(votes, labels, judges=judges, **more)


def test_systems_that_met_in_pairs_are_ranked_by_bradley_terry():
    votes = pairs_file()
    assert slices.usual_feature(votes) == "system"
    result = run(ESTIMATE, votes, EstimateSpec(by="system"), jobs=1)
    assert result.pairs
    assert result.group[1:] == ("a", "b", "c", "delta-7b")
    assert (np.diff(result.rate.value[1:]) < 0.0).all()
    assert result.may_be_best.tolist() == [False, True, False, False, False]
    assert result.items[1:].sum() == 2 * votes.n_items
    meetings = result.meetings()
    assert len(meetings) == 6
    assert meetings["n_items"].sum() == votes.n_items
    assert set(meetings["n_labels"]) != {0}
    named = run(ESTIMATE, votes, EstimateSpec(by="model_a, model_b"), jobs=1)
    assert named.rate.value.tolist() == result.rate.value.tolist()


def test_a_judge_that_favours_its_own_family_is_shown_to():
    result = run(ESTIMATE, pairs_file(), EstimateSpec(by="system"), jobs=1)
    by_judge = result.by_judge().set_index("judge")
    assert by_judge.loc["mine", "favours_own_family_lo"] > 0.3
    assert by_judge["favours_own_family"].notna().sum() == 1
    assert by_judge.loc["mine", "same_order"] < by_judge.loc["j1", "same_order"]
    assert by_judge.loc["j1", "puts_first"] == "a"


def test_system_stands_for_the_column_that_names_the_system():
    votes, _ = panel()
    features = votes.features.rename(columns={"system": "model"})
    named = replace(votes, features=features)
    ours = run(ESTIMATE, named, EstimateSpec(by="system"), jobs=1)
    assert ours.rate.value.tolist() == estimated(votes, by="system").rate.value.tolist()
    with pytest.raises(InputError, match="no such feature"):
        run(ESTIMATE, replace(votes, features=None), EstimateSpec(by="system"), jobs=1)


def test_groups_that_were_labelled_unevenly_are_reweighted():
    """All labels of one system are known: the rate of all items must not drift to that system."""
    votes, truth = panel(n=1200, n_labels=120)
    of_second = (votes.features["system"] == votes.features["system"].iloc[-1]).to_numpy()
    labels = np.where(of_second, truth, votes.labels).astype(np.int8)
    uneven = replace(votes, labels=labels)
    result = estimated(uneven, by="system")
    assert result.strata == "system"
    assert result.rate.lo[0] < truth.mean() < result.rate.hi[0]
    assert any("reweighted" in warning for warning in result.warnings)
    by_hand = run(ESTIMATE, uneven, EstimateSpec(strata="system"), jobs=1)
    assert by_hand.rate.value[0] == pytest.approx(result.rate.value[0])
    none = replace(votes, labels=np.where(of_second, MISSING, votes.labels).astype(np.int8))
    with pytest.raises(InputError, match="no item of a stratum by 'system' has a label"):
        run(ESTIMATE, none, EstimateSpec(strata="system"), jobs=1)


def test_systems_that_share_prompts_and_were_labelled_unevenly_are_reweighted():
    """Every system answers every prompt, so prompts have the same systems: items tell."""
    votes, truth = panel(500, rates=(0.3, 0.4, 0.5, 0.6, 0.9))
    labels = np.full(500, MISSING, dtype=np.int8)
    rng = np.random.default_rng(0)
    for system, n in enumerate((10, 10, 10, 10, 60)):
        shown = rng.choice(np.arange(system, 500, 5), n, replace=False)
        labels[shown] = truth[shown]
    prompts = tuple(f"p{k // 5}" for k in range(500))
    uneven = replace(votes, labels=labels, groups=prompts)
    assert "system" in estimated(uneven).fair.differing
    result = estimated(uneven, by="system")
    assert result.strata == "system"
    assert not result.fair.differing
    assert result.rate.lo[0] < truth.mean() < result.rate.hi[0]


def labelled_evenly_but_for(n, m):
    """Votes of which n items of the first system and m of the second have a label."""
    votes, truth = panel()
    labels = np.full(600, MISSING, dtype=np.int8)
    for system, some in enumerate((n, m)):
        labels[system : system + 2 * some : 2] = truth[system : system + 2 * some : 2]
    return replace(votes, labels=labels), truth


def test_labels_are_weighted_to_the_items_of_each_group():
    """Too little to be noticed, but what label next draws would add up."""
    votes, _ = labelled_evenly_but_for(30, 40)
    result = estimated(votes, by="system")
    assert not result.warnings
    assert result.strata == "system"
    by_group = result.labels_alone.value[1:]
    assert result.labels_alone.value[0] == pytest.approx(by_group.mean())
    assert estimated(votes).labels_alone.value[0] == pytest.approx(by_group @ [3 / 7, 4 / 7])
    assert result.rate.value[0] == estimated(votes, strata="system").rate.value[0]


def test_groups_that_are_labelled_evenly_need_no_weights():
    votes, _ = labelled_evenly_but_for(40, 40)
    ours, plain = (estimated(votes, by=by).rate for by in ("system", None))
    assert [end[0] for end in ours] == pytest.approx([end[0] for end in plain])


def test_few_labels_of_a_group_and_given_weights_leave_labels_as_they_are():
    few, _ = labelled_evenly_but_for(4, 7)
    assert estimated(few, by="system").strata == ""
    votes, _ = labelled_evenly_but_for(30, 40)
    given = replace(votes, features=votes.features.assign(weight=1.0))
    result = estimated(given, by="system", weights="weight")
    assert result.strata == ""
    assert result.rate.value[0] == pytest.approx(estimated(votes).rate.value[0])


def test_two_systems_of_equal_rates_are_undecided_once_all_is_labelled():
    """Their rates differ by rounding, which no number of labels would settle."""
    votes, truth = panel(300)
    for seed in range(5):
        truth[1::2] = np.random.default_rng(seed).permutation(truth[::2])
        whole = replace(votes, labels=truth)
        for about in ("file", "population"):
            result = estimated(whole, by="system", about=about)
            assert not result.decided.any()
            assert result.more_labels.tolist() == [-1]


def test_judges_who_favour_no_family_are_rarely_said_to_once_all_is_labelled():
    """Their errors are a sample, too: with the file's own rates half of them favour theirs."""
    said = 0
    for seed in range(20):
        votes, truth = panel(450, seed=seed, rates=(0.6, 0.6, 0.6))
        families = [*("S0", "S1", "S2") * 2, "", ""]
        table = pd.DataFrame({"family": families})
        result = estimated(replace(votes, labels=truth, judge_table=table), by="system")
        said += int((result.alone.own_family.lo > 0.0).sum())
    assert said <= 12  # of 120


def test_labels_are_shared_out_as_the_best_of_all_ways_to():
    variances, have, available = np.array([0.25, 0.09, 0.2]), np.array([5, 3, 0]), [9, 9, 4]
    ways = itertools.product(*(range(most + 1) for most in available))
    allowed = [way for way in ways if sum(way) == 8 and way[2]]
    best = min(allowed, key=lambda way: float((variances / (have + np.array(way))).sum()))
    assert tuple(allocated(variances, have, np.array(available), 8)) == best


def test_unlabelled_items_are_drawn_once_without_their_votes():
    votes, _ = panel()
    spec = EstimateSpec(by="system")
    result = run(ESTIMATE, votes, spec, jobs=1)
    drawn = items_to_label(votes, spec, result, 50, seed=3)
    assert list(drawn.columns) == ["id", "system", "label"]
    assert drawn["id"].is_unique
    assert (drawn["label"] == "").all()
    free = {name for name, known in zip(votes.item_ids, votes.labelled, strict=True) if not known}
    assert set(drawn["id"]) <= free
    assert drawn.equals(items_to_label(votes, spec, result, 50, seed=3))
    assert not drawn.equals(items_to_label(votes, spec, result, 50, seed=4))
    assert set(items_to_label(votes, spec, result, len(free))["id"]) == free


def test_a_group_without_labels_gets_some():
    votes, _ = panel()
    first = (votes.features["system"] == votes.features["system"].iloc[0]).to_numpy()
    none = replace(votes, labels=np.where(first, -1, votes.labels).astype(np.int8))
    spec = EstimateSpec(by="system")
    drawn = items_to_label(none, spec, run(ESTIMATE, none, spec, jobs=1), 40)
    assert (drawn["system"] == votes.features["system"].iloc[0]).sum() >= 20


def test_nothing_is_drawn_once_every_item_has_a_label():
    votes, truth = panel()
    votes = replace(votes, labels=truth)
    result = run(ESTIMATE, votes, EstimateSpec(), jobs=1)
    with pytest.raises(InputError, match="allowed: nothing: every item has a label"):
        items_to_label(votes, EstimateSpec(), result, 1)


@pytest.mark.parametrize("n", [0, 10_000])
def test_more_items_than_there_are_cannot_be_drawn(n):
    votes, _ = panel()
    result = run(ESTIMATE, votes, EstimateSpec(), jobs=1)
    with pytest.raises(InputError, match="cannot draw that many items"):
        items_to_label(votes, EstimateSpec(), result, n)


def worth_of(votes, **options):
    return run(PANEL_WORTH, votes, EstimateSpec(**options), jobs=1)


@pytest.fixture(scope="module")
def worth():
    return worth_of(panel()[0], by="system")


@pytest.mark.parametrize(
    ("n_judges", "sizes"),
    [
        (1, [1]),
        (8, [1, 2, 3, 5, 8]),
        (30, [1, 2, 3, 5, 10, 20, 30]),
        (148, [1, 2, 3, 5, 10, 20, 30, 50, 100, 148]),
    ],
)
def test_sizes_are_a_short_grid_up_to_all_judges(n_judges, sizes):
    assert panel_sizes(n_judges).tolist() == sizes


def test_all_judges_are_those_of_the_estimate(worth):
    estimates = run(ESTIMATE, panel()[0], EstimateSpec(by="system"), jobs=1)
    assert list(worth.rate[-1]) == list(estimates.rate[0])
    assert worth.worth[-1] == estimates.worth[0]


def test_more_good_judges_are_worth_more(worth):
    frame = worth.frame()
    assert frame["k"].tolist() == [1, 2, 3, 5, 8]
    assert frame["worth"].iloc[-1] > frame["worth"].iloc[0] > 1.0
    assert frame["nll"].iloc[-1] < frame["nll"].iloc[0] < worth.null_nll
    assert frame["worth_labels"].tolist() == (90 * frame["worth"]).tolist()
    assert worth.summary()["narrowest"] == frame.loc[frame["worth"].idxmax(), "k"]


def test_the_narrowest_panel_stands_beside_that_of_lowest_nll(worth):
    apart = replace(worth, worth=np.array([1.1, 1.4, 2.0, 1.5, 1.3]), nll=np.arange(5.0, 0.0, -1))
    assert panel_worth_sentence(apart) == (
        "90 labels are worth most with the best 3 judges, 180; the NLL is lowest with all 8 judges."
    )
    same = replace(apart, nll=np.array([0.4, 0.3, 0.2, 0.3, 0.4]))
    assert panel_worth_sentence(same).endswith(", 180, and the NLL is lowest there, too.")


def test_panels_that_do_not_help_are_said_so(worth):
    assert panel_worth_sentence(replace(worth, worth=np.ones(5))).startswith("No panel helps")


def test_nothing_is_gained_once_all_items_are_labelled():
    worth = worth_of(panel(n_labels=600)[0])
    assert panel_worth_sentence(worth).startswith("Every item has a label")
    assert worth.summary()["narrowest"] is None


@pytest.mark.parametrize("label", [0, 1])
def test_labels_of_one_class_have_no_nll(label):
    votes, _ = panel()
    labels = np.where(votes.labels >= 0, label, MISSING).astype(np.int8)
    worth = worth_of(replace(votes, labels=labels))
    assert np.isnan(worth.nll).all()
    assert worth.summary()["lowest_nll"] is None
    assert "NLL" not in panel_worth_sentence(worth)
