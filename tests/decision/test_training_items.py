"""Items that a panel was fitted on are recognised; chance matches are not."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

from judgepanel.decision import training_items
from judgepanel.decision.training_items import MOST_ROWS
from judgepanel.scoring.clustered import rank_p
from judgepanel.scoring.conformal import LEVELS, labels_needed, nonconformity, threshold
from judgepanel.votes import MISSING, load_votes
from tests.helpers import flip_items, larger, make_votes, matrix_of, panel_from

SALT = "0" * 64


def compared(past, new, judges=None, known=None):
    judges = past.judges if judges is None else judges
    known = judges if known is None else known
    rows = training_items.rows_content(past, judges, known, SALT)
    return training_items.seen_items(rows, new, judges, known, SALT)


def renamed(votes):
    return replace(votes, item_ids=tuple(f"new{i}" for i in range(votes.n_items)))


def halves(votes, seed=0):
    order = np.random.default_rng(seed).permutation(votes.n_items)
    half = votes.n_items // 2
    return votes.with_items(order[:half]), votes.with_items(order[half:])


VOTES = make_votes(0, 200, 20, missing=0.1)


def test_items_are_known_again_whatever_was_done_to_the_file():
    past, new = halves(VOTES)
    mixed = VOTES.with_items(np.arange(VOTES.n_items))
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


def test_pointwise_items_have_no_swap():
    past = VOTES.with_task("pointwise")
    assert not compared(past, flip_items(past, np.ones(past.n_items, bool))).rows.any()
    assert compared(past, past).wholly


def test_a_few_items_are_enough_where_id_and_rare_votes_agree():
    past, new = halves(VOTES)
    again = past.item_ids[3:6]
    remaining = [n for n, name in enumerate(VOTES.item_ids) if name in {*new.item_ids, *again}]
    file = VOTES.with_items(np.array(remaining))
    seen = compared(past, file)
    assert {file.item_ids[i] for i in np.flatnonzero(seen.rows)} == set(again)
    assert not seen.wholly
    (sentence,) = training_items.seen_sentences(seen, file.item_ids)
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


def test_judges_left_out_help_to_tell_items_apart():
    past, _ = halves(VOTES)
    judges, all_judges = VOTES.judges[:2], VOTES.judges
    file = renamed(VOTES)
    old = np.array([name in set(past.item_ids) for name in VOTES.item_ids])
    assert (compared(past, file, judges, all_judges).rows == old).all()
    assert not compared(past, file.with_judges(judges), judges, all_judges).rows.any()


def test_nothing_is_known_without_hashes_or_with_judges_absent():
    for seen in (
        training_items.seen_items(None, VOTES, VOTES.judges, VOTES.judges, SALT),
        compared(VOTES, VOTES.with_judges(VOTES.judges[1:]), judges=VOTES.judges),
    ):
        assert not seen.checked
        assert not seen.rows.any()


def test_items_without_votes_are_never_known_again():
    blank = replace(VOTES, votes=np.full_like(VOTES.votes, -1))
    seen = compared(blank, blank)
    assert not seen.rows.any()
    assert not seen.wholly


def test_hashes_are_sorted_bounded_and_tell_no_order(monkeypatch):
    rows = training_items.rows_content(VOTES, VOTES.judges, VOTES.judges, SALT)
    assert (rows["votes_of_all"], rows["votes"]) == (None, sorted(rows["votes"]))
    assert {len(entry) for entry in rows["votes"] + rows["id_and_votes"]} == {16}
    shuffled = VOTES.with_items(np.random.default_rng(0).permutation(VOTES.n_items))
    assert training_items.rows_content(shuffled, VOTES.judges[::-1], VOTES.judges, SALT) == rows
    other = training_items.rows_content(VOTES, VOTES.judges, VOTES.judges, "1" * 64)
    assert not set(other["votes"]) & set(rows["votes"])
    assert MOST_ROWS == 20_000
    monkeypatch.setattr("judgepanel.decision.training_items.MOST_ROWS", 50)
    few = training_items.rows_content(VOTES, VOTES.judges, VOTES.judges, SALT)
    assert (few["n_items"], few["votes"]) == (200, rows["votes"][:50])


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
    assume(abs(p - training_items.ALPHA) > 1e-12)
    assert training_items._exceeds(matches, trials, chance) == (
        matches > 0 and p < training_items.ALPHA
    )


def alike(rng, n_groups, size, n_judges=7):
    """Groups of copies: nine items in ten have the votes and the label of their group's first."""
    n = n_groups * size
    group = np.repeat(np.arange(n_groups), size)
    source = np.where(rng.random(n) < 0.9, group * size, np.arange(n))
    labels = rng.integers(0, 2, n)
    logit = np.linspace(0.3, 1.6, n_judges) - rng.normal(0, 1.2, (n, 1))
    right = rng.random((n, n_judges)) < 1 / (1 + np.exp(-logit))
    votes = np.where(right, labels[:, None], 1 - labels[:, None])[source]
    return matrix_of(votes, labels[source], groups=tuple(f"g{g}" for g in group))


