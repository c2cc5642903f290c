"""The judges' update of the 2PL model: abilities and discriminations given expected item counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg, sparse
from scipy.special import expit

from judgepanel.arrays import Floats
from judgepanel.kernels.judges.irt_items import ItemPosterior, Marks, log_wrong

_NEWTON_STEPS = 3
_HALVINGS = 30
_LARGEST_MOVE = 2.0
_JOINT_JUDGES = 2_000
_BLOCK_CELLS = 4_000_000
_POSITIVE = 1.0001
_MOST_LOST = 0.95


@dataclass(frozen=True, slots=True)
class Population:
    """Population of judges: theta ~ N(mu, sigma^2), log alpha ~ N(m, t^2)."""

    mu: float
    sigma: float
    m: float
    t: float


class Judges(NamedTuple):
    """``theta`` and ``log_alpha``, each (n_judges,)."""

    theta: Floats
    log_alpha: Floats


class Spread(NamedTuple):
    """Posterior variances of ``theta`` and ``log_alpha``, each (n_judges,)."""

    theta: Floats
    log_alpha: Floats


class _Curvature(NamedTuple):
    """Symmetric 2 x 2 matrices in (theta, log alpha), one per judge."""

    tt: Floats
    ta: Floats
    aa: Floats

    def determinant(self) -> Floats:
        return self.tt * self.aa - self.ta**2


def updated_judges(
    marks: Marks, items: ItemPosterior, judges: Judges, population: Population
) -> Judges:
    """Damped Newton steps towards each judge's mode, all judges together.

    The objective is the expected log-likelihood, plus the priors of theta and log alpha, minus
    ``reliability * log alpha``. The last term is the first-order change of the Laplace determinant
    of theta with the scale of the abilities: the mode is then the mode over (alpha theta, log
    alpha). Without it the joint mode of many thetas shrinks the whole scale.
    """
    theta, log_alpha = judges
    tilt = reliability(posterior_variances(items, judges, population).theta, population.sigma)
    weighted = marks.right.T @ items.mean

    def objective(theta: Floats, log_alpha: Floats) -> Floats:
        alpha = np.exp(log_alpha)
        wrong = log_wrong(alpha[:, None] * (theta[:, None] - items.points))
        value = alpha * (theta * marks.n_right - weighted) + (items.counts * wrong).sum(axis=1)
        value -= 0.5 * ((theta - population.mu) / population.sigma) ** 2
        value -= 0.5 * ((log_alpha - population.m) / population.t) ** 2
        return np.asarray(value - tilt * log_alpha)

    value = objective(theta, log_alpha)
    for _ in range(_NEWTON_STEPS):
        moves = _newton_move(marks, items, Judges(theta, log_alpha), population, tilt, weighted)
        for _ in range(_HALVINGS):
            reached = objective(theta + moves[0], log_alpha + moves[1])
            climbs = reached >= value - 1e-12 * (1.0 + np.abs(value))
            if climbs.all():
                break
            moves[:, ~climbs] *= 0.5
        theta, log_alpha, value = theta + moves[0], log_alpha + moves[1], reached
    return Judges(theta, log_alpha)


def _newton_move(
    marks: Marks,
    items: ItemPosterior,
    judges: Judges,
    population: Population,
    tilt: Floats,
    weighted: Floats,
) -> Floats:
    """Return bounded moves (2, n_judges); expected curvature if the observed is not positive."""
    theta, log_alpha = judges
    alpha = np.exp(log_alpha)
    distance = theta[:, None] - items.points
    expected = items.counts * expit(alpha[:, None] * distance)
    pull = alpha * (marks.n_right - expected.sum(axis=1))
    turn = alpha * (theta * marks.n_right - weighted - (expected * distance).sum(axis=1))
    fisher = _curvature(items, judges, population)
    observed = _Curvature(fisher.tt, fisher.ta - pull, fisher.aa - turn)
    positive = observed.tt * observed.aa > _POSITIVE * observed.ta**2
    bent = _Curvature(*(np.where(positive, o, f) for o, f in zip(observed, fisher, strict=True)))
    pull = pull - (theta - population.mu) / population.sigma**2
    turn = turn - (log_alpha - population.m) / population.t**2 - tilt
    move = np.stack([bent.aa * pull - bent.ta * turn, bent.tt * turn - bent.ta * pull])
    move /= bent.determinant()
    return np.asarray(move / np.maximum(1.0, np.abs(move).max(axis=0) / _LARGEST_MOVE))


def _curvature(items: ItemPosterior, judges: Judges, population: Population) -> _Curvature:
    """Expected information for known difficulties, plus prior precision."""
    alpha = np.exp(judges.log_alpha)[:, None]
    distance = judges.theta[:, None] - items.points
    p = expit(alpha * distance)
    weight = items.counts * alpha**2 * p * (1.0 - p)
    return _Curvature(
        weight.sum(axis=1) + population.sigma**-2,
        (weight * distance).sum(axis=1),
        (weight * distance**2).sum(axis=1) + population.t**-2,
    )


def _missing(items: ItemPosterior, judges: Judges) -> _Curvature:
    """Information lost because difficulties are unknown: the variance of the scores (Louis 1982).

    With score s(beta) and v = Var(beta), Var(s) = v s'^2 + v^2 s''^2 / 2, to second order; squared
    residuals in s' are replaced by their expectation.
    """
    alpha = np.exp(judges.log_alpha)[:, None]
    distance = judges.theta[:, None] - items.points
    p = expit(alpha * distance)
    slope = alpha**2 * p * (1.0 - p)
    bend = alpha * slope * (1.0 - 2.0 * p)
    turn = bend * distance + 2.0 * slope
    first, second = items.spread, items.spread_squared / 2.0
    return _Curvature(
        (first * slope**2 + second * bend**2).sum(axis=1),
        (first * slope**2 * distance + second * bend * turn).sum(axis=1),
        (first * (slope**2 * distance**2 + slope) + second * turn**2).sum(axis=1),
    )


def posterior_variances(items: ItemPosterior, judges: Judges, population: Population) -> Spread:
    """Laplace variances of each judge given the others.

    The information is the complete information minus the missing part or, if items have few votes
    and that expansion does not hold, the sum of squared scores. At most ``_MOST_LOST`` is
    subtracted.
    """
    if items.information is not None:
        tt, ta, aa = items.information
        seen = _Curvature(tt + population.sigma**-2, ta, aa + population.t**-2)
        return Spread(seen.aa / seen.determinant(), seen.tt / seen.determinant())
    bent = _curvature(items, judges, population)
    lost = _missing(items, judges)
    mixed = bent.tt * lost.aa + bent.aa * lost.tt - 2.0 * bent.ta * lost.ta
    half = mixed / bent.determinant() / 2.0
    root = np.sqrt(np.maximum(half**2 - lost.determinant() / bent.determinant(), 0.0))
    share = np.minimum(1.0, _MOST_LOST / np.maximum(half + root, 1e-300))
    remaining = _Curvature(*(b - share * missing for b, missing in zip(bent, lost, strict=True)))
    determinant = remaining.determinant()
    return Spread(remaining.aa / determinant, remaining.tt / determinant)


def reliability(variance: Floats, sd: float) -> Floats:
    """Share of the population's variance resolved by the votes, in [0, 1]."""
    return np.asarray(np.clip(1.0 - variance / sd**2, 0.0, 1.0))


