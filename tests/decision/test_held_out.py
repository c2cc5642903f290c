"""The slice for conformal sets when items come in groups: one item of each sets the thresholds."""

from dataclasses import replace

import numpy as np
import pytest

from judgepanel.decision.training_items import (
    conformal_content,
    held_out_warnings,
    one_each,
    set_texts,
    slices,
)
from judgepanel.scoring.conformal import LEVELS, labels_needed, nonconformity, threshold
from judgepanel.studies.contract import Settings, prepare
from judgepanel.votes import VoteMatrix
from tests.helpers import make_votes, single_panel


def alike(rng, n_groups, size, n_judges=7):
    """Groups of copies: nine items in ten have the votes and the label of their group's first."""
    n = n_groups * size
    group = np.repeat(np.arange(n_groups), size)
    source = np.where(rng.random(n) < 0.9, group * size, np.arange(n))
    labels = rng.integers(0, 2, n)
    logit = np.linspace(0.3, 1.6, n_judges) - rng.normal(0, 1.2, (n, 1))
    right = rng.random((n, n_judges)) < 1 / (1 + np.exp(-logit))
    votes = np.where(right, labels[:, None], 1 - labels[:, None])[source]
    return VoteMatrix(
        votes.astype(np.int8),
        labels[source].astype(np.int8),
        tuple(f"i{i}" for i in range(n)),
        tuple(f"j{j}" for j in range(n_judges)),
        groups=tuple(f"g{g}" for g in group),
    )


def fitted(votes):
    prepared = prepare(votes, Settings())
    return single_panel(
        prepared.ballots,
        prepared.judges,
        votes.n_judges,
        aggregator="one_coin",
        calibrator="temperature",
    )


def test_one_item_of_each_group_makes_the_thresholds():
    votes = make_votes(3, 100, 4, groups=25)
    parts = slices(votes, 0.6, 0)
    held, model = parts.held_out, fitted(parts.fitted)
    rows = one_each(held)
    assert sorted(held.groups[row] for row in rows) == sorted(set(held.groups))
    content = conformal_content(model, held, 0.6, {})
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
        held = slices(entry, 0.4, 0).held_out
        assert one_each(held).tolist() == list(range(held.n_items))


def test_any_item_of_a_group_may_be_drawn():
    held = make_votes(0, 3000, 2, groups=1000)
    rows = one_each(held)
    names = np.array(held.groups)
    place = np.array([(names[:row] == names[row]).sum() for row in rows])
    threes = place[[(names == names[row]).sum() == 3 for row in rows]]
    assert np.bincount(threes, minlength=3).min() > 0.25 * len(threes)


def test_warnings_count_groups():
    votes = make_votes(3, 200, 4, groups=20)
    n = len(set(slices(votes, 0.3, 0).held_out.groups))
    (warning,) = held_out_warnings(votes, 0.3, 0)
    assert warning.startswith(f"The held-out slice has {n} groups of items, and sets at 90% need 9")
    assert held_out_warnings(votes, 0.6, 0) == []
    assert held_out_warnings(replace(votes, groups=None), 0.3, 0) == []


@pytest.mark.simulation
@pytest.mark.parametrize(("n_groups", "share"), [(20, 0.2), (30, 0.4)])
def test_sets_of_items_of_new_groups_hold_the_label_as_often_as_they_promise(n_groups, share):
    inside = []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        parts = slices(alike(rng, n_groups, 10), share, seed)
        model = fitted(parts.fitted)
        fresh = alike(rng, 60, 10)
        content = conformal_content(model, parts.held_out, share, {})
        texts = set_texts(content, model.score(fresh.with_judges(model.judges).votes))
        held = [
            np.mean(
                [str(label) in text for label, text in zip(fresh.labels, one_text, strict=True)]
            )
            for one_text in texts
        ]
        inside.append(held)
    mean, se = np.mean(inside, axis=0), np.std(inside, axis=0) / 60**0.5
    assert (mean + 2 * se >= LEVELS).all()