def test_one_item_of_each_group_makes_the_thresholds():
    parts = training_items.slices(make_votes(3, 100, 4, groups=25), 0.6, 0)
    held, model = parts.held_out, panel_from(parts.fitted, parts.fitted.n_judges)
    rows = training_items.one_each(held)
    assert sorted(held.groups[row] for row in rows) == sorted(set(held.groups))
    content = training_items.conformal_content(model, held, 0.6, {})
    assert content["n"] == len(rows) == len(set(held.groups)) < held.n_items
    scores = nonconformity(
        model.score(held.with_judges(model.judges).votes[rows]), held.labels[rows]
    )
    for level in content["levels"]:
        assert level["threshold"] == threshold(scores, level["level"])
        assert level["labels_needed"] == labels_needed(level["level"])


def test_without_groups_or_with_groups_of_one_every_item_counts():
    votes = make_votes(0, 60, 4)
    single = replace(votes, groups=tuple(f"g{i}" for i in range(60)))
    for entry in (votes, single):
        held = training_items.slices(entry, 0.4, 0).held_out
        assert training_items.one_each(held).tolist() == list(range(held.n_items))


def test_any_item_of_a_group_may_be_drawn():
    held = make_votes(0, 3000, 2, groups=1000)
    rows = training_items.one_each(held)
    names = np.array(held.groups)
    place = np.array([(names[:row] == names[row]).sum() for row in rows])
    threes = place[[(names == names[row]).sum() == 3 for row in rows]]
    assert np.bincount(threes, minlength=3).min() > 0.25 * len(threes)


def test_warnings_count_groups():
    votes = make_votes(3, 200, 4, groups=20)
    n = len(set(training_items.slices(votes, 0.3, 0).held_out.groups))
    (warning,) = training_items.held_out_warnings(votes, 0.3, 0)
    assert warning.startswith(f"The held-out slice has {n} groups of items, and sets at 90% need 9")
    assert training_items.held_out_warnings(votes, 0.6, 0) == []
    assert training_items.held_out_warnings(replace(votes, groups=None), 0.3, 0) == []


@pytest.mark.simulation
@pytest.mark.parametrize(("n_groups", "share"), [(20, 0.2), (30, 0.4)])
def test_sets_of_items_of_new_groups_hold_the_label_as_often_as_they_promise(n_groups, share):
    inside = []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        parts = training_items.slices(alike(rng, n_groups, 10), share, seed)
        model = panel_from(parts.fitted, parts.fitted.n_judges)
        fresh = alike(rng, 60, 10)
        content = training_items.conformal_content(model, parts.held_out, share, {})
        texts = training_items.set_texts(
            content, model.score(fresh.with_judges(model.judges).votes)
        )
        labels = [str(label) for label in fresh.labels]
        covered = [list(map(str.__contains__, sets, labels)) for sets in texts]
        inside.append(np.mean(covered, axis=1))
    mean, se = np.mean(inside, axis=0), np.std(inside, axis=0) / 60**0.5
    assert (mean + 2 * se >= LEVELS).all()


