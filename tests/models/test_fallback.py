"""The fallback: its temperature depends on the judges present, and it is used item by item."""

from dataclasses import replace

import numpy as np
import pytest

from judgepanel.models.panel import Fallback, fit_fallback, in_order
from judgepanel.studies.contract import Settings, prepare
from tests.helpers import make_votes, single_panel

RULE = Fallback(weights=(2.0, -1.0, 1.0), few=1.0, all=3.0, beyond=0.5)


def arms(n_judges):
    """Nobody absent, and the first 2, 4, ... of the judges."""
    absent = np.zeros((n_judges // 2, n_judges), dtype=bool)
    for arm in range(n_judges // 2):
        absent[arm, : 2 * arm] = True
    return absent


def fitted(votes):
    ballots = prepare(votes, Settings(orientation="as_given")).ballots
    return fit_fallback(ballots, arms(ballots.n_judges), np.arange(ballots.n_items))


def test_it_scores_items_on_which_too_much_weight_is_missing():
    votes = np.array([[1, 1, 1], [-1, 1, 1], [-1, 1, -1], [1, -1, -1], [-1, -1, -1]], np.int8)
    assert RULE.present(votes).tolist() == [1.0, 0.5, 0.25, 0.5, 0.0]
    assert RULE.scores(votes).tolist() == [False, False, True, False, True]
    logits = [2 / 3, 0.0, -1 / 1.5, 2 / 2, 0.0]
    assert RULE.logits(votes) == pytest.approx(logits)


def test_a_panel_uses_it_for_those_items_alone():
    votes = make_votes(0, 60, 3)
    prepared = prepare(votes, Settings())
    plain = single_panel(
        prepared.ballots, prepared.judges, 3, aggregator="majority", calibrator="beta"
    )
    panel = replace(plain, fallback=RULE)
    cast = np.array([[1, 1, 1], [-1, 1, 0], [-1, 1, -1], [-1, -1, -1]], np.int8)
    assert panel.falls_back(cast).tolist() == [False, False, True, False]
    p, own = panel.score(cast), plain.score(cast)
    assert p[[0, 1, 3]].tolist() == own[[0, 1, 3]].tolist()
    assert p[2] == pytest.approx(1 / (1 + np.exp(1 / 1.5)))


def test_the_temperature_falls_with_judges_that_err_together():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 400)
    for copies in (False, True):
        right = rng.random((400, 10)) < 0.7
        if copies:
            right = (rng.random(400) < 0.7)[:, None] ^ (rng.random((400, 10)) < 0.05)
        cast = np.where(right, labels[:, None], 1 - labels[:, None]).astype(np.int8)
        votes = replace(make_votes(0, 400, 10), votes=cast, labels=labels.astype(np.int8))
        rule = fitted(votes)
        if copies:
            assert rule.few < 2.0
            assert rule.all > 5.0
        else:
            assert 0.7 < rule.few < 1.4
            assert 0.7 < rule.all < 1.4


def test_its_judges_can_be_put_in_another_order():
    turned = in_order(RULE, np.array([2, 0, 1]), 0.2)
    assert turned == Fallback((1.0, 2.0, -1.0), 1.0, 3.0, 0.2)


def test_judges_that_know_nothing_make_none():
    ballots = prepare(make_votes(0, 40, 4), Settings()).ballots
    silent = replace(ballots, votes=np.zeros_like(ballots.votes))
    assert fit_fallback(silent, arms(4), np.arange(40)) is None
