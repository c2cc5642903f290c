"""The simulator produces the truth it was asked for."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgepanel.votes import load_votes, write_votes
from judgepanel.votes.errors import InputError
from judgepanel.votes.matrix import MISSING, VoteMatrix
from judgepanel.votes.simulate import SimulationSpec, one_class, simulate, simulate_with_truth

LARGE = SimulationSpec(
    n_items=6000, n_judges=14, seed=7, base_rate=0.3, difficulty_sd=1.3,
    subsets=(("easy", -1.0), ("hard", 1.0)), n_families=3, family_rho=0.4, copies=2, copy_of=1,
    copy_flip=0.05, anti_experts=2, anti_accuracy=0.35, broken=1,
)  # fmt: skip


def correctness(simulated):
    """float (n_items, n_judges): 1 right, 0 wrong, nan missing."""
    votes = simulated.votes.votes
    right = (votes == simulated.truth[:, None]).astype(float)
    right[votes == MISSING] = np.nan
    return right


def column(simulated, kind):
    return np.flatnonzero(simulated.votes.judge_table["kind"] == kind)


def test_every_judge_has_the_accuracy_it_was_given():
    simulated = simulate_with_truth(LARGE)
    mean = correctness(simulated).mean(axis=0)
    error = np.sqrt(simulated.accuracies * (1 - simulated.accuracies) / LARGE.n_items)
    assert np.all(np.abs(mean - simulated.accuracies) < 4 * error)


def test_explicit_accuracies_are_reported_as_the_truth():
    spec = SimulationSpec(n_judges=3, accuracies=(0.55, 0.7, 0.95), difficulty_sd=2.0)
    assert simulate_with_truth(spec).accuracies.tolist() == [0.55, 0.7, 0.95]


def test_accuracies_drawn_from_a_range_stay_inside_it():
    spec = SimulationSpec(n_judges=50, accuracy_low=0.6, accuracy_high=0.65)
    accuracies = simulate_with_truth(spec).accuracies
    assert accuracies.min() >= 0.6
    assert accuracies.max() <= 0.65
    assert len(set(accuracies)) == 50


def test_the_share_of_label_one_is_the_base_rate():
    assert abs(np.mean(simulate(LARGE).labels == 1) - 0.3) < 4 * np.sqrt(0.3 * 0.7 / LARGE.n_items)


def test_systems_take_turns_and_each_is_better_than_the_one_before_by_the_gap():
    votes = simulate(replace(LARGE, task="pointwise", n_systems=3, system_gap=0.2, base_rate=0.5))
    rates = [np.mean(votes.labels[k::3] == 1) for k in range(3)]
    assert rates == pytest.approx([0.3, 0.5, 0.7], abs=4 * np.sqrt(0.25 * 3 / LARGE.n_items))
    assert votes.features["system"].tolist()[:4] == ["v1", "v2", "v3", "v1"]


@pytest.mark.parametrize("wrong", [{"task": "pairwise"}, {"system_gap": 0.6}])
def test_systems_of_pairs_and_rates_beyond_one_are_refused(wrong):
    with pytest.raises(InputError, match="the simulation cannot use this"):
        SimulationSpec(**{"task": "pointwise", "n_systems": 3, "system_gap": 0.2, **wrong})


def test_harder_items_are_judged_worse():
    simulated = simulate_with_truth(LARGE)
    honest = correctness(simulated)[:, column(simulated, "independent")].mean(axis=1)
    order = np.argsort(simulated.difficulty)
    third = LARGE.n_items // 3
    assert honest[order[:third]].mean() > honest[order[-third:]].mean() + 0.2


def test_errors_correlate_more_within_families_than_across():
    spec = SimulationSpec(n_items=4000, n_judges=12, seed=3, n_families=3, family_rho=0.5)
    simulated = simulate_with_truth(spec)
    correlation = np.corrcoef(correctness(simulated), rowvar=False)
    family = np.array(simulated.families)
    same = (family[:, None] == family[None, :]) & ~np.eye(12, dtype=bool)
    other = family[:, None] != family[None, :]
    assert correlation[same].min() > 0.15
    assert np.abs(correlation[other]).max() < 4 / np.sqrt(4000)


def test_without_family_correlation_a_family_is_only_a_name():
    spec = SimulationSpec(n_items=4000, n_judges=6, n_families=2, family_rho=0.0)
    correlation = np.corrcoef(correctness(simulate_with_truth(spec)), rowvar=False)
    assert np.abs(correlation[~np.eye(6, dtype=bool)]).max() < 4 / np.sqrt(4000)


def test_a_copy_differs_from_its_original_at_the_flip_rate():
    simulated = simulate_with_truth(LARGE)
    votes = simulated.votes.votes
    for copy in column(simulated, "copy"):
        differs = np.mean(votes[:, copy] != votes[:, LARGE.copy_of])
        assert abs(differs - 0.05) < 4 * np.sqrt(0.05 * 0.95 / LARGE.n_items)
        assert simulated.families[copy] == simulated.families[LARGE.copy_of]


def test_copies_err_independently_of_each_other():
    simulated = simulate_with_truth(replace(LARGE, copy_flip=0.3))
    first, second = column(simulated, "copy")
    original = simulated.votes.votes[:, LARGE.copy_of]
    flips = simulated.votes.votes[:, [first, second]] != original[:, None]
    assert abs(np.corrcoef(flips, rowvar=False)[0, 1]) < 4 / np.sqrt(LARGE.n_items)


@pytest.mark.parametrize("verdict", [0, 1])
def test_a_broken_judge_always_says_the_same(verdict):
    simulated = simulate_with_truth(replace(LARGE, broken_verdict=verdict))
    (broken,) = column(simulated, "broken")
    assert np.all(simulated.votes.votes[:, broken] == verdict)
    assert simulated.accuracies[broken] == (0.3 if verdict else 0.7)


def test_verdicts_go_missing_at_each_judges_parse_rate():
    rates = (0.54, 0.9, 1.0, 0.0)
    coverage = simulate(SimulationSpec(n_items=4000, n_judges=4, parse_rate=rates)).coverage
    assert abs(coverage[0] - 0.54) < 4 * np.sqrt(0.54 * 0.46 / 4000)
    assert abs(coverage[1] - 0.9) < 4 * np.sqrt(0.9 * 0.1 / 4000)
    assert coverage[2:].tolist() == [1.0, 0.0]


def test_verdicts_go_missing_at_random():
    simulated = simulate_with_truth(
        SimulationSpec(n_items=8000, n_judges=1, seed=2, difficulty_sd=1.0, parse_rate=0.5)
    )
    seen = simulated.votes.votes[:, 0] != MISSING
    for truth in (simulated.difficulty, simulated.truth.astype(float)):
        assert abs(np.corrcoef(seen, truth)[0, 1]) < 4 / np.sqrt(8000)


def test_a_lower_parse_rate_leaves_the_other_verdicts_alone():
    spec = SimulationSpec(seed=5, difficulty_sd=1.0)
    all_read, half_read = simulate(spec), simulate(replace(spec, parse_rate=0.5))
    seen = half_read.votes != MISSING
    assert 0.4 < seen.mean() < 0.6
    assert np.array_equal(half_read.votes[seen], all_read.votes[seen])


def test_structural_missingness_takes_one_slice_from_some_judges():
    structure = {"structural_judges": 3, "structural_share": 0.25}
    subsets = (("chat", 0.0), ("math", 0.5))
    votes = simulate(SimulationSpec(n_items=200, n_judges=10, subsets=subsets, **structure))
    missing = votes.votes == MISSING
    assert np.sort(missing.sum(axis=0)).tolist() == [0] * 7 + [50] * 3
    rows = missing.any(axis=1)
    assert rows.sum() == 50
    assert set(votes.features["subset"][rows]) == {"math"}


@pytest.mark.parametrize("activity_sd", [0.0, 1.5])
def test_a_sparse_design_has_exactly_so_many_votes_an_item(activity_sd):
    spec = SimulationSpec(
        n_items=500, n_judges=40, votes_per_item=5, activity_sd=activity_sd, seed=1
    )
    votes = simulate(spec)
    assert set(votes.n_votes) == {5}
    spread = votes.coverage.max() - votes.coverage.min()
    assert (spread > 0.25) == (activity_sd > 0)


def test_unlabelled_items_keep_their_votes_and_their_truth():
    simulated = simulate_with_truth(SimulationSpec(n_items=200, unlabelled_share=0.1, seed=3))
    labels = simulated.votes.labels
    assert (labels == MISSING).sum() == 20
    assert set(simulated.votes.n_votes) == {24}
    assert np.array_equal(labels[labels != MISSING], simulated.truth[labels != MISSING])
    assert set(simulated.truth) == {0, 1}


def test_items_of_a_prompt_form_a_group_of_like_difficulty():
    spec = SimulationSpec(
        n_items=3001, n_judges=2, items_per_group=3, group_rho=0.6, difficulty_sd=1.0
    )
    simulated = simulate_with_truth(spec)
    groups = simulated.votes.groups
    assert len(set(groups)) == 1001
    assert groups.count(groups[0]) == 3
    pairs = simulated.difficulty[:3000].reshape(-1, 3)
    assert np.corrcoef(pairs[:, 0], pairs[:, 1])[0, 1] == pytest.approx(0.6, abs=0.1)
    assert simulated.difficulty.std() == pytest.approx(1.0, abs=0.1)


def test_item_features_tell_something_about_difficulty():
    difficulty = {"difficulty_sd": 0.5, "difficulty_noise": 0.5}
    subsets = (("chat", -1.0), ("code", 1.0))
    spec = SimulationSpec(n_items=4000, n_judges=2, subsets=subsets, **difficulty)
    simulated = simulate_with_truth(spec)
    features = simulated.votes.features
    assert list(features.columns) == ["difficulty", "subset"]
    assert np.corrcoef(features["difficulty"], simulated.difficulty)[0, 1] > 0.8
    assert not np.allclose(features["difficulty"], simulated.difficulty, atol=0.01)
    chat = (features["subset"] == "chat").to_numpy()
    assert simulated.difficulty[chat].mean() == pytest.approx(-1.0, abs=0.1)
    assert simulated.difficulty[~chat].mean() == pytest.approx(1.0, abs=0.1)


def test_the_judge_table_says_family_kind_cost_and_latency():
    votes = simulate(SimulationSpec(n_judges=8, n_families=3, broken=1))
    table = votes.judge_table
    assert list(table.columns) == ["family", "kind", "cost_usd", "latency_s"]
    assert votes.judges[:4] == ("fam1-judge01", "fam2-judge02", "fam3-judge03", "fam1-judge04")
    assert table["kind"].tolist() == ["independent"] * 7 + ["broken"]
    assert (table[["cost_usd", "latency_s"]] > 0).all(axis=None)


def test_without_families_or_costs_judges_have_plain_names():
    simulated = simulate_with_truth(SimulationSpec(n_judges=2, costs=False, judge_word="worker"))
    assert simulated.votes.judges == ("worker01", "worker02")
    assert simulated.families == simulated.votes.judges
    assert list(simulated.votes.judge_table.columns) == ["kind"]


def test_the_same_seed_gives_the_same_matrix_and_another_seed_another():
    assert simulate(LARGE).sha256 == simulate(replace(LARGE)).sha256
    assert simulate(LARGE).sha256 != simulate(replace(LARGE, seed=8)).sha256


def test_blocks_of_rows_are_an_inner_matter(monkeypatch):
    spec = SimulationSpec(n_items=90, seed=1, n_families=2, family_rho=0.5)
    whole = simulate_with_truth(spec)
    monkeypatch.setattr("judgepanel.votes.simulate.CELLS_A_BLOCK", 100)
    blocks = simulate_with_truth(spec)
    assert len(np.unique(blocks.votes.votes, axis=0)) > 80
    assert np.array_equal(blocks.truth, whole.truth)
    assert abs(correctness(blocks).mean() - correctness(whole).mean()) < 0.1


def test_independent_votes_have_the_posterior_of_bayes_rule_and_broken_judges_no_part_in_it():
    spec = SimulationSpec(n_items=20_000, n_judges=5, broken=1, base_rate=0.4, seed=9)
    simulated = simulate_with_truth(spec)
    weights = np.log(simulated.accuracies / (1 - simulated.accuracies))
    weights[-spec.broken :] = 0.0
    votes = simulated.votes.votes
    signs = np.where(votes == MISSING, 0, 2 * votes - 1)
    p = 1 / (1 + np.exp(-(np.log(0.4 / 0.6) + signs @ weights)))
    for low in np.arange(0, 1, 0.25):
        inside = (p >= low) & (p < low + 0.25)
        error = np.sqrt(0.25 / inside.sum())
        assert abs(simulated.truth[inside].mean() - p[inside].mean()) < 4 * error


def test_one_class_coding_keeps_every_vote_right_or_wrong():
    votes = simulate(SimulationSpec(seed=2, parse_rate=0.8, unlabelled_share=0.2))
    coded = one_class(votes)
    labelled, seen = votes.labelled, votes.votes != MISSING
    assert set(coded.labels[labelled]) == {1}
    assert np.array_equal(coded.votes == MISSING, ~seen)
    before = (votes.votes == votes.labels[:, None])[labelled]
    after = (coded.votes == coded.labels[:, None])[labelled]
    assert np.array_equal(before & seen[labelled], after & seen[labelled])
    assert np.array_equal(coded.votes[~labelled], votes.votes[~labelled])
    assert np.array_equal(coded.labels[~labelled], votes.labels[~labelled])


def test_one_class_coding_of_one_class_votes_changes_nothing():
    coded = one_class(simulate(SimulationSpec(seed=2)))
    assert one_class(coded).sha256 == coded.sha256


def test_a_one_class_simulation_is_the_recoded_one():
    spec = SimulationSpec(seed=4, broken=1)
    recoded = simulate_with_truth(replace(spec, one_class=True))
    assert recoded.votes.sha256 == one_class(simulate(spec)).sha256
    assert np.array_equal(recoded.truth, recoded.votes.labels)


def test_answers_judged_alone_cannot_be_swapped():
    with pytest.raises(InputError, match="pairwise"):
        one_class(simulate(SimulationSpec(task="pointwise")))


NONSENSE = [
    *(("n_items", {"n_items": value}) for value in (0, 2.5, True)),
    *(("n_judges", {"n_judges": 0}), ("n_judges", {"n_judges": 3, "broken": 2, "copies": 2})),
    *(("base_rate", {"base_rate": value}) for value in (1.2, float("nan"), "half", 10**400)),
    *(("accuracy_low", {"accuracy_low": 0.0}), ("accuracy_high", {"accuracy_high": 1.0})),
    ("accuracy_low", {"accuracy_low": 0.9, "accuracy_high": 0.6}),
    *(("accuracies", {"n_judges": 1, "accuracies": value}) for value in ((0.7, 0.7), (1.0,))),
    *(("difficulty_sd", {"difficulty_sd": value}) for value in (-1.0, 9.0)),
    *(("subsets", {"subsets": value}) for value in (("chat",), (("", 0.0),), (("chat", 99.0),))),
    ("subsets", {"subsets": (("chat", 0.0), ("chat", 1.0))}),
    ("copy_of", {"copies": 1, "copy_of": 23}),
    *(("parse_rate", {"parse_rate": value}) for value in (1.5, (0.5, 0.5))),
    ("parse_rate", {"n_judges": 1, "parse_rate": (-0.5,)}),
    *(("votes_per_item", {"votes_per_item": value}) for value in (0, 25)),
    ("one_class", {"one_class": True, "task": "pointwise"}),
    *(
        (name, {name: value})
        for name, value in {
            **{"seed": -1, "task": "ranking", "difficulty_noise": -0.1, "items_per_group": 0},
            **{"group_rho": 2.0, "n_families": -1, "family_rho": 1.1, "copy_flip": -0.1},
            **{"anti_accuracy": 0.5, "broken_verdict": 2, "structural_judges": 25},
            **{"structural_share": -0.1, "unlabelled_share": 1.1, "judge_word": ""},
        }.items()
    ),
]


@pytest.mark.parametrize(("named", "options"), NONSENSE)
def test_nonsense_is_refused_in_one_sentence_that_names_the_knob(named, options):
    with pytest.raises(InputError) as refusal:
        SimulationSpec(**options)
    message = str(refusal.value)
    assert f"this {named} (found" in message
    assert "allowed: " in message
    assert "\n" not in message


@st.composite
def small_specs(draw):
    n_judges = draw(st.integers(4, 9))
    share = st.floats(0, 1)
    return SimulationSpec(
        n_items=draw(st.integers(1, 25)), n_judges=n_judges, seed=draw(st.integers(0, 2**40)),
        base_rate=draw(share), difficulty_sd=draw(st.floats(0, 5)),
        subsets=draw(st.sampled_from([(), (("a", -2.0), ("b", 3.0))])),
        difficulty_noise=draw(st.sampled_from([None, 0.0, 2.0])),
        items_per_group=draw(st.integers(1, 30)), group_rho=draw(share),
        n_families=draw(st.integers(0, 12)), family_rho=draw(share),
        copies=draw(st.integers(0, 1)), copy_flip=draw(share),
        anti_experts=draw(st.integers(0, 1)), broken=draw(st.integers(0, 1)),
        parse_rate=draw(share), structural_judges=draw(st.integers(0, n_judges)),
        structural_share=draw(share),
        votes_per_item=draw(st.one_of(st.none(), st.integers(1, n_judges))),
        activity_sd=draw(st.floats(0, 5)), unlabelled_share=draw(share), costs=draw(st.booleans()),
        one_class=draw(st.booleans()),
    )  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(spec=small_specs())
def test_any_sensible_spec_gives_a_valid_matrix(spec):
    simulated = simulate_with_truth(spec)
    votes = simulated.votes
    assert isinstance(votes, VoteMatrix)
    assert votes.votes.shape == (spec.n_items, spec.n_judges)
    assert len(votes.judge_table) == spec.n_judges
    assert (votes.features is None) == (not spec.subsets and spec.difficulty_noise is None)
    assert np.all((simulated.accuracies >= 0) & (simulated.accuracies <= 1))
    assert np.all(np.isfinite(simulated.difficulty))
    known = votes.labelled
    assert np.array_equal(votes.labels[known], simulated.truth[known])
    if spec.votes_per_item is not None:
        assert votes.n_votes.max() <= spec.votes_per_item
    assert simulate(spec).sha256 == votes.sha256


def test_ratings_say_more_the_farther_they_are_and_leave_verdicts_as_they_were(tmp_path):
    spec = SimulationSpec(n_items=2000, n_judges=6, copies=1, broken=1, parse_rate=0.9, seed=3)
    votes = simulate(replace(spec, levels=3))
    assert np.array_equal(votes.votes, simulate(spec).votes)
    assert np.array_equal(np.isnan(votes.grades), votes.votes == -1)
    right = votes.votes[:, :5] == votes.labels[:, None]
    shares = [right[np.abs(votes.grades[:, :5]) == rating].mean() for rating in (1, 2, 3)]
    assert 0.5 < shares[0] < shares[1] - 0.05 < shares[2] - 0.1
    write_votes(votes, tmp_path / "votes.csv")
    again = load_votes(tmp_path / "votes.csv", thresholds=0).votes
    assert np.array_equal(again.grades, votes.grades, equal_nan=True)
    for levels in (1, -1, 101):
        with pytest.raises(InputError, match="levels"):
            SimulationSpec(levels=levels)