def votes_of(rng, n_items, accuracy, missing=0.1, groups=0):
    """Judges of this accuracy on items some of which are harder for all of them."""
    labels = rng.integers(0, 2, n_items)
    logit = np.log(accuracy / (1 - accuracy)) + rng.normal(size=(n_items, 1))
    right = rng.random((n_items, len(accuracy))) < 1 / (1 + np.exp(-logit))
    votes = np.where(right, labels[:, None], 1 - labels[:, None])
    votes = np.where(rng.random(votes.shape) < missing, MISSING, votes)
    names = tuple(f"g{i % groups}" for i in range(n_items)) if groups else None
    return matrix_of(votes, labels, groups=names)


def drift_compared(past, new, **options):
    options = {"as_given": True, **options}
    return training_items.drift_of(
        training_items.profile_content(past, past.judges), past.judges, new, **options
    )


def test_counts_are_those_of_a_loop():
    votes = make_votes(0, 50, 5, missing=0.3)
    content = training_items.profile_content(votes, votes.judges)
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
    frame = drift_compared(past, new).frame()
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
    changes = drift_compared(past, new).changes
    (change,) = [change for change in changes if change.measure == "n_votes"]
    new_items = np.repeat([0.0, 1.0], [80, 60])
    assert change.p == pytest.approx(rank_p(new_items, np.append(past.n_votes, new.n_votes)))
    assert change.before == pytest.approx(past.n_votes.mean())
    assert change.after == pytest.approx(new.n_votes.mean())


def test_counts_that_no_votes_can_have_are_no_error():
    """A panel file is anybody's: huge counts and effects give no warning and take no memory."""
    votes = make_votes(0, 40, 3)
    profile = training_items.profile_content(votes, votes.judges)
    huge = {
        **profile,
        **{name: [10**12] * 3 for name in ("voted", "ones", "compared", "agreed")},
        "n_items": 10**12,
        "n_votes": [0, 0, 0, 10**12],
    }
    none = {**profile, "effects": {name: [1e12] * 3 for name in profile["effects"]}}
    for crafted in (huge, none):
        drift = training_items.drift_of(crafted, votes.judges, votes, as_given=True)
        assert all(np.isfinite([c.before, c.after]).all() for c in drift.changes)
    assert not training_items.drift_of(none, votes.judges, votes, as_given=True).significant


