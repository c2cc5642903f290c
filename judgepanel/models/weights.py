"""The weight of each judge's vote under every aggregator, fitted to all labelled items."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import cast

import numpy as np

from judgepanel.arrays import Floats
from judgepanel.kernels.aggregate.aggregation import RIDGES, Aggregator
from judgepanel.kernels.aggregate.crossfit import N_FOLDS, Fit
from judgepanel.kernels.aggregate.dawid_skene import fit_many, training
from judgepanel.kernels.aggregate.dawid_skene_em import Rules
from judgepanel.kernels.aggregate.joint import Form
from judgepanel.kernels.aggregate.prefixes import (
    CLOSED_FORMS,
    ClosedForm,
    closed_form_weights,
    counts,
)
from judgepanel.kernels.ballots import Ballots
from judgepanel.scoring.splits import fold_of, folds


def _closed(kind: ClosedForm) -> Callable[[Ballots], Floats]:
    def weights(ballots: Ballots) -> Floats:
        return closed_form_weights(kind, *counts(ballots, np.arange(ballots.n_items)))

    return weights


def _dawid_skene(*, clamp: bool) -> Callable[[Ballots], Floats]:
    def weights(ballots: Ballots) -> Floats:
        judges = np.arange(ballots.n_judges)
        votes, labels = training(ballots, np.arange(ballots.n_items), judges, clamp=clamp)
        fit = fit_many(
            votes,
            np.ones((len(judges), 1), dtype=bool),
            labels=labels,
            rules=Rules(symmetric=ballots.symmetric),
        )
        return np.asarray((fit.ones - fit.zeros)[:, 0] / 2.0)

    return weights


def _ridge(form: Form) -> Callable[[Ballots], Floats]:
    linear = replace(form, agreement=False)

    def weights(ballots: Ballots) -> Floats:
        everyone = np.arange(ballots.n_items)
        pieces = folds(ballots.units, everyone, N_FOLDS, seed=0, key=(0,))
        fit = Fit(everyone, everyone[:0], fold_of(pieces, ballots.n_items))
        (panel,) = linear.panels(ballots, [fit], ballots.n_judges)
        values = np.empty(ballots.n_judges)
        values[panel.judges] = panel.weights
        return values

    return weights


WEIGHTS: Mapping[Aggregator, Callable[[Ballots], Floats]] = MappingProxyType(
    {
        **{kind: _closed(kind) for kind in CLOSED_FORMS},
        "dawid_skene": _dawid_skene(clamp=False),
        "dawid_skene_semi": _dawid_skene(clamp=True),
        **{cast(Aggregator, kind): _ridge(form) for kind, form in RIDGES.items()},
    }
)
"""Functions from ballots to weights (n_judges,), by aggregator."""


def judge_weights(
    ballots: Ballots, names: Sequence[Aggregator] = tuple(WEIGHTS)
) -> dict[Aggregator, Floats]:
    """Return weights (n_judges,) under each named aggregator that weights judges.

    They are the log-odds of a vote for label 1, or half the difference between a vote for 1 and a
    vote for 0 if these differ (Dawid-Skene). ``majority`` and ``accuracy_weighted`` use a fraction
    of votes, so they are the weights in that fraction. For ``joint`` they are those of its linear
    form: the contribution of agreement with past items belongs to no single judge.
    """
    return {name: WEIGHTS[name](ballots) for name in names if name in WEIGHTS}
