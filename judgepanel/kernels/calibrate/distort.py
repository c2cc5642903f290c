"""Distortions of a raw score r = sigma(l), on the logit scale.

The paper's seven (appendix on scope diagnostics): r^2, sqrt(r), r plus normal noise at two levels,
binary noise, inversion, and shuffling. The paper gives no noise levels; the levels here are our
choice. Powers are computed from log r, so they stay strictly monotone where r itself rounds to 0 or
1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from judgepanel.arrays import Floats, Ints
from judgepanel.kernels.calibrate.maps import sigmoid, softplus
from judgepanel.scoring.metrics import CLIP

UNDISTORTED = "undistorted"
SQUARE, ROOT = "square", "square_root"
INVERSION, SHUFFLE = "inversion", "shuffle"


@dataclass(frozen=True, slots=True, eq=False)
class Noise:
    """Noise parameters of the distortions.

    ``weak`` and ``strong`` are standard deviations of noise on r in [0, 1], ``turned`` is the share
    of scores that binary noise inverts; ``donors`` (n,) is the item whose score each item gets when
    scores are shuffled.
    """

    weak: float
    strong: float
    turned: float
    donors: Ints


Change = Callable[[Floats, Noise, np.random.Generator], Floats]


def square(logits: Floats) -> Floats:
    """Logit of r^2: 2 log r - log(1 - r) - log(1 + r)."""
    return np.asarray(-2.0 * softplus(-logits) + softplus(logits) - np.log1p(sigmoid(logits)))


def square_root(logits: Floats) -> Floats:
    """Logit of sqrt(r): log(r) / 2 - log(1 - r) + log(1 + sqrt(r))."""
    half = -0.5 * softplus(-logits)
    return np.asarray(half + softplus(logits) + np.log1p(np.exp(half)))


def noisy(logits: Floats, sd: float, rng: np.random.Generator) -> Floats:
    """Logit of r plus normal noise, clipped to [.001, .999]."""
    p = np.clip(sigmoid(logits) + sd * rng.standard_normal(logits.shape), CLIP, 1.0 - CLIP)
    return np.asarray(np.log(p) - np.log1p(-p))


def turned_round(logits: Floats, share: float, rng: np.random.Generator) -> Floats:
    """Logit of r after a random share of the scores, drawn per item, becomes 1 - r."""
    return np.where(rng.random(logits.shape) < share, -logits, logits)


CHANGES: Mapping[str, Change] = MappingProxyType(
    {
        SQUARE: lambda logits, noise, rng: square(logits),
        ROOT: lambda logits, noise, rng: square_root(logits),
        "noise_weak": lambda logits, noise, rng: noisy(logits, noise.weak, rng),
        "noise_strong": lambda logits, noise, rng: noisy(logits, noise.strong, rng),
        "binary_noise": lambda logits, noise, rng: turned_round(logits, noise.turned, rng),
        INVERSION: lambda logits, noise, rng: -logits,
        SHUFFLE: lambda logits, noise, rng: logits[noise.donors],
    }
)
"""Raw logits (n,) under each of the seven distortions, by name."""

DISTORTIONS = tuple(CHANGES)