@pytest.mark.parametrize(
    ("n_judges", "remaining", "n_past", "n_new", "as_given", "groups"),
    [(8, 8, 200, 200, True, 0), (60, 5, 80, 500, False, 0), (6, 6, 200, 200, True, 20)],
    ids=["all judges", "the best few, symmetric", "groups"],
)
def test_without_drift_at_most_one_file_in_20_warns(
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
        warned += bool(drift_compared(past, new, as_given=as_given, chosen=chosen).significant)
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
            drift = drift_compared(past, replace(new, votes=votes), as_given=as_given)
            by_name[name] += any(change.judge == "j2" for change in drift.significant)
    assert min(by_name.values()) >= 16


def test_swapped_pairs_are_no_drift_unless_their_order_has_a_meaning():
    past = votes_of(np.random.default_rng(2), 300, np.full(6, 0.75))
    one_class = flip_items(past, past.labels == 0)
    assert {change.measure for change in drift_compared(past, one_class).significant} == {"ones"}
    drift = drift_compared(past, one_class, as_given=False)
    assert drift.significant == ()
    assert {change.measure for change in drift.changes} == {"voted", "agreed", "n_votes"}
    assert drift.distance == 0.0
    assert training_items.drift_sentences(drift) == []


def copied(votes, times):
    """Every item so many times, as one group."""
    rows = np.repeat(np.arange(votes.n_items), times)
    names = tuple(f"g{row}" for row in rows)
    return matrix_of(votes.votes[rows], votes.labels[rows], judges=votes.judges, groups=names)


def test_groups_of_copies_count_once():
    rng = np.random.default_rng(3)
    past, new = (copied(votes_of(rng, 30, np.full(4, 0.7)), 30) for _ in range(2))
    assert not drift_compared(past, new).significant
    assert drift_compared(replace(past, groups=None), replace(new, groups=None)).significant
    assert not drift_compared(past, replace(new, groups=None)).significant
    of_items = drift_compared(replace(past, groups=None), replace(new, groups=None)).expected
    assert drift_compared(past, new).expected > 3 * of_items


def in_groups(rng, n_groups, size=25, n_judges=8):
    """Whether a judge votes is decided for whole groups: at 8 groups tests cannot be trusted."""
    votes = votes_of(rng, n_groups * size, np.linspace(0.6, 0.8, n_judges), 0.0, n_groups)
    missing = rng.random((n_groups, n_judges)) < 0.3
    rows = np.array([int(name[1:]) for name in votes.groups])
    return replace(votes, votes=np.where(missing[rows], MISSING, votes.votes).astype(np.int8))


def test_with_few_groups_nothing_is_compared_and_one_sentence_says_so():
    rng = np.random.default_rng(0)
    few, enough = in_groups(rng, 8), in_groups(rng, training_items.FEWEST_GROUPS)
    for past, new, says in (
        (enough, few, "this file has 8 groups of items"),
        (few, enough, "the panel was fitted on fewer than 15 groups of items"),
        (few, replace(enough, groups=None), "the panel was fitted on fewer than 15 groups"),
    ):
        drift = drift_compared(past, new)
        assert (drift.changes, drift.significant, len(drift.frame())) == ((), (), 0)
        (sentence,) = training_items.drift_sentences(drift)
        assert sentence.startswith("Whether these votes are like those")
        assert says in sentence
    assert drift_compared(enough, enough).changes
    alone = make_votes(0, 10, 3)
    named = replace(alone, groups=alone.item_ids)
    assert drift_compared(named, named).changes


@pytest.mark.simulation
def test_without_drift_few_groups_do_not_warn_and_enough_warn_rarely():
    rng = np.random.default_rng(1)
    for n_groups, most in ((8, 0), (training_items.FEWEST_GROUPS, 12)):
        pairs = ((in_groups(rng, n_groups), in_groups(rng, n_groups)) for _ in range(120))
        assert sum(bool(drift_compared(past, new).significant) for past, new in pairs) <= most


def test_absent_judges_are_not_compared_and_agreement_is_not_either():
    rng = np.random.default_rng(4)
    past, new = (votes_of(rng, 100, np.full(5, 0.7)) for _ in range(2))
    drift = drift_compared(past, new.with_judges(new.judges[1:]))
    assert {change.measure for change in drift.changes} == {"voted", "ones"}
    assert {change.judge for change in drift.changes} == set(new.judges[1:])


def test_the_sentence_names_judges_with_numbers():
    past = votes_of(np.random.default_rng(5), 300, np.full(5, 0.75), missing=0.0)
    votes = past.votes.copy()
    votes[:150, 1] = MISSING
    (sentence,) = training_items.drift_sentences(drift_compared(past, replace(past, votes=votes)))
    assert "votes cast of 'j1' 100 % of 300 then, 50 % of 300 now (p < .001)" in sentence
    assert "votes per item 5.0 then, 4.5 now" in sentence


def test_one_judge_and_one_item_are_no_error():
    votes = make_votes(0, 1, 1)
    assert drift_compared(votes, votes).significant == ()
    blank = replace(votes, votes=np.full((1, 1), MISSING, np.int8))
    assert drift_compared(votes, blank).significant == ()
