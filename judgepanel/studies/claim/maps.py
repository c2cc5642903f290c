"""What the beta map learns from one-class labels: from the votes of all judges, and from nothing.

Fitted to all labelled items with scores that know their labels, as the paper's calibrators see
them; for drawing, never for a score.
"""

from __future__ import annotations

import numpy as np

from judgepanel.arrays import Floats
from judgepanel.kernels.aggregate.aggregation import panel_scores
from judgepanel.kernels.ballots import Ballots
from judgepanel.kernels.calibrate.calibration import INPUT_CLIP, Calibrator, MapShape, fit
from judgepanel.scoring.splits import Split
from judgepanel.studies.claim.steps import Codings

MAP_NAMES: tuple[str, ...] = ("constant", "paper", "paper_monotone", "honest_clipped")
"""A constant score and all judges under the paper's map; signs bound; honest labels."""


def fitted_maps(codings: Codings) -> Floats:
    """Parameters a, b, c of every map of ``MAP_NAMES``, (4, 3); inputs are clipped to [.001, .999].

    ``constant`` is fitted to the score 0 (probability one half) on every item.
    """
    one_class, honest = codings.one_class, codings.honest.ballots
    seen = _all_judges(one_class)
    return np.stack(
        [
            _params(np.zeros_like(seen), one_class, "beta_clipped"),
            _params(seen, one_class, "beta_clipped"),
            _params(seen, one_class, "beta"),
            _params(_all_judges(honest), honest, "beta_clipped"),
        ]
    )


def apply(params: Floats, p: Floats) -> Floats:
    """Calibrated probabilities of raw ones, clipped to [.001, .999] before the logs."""
    odds = np.clip(np.log(p / (1.0 - p)), -INPUT_CLIP, INPUT_CLIP)
    a, b, c = params
    m = -a * np.logaddexp(0.0, -odds) - b * np.logaddexp(0.0, odds) + c
    return np.asarray(1.0 / (1.0 + np.exp(-m)))


def _all_judges(ballots: Ballots) -> Floats:
    """Clipped one-coin logits (1, n_items) of all judges on the items they were weighted on."""
    rows = np.arange(ballots.n_items)
    scores = panel_scores(
        ballots, Split(0, rows, rows[:1]), np.array([ballots.n_judges]), own_label="seen"
    )
    return np.clip(scores.calibration, -INPUT_CLIP, INPUT_CLIP)


def _params(logits: Floats, ballots: Ballots, calibrator: Calibrator) -> Floats:
    signs = ballots.signs.astype(np.float64)
    shape = fit((calibrator,), logits, signs, symmetric=ballots.symmetric)[calibrator].shape(0)
    if not isinstance(shape, MapShape):
        raise TypeError(f"{calibrator} is no map of three parameters")
    return np.array([shape.a, shape.b, shape.c])