def updated_normal(
    values: Floats,
    variances: Floats,
    mean: float,
    log_sd: float,
    mean_prior: tuple[float, float],
    log_sd_prior: tuple[float, float],
) -> tuple[float, float]:
    """Return the next mean and log sd of a normal population, from posterior modes and variances.

    A step towards the maximum of the Laplace marginal likelihood with the mean integrated out and
    the two hyperpriors (mean, sd) added; its fixed points are exactly that maximum.
    """
    square = np.exp(2.0 * log_sd)
    resolved = reliability(variances, np.exp(log_sd))
    mean_precision = resolved.sum() / square + mean_prior[1] ** -2
    pull = (values - mean).sum() / square - (mean - mean_prior[0]) * mean_prior[1] ** -2
    mean = float(mean + pull / mean_precision)
    excess = ((values - mean) ** 2 + variances + 1.0 / mean_precision) / square - 1.0
    precision = log_sd_prior[1] ** -2
    score = excess.sum() - (log_sd - log_sd_prior[0]) * precision
    step = score / (2.0 * resolved.sum() + precision)
    return mean, float(log_sd + np.clip(step, -0.7, 0.7))


def joint_variances(
    marks: Marks, items: ItemPosterior, judges: Judges, population: Population
) -> Spread:
    """Variances that include uncertainty shared by judges: unknown items, mu and m.

    Inverts the information of all judges together (2 n_judges square). Beyond 2,000 judges, where
    the shared part is small, and if items have few votes, the variances given the others are used.
    """
    n = len(judges.theta)
    if n > _JOINT_JUDGES or items.information is not None:
        return posterior_variances(items, judges, population)
    bent = _curvature(items, judges, population)
    precision = -_shared(marks, items, judges)
    diagonal = np.arange(n)
    precision[diagonal, diagonal] += bent.tt
    precision[diagonal + n, diagonal + n] += bent.aa
    precision[diagonal, diagonal + n] += bent.ta
    precision[diagonal + n, diagonal] += bent.ta
    # Integrating a flat mean out of n normal priors of precision p subtracts p / n from every pair.
    precision[:n, :n] -= population.sigma**-2 / n
    precision[n:, n:] -= population.t**-2 / n
    try:
        factor = linalg.cholesky(precision, lower=True, overwrite_a=True, check_finite=False)
    except linalg.LinAlgError:
        return posterior_variances(items, judges, population)
    root = linalg.solve_triangular(factor, np.eye(2 * n), lower=True, overwrite_b=True)
    variances = (root**2).sum(axis=0)
    return Spread(variances[:n], variances[n:])


