"""Copies of items are detected by votes, ids or features; items that are merely alike are not."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgepanel.votes import VoteMatrix, checks
from judgepanel.votes.simulate import SAMPLES, SimulationSpec, sample_votes, simulate
from tests.helpers import flip_items

WORLDS = {
    "coins": SimulationSpec(n_items=80, n_judges=12, accuracy_low=0.5, accuracy_high=0.51, seed=3),
    "difficult": SimulationSpec(n_items=150, n_judges=20, difficulty_sd=2.5, seed=1),
    "families": SimulationSpec(n_items=300, n_judges=40, n_families=4, family_rho=0.9, seed=2),
    "near-copies": SimulationSpec(n_items=150, n_judges=20, copies=5, copy_flip=0.0, seed=4),
    "easy": SimulationSpec(n_items=300, n_judges=12, accuracy_low=0.93, accuracy_high=0.98, seed=5),
    "lopsided": SimulationSpec(n_items=300, n_judges=12, base_rate=0.05, seed=6),
    "gaps": SimulationSpec(n_items=300, n_judges=20, parse_rate=0.9, seed=7),
    "many": SimulationSpec(n_items=600, n_judges=60, difficulty_sd=1.0, seed=11),
    "humans": SimulationSpec(n_items=300, n_judges=40, votes_per_item=5, seed=8),
    "three judges": SimulationSpec(n_items=300, n_judges=3, seed=9),
    "one judge": SimulationSpec(n_items=300, n_judges=1, seed=10),
}
TOLD_APART = [name for name in WORLDS if name != "one judge"]


def taken(votes, rows, ids=None):
    """Items by position, some more than once, under new ids that say nothing."""
    rows = np.asarray(rows)
    features = None if votes.features is None else votes.features.iloc[rows].reset_index(drop=True)
    return VoteMatrix(
        votes=votes.votes[rows],
        labels=votes.labels[rows],
        item_ids=tuple(ids or (f"{n}th" for n in range(len(rows)))),
        judges=votes.judges,
        task=votes.task,
        groups=None if votes.groups is None else tuple(votes.groups[i] for i in rows),
        features=features,
    )


def times(votes, copies):
    return taken(votes, np.tile(np.arange(votes.n_items), copies))


@pytest.mark.parametrize("sample", [sample.name for sample in SAMPLES])
def test_a_sample_holds_no_copies(sample):
    assert not checks.find_repeats(sample_votes(sample)).repeats.evidence


@pytest.mark.parametrize("world", WORLDS)
def test_items_that_are_alike_are_not_called_copies(world):
    votes = simulate(WORLDS[world])
    assert not checks.find_repeats(votes).repeats.evidence
    assert checks.check_repeats(votes).outcome in ("pass", "not applicable")


@pytest.mark.parametrize("copies", [2, 3, 4])
@pytest.mark.parametrize("world", TOLD_APART)
def test_a_file_with_all_items_several_times_is_found(world, copies):
    votes = simulate(WORLDS[world])
    outcome = checks.find_repeats(times(votes, copies))
    assert outcome.repeats.apart
    assert (outcome.repeats.n_sets, outcome.repeats.largest) == (votes.n_items, copies)
    assert outcome.repeats.n_repeated == copies * votes.n_items


@pytest.mark.parametrize("world", ["families", "gaps", "many"])
def test_a_fifth_of_the_items_copied_is_found(world):
    votes = simulate(WORLDS[world])
    copied = np.arange(0, votes.n_items, 5)
    outcome = checks.find_repeats(taken(votes, [*range(votes.n_items), *copied]))
    assert outcome.repeats.apart
    assert 0.6 * len(copied) <= outcome.repeats.n_sets <= 1.1 * len(copied)
    assert checks.check_repeats(taken(votes, [*range(votes.n_items), *copied])).outcome == "fail"


@pytest.mark.parametrize("world", ["difficult", "humans", "easy"])
def test_copies_with_the_responses_swapped_are_found_in_pairs_only(world):
    votes = simulate(WORLDS[world])
    both = flip_items(times(votes, 2), np.repeat([False, True], votes.n_items))
    repeats = checks.find_repeats(both).repeats
    assert (repeats.swapped, repeats.apart, repeats.n_sets) == (True, True, votes.n_items)
    assert not checks.find_repeats(both.with_task("pointwise")).repeats.evidence


def test_copies_of_a_whole_file_with_features_are_told_apart_from_items_that_are_alike():
    votes = sample_votes("llmbar")
    repeats = checks.find_repeats(times(votes, 3)).repeats
    assert (repeats.n_sets, repeats.smallest, repeats.largest) == (votes.n_items, 3, 3)
    assert repeats.evidence == ("votes", "features")


def test_where_there_is_one_judge_the_votes_cannot_tell_and_ids_or_features_can():
    votes = simulate(WORLDS["one judge"])
    assert not checks.find_repeats(times(votes, 2)).repeats.evidence
    check = checks.check_repeats(times(votes, 2))
    assert check.outcome == "not applicable"
    assert "cannot be told from votes" in check.why
    rows = np.tile(np.arange(votes.n_items), 2)
    ids = [f"q{i}" + ("_copy1" if n >= votes.n_items else "") for n, i in enumerate(rows)]
    assert checks.find_repeats(taken(votes, rows, ids)).repeats.evidence == ("ids",)
    numbered = [f"prompt{i}-{n // votes.n_items}" for n, i in enumerate(rows)]
    assert checks.find_repeats(taken(votes, rows, numbered)).repeats.evidence == ("ids",)
    length = pd.DataFrame({"length": np.random.default_rng(0).normal(size=votes.n_items)})
    known = checks.find_repeats(taken(replace(votes, features=length), rows)).repeats
    assert (known.evidence, known.n_sets) == (("features",), votes.n_items)


def test_ids_that_share_a_beginning_are_no_copies_when_their_votes_differ():
    votes = simulate(WORLDS["one judge"])
    ids = tuple(f"prompt{i // 2}-{i % 2}" for i in range(votes.n_items))
    assert not checks.find_repeats(replace(votes, item_ids=ids)).repeats.evidence
    named = tuple(f"q_copy{i}" for i in range(votes.n_items))
    assert not checks.find_repeats(replace(votes, item_ids=named)).repeats.evidence


def test_grouping_keeps_copies_together_and_merges_the_groups_of_a_file():
    votes = simulate(WORLDS["difficult"])
    twice = times(votes, 2)
    alone = checks.group_copies(twice)
    assert len(set(alone.groups)) == votes.n_items
    remaining = pd.DataFrame({"group": alone.groups, "row": [row.tobytes() for row in twice.votes]})
    assert (remaining.groupby("group").size() == 2).all()
    assert all(len(set(rows)) == 1 for _, rows in remaining.groupby("group")["row"])
    assert not checks.find_repeats(alone).repeats.apart
    pairs = replace(twice, groups=tuple(f"g{i // 2}" for i in range(twice.n_items)))
    merged = checks.group_copies(pairs)
    assert not checks.find_repeats(merged).repeats.apart
    both = pd.DataFrame({"before": pairs.groups, "after": merged.groups})
    assert all(len(set(names)) == 1 for _, names in both.groupby("before")["after"])


def test_copies_inside_the_groups_of_a_file_are_no_trouble():
    votes = simulate(WORLDS["many"])
    rows = np.tile(np.arange(votes.n_items), 3)
    vote_matrix = replace(taken(votes, rows), groups=tuple(f"g{i}" for i in rows))
    assert not checks.find_repeats(vote_matrix).repeats.apart
    assert checks.check_repeats(vote_matrix).outcome == "pass"


def test_unlabelled_items_are_left_alone():
    votes = times(simulate(WORLDS["coins"]), 4)
    labels = np.where(np.arange(votes.n_items) < 80, votes.labels, np.int8(-1)).astype(np.int8)
    assert not checks.find_repeats(replace(votes, labels=labels)).repeats.evidence
    none = checks.find_repeats(replace(votes, labels=np.full(votes.n_items, -1, np.int8)))
    assert none.repeats.n_items == 0
    assert not none.repeats.evidence


def test_the_sentence_says_how_many_what_follows_and_what_to_do():
    votes = times(simulate(WORLDS["coins"]), 4)
    assert checks.repeats_sentence(checks.find_repeats(votes).repeats) == (
        "Items repeat: 80 groups of 4 identical items are counted as independent; the expected "
        "NLL is too good. Keep them together with --group-duplicates, or with 'Group them' on "
        "Start or Scope."
    )
    check = checks.check_repeats(votes, group_duplicates=True)
    assert (check.outcome, check.numbers["largest set"]) == ("pass", 4)
    assert checks.repeats_sentence(checks.find_repeats(simulate(WORLDS["coins"])).repeats) == ""


@settings(max_examples=25)
@given(
    seed=st.integers(0, 2**16), copies=st.sampled_from([1, 1.2, 2, 3]), judges=st.integers(1, 24)
)
def test_order_of_items_and_judges_and_ids_change_nothing(seed, copies, judges):
    rng = np.random.default_rng(seed)
    votes = simulate(SimulationSpec(n_items=60, n_judges=judges, difficulty_sd=1.0, seed=seed))
    rows = np.arange(round(60 * copies)) % 60
    first = taken(votes, rows)
    order, names = rng.permutation(len(rows)), rng.permutation(judges)
    other = taken(votes, rows[order], [f"{rng.bytes(6).hex()}x{n}z" for n in order])
    other = other.with_judges([other.judges[j] for j in names])
    left, right = checks.find_repeats(first), checks.find_repeats(other)
    assert left.repeats == right.repeats
    same = [sorted(np.bincount(part.sets[part.sets >= 0]).tolist()) for part in (left, right)]
    assert same[0] == same[1]
    assert ((left.sets >= 0)[order] == (right.sets >= 0)).all()


def test_few_votes_give_the_figures_of_full_arrays(monkeypatch):
    rng = np.random.default_rng(0)
    votes = rng.choice([0, 1], (300, 40)).astype(np.int8)
    votes[rng.random(votes.shape) < 0.97] = -1
    labels = rng.choice([0, 1], 300).astype(np.int8)
    every = np.arange(300)
    sparse = checks.log_chance(votes, labels, every)
    monkeypatch.setattr(checks, "_FEW", 0.0)
    np.testing.assert_allclose(sparse, checks.log_chance(votes, labels, every), rtol=1e-12)
    assert (sparse[(votes >= 0).any(axis=1)] < 0.0).all()
    assert (sparse[(votes < 0).all(axis=1)] == 0.0).all()


def test_the_figures_of_rows_depend_on_no_silent_judge_and_not_on_which_rows_are_asked_for():
    rng = np.random.default_rng(1)
    votes = rng.choice([-1, 0, 1], (300, 9)).astype(np.int8)
    labels = rng.choice([0, 1], 300).astype(np.int8)
    some = rng.permutation(300)[:40]
    wanted = checks.log_chance(votes, labels, np.arange(300))[some]
    with_silent = np.column_stack([votes, np.full(300, -1, dtype=np.int8)])
    for cells in (votes, with_silent):
        np.testing.assert_allclose(checks.log_chance(cells, labels, some), wanted, rtol=1e-12)
