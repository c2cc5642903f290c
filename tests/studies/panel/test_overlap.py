"""Two analyses: what they share, and how their difference is measured."""

from dataclasses import replace

import numpy as np
import pytest

from judgepanel.decision.recommend import RECOMMEND, RecommendSpec
from judgepanel.studies.contract import Settings
from judgepanel.studies.decide.what_if import WHAT_IF, Side, paired_spec, relation
from judgepanel.studies.runner import run
from tests.helpers import make_votes

QUICK = Settings(splits=4)
VOTES = make_votes(2, 80, 6)
SIX = VOTES.judges


def side(votes=VOTES, settings=QUICK, name="a"):
    return Side(name, "votes.csv", "2025-01-31T09:30:12.5+00:00", votes, settings)


def of(judges):
    return replace(QUICK, judges=tuple(judges))


def with_vote_changed(votes, judge):
    cells = votes.votes.copy()
    row = int(np.flatnonzero(cells[:, judge] >= 0)[0])
    cells[row, judge] = 1 - cells[row, judge]
    return replace(votes, votes=cells)


def difference(before, after):
    """The paired result of two sides, by the study that the page runs."""
    overlap = relation(before, after)
    host = after if overlap.host == "after" else before
    return run(WHAT_IF, host.votes, paired_spec(before, after, overlap), jobs=1)


def shuffled(votes, seed=1):
    return votes.with_items(np.random.default_rng(seed).permutation(votes.n_items))


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
    overlap = relation(before, after)
    assert (overlap.judges_both, overlap.host) == (SIX[2:3], "after")
    assert paired_spec(before, after, overlap).settings.judges == SIX[:5]


def test_the_order_of_the_items_and_those_without_a_label_do_not_matter():
    few = VOTES.with_judges(SIX[:4])
    assert relation(side(few), side(shuffled(VOTES))).host == "after"
    labels = VOTES.labels.copy()
    labels[:10] = -1
    part = replace(VOTES, labels=labels)
    known = part.with_items(part.labelled).with_judges(SIX[:4])
    overlap = relation(side(known), side(part))
    assert (overlap.host, overlap.shared, overlap.same_items) == ("after", 70, True)
