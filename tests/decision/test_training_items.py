"""Items that a panel was fitted on are recognised; chance matches are not."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

from judgepanel.decision.training_items import (
    ALPHA,
    MOST_ROWS,
    _exceeds,
    rows_content,
    seen_items,
    seen_sentences,
)
from judgepanel.votes import load_votes
from tests.helpers import flip_items, larger, make_votes

SALT = "0" * 64


def compared(past, new, judges=None, known=None):
    judges = past.judges if judges is None else judges
    known = judges if known is None else known
    rows = rows_content(past, judges, known, SALT)
    return seen_items(rows, new, judges, known, SALT)


def renamed(votes):
    return replace(votes, item_ids=tuple(f"new{i}" for i in range(votes.n_items)))


def halves(votes, seed=0):
    order = np.random.default_rng(seed).permutation(votes.n_items)
    half = votes.n_items // 2
    return votes.with_items(order[:half]), votes.with_items(order[half:])


@pytest.fixture(scope="module")
def votes():
    return make_votes(0, 200, 20, missing=0.1)


def test_items_are_known_again_whatever_was_done_to_the_file(votes):
    past, new = halves(votes)
    mixed = votes.with_items(np.arange(votes.n_items))
    old = np.array([name in set(past.item_ids) for name in mixed.item_ids])
    swapped = flip_items(mixed, np.random.default_rng(1).random(mixed.n_items) < 0.5)
    more = replace(
        mixed,
        votes=np.concatenate([mixed.votes, mixed.votes[:, :1]], axis=1),
        judges=(*mixed.judges, "stranger"),
    )
    for file in (mixed, mixed.with_judges(mixed.judges[::-1]), swapped, more):
        seen = compared(past, file)
        assert (seen.rows == old).all()
        assert (seen.by_id == old).all()
        seen = compared(past, renamed(file))
        assert (seen.by_votes == old).all()
        assert not seen.by_id.any()
    assert not compared(past, new).rows.any()


def test_pointwise_items_have_no_swap(votes):
    past = votes.with_task("pointwise")
    flipped = flip_items(past, np.ones(past.n_items, bool))
    assert not compared(past, flipped).rows.any()
    assert compared(past, past).wholly


def test_a_few_items_are_enough_where_id_and_rare_votes_agree(votes):
    past, new = halves(votes)
    again = past.item_ids[3:6]
    remaining = [n for n, name in enumerate(votes.item_ids) if name in {*new.item_ids, *again}]
    file = votes.with_items(np.array(remaining))
    seen = compared(past, file)
    assert {file.item_ids[i] for i in np.flatnonzero(seen.rows)} == set(again)
    assert not seen.wholly
    (sentence,) = seen_sentences(seen, file.item_ids)
    assert sentence.startswith(
        f"3 of {file.n_items} items have the id and the votes of an item the panel was fitted on: "
    )
    assert all(f"'{name}'" in sentence for name in again)
    assert sentence.endswith("scores of seen items flatter.")


@pytest.mark.parametrize("n_judges", [1, 3, 5])
def test_few_judges_agree_by_chance_and_that_is_no_evidence(n_judges):
    for seed in range(20):
        past, new = halves(make_votes(seed, 200, n_judges, missing=0.0), seed)
        new = replace(new, item_ids=past.item_ids)
        assert not compared(past, new).rows.any()


def test_few_judges_and_all_the_same_ids_are_evidence():
    votes = make_votes(0, 200, 4, missing=0.0, low=0.55, high=0.6)
    assert compared(votes, votes).wholly
    assert not compared(votes, renamed(votes)).rows.any()


def test_judges_left_out_help_to_tell_items_apart(votes):
    past, _ = halves(votes)
    judges, everyone = votes.judges[:2], votes.judges
    file = renamed(votes)
    old = np.array([name in set(past.item_ids) for name in votes.item_ids])
    assert (compared(past, file, judges, everyone).rows == old).all()
    assert not compared(past, file.with_judges(judges), judges, everyone).rows.any()


def test_nothing_is_known_without_hashes_or_with_judges_absent(votes):
    for seen in (
        seen_items(None, votes, votes.judges, votes.judges, SALT),
        compared(votes, votes.with_judges(votes.judges[1:]), judges=votes.judges),
    ):
        assert not seen.checked
        assert not seen.rows.any()


def test_items_without_votes_are_never_known_again(votes):
    blank = replace(votes, votes=np.full_like(votes.votes, -1))
    seen = compared(blank, blank)
    assert not seen.rows.any()
    assert not seen.wholly


def test_hashes_are_sorted_bounded_and_tell_no_order(votes, monkeypatch):
    rows = rows_content(votes, votes.judges, votes.judges, SALT)
    assert rows["votes_of_all"] is None
    assert rows["votes"] == sorted(rows["votes"])
    assert {len(entry) for entry in rows["votes"] + rows["id_and_votes"]} == {16}
    shuffled = votes.with_items(np.random.default_rng(0).permutation(votes.n_items))
    assert rows_content(shuffled, votes.judges[::-1], votes.judges, SALT) == rows
    other = rows_content(votes, votes.judges, votes.judges, "1" * 64)
    assert not set(other["votes"]) & set(rows["votes"])
    assert MOST_ROWS == 20_000
    monkeypatch.setattr("judgepanel.decision.training_items.MOST_ROWS", 50)
    few = rows_content(votes, votes.judges, votes.judges, SALT)
    assert few["n_items"] == 200
    assert few["votes"] == rows["votes"][:50]


@pytest.mark.parametrize("name", ["llmbar", *map(larger, ("rewardbench", "mozafari", "sentpop"))])
def test_real_judges_agree_often_and_are_rarely_taken_for_seen_items(real_votes, name):
    """New halves with ids that are row numbers, panels of 5 to 60 judges at random."""
    votes = load_votes(real_votes(f"{name}_votes.csv")).votes
    rng = np.random.default_rng(0)
    warned = 0
    for seed in range(10):
        judges = [votes.judges[j] for j in rng.choice(votes.n_judges, 5 + seed * 4, replace=False)]
        past, new = halves(votes, seed)
        past, new = renamed(past), renamed(new)
        warned += compared(past, new, judges).rows.any()
    assert warned <= 1


@given(trials=st.integers(0, 400), share=st.floats(0, 1), chance=st.floats(0, 1))
def test_matches_exceed_where_the_binomial_distribution_says_so(trials, share, chance):
    matches = round(trials * share)
    p = stats.binom.sf(matches - 1, trials, chance)
    assume(abs(p - ALPHA) > 1e-12)
    assert _exceeds(matches, trials, chance) == (matches > 0 and p < ALPHA)
