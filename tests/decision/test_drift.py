"""Drift: counts by hand, size and power of the test, effects of swaps and groups."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from judgepanel.decision.training_items import (
    FEWEST_GROUPS,
    drift_of,
    drift_sentences,
    profile_content,
)
from judgepanel.scoring.clustered import rank_p
from judgepanel.votes import MISSING, VoteMatrix
from tests.helpers import flip_items, make_votes


def votes_of(rng, n_items, accuracy, missing=0.1, groups=0):
    """Judges of this accuracy on items some of which are harder for all of them."""
    labels = rng.integers(0, 2, n_items)
    logit = np.log(accuracy / (1 - accuracy)) + rng.normal(size=(n_items, 1))
    right = rng.random((n_items, len(accuracy))) < 1 / (1 + np.exp(-logit))
    votes = np.where(right, labels[:, None], 1 - labels[:, None])
    votes = np.where(rng.random(votes.shape) < missing, MISSING, votes)
    return VoteMatrix(
        votes.astype(np.int8),
        labels.astype(np.int8),
        tuple(f"i{i}" for i in range(n_items)),
        tuple(f"j{j}" for j in range(len(accuracy))),
        groups=tuple(f"g{i % groups}" for i in range(n_items)) if groups else None,
    )


def compared(past, new, **options):
    options = {"as_given": True, **options}
    return drift_of(profile_content(past, past.judges), past.judges, new, **options)


def test_counts_are_those_of_a_loop():
    votes = make_votes(0, 50, 5, missing=0.3)
    content = profile_content(votes, votes.judges)
    for j in range(5):
        agreed = tried = 0
        for row in votes.votes:
            others = [int(v) for i, v in enumerate(row) if i != j and v >= 0]
            majority = sum(others) * 2 - len(others)
            if row[j] >= 0 and majority:
                tried += 1
                agreed += row[j] == (majority > 0)
        assert (content["compared"][j], content["agreed"][j]) == (tried, agreed)
        assert content["voted"][j] == (votes.votes[:, j] >= 0).sum()
        assert content["ones"][j] == (votes.votes[:, j] == 1).sum()
    assert content["n_votes"] == np.bincount(votes.n_votes, minlength=6).tolist()
    assert content["effects"] == {name: [1.0] * 5 for name in ("voted", "ones", "agreed")}


def test_p_values_are_fishers_and_holms():
    past, new = make_votes(0, 80, 3, missing=0.2), make_votes(1, 60, 3, missing=0.4)
    drift = compared(past, new)
    frame = drift.frame()
    for row in frame[frame["measure"] == "voted"].itertuples():
        hits, others = round(row.before * 80), round(row.after * 60)
        exact = stats.fisher_exact([[hits, 80 - hits], [others, 60 - others]])[1]
        assert row.p == pytest.approx(exact, abs=0.15)
        assert row.p >= exact - 1e-9 or row.p > 0.05
    p = np.sort(frame["p"])
    assert frame["p_holm"].min() == pytest.approx(min(1.0, p[0] * len(p)))
    assert len(frame) == 3 * 3 + 1


def test_votes_an_item_are_compared_by_wilcoxons_test():
    past, new = make_votes(0, 80, 4, missing=0.2), make_votes(1, 60, 4, missing=0.4)
    (change,) = [
        one_change for one_change in compared(past, new).changes if one_change.measure == "n_votes"
    ]
    new_items = np.repeat([0.0, 1.0], [80, 60])
    assert change.p == pytest.approx(rank_p(new_items, np.append(past.n_votes, new.n_votes)))
    assert change.before == pytest.approx(past.n_votes.mean())
    assert change.after == pytest.approx(new.n_votes.mean())


def test_counts_that_no_votes_can_have_are_no_error():
    """A panel file is anybody's: huge counts and effects give no warning and take no memory."""
    votes = make_votes(0, 40, 3)
    profile = profile_content(votes, votes.judges)
    huge = {
        **profile,
        **{name: [10**12] * 3 for name in ("voted", "ones", "compared", "agreed")},
        "n_items": 10**12,
        "n_votes": [0, 0, 0, 10**12],
    }
    none = {**profile, "effects": {name: [1e12] * 3 for name in profile["effects"]}}
    for crafted in (huge, none):
        drift = drift_of(crafted, votes.judges, votes, as_given=True)
        assert all(np.isfinite([c.before, c.after]).all() for c in drift.changes)
    assert not drift_of(none, votes.judges, votes, as_given=True).significant


@pytest.mark.parametrize(
    ("n_judges", "remaining", "n_past", "n_new", "as_given", "groups"),
    [(8, 8, 200, 200, True, 0), (60, 5, 80, 500, False, 0), (6, 6, 200, 200, True, 20)],
    ids=["all judges", "the best few, symmetric", "groups"],
)
def test_without_drift_at_most_one_file_in_twenty_warns(
    n_judges, remaining, n_past, n_new, as_given, groups
):
    rng = np.random.default_rng(0)
    warned = 0
    for _ in range(100):
        accuracy = rng.uniform(0.6, 0.7, n_judges)
        past = votes_of(rng, n_past, accuracy, groups=groups)
        right = (past.votes == past.labels[:, None]).sum(axis=0) / (past.votes >= 0).sum(axis=0)
        best = [past.judges[j] for j in np.argsort(-right)[:remaining]]
        new = votes_of(rng, n_new, accuracy, groups=groups)
        past, new = past.with_judges(best), new.with_judges(best)
        chosen = remaining < n_judges
        warned += bool(compared(past, new, as_given=as_given, chosen=chosen).significant)
    assert stats.binomtest(warned, 100, 0.05, alternative="greater").pvalue > 0.05
    assert warned <= 9


