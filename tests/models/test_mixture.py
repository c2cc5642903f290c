"""An average of fitted panels: the linear pool, summed in a fixed order."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgepanel.models.panel import Fallback, fit_panel, mixture_of, pooled
from judgepanel.studies.contract import Settings, prepare
from tests.helpers import make_votes, with_grades

VOTES = make_votes(3, 60, 7)
PREPARED = prepare(VOTES, Settings())


def panel(k, aggregator="one_coin", calibrator="beta"):
    ballots, judges = PREPARED.ballots, PREPARED.judges
    return fit_panel(ballots, judges, k, aggregator=aggregator, calibrator=calibrator)


PANELS = (panel(3), panel(7, "joint", "none"), panel(5, "majority", "temperature"))


def columns_of(judges):
    return [VOTES.judges.index(name) for name in judges]


def test_probabilities_of_members_are_averaged_over_their_own_judges():
    mixture = mixture_of(PANELS, (0.2, 0.7, 0.1))
    wanted = sum(
        weight * model.score(VOTES.votes[:, columns_of(model.judges)])
        for weight, model in zip((0.2, 0.7, 0.1), PANELS, strict=True)
    )
    p = mixture.score(VOTES.votes[:, columns_of(mixture.judges)])
    np.testing.assert_allclose(p, wanted, atol=1e-14)


def test_members_are_sorted_by_weight_and_judges_follow_the_heaviest():
    mixture = mixture_of(PANELS, (0.2, 0.7, 0.1))
    assert [member.weight for member in mixture.members] == [0.7, 0.2, 0.1]
    assert mixture.main is PANELS[1]
    assert mixture.judges == PANELS[1].judges
    small = mixture_of((PANELS[0], PANELS[2]), (0.6, 0.4))
    assert small.judges[:3] == PANELS[0].judges
    assert set(small.judges) == set(PANELS[2].judges)


def test_counts_and_shares_are_told_by_judge():
    mixture = mixture_of((PANELS[0], PANELS[2]), (0.6, 0.4))
    assert mixture.shares == pytest.approx((1.0, 1.0, 1.0, 0.4, 0.4))
    by_name = dict(zip(PANELS[1].judges, PANELS[1].correct, strict=True))
    assert mixture.correct == tuple(by_name[name] for name in mixture.judges)


def test_grades_are_cut_into_the_same_bands_for_all_members():
    graded, other = (
        prepare(with_grades(VOTES, seed), Settings(orientation="as_given")).ballots
        for seed in (0, 1)
    )
    first, second, odd = (
        fit_panel(ballots, VOTES.judges, k, aggregator=name, calibrator="none")
        for ballots, k, name in (
            (graded, 3, "one_coin_graded"),
            (graded, 5, "joint_graded"),
            (other, 5, "one_coin_graded"),
        )
    )
    mixture = mixture_of((first, second), (0.6, 0.4))
    edges = dict(zip(second.judges, second.rule.edges, strict=True))
    assert mixture.edges == tuple(edges[name] for name in mixture.judges)
    with pytest.raises(ValueError, match="into the same bands"):
        mixture_of((first, odd), (0.6, 0.4))


def test_a_mixture_of_one_is_that_panel_to_the_bit():
    alone = mixture_of(PANELS[1:2], (1.0,))
    votes = VOTES.votes[:, columns_of(alone.judges)]
    assert alone.score(votes).tolist() == PANELS[1].score(votes).tolist()


def test_an_item_without_votes_gets_the_prior_and_the_fallback_scores_absences():
    fallback = Fallback((1.0,) * 7, 0.7, 2.0, 0.5)
    mixture = mixture_of(PANELS, (0.2, 0.7, 0.1))
    guarded = type(mixture)(mixture.judges, mixture.members, fallback)
    votes = np.full((3, 7), -1, dtype=np.int8)
    votes[1, 0], votes[2] = 1, 1
    assert guarded.score(votes)[0] == mixture.prior
    assert guarded.falls_back(votes).tolist() == [False, True, False]
    assert guarded.score(votes)[2] == mixture.score(votes)[2]
    assert guarded.score(votes)[1] != mixture.score(votes)[1]
    assert not mixture.falls_back(votes).any()


@given(
    st.lists(st.floats(-7, 7), min_size=2, max_size=5),
    st.lists(st.floats(0.01, 1.0), min_size=5, max_size=5),
)
def test_averages_of_an_item_and_its_swap_add_up_to_exactly_one(logits, weights):
    shares = (np.array(weights[: len(logits)]) / sum(weights[: len(logits)])).tolist()
    small = np.exp(-np.abs(logits)) / (1.0 + np.exp(-np.abs(logits)))
    p = np.where(np.array(logits) < 0, small, 1.0 - small)
    q = np.where(np.array(logits) < 0, 1.0 - small, small)
    sides = [pooled([np.array([value]) for value in side], shares)[0] for side in (p, q)]
    assert sides[0] + sides[1] == 1.0
    assert sides[0] == pytest.approx(np.clip(np.dot(shares, p), 0.001, 0.999), abs=1e-12)


@pytest.mark.parametrize("weights", [(0.5, 0.6, 0.1), (1.0, 0.0, 0.0), ()])
def test_weights_that_are_none_are_refused(weights):
    with pytest.raises(ValueError, match="add up to 1"):
        mixture_of(PANELS[: len(weights)], weights)
