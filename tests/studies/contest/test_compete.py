"""Candidates compete on some rows; a choice uses calibration rows only."""

from dataclasses import replace

import numpy as np
import pytest

from judgepanel.kernels.ballots import Ballots
from judgepanel.models.panel import fit_panel
from judgepanel.scoring.splits import folds, split
from judgepanel.studies.panel.curator import Known, Rules, rows_of
from judgepanel.studies.panel.recommended import (
    FINAL,
    Candidate,
    Candidates,
    Curation,
    Family,
    Terms,
    absent_losses,
    candidates_of,
    compete,
    final_members,
    panels,
    stand,
)
from tests.helpers import make_ballots


def terms(n_judges=6, n_folds=4, seed=0):
    return Terms(n_folds, seed, Known(("",) * n_judges, None), Rules(seed=seed))


def score(ballots, drawn, choices):
    return compete(ballots, drawn, choices, terms(ballots.n_judges))


ODD = Candidates(
    (
        Family("one_coin", panels(6), ("none", "beta")),
        Curation("above_chance", "one_coin", ("temperature",)),
        Curation("forward", "joint", ("none", "temperature")),
    )
)


def test_scores_are_in_the_order_of_the_candidates():
    ballots = make_ballots(1, 60, 6)
    choices = candidates_of("default", 6, symmetric=False)
    drawn = split(ballots.units, 0)
    together = score(ballots, drawn, choices)
    for position, candidate in enumerate(choices.all()):
        family = Family(
            candidate.aggregator, ((candidate.name, candidate.k),), (candidate.calibrator,)
        )
        alone = score(ballots, drawn, Candidates((family,)))
        np.testing.assert_allclose(together.items.nll[position], alone.items.nll[0], atol=1e-10)
        np.testing.assert_allclose(
            together.standing.losses[position], alone.standing.losses[0], atol=1e-10
        )
        assert together.standing.panels[position].sum() == candidate.k
    assert choices.all()[0] == Candidate("top-1", 1, "majority", "none")


def test_absent_families_are_missing_votes_of_rows_that_nothing_was_fitted_to():
    ballots, groups = make_ballots(4, 60, 6), ((0, 1), (4,))
    margins = np.random.default_rng(4).choice([0.5, 1.0, 2.0], ballots.votes.shape)
    ballots = replace(ballots, margins=margins * (ballots.votes != 0))
    choices = Candidates(
        (
            Family("one_coin", panels(6), ("none", "beta")),
            Family("joint_monotone", (("all", 6),), ("temperature",)),
            Family("one_coin_graded", (("all", 6),), ("none",)),
            Family("joint_graded", (("all", 6),), ("none",)),
            Curation("above_chance", "one_coin", ("temperature",)),
        )
    )
    rows = np.arange(0, 60, 2)
    result = absent_losses(ballots, rows, choices, terms(), groups, (3, 1))
    halves = folds(ballots.units, rows, 2, seed=0, key=(3, 1, 71))
    wanted = []
    for half in halves:
        for columns in groups:
            votes = ballots.votes.copy()
            votes[np.ix_(half.evaluation, columns)] = 0
            without = replace(ballots, votes=votes, unlabelled=None)
            wanted.append(score(without, half, choices).items.nll)
    np.testing.assert_allclose(result, np.concatenate(wanted, axis=1), atol=1e-10)


def test_absent_families_are_measured_on_so_many_rows_whatever_their_number():
    ballots = make_ballots(4, 8_000, 3)
    one = Candidates((Family("one_coin", panels(3), ("none",)),))
    counted = [
        absent_losses(ballots, np.arange(8_000), one, terms(3), groups, (0, 1)).shape[1]
        for groups in (((0,),), ((0,), (1,), (2,)), ((0,),) * 200)
    ]
    assert counted == [8_000, 12_000, 20_000]


def corrupted(ballots, rows):
    """The same ballots with labels and votes of these rows reversed and shuffled."""
    votes, signs = ballots.votes.copy(), ballots.signs.copy()
    signs[rows] *= -1
    votes[rows] = votes[rows][::-1]
    return Ballots(votes, signs, ballots.units, ballots.symmetric)