@pytest.mark.parametrize("as_given", [True, False])
def test_a_broken_judge_is_found_and_named(as_given):
    rng = np.random.default_rng(1)
    by_name = {"random": 0, "absent": 0, "constant": 0}
    accuracy = np.full(8, 0.75)
    for _ in range(20):
        past, new = (votes_of(rng, 300, accuracy) for _ in range(2))
        spoilt = {
            "random": rng.integers(0, 2, 300),
            "absent": np.where(rng.random(300) < 0.25, MISSING, new.votes[:, 2]),
            "constant": np.ones(300),
        }
        for name, column in spoilt.items():
            votes = new.votes.copy()
            votes[:, 2] = column
            drift = compared(past, replace(new, votes=votes), as_given=as_given)
            by_name[name] += any(change.judge == "j2" for change in drift.significant)
    assert min(by_name.values()) >= 16


def test_swapped_pairs_are_no_drift_unless_their_order_has_a_meaning():
    rng = np.random.default_rng(2)
    past = votes_of(rng, 300, np.full(6, 0.75))
    one_class = flip_items(past, past.labels == 0)
    measures = {change.measure for change in compared(past, one_class).significant}
    assert measures == {"ones"}
    drift = compared(past, one_class, as_given=False)
    assert drift.significant == ()
    assert {change.measure for change in drift.changes} == {"voted", "agreed", "n_votes"}
    assert drift.distance == 0.0
    assert drift_sentences(drift) == []


def copied(votes, times):
    """Every item so many times, as one group."""
    rows = np.repeat(np.arange(votes.n_items), times)
    return VoteMatrix(
        votes.votes[rows],
        votes.labels[rows],
        tuple(f"i{i}" for i in range(len(rows))),
        votes.judges,
        groups=tuple(f"g{row}" for row in rows),
    )


def test_groups_of_copies_count_once():
    rng = np.random.default_rng(3)
    past, new = (copied(votes_of(rng, 30, np.full(4, 0.7)), 30) for _ in range(2))
    assert not compared(past, new).significant
    assert compared(replace(past, groups=None), replace(new, groups=None)).significant
    assert not compared(past, replace(new, groups=None)).significant
    once = replace(past, groups=None)
    assert compared(past, new).expected > 3 * compared(once, replace(new, groups=None)).expected


def in_groups(rng, n_groups, size=25, n_judges=8):
    """Whether a judge votes is decided for whole groups: at 8 groups tests cannot be trusted."""
    votes = votes_of(rng, n_groups * size, np.linspace(0.6, 0.8, n_judges), 0.0, n_groups)
    missing = rng.random((n_groups, n_judges)) < 0.3
    rows = np.array([int(name[1:]) for name in votes.groups])
    return replace(votes, votes=np.where(missing[rows], MISSING, votes.votes).astype(np.int8))


def test_with_few_groups_nothing_is_compared_and_one_sentence_says_so():
    rng = np.random.default_rng(0)
    few, enough = in_groups(rng, 8), in_groups(rng, FEWEST_GROUPS)
    for past, new, says in (
        (enough, few, "this file has 8 groups of items"),
        (few, enough, "the panel was fitted on fewer than 15 groups of items"),
        (few, replace(enough, groups=None), "the panel was fitted on fewer than 15 groups"),
    ):
        drift = compared(past, new)
        assert (drift.changes, drift.significant, len(drift.frame())) == ((), (), 0)
        (sentence,) = drift_sentences(drift)
        assert sentence.startswith("Whether these votes are like those")
        assert says in sentence
    assert compared(enough, enough).changes
    alone = make_votes(0, 10, 3)
    named = replace(alone, groups=alone.item_ids)
    assert compared(named, named).changes


@pytest.mark.simulation
def test_without_drift_few_groups_do_not_warn_and_enough_warn_rarely():
    rng = np.random.default_rng(1)
    for n_groups, most in ((8, 0), (FEWEST_GROUPS, 12)):
        pairs = ((in_groups(rng, n_groups), in_groups(rng, n_groups)) for _ in range(120))
        assert sum(bool(compared(past, new).significant) for past, new in pairs) <= most


def test_absent_judges_are_not_compared_and_agreement_is_not_either():
    rng = np.random.default_rng(4)
    past, new = (votes_of(rng, 100, np.full(5, 0.7)) for _ in range(2))
    drift = compared(past, new.with_judges(new.judges[1:]))
    assert {change.measure for change in drift.changes} == {"voted", "ones"}
    assert {change.judge for change in drift.changes} == set(new.judges[1:])


def test_the_sentence_names_judges_with_numbers():
    rng = np.random.default_rng(5)
    past = votes_of(rng, 300, np.full(5, 0.75), missing=0.0)
    votes = past.votes.copy()
    votes[:150, 1] = MISSING
    (sentence,) = drift_sentences(compared(past, replace(past, votes=votes)))
    assert "votes cast of 'j1' 100 % of 300 then, 50 % of 300 now (p < .001)" in sentence
    assert "votes per item 5.0 then, 4.5 now" in sentence


def test_one_judge_and_one_item_are_no_error():
    votes = make_votes(0, 1, 1)
    assert compared(votes, votes).significant == ()
    blank = replace(votes, votes=np.full((1, 1), MISSING, np.int8))
    assert compared(votes, blank).significant == ()
