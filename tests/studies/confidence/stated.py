"""Evaluations whose probabilities are right, or wrong in a known way, without any votes."""

from types import SimpleNamespace

import numpy as np

from judgepanel.kernels.ballots import Ballots
from judgepanel.scoring.splits import split
from judgepanel.studies.trust.probabilities import OutOfSample, evaluations


def stated(seed, n=200, n_splits=10, *, slope=1.0, per_unit=1, symmetric=False):
    """Evaluations of n items: the true log-odds are ``slope`` times what is stated.

    Before calibration the stated log-odds are three times those after it. Items of one unit share
    their level and their label.
    """
    rng = np.random.default_rng(seed)
    level = np.repeat(rng.normal(0.0, 1.6, n // per_unit), per_unit)
    units = np.repeat(np.arange(n // per_unit), per_unit)
    luck = np.repeat(rng.random(n // per_unit), per_unit)
    signs = np.where(luck < 1 / (1 + np.exp(-slope * level)), 1, -1).astype(np.int8)
    splits = [split(units, number, seed=seed) for number in range(n_splits)]
    rows = np.concatenate([one_split.evaluation for one_split in splits])
    logits = level[rows]
    predictions = OutOfSample(
        numbers=np.arange(n_splits),
        n_calibration=np.array([len(one_split.calibration) for one_split in splits]),
        n_evaluation=np.array([len(one_split.evaluation) for one_split in splits]),
        rows=rows,
        logits=np.stack([3.0 * logits, logits]),
        null=np.zeros(n_splits),
        constant_nll=np.full(n_splits, np.log(2)),
        replaced=np.zeros(n_splits, dtype=int),
    )
    ballots = Ballots(np.zeros((n, 1), np.int8), signs, units, symmetric)
    return evaluations(predictions, SimpleNamespace(ballots=ballots))