def _shared(marks: Marks, items: ItemPosterior, judges: Judges) -> Floats:
    """Missing information of all pairs of judges (2n, 2n), summed over blocks of items.

    As in :func:`_missing`, with the observed residuals.
    """
    n = len(judges.theta)
    total = np.zeros((2 * n, 2 * n))
    step = max(1, _BLOCK_CELLS // n)
    for start in range(0, marks.n_items, step):
        scores = _scores(marks, items, judges, slice(start, start + step))
        product = scores.T @ scores
        total += product if isinstance(product, np.ndarray) else product.toarray()
    return total


def _scores(marks: Marks, items: ItemPosterior, judges: Judges, rows: slice) -> Any:
    """Standardised first and second derivatives of the judges' scores in beta.

    (2 n_rows, 2 n_judges): v^(1/2) s', then v s'' / 2^(1/2), at the posterior mean of beta.
    """
    variance, beta = items.variance[rows], items.mean[rows]
    alpha = np.exp(judges.log_alpha)
    weights = np.sqrt(variance), variance / np.sqrt(2.0)
    if marks.is_sparse and not marks.inverted:
        voted = marks.mask[rows].tocoo()
        i, j = voted.coords
        parts = _derivatives(alpha[j], judges.theta[j] - beta[i])
        first, bend, first_a, bend_a = (
            sparse.csr_array((weights[order][i] * part, (i, j)), voted.shape)
            for part, order in zip(parts, (0, 1, 0, 1), strict=True)
        )
        right = marks.right[rows].multiply(weights[0][:, None] * alpha).tocsr()
        blocks = [[first, first_a - right], [bend, bend_a]]
        return sparse.block_array(blocks, format="csr")
    parts = _derivatives(alpha, judges.theta - beta[:, None])
    voted = marks.voted(rows)
    table = [
        weights[order][:, None] * part * voted
        for part, order in zip(parts, (0, 1, 0, 1), strict=True)
    ]
    seen: Any = marks.right[rows]
    hits = seen if isinstance(seen, np.ndarray) else seen.toarray()
    return np.block(
        [[table[0], table[2] - weights[0][:, None] * alpha * hits], [table[1], table[3]]]
    )


def _derivatives(alpha: Floats, distance: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """Derivatives in beta of a wrong mark's score: s', s'' in theta, s', s'' in log alpha."""
    p = expit(alpha * distance)
    slope = alpha**2 * p * (1.0 - p)
    bend = -alpha * slope * (1.0 - 2.0 * p)
    return slope, bend, slope * distance + alpha * p, bend * distance - 2.0 * slope
