"""The study of judges: figures computed by hand, any order of work, honest intervals."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from judgepanel.kernels.irt import fit_two_pl
from judgepanel.kernels.redundancy import error_correlation, error_counts
from judgepanel.studies import codec, contract, results
from judgepanel.studies.runner import run
from judgepanel.studies.understand import judges as module
from judgepanel.studies.understand.judges import JUDGES, Judges, JudgesSpec, merge, run_chunk
from judgepanel.votes import load_votes
from judgepanel.votes.companions import JUDGE_COLUMN
from tests.helpers import flip_items, make_votes, matrix_of, signed
from tests.kernels.judges.test_redundancy import panel

SPEC = JudgesSpec(contract.Settings(splits=12))
CODES = [0, 0, 0, 0, 1, 1, 1, 2, 2]


def family_votes(seed=0, n_items=400, *, missing=0.0, codes=CODES, **kwargs):
    """Votes of a panel in families, labels both ways, and its judge table."""
    rng = np.random.default_rng(seed)
    right = panel(rng, n_items, codes, 0.55, 0.1, missing=missing)
    labels = rng.integers(0, 2, n_items).astype(np.int8)
    votes = np.where(right == 0, -1, np.where(right > 0, labels[:, None], 1 - labels[:, None]))
    names = tuple(f"judge{j:02d}" for j in range(len(codes)))
    table = pd.DataFrame({JUDGE_COLUMN: names, "family": [f"fam{code}" for code in codes]})
    return matrix_of(votes, labels, judges=names, judge_table=table, **kwargs)


def study(votes, spec=SPEC):
    return run(JUDGES, votes, spec, jobs=1)


def content(judges_result):
    return json.dumps(codec.to_plain(judges_result), allow_nan=False)


@pytest.fixture(scope="module")
def judges_result():
    return study(family_votes())


def test_families_are_found_and_stable(judges_result):
    assert (judges_result.families.rand, judges_result.cluster_sizes.tolist()) == (1.0, [4, 3, 2])
    assert (judges_result.cluster_stability > 0.9).all()
    assert judges_result.families.within > judges_result.families.between + 0.2


def test_point_values_are_those_of_the_kernel_on_all_labelled_items(judges_result):
    votes = family_votes()
    kernel = error_correlation(error_counts(signed(votes.votes), signed(votes.labels)))
    assert judges_result.correlation.value == kernel.mean
    drawn = judges_result.square(judges_result.map_correlation)
    expected = kernel.value[np.ix_(judges_result.order, judges_result.order)]
    off = ~np.eye(9, dtype=bool)
    np.testing.assert_allclose(drawn[off], expected[off], atol=5.1e-5)
    for j, name in enumerate(judges_result.judges):
        others = np.delete(kernel.value[j], j)
        assert judges_result.nearest_correlation[j] == others.max()
        names = np.delete(np.array(judges_result.judges), j)
        assert judges_result.nearest[j] == names[others.argmax()]
        assert name == votes.judges[j]


def test_halves_that_put_two_judges_together_are_counted_pair_by_pair(judges_result):
    votes = family_votes()
    pieces = [run_chunk(votes, SPEC, chunk) for chunk in JUDGES.plan(SPEC)]
    together = judges_result.square(judges_result.map_together)
    place = {int(j): i for i, j in enumerate(judges_result.order)}
    total = sum(piece.together for piece in pieces)
    pairs = [(j, k) for j in range(9) for k in range(j + 1, 9)]
    assert [int(together[place[j], place[k]]) for j, k in pairs] == total.tolist()
    assert together.max() <= judges_result.n_rounds


def test_a_part_of_the_halves_is_a_result_marked_partial_with_the_same_point_values(judges_result):
    votes = family_votes()
    first = merge(votes, SPEC, run_chunk(votes, SPEC, JUDGES.plan(SPEC)[0]))
    assert first.partial
    assert not judges_result.partial
    assert first.effective.value == judges_result.effective.value
    assert first.aggregators == ()
    assert len(judges_result.aggregators) >= 4


def test_one_class_labels_change_no_correlation(judges_result):
    votes = family_votes()
    other = study(flip_items(votes, votes.labels == 0))
    assert other.orientation == "symmetric"
    assert list(other.effective) == list(judges_result.effective)
    assert np.isnan(other.leaning).all()
    assert any("Every label is 1" in warning for warning in other.warnings)


def test_a_constant_judge_is_shown_but_set_aside():
    votes = flip_items(family_votes(), family_votes().labels == 0)
    cells = np.array(votes.votes)
    cells[:, 2] = 0
    result = study(replace(votes, votes=cells))
    j = result.judges.index("judge02")
    assert result.set_aside.tolist() == [False] * 8 + [True]
    assert j == 8
    assert result.constant[j]
    assert result.accuracy.value[j] == 0.0
    assert (result.cluster[j], result.nearest[j]) == (0, "")
    assert result.weights[:, j].tolist() == [0.0] * len(result.aggregators)
    assert result.n_effective == 8
    assert len(result.frame()) == 9


def test_leaning_is_votes_for_one_less_labels_of_one():
    votes = family_votes(missing=0.3)
    result = study(votes)
    for j in range(votes.n_judges):
        cast = votes.votes[:, j] >= 0
        expected = votes.votes[cast, j].mean() - votes.labels[cast].mean()
        assert result.leaning[j] == pytest.approx(expected)


def test_unlabelled_items_count_for_coverage_only(judges_result):
    votes = family_votes()
    more = 100
    labels = np.concatenate([votes.labels, np.full(more, -1, np.int8)])
    cells = np.concatenate([votes.votes, np.ones((more, 9), np.int8)])
    cells[-50:, 0] = -1
    ids = tuple(f"i{i}" for i in range(len(labels)))
    other = study(replace(votes, votes=cells, labels=labels, item_ids=ids))
    assert list(other.effective) == list(judges_result.effective)
    np.testing.assert_array_equal(other.accuracy.value, judges_result.accuracy.value)
    assert other.coverage[0] == pytest.approx(0.9)


def test_a_part_of_the_judges_can_be_studied():
    votes = family_votes()
    result = study(votes, JudgesSpec(contract.Settings(splits=4, judges=votes.judges[:5])))
    assert (result.judges, result.n_effective) == (votes.judges[:5], 5)


def test_one_judge_is_worth_one():
    result = study(family_votes(codes=[0]), JudgesSpec(contract.Settings(splits=4)))
    assert (result.effective.value, result.n_pairs) == (1.0, 0)
    assert result.frame()["nearest"].tolist() == [""]
    assert content(codec.from_plain(Judges, codec.to_plain(result))) == content(result)


def test_judges_without_items_in_common_are_said_to_be_unknown():
    cells = np.full((40, 4), -1, np.int8)
    for i in range(40):
        cells[i, i % 4] = (i // 4) % 2
    result = study(replace(make_votes(0, 40, 4), votes=cells))
    assert np.isnan(result.effective.value)
    assert result.known_pairs == 0
    assert len(result.order) == 0
    assert any("In no cluster, for want of errors" in text for text in result.warnings)


def test_few_labels_sparse_pairs_and_chance_clusters_are_warned_of():
    assert "Only 30 items are labelled" in " ".join(study(family_votes(n_items=30)).warnings)
    sparse = study(family_votes(1, 120, missing=0.93, codes=list(range(12))))
    text = " ".join(sparse.warnings)
    assert sparse.stable_clusters == 0
    assert "as chance" in text or "no clusters to tell apart" in text


def test_groups_stay_whole_in_every_half():
    """Every item ten times over in one group: intervals as wide as those of the items once."""
    once = family_votes(5, 60)
    rows = np.repeat(np.arange(60), 10)
    many = replace(
        once,
        votes=once.votes[rows],
        labels=once.labels[rows],
        item_ids=tuple(f"r{i}" for i in range(600)),
        groups=tuple(f"g{row}" for row in rows),
    )
    spec = JudgesSpec(contract.Settings(splits=100))
    narrow = study(replace(many, groups=None), spec).correlation
    grouped, single = study(many, spec).correlation, study(once, spec).correlation
    width = single.hi - single.lo
    assert grouped.hi - grouped.lo == pytest.approx(width, rel=0.35)
    assert narrow.hi - narrow.lo < 0.5 * width


def test_a_large_panel_keeps_its_map_small(monkeypatch):
    monkeypatch.setattr(module, "MAP_JUDGES", 4)
    votes = family_votes()
    cells = np.array(votes.votes)
    cells[:200, 4:] = -1
    result = study(replace(votes, votes=cells))
    assert sorted(result.order) == [0, 1, 2, 3]
    assert len(result.map_correlation) == 6
    assert any("the 4 judges with the most labelled votes" in text for text in result.warnings)


@pytest.mark.simulation
@pytest.mark.parametrize("missing", [0.0, 0.8])
def test_the_interval_of_the_mean_correlation_covers_the_truth(missing):
    codes = np.arange(16) % 4
    big = panel(np.random.default_rng(0), 100_000, codes, 0.4, 0.2)
    truth = error_correlation(error_counts(big, np.ones(len(big), np.int8))).mean
    spec = JudgesSpec(contract.Settings(splits=30))
    hits = 0
    for seed in range(60):
        right = panel(np.random.default_rng(seed + 1), 250, codes, 0.4, 0.2, missing=missing)
        cast, ones = np.where(right == 0, -1, right > 0).astype(np.int8), np.ones(250, np.int8)
        votes = replace(make_votes(0, 250, 16), votes=cast, labels=ones)
        pieces = [run_chunk(votes, spec, chunk) for chunk in JUDGES.plan(spec)[:3]]
        partial = results.combine(results.combine(pieces[0], pieces[1]), pieces[2])
        interval = merge(votes, spec, partial).correlation
        hits += interval.lo <= truth <= interval.hi
    assert 52 <= hits <= 60


def test_llmbar_evaluators_cluster_by_model(real_votes):
    votes = load_votes(
        real_votes("llmbar_votes.csv"), judge_table=real_votes("llmbar_judges.csv")
    ).votes
    result = study(votes, JudgesSpec(contract.Settings(splits=10)))
    assert result.families.rand > 0.9
    assert 2.5 < result.effective.value < 3.2
    assert result.effective.lo < result.effective.value < result.effective.hi
    assert result.judges == contract.prepare(votes, SPEC.settings).judges


def test_abilities_are_those_of_the_two_parameter_model(judges_result):
    votes = family_votes()
    fit = fit_two_pl(signed(votes.votes) * signed(votes.labels)[:, None])
    np.testing.assert_allclose(judges_result.ability.value, fit.theta)
    np.testing.assert_allclose(judges_result.discrimination.value, np.exp(fit.log_alpha))
    for value, lo, hi in (judges_result.ability, judges_result.discrimination):
        assert (lo < value).all()
        assert (value < hi).all()
    assert (judges_result.discrimination.value > 0).all()


def test_a_model_that_does_not_come_to_rest_is_said_to_be_rough(judges_result):
    votes = family_votes()
    pieces = [run_chunk(votes, SPEC, chunk) for chunk in JUDGES.plan(SPEC)]
    last = pieces[-1]
    shaky = replace(last, fitted=replace(last.fitted, converged=False))
    warned = merge(votes, SPEC, shaky).warnings
    assert any("did not come to rest" in text for text in warned)
    assert not any("did not come to rest" in text for text in judges_result.warnings)


def test_a_judge_without_a_labelled_vote_has_no_ability_and_no_weight_of_its_own():
    votes = family_votes()
    cells = np.array(votes.votes)
    cells[:, 3] = -1
    result = study(replace(votes, votes=cells))
    assert result.judges[-1] == votes.judges[3]
    assert result.set_aside.tolist() == [False] * (votes.n_judges - 1) + [True]
    assert np.isnan(list(result.ability[-1])).all()
    assert np.isfinite(list(result.ability[:-1])).all()
    assert result.n_effective == 8
    assert np.isfinite(result.weights).all()