@pytest.mark.parametrize("choices", [candidates_of("default", 6, symmetric=False), ODD])
def test_what_the_choice_sees_never_knows_other_rows(choices):
    ballots = make_ballots(2, 60, 6)
    drawn = split(ballots.units, 3)
    entry = score(ballots, drawn, choices).standing
    other = score(corrupted(ballots, drawn.evaluation), drawn, choices).standing
    np.testing.assert_array_equal(entry.losses, other.losses)
    np.testing.assert_array_equal(entry.panels, other.panels)
    spoilt = score(corrupted(ballots, drawn.calibration[:9]), drawn, choices).standing
    assert (entry.losses != spoilt.losses).any()


@pytest.mark.parametrize("family", [ODD.families[0], ODD.families[1]])
def test_losses_are_those_of_inner_folds_fitted_on_the_other_folds(family):
    ballots = make_ballots(4, 50, 6)
    rows = np.arange(0, 50, 2)
    choices = Candidates((family,))
    standing = stand(ballots, rows, choices, terms(n_folds=5, seed=1), (0, 1))
    for inner in folds(ballots.units, rows, 5, seed=1, key=(0, 1)):
        held = compete(ballots, inner, choices, terms(n_folds=5, seed=1)).items.nll
        own = np.isin(rows, inner.evaluation)
        np.testing.assert_allclose(standing.losses[:, own], held, atol=1e-14)


def test_a_curated_candidate_is_the_panel_of_its_curator():
    ballots = make_ballots(5, 120, 6)
    drawn = split(ballots.units, 0)
    result = score(ballots, drawn, ODD).standing
    rows = ballots.votes[drawn.calibration] * ballots.signs[drawn.calibration, None]
    above = (rows > 0).sum(axis=0) >= (rows < 0).sum(axis=0)
    position = [c.curator for c in ODD.all()].index("above_chance")
    np.testing.assert_array_equal(result.panels[position], above)


def test_the_final_panel_has_the_judges_that_stood():
    ballots = make_ballots(6, 80, 6)
    names = tuple("abcdef")
    standing = stand(ballots, np.arange(80), ODD, terms(), FINAL)
    for candidate, panel in zip(ODD.all(), standing.panels, strict=True):
        (model,) = final_members(ballots, names, [candidate], terms())
        assert set(model.judges) == {
            name for name, remaining in zip(names, panel, strict=True) if remaining
        }
        assert (model.aggregator, model.calibrator) == (candidate.aggregator, candidate.calibrator)
        if candidate.curator is None:
            assert model == fit_panel(
                ballots,
                names,
                candidate.k,
                aggregator=candidate.aggregator,
                calibrator=candidate.calibrator,
            )


@pytest.mark.parametrize("aggregator", ["joint", "stacking", "one_coin"])
def test_candidates_that_share_a_rule_are_fitted_together_as_each_alone(aggregator):
    ballots, names = make_ballots(7, 60, 4, missing=0.2), tuple("abcd")
    pair = [Candidate("all", 4, aggregator, name) for name in ("none", "temperature")]
    together = final_members(ballots, names, pair, terms())
    assert together == [final_members(ballots, names, [one], terms())[0] for one in pair]


@pytest.mark.parametrize("symmetric", [False, True])
def test_the_panel_that_is_taken_away_scores_as_the_one_that_competed(symmetric):
    """Not a pipeline that only shares its name: votes whose patterns say more than their sum."""
    rng = np.random.default_rng(0)
    first, second = rng.choice([-1, 1], (2, 160))
    votes = np.stack([first, second, first * second * 0 + rng.choice([-1, 1], 160)], axis=1)
    signs = (first * second).astype(np.int8)
    ballots = Ballots(votes.astype(np.int8), signs, np.arange(160), symmetric)
    drawn = split(ballots.units, 0)
    choices = candidates_of("wide", 3, symmetric=symmetric)
    rules = Terms(4, 0, Known(("",) * 3, None), Rules(tables=False))
    held = compete(ballots, drawn, choices, rules)
    rows = rows_of(ballots, drawn.calibration)
    seen = np.where(ballots.votes == 0, -1, (ballots.votes + 1) // 2)[drawn.evaluation]
    right = ballots.signs[drawn.evaluation] > 0
    for position, candidate in enumerate(choices.all()):
        (model,) = final_members(rows, ("a", "b", "c"), [candidate], rules)
        columns = ["abc".index(name) for name in model.judges]
        p = model.score(seen[:, columns].astype(np.int8))
        nll = -np.log(np.where(right, p, 1.0 - p)).mean()
        assert nll == pytest.approx(held.items.nll[position].mean(), abs=0.05), candidate
